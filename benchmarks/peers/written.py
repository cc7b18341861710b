"""Readers of tests that are written out in C++, Rust and JSON: llguidance, llama.cpp, outlines-core, SchemaStore."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from peers.literals import Literals
from peers.rows import Row, texts

OF_LLGUIDANCE = {"dialect": "llguidance", "size": 35_000}  # the vocabulary of its tests
OF_LLAMA_CPP = {"whitespace": "bounded", "undeclared": "avoid"}  # as it reads schemas
OF_OUTLINES = {"whitespace": {"pattern": " ?"}, "undeclared": "avoid"}
MANY = ("accepted", "refused")
HELPERS: dict[str, tuple[int, tuple[str, ...]]] = {  # where the source stands; the answers to what stands behind it
    "lark_str_test_many": (0, MANY),
    "lark_str_test_many_quiet": (0, MANY),
    "lark_str_test_many_ext": (1, MANY),
    "json_test_many": (0, MANY),
    "lark_ok": (0, ("loads",)),
    "lark_err_test": (0, ("fault",)),
    "json_err_test": (0, ("fault",)),
    "lark_str_test": (0, ()),
    "json_schema_check": (0, ()),
}
AT_THE_END = "FINAL_REJECT:"  # before a text that begins members, and is none


def llguidance(checkout: Path) -> Iterator[Row]:
    """Yield the rows of llguidance's Rust tests of texts."""
    for path in sorted((checkout / "parser" / "tests").glob("test_*.rs")):
        tests = {"test_lark": "Lark", "test_ll": "Lark, tokens"}.get(path.stem, "JSON")
        for name, given in Literals(path.read_text("utf-8")).calls(set(HELPERS)):
            yield from _helper(f"llguidance: {tests}", name, given)


def _helper(tests: str, name: str, given: list[Any]) -> Iterator[Row]:
    """The rows of a call of a helper of llguidance's tests."""
    at, answers = HELPERS[name]
    source, *others = given[at:]
    is_json = name.startswith("json")
    kind, options = ("json_schema", {}) if is_json else ("lark", OF_LLGUIDANCE)
    if is_json and source is not ...:
        source = json.dumps(source, ensure_ascii=False)
    if asks_source := answers in (("loads",), ("fault",)):
        others = [[None]]
    elif not answers:  # one text, and whether it is accepted
        accepted, said = others[1::-1] if is_json else others[:2]
        answers, others = ("accepted" if accepted else "refused",), [[said]]
    for answer, values in zip(answers, others, strict=True):
        said = values if isinstance(values, list) else []
        if is_json and not asks_source:
            said = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in said if one is not ...]
        said = [one.removeprefix(AT_THE_END) if isinstance(one, str) else one for one in said]
        yield from texts(tests, kind, source, said, answer, options)


def llama_cpp(checkout: Path) -> Iterator[Row]:
    """Yield the rows of llama.cpp's tests of texts, and of the schemas that become grammars."""
    tests, schemas = "llama.cpp: GBNF", "llama.cpp: schemas"
    for name in ("test-grammar-integration.cpp", "test-json-schema-to-grammar.cpp"):
        calls = Literals((checkout / "tests" / name).read_text("utf-8"))
        for call, given in calls.calls({"test_grammar", "test_schema", "test_build_grammar_fails", "test"}):
            if call == "test_build_grammar_fails":
                yield from texts(tests, "gbnf", given[0], [None], "fault", {})
            elif call == "test" and len(given) == 1 and isinstance(given[0], list):  # status, name, schema, grammar
                schema, grammar = given[0][2:]
                yield from texts(schemas, "json_schema", schema, [None], "loads" if grammar else "fault", OF_LLAMA_CPP)
                yield from texts(tests, "gbnf", grammar, [None], "loads", {})
            elif len(given) == 4:
                kind = (tests, "gbnf", {}) if call == "test_grammar" else (schemas, "json_schema", OF_LLAMA_CPP)
                for said, answer in zip(given[2:], MANY, strict=True):
                    yield from texts(kind[0], kind[1], given[1], said, answer, kind[2])


def outlines_core(checkout: Path) -> Iterator[Row]:
    """Yield the rows of outlines-core's tests: tuples of a schema, its regex, texts that match, texts that do not."""
    path = checkout / "src" / "json_schema" / "mod.rs"
    for given in Literals(path.read_text("utf-8")).looped():
        if isinstance(given, list) and len(given) == 4:
            for said, answer in zip(given[2:], MANY, strict=True):
                yield from texts("outlines-core: schemas", "json_schema", given[0], said, answer, OF_OUTLINES)


def schemastore(checkout: Path) -> Iterator[Row]:
    """Yield a row for each file in JSON that is valid under its schema, and for each that is not."""
    folder = checkout / "src" / "schemas" / "json"
    options = {"property_order": "any", "registry": str(folder)}
    for schema in sorted(folder.glob("*.json")):
        for name, answer in (("test", "accepted"), ("negative_test", "refused")):
            for file in sorted((checkout / "src" / name / schema.stem).glob("*.json")):
                try:
                    said = json.dumps(json.loads(file.read_text("utf-8-sig")))
                except ValueError:  # JSON with comments
                    continue
                yield from texts("SchemaStore", "json_schema", schema.read_text("utf-8-sig"), [said], answer, options)
