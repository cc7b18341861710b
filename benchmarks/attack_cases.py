"""Constraints that cost more than they look, each with a text that is read, and what is right at its end.

takes: nothing
gives: `CASES`, by group: compiling, nested counts, many properties, sizes, numbers
used by: attacks.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Language = tuple[str, Any]  # ("json", schema), ("regex", pattern) or ("lark", text)


@dataclass(frozen=True)
class Case:
    """One attack.

    Attributes:
        group: What grows.
        name: What it is.
        make: Makes the language: its kind, and a schema, a pattern or a grammar.
        text: Makes the text to read.
        ends: Whether the text is complete; None: it is only the beginning of one.
        options: Options of `constrain.json_schema`.
    """

    group: str
    name: str
    make: Callable[[], Language]
    text: Callable[[], str]
    ends: bool | None = True
    options: dict[str, Any] = field(default_factory=dict)


def case(group: str, name: str, kind: str, language: Any, text: Any, ends: bool | None = True, **options: Any) -> Case:
    """A case of values, or of functions that make them."""
    make = language if callable(language) else lambda: language
    written = text if callable(text) else lambda: text
    return Case(group, name, lambda: (kind, make()), written, ends, options)


def pairs_of_keys(count: int) -> dict[str, Any]:
    """Each first key of a pair asks for the second one."""
    keys = {f"{letter}{i}": {"type": "integer"} for i in range(count) for letter in "ab"}
    needed = {f"a{i}": [f"b{i}"] for i in range(count)}
    return {"type": "object", "properties": keys, "dependentRequired": needed}


def kinds(count: int, payload: str) -> dict[str, Any]:
    """Objects told apart by a numbered value, each with a payload."""
    branches = [
        {
            "type": "object",
            "properties": {"kind": {"const": f"a{i}"}, payload.format(i): {"type": "array", "maxItems": i}},
            "required": ["kind", payload.format(i)],
        }
        for i in range(count)
    ]
    return {"anyOf": branches}


def nested_array(depth: int) -> str:
    """Arrays in arrays."""
    return "[" * depth + "]" * depth


def numbered(count: int, **rest: Any) -> dict[str, Any]:
    """An object of many integer properties."""
    return {"type": "object", "properties": {f"key{i}": {"type": "integer"} for i in range(count)}, **rest}


def keys(order: Iterator[int] | range) -> str:
    """An object with these keys."""
    return json.dumps({f"key{i}": i for i in order}, separators=(",", ":"))


def excluded_names(count: int) -> dict[str, Any]:
    """A closed object each of whose needs some key must meet."""
    names = {f"{chr(97 + i % 26)}{i}": {"type": "string"} for i in range(count)}
    needs = [{"not": {"additionalProperties": {"pattern": "^" + letter}}} for letter in "abcd"]
    return {"type": "object", "properties": names, "additionalProperties": False, "allOf": needs}


def patterns(count: int, form: str) -> dict[str, Any]:
    """Pattern properties; form: a pattern with a letter and a digit to fill in."""
    found = {form.format(letter=chr(97 + i % 26), number=i): {"maximum": 100 + i} for i in range(count)}
    return {"type": "object", "patternProperties": found}


def doubling(count: int) -> str:
    """Terminals, each twice the one before."""
    lines = ["start: T0", *(f"T{i}: T{i + 1} T{i + 1}" for i in range(count)), f'T{count}: "a"']
    return "\n".join(lines)


def chain(count: int) -> str:
    """A chain of rules."""
    return "start: r0\n" + "\n".join(f'r{i}: "a" r{i + 1}' for i in range(count)) + f'\nr{count}: "b"'


def either(count: int, key: str = "anyOf") -> dict[str, Any]:
    """Objects told apart by a property of their own."""
    return {
        key: [
            {"type": "object", "properties": {f"p{i}": {"type": "integer"}}, "required": [f"p{i}"]}
            for i in range(count)
        ]
    }


def deep(depth: int) -> Any:
    """A list in lists."""
    found: Any = []
    for _ in range(depth):
        found = [found]
    return found


def unique(count: int) -> dict[str, Any]:
    """All of some values, each once."""
    return {"type": "array", "items": {"enum": list(range(count))}, "uniqueItems": True, "minItems": count}


def all_required(count: int) -> dict[str, Any]:
    """An object that has all of its properties."""
    return numbered(count, required=[f"key{i}" for i in range(count)])


OBJECT = {"type": "object"}
FREE_DEPTH = 100_000
MEGABYTE = 1_000_000
OVERLAP, OVERLAPPED = "^.*{letter}{number}.*$", '{"xa0y":100,"b1":7}'
APART, KEPT_APART = "^{letter}{number}_", '{"a0_y":100,"b1_":7}'
TEXTS = {"enum": [f"value number {i}" for i in range(20_000)]}
NUMBERED = (  # how many properties, in which order
    ("2,000, any order, reversed", 2000, -1, {"property_order": "any"}),
    ("5,000, any order", 5000, 1, {"property_order": "any"}),
    ("5,000 in order", 5000, 1, {}),
    ("20,000 in order", 20000, 1, {}),
    ("20,000, any order, reversed", 20000, -1, {"property_order": "any"}),
)
DIGITS = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
THIRTY = {"type": "string", "allOf": [{"pattern": f"a.*{i}"} for i in range(30)]}
PRODUCT = {"type": "integer", "allOf": [{"multipleOf": 997}, {"multipleOf": 991}]}
BIG, HUGE = "(.{1,100}){1,100}", "(.{1,5000}){1,5000}"

CASES = (
    # Reading the constraint
    case("reading", "needs met by name, 40 properties", "json", lambda: excluded_names(40), '{"a0":"b"', None),
    *(
        case("reading", f"overlapping patternProperties, {n}", "json", lambda n=n: patterns(n, OVERLAP), OVERLAPPED)
        for n in (6, 8, 10, 24)
    ),
    *(
        case(
            "reading",
            f"disjoint patternProperties, {n}",
            "json",
            lambda n=n: patterns(n, APART),
            '{"a0_y":100,"b1_":7}',
        )
        for n in (100, 200)
    ),
    case("reading", "dependentRequired of 40 pairs", "json", lambda: pairs_of_keys(40), '{"a3": 1, "b3": 2}'),
    case("reading", "allOf of 30 patterns", "json", THIRTY, '"a012', None),
    *(case("reading", f"doubling terminals, {n}", "lark", lambda n=n: doubling(n), "aaaa", False) for n in (19, 40)),
    case("reading", "100,000 rules", "lark", lambda: chain(100_000), "aaaa", False),
    case("reading", "anyOf of 2,000", "json", lambda: either(2000), '{"p7":1}'),
    case("reading", "anyOf of 2,000, any order", "json", lambda: either(2000), '{"p7":1}', property_order="any"),
    case("reading", "anyOf of 500 kinds", "json", lambda: kinds(500, "payload"), '{"kind": "a257", "payload": []}'),
    case(
        "reading",
        "anyOf of 500 kinds, keys of their own",
        "json",
        lambda: kinds(500, "p{}"),
        '{"kind": "a257", "p257": []}',
    ),
    case("reading", "oneOf of 200", "json", lambda: either(200, "oneOf"), '{"p7":1}'),
    case("reading", "default nested 100,000 deep", "json", lambda: {"type": "integer", "default": deep(100_000)}, "1"),
    # Counts in counts
    case("counts", r"(.{1,63}\.){1,127}", "regex", r"(.{1,63}\.){1,127}", "ab.cd." * 100),
    case("counts", f"{BIG}, schema", "json", {"type": "string", "pattern": f"^{BIG}$"}, f'"{"a" * 1000}"'),
    case("counts", f"{HUGE}, schema", "json", {"type": "string", "pattern": f"^{HUGE}$"}, f'"{"a" * 3000}"'),
    case("counts", f"{HUGE}, regex", "regex", HUGE, "a" * 3000),
    case("counts", f"{HUGE}, grammar", "lark", f"start: A\nA: /{HUGE}/", "a" * 3000),
    case("counts", "a?{500}a{500}", "regex", "(a?){500}a{500}", "a" * 600),
    case("counts", "ignored /a+/ beside /a+/ /a+/ /a+/", "lark", "start: A A A\nA: /a+/\n%ignore /a+/", "a" * 500),
    # Items and values
    *(
        case(
            "values",
            f"unique of {n}, all",
            "json",
            lambda n=n: unique(n),
            json.dumps([*range(n)], separators=(",", ":")),
        )
        for n in (40, 100)
    ),
    case("values", "multipleOf 997 and 991", "json", PRODUCT, str(997 * 991 * 12)),
    case("values", "multipleOf 1000003", "json", {"type": "integer", "multipleOf": 1_000_003}, str(1_000_003 * 77)),
    case("values", "a number of 5,000 digits, unique items", "json", DIGITS, f"[{'7' * 5000},1]", spelling="any"),
    case("values", "counts of 2**64", "json", {"type": "array", "minItems": 0, "maxItems": 2**64}, "[1]"),
    case("values", "maximum of 300 digits", "json", {"type": "integer", "maximum": 10**300}, "123"),
    case("values", "maximum of 5,000 digits", "json", {"type": "integer", "maximum": 10**5000}, "123"),
    case("values", "minLength 2**63", "json", {"type": "string", "minLength": 2**63}, '"a', None),
    case("values", "multipleOf 1e-300", "json", {"type": "number", "multipleOf": 1e-300}, "1", None),
    # Properties
    *(
        case("properties", name, "json", lambda n=n: numbered(n), lambda n=n, way=way: keys(range(n)[::way]), **options)
        for name, n, way, options in NUMBERED
    ),
    case("properties", "20,000 required", "json", lambda: all_required(20000), lambda: keys(range(20000))),
    # Sizes
    case("sizes", "free arrays 100,000 deep", "json", {"type": "array"}, lambda: nested_array(FREE_DEPTH)),
    case("sizes", "free objects 20,000 deep", "json", OBJECT, lambda: '{"a":' * 20000 + "1" + "}" * 20000),
    case("sizes", "free objects 100,000 deep", "json", OBJECT, lambda: '{"a":' * FREE_DEPTH + "1" + "}" * FREE_DEPTH),
    case("sizes", "const of 1 MB", "json", lambda: {"const": "ab" * (MEGABYTE // 2)}, lambda: '"' + "ab" * 5000, None),
    case("sizes", "a literal of 1 MB", "lark", lambda: f'start: "{"ab" * (MEGABYTE // 2)}"', lambda: "ab" * 5000, None),
    case("sizes", "a regex of 1 MB", "regex", lambda: "ab" * (MEGABYTE // 2), lambda: "ab" * 5000, None),
    case(
        "sizes",
        "enum of 20,000",
        "json",
        lambda: {"enum": [f"value number {i}" for i in range(20000)]},
        '"value number 777"',
    ),
)
