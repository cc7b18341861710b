"""Regular expressions: patterns that Python files of this machine give to `re`, patterns of MaskBench's schemas, and
generated ones."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from random import Random
from typing import Any

from languages.corpora import files
from languages.corpora.writing import phrase
from masks.records import data_folder

FUNCTIONS = {"compile", "match", "search", "fullmatch", "sub", "split", "findall", "finditer"}
ATOMS = (".", "a", "é", r"\d", r"\W", r"\.", r"\x41", r"\u00e9", r"\012", "[a-z]", "[^]a-]")
ATOMS = (
    *ATOMS,
    r"[\w.-]",
    "[]^-]",
    "{",
    "}",
    "{a",
    "{1,x",
    "{,",
    "1",
    ",",
    r"\n",
    "[a-c-e]",
    r"[\]\b\0]",
    "(?#note)b",
    r"[+--]",
)
GROUPS = ("(", "(?:", "(?=", "(?!", "(?>", "(?i:", "(?s-im:")
REPETITIONS = ("*", "+", "?", "*?", "++", "??", "{2}", "{1,}", "{,3}?", "{2,5}+", "{,}")


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """A third of each."""
    for index, found in enumerate(_of_python(random, limit // 3)):
        yield f"python {index}", found.encode("utf-8", errors="ignore")
    for index, found in enumerate(_of_schemas(random, limit // 3)):
        yield f"schema {index}", found.encode("utf-8", errors="ignore")
    for index in range(limit):
        yield f"generated {index}", _pattern(random, 3).encode()


def _of_python(random: Random, limit: int) -> Iterator[str]:
    given = 0
    for path in files("*.py", random):
        if given >= limit:
            return
        source = path.read_bytes()
        if b"re." not in source:
            continue
        try:
            nodes = list(ast.walk(ast.parse(source)))
        except (SyntaxError, ValueError):
            continue
        for node in nodes:
            match node:
                case ast.Call(ast.Attribute(ast.Name("re"), name), [ast.Constant(str(found)), *_]) if name in FUNCTIONS:
                    given += 1
                    yield found


def _of_schemas(random: Random, limit: int) -> list[str]:
    paths = sorted(data_folder(None, "maskbench-dev").glob("*.json"))
    found: set[str] = set()
    for path in random.sample(paths, min(1000, len(paths))):
        found.update(_patterns(json.loads(path.read_bytes())["schema"]))
    kept = sorted(found)
    random.shuffle(kept)
    return kept[:limit]


def _patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for part in schema:
            yield from _patterns(part)
    elif isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        for part in schema.values():
            yield from _patterns(part)


def _pattern(random: Random, depth: int) -> str:
    flags = random.choice(("", "", "", "(?i)", "(?ms)")) if depth == 3 else ""
    return flags + "|".join(_branch(random, depth) for _ in range(random.choice((1, 1, 2, 3))))


def _branch(random: Random, depth: int) -> str:
    return "".join(_item(random, depth) for _ in range(random.randrange(5)))


def _item(random: Random, depth: int) -> str:
    kind = random.random()
    if kind < 0.1:
        return random.choice(("^", "$", r"\b", r"\B", r"\A", "(?#note)"))
    if kind < 0.7 or not depth:
        atom = random.choice(ATOMS)
    else:
        atom = f"{random.choice(GROUPS)}{_pattern(random, depth - 1)})"
    if kind > 0.95:
        atom = f"(?P<n{random.randrange(10**6)}>{phrase(random, r'[]{}()*+?|^$') or 'a'})"
    return atom + (random.choice(REPETITIONS) if random.random() < 0.3 else "")
