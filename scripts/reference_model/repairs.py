"""Broken texts with what they should be: JSON, SQL and Python functions, for a model that repairs.

A repair copies nearly all of its input: the task that drafts by copying are made for. Damage is what people and models
do: a bracket or a quotation mark is lost, a comma is lost or doubled, a word is misspelt, `True` stands for `true`."""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from . import schemas, sql, texts

KINDS = ("json", "sql", "python")
MOST = 420  # characters of a text
LEAST = 60


@dataclass(frozen=True)
class Repair:
    """kind: one of KINDS. schema: of the fixed text, as JSON text; "" where it is no JSON"""

    kind: str
    broken: str
    fixed: str
    schema: str = ""


def prompt(repair: Repair) -> str:
    """The prompt of a repair, in the form of a chat."""
    return f"<|user|>\nRepair this {repair.kind}:\n{repair.broken}\n<|assistant|>\n"


def repairs(seed: int, *, validation: bool = False) -> Iterator[Repair]:
    """An endless stream of the three kinds in turn. Training and validation share neither functions nor states."""
    rng = random.Random(f"repairs {seed} {validation}")
    functions = list(_functions(validation))
    while True:
        yield _json(rng)
        yield _damaged(rng, "sql", _statement(rng))
        yield _damaged(rng, "python", rng.choice(functions))


def _json(rng: random.Random) -> Repair:
    while True:
        shape, draw = schemas.schema(rng)
        value = draw(rng)
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if isinstance(value, dict) and LEAST <= len(text) <= MOST:
            return _damaged(rng, "json", text, json.dumps(shape))


def _statement(rng: random.Random) -> str:
    while True:
        text = sql.document(rng).removeprefix("SQL: ")
        statement = next((line for line in text.split(";\n") if not line.startswith("--")), "")
        statement = statement.rstrip(";") + ";"
        if LEAST <= len(statement) <= MOST:
            return statement


def _functions(validation: bool) -> Iterator[str]:
    """Short functions of the standard library at the top of their module."""
    for name, source in texts.python():
        if texts.held_out(name) != validation:
            continue
        try:
            tree = ast.parse(source)
        except SyntaxError:  # a few files of the library are templates
            continue
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                text = ast.get_source_segment(source, node) or ""
                if LEAST <= len(text) <= MOST and text.isascii() and "\t" not in text:
                    yield text + "\n"


def _damaged(rng: random.Random, kind: str, fixed: str, schema: str = "") -> Repair:
    """One to three faults, at random places."""
    broken = fixed
    for _ in range(rng.choice([1, 1, 2, 3])):
        broken = rng.choice([_lost, _lost, _doubled, _misspelt, _cased])(rng, broken)
    return Repair(kind, broken, fixed, schema)


def _lost(rng: random.Random, text: str) -> str:
    """A mark less."""
    places = [match.start() for match in re.finditer(r"[\"'(){}\[\],:;=]", text)]
    place = rng.choice(places) if places else 0
    return text[:place] + text[place + 1 :]


def _doubled(rng: random.Random, text: str) -> str:
    """A mark more."""
    places = [match.start() for match in re.finditer(r"[\"'(){}\[\],:]", text)]
    place = rng.choice(places) if places else 0
    return text[:place] + text[place : place + 1] + text[place:]


def _misspelt(rng: random.Random, text: str) -> str:
    """Two letters of a keyword changed round."""
    words = re.finditer(r"\b(true|false|null|SELECT|FROM|WHERE|INSERT|VALUES|UPDATE|return|def|import|else)\b", text)
    found = list(words)
    if not found:
        return _lost(rng, text)
    match = rng.choice(found)
    place = rng.randrange(match.start(), match.end() - 1)
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def _cased(rng: random.Random, text: str) -> str:
    """Words of JSON as Python writes them; elsewhere a mark less."""
    for word, other in (("true", "True"), ("false", "False"), ("null", "None")):
        if re.search(rf"[:,\[]{word}\b", text):
            return re.sub(rf"([:,\[]){word}\b", rf"\1{other}", text, count=1)
    return _lost(rng, text)
