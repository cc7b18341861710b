"""Texts with several holes: masks of the first against enumeration, and what is refused, with its place.

Where there is a layout of lines and columns: against all short fillings, and against CPython's parser.
"""

import ast
import random
from itertools import product

import pytest

from constrain import collection
from constrain.errors import ConstrainError, GrammarError, UnsatisfiableError
from constrain.gaps.projection import gap_language
from constrain.languages.cfg.layout import Column, Layout, columns_of
from constrain.languages.collection import load
from constrain.languages.constraints.regular import regex
from constrain.languages.grammar_text.text import grammar
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.derived.between import between
from constrain.masks.derived.members import byte_matcher, is_member
from constrain.papers.diffusion.canvas import Canvas
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


BLOCKS = """
start: line+
line: "p" _NEWLINE | "i:" _NEWLINE _INDENT line+ _DEDENT | "(" start_in* ")" _NEWLINE
start_in: "p"
%ignore / /
%declare _NEWLINE _INDENT _DEDENT
"""
ANY, SOME = grammar(BLOCKS, layout=Layout()), grammar(BLOCKS, layout=Layout(columns=(1, 3)))


def test_given_columns():
    """With columns, the members are those of any columns whose lines begin at these; every block has some text."""
    lines = [" " * column + text for column in range(4) for text in ("p", "i:")]
    for count in (1, 2, 3, 4):
        for each in product(lines, repeat=count):
            text = "\n".join(each) + "\n"
            fits = all((len(line) - len(line.lstrip())) in (0, 1, 3) for line in each)
            assert is_member(SOME, text) == (fits and is_member(ANY, text)), text
    matcher = byte_matcher(SOME)
    assert matcher.advance_bytes(b"i:\n i:\n   ") and matcher.allows(ord("p")) and not matcher.allows(ord("i"))
    nested = grammar(
        'start: "a:" _NEWLINE _INDENT "b:" _NEWLINE _INDENT "c" _NEWLINE _DEDENT _DEDENT | "c" _NEWLINE\n'
        "%declare _NEWLINE _INDENT _DEDENT",
        layout=Layout(columns=(2,)),
    )
    assert not byte_matcher(nested).allows(ord("a"))  # there is room for one block, and it takes two


@pytest.mark.parametrize(
    ("text", "holes"),
    [
        ("i:\n ?", 1),
        ("i:\n ?\n p", 1),
        ("?\n p\np\n", 1),
        ("i:\n i?p\n p\n", 1),
        ("(p?p)\n", 1),
        ("i:?p\n", 1),
        ("i?\n ?p\n", 2),
        ("?:\n p\n?", 2),
        ("i:\n p?(?)", 2),
        ("(?\n?p\n", 2),
    ],
)
def test_every_short_filling(text, holes):
    """The texts of the first hole, letter by letter, against all short fillings of all holes."""
    pieces = text.split("?")
    letters = "pi: \n()"
    short = ["".join(each) for n in range(4) for each in product(letters, repeat=n)]
    constraint = SOME
    after = pieces[1:]
    rest = short if holes == 2 else [""]
    closes = ["".join(each) for n in range(3) for each in product(letters, repeat=n)] if holes == 2 else rest
    at = [i for i, letter in enumerate(text) if letter == "?"]
    first = between(constraint, text=text, holes=[(i, i + 1) for i in at])
    for w in short:
        matcher = byte_matcher(first)
        allowed = matcher.advance_bytes(w.encode()) and matcher.is_accepting()
        whole = pieces[0] + w + after[0]
        wanted = any(is_member(constraint, whole + x + after[1]) for x in closes) if holes == 2 else None
        if wanted is None:
            assert allowed == is_member(constraint, whole), repr(whole)
        elif wanted:
            assert allowed, repr(whole)
        elif allowed:  # then a longer filling of the second hole serves
            between(constraint, prefix=whole, suffix=after[1])


def test_columns_of_a_text():
    """Columns of lines, but not of the rest of a line behind a hole; and a step deeper."""
    assert columns_of(["a\n  b\n", "   c\n    d"], 8) == tuple(Column(c, c) for c in (2, 4, 6))
    assert columns_of(["a"], 8) == (Column(4, 4),)
    assert columns_of(["if a:\n\tb\n\n   \n"], 8) == (Column(8, 1), Column(16, 2))
    assert columns_of(["x", "x", "x"], 8) == (Column(4, 4),)


def test_python_filled_by_letters():
    """Whatever masks allow in each hole of a program, the whole is Python, or its own check says that it is not."""
    constraint = collection.load("python")
    whole = "def f(a?):\n    if a ?:\n        return [a,\n  ?]\n?    b = 'x?'\n"
    rng, passed = random.Random(1), 0
    for _ in range(10):
        pieces = whole.split("?")
        text, rest = pieces[0], pieces[1:]
        own = constraint.laid_out_like(pieces)
        while rest:
            if len(rest) == 1:
                hole = between(own, prefix=text, suffix=rest[0])
            else:
                shown, holes = text, []
                for piece in rest:
                    holes.append((len(shown), len(shown) + 1))
                    shown += "_" + piece
                hole = between(own, text=shown, holes=holes)
            matcher, filling = byte_matcher(hole), b""
            while not (matcher.is_accepting() and rng.random() < 0.5) and len(filling) < 40:
                likes = b"abx1 \n:,.()[]=+'" if len(filling) < 6 else b")]}'\"\n:1a "
                allowed = [byte for byte in range(10, 0x7F) if matcher.allows(byte)]
                assert allowed, (text, filling)
                byte = rng.choice([byte for byte in allowed if byte in likes] or allowed)
                assert matcher.advance(byte)
                filling += bytes([byte])
            if not matcher.is_accepting():
                break
            text, rest = text + filling.decode() + rest[0], rest[1:]
            if not rest and hole.residual_fault(filling.decode()) is None:
                ast.parse(text)
                passed += 1
    assert passed >= 2


def test_refused_layouts():
    with pytest.raises(GrammarError, match="a column is a number of spaces"):
        Layout(columns=("four",))
    with pytest.raises(UnsatisfiableError, match="no filling of the holes"):
        between(SOME, text="i:\n?:p", holes=[(3, 4)])
    with pytest.raises(GrammarError, match="only where its columns are known"):
        gap_language(ANY.as_dynamic())
    with pytest.raises(GrammarError, match="from left to right"):
        Canvas(gap_language(SOME.as_dynamic()), Vocabulary.of_bytes(), [None] * 3)


def test_the_report_names_the_columns():
    constraint = between(collection.load("python"), text="if a:\n  ?\nb", holes=[(8, 9)])
    assert any("columns 2, 4 only" in entry.note for entry in constraint.report)
