"""Markdown tables: generated, tight and aligned, with escaped pipes, empty cells and rows of other lengths."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from languages.corpora.writing import number, phrase, word

HYPHENS = ("-", "---", ":--", "--:", ":-:", "-----")


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """`limit` tables."""
    for index in range(limit):
        yield f"generated {index}", _table(random).encode()


def _table(random: Random) -> str:
    width = random.randrange(1, 6)
    end = random.choice(("\n", "\n", "\r\n"))
    rows = [_row(random, [_cell(random) for _ in range(width)])]
    rows.append(_row(random, [random.choice(HYPHENS) for _ in range(width)]))
    lengths = random.choices((width, width, width + 1, 1), k=random.randrange(5))
    rows += [_row(random, [_cell(random) for _ in range(length)]) for length in lengths]
    return end.join(rows) + random.choice(("", end))


def _row(random: Random, cells: list[str]) -> str:
    gap = random.choice(("", " ", "  "))
    last = "|" if random.random() < 0.8 else ""
    return random.choice(("", "", " ", "   ")) + "".join(f"|{gap}{cell}{gap}" for cell in cells) + last


def _cell(random: Random) -> str:
    plain = phrase(random, "|") + "x"
    return random.choice((word(random), number(random), plain, "`a \\| b`", "**b**", "\\", "\\\\|y"))
