"""Multiples of several numbers at once: what is alive, against all numbers; and divisors whose product is large."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import constrain
from constrain.kernels.records.arena import NONE
from constrain.languages.automata.lower import lower
from constrain.languages.automata.store import Store
from constrain.languages.automata.syntax import Node, Remainder, alternate, concat, intersect, literal, optional, repeat
from constrain.languages.schema.sets.digits import DIGIT, DIGITS

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
