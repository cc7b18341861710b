"""Long runs of characters (LITERAL) against Python's `re`; multiples of several numbers at once against all numbers."""

import itertools
import re

import numpy as np
import pytest

import constrain
from constrain.kernels.lexer.expressions import LONG, UNROLLED
from constrain.kernels.records.arena import HEADER, NONE
from constrain.languages.automata.lower import lower
from constrain.languages.automata.store import Store
from constrain.languages.automata.syntax import Node, Remainder, alternate, concat, intersect, literal, optional, repeat
from constrain.languages.schema.sets.digits import DIGIT, DIGITS

LETTERS = "abcdefghij" * 40  # more than LONG
assert len(LETTERS) > LONG + 2 * UNROLLED

PATTERNS = [
    LETTERS, LETTERS + "z*", f"({LETTERS}){{2}}", f"{LETTERS}|{LETTERS[:300]}x|y", f"{LETTERS}|{LETTERS}{LETTERS}",
    f"x?{LETTERS}y?{LETTERS}", f"(?=.*ij.*){LETTERS}[a-z]*", f"(?!{LETTERS}$)abc[a-j]*", f"{LETTERS}(?!z)[a-z]?",
    "é" * 300 + "|" + "é" * 299 + "ü",
]  # fmt: skip
TEXTS = [
    "", "y", "x" + LETTERS, LETTERS, LETTERS[:-1], LETTERS + "z", LETTERS + "zz", LETTERS * 2, LETTERS + "y" + LETTERS,
    LETTERS[:300] + "x", LETTERS[:300] + "y", LETTERS[:64] + "z" + LETTERS[65:], "abc", "é" * 300, "é" * 299 + "ü",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_members(pattern: str) -> None:
    compiled = constrain.compile(constrain.regex(pattern), constrain.Vocabulary.of_bytes())
    for text in TEXTS:
        matcher = compiled.matcher()
        accepted = matcher.advance_bytes(text.encode()) and matcher.is_accepting()
        assert accepted == bool(re.fullmatch(pattern, text)), text[:20]


@pytest.mark.parametrize("pattern", PATTERNS[:6])
def test_masks_are_what_bytes_may_come(pattern: str) -> None:
    compiled = constrain.compile(constrain.regex(pattern), constrain.Vocabulary.of_bytes())
    row = np.zeros(9, np.uint32)
    matcher = compiled.matcher()
    for byte in LETTERS.encode():
        matcher.fill_mask(row)
        allowed = [b for b in range(256) if row[b >> 5] >> (b & 31) & 1]
        assert allowed == [b for b in range(256) if matcher.allows(b)]
        assert byte in allowed and matcher.advance(byte)


@pytest.mark.parametrize("form", ["regex", "const", "key", "enum", "Lark"])
def test_states_are_made_where_a_text_comes(form: str) -> None:
    """The arena has a word a character or two, and states for what was read."""
    text = "ab" * 50_000
    sources = {
        "regex": lambda: constrain.regex(text),
        "const": lambda: constrain.json_schema({"const": text}),
        "key": lambda: constrain.json_schema({"properties": {"k": {"const": text}}, "required": ["k"]}),
        "enum": lambda: constrain.json_schema({"enum": [text + "x", text + "y", 7]}),
        "Lark": lambda: constrain.grammar(f'start: "{text}" "c"'),
    }
    automaton = constrain.TokenAutomaton(constrain.Vocabulary.of_bytes(), budget=64 << 20)
    before = int(automaton.memory.A[HEADER.TOP])
    matcher = constrain.compile(sources[form](), automaton.vocabulary, automaton=automaton).matcher()
    begin = {"const": '"', "enum": '"', "key": '{"k":"'}.get(form, "")
    assert matcher.advance_bytes((begin + text[:500]).encode()) and not matcher.advance_bytes(b"x")
    made = int(automaton.memory.A[HEADER.TOP]) - before
    assert made < 2 * len(text) + 200_000, made
    assert matcher.advance_bytes(text[500:].encode())


PREFIXES = ["".join(digits) for n in range(3) for digits in itertools.product("059", repeat=n)]


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("divisors", [(7,), (4, 6), (6, 10), (7, 9), (8, 12, 9), (3, 9, 27)])
def test_what_is_alive(divisors: tuple[int, ...], most: int) -> None:
    """After every beginning, against all that may follow it."""
    store = Store()
    shapes: list[Node] = [repeat(DIGIT, 0, most), alternate(repeat(DIGIT, 0, most), concat(DIGITS, literal("x")))]
    for shape in shapes:
        e = lower(store, intersect(shape, *map(Remainder, divisors)))
        for prefix in PREFIXES:
            left = most - len(prefix)
            ends = ("".join(more) for n in range(left + 1) for more in itertools.product("0123456789", repeat=n))
            expected = any(all(int("0" + prefix + end) % d == 0 for d in divisors) for end in ends)
            assert (store.run(e, prefix.encode()) != NONE) == expected, (divisors, most, prefix)


def test_rests_that_no_number_has() -> None:
    """The remainders of two automata that did not read the same text may contradict each other."""
    store = Store()
    shape = concat(DIGITS, optional(literal(".")))
    odd = lower(store, concat(literal("1"), intersect(shape, Remainder(4))))
    assert store.run(odd, b"1") != NONE
    one, other = lower(store, Remainder(9)), lower(store, Remainder(6))
    digits = lower(store, DIGITS)
    agreeing = store.intersection([store.run(one, b"1"), store.run(other, b"4"), digits])
    contradicting = store.intersection([store.run(one, b"1"), store.run(other, b"2"), digits])
    assert store.prune(agreeing) != NONE and store.prune(contradicting) == NONE


def test_divisors_whose_product_is_large() -> None:
    """997 and 991: a search through the product of their automata would visit a million states."""
    vocabulary = constrain.Vocabulary.of_bytes()
    schema = {"type": "integer", "allOf": [{"multipleOf": 997}, {"multipleOf": 991}]}
    compiled = constrain.compile(constrain.json_schema(schema), vocabulary)
    row = np.zeros(9, np.uint32)
    for number in (0, 997 * 991, 997 * 991 * 12, -997 * 991 * 345678):
        matcher = compiled.matcher()
        for byte in str(number).encode():
            matcher.fill_mask(row)
            assert row[byte >> 5] >> (byte & 31) & 1 and matcher.advance(byte)
        assert matcher.is_accepting()
    for number in (997, 991, 997 * 991 + 1):
        matcher = compiled.matcher()
        assert not (matcher.advance_bytes(str(number).encode()) and matcher.is_accepting())
