"""Holes in texts with a layout of lines and columns: against all short fillings, and against CPython's parser."""

from __future__ import annotations

import ast
import random
from itertools import product

import pytest

from constrain import collection
from constrain.errors import GrammarError, UnsatisfiableError
from constrain.gaps.projection import gap_language
from constrain.languages.cfg.layout import Column, Layout, columns_of
from constrain.languages.grammar_text.text import grammar
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.derived.between import between
from constrain.masks.derived.members import byte_matcher, is_member
from constrain.papers.diffusion.canvas import Canvas

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


def test_refused():
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
