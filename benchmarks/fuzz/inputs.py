"""Texts and values that are nearly right: whatever is read ends in an answer or in a ConstrainError, in time.

Texts of every format are cut, doubled and mixed with what breaks readers; schemas get values of other types and sizes
at any place; public calls get arguments of any type. What is read is then followed for some tokens, so that faults
that wait for the first mask are seen too.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from schema_strategies import DRAFTS, SchemaMaker, Seeded

import constrain
import vocabularies
from fuzz import Target

VOCABULARY = vocabularies.tiny()
DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
STEPS = 12  # tokens that are read of each language
PIECES = [
    "(", ")", "[", "]", "{", "}", "|", "*", "+", "?", "{2}", "{1,", "{9}", "{99999999999}", "{4294967296}", "\\", '"',
    "'", "/", "\n", ":", "::=", "->", "%ignore", "%import .x", "%import common.INT", "%json {", "%regex {", "[^", "]]",
    "\\u", "\\x", "\\p{L}", "\\1", "(?=", "(?<!", "(?P<n>", "(?<n>", "(?i:", "$", "^", "..", '"a".."z"', "~2..1", "0",
    "-1", "1e999", "NaN", "null", '{"$ref": "#"}', '"$ref"', '"type"', "\x00", "\ud800", "é", "😀", " ", "#", "//", ",",
    "start", "root", "start: start", "a" * 40, "(" * 30, "[" * 30, "<|x|>", "<[1-3]>", "[max_tokens=3]", "[capture]",
]  # fmt: skip
WEIRD: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, 10**30, 10**400, 1e308, -0.0, 0.1, 1e-300, "", "a", "é", "\ud800",
    "\x00", "^(", "#/$defs/x", "#", "integer", [], [[]], {}, {"": {}}, [1, 1.0, True], ["string", "null"],
    {"$ref": "#"}, {"type": "integer"}, [{}], "http://example.com/a", {"a": 1, "b": [None]}, "x" * 300, [None] * 20,
]  # fmt: skip


def _table(name: str) -> list[dict[str, Any]]:
    tables = tomllib.loads((DATA / name).read_text(encoding="utf-8"))
    return [row for rows in tables.values() if isinstance(rows, list) for row in rows]


def _texts(name: str, keys: tuple[str, ...]) -> list[str]:
    return [row[key] for row in _table(name) for key in keys if isinstance(row.get(key), str)]


BASES: dict[str, list[str]] = {
    "python": _texts("regex_python.toml", ("pattern",)),
    "ecma": _texts("regex_ecma.toml", ("pattern",)),
    "rust": _texts("regex_python.toml", ("pattern",)),
    "lark": [t for t in _texts("grammar_language.toml", ("grammar", "lark")) if "::=" not in t][:80],
    "gbnf": [t for t in _texts("grammar_language.toml", ("grammar", "gbnf")) if "::=" in t],
    "ebnf": _texts("grammar_ebnf.toml", ("grammar", "ebnf")),
    "schema": _texts("schema_cases.toml", ("schema",)),
}
READERS: dict[str, Callable[[str], Any]] = {
    "python": constrain.regex,
    "ecma": lambda text: constrain.regex(text, dialect="ecma"),
    "rust": lambda text: constrain.regex(text, dialect="rust"),
    "lark": constrain.grammar,
    "gbnf": lambda text: constrain.grammar(text, format="gbnf"),
    "ebnf": lambda text: constrain.grammar(text, format="ebnf"),
    "schema": constrain.json_schema,
}


def complete(fault: constrain.ConstrainError) -> None:
    """Every error says something."""
    assert str(fault), type(fault)


def follow(constraint: Any) -> None:
    """Read some tokens, mostly different ones."""
    compiled = constrain.compile(constraint, VOCABULARY, automaton=constrain.TokenAutomaton(VOCABULARY, budget=0))
    matcher = compiled.matcher()
    row = np.zeros(VOCABULARY.words, np.uint32)
    for place in range(STEPS):
        matcher.fill_mask(row)
        ids = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        if not len(ids) or not matcher.advance(int(ids[(7 * place) % len(ids)])) or matcher.ended:
            return


def check_text(case: Any) -> None:
    """A text of some format."""
    try:
        follow(READERS[case["format"]](case["text"]))
    except constrain.ConstrainError as fault:
        complete(fault)


def _edited(drawn: tuple[str, str, list[tuple[int, int, int, str]]]) -> dict[str, str]:
    name, text, edits = drawn
    for kind, at, length, piece in edits:
        at %= len(text) + 1
        end = at + length
        if kind == 0:
            text = text[:at] + text[end:]
        elif kind == 1:
            text = text[:at] + piece + text[at:]
        elif kind == 2:
            text = text[:end] + text[at:]
        else:
            text = text[:at] + piece + text[end:]
    return {"format": name, "text": text}


EDITS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 400), st.integers(0, 12), st.sampled_from(PIECES)),
    min_size=1,
    max_size=5,
)
TEXTS = st.sampled_from(list(BASES)).flatmap(
    lambda name: st.tuples(st.just(name), st.sampled_from(BASES[name]), EDITS).map(_edited)
)

# --- schemas with values of any kind ----------------------------------------------------------------------------------


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        found += _places(each, (*path, key))
    return found


def _changed(drawn: tuple[int, list[tuple[int, int]]]) -> Any:
    number, changes = drawn
    draft = list(DRAFTS)[number % len(DRAFTS)]
    schema = SchemaMaker(Seeded(f"input {number}"), DRAFTS[draft], 8).document()
    spoil(schema, changes)
    return schema


def spoil(value: Any, changes: Iterable[tuple[int, int]]) -> None:
    """Put weird values at some places inside of a value."""
    for place, weird in changes:
        paths = _places(value)[1:]
        *outer, last = paths[place % len(paths)]
        parent = value
        for key in outer:
            parent = parent[key]
        parent[last] = copy.deepcopy(WEIRD[weird % len(WEIRD)])


def check_schema(case: Any) -> None:
    """A schema, as a value."""
    try:
        follow(constrain.json_schema(case))
    except constrain.ConstrainError as fault:
        complete(fault)


SCHEMAS = st.tuples(
    st.integers(0, 2**48), st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=3)
).map(_changed)

# --- calls with arguments of any type ---------------------------------------------------------------------------------

ARGUMENTS: dict[str, Any] = {
    **{f"weird {place}": value for place, value in enumerate(WEIRD)},
    "bytes": b"a", "array": np.zeros(3, np.int32), "row": np.zeros(VOCABULARY.words, np.uint32), "nan": float("nan"),
    "object": object(), "type": int, "function": len, "tuple": (1, "a"), "set": {1}, "vocabulary": VOCABULARY,
    "constraint": constrain.regex("a+"), "generator": (), "complex": 1j, "float row": np.zeros(9), "range": range(3),
}  # fmt: skip


def _matcher() -> Any:
    matcher = constrain.compile(constrain.regex("[ab]{2,9}"), VOCABULARY).matcher()
    assert matcher.advance_bytes(b"ab")
    return matcher


CALLS: dict[str, Callable[..., Any]] = {
    "regex": constrain.regex,
    "regex dialect": lambda a: constrain.regex("a", dialect=a),
    "choices": constrain.choices,
    "choices of": lambda a: constrain.choices(["a", a]),
    "json_schema": constrain.json_schema,
    "grammar": constrain.grammar,
    "grammar start": lambda a: constrain.grammar('start: "a"', start=a),
    "grammar lexer": lambda a: constrain.grammar('start: "a"', lexer=a),
    "grammar format": lambda a: constrain.grammar('start: "a"', format=a),
    "grammar base": lambda a: constrain.grammar('start: "a"', base=a),
    "whitespace": lambda a: constrain.json_schema({}, whitespace=a),
    "spelling": lambda a: constrain.json_schema({}, spelling=a),
    "property_order": lambda a: constrain.json_schema({}, property_order=a),
    "formats": lambda a: constrain.json_schema({}, formats=a),
    "dialect": lambda a: constrain.json_schema({}, dialect=a),
    "seq": lambda a, b: constrain.seq(a, b),
    "alt": lambda a, b: constrain.alt(a, b),
    "many": lambda a, b, c: constrain.many(a, separator=b, low=c),
    "many counts": lambda a, b: constrain.many("a", low=a, high=b),
    "optional": constrain.optional,
    "ref": constrain.ref,
    "rules": constrain.rules,
    "rules of": lambda a, b: constrain.rules({"s": a, "t": b}),
    "substring": constrain.substring,
    "token": constrain.token,
    "between": lambda a, b: constrain.between(constrain.regex("a+"), prefix=a, suffix=b),
    "triggered": lambda a, b: constrain.triggered("<a>", a, b),
    "after": lambda a, b: constrain.after(a, b),
    "after tokens": lambda a: constrain.after("</t>", constrain.regex("a"), max_tokens=a),
    "compile": lambda a: constrain.compile(a, VOCABULARY),
    "compile for": lambda a: constrain.compile(constrain.regex("a"), a),
    "vocabulary": lambda a, b: constrain.Vocabulary(a, b),
    "vocabulary of": lambda a, b: constrain.Vocabulary([b"a", a], [b]),
    "advance": lambda a: _matcher().advance(a),
    "advance_bytes": lambda a: _matcher().advance_bytes(a),
    "advance_tokens": lambda a: _matcher().advance_tokens(a),
    "rollback": lambda a: _matcher().rollback(a),
    "fill_mask": lambda a: _matcher().fill_mask(a),
    "allows": lambda a: _matcher().allows(a),
    "fill_masks": lambda a, b: constrain.fill_masks(a, b),
    "fill_masks into": lambda a: constrain.fill_masks([_matcher()], a),
    "advance_all": lambda a, b: constrain.advance_all(a, b),
    "advance_all by": lambda a: constrain.advance_all([_matcher()], a),
    "text of tokens": lambda a: VOCABULARY.to_bytes(a),
    "check": lambda a: constrain.json_schema({"type": "object"}).residual_fault(a),
    "captures": lambda a: constrain.regex("a").captures(a),
    "limits": lambda a: constrain.json_schema({}, limits=a),
    "structural_tag": constrain.tags.structural_tag,
}


def check_call(case: Any) -> None:
    """A call: it answers, or says what is wrong."""
    function = CALLS[case["call"]]
    arguments = [ARGUMENTS[name] for name in case["arguments"]]
    try:
        found = function(*arguments[: _arity(function)])
        if isinstance(found, constrain.Constraint):
            follow(found)
    except constrain.ConstrainError as fault:
        complete(fault)


def _arity(function: Callable[..., Any]) -> int:
    code = getattr(function, "__code__", None)
    return code.co_argcount if code is not None and function.__name__ == "<lambda>" else 1


CASES = st.fixed_dictionaries(
    {
        "call": st.sampled_from(list(CALLS)),
        "arguments": st.lists(st.sampled_from(list(ARGUMENTS)), min_size=3, max_size=3),
    }
)

TARGETS = [
    Target("texts", TEXTS, check_text, 200),
    Target("odd-schemas", SCHEMAS, check_schema, 100),
    Target("calls", CASES, check_call, 800),
]
