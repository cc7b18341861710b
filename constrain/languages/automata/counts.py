"""Counts of repetitions beyond 32 bits. No text in memory is so long: as an upper bound such a count bounds nothing."""

from __future__ import annotations

from constrain.errors import LimitError

MAX_COUNT = 2**31 - 1  # the largest count of a repetition: words of the arena have 32 bits
MANY = 10**18  # what stands for a count of more digits


def read_count(digits: str) -> int:
    """The number that decimal digits write; `MANY` if they are more than 18."""
    digits = digits.lstrip("0")  # Python reads no more than 4,300 of them
    return int(digits or "0") if len(digits) <= 18 else MANY


def within_counts(low: int, high: int | None) -> tuple[int, int | None]:
    """The bounds of a repetition as the automaton keeps them: an upper bound beyond `MAX_COUNT` becomes None.

    Raises LimitError if the lower bound is beyond `MAX_COUNT`.
    """
    if low > MAX_COUNT:
        raise LimitError(
            f"a repetition of at least {min(low, MANY)} is asked for, more than {MAX_COUNT}", fix="ask for fewer"
        )
    return low, None if high is not None and high > MAX_COUNT else high
