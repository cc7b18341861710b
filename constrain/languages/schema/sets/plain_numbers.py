"""Numbers as serializers write them: the plain spellings of a set of numbers.

The idea: programs keep numbers as integers or as doubles. An integer is its digits. A double is at most 17 significant
digits (IEEE 754-2019, section 5.12.2), with a point or, as `repr`, `JSON.stringify` and `Double.toString` write large
and small ones, with one digit before the point and an exponent: `5.0`, `1e-07`, `1.5E+300`, never beyond the largest
double. Fewer digits than these, and zeros at the end (`19.90`), may stand, so that a number can end after any digit: a
rule such as "no zero at the end" would admit `2.500` and then force another digit.

A schema that asks for more gets more: bounds, divisors and constants with longer decimals raise the limits (`Digits`).

Cost: some 50 states for any number, made once; under bounds an intersection with the range (`digits.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from constrain.languages.automata.syntax import (
    Node,
    alternate,
    complement,
    concat,
    intersect,
    literal,
    literals,
    optional,
    repeat,
)
from constrain.languages.schema.sets.digits import (
    DECIMAL,
    DIGIT,
    EXPONENT_MARK,
    MINUS,
    NONZERO,
    POINT,
    SIGN,
    few_numbers,
    magnitude_range,
    multiples,
    natural_range,
    number_node,
    order_of,
    split_decimal,
)
from constrain.languages.schema.sets.numbers import ANY_NUMBER, MAX_DIGITS, NumberBox, Rational, steps_of
from constrain.limits import tick

MAX_SIGNIFICANT = 17  # digits that tell all doubles apart
MAX_WHOLE = 21  # digits of an integer: JavaScript writes as many without an exponent, and 64 bits have 20
MAX_COUNTED = 40  # digits around a point that are counted as one run
MAX_ZEROS = 7  # after the point, before the first other digit: 0.00000001
MIN_ORDER, MAX_ORDER = -324, 308  # of doubles: 5e-324, 1.8e308
LEAST_MANTISSA = 3  # of MIN_ORDER: 2e-324 is read as zero
GREATEST_MANTISSA = Fraction(17976931348623158, 10**16)  # of MAX_ORDER, with 17 digits: what is greater is infinite
DECIMAL_FROM = -8  # a constant of at least 10^-8 may be written without exponent
SCIENTIFIC_UP_TO, SCIENTIFIC_FROM = -4, 16  # one below 10^-3 or from 10^16 on, with one
ZERO = literal("0")


class Digits(NamedTuple):
    """Greatest lengths: digits of an integer, of a number with a point, zeros behind the point; exponents."""

    whole: int = MAX_WHOLE
    significant: int = MAX_SIGNIFICANT
    zeros: int = MAX_ZEROS
    low: int = MIN_ORDER
    high: int = MAX_ORDER


@lru_cache(maxsize=4096)
def plain_number_node(box: NumberBox) -> Node:
    """The plain spellings of the numbers in a box; what is not `is_regular` is left to the residual check."""
    integers = box.plain is True or (box.plain is None and 1 in steps_of(box))
    if box.points is not None:
        return _points(box.points, whole=box.plain is not False, fraction=not integers)
    if box == ANY_NUMBER:
        return _shape(Digits())
    if (few := few_numbers(box)) is not None:
        return plain_number_node(few)
    if box.plain is not False and box.multiple is not None and Fraction(box.multiple).denominator == 1:
        return _integers(box, integers)
    return intersect(number_node(box), _shape(_digits(box)))


# ------------------------------------------------------------------------------------------------------------ shapes


@lru_cache(maxsize=256)
def _shape(digits: Digits) -> Node:
    """Decimals and scientific spellings of so many digits."""
    return concat(SIGN, alternate(_decimal(digits), _scientific(digits)))


def _decimal(digits: Digits) -> Node:
    """An integer, or digits with a point."""
    if digits.significant > MAX_COUNTED:  # of some schema's own: no need to count those on both sides together
        behind = optional(concat(POINT, repeat(DIGIT, 1, digits.significant)))
        node = concat(repeat(DIGIT, 0, digits.whole - 1), behind)
    else:
        node = repeat(DIGIT, 0, digits.whole - digits.significant)  # behind the last digit that a point may follow
        for fraction in range(1, digits.significant):
            node = alternate(optional(concat(POINT, repeat(DIGIT, 1, fraction))), concat(DIGIT, node))
    small = concat(repeat(ZERO, 0, digits.zeros), NONZERO, repeat(DIGIT, 0, digits.significant - 1))
    behind = alternate(repeat(ZERO, 1, digits.zeros + 1), small)
    return alternate(concat(NONZERO, node), concat(ZERO, optional(concat(POINT, behind))))


def _scientific(digits: Digits) -> Node:
    """One digit before the point, and an exponent."""
    mantissa = concat(NONZERO, optional(concat(POINT, repeat(DIGIT, 1, digits.significant - 1))))
    parts = [concat(mantissa, EXPONENT_MARK, _exponents(MIN_ORDER + 1, MAX_ORDER - 1))]
    least = magnitude_range(LEAST_MANTISSA, False, 10, True)
    most = magnitude_range(1, False, GREATEST_MANTISSA, False)
    for limit, end, outermost in ((MIN_ORDER, digits.low, least), (MAX_ORDER, digits.high, most)):
        inside = intersect(mantissa, outermost) if end == limit else mantissa
        parts.append(concat(inside, EXPONENT_MARK, _exponents(min(limit, end), max(limit, end))))
    return alternate(*parts)


def _exponents(low: int, high: int) -> Node:
    """Exponents from low to high; at most two zeros before them."""
    parts = []
    if high >= 0:
        parts.append(concat(optional(literal("+")), repeat(ZERO, 0, 2), natural_range(max(low, 0), high)))
    if low < 0:
        parts.append(concat(MINUS, repeat(ZERO, 0, 2), natural_range(max(-high, 1), -low)))
    return alternate(*parts)


def _digits(box: NumberBox) -> Digits:
    """The greatest lengths of the numbers of a box: what its conditions need, and at least what a double does."""
    ends: list[Rational] = [end for end in (box.low, box.high) if end is not None]
    divisors: list[Rational] = [*steps_of(box), *box.not_multiples]
    conditions = [split_decimal(_magnitude(number)) for number in (*divisors, *ends, *box.holes)]
    lengths = [(len(str(whole)), len(decimals)) for whole, decimals in conditions]
    longest = max((whole for whole, _ in lengths), default=0)
    decimals = max((fraction for _, fraction in lengths), default=0)
    product = sum(whole for whole, _ in lengths[: len(divisors)])  # a multiple of all is that near to any number
    whole = longest + product + len(str(len(box.holes))) + 1
    orders = [order_of(_magnitude(end)) for end in ends if end]
    return Digits(
        whole=min(max(MAX_WHOLE, whole), MAX_DIGITS),
        significant=max(MAX_SIGNIFICANT, longest + decimals + 1),
        zeros=max(MAX_ZEROS, decimals),
        low=min([MIN_ORDER, *orders]),
        high=max([MAX_ORDER, *(order + 1 for order in orders if order > MAX_ORDER)]),
    )


def _magnitude(number: Rational) -> Rational:
    return -number if number < 0 else number


# ---------------------------------------------------------------------------------------------------------- integers


def _integers(box: NumberBox, digits_only: bool) -> Node:
    """The integers of a box: digits; as a double also `.0`."""
    longest = 10 ** _digits(box).whole - 1
    low = -longest if box.low is None else _least(box.low, box.low_open)
    high = longest if box.high is None else -_least(-box.high, box.high_open)
    parts = []
    if high >= 0:
        parts.append(natural_range(max(low, 0), high))
    if low < 0:
        parts.append(concat(MINUS, natural_range(max(-high, 1), -low)))
    node = alternate(*parts)
    if box.multiple != 1:
        whole = multiples(box.multiple) if box.multiple is not None else None
        node = intersect(node, *([whole] if whole is not None else [multiples(step) or DECIMAL for step in box.steps]))
    for other in box.not_multiples:
        shape = multiples(other)
        node = intersect(node, complement(shape)) if shape is not None else node
    if box.holes:
        node = intersect(node, complement(literals(str(hole) for hole in box.holes if hole == int(hole))))
    if digits_only:
        return node
    short = intersect(node, concat(optional(MINUS), repeat(DIGIT, 1, MAX_SIGNIFICANT - 1)))  # as doubles they are exact
    return alternate(node, concat(short, literal(".0")))


def _least(low: Rational, is_open: bool) -> int:
    """The least integer above an end."""
    first = int(-(-low // 1))
    return first + 1 if is_open and first == low else first


# ------------------------------------------------------------------------------------------------------------ points


def _points(values: Iterable[Rational], whole: bool, fraction: bool) -> Node:
    """Finitely many numbers. whole: integers as digits; fraction: also as doubles."""
    texts: list[str] = []
    scientific: dict[int, list[str]] = {}
    for value in values:
        tick()
        sign = "-" if value.numerator < 0 else ""  # PERF: comparisons of fractions take 5 µs
        integer, decimals = split_decimal(-value if sign else value)
        digits = f"{integer}{decimals}".strip("0") or "0"
        order = len(str(integer)) - 1 if integer or not decimals else len(decimals.lstrip("0")) - len(decimals) - 1
        if decimals and order >= DECIMAL_FROM:
            texts.append(f"{sign}{integer}.{decimals}")
        if not decimals and whole:
            texts.append(f"{sign}{integer}")
        if not decimals and fraction and len(str(integer)) < MAX_SIGNIFICANT:
            texts.append(f"{sign}{integer}.0")
        if fraction and not SCIENTIFIC_UP_TO < order < SCIENTIFIC_FROM:
            mantissas = [f"{digits[0]}.{digits[1:]}"] if len(digits) > 1 else [digits, f"{digits}.0"]
            scientific.setdefault(order, []).extend(sign + mantissa for mantissa in mantissas)
    parts = [literals(texts)]
    for order, mantissas in scientific.items():
        parts.append(concat(literals(mantissas), EXPONENT_MARK, _exponents(order, order)))
    return alternate(*parts)
