"""Proofs that no completion of a prefix is valid, without a constrained decoder.

What is closed is judged by `jsonschema` and `jsonschema-rs`, which must agree; what is open by the rules of keywords
below, each of which only ever says "never" where no text that follows can be valid. A keyword that has no rule, or a
reference that is not followed, says nothing. Texts that repeat a key are no completions.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import jsonschema
import jsonschema_rs
import regex

from exact.prefixes import Array, Closed, Nothing, Number, Object, Part, Text, Word, read

Path = tuple[Any, ...]
NEWEST = 2020
DRAFTS = {"draft-04": 4, "draft-06": 6, "draft-07": 7, "2019-09": 2019, "2020-12": NEWEST}
SINCE = {"const": 6, "propertyNames": 6, "contains": 6, "if": 7, "prefixItems": NEWEST}
DYNAMIC = ("$dynamicRef", "$recursiveRef")
CLASSES = re.compile(r"\\[sSwWdDbBpP]|\(\?i")
DEEP = 60  # applicators in each other: beyond, nothing is said
KINDS = {Text: ("string",), Number: ("number", "integer"), Object: ("object",), Array: ("array",)}
# each fails for some correct validator, or stands for a value that it does not hold
BROKEN = (ValueError, TypeError, AttributeError, KeyError, RecursionError, OverflowError, ArithmeticError,
          regex.error, jsonschema.exceptions.SchemaError, jsonschema.exceptions._WrappedReferencingError,
          jsonschema_rs.ReferencingError)  # fmt: skip


def parts_of(schema: Any) -> Iterator[dict[str, Any]]:
    """All objects inside a schema."""
    if isinstance(schema, (dict, list)):
        if isinstance(schema, dict):
            yield schema
        for each in schema.values() if isinstance(schema, dict) else schema:
            yield from parts_of(each)


def equal(one: Any, other: Any) -> bool:
    """Equality of JSON values: 1 is 1.0 and not true."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(each, other[key]) for key, each in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


@functools.lru_cache(10_000)
def may_match(pattern: str, written: str) -> bool:
    """False if no string that begins like this matches, neither with ASCII classes nor with those of Unicode."""
    if "{," in pattern or (CLASSES.search(pattern) and not written.isascii()):  # read otherwise by ECMA-262
        return True
    try:
        searches = [regex.search(pattern, written, flags, partial=True, timeout=0.5) for flags in (0, regex.ASCII)]
    except (regex.error, TimeoutError):
        return True
    return any(searches)


class Reader:
    """Two validators, and rules, of one schema.

    schema: JSON Schema; its draft is the one that `$schema` names, else 2020-12.
    """

    def __init__(self, schema: Any) -> None:
        self.root = schema
        named = schema.get("$schema", "2020-12") if isinstance(schema, dict) else "2020-12"
        self.draft = next((number for name, number in DRAFTS.items() if name in str(named)), 0)
        inner = [each for each in parts_of(schema) if each is not schema]
        bases = any(isinstance(each.get(name), str) for each in inner for name in ("$id", "id"))
        refers = any("$ref" in each for each in parts_of(schema))
        dynamic = any(name in each for each in parts_of(schema) for name in DYNAMIC)
        self.followed = bool(self.draft) and not (bases and refers) and not dynamic
        self._validators: dict[tuple[Path, bool], tuple[Any, Any] | None] = {}
        self._verdicts: dict[tuple[Path, str, bool], bool | None] = {}

    # what is closed

    def validators(self, path: Path, formats: bool = False) -> tuple[Any, Any] | None:
        """Both validators of a subschema; None where one does not read it. formats: asserted."""
        key = (path, formats)
        if key not in self._validators:
            try:
                document = self._document(path)
                kind = jsonschema.validators.validator_for(document, default=jsonschema.Draft202012Validator)
                if not path:
                    kind.check_schema(document)
                checker = kind.FORMAT_CHECKER if formats else None
                rust = jsonschema_rs.validator_for(document, validate_formats=formats)
                self._validators[key] = kind(document, format_checker=checker), rust
            except BROKEN:
                self._validators[key] = None
        return self._validators[key]

    def _document(self, path: Path) -> Any:
        """A schema that refers to a part of this one."""
        if not path:
            return self.root
        pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
        moved = {key: each for key, each in self._moved.items() if key not in ("$id", "id", "$schema")}
        head = {"$schema": self.root["$schema"]} if "$schema" in self.root else {}
        return {**head, "$ref": f"#/$defs/root{pointer}", "$defs": {"root": moved}}

    @functools.cached_property
    def _moved(self) -> Any:
        """The schema with its references where `_document` puts it."""

        def move(schema: Any) -> Any:
            if isinstance(schema, list):
                return [move(each) for each in schema]
            if not isinstance(schema, dict):
                return schema
            return {
                key: "#/$defs/root" + each[1:]
                if key == "$ref" and isinstance(each, str) and (each == "#" or each.startswith("#/"))
                else move(each)
                for key, each in schema.items()
            }

        return move(self.root)

    def verdict(self, path: Path, value: Any, formats: bool = False) -> bool | None:
        """True or False if both validators say so; None where they differ or break down."""
        key = (path, json.dumps(value), formats)
        if key not in self._verdicts:
            both = self.validators(path, formats)
            try:
                said = {bool(both[0].is_valid(value)), bool(both[1].is_valid(value))} if both else set()
            except BROKEN:
                said = set()
            self._verdicts[key] = said.pop() if len(said) == 1 else None
        return self._verdicts[key]

    def closed(self, path: Path, value: Any) -> str | None:
        """The keyword that a closed value breaks for both validators; None: nothing is proved."""
        if self.verdict(path, value) is not False:
            return None
        validator, _ = self.validators(path) or (None, None)
        found = [str(error.validator) for error in itertools.islice(validator.iter_errors(value), 5)]  # type: ignore[union-attr]
        return next((name for name in found if name != "None"), "false")

    # what is open

    def dead(self, data: bytes, repeats: bool = False) -> str | None:
        """The keyword for which no completion of a prefix is valid, or "syntax"; None: nothing is proved.

        repeats: keys that are there may be offered again, so that a key is no proof by being there.
        """
        prefix = read(data)
        if prefix is None:
            return "syntax"
        if not prefix.held or not self.followed or prefix.repeats:
            return None
        self.again = repeats
        return self.never((), prefix.part, 0)

    def at(self, path: Path) -> Any:
        """The subschema at a path."""
        found = self.root
        for step in path:
            found = found[step]
        return found

    def target(self, reference: Any) -> Path | None:
        """The path that a reference means; None: it is not followed."""
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return None
        steps, found, path = reference.split("/")[1:], self.root, []
        for step in steps:
            name: Any = step.replace("%25", "%").replace("~1", "/").replace("~0", "~")
            name = int(name) if isinstance(found, list) and name.isdigit() else name
            try:
                found = found[name]
            except (KeyError, IndexError, TypeError):
                return None
            path.append(name)
        return tuple(path)

    def never(self, path: Path, part: Part, depth: int) -> str | None:
        """The keyword for which no completion of a part is valid; None: nothing is proved."""
        schema = self.at(path)
        if isinstance(part, Closed):
            return self.closed(path, part.value)
        if schema is False:
            return "false"
        if not isinstance(schema, dict) or depth > DEEP:
            return None
        if "$ref" in schema:
            target = self.target(schema["$ref"])
            found = None if target is None else self.never(target, part, depth + 1)
            if found or self.draft < 2019:  # its neighbours count from 2019-09 on
                return found
        return self._combined(path, schema, part, depth + 1) or self._own(path, schema, part, depth + 1)

    def has(self, schema: dict[str, Any], name: str) -> bool:
        """True if a schema has a keyword that its draft knows."""
        return name in schema and self.draft >= SINCE.get(name, 4)

    def _combined(self, path: Path, schema: dict[str, Any], part: Part, depth: int) -> str | None:
        for i, _ in enumerate(schema.get("allOf", ())):
            if found := self.never((*path, "allOf", i), part, depth):
                return found
        for name in ("anyOf", "oneOf"):
            if schema.get(name) and all(self.never((*path, name, i), part, depth) for i, _ in enumerate(schema[name])):
                return name
        if self.has(schema, "if"):
            ways = {name: name in schema and self.never((*path, name), part, depth) for name in ("then", "else")}
            if ways["else"] and (ways["then"] or self.never((*path, "if"), part, depth)):
                return "if"
        return None

    def _own(self, path: Path, schema: dict[str, Any], part: Part, depth: int) -> str | None:
        if isinstance(part, Nothing):
            return None
        kinds = ("null" if part.word == "null" else "boolean",) if isinstance(part, Word) else KINDS[type(part)]
        types = schema.get("type", kinds)
        types = [types] if isinstance(types, str) else types
        if not set(kinds) & set(types):
            return "type"
        given = {"const": [schema["const"]]} if self.has(schema, "const") else {}
        given |= {"enum": schema["enum"]} if "enum" in schema else {}
        for name, values in given.items():
            if not any(self.becomes(value, part) for value in values):
                return name
        match part:
            case Text():
                return self._text(schema, part)
            case Number():
                return self._number(schema, part, "number" not in types)
            case Object():
                return self._object(path, schema, part, depth)
            case Array():
                return self._array(path, schema, part, depth)
        return None

    def becomes(self, value: Any, part: Part) -> bool:
        """True if a part can become this value."""
        match part:
            case Closed(written):
                return equal(value, written)
            case Text():
                return isinstance(value, str) and part.begins(value)
            case Word(word):
                return value is {"true": True, "false": False, "null": None}[word]
            case Number(written):
                return isinstance(value, (int, float)) and not isinstance(value, bool) and leads(written, value)
            case Object(members, key, member):
                if not isinstance(value, dict) or part.least > len(value):
                    return False
                if not all(name in value and equal(value[name], each) for name, each in members.items()):
                    return False
                if isinstance(key, Text):
                    return any(key.begins(name) for name in value if self.again or name not in members)
                return key is None or (key in value and (member is None or self.becomes(value[key], member)))
            case Array(items, item):
                if not isinstance(value, list) or part.least > len(value) or not all(map(equal, value, items)):
                    return False
                return item is None or len(items) == len(value) or self.becomes(value[len(items)], item)
        return True

    def _text(self, schema: dict[str, Any], part: Text) -> str | None:
        if part.least > schema.get("maxLength", math.inf):
            return "maxLength"
        pattern = schema.get("pattern")
        whole = not part.halved
        return "pattern" if isinstance(pattern, str) and whole and not may_match(pattern, part.written) else None

    def _number(self, schema: dict[str, Any], part: Number, integer: bool) -> str | None:
        low: float = schema.get("minimum", -math.inf)
        high: float = schema.get("maximum", math.inf)
        if self.draft >= 6:
            low = max(low, schema.get("exclusiveMinimum", low))
            high = min(high, schema.get("exclusiveMaximum", high))
        if part.written.startswith("-"):
            low, high = -high, -low
        if reaches(part.written, low, high, integer):
            return None
        bounded = low > 0 if part.written.startswith("-") else high < math.inf
        return ("maximum" if bounded else "minimum") if low != -math.inf or high != math.inf else "type"

    def below(self, path: Path, schema: dict[str, Any], key: str) -> list[Path]:
        """The subschemas of a member that its value must fulfil; where a pattern is not read, fewer."""
        found: list[Path] = [(*path, "properties", key)] if key in schema.get("properties", {}) else []
        sure = True
        for pattern in schema.get("patternProperties", {}):
            try:
                found += [(*path, "patternProperties", pattern)] * bool(regex.search(pattern, key, timeout=0.5))
            except (regex.error, TimeoutError):
                sure = False
        return found or [(*path, "additionalProperties")] * (sure and "additionalProperties" in schema)

    def _object(self, path: Path, schema: dict[str, Any], part: Object, depth: int) -> str | None:
        most = schema.get("maxProperties", math.inf)
        missing = sum(name not in part.members and name != part.key for name in schema.get("required", ()) or ())
        if part.least > most:
            return "maxProperties"
        begun = isinstance(part.key, Text) or part.comma  # may be a required one
        if part.least - begun + max(missing, begun) > most:
            return "required"
        names = self.has(schema, "propertyNames")
        keys = [*part.members, *([part.key] if isinstance(part.key, str) else [])]
        for key in keys:
            if names and (found := self.never((*path, "propertyNames"), Closed(key), depth)):
                return f"propertyNames {found}"
            value = Closed(part.members[key]) if key in part.members else part.member or Nothing()
            for each in self.below(path, schema, key):
                if found := self.never(each, value, depth):
                    return "additionalProperties" if found == "false" else found
        if not begun:
            return None
        begins = part.key if isinstance(part.key, Text) else Text("")
        if names and (found := self.never((*path, "propertyNames"), begins, depth)):
            return f"propertyNames {found}"
        declared = schema.get("properties", {})
        offered = [name for name in declared if begins.begins(name) and (self.again or name not in part.members)]
        offered = [name for name in offered if declared[name] is not False]
        if schema.get("additionalProperties") is not False or offered:
            return None
        if begins.halved or any(may_match(pattern, begins.written) for pattern in schema.get("patternProperties", ())):
            return None
        return "additionalProperties"

    def _array(self, path: Path, schema: dict[str, Any], part: Array, depth: int) -> str | None:
        if part.least > schema.get("maxItems", math.inf):
            return "maxItems"
        if schema.get("uniqueItems") and any(
            equal(one, other) for i, one in enumerate(part.items) for other in part.items[:i]
        ):
            return "uniqueItems"
        values: list[Part] = [*map(Closed, part.items)]
        values += [part.item or Nothing()] * (part.comma or part.item is not None) if part.least > len(values) else []
        for i, value in enumerate(values):
            for each in self.item(path, schema, i):
                if found := self.never(each, value, depth):
                    return "items" if found == "false" else found
        return None

    def item(self, path: Path, schema: dict[str, Any], i: int) -> list[Path]:
        """The subschema of an item."""
        first, rest = ("prefixItems", "items") if self.draft == NEWEST else ("items", "additionalItems")
        begin = schema.get(first)
        if not isinstance(begin, list):
            name = "items"
            return [(*path, name)] if isinstance(schema.get(name), (dict, bool)) else []
        if i < len(begin):
            return [(*path, first, i)]
        return [(*path, rest)] if isinstance(schema.get(rest), (dict, bool)) else []


def significand(written: str) -> str:
    """The digits of a number without zeros before them; "" for zero."""
    return written.lower().partition("e")[0].lstrip("-").replace(".", "").lstrip("0")


def leads(written: str, value: float) -> bool:
    """True if a number that begins like this can have this value, in any spelling."""
    if "e" in written.lower() or not value:
        return "e" in written.lower() or not significand(written)
    digits = significand(format(Decimal(repr(abs(value))), "f"))
    return (value < 0) == written.startswith("-") and digits.ljust(400, "0").startswith(significand(written))


def reaches(written: str, low: float, high: float, integer: bool) -> bool:
    """True if a number without its sign that begins like this can lie within bounds, in any spelling.

    An exponent may follow, so the leading digits are known and the magnitude is not.
    """
    digits = significand(written)
    if "e" in written.lower() or not digits:
        return "e" in written.lower() or high >= 0
    if high <= 0:
        return False
    if high == math.inf or (low <= 0 and not integer):
        return True
    lowest, highest, first = Fraction(max(low, 0)), Fraction(high), int(digits)
    least = math.floor(math.log10(lowest)) if lowest and not integer else 0
    for power in range(least - len(digits) - 1, math.ceil(math.log10(high)) + 2 if high >= 1 else 2):
        begin, end = max(first * Fraction(10) ** power, lowest), (first + 1) * Fraction(10) ** power
        whole = math.ceil(max(begin, 1))
        if whole <= highest and whole < end if integer else begin <= highest and begin < end:
            return True
    return False
