"""Sets of code points as sorted, disjoint, inclusive ranges.

The idea: a set of characters is `Ranges` (automata/syntax.py), never a list of its members. So `.` is two pairs of
integers, and every operation is one merge. Surrogates are in no set. Cost: linear in the number of ranges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from constrain.languages.automata.syntax import ANY_CHAR, MAX_CODE_POINT, Chars, Ranges, chars

ANY: Ranges = ANY_CHAR.ranges
_SURROGATE = re.compile("[\ud800-\udfff]")


def has_lone_surrogate(text: str) -> bool:
    """True if a str is not the text of any bytes: a half of a surrogate pair is in it."""
    return _SURROGATE.search(text) is not None


def union(*sets: Iterable[tuple[int, int]]) -> Ranges:
    """The union of sets, which may be any pairs: unsorted, overlapping, with surrogates."""
    merged = chars(pair for ranges in sets for pair in ranges)
    assert isinstance(merged, Chars)
    return merged.ranges


def contains(ranges: Ranges, code_point: int) -> bool:
    """True if a set has a character."""
    return any(low <= code_point <= high for low, high in ranges)


def negate(ranges: Ranges) -> Ranges:
    """The complement of a set."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        gaps.append((start, low - 1))
        start = high + 1
    return union([*gaps, (start, MAX_CODE_POINT)])


def common(a: Ranges, b: Ranges) -> Ranges:
    """The intersection of two sets."""
    both: list[tuple[int, int]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if low <= high:
            both.append((low, high))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(both)


def subtract(ranges: Ranges, other: Ranges) -> Ranges:
    """The characters of the first set that are not in the second."""
    out = list(ranges)
    for low, high in other:
        out = [piece for a, b in out for piece in ((a, min(b, low - 1)), (max(a, high + 1), b)) if piece[0] <= piece[1]]
    return tuple(out)


def single(ranges: Ranges) -> int | None:
    """The code point of a set with one member, else None."""
    return ranges[0][0] if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else None
