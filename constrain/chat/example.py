"""An example of a schema's values: what a reader would write down to show the form.

The idea: a walk over the schema writes the plainest value that each part suggests (its `examples`, its default, the
first of an enum, "..." for a text); a part whose plain value is not valid gets the shortest valid text instead. The
whole is checked by the engine, so an example is valid or there is none.

Rules: all declared properties are there, optional ones too, but not inside of themselves: a definition that is reached
again while it is being written, or lies deeper than `DEEPEST`, leaves out what is optional and keeps arrays empty.
Cost: a compilation of each part whose plain value is in doubt, then one of the whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from constrain.errors import ConstrainError
from constrain.languages.schema import JsonSchema
from constrain.masks.completion.length_budget import LengthBudget
from constrain.masks.derived.members import byte_automaton
from constrain.masks.engine.compiled import CompiledConstraint

DEEPEST = 6  # containers inside each other whose optional parts are shown
TEXT = "..."
FORMATS = {
    "date": "2024-01-31",
    "time": "12:30:00Z",
    "date-time": "2024-01-31T12:30:00Z",
    "duration": "P1D",
    "email": "name@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}
"""Texts of formats; those of a format that is not here are the shortest ones."""
LAYOUTS: tuple[dict[str, Any], ...] = ({}, {"separators": (",", ":")}, {"indent": 2}, {"indent": 4})  # of json.dumps


class NoExampleError(Exception):
    """No value of a part was found."""


def example_of(constraint: JsonSchema, resolve: Callable[[str], Any]) -> str | None:
    """A valid text of a schema, always the same one; None: none was found.

    resolve: what a reference leads to, None for what is not in the document.
    """
    with suppress(NoExampleError):
        value = _Sampler(constraint, resolve).value(constraint.written)
        for layout in LAYOUTS:
            text = json.dumps(value, ensure_ascii=False, **layout)
            if _valid(constraint, text):
                return text
    return _shortest(constraint)


def _valid(constraint: JsonSchema, text: str) -> bool:
    try:
        return constraint.accepts(text)
    except ConstrainError:
        return False


def _shortest(constraint: JsonSchema) -> str | None:
    """The shortest text; None: it is not valid, or was not found within the limits."""
    automaton = byte_automaton()
    try:
        compiled = CompiledConstraint(constraint, automaton.vocabulary, automaton)
        text = LengthBudget(compiled, complete=True).shortest()
    except ConstrainError:
        return None
    return text if _valid(constraint, text) else None


class _Sampler:
    """One walk. root: the constraint; resolve: see `example_of`; within: references that are being written."""

    def __init__(self, root: JsonSchema, resolve: Callable[[str], Any]) -> None:
        self.root = root
        self.resolve = resolve
        self.within: list[str] = []
        self.depth = 0

    def value(self, schema: Any) -> Any:
        """A value of a subschema. Raises NoExampleError."""
        if not isinstance(schema, dict):
            return TEXT
        if schema.get("examples"):
            return schema["examples"][0]
        if "const" in schema or schema.get("enum"):
            return schema["const"] if "const" in schema else schema["enum"][0]
        if schema.get("default") is not None:
            return schema["default"]
        if "$ref" in schema:
            return self._referred(schema)
        for key in ("anyOf", "oneOf"):
            if schema.get(key):
                return self._first(schema, schema[key], key)
        if schema.get("allOf"):
            return self.value(
                _merged([{k: v for k, v in schema.items() if k != "allOf"}, *self._plain(schema["allOf"])])
            )
        kinds = schema.get("type", _suggested(schema))
        kind = next((each for each in kinds if each != "null"), "null") if isinstance(kinds, list) else kinds
        if kind in ("object", "array"):
            self.depth += 1
            try:
                return self._object(schema) if kind == "object" else self._array(schema)
            finally:
                self.depth -= 1
        plain = self._scalar(kind, schema)
        checked = self.root.beside_definitions(schema)
        if _valid(checked, json.dumps(plain)):
            return plain
        text = _shortest(checked)
        if text is None:
            raise NoExampleError
        return json.loads(text)

    def _plain(self, parts: list[Any]) -> list[Any]:
        """Parts of an allOf without references that stand alone."""
        return [self.resolve(part["$ref"]) if isinstance(part, dict) and "$ref" in part else part for part in parts]

    @property
    def short(self) -> bool:
        """Optional parts are left out."""
        return self.depth > DEEPEST or len(set(self.within)) < len(self.within)

    def _referred(self, schema: dict[str, Any]) -> Any:
        name = schema["$ref"]
        target = self.resolve(name)
        if target is None or self.within.count(name) > 1:
            raise NoExampleError
        self.within.append(name)
        try:
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            return self.value(_merged([target, beside]) if isinstance(target, dict) and beside else target)
        finally:
            self.within.pop()

    def _first(self, schema: dict[str, Any], branches: list[Any], key: str) -> Any:
        """The first branch that has an example; while short, those without a container first."""
        beside = {each: value for each, value in schema.items() if each != key}
        last = [branch for branch in branches if not (isinstance(branch, dict) and branch.get("type") == "null")]
        ordered = [each for each in branches if each not in last] + last if self.short else [*last, *branches]
        for branch in ordered:
            try:
                return self.value(_merged([beside, branch]) if isinstance(branch, dict) else branch)
            except NoExampleError:
                continue
        raise NoExampleError

    def _object(self, schema: dict[str, Any]) -> dict[str, Any]:
        required = schema.get("required", [])
        made = {}
        for name, part in schema.get("properties", {}).items():
            if self.short and name not in required:
                continue
            try:
                made[name] = self.value(part)
            except NoExampleError:
                if name in required:
                    raise
        more = schema.get("additionalProperties")
        if not made and isinstance(more, dict) and not self.short:
            made["key"] = self.value(more)
        return made

    def _array(self, schema: dict[str, Any]) -> list[Any]:
        items = [self.value(part) for part in first_items(schema)]
        others = schema.get("items", True)
        least = schema.get("minItems", 0)
        wanted = max(least, min(1, schema.get("maxItems", 1))) if not (self.short or items) else least
        if others is False or isinstance(others, list):
            wanted = 0
        try:
            items += [self.value(others) for _ in range(len(items), wanted)]
        except NoExampleError:
            if least > len(items):
                raise
        return items

    @staticmethod
    def _scalar(kind: str, schema: dict[str, Any]) -> Any:
        if kind == "boolean":
            return True
        if kind == "null":
            return None
        if kind in ("integer", "number"):
            wish = 1 if kind == "integer" else 1.5
            for bound in ("minimum", "maximum"):
                limit = schema.get(bound)
                if limit is not None and (wish < limit if bound == "minimum" else wish > limit):
                    wish = limit
            return wish
        text = FORMATS.get(schema.get("format", ""), TEXT)
        return text + "." * max(0, schema.get("minLength", 0) - len(text))


def first_items(schema: dict[str, Any]) -> list[Any]:
    """The subschemas of the first items of an array: `prefixItems`, or a list as `items` in older drafts."""
    items = schema.get("items")
    return items if isinstance(items, list) else schema.get("prefixItems", [])


def _suggested(schema: dict[str, Any]) -> str:
    """The type that the keywords of an untyped schema are about."""
    for kind, keys in (("object", ("properties", "additionalProperties")), ("array", ("items", "prefixItems"))):
        if any(key in schema for key in keys):
            return kind
    return "number" if "minimum" in schema or "maximum" in schema else "string"


def _merged(parts: list[Any]) -> dict[str, Any]:
    """One schema for some that hold together, as far as an example needs it; later keywords win, objects are joined."""
    whole: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items() if isinstance(part, dict) else ():
            if key == "properties":
                whole[key] = {**whole.get(key, {}), **value}
            elif key == "required":
                whole[key] = [*whole.get(key, []), *value]
            else:
                whole[key] = value
    return whole
