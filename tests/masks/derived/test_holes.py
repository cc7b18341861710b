"""Texts with several holes: masks of the first against enumeration, and what is refused, with its place."""

from __future__ import annotations

import random
from itertools import product

import pytest

from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.languages.collection import load
from constrain.languages.constraints.regular import regex
from constrain.languages.grammar_text.text import grammar
from constrain.masks.derived.between import between
from constrain.masks.derived.members import byte_matcher
from handmade import Made
from reading_oracle import language, texts
from small_grammars import JSON, random_grammar

LONGEST = 6


@pytest.mark.parametrize("seed", range(25))
def test_two_holes_of_every_short_text(seed):
    """Random grammars over two letters: the fillings of the first hole that the second one completes."""
    made = random_grammar(random.Random(seed))
    members = {text for text, (is_one, _) in language(made, "ab", LONGEST).items() if is_one}
    for prefix, middle, suffix in product(["", "a"], ["a", "b", "ab"], ["", "b"]):
        expected = {
            first
            for first in texts("ab", 2)
            if any(prefix + first + middle + second + suffix in members for second in texts("ab", LONGEST))
        }
        whole = f"{prefix}?{middle}?{suffix}"
        begin = len(prefix) + 1 + len(middle)
        try:
            constraint = between(Made(made), text=whole, holes=[(len(prefix), len(prefix) + 1), (begin, begin + 1)])
        except UnsatisfiableError:
            assert not expected, (prefix, middle, suffix)
            continue
        for first in texts("ab", 2):
            matcher = byte_matcher(constraint)
            alive = matcher.advance_bytes(first.encode())
            if first in expected:
                assert alive and matcher.is_accepting(), (prefix, first, middle, suffix)
            elif alive and matcher.is_accepting():  # then the whole is longer than the enumeration
                between(Made(made), prefix=prefix + first + middle, suffix=suffix)


def test_filling_all_holes_in_order():
    """Whatever masks allow in the first hole, the next one can be filled, and the whole is a member."""
    rng = random.Random(0)
    constraint = grammar(JSON)
    whole = '{"a": ?, "b": [1, ?, {"c?": true}]?'
    for _ in range(4):
        text, holes = whole, [(at, at + 1) for at, letter in enumerate(whole) if letter == "?"]
        while holes:
            (begin, end), *rest = holes
            matcher = byte_matcher(between(constraint, text=text, holes=holes))
            filling = b""
            while not (matcher.is_accepting() and (rng.random() < 0.3 or len(filling) > 30)):
                allowed = [byte for byte in range(0x7F) if matcher.allows(byte)]
                assert allowed, (text, filling)
                closing = [byte for byte in allowed if len(filling) > 8 and byte in b'"}],0:tnfe']
                byte = rng.choice(closing or allowed)
                assert matcher.advance(byte)
                filling += bytes([byte])
                if len(filling) > 60:
                    break
            if not matcher.is_accepting():
                break
            filled = filling.decode()
            text = text[:begin] + filled + text[end:]
            holes = [(a + len(filled) - (end - begin), b + len(filled) - (end - begin)) for a, b in rest]
        else:
            matcher = byte_matcher(constraint)
            assert matcher.advance_bytes(text.encode()) and matcher.is_accepting(), text


@pytest.mark.parametrize(
    ("text", "holes", "says"),
    [
        ("abc", [(0, 2), (1, 3)], "hole 1 begins at 1, before the hole in front of it ends, at 2"),
        ("abc", [(0, 1), (1, 2)], "holes 0 and 1 touch at 1"),
        ("abc", [(0, 4)], "hole 0, 0 to 4, is no stretch of a text of 3 characters"),
        ("abc", [(2, 1)], "hole 0, 2 to 1, is no stretch"),
        ("abc", [3], "hole 0 is a pair (begin, end)"),
        ("abc", [], "needs at least one"),
        (b"abc", [(0, 1)], "text is a str, not bytes"),
        ("a\ud800c", [(0, 1)], "lone surrogate"),
    ],
)
def test_refused(text, holes, says):
    with pytest.raises(ConstrainError, match="^" + "") as raised:
        between(regex("[a-c]+"), text=text, holes=holes)
    assert says in raised.value.message


def test_prefix_and_text():
    with pytest.raises(ConstrainError, match="prefix and suffix, or text and holes"):
        between(regex("a"), prefix="a", text="a", holes=[(0, 1)])
    with pytest.raises(ConstrainError, match="prefix and suffix, or text and holes"):
        between(regex("a"), holes=[(0, 1)])


def test_what_no_filling_completes():
    """The stretch is named and drawn."""
    with pytest.raises(UnsatisfiableError) as raised:
        between(grammar(JSON), text="[1, ?\n, }{ ,\n ?]", holes=[(4, 5), (14, 15)])
    assert r"none contains '\n, }'" in raised.value.message, raised.value
    assert "line 1, column 1" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "prefix", "filling", "suffix", "is_allowed"),
    [
        ("c", "int a[", "//", "];", False),  # the rest of the line would be the comment
        ("c", "int a[", "// ", "];\n1];", True),  # it is, and the text goes on with the next line
        ("c", "int a[", "// x\n", "];", True),
        ("c", "int a[", "/* x */", "];", True),
        ("c", "int a;", "\n#", "int b;", True),  # a directive that ends the text
        ("c", "int a[", "\n#", "];", False),
        ("java", "class A", "//", "{}", False),
        ("java", "class A", "//", "\n{}", True),
    ],
)
def test_what_follows_a_hole_does_not_run_together_with_it(name, prefix, filling, suffix, is_allowed):
    """Masks exclude what maximal munch would refuse when the whole is checked."""
    try:
        matcher = byte_matcher(between(load(name), prefix=prefix, suffix=suffix))
    except UnsatisfiableError:
        assert not is_allowed
        return
    assert (matcher.advance_bytes(filling.encode()) and matcher.is_accepting()) == is_allowed
