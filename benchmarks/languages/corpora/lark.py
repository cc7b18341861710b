"""Lark: grammar files of this machine and of the collection, then generated ones."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import constrain.collection

from languages.corpora import files
from languages.corpora.writing import phrase, spaces, word

REGEXPS = ("/[a-z]+/", r"/\/\\/i", "/a|b*?/ims", "/(?=x)y/", "/\n/x")
ENDS = ("\n", "\n\n", "\n// a: note\n", " # note\n", "\n  \n", "\r\n", "\n\t// x\n // y\n")


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """All files, then generated texts."""
    for name in constrain.collection.names():
        folder = constrain.collection.folder(name)
        if folder.file.suffix == ".lark":
            yield f"{name}/grammar.lark", folder.file.read_bytes()
    for path in files("*.lark", random)[: limit // 2]:
        yield path.as_posix(), path.read_bytes()
    for index in range(limit):
        lines = [_line(random) + random.choice(ENDS) for _ in range(random.randrange(1, 8))]
        yield f"generated {index}", "".join(lines).encode()


def _line(random: Random) -> str:
    kind = random.random()
    if kind < 0.5:
        marks = random.choice(("", "", "?", "!", "?!", "_"))
        parameters = random.choice(("", "", "{a, b}"))
        return f"{marks}{word(random).lower()}{parameters}{_priority(random)}{spaces(random)}:{_expansions(random, 2)}"
    if kind < 0.8:
        return f"{random.choice(('', '_'))}{word(random).upper()}{_priority(random)}:{_expansions(random, 2)}"
    imported = random.choice(("common.WS", ".mine.x -> y", "common (INT, _NL , word)", ".a.b.C"))
    fixed = ("%declare A _B c", "%override a:b", "%extend A: B")
    return random.choice((f"%ignore{_expansions(random, 1)}", f"%import {imported}", *fixed))


def _priority(random: Random) -> str:
    return random.choice(("", "", "", ".2", ".-1"))


def _expansions(random: Random, depth: int) -> str:
    bar = ("|", " | ", "\n  | ", " // note | \n|")
    text = _alias(random, depth)
    for _ in range(random.choice((0, 0, 1, 2))):
        text += random.choice(bar) + _alias(random, depth)
    return text


def _alias(random: Random, depth: int) -> str:
    expressions = " ".join(_expression(random, depth) for _ in range(random.randrange(4)))
    return f"{spaces(random)}{expressions}{random.choice(('', '', ' -> name'))}"


def _expression(random: Random, depth: int) -> str:
    string = '"' + phrase(random, '"\\') + random.choice((r"\"", r"\\", r"\n", "")) + '"' + random.choice(("", "i"))
    atom = random.choice((string, random.choice(REGEXPS), word(random).lower(), word(random).upper(), "_X", "_x"))
    if depth and random.random() < 0.3:
        opened, closed = random.choice(("()", "[]"))
        atom = opened + _expansions(random, depth - 1) + closed
    elif random.random() < 0.1:
        atom = random.choice(('"a".."z"', "sep{item, COMMA}", "a{b{c}, /x/}"))
    return atom + random.choice(("", "", "", "*", "+", "?", " ?", "~2", "~ 1..3"))
