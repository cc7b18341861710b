"""Numbers as text: the spellings of a set of numbers, as one regular language over digits.

The idea: compare decimals digit by digit. A lower bound 3.14 is: a larger integer part, or `3.` and then digits that
are greater at some place; both ends share their common prefix, so a 20-digit range costs some 40 small nodes. Trees
have at most some 64 levels, however many digits a bound has.
Multiples of 2^a 5^b are decided by their last digits; other small divisors by the remainder automaton of the digits
read so far.

Spellings (`plain_numbers.py` has only those of serializers): without any condition every JSON number. Under bounds
every decimal without exponent (trailing zeros and `-0` included), and scientific spellings with one nonzero digit
before the point (`1.5e-07`, as programs print floats). Integers may end in `.0`. `any_number_node` adds any mantissa
with an exponent up to 15, each as the decimals of the set divided by a power of ten, and integers with one digit before
the point and a larger exponent: all of them together are not regular. What is narrowed stands in the report
(`report.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from math import prod

from constrain.languages.automata.shape import common_start
from constrain.languages.automata.syntax import (
    EMPTY,
    EPSILON,
    Node,
    Remainder,
    alternate,
    chars,
    complement,
    concat,
    intersect,
    literal,
    literals,
    optional,
    repeat,
)
from constrain.languages.schema.sets.numbers import ANY_NUMBER, NumberBox, Rational, finite_numbers, steps_of
from constrain.limits import tick

MAX_REMAINDERS = 1000  # largest divisor, without its factors 2 and 5
MAX_LEVELS = 32  # of the tree of a bound's digits, beyond which a level has several digits
MAX_ENDINGS = 2000  # most last-digit groups written out for a divisor 2^a 5^b
MAX_POINTS = 10_000  # most multiples within bounds that are written out, of a divisor that has no small automaton
MAX_SCALED = 15  # largest exponent of any mantissa, and 15 below zero
MAX_SCALED_POINTS = 64  # more numbers have one digit before the point, if they have an exponent
MAX_FLOAT_EXPONENT = 307  # scientific spellings of integers stop here, so that every reader of floats keeps them finite


def _digit(low: int, high: int) -> Node:
    """One digit from low to high."""
    return chars([(48 + low, 48 + high)])


DIGIT, NONZERO = _digit(0, 9), _digit(1, 9)
DIGITS = repeat(DIGIT)
ZEROS = repeat(literal("0"))
SOME_DIGIT = concat(ZEROS, NONZERO, DIGITS)  # that is not zero
NATURAL = alternate(literal("0"), concat(NONZERO, DIGITS))
MINUS = literal("-")
SIGN = optional(MINUS)
POINT = literal(".")
FRACTION = optional(concat(POINT, repeat(DIGIT, 1)))
ZERO_FRACTION = optional(concat(POINT, repeat(literal("0"), 1)))
EXPONENT_MARK = literals(("e", "E"))
EXPONENT = concat(EXPONENT_MARK, optional(literals(("+", "-"))), repeat(DIGIT, 1))
PLAIN_INTEGER = concat(SIGN, NATURAL)
NUMBER = concat(SIGN, NATURAL, FRACTION, optional(EXPONENT))
DECIMAL = concat(SIGN, NATURAL, FRACTION)


def _large_scientific(least: int = 16, divisor: int = 1) -> Node:
    """d.ddde+XX with at most 16 decimals (and zeros), exponent `least` to MAX_FLOAT_EXPONENT: always an integer.

    divisor: a divisor of the integers that has no factor 2 or 5.
    """
    mantissa = concat(NONZERO, optional(concat(POINT, repeat(DIGIT, 1, 16), ZEROS)))
    mantissa = mantissa if divisor == 1 else intersect(mantissa, Remainder(divisor))
    return concat(mantissa, EXPONENT_MARK, optional(literal("+")), ZEROS, natural_range(least, MAX_FLOAT_EXPONENT))


def _small_scientific() -> Node:
    """An integer mantissa with an exponent from 0 to 15."""
    return concat(NATURAL, ZERO_FRACTION, EXPONENT_MARK, optional(literal("+")), ZEROS, natural_range(0, 15))


# ------------------------------------------------------------------------------------------------ integer ranges


@lru_cache(maxsize=4096)
def natural_range(low: int, high: int | None) -> Node:
    """Integers from low >= 0 to high, without leading zeros."""
    if high is not None and low > high:
        return EMPTY
    if low == 0:
        return alternate(literal("0"), natural_range(1, high)) if high != 0 else literal("0")
    a = str(low)
    if high is None:
        longer = concat(NONZERO, repeat(DIGIT, len(a)))
        return alternate(_same_length(a, "9" * len(a)), longer)
    b = str(high)
    if len(a) == len(b):
        return _same_length(a, b)
    parts = [_same_length(a, "9" * len(a)), _same_length("1" + "0" * (len(b) - 1), b)]
    if len(b) - len(a) > 1:
        parts.append(concat(NONZERO, repeat(DIGIT, len(a), len(b) - 2)))
    return alternate(*parts)


def _same_length(a: str, b: str) -> Node:
    """Digit strings from a to b, all of one length."""
    same = common_start([a, b])
    a, b = a[len(same) :], b[len(same) :]
    if not a:
        return literal(same)
    if set(a) == {"0"} and set(b) == {"9"}:
        return concat(literal(same), _any_digits(len(a)))
    first, last, rest = int(a[0]), int(b[0]), len(a) - 1
    low, high = a[1:].rstrip("0"), b[1:].rstrip("9")  # behind these every digit may stand
    parts = []
    if low:
        above = [concat(_digit(int(digit) + 1, 9), _any_digits(rest - i)) for i, digit in enumerate(low, 1)]
        parts.append(concat(literal(a[0]), _along(low, above, _any_digits(rest - len(low)))))
        first += 1
    if high:
        below = [concat(_digit(0, int(digit) - 1), _any_digits(rest - i)) for i, digit in enumerate(high, 1)]
        parts.append(concat(literal(b[0]), _along(high, below, _any_digits(rest - len(high)))))
        last -= 1
    parts.append(concat(_digit(first, last), _any_digits(rest)))
    return concat(literal(same), alternate(*parts))


def _any_digits(count: int) -> Node:
    return repeat(DIGIT, count, count)


def _along(digits: str, leaving: list[Node], end: Node) -> Node:
    """Texts that follow some digits to a place i and go on with `leaving[i]`, or follow all and go on with `end`.

    A tree of one level a digit would be deeper than Python's stack for hundreds of them, so a level has several.
    """
    at_once = -(-len(digits) // MAX_LEVELS)
    node = end
    for start in reversed(range(0, len(digits), at_once or 1)):
        block = digits[start : start + at_once]
        ways = [concat(literal(block[:i]), leaving[start + i]) for i in range(len(block))]
        node = alternate(concat(literal(block), node), *ways)
    return node


# ------------------------------------------------------------------------------------------------ decimal ranges


def _fraction_between(low: str, low_open: bool, high: str | None, high_open: bool) -> Node:
    """Digit strings d (after a point) with 0.low <= 0.d <= 0.high; missing digits count as 0; high None: below 1.

    low <= high, and neither ends in a zero.
    """
    if high is None:
        return _fraction_from(low, low_open)
    same = common_start([low, high])
    low, high = low[len(same) :], high[len(same) :]
    if low:
        a, b = int(low[0]), int(high[0])
        ends = [concat(literal(low[0]), _fraction_from(low[1:], low_open)), concat(_digit(a + 1, b - 1), DIGITS)]
        ends.append(concat(literal(high[0]), _fraction_up_to(high[1:], high_open)))
        return concat(literal(same), alternate(*ends))
    if not low_open:
        return concat(literal(same), _fraction_up_to(high, high_open))
    if not high:
        return EMPTY
    zeros = len(high) - len(high.lstrip("0"))
    ends = [concat(literal("0"), SOME_DIGIT), concat(_digit(1, int(high[zeros]) - 1), DIGITS)]
    ends.append(concat(literal(high[zeros]), _fraction_up_to(high[zeros + 1 :], high_open)))
    return concat(literal(same + "0" * zeros), alternate(*ends))


def _fraction_from(low: str, low_open: bool) -> Node:
    """Digit strings d with 0.low <= 0.d < 1."""
    return _along(low, [concat(_digit(int(digit) + 1, 9), DIGITS) for digit in low], SOME_DIGIT if low_open else DIGITS)


def _fraction_up_to(high: str, high_open: bool) -> Node:
    """Digit strings d with 0 <= 0.d <= 0.high; at each place the text may end."""
    below = [alternate(EPSILON, concat(_digit(0, int(digit) - 1), DIGITS)) for digit in high]
    return _along(high, below, EMPTY if high_open else ZEROS)


def _with_fraction(digits: Node, zero: bool) -> Node:
    """`.digits` with at least one digit; nothing at all too if the fraction may be zero."""
    dotted = concat(POINT, _nonempty(digits))
    return optional(dotted) if zero else dotted


def _nonempty(digits: Node) -> Node:
    """The digit strings of a language that have at least one digit."""
    if digits == DIGITS:
        return repeat(DIGIT, 1)
    if digits == ZEROS:
        return repeat(literal("0"), 1)
    return intersect(digits, repeat(DIGIT, 1))


def split_decimal(value: Rational) -> tuple[int, str]:
    """A non-negative finite decimal as integer part and fraction digits without trailing zeros."""
    whole, rest = divmod(value.numerator, value.denominator)
    digits = []
    while rest:
        digit, rest = divmod(rest * 10, value.denominator)
        digits.append(str(digit))
    return whole, "".join(digits)


@lru_cache(maxsize=4096)
def magnitude_range(low: Rational, low_open: bool, high: Rational | None, high_open: bool) -> Node:
    """Unsigned decimals x with low <= x <= high (ends by choice), low >= 0."""
    low_whole, low_digits = split_decimal(low)
    if high is None:
        first = _whole_and_fraction(low_whole, low_digits, low_open, None, False)
        return alternate(first, concat(natural_range(low_whole + 1, None), FRACTION))
    high_whole, high_digits = split_decimal(high)
    if low_whole == high_whole:
        return _whole_and_fraction(low_whole, low_digits, low_open, high_digits, high_open)
    return alternate(
        _whole_and_fraction(low_whole, low_digits, low_open, None, False),
        concat(natural_range(low_whole + 1, high_whole - 1), FRACTION),
        _whole_and_fraction(high_whole, "", False, high_digits, high_open),
    )


def _whole_and_fraction(whole: int, low: str, low_open: bool, high: str | None, high_open: bool) -> Node:
    """Decimals with the given integer part and a fraction between two digit strings."""
    zero = not low and not low_open and not (high == "" and high_open)
    fraction = _fraction_between(low, low_open, high, high_open)
    if fraction == EMPTY:
        return literal(str(whole)) if zero else EMPTY
    return concat(literal(str(whole)), _with_fraction(fraction, zero))


def _scientific_range(low: Rational, low_open: bool, high: Rational | None, high_open: bool) -> Node:
    """Unsigned d.ddd e±k with a nonzero first digit and low <= value <= high."""
    parts = []
    if low > 0:
        bottom = order_of(low)
        top = None if high is None else order_of(high)
        if top == bottom:
            parts.append(_mantissas(low, low_open, high, high_open, bottom))
            return alternate(*parts)
        parts.append(_mantissas(low, low_open, None, False, bottom))
        start: int | None = bottom + 1
    else:
        top, start = None if high is None or high == 0 else order_of(high), None
        if high == 0:
            return EMPTY
    if top is not None:
        parts.append(_mantissas(Fraction(10) ** top, False, high, high_open, top))
    exponents = _exponents(start, None if top is None else top - 1)
    parts.append(concat(NONZERO, FRACTION, EXPONENT_MARK, exponents))
    return alternate(*parts)


def order_of(value: Rational) -> int:
    """The exponent e with 10^e <= value < 10^(e+1), value > 0."""
    value = Fraction(value)
    guess = len(str(value.numerator)) - len(str(value.denominator))
    return guess if Fraction(10) ** guess <= value else guess - 1


def _mantissas(low: Rational, low_open: bool, high: Rational | None, high_open: bool, order: int) -> Node:
    """Mantissas in [1, 10) of numbers of one order between two ends, with that exponent."""
    scale = Fraction(10) ** order
    top, top_open = (Fraction(10), True) if high is None else (Fraction(high) / scale, high_open)
    return concat(
        magnitude_range(Fraction(low) / scale, low_open, top, top_open), EXPONENT_MARK, _exponents(order, order)
    )


def _exponents(low: int | None, high: int | None) -> Node:
    """Signed exponents from low to high, any number of leading zeros."""
    parts = []
    if high is None or high >= 0:
        parts.append(concat(optional(literal("+")), ZEROS, natural_range(max(low or 0, 0), high)))
    if low is None or low <= 0:
        far = None if low is None else -low
        near = 0 if high is None else max(-high, 0)
        parts.append(concat(MINUS, ZEROS, natural_range(near, far)))
    return alternate(*parts)


def _signed(box: NumberBox, magnitudes: Callable[[Rational, bool, Rational | None, bool], Node]) -> Node:
    """Both signs of an interval: `magnitudes(low, low_open, high, high_open)` spells non-negative numbers."""
    parts = []
    if box.high is None or box.high > 0 or (box.high == 0 and not box.high_open):
        low, low_open = (0, False) if box.low is None or box.low < 0 else (box.low, box.low_open)
        parts.append(magnitudes(low, low_open, box.high, box.high_open))
    if box.low is None or box.low < 0 or (box.low == 0 and not box.low_open):
        low, low_open = (0, False) if box.high is None or box.high > 0 else (-box.high, box.high_open)
        parts.append(concat(MINUS, magnitudes(low, low_open, None if box.low is None else -box.low, box.low_open)))
    return alternate(*parts)


# ----------------------------------------------------------------------------------------------------- multiples


def multiples(step: Rational) -> Node | None:
    """Decimals (without exponent) that are multiples of a positive finite decimal; None if the automaton would be too
    large.
    """
    step = Fraction(step)
    places = len(split_decimal(step)[1])
    divisor = int(
        step * 10**places
    )  # x is a multiple iff its digits, shifted by `places`, are a multiple of the divisor
    tail, other = _parts_of(divisor)
    if other > MAX_REMAINDERS or 10**tail // (divisor // other) > MAX_ENDINGS:
        return None
    shapes = [_last_digits(divisor // other, tail, places)]
    if other > 1:
        shapes.append(Remainder(other))  # trailing zeros do not change it: the digits may be read as they stand
    return concat(SIGN, intersect(concat(NATURAL, FRACTION), *shapes))


def _parts_of(divisor: int) -> tuple[int, int]:
    """(how many last digits say whether a number is a multiple of the factors 2 and 5, the other factor)."""
    twos, fives = _exponent_of(divisor, 2), _exponent_of(divisor, 5)
    return max(twos, fives), divisor // (2**twos * 5**fives)


def _exponent_of(value: int, prime: int) -> int:
    count = 0
    while value % prime == 0:
        value, count = value // prime, count + 1
    return count


def _last_digits(divisor: int, tail: int, places: int) -> Node:
    """Decimals whose digits, shifted by `places`, are a multiple of divisor = 2^a 5^b, a divisor of 10^tail.

    The shifted digits matter modulo 10^tail only: their last `tail` digits, of which `places` stand after the point.
    """
    endings = [str(ending).zfill(tail) for ending in range(0, 10**tail, divisor)] if tail else [""]
    after = min(tail, places)
    shapes: dict[str, list[str]] = {}
    for ending in endings:
        whole, decimals = ending[: tail - after], ending[tail - after :]
        shapes.setdefault(whole, []).append(decimals)
    groups: dict[tuple[str, ...], list[str]] = {}
    for whole, decimals_list in shapes.items():
        groups.setdefault(tuple(decimals_list), []).append(whole)
    parts = []
    for decimals_group, wholes in groups.items():
        fraction = _padded_fraction(decimals_group, places)
        parts.append(concat(_digits_ending_in(wholes), fraction))
    return alternate(*parts)


def _digits_ending_in(endings: list[str]) -> Node:
    """Digit strings whose last digits are one of the endings; shorter strings count as padded with zeros in front."""
    width = len(endings[0])
    if len(endings) == 10**width:
        return DIGITS
    short = (ending.lstrip("0") or "0" for ending in endings)
    return alternate(concat(DIGITS, literals(endings)), literals(text for text in short if len(text) < width))


def _padded_fraction(decimals: tuple[str, ...], places: int) -> Node:
    """Fractions of at most `places` digits (then zeros) whose last digits, padded with zeros, are one of `decimals`."""
    width = len(decimals[0])
    if width == 0 and places == 0:
        return ZERO_FRACTION
    parts = []
    lead = places - width  # digits after the point that do not matter
    for text in decimals:
        significant = text.rstrip("0")
        if significant:
            digits = concat(repeat(DIGIT, lead, lead), literal(significant), ZEROS)
            parts.append(concat(POINT, digits))
        else:
            digits = concat(repeat(DIGIT, 0, lead), ZEROS) if lead else ZEROS
            parts.append(optional(concat(POINT, _nonempty(digits))))
    return alternate(*parts)


# ----------------------------------------------------------------------------------------------------- the whole


def is_regular(box: NumberBox) -> bool:
    """True if the box can be written exactly: one with a divisor that has a large factor besides 2 and 5 cannot."""
    conditions = [*box.not_multiples, *([box.multiple] if box.multiple is not None else [])]
    return all(multiples(step) is not None for step in conditions)


def few_numbers(box: NumberBox) -> NumberBox | None:
    """The box as its numbers, if it cannot be written otherwise and they are few; else None."""
    points = None if box.points is not None or is_regular(box) else finite_numbers(box, MAX_POINTS)
    return None if points is None else NumberBox(points=frozenset(points), plain=box.plain, steps=steps_of(box))


@lru_cache(maxsize=4096)
def number_node(box: NumberBox) -> Node:
    """The spellings of the numbers in a box; a condition that is not `is_regular` is left to the residual check."""
    if box.plain is False:
        return intersect(number_node(box._replace(plain=None)), complement(PLAIN_INTEGER))
    if box.points is not None:
        return _points(box.points, bool(box.plain))
    if box == ANY_NUMBER:
        return NUMBER
    if (few := few_numbers(box)) is not None:
        return number_node(few)
    bounded = box.low is not None or box.high is not None
    integers = box.multiple is not None and Fraction(box.multiple).denominator == 1
    if integers:
        node = _integers(box, bounded)
    else:
        node = _signed(box, magnitude_range) if bounded else DECIMAL
        if box.multiple is None and not box.not_multiples:
            node = alternate(node, _signed(box, _scientific_range)) if bounded or box.holes else NUMBER
    node = _divisible(node, box._replace(multiple=None) if box.multiple == 1 else box)
    return intersect(node, complement(_points(box.holes, False))) if box.holes else node


def _divisible(node: Node, box: NumberBox) -> Node:
    """The decimals of some that have the divisors of a box."""
    if box.multiple is not None:
        whole = multiples(box.multiple)
        node = intersect(node, *([whole] if whole is not None else [multiples(step) or DECIMAL for step in box.steps]))
    for other in box.not_multiples:
        shape = multiples(other)
        node = intersect(node, complement(shape)) if shape is not None else node
    return node


@lru_cache(maxsize=4096)
def any_number_node(box: NumberBox) -> Node:
    """The spellings of the numbers in a box with any mantissa too, for exponents up to `MAX_SCALED` and some more."""
    node = number_node(box)
    if box.plain is True or box == ANY_NUMBER or len(box.points or ()) > MAX_SCALED_POINTS:
        return node
    divisors = [Fraction(step).numerator for step in (*box.not_multiples, *([box.multiple] if box.multiple else []))]
    if prod(_parts_of(divisor)[1] for divisor in divisors) > MAX_REMAINDERS:
        return node  # remainders by all divisors at once, for each exponent
    multiple = Fraction(box.multiple or 0)
    tail, other = _parts_of(multiple.numerator) if multiple else (0, 1)
    parts = [
        concat(_decimals(_divided(box, Fraction(10) ** order)), EXPONENT_MARK, _exponents(order, order))
        for order in range(-MAX_SCALED, MAX_SCALED + tail + 1)
    ]
    if multiple and box.points is None and other <= MAX_REMAINDERS:
        if not box.not_multiples and not box.holes:
            large = concat(SIGN, _large_scientific(MAX_SCALED + tail + 1, other))
            parts.append(intersect(large, _signed(box, _scientific_range)))
    return alternate(node, *parts)


def _divided(box: NumberBox, unit: Fraction) -> NumberBox:
    """The numbers of a box divided by a unit."""

    def each(numbers: Iterable[Rational]) -> frozenset[Rational]:
        return frozenset(number / unit for number in numbers)

    low, high, multiple = (None if end is None else end / unit for end in (box.low, box.high, box.multiple))
    points = None if box.points is None else each(box.points)
    return NumberBox(
        low, box.low_open, high, box.high_open, multiple, each(box.not_multiples), points, each(box.holes),
        steps=each(box.steps),
    )  # fmt: skip


def _decimals(box: NumberBox) -> Node:
    """The decimals of a box, without exponent."""
    if box.points is not None:
        return _points(box.points, False, exponents=False)
    node = _signed(box, magnitude_range) if box.low is not None or box.high is not None else DECIMAL
    node = _divisible(node, box)
    return intersect(node, complement(_points(box.holes, False, exponents=False))) if box.holes else node


def _integers(box: NumberBox, bounded: bool) -> Node:
    """Integers in an interval; other divisors come on top (then without exponents)."""
    tail = EPSILON if box.plain else ZERO_FRACTION
    scientific = not box.plain and box.multiple == 1 and not box.not_multiples and not box.holes and not bounded
    if not bounded:
        node = concat(PLAIN_INTEGER, tail)
        return (
            alternate(node, concat(SIGN, alternate(_small_scientific(), _large_scientific()))) if scientific else node
        )
    return concat(_signed(box, _natural_interval), tail)


def _natural_interval(low: Rational, low_open: bool, high: Rational | None, high_open: bool) -> Node:
    """Integers of an interval with any ends."""
    first = -(-low // 1)
    first += 1 if low_open and first == low else 0
    if high is None:
        return natural_range(int(first), None)
    last = high // 1
    last -= 1 if high_open and last == high else 0
    return natural_range(int(first), int(last))


def _points(values: Iterable[Rational], plain: bool, exponents: bool = True) -> Node:
    """Every spelling of finitely many numbers: decimals, and scientific ones with one digit before the point.

    Grouped by ending and by exponent, so that 100,000 numbers are a few nodes over sorted texts.
    """
    integers: list[str] = []
    fractions: list[str] = []
    mantissas: dict[int, tuple[list[str], list[str]]] = {}
    for value in values:
        tick()
        whole, decimals = split_decimal(value if value >= 0 else -value)
        sign = "-" if value < 0 else ""
        if value == 0:
            integers += ["0", "-0"]
            continue
        (fractions if decimals else integers).append(f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}")
        digits = f"{whole}{decimals}".lstrip("0")
        order = len(str(whole)) - 1 if whole else len(digits) - len(decimals) - 1
        digits = digits.rstrip("0")
        group = mantissas.setdefault(order, ([], []))
        group[len(digits) > 1].append(f"{sign}{digits[0]}.{digits[1:]}" if len(digits) > 1 else f"{sign}{digits}")
    if plain:
        return alternate(literals(integers), concat(literals(fractions), ZEROS))
    parts = [_with_zeros(integers, fractions)]
    for order, (ones, longer) in mantissas.items() if exponents else ():
        parts.append(concat(_with_zeros(ones, longer), EXPONENT_MARK, _exponents(order, order)))
    return alternate(*parts)


def _with_zeros(integers: list[str], fractions: list[str]) -> Node:
    """Decimals with any number of zeros at their end."""
    return alternate(concat(literals(integers), ZERO_FRACTION), concat(literals(fractions), ZEROS))
