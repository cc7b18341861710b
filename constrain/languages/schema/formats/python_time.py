"""Dates, times and durations of Python's `datetime`, with bounds, as pydantic reads and writes them in JSON.

The idea: a date, a time and a date-time are digits of a fixed width, so a bound is a comparison digit by digit; digits
of a fraction that are missing are zeros. pydantic compares wall clocks if the text or the bound has no offset, else
instants: for each offset, the bound is another wall clock.

Exact, but for what pydantic reads and never writes: other separators, numbers, more than six digits of a second. Under
a bound with an offset, texts have `Z` or an offset of whole quarters of an hour from -12:00 to +14:00, as time zones
have; others only where a day lies between them and the bound. Durations under a bound are written as pydantic writes
them: years of 365 days, then days, hours, minutes and seconds, none of them too large.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from functools import cache
from typing import Any

from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.syntax import (
    ANY_CHAR,
    EMPTY,
    EPSILON,
    Node,
    alternate,
    chars,
    concat,
    difference,
    intersect,
    literal,
    literals,
    optional,
    repeat,
)
from constrain.languages.schema.formats import time as rfc3339
from constrain.languages.schema.sets.digits import DIGIT, magnitude_range, natural_range

_FRACTION = r"(?:\.[0-9]{1,6})?"
_CLOCK = rf"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]{_FRACTION}"
_OFFSETS = "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_QUARTERS = range(-12 * 60, 14 * 60 + 1, 15)  # offsets of time zones, in minutes


# ---------------------------------------------------------------------------------------------- dates and clocks


def dates(bounds: dict[str, Any]) -> Node:
    """Dates of years from 0001, within bounds: ge, gt, le, lt → a date."""
    days = difference(parse_ecma(rfc3339.DATE, whole=True), parse_ecma("0000.*", whole=True))
    return intersect(days, *(_side(bound.isoformat(), kind) for kind, bound in bounds.items()))


def times(bounds: dict[str, Any], zone: str | int | None = None) -> Node:
    """Times, within bounds; zone: "aware", "naive", the seconds of an offset, or None: any."""
    clocks = parse_ecma(_CLOCK, whole=True)
    return _zoned(clocks, bounds, zone, lambda bound: bound.isoformat("microseconds")[:15], _clock_instants)


def datetimes(bounds: dict[str, Any], zone: str | int | None = None) -> Node:
    """Date-times, within bounds; zone: as of `times`."""
    texts = concat(dates({}), literal("T"), parse_ecma(_CLOCK, whole=True))
    return _zoned(texts, bounds, zone, lambda bound: bound.isoformat(timespec="microseconds")[:26], _instants)


def _zoned(texts: Node, bounds: dict[str, Any], zone: str | int | None, wall: Any, instants: Any) -> Node:
    """Texts, with offsets; wall(bound): its wall clock; instants(bound, kind): texts with an offset on its side."""
    aware = {kind: bound for kind, bound in bounds.items() if bound.utcoffset() is not None}
    texts = intersect(texts, *(_side(wall(bound), kind) for kind, bound in bounds.items() if kind not in aware))
    without = intersect(texts, *(_side(wall(bound), kind) for kind, bound in aware.items()))
    if zone == "naive":
        return without
    offsets = _OFFSETS if not isinstance(zone, int) else f"[{_spelled(zone // 60)[0]}]{_spelled(zone // 60)[1:]}"
    if zone == 0:
        offsets += "|Z"
    sides = [instants(bound, kind) for kind, bound in aware.items()]
    within = intersect(concat(texts, parse_ecma(offsets, whole=True)), *sides)
    return within if zone is not None else alternate(without, within)


def _spelled(minutes: int) -> str:
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"


def _walls(bound: datetime) -> Iterator[tuple[str, datetime]]:
    """Yield offsets, and the wall clock of an instant at each; those beyond all years are left out."""
    for minutes in _QUARTERS:
        with contextlib.suppress(OverflowError):
            local = bound.replace(tzinfo=None) - (bound.utcoffset() or timedelta()) + timedelta(minutes=minutes)
            yield _spelled(minutes), local
            if minutes == 0:
                yield "Z", local
                yield "-00:00", local


def _instants(bound: datetime, kind: str) -> Node:
    """Date-times with an offset on one side of an instant."""
    walls = list(_walls(bound))
    days = sorted({local.date() for _, local in walls})
    above = kind[0] == "g"
    far = _side(str(days[-1] if above else days[0]), "gt" if above else "lt")
    parts = [concat(far, literal("T"), parse_ecma(f".*{_OFFSETS}", whole=True))]
    for day in days:
        open_ = [offset for offset, local in walls if (local.date() < day if above else local.date() > day)]
        clocks = [(offset, local.time()) for offset, local in walls if local.date() == day]
        parts.append(concat(literal(f"{day}T"), _clocks(open_, clocks, kind)))
    return alternate(*parts)


def _clock_instants(bound: time, kind: str) -> Node:
    """Times with an offset on one side of a time; a time of the next day, or of the one before, is not the same."""
    day = date(2000, 1, 2)
    walls = list(_walls(datetime.combine(day, bound.replace(tzinfo=None), bound.tzinfo)))
    open_ = [offset for offset, local in walls if (local.date() < day if kind[0] == "g" else local.date() > day)]
    return _clocks(open_, [(offset, local.time()) for offset, local in walls if local.date() == day], kind)


def _clocks(open_: list[str], clocks: list[tuple[str, time]], kind: str) -> Node:
    """Clocks with an offset: of `open_` any, of the others those on one side of the time beside the offset."""
    above, any_rest, parts = kind[0] == "g", parse_ecma(f"[0-9:]{{5}}{_FRACTION}", whole=True), []
    for hour in range(24):
        free = open_ + [offset for offset, at in clocks if (at.hour < hour if above else at.hour > hour)]
        same = [
            concat(_side(at.isoformat("microseconds")[3:], kind), literal(offset))
            for offset, at in clocks
            if at.hour == hour
        ]
        parts.append(concat(literal(f"{hour:02}:"), alternate(concat(any_rest, literals(free)), *same)))
    return alternate(*parts)


@cache
def _side(bound: str, kind: str) -> Node:
    """Texts of the form of a bound that are on one side of it: "ge", "gt", "le" or "lt"."""
    above, strict = kind[0] == "g", kind[1] == "t"
    whole, point, fraction = bound.partition(".")
    node = _fraction_side(fraction, above, strict) if point else EMPTY if strict else EPSILON
    rest = parse_ecma(_FRACTION, whole=True) if point else EPSILON
    for character in reversed(whole):
        node = concat(literal(character), node)
        if character.isdigit():
            digit = int(character)
            other = (digit + 1, 9) if above else (0, digit - 1)
            node = alternate(node, concat(_digit(*other), rest))
        rest = concat(DIGIT if character.isdigit() else literal(character), rest)
    return node


def _fraction_side(bound: str, above: bool, strict: bool) -> Node:
    """A point and up to six digits, or nothing, on one side of six digits."""
    node: Node = EMPTY if strict else EPSILON
    for place in reversed(range(len(bound))):
        zeros = not int(bound[place:])
        ends = not (strict and zeros) and (zeros or not above)
        digit = int(bound[place])
        other = (digit + 1, 9) if above else (0, digit - 1)
        rest = repeat(DIGIT, 0, len(bound) - place - 1)
        more = alternate(concat(literal(bound[place]), node), concat(_digit(*other), rest))
        if place == 0:
            return alternate(concat(literal("."), more), EPSILON if ends else EMPTY)
        node = alternate(more, EPSILON if ends else EMPTY)
    return node


def _digit(low: int, high: int) -> Node:
    return chars([(48 + low, 48 + high)])


# ----------------------------------------------------------------------------------------------------- durations

_UNITS = (("Y", 365 * 86400, None), ("D", 86400, 364), ("H", 3600, 23), ("M", 60, 59))  # name, seconds, the most
_LOOSE = (  # any order of size, and no sum beyond what pydantic reads
    r"P(?=.)(?:[0-9]{1,6}Y)?(?:[0-9]{1,6}M)?(?:[0-9]{1,6}W)?(?:[0-9]{1,8}D)?"
    rf"(?:T(?=.)(?:[0-9]{{1,5}}H)?(?:[0-9]{{1,6}}M)?(?:[0-9]{{1,8}}{_FRACTION}S)?)?"
)


def timedeltas(bounds: dict[str, Any]) -> Node:
    """Durations of ISO 8601 within bounds."""
    lows = [(bounds[each], each == "gt") for each in ("ge", "gt") if each in bounds]
    low, low_open = max(lows, default=(None, False))
    high, high_open = min(
        ((bounds[each], each == "lt") for each in ("le", "lt") if each in bounds),
        default=(None, False),
        key=lambda pair: (pair[0], not pair[1]),
    )
    zero = timedelta()
    below, above = timedelta.min if low is None else low, timedelta.max if high is None else high
    parts = []
    if above > zero:
        parts.append(_magnitudes(max(below, zero), below <= zero or low_open, above, high_open))
    if below < zero:
        parts.append(concat(literal("-"), _magnitudes(-min(above, zero), above >= zero or high_open, -below, low_open)))
    if (below < zero or (below == zero and not low_open)) and (above > zero or (above == zero and not high_open)):
        parts.append(literal("PT0S"))
    loose = [] if bounds else [concat(optional(literal("-")), parse_ecma(_LOOSE, whole=True))]
    return alternate(*parts, *loose)


def _magnitudes(low: timedelta, low_open: bool, high: timedelta, high_open: bool) -> Node:
    """Durations greater than zero as pydantic writes them."""
    sides = [_magnitude_side(low, True, low_open), _magnitude_side(high, False, high_open)]
    return concat(literal("P"), intersect(*sides, repeat(ANY_CHAR, 1)))


def _magnitude_side(bound: timedelta, above: bool, strict: bool) -> Node:
    """Durations without the P on one side of a bound; the empty text is zero."""
    left = bound.days * 86400 + bound.seconds + Fraction(bound.microseconds, 1_000_000)
    values = []
    for _, seconds, _ in _UNITS:
        value, left = divmod(left, seconds)
        values.append(int(value))
    part, rest = _seconds(left, strict, above), _seconds(Fraction(0), False, True)
    for (name, _, most), value in reversed(list(zip(_UNITS, values, strict=True))):
        same = concat(EPSILON if value == 0 else literal(f"{value}{name}"), part)
        other = (value + 1, most) if above else (0, value - 1)
        part = alternate(same, concat(_counted(*other, name), rest))
        rest = concat(_counted(0, most, name), rest)
        if name == "H":
            part, rest = _after_t(part), _after_t(rest)
    return part


def _after_t(clock: Node) -> Node:
    """The part of a duration that a T begins, or nothing if it is nothing."""
    return alternate(concat(literal("T"), intersect(clock, repeat(ANY_CHAR, 1))), intersect(clock, EPSILON))


def _counted(low: int, high: int | None, name: str) -> Node:
    """A number of a unit; nothing for zero."""
    some = concat(natural_range(max(low, 1), high), literal(name))
    return alternate(some, EPSILON) if low == 0 and (high is None or high >= 0) else some


def _seconds(bound: Fraction, strict: bool, above: bool) -> Node:
    """Seconds of a minute, with up to six decimals, on one side of a bound; nothing for zero."""
    ends = (bound, strict, 60, True) if above else (0, False, bound, strict)
    if not above and strict and bound == 0:
        return EMPTY
    some = intersect(magnitude_range(*ends), parse_ecma(rf"[0-9]+{_FRACTION}", whole=True))
    zero = (bound == 0 and not strict) if above else (bound > 0 or not strict)
    return alternate(concat(some, literal("S")), EPSILON if zero else EMPTY)


def timedelta_of(text: str) -> timedelta:
    """The value of a duration as pydantic writes it."""
    found = re.fullmatch(r"(-?)P(?:(\d+)Y)?(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?", text)
    if found is None:
        raise ValueError(f"{text!r} is no duration")
    years, days, hours, minutes, seconds = (int(each or 0) for each in found.groups()[1:6])
    micro = int((found[7] or "").ljust(6, "0"))
    value = timedelta(years * 365 + days, seconds, micro, 0, minutes, hours)
    return -value if found[1] else value
