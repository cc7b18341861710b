"""Sets of numbers against arithmetic: every spelling of a decimal is a member exactly if its value is in the set."""

import itertools
import random
from decimal import Decimal
from fractions import Fraction

import pytest
from naive_schema import member

from constrain.errors import LimitError
from constrain.languages.schema.sets.digits import is_regular, number_node
from constrain.languages.schema.sets.numbers import (
    NumberBox,
    complement_of_numbers,
    exact,
    has_numbers,
    holds,
    meet_numbers,
)

WHOLE = "0 1 2 3 7 9 10 11 12 19 20 21 25 27 30 49 50 99 100 101 105 110 123 150 199 200 999 1000 1234".split()
FRACTIONS = ["", ".0", ".00", ".1", ".10", ".5", ".25", ".05", ".050", ".9", ".99", ".01", ".001", ".125", ".3", ".33"]
DECIMALS = [sign + whole + fraction for sign in ("", "-") for whole in WHOLE for fraction in FRACTIONS]
SCIENTIFIC = [
    sign + mantissa + exponent
    for sign in ("", "-")
    for mantissa in ["1", "5", "9", "1.5", "9.99", "1.25", "1.0", "2.50"]
    for exponent in ["e0", "e1", "E+2", "e-1", "e-02", "e16", "e+3", "e-7", "e05", "e400"]
]
NOT_JSON = ["01", "1.", "-", ".5", "1e", "+1", "00", "-01", "1.e1", ""]
ENDS = [*map(Fraction, ["0", "1", "2", "3", "10", "12", "25", "99", "100", "150", "1000"])]
ENDS += [*map(Fraction, ["0.5", "0.25", "-0.5", "0.33", "10.5", "-1", "-12", "-99", "-100", "-0.05", "99.9"])]
STEPS = [
    *map(Fraction, ["1", "2", "3", "5", "7", "10", "4", "6", "12", "25", "100", "0.5", "0.1", "0.01", "0.3", "2.5"])
]


def value(text: str) -> int | Fraction:
    return exact(Fraction(Decimal(text)))


def random_box(choose: random.Random) -> NumberBox:
    """An interval with at most one divisor, one excluded divisor and two holes."""
    ends = sorted(choose.sample(ENDS, 2))
    low, high = (exact(end) if choose.random() < 0.6 else None for end in ends)
    low_open = low is not None and choose.random() < 0.4
    high_open = high is not None and choose.random() < 0.4
    multiple = exact(choose.choice(STEPS)) if choose.random() < 0.6 else None
    excluded = frozenset(exact(step) for step in choose.sample(STEPS, choose.choice([0, 0, 1])))
    holes = frozenset(exact(hole) for hole in choose.sample(ENDS, choose.choice([0, 0, 2])))
    return NumberBox(low, low_open, high, high_open, multiple, excluded, None, holes)


@pytest.mark.parametrize("seed", range(60))
def test_spellings_are_members_exactly_if_their_value_is(seed: int) -> None:
    choose = random.Random(seed)
    box = random_box(choose)
    assert is_regular(box)
    node = number_node(box)
    for text in choose.sample(DECIMALS, 120):
        assert member(node, text) == holds(box, value(text)), (box, text)
    for text in SCIENTIFIC:  # narrowed: not every scientific spelling is a member, but none has a value outside
        assert not member(node, text) or holds(box, value(text)), (box, text)
    assert not any(member(node, text) for text in NOT_JSON)


@pytest.mark.parametrize("seed", range(60))
def test_algebra_of_numbers_is_pointwise(seed: int) -> None:
    choose = random.Random(1000 + seed)
    a, b = random_box(choose), random_box(choose)
    both = meet_numbers(a, b)
    outside = complement_of_numbers(a)
    found = False
    for point in map(value, DECIMALS):
        expected = holds(a, point) and holds(b, point)
        found |= expected
        assert (both is not None and holds(both, point)) == expected
        assert any(holds(part, point) for part in outside) != holds(a, point)
    if found:
        assert both is not None and has_numbers(both)


@pytest.mark.parametrize(
    ("box", "inhabited"),
    [
        (NumberBox(low=1, high=2, multiple=3), False),
        (NumberBox(low=1, high=3, multiple=3), True),
        (NumberBox(low=1, high=3, high_open=True, multiple=3), False),
        (NumberBox(low=0, multiple=2, not_multiples=frozenset({4})), True),
        (NumberBox(low=1, high=5, multiple=2, not_multiples=frozenset({4}), holes=frozenset({2})), False),
        (NumberBox(low=1, high=1, holes=frozenset({1})), False),
        (NumberBox(low=0, high=1), True),
        (NumberBox(multiple=6, not_multiples=frozenset({10, 15})), True),
    ],
)
def test_emptiness(box: NumberBox, inhabited: bool) -> None:
    assert has_numbers(box) == inhabited


@pytest.mark.parametrize("text", ["1.5e-07", "1e-7", "1.0E-007", "9.99e-07", "0.00000015"])
def test_floats_as_programs_print_them_pass_bounds(text: str) -> None:
    assert member(number_node(NumberBox(low=0, high=1)), text)


@pytest.mark.parametrize("text", ["1e22", "1.5e+22", "12345678901234567890", "5.0", "12e3", "-0", "-3.000"])
def test_integers_in_their_spellings(text: str) -> None:
    assert member(number_node(NumberBox(multiple=1)), text)


@pytest.mark.parametrize("text", ["1.5", "1e-1", "1.25e1", "15e-1", "0.1e0"])
def test_what_is_no_integer_or_narrowed_away(text: str) -> None:
    assert not member(number_node(NumberBox(multiple=1)), text)


def test_many_digits_stay_small_and_exact() -> None:
    low, high = 10**30 + 7, 10**40 - 3
    node = number_node(NumberBox(low=low, high=high, multiple=1))
    for number, inside in [(low, True), (low - 1, False), (high, True), (high + 1, False), (10**35, True)]:
        assert member(node, str(number)) == inside
    assert len(repr(node)) < 40_000


def near(digits: str, choose: random.Random) -> list[str]:
    """Digit strings that leave another one at each of some places, end there, or go on."""
    found = [digits, digits + "0", digits + "1"]
    for place in choose.sample(range(len(digits)), min(len(digits), 8)):
        for digit in choose.sample("0123456789", 3):
            found += [digits[:place] + digit + digits[place + 1 :], digits[: place + 1], digits[:place] + digit]
    return [each for each in found if each]


@pytest.mark.parametrize(
    "count, seed",
    [*itertools.product([300, 65, 64, 33, 32, 31, 2, 1], range(6)), pytest.param(1500, 1, marks=pytest.mark.slow)],
)
def test_bounds_of_many_digits(count: int, seed: int) -> None:
    """A bound of 300 digits once ended in a RecursionError."""
    choose = random.Random(seed)
    same = "".join(choose.choices("0123456789", k=choose.choice([0, count // 2, count - 1])))
    decimals = [same + "".join(choose.choices("0009123459", k=count - len(same))) for _ in range(2)]
    low, high = sorted(value(f"0.{each}") for each in decimals)
    box = NumberBox(low, choose.random() < 0.5, high, choose.random() < 0.5)
    for each in (box, box._replace(low=None), box._replace(high=None)):
        for text in (f"0.{digits}" for bound in decimals for digits in near(bound, choose)):
            assert member(number_node(each), text) == holds(each, value(text)), (each, text)
    whole = sorted(int(f"1{each}") for each in decimals)
    integers = NumberBox(whole[0], box.low_open, whole[1], box.high_open, multiple=1)
    for digits in (each for bound in decimals for each in near(f"1{bound}", choose) if each[0] != "0"):
        assert member(number_node(integers), digits) == holds(integers, int(digits)), (integers, digits)


def test_numbers_of_too_many_digits_are_refused() -> None:
    for given in (Decimal("0." + "3" * 4001), Decimal("-0." + "3" * 100_000), 10**4001, Fraction(1, 3**9000)):
        with pytest.raises(LimitError, match="a number has more than 4000 digits"):
            exact(given)
    assert exact(Decimal("0." + "3" * 3999)) * 10**3999 == int("3" * 3999)


def test_draft_4_integers_are_plain() -> None:
    node = number_node(NumberBox(multiple=1, plain=True))
    assert member(node, "12") and not member(node, "12.0") and not member(node, "1e2")


def test_finitely_many_numbers() -> None:
    node = number_node(NumberBox(points=frozenset({0, 5, Fraction(5, 2), -1000, Fraction(1, 1000)})))
    for text in ["0", "-0", "0.0", "5", "5.00", "5e0", "2.5", "2.50", "-1000", "-1e3", "-1.0E+03", "0.001", "1e-3"]:
        assert member(node, text), text
    for text in ["1", "-5", "25", "2.05", "1000", "0.01", "1e3"]:
        assert not member(node, text), text
