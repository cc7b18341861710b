"""A text with one byte changed: replaced, removed, doubled or inserted, at a place drawn by a seed.

New bytes are mostly the ones that languages are made of (what the text itself has, ASCII punctuation, digits, letters,
white space), since a change that both sides refuse at once tells little; one in twenty is any byte.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

_COMMON = (string.punctuation + string.digits + " \n\taeEnfx").encode()


@dataclass(frozen=True)
class Mutant:
    """The text up to `at`, then `rest`. change: in words."""

    at: int
    rest: bytes
    change: str


def mutants(text: bytes, random: Random, count: int) -> Iterator[Mutant]:
    """`count` changed texts, in the order of their places; none equals the text."""
    places = sorted(random.randrange(len(text) + 1) for _ in range(count))
    for at in places:
        new = bytes([_byte(text, random)])
        kind = random.choice(("replace", "remove", "double", "insert")) if at < len(text) else "insert"
        old = text[at : at + 1]
        if kind == "replace" and new != old:
            yield Mutant(at, new + text[at + 1 :], f"{old!r} replaced by {new!r}")
        elif kind == "remove":
            yield Mutant(at, text[at + 1 :], f"{old!r} removed")
        elif kind == "double":
            yield Mutant(at, old + text[at:], f"{old!r} doubled")
        else:
            yield Mutant(at, new + text[at:], f"{new!r} inserted")


def _byte(text: bytes, random: Random) -> int:
    draw = random.random()
    if draw < 0.05:
        return random.randrange(256)
    return random.choice(text if text and draw < 0.5 else _COMMON)
