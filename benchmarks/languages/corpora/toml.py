"""TOML: files of this machine, then documents with every kind of value and odd spacing."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from languages.corpora import files
from languages.corpora.writing import number, phrase, spaces, word


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """Half of them files, where there are as many."""
    for path in files("*.toml", random)[: limit // 2]:
        yield path.as_posix(), path.read_bytes()
    for index in range(limit):
        yield f"generated {index}", _document(random).encode()


def _document(random: Random) -> str:
    end = random.choice(("\n", "\n", "\r\n"))
    lines = [_line(random, index) + _trail(random) for index in range(random.randrange(1, 12))]
    return end.join(lines) + random.choice(("", end))


def _line(random: Random, index: int) -> str:
    kind = random.random()
    if kind < 0.1:
        return spaces(random)
    if kind < 0.3:
        key = f"t{index}" + _rest_of_key(random)
        return random.choice((f"[{spaces(random)}{key}{spaces(random)}]", f"[[{key}]]"))
    return f"{spaces(random)}k{index}{_rest_of_key(random)}{spaces(random)}={spaces(random)}{_value(random, 3)}"


def _rest_of_key(random: Random) -> str:
    if random.random() < 0.7:
        return ""
    part = random.choice((word(random), f'"{phrase(random)}"', f"'{phrase(random, without=chr(39))}'", "007"))
    return f"{spaces(random)}.{spaces(random)}{part}"


def _trail(random: Random) -> str:
    return f"{spaces(random)}# {phrase(random)}" if random.random() < 0.2 else spaces(random)


def _value(random: Random, depth: int) -> str:
    kinds = (_string, _scalar, _time) if depth == 0 else (_string, _scalar, _time, _array, _table)
    kind = random.choice(kinds)
    return kind(random, depth - 1) if kind in (_array, _table) else kind(random)  # type: ignore[call-arg]


def _string(random: Random) -> str:
    escape = random.choice((r"\n", r"\"", r"\\", r"\u00e9", r"\U0001F388", ""))
    return random.choice(
        (
            f'"{phrase(random)}{escape}"',
            f"'{phrase(random, without=chr(39))}\\'",
            f'"""\n{phrase(random)}{escape} ""\\\n   \n{phrase(random)}"""{random.choice(("", chr(34)))}',
            f"'''{phrase(random)}'a\n\\{phrase(random)}'''",
        )
    )


def _scalar(random: Random) -> str:
    sign = random.choice(("", "", "-", "+"))
    return random.choice(
        ("true", "false", "0xDead_beef", "0o7_1", "0b1_0", f"{sign}inf", "nan", "1_000", sign + number(random))
    )


def _time(random: Random) -> str:
    date = f"{random.randrange(1900, 2100)}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}"
    time = f"{random.randrange(24):02}:{random.randrange(60):02}:{random.randrange(60):02}"
    time += random.choice(("", ".5", ".123456"))
    zone = random.choice(("", "Z", "z", "+01:30", "-23:59"))
    return random.choice((date, time, f"{date}{random.choice('Tt ')}{time}{zone}", "2024-02-29"))


def _array(random: Random, depth: int) -> str:
    gap = ("", " ", "\n", " # note\n", "\r\n\t")
    items = [spaces(random, gap) + _value(random, depth) + spaces(random, gap) for _ in range(random.randrange(4))]
    comma = "," if items and random.random() < 0.3 else ""
    return f"[{','.join(items)}{comma}{spaces(random, gap)}]"


def _table(random: Random, depth: int) -> str:
    pairs = [f"{spaces(random)}p{i} ={spaces(random)}{_value(random, depth)}" for i in range(random.randrange(4))]
    return f"{{{','.join(pairs)}{spaces(random)}}}"
