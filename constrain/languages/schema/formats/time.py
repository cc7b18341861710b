"""Dates, times and durations as regular languages (RFC 3339; Validation 2020-12, section 7.3.1).

Exact: each month has its days, years run from 0000 to 9999 (RFC 3339 section 1), and a second may be 60 where it is the
last one of a day in UTC. Whether a leap second was inserted on that very day is not checked: the list of them grows.

Limit: a second of 60 needs an offset of whole quarters of an hour, as all have been since there are leap seconds
(1972). Formats without offset, of OpenAPI's registry of formats, have no second of 60, as it has no place in a day.

Cost: an automaton that admits a leap second remembers the local time until the offset is known. With all 1,440
times of a day that is 200 ms before the first mask, and no two times share their masks; with the 96 of these offsets,
3 ms.
"""

from __future__ import annotations

from functools import cache

from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.syntax import Node, alternate, concat, literal, literals

_LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
DATE = (
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    f"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP_YEAR}-02-29)"
)  # RFC 3339 section 5.6 full-date, with the days of each month (section 5.7) and the leap years of appendix C

_DAY = 24 * 60  # minutes
_FRACTION = r"(?:\.[0-9]+)?"
_OFFSET = "(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_TIME = rf"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]{_FRACTION}{_OFFSET}"

_CLOCK = "(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)"
_DAYS = "(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)"
DURATION = f"P(?:{_DAYS}(?:T{_CLOCK})?|T{_CLOCK}|[0-9]+W)"  # RFC 3339 appendix A


@cache
def time() -> Node:
    """RFC 3339 section 5.6 full-time, seconds by section 5.7."""
    return alternate(parse_ecma(_TIME, whole=True), _leap_seconds())


@cache
def date_time() -> Node:
    """RFC 3339 section 5.6 date-time."""
    return concat(parse_ecma(f"{DATE}[Tt]", whole=True), time())


LOCAL_TIME = rf"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]{_FRACTION}"
LOCAL_DATE_TIME = f"{DATE}[Tt]{LOCAL_TIME}"


def _leap_seconds() -> Node:
    """Times with second 60: local time minus offset, which is UTC, is 23:59."""
    fraction = parse_ecma(_FRACTION, whole=True)
    hours = []
    for hour in range(24):
        minutes = []
        for minute in (14, 29, 44, 59):
            local = hour * 60 + minute  # in minutes, as the offsets
            ahead, behind = (local + 1) % _DAY, _DAY - 1 - local
            offsets = [f"+{ahead // 60:02}:{ahead % 60:02}", f"-{behind // 60:02}:{behind % 60:02}"]
            if ahead == 0:
                offsets += ["Z", "z"]
            minutes.append(concat(literal(f"{minute}:60"), fraction, literals(offsets)))
        hours.append(concat(literal(f"{hour:02}:"), alternate(*minutes)))
    return alternate(*hours)
