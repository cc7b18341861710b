"""GBNF: grammar files of this machine and of the collection, then generated ones."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import constrain.collection

from languages.corpora import files
from languages.corpora.writing import phrase, spaces

ENDS = ("\n", "\n\n", " # note\n", "\r\n", '\n# a ::= "b"\n', "\n  \n")
GAPS = (" ", "  ", "\t", "")
SETS = ("[a-z]", '[^"\\\\]', "[-a]", "[a-]", "[^]", "[]", r"[\x41-\u005a]", "[é漢]", r"[\]\[]")
REPETITIONS = ("*", "+", "?", "{2}", "{1,}", "{ 0 , 3 }", " *", "{2}?")


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """All files, then generated texts."""
    for name in constrain.collection.names():
        folder = constrain.collection.folder(name)
        if folder.file.suffix == ".gbnf":
            yield f"{name}/grammar.gbnf", folder.file.read_bytes()
    for path in files("*.gbnf", random)[: limit // 2]:
        yield path.as_posix(), path.read_bytes()
    for index in range(limit):
        yield f"generated {index}", _grammar(random).encode()


def _grammar(random: Random) -> str:
    names = [f"r{i}" for i in range(random.randrange(5))] + ["root"]
    rules = [f"{name}{random.choice(GAPS)}::= {_choice(random, names, 2)}" for name in names]
    return "".join(rule + random.choice(ENDS) for rule in rules).rstrip(random.choice(("", "\n")))


def _choice(random: Random, names: list[str], depth: int, nested: bool = False) -> str:
    bars = ("|", " | ", "\n  | ", " |\n ", " # note\n|")
    parts = [_sequence(random, names, depth, nested) for _ in range(random.choice((1, 1, 2, 3)))]
    return "".join(part + random.choice(bars) for part in parts[:-1]) + parts[-1]


def _sequence(random: Random, names: list[str], depth: int, nested: bool) -> str:
    gap = random.choice((" ", "\n ", " # x\n")) if nested else " "
    return gap.join(_item(random, names, depth) for _ in range(random.randrange(1, 4)))


def _item(random: Random, names: list[str], depth: int) -> str:
    escape = random.choice((r"\n", r"\"", r"\\", r"\x41", r"\u00e9", r"\U0001F388", ""))
    string = f'"{phrase(random, chr(34) + chr(92))}{escape}"'
    item = random.choice((string, random.choice(names), random.choice(SETS), "."))
    if depth and random.random() < 0.25:
        item = f"({spaces(random)}{_choice(random, names, depth - 1, nested=True)}{spaces(random)})"
    return item + (random.choice(REPETITIONS) if random.random() < 0.3 else "")
