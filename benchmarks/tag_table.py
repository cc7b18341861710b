"""The table of tags and of model formats: the supported ones, and the exactness of each.

Question: is the language of each structural tag that of its definition, and do the texts of each model's chat template
read back to the calls that they were written from?

    python benchmarks/tag_table.py --out benchmarks/out/tag-table

Tags: the cases of tests/data/tag_cases.toml, and those below for contents and tokens, against plain readings
(naive_tags.py of the tests; `json.loads` for schemas) on *all* texts up to a length over the letters of a case. Tokens
are letters to the oracle. Model formats: random tools and turns (tests/chat/calls), 200 each: members, every proper
beginning viable, the calls read back are those written; and turns that no tool allows, which must be refused. Any
difference is counted, and the run fails at the end if there is one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import constrain
from masks.records import machine
from tests.chat.calls.naive_writers import WRITERS
from tests.chat.calls.test_round_trips import Turn, changed, ids_of, vocabulary_of
from tests.chat.tags.naive_tags import is_member

ROOT = Path(__file__).resolve().parents[1]
LONGEST, TURNS = 8, 200
SPECIAL = {"T": "<|t|>", "U": "<|u|>"}  # letters of the oracle that are tokens
Oracle = Callable[[str], bool]


def texts(letters: str, longest: int) -> Iterator[str]:
    """All texts over some letters up to a length."""
    return ("".join(text) for n in range(longest + 1) for text in itertools.product(letters, repeat=n))


def like(form: Any) -> Oracle:
    """The plain reading of a format."""
    return lambda text: is_member(form, text)


def schema_of(members: list[Any]) -> Oracle:
    """Compact JSON of one of some values."""

    def read(text: str) -> bool:
        try:
            return any(json.loads(text) == one and type(json.loads(text)) is type(one) for one in members)
        except ValueError:
            return False

    return read


def contents() -> Iterator[tuple[str, Any, str, Oracle]]:
    """(type, format, letters, oracle) of contents that the plain reading does not know."""
    word = 'root ::= [ab]* tail\ntail ::= "x"{1,2}'
    yield "grammar", {"type": "grammar", "grammar": word}, "abx", lambda text: bool(re.fullmatch("[ab]*x{1,2}", text))
    nested = 'root ::= "a" root "b" | "x"'
    yield "grammar", {"type": "grammar", "grammar": nested}, "abx", _nested
    array = {"type": "array", "items": {"const": 1}, "maxItems": 3}
    yield "json_schema", _schema(array), "[1,]", schema_of([[1] * n for n in range(4)])
    short = {"enum": ["a", "b", "ab", 1, None]}
    yield "json_schema", _schema(short), '"ab1', schema_of(["a", "b", "ab", 1])
    letters = {"type": "string", "pattern": "^[ab]*$"}
    clean = {**_schema(letters), "excludes": ["ab"]}
    yield "json_schema", clean, '"ab', lambda text: bool(re.fullmatch('"b*a*"', text))


def _schema(schema: Any) -> Any:
    return {"type": "json_schema", "json_schema": schema}


def _nested(text: str) -> bool:
    n = text.find("x")
    return n >= 0 and text == "a" * n + "x" + "b" * n


def token_formats() -> Iterator[tuple[str, Any, Any]]:
    """(type, format, the same format for the oracle, in which tokens are letters)."""
    one = {"type": "token", "token": SPECIAL["T"]}
    yield "token", one, {"type": "const_string", "value": "T"}
    yield "exclude_token", {"type": "exclude_token", "exclude_tokens": [SPECIAL["T"], "a"]}, _class("bU")
    free = {"type": "any_tokens", "exclude_tokens": [SPECIAL["T"]]}
    yield "any_tokens", free, {"type": "star", "content": _class("abU")}
    few = {"type": "any_tokens", "exclude_tokens": [], "max_tokens": 3}
    yield "any_tokens", few, {"type": "repeat", "min": 0, "max": 3, "content": _class("abTU")}
    body, letters = {"type": "regex", "pattern": "b*"}, {"type": "regex", "pattern": "b*"}
    for first, only in itertools.product((False, True), repeat=2):
        flags = {"at_least_one": first, "stop_after_first": only}
        tag = {"type": "tag", "begin": one, "content": body, "end": {"type": "token", "token": SPECIAL["U"]}}
        plain = {"type": "tag", "begin": "T", "content": letters, "end": "U"}
        yield (
            "token_triggered_tags",
            {"type": "token_triggered_tags", "trigger_tokens": [SPECIAL["T"]], "tags": [tag], **flags},
            {"type": "triggered_tags", "triggers": ["T"], "tags": [plain], **flags},
        )
    for loop in (False, True):
        rules = [[SPECIAL["T"], {"type": "regex", "pattern": "ab?"}], [SPECIAL["U"], {"type": "regex", "pattern": "b"}]]
        named = [["T", rules[0][1]], ["U", rules[1][1]]]
        yield (
            "token_dispatch",
            {"type": "token_dispatch", "rules": rules, "loop": loop},
            {"type": "dispatch", "rules": named, "loop": loop},
        )


def _class(letters: str) -> Any:
    return {"type": "regex", "pattern": f"[{letters}]"}


def count(compiled: Any, oracle: Oracle, letters: str, longest: int, ids: Callable[[str], list[int]]) -> list[int]:
    """[texts, members, differences] of a compiled format and its oracle."""
    found = [0, 0, 0]
    for text in texts(letters, longest):
        matcher = compiled.matcher()
        tokens = ids(text)
        inside = matcher.advance_tokens(tokens) == len(tokens) and matcher.is_accepting()
        member = oracle(text)
        found = [found[0] + 1, found[1] + member, found[2] + (inside != member)]
    return found


def tags(longest: int) -> dict[str, Counter[str]]:
    """The rows of the table of tags."""
    table: dict[str, Counter[str]] = {}
    cases = tomllib.loads((ROOT / "tests" / "data" / "tag_cases.toml").read_text(encoding="utf-8"))["case"]
    listed = [(case["type"], form := json.loads(case["format"]), "abx", like(form)) for case in cases]
    of_bytes = constrain.Vocabulary.of_bytes()
    jobs = [(kind, form, letters, oracle, of_bytes, lambda text: list(text.encode()), longest)
            for kind, form, letters, oracle in [*listed, *contents()]]  # fmt: skip
    names = {SPECIAL["T"]: 2, SPECIAL["U"]: 3}
    few = constrain.Vocabulary([b"a", b"b", None, None, None], [4], names=names)
    jobs += [(kind, form, "abTU", like(plain), few, lambda text: ["abTU".index(one) for one in text], longest - 1)
             for kind, form, plain in token_formats()]  # fmt: skip
    for kind, form, letters, oracle, vocabulary, ids, most in jobs:
        tag = constrain.tags.structural_tag({"type": "structural_tag", "format": form})
        n, members, differences = count(constrain.compile(tag, vocabulary), oracle, letters, most, ids)
        table.setdefault(kind, Counter()).update(cases=1, texts=n, members=members, differences=differences)
    return table


def model_format(name: str, turns: int) -> Counter[str]:
    """A row of the table of model formats."""
    row: Counter[str] = Counter()
    source = random.Random(f"table {name}")
    for _ in range(turns):
        turn = Turn(name, source)
        constraint = constrain.tools(turn.tools, format=name)
        compiled = constrain.compile(constraint, vocabulary_of(name))
        matcher, tokens = compiled.matcher(), ids_of(name, turn.text)
        read = matcher.advance_tokens(tokens)  # each proper beginning is viable if the whole is read
        row["turns"] += 1
        row["beginnings"] += len(tokens)
        row["beginnings refused"] += len(tokens) - read
        message = constraint.read(turn.text)
        calls = [{"name": call.name, "arguments": call.arguments, "id": call.id} for call in message.tool_calls]
        same = (calls, message.content, message.thinking) == (turn.calls, turn.content, turn.thinking)
        row["calls"] += len(turn.calls)
        row["round trips"] += bool(matcher.is_accepting() and message.fault is None and same)
        for text in changed(turn, source) if turn.calls else ():
            matcher, tokens = compiled.matcher(), ids_of(name, text)
            row["changed"] += 1
            row["changed taken"] += matcher.advance_tokens(tokens) == len(tokens) and matcher.is_accepting()
    return row


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/tag-table"))
    parser.add_argument("--longest", type=int, default=LONGEST)
    parser.add_argument("--turns", type=int, default=TURNS)
    given = parser.parse_args(arguments)
    start = time.process_time()
    found = tags(given.longest)
    lines = ["tag type\tcases\ttexts\tmembers\tdifferences"]
    lines += [f"{kind}\t{r['cases']}\t{r['texts']}\t{r['members']}\t{r['differences']}" for kind, r in found.items()]
    formats = {name: model_format(name, given.turns) for name in WRITERS}
    columns = ["turns", "calls", "round trips", "beginnings", "beginnings refused", "changed", "changed taken"]
    lines += ["", "\t".join(["model format", *columns])]
    lines += ["\t".join([name, *(str(row[column]) for column in columns)]) for name, row in formats.items()]
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "table.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    about = {**machine(), "cpu_seconds": round(time.process_time() - start), "longest": given.longest}
    (given.out / "run.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    print("\n".join(lines))
    wrong = sum(row["differences"] for row in found.values())
    wrong += sum(row["beginnings refused"] + row["changed taken"] for row in formats.values())
    wrong += sum(row["turns"] - row["round trips"] for row in formats.values())
    print(f"differences: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
