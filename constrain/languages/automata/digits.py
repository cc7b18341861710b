"""Ranges of numbers as products of ranges of their digits."""

from __future__ import annotations

Sequence = tuple[tuple[int, int], ...]  # a concatenation of ranges, of bytes or of digits


def digit_sequences(low: int, high: int, digits: int, base: int) -> list[Sequence]:
    """Split a range of numbers into products of digit ranges (`digits` of them, most significant first)."""
    if digits == 1:
        return [((low, high),)] if low <= high else []
    unit = base ** (digits - 1)
    out: list[Sequence] = []
    while low <= high:
        top = low // unit
        if low % unit == 0 and low + unit - 1 <= high:  # all complete blocks at once
            last = (high + 1) // unit - 1
            out.append(((top, last), *(((0, base - 1),) * (digits - 1))))
            low = (last + 1) * unit
        else:
            end = min(high, (top + 1) * unit - 1)
            out += [((top, top), *rest) for rest in digit_sequences(low % unit, end % unit, digits - 1, base)]
            low = end + 1
    return out
