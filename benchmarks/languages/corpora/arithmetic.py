"""Arithmetic: expressions drawn at random, with every operator, every kind of number and odd spacing."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from languages.corpora.writing import number, spaces

OPERATORS = ("+", "-", "*", "/", "//", "%", "**")
NUMBERS = ("0x_fF", "0b1_0", "0o17", "1_000.5_0", ".5", "5.", "0_0", "007.5", "1e-3", "00")


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """`limit` expressions."""
    for index in range(limit):
        yield f"generated {index}", _expression(random, random.randrange(7)).encode()


def _expression(random: Random, depth: int) -> str:
    gap = spaces(random)
    if depth == 0:
        return gap + (random.choice(NUMBERS) if random.random() < 0.3 else number(random)) + spaces(random)
    kind = random.random()
    if kind < 0.2:
        return f"{gap}({_expression(random, depth - 1)}){spaces(random)}"
    if kind < 0.35:
        return gap + random.choice("+-") + _expression(random, depth - 1)
    other = random.randrange(depth)
    return _expression(random, depth - 1) + random.choice(OPERATORS) + _expression(random, other)
