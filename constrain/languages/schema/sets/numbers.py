"""Sets of numbers, exactly: intervals with divisibility conditions, or finitely many points.

The idea: `minimum`, `multipleOf`, `enum`, `integer` and their complements stay arithmetic on integers and fractions
until they are lowered to digits (`digits.py`). A float is read as the decimal that Python prints for it: 0.1 is one
tenth. Cost: constant per operation, linear in the number of points.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple, TypeGuard

from constrain.errors import LimitError

Rational = int | Fraction
MAX_DIGITS = 4000  # of a number; Python writes 4300 of an integer
MAX_BITS = 13287  # of 10^MAX_DIGITS
MAX_EXPONENT = 1000  # schemas with numbers beyond 10^±1000 are refused, since their digits would be written out


class NumberBox(NamedTuple):
    """An interval of numbers with divisibility conditions, or finitely many numbers.

    Attributes:
        low: The lower end; None: unbounded.
        low_open: Whether the lower end itself is excluded.
        high: The upper end; None: unbounded.
        high_open: Whether the upper end itself is excluded.
        multiple: Every number is a multiple of it (1: integers); None: no condition.
        not_multiples: No number is a multiple of any of these.
        points: If not None, the set is these numbers; the other conditions but `plain` have been applied to them.
        holes: Numbers that are left out.
        plain: True: spelled without fraction and exponent (`integer` in draft 4); False: with one; None: either way.
        steps: The divisors whose least common multiple is `multiple`; of points: 1, if they are called integers.
    """

    low: Rational | None = None
    low_open: bool = False
    high: Rational | None = None
    high_open: bool = False
    multiple: Rational | None = None
    not_multiples: frozenset[Rational] = frozenset()
    points: frozenset[Rational] | None = None
    holes: frozenset[Rational] = frozenset()
    plain: bool | None = None
    steps: frozenset[Rational] = frozenset()


ANY_NUMBER = NumberBox()


def is_number(value: object) -> TypeGuard[int | float | Decimal | Fraction]:
    """True if a Python value is a JSON number; booleans are not."""
    return isinstance(value, (int, float, Decimal, Fraction)) and not isinstance(value, bool)


def exact(value: int | float | Decimal | Fraction) -> Rational:
    """The number as an integer or a fraction; a float stands for the decimal that Python prints for it.

    Raises:
        LimitError: The number is beyond 10^±1000, or has more than 4000 digits.
        ValueError: It is not a number or infinite.
    """
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise _too_long()
        return value
    if isinstance(value, float) and math.isfinite(value):  # PERF: it is in no such limit's reach
        value = Fraction(Decimal(repr(value)))
        return value.numerator if value.denominator == 1 else value
    if not isinstance(value, Fraction):
        decimal = Decimal(value)
        if not decimal.is_finite():
            raise ValueError(f"{value} is not a JSON number")
        if max(len(decimal.as_tuple().digits), -int(decimal.as_tuple().exponent)) > MAX_DIGITS:
            raise _too_long()
        if decimal and abs(decimal.adjusted()) > MAX_EXPONENT:
            raise LimitError(
                f"the number {value!s:.40} is beyond 10^±{MAX_EXPONENT}", fix="use a smaller bound, or leave it out"
            )
        value = Fraction(decimal)
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS + 1:
        raise _too_long()
    return value.numerator if value.denominator == 1 else value


def _too_long() -> LimitError:
    return LimitError(f"a number has more than {MAX_DIGITS} digits", fix="use a number with fewer, or leave it out")


def least_common_multiple(a: Rational | None, b: Rational | None) -> Rational | None:
    """The least common multiple of two positive numbers; None stands for no condition."""
    if a is None or b is None or a == b:
        return b if a is None else a
    x, y = Fraction(a), Fraction(b)
    return exact(
        Fraction(math.lcm(x.numerator * y.denominator, y.numerator * x.denominator), x.denominator * y.denominator)
    )


def holds(box: NumberBox, value: Rational) -> bool:
    """True if the number is in the box."""
    if box.points is not None:
        return value in box.points
    if box.low is not None and (value < box.low or (box.low_open and value == box.low)):
        return False
    if box.high is not None and (value > box.high or (box.high_open and value == box.high)):
        return False
    if box.multiple is not None and value % box.multiple != 0:
        return False
    return value not in box.holes and all(value % other != 0 for other in box.not_multiples)


def meet_numbers(a: NumberBox, b: NumberBox) -> NumberBox | None:
    """The numbers in both boxes; None if there are visibly none."""
    if a.plain is not None and b.plain is not None and a.plain != b.plain:
        return None
    plain = b.plain if a.plain is None else a.plain
    if b.points is not None and a.points is None:
        a, b = b, a
    if a.points is not None:
        points = frozenset(point for point in a.points if holds(b, point))
        integers = frozenset((1,)) & (steps_of(a) | steps_of(b))
        return NumberBox(points=points, plain=plain, steps=integers) if points else None
    low, low_open = _inner_end((a.low, a.low_open), (b.low, b.low_open), 1)
    high, high_open = _inner_end((a.high, a.high_open), (b.high, b.high_open), -1)
    if low is not None and high is not None and (low > high or (low == high and (low_open or high_open))):
        return None
    multiple = least_common_multiple(a.multiple, b.multiple)
    excluded = a.not_multiples | b.not_multiples
    if multiple is not None and any(multiple % other == 0 for other in excluded):
        return None
    return NumberBox(
        low, low_open, high, high_open, multiple, excluded, None, a.holes | b.holes, plain, steps_of(a) | steps_of(b)
    )


def steps_of(box: NumberBox) -> frozenset[Rational]:
    """The numbers of which a schema says that all in the box are multiples; 1: they are called integers."""
    return box.steps or (frozenset() if box.multiple is None else frozenset((box.multiple,)))


End = tuple[Rational | None, bool]


def _inner_end(a: End, b: End, sign: int) -> End:
    """The stricter of two ends of an interval; sign 1 for lower ends, -1 for upper ends."""
    if a[0] is None or b[0] is None:
        return b if a[0] is None else a
    if a[0] == b[0]:
        return a[0], a[1] or b[1]
    return b if (b[0] - a[0]) * sign > 0 else a


def has_numbers(box: NumberBox) -> bool:
    """True if the box is inhabited; exact.

    The multiples of m that are not multiples of other numbers repeat with the least common multiple of all. So one
    period decides an infinite or long interval.
    """
    if box.points is not None:
        return bool(box.points)
    if box.multiple is None:
        if box.low is not None and box.low == box.high:
            return holds(box, box.low)
        return True  # a real interval minus a discrete set
    if not box.not_multiples and (box.low is None or box.high is None):
        return True  # PERF: all multiples of a number beyond another one, but for finitely many
    step = box.multiple
    period: Rational | None = step
    for other in box.not_multiples:
        period = least_common_multiple(period, other)
    count = int(Fraction(period or step) / step) + len(box.holes) + 1
    first = _first_multiple(box, step)
    direction = step if box.low is not None or box.high is None else -step
    return any(holds(box, first + direction * i) for i in range(count))


def finite_numbers(box: NumberBox, limit: int) -> tuple[Rational, ...] | None:
    """The numbers of a box in order, if there are at most `limit` candidates; else None."""
    if box.points is not None:
        return tuple(sorted(box.points)) if len(box.points) <= limit else None
    if box.low is None or box.high is None:
        return None
    if box.low == box.high:
        return (box.low,) if holds(box, box.low) else ()
    if box.multiple is None:
        return None
    first = _first_multiple(box, box.multiple)
    count = (box.high - first) // box.multiple + 1
    if count > limit:
        return None
    return tuple(number for i in range(int(count)) if holds(box, number := first + box.multiple * i))


def _first_multiple(box: NumberBox, step: Rational) -> Rational:
    """The multiple of `step` in the interval that is nearest to the lower end, or to the upper end if it is alone."""
    if box.low is not None:
        first = -(-box.low // step) * step
        return first + step if box.low_open and first == box.low else first
    if box.high is not None:
        first = box.high // step * step
        return first - step if box.high_open and first == box.high else first
    return 0


def complement_of_numbers(box: NumberBox) -> list[NumberBox]:
    """The numbers outside the box, as a union of boxes."""
    outside = []
    if box.plain is not None:
        outside.append(NumberBox(plain=False) if box.plain else NumberBox(multiple=1, plain=True))
    if box.points is not None:
        return [*outside, NumberBox(holes=box.points)]
    if box.low is not None:
        outside.append(NumberBox(high=box.low, high_open=not box.low_open))
    if box.high is not None:
        outside.append(NumberBox(low=box.high, low_open=not box.high_open))
    if box.multiple is not None:
        outside.append(NumberBox(not_multiples=frozenset((box.multiple,))))
    outside += [NumberBox(multiple=other) for other in box.not_multiples]
    if box.holes:
        outside.append(NumberBox(points=box.holes))
    return outside
