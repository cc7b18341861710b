"""YAML flow collections: values as PyYAML writes them in flow style, and looser ones."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import yaml

from languages.corpora.writing import number, phrase, spaces, word

GAPS = ("", "", " ", "  ", "\n", "\n  ", " # note, [x]\n", "\r\n ")
PLAIN = ("a:b", "http://x.org/a#b", "-1", "-x:-", ".5", "a b  c", "a :b", "x#y", "~", "it's", 'say "x"')
PLAIN = (*PLAIN, "1e3", "é 漢", "a::b")
ESCAPES = (r"\n", r"\"", r"\x41", r"\u00e9", r"\U0001F388", r"\/", r"\ ", "")


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """Half of each."""
    for index in range(limit):
        if index % 2:
            yield f"written {index}", (_node(random, 3, collection=True) + spaces(random, GAPS)).encode()
        else:
            value = [_value(random, 3) for _ in range(random.randrange(4))]
            text = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=random.random() < 0.5)
            yield f"dumped {index}", text.encode()


def _value(random: Random, depth: int) -> Any:
    kind = random.random()
    if depth and kind < 0.25:
        return [_value(random, depth - 1) for _ in range(random.randrange(4))]
    if depth and kind < 0.5:
        return {word(random): _value(random, depth - 1) for _ in range(random.randrange(4))}
    return random.choice((phrase(random), word(random), random.randrange(-99, 99), None, True, 2.5))


def _node(random: Random, depth: int, collection: bool = False) -> str:
    kind = random.random()
    if not collection and (not depth or kind < 0.5):
        return _scalar(random)
    sequence = kind % 0.2 < 0.1
    parts = [_entry(random, depth - 1, sequence) for _ in range(random.randrange(4))]
    inside = spaces(random, GAPS) + ("," + spaces(random, GAPS)).join(part + spaces(random, GAPS) for part in parts)
    inside += "," + spaces(random, GAPS) if parts and random.random() < 0.2 else ""
    return f"[{inside}]" if sequence else f"{{{inside}}}"


def _entry(random: Random, depth: int, sequence: bool) -> str:
    if sequence and random.random() < 0.8:
        return _node(random, depth)
    key = _scalar(random) + random.choice(("", "", " "))
    if random.random() < 0.2 and not sequence:
        return key.strip(" ")
    gap = "" if key.strip()[-1] in "\"'" and random.random() < 0.4 else random.choice((" ", "\n  ", " # x\n"))
    return f"{key}:{gap}{_node(random, depth)}" if random.random() < 0.9 else f"{key}:"


def _scalar(random: Random) -> str:
    single = phrase(random, "'") + random.choice(("", "''"))
    double = phrase(random, '"\\') + random.choice(ESCAPES)
    return random.choice((word(random), number(random), random.choice(PLAIN), f"'{single}'", f'"{double}"'))
