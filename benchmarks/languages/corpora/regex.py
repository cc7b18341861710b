"""Regular expressions: patterns that Python files of this machine give to `re`, and patterns of MaskBench's schemas."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from random import Random
from typing import Any

from languages.corpora import files
from masks.records import data_folder

FUNCTIONS = {"compile", "match", "search", "fullmatch", "sub", "split", "findall", "finditer"}


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """A third of each."""
    for index, found in enumerate(_of_python(random, limit // 3)):
        yield f"python {index}", found.encode("utf-8", errors="ignore")
    for index, found in enumerate(_of_schemas(random, limit // 3)):
        yield f"schema {index}", found.encode("utf-8", errors="ignore")


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
