"""Sets of code points as sorted, disjoint, inclusive ranges.

The idea: a set of characters is `Ranges` (see `syntax`), never a list of its members, so `.` costs two pairs of
integers and every operation is one merge. Surrogates are in no set. Cost: linear in the number of ranges; limit:
none.
"""

from __future__ import annotations

from collections.abc import Iterable

from constrain.automata.syntax import ANY_CHAR, MAX_CODE_POINT, Chars, Ranges, chars

ANY: Ranges = ANY_CHAR.ranges


def union(*sets: Iterable[tuple[int, int]]) -> Ranges:
    """What is in any of the sets; also makes `Ranges` of any pairs (unsorted, overlapping, with surrogates)."""
    merged = chars(pair for each in sets for pair in each)
    assert isinstance(merged, Chars)
    return merged.ranges


def negate(ranges: Ranges) -> Ranges:
    """Every character that is not in the set."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        gaps.append((start, low - 1))
        start = high + 1
    return union([*gaps, (start, MAX_CODE_POINT)])


def common(a: Ranges, b: Ranges) -> Ranges:
    """What is in both sets."""
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if low <= high:
            found.append((low, high))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(found)


def single(ranges: Ranges) -> int | None:
    """The only code point of a set of one, else None."""
    return ranges[0][0] if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else None
