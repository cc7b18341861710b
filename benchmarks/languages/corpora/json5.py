"""JSON5: values drawn at random, with every spelling that JSON5 adds to JSON."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from languages.corpora.writing import number, phrase, spaces, word

GAPS = ("", "", "", " ", "\n", "\t", " // note\n", "/* a * b */", "\u00a0", "\u2028", "\r\n")
SCALARS = ("null", "true", "false", "Infinity", "-NaN", "+1", "0xDEAD", "-0Xbeef", ".5", "5.", "5.e3", "+.5E-1")
ESCAPES = (r"\n", r"\'", r"\"", r"\x41", r"é", r"\0", "\\\n", "\\\r\n", "\\\u2028", r"\a", r"\/", "")


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """`limit` documents."""
    for index in range(limit):
        yield f"generated {index}", _value(random, random.randrange(4)).encode()


def _value(random: Random, depth: int) -> str:
    before, after = spaces(random, GAPS), spaces(random, GAPS)
    kind = random.random()
    if depth and kind < 0.7:
        parts = [_value(random, depth - 1) for _ in range(random.randrange(4))]
        if kind < 0.35:
            parts = [f"{_key(random)}{spaces(random, GAPS)}:{part}" for part in parts]
        comma = "," + spaces(random, GAPS) if parts and random.random() < 0.4 else ""
        opened, closed = "{}" if kind < 0.35 else "[]"
        return f"{before}{opened}{','.join(parts)}{comma}{spaces(random, GAPS)}{closed}{after}"
    scalar = random.choice((number(random), random.choice(SCALARS), _string(random)))
    return before + scalar + after


def _string(random: Random) -> str:
    quote = random.choice("\"'")
    return quote + phrase(random, quote) + random.choice(ESCAPES) + phrase(random, quote, 5) + quote


def _key(random: Random) -> str:
    return random.choice((word(random), _string(random), "$_1", "größe", "null", "Infinity", r"\u0061b"))
