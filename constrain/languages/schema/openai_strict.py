"""The strict subset of OpenAI's Structured Outputs: what a schema has outside it, with each place and a fix.

The idea: one walk over the schema. The subset is an allowlist: a keyword that the guide does not name is outside it,
annotations too.

Rules: "Structured Outputs", section "Supported schemas", https://developers.openai.com/api/docs/guides/structured-outputs
(formerly platform.openai.com/docs/guides/structured-outputs), as it stood in 2026 (10 levels, 5,000 properties,
120,000 characters, 1,000 enum values). Where the guide leaves a question open, the stricter answer is taken:

* `minLength` and `maxLength` are not among the supported properties of strings, and reports differ on whether they are
  accepted: they are outside; `RULES._replace(keywords=RULES.keywords | {"minLength", "maxLength"})` lets them in.
* A level of nesting is an object or an array; the root is the first. References are not followed: every definition
  starts again at the first level.
* `anyOf` and `$ref` stand alone: beside other keywords they would be an `allOf`. `anyOf` may have a title and a
  description, `$ref` nothing ("$ref cannot have keywords", says the service).
* `title` and a root `$schema` are inside: the vendor's own libraries send them. `definitions` counts as `$defs`, for
  the same reason.

Cost: linear. Limit: patterns are not checked here; `json_schema` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from constrain.errors import ConstrainError, SchemaError
from constrain.languages.schema.read.document import draw_step, excerpt
from constrain.languages.schema.read.references import unescaped
from constrain.languages.schema.sets.json_types import Json

TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
TYPES_OF = {
    **dict.fromkeys(("pattern", "format", "minLength", "maxLength"), ("string",)),
    **dict.fromkeys(
        ("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), ("number", "integer")
    ),
    **dict.fromkeys(("items", "minItems", "maxItems"), ("array",)),
    **dict.fromkeys(("properties", "required", "additionalProperties"), ("object",)),
}
"""The types that a keyword says something about."""

ANNOTATIONS = frozenset({"title", "description"})
DEFINITIONS = ("$defs", "definitions")
FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})


class StrictRules(NamedTuple):
    """The names and limits of the subset; other providers copy it with other values (`RULES._replace(max_depth=5)`).

    Attributes:
        keywords: The keywords that a subschema may have.
        formats: The values that `format` may have.
        max_depth: The largest number of objects and arrays around a value, itself included.
        max_properties: The largest number of properties in the whole schema.
        max_text: The largest number of characters in all names of properties and definitions, and all texts in `enum`
            and `const`.
        max_enum_values: The largest number of values in all enums.
        large_enum: The number of values beyond which `max_large_enum_text` holds for an enum.
        max_large_enum_text: The largest number of characters in the texts of a large enum.
    """

    keywords: frozenset[str] = (frozenset(TYPES_OF) - {"minLength", "maxLength"} | ANNOTATIONS) | {
        "type", "enum", "const", "anyOf", "$ref"
    }  # fmt: skip
    formats: frozenset[str] = FORMATS
    max_depth: int = 10
    max_properties: int = 5_000
    max_text: int = 120_000
    max_enum_values: int = 1_000
    large_enum: int = 250
    max_large_enum_text: int = 15_000


RULES = StrictRules()


class Violation(NamedTuple):
    """One thing outside the subset.

    Attributes:
        pointer: Its place as a path: `$.properties.a`.
        message: What is outside the subset.
        fix: What to do about it.

    Example:
        >>> violations({"type": "object", "properties": {}})[0].message
        'additionalProperties is not false'
    """

    pointer: str
    message: str
    fix: str


FIXES = {
    "allOf": "merge the schemas into one",
    "oneOf": "write anyOf; the branches should exclude each other",
    "not": "say what is allowed instead",
    **dict.fromkeys(("if", "then", "else"), "write anyOf, one branch for each case"),
    **dict.fromkeys(
        ("dependentRequired", "dependentSchemas", "dependencies"), "write anyOf, one branch for each set of properties"
    ),
    "patternProperties": "name the properties, or use an array of key and value",
    "prefixItems": "use an object with one property for each place, or one schema for all items",
    "default": "leave it out, or mention it in the description",
    "examples": "leave it out, or mention them in the description",
    "$id": "leave it out, and refer to definitions by #/$defs/name",
}
LEAVE_OUT = "leave it out, and check it on the result"
MAX_LISTED = 50  # violations that one error lists


def pointer_of(path: Iterable[str | int]) -> str:
    """A path as text: `$.properties.a`."""
    return "$" + "".join(map(draw_step, path))


class _Node(NamedTuple):
    """A subschema to be checked; `depth` is the number of objects and arrays around it."""

    raw: Any
    path: tuple[str | int, ...]
    depth: int


class _Walk:
    """One walk: the violations, and the sums over the whole schema."""

    def __init__(self, root: Any, rules: StrictRules) -> None:
        self.root = root
        self.rules = rules
        self.violations: list[Violation] = []
        self.properties = self.text = self.enum_values = 0
        self.deepest = 0
        self.too_deep: tuple[str | int, ...] | None = None

    def fault(self, node: _Node, message: str, fix: str) -> None:
        self.violations.append(Violation(pointer_of(node.path), message, fix))

    def run(self) -> list[Violation]:
        """Walk over the schema and return its violations."""
        root = _Node(self.root, (), 0)
        self.check_root(root)
        stack = [root]
        while stack:
            node = stack.pop()
            if isinstance(node.raw, dict):
                stack += reversed(list(self.check(node)))
            else:
                message = f"a schema of the subset is an object with a type, not {excerpt(node.raw, 40)}"
                self.fault(node, message, 'say which type is meant, like {"type": "string"}')
        self.check_sums()
        return self.violations

    def check_root(self, node: _Node) -> None:
        """ "Root objects must not be `anyOf` and must be an object"."""
        raw = node.raw
        if isinstance(raw, dict) and ("anyOf" in raw or "$ref" in raw or raw.get("type") != "object"):
            self.fault(
                node, "the root is not an object of its own", 'wrap it: {"type": "object", "properties": {"value": …}}'
            )

    def check_sums(self) -> None:
        """The limits on the whole schema."""
        root, rules = _Node(self.root, (), 0), self.rules
        if self.too_deep is not None:
            at = root._replace(path=self.too_deep)
            self.fault(at, f"{self.deepest} levels of nesting; the limit is {rules.max_depth}", "flatten the schema")
        for name, count, limit in (
            ("properties", self.properties, rules.max_properties),
            ("characters in names and values", self.text, rules.max_text),
            ("enum values", self.enum_values, rules.max_enum_values),
        ):
            if count > limit:
                self.fault(root, f"{count} {name} in all; the limit is {limit}", "make the schema smaller")

    def check(self, node: _Node) -> Iterator[_Node]:
        """Check one subschema, and yield the subschemas in it."""
        raw = node.raw
        for keyword in raw:
            if keyword in self.rules.keywords or (not node.path and keyword in (*DEFINITIONS, "$schema")):
                continue
            self.fault(
                node, f"{keyword} is outside the subset", _of_length(raw, keyword) or FIXES.get(keyword, LEAVE_OUT)
            )
        if not node.path:
            for keyword in DEFINITIONS:
                yield from self.definitions(node, keyword)
        if "$ref" in raw:
            self.reference(node)
        elif "anyOf" in raw:
            yield from self.any_of(node)
        else:
            yield from self.typed(node)

    def definitions(self, node: _Node, keyword: str) -> Iterator[_Node]:
        """Yield the subschemas under `$defs` or `definitions`."""
        definitions = node.raw.get(keyword)
        if isinstance(definitions, dict):
            for name, raw in definitions.items():
                self.text += len(str(name))
                yield _Node(raw, (keyword, name), 0)
        elif keyword in node.raw:
            self.fault(node, f"{keyword} is not an object of schemas", f'write "{keyword}": {{"name": {{…}}}}')

    def alone(self, node: _Node, keyword: str, allowed: frozenset[str]) -> None:
        """The keyword stands beside no others than the allowed ones."""
        root_may = {*DEFINITIONS, "$schema"} if not node.path else set()
        others = [key for key in node.raw if key != keyword and key not in allowed and key not in root_may]
        if others:
            fix = "put them into every branch" if keyword == "anyOf" else "put them into the definition"
            self.fault(node, f"{keyword} stands beside {', '.join(map(str, others))}", fix)

    def reference(self, node: _Node) -> None:
        """ "Definitions are supported", "Recursive schemas are supported"."""
        self.alone(node, "$ref", frozenset())
        ref = node.raw["$ref"]
        parts = ref.split("/") if isinstance(ref, str) else []
        if ref == "#":
            return
        if len(parts) != 3 or parts[0] != "#" or parts[1] not in DEFINITIONS:
            self.fault(node, f"$ref {ref!r} is not # or #/$defs/name", "put its target under $defs")
            return
        definitions = self.root.get(parts[1])
        if not isinstance(definitions, dict) or unescaped(parts[2]) not in definitions:
            self.fault(node, f"$ref {ref!r} leads nowhere", "correct the name, or add the definition")

    def any_of(self, node: _Node) -> Iterator[_Node]:
        """ "For `anyOf`, the nested schemas must each be a valid JSON Schema per this subset"."""
        self.alone(node, "anyOf", ANNOTATIONS)
        branches = node.raw["anyOf"]
        if not isinstance(branches, list) or not branches:
            self.fault(node, "anyOf is not a list of schemas", 'write "anyOf": [{…}, {…}]')
            return
        for i, raw in enumerate(branches):
            yield _Node(raw, (*node.path, "anyOf", i), node.depth)

    def typed(self, node: _Node) -> Iterator[_Node]:
        """Check a subschema with a type and the keywords of that type; yield the subschemas in it."""
        raw = node.raw
        types = raw.get("type")
        if not isinstance(types, list):
            types = [types]
        if "type" not in raw:
            if "allOf" not in raw and "oneOf" not in raw:  # those were named already
                self.fault(node, "there is no type", 'add "type"')
        elif not types or any(name not in TYPES for name in types):
            self.fault(node, f"type is {excerpt(raw['type'], 40)}", f"use {', '.join(TYPES)}")
        else:
            for keyword in raw:
                fitting = TYPES_OF.get(keyword) if keyword in self.rules.keywords else None
                if fitting and not set(fitting) & set(types):
                    message = f"{keyword} says nothing of type {excerpt(raw['type'], 40)}"
                    self.fault(node, message, "leave it out, or change the type")
        self.values(node)
        self.format(node)
        yield from self.containers(node, types)

    def values(self, node: _Node) -> None:
        """`enum` and `const`, and their sums."""
        raw, rules = node.raw, self.rules
        if "enum" in raw and (not isinstance(raw["enum"], list) or not raw["enum"]):
            self.fault(node, "enum is not a list of values", 'write "enum": ["a", "b"]')
            return
        enum = raw.get("enum", [])
        values = [*enum, *([raw["const"]] if "const" in raw else [])]
        if any(isinstance(value, (dict, list)) for value in values):
            self.fault(node, "enum or const holds an object or a list", "use properties with const, or plain values")
        texts = [value for value in values if isinstance(value, str)]
        size = sum(map(len, texts))
        self.enum_values += len(enum)
        self.text += size
        if len(enum) > rules.large_enum and size > rules.max_large_enum_text:
            message = f"an enum of {len(enum)} values has {size} characters; beyond {rules.large_enum} values"
            self.fault(node, f"{message} the limit is {rules.max_large_enum_text}", "shorten the values")

    def format(self, node: _Node) -> None:
        """The format is one of the subset."""
        name = node.raw.get("format")
        if "format" in node.raw and name not in self.rules.formats:
            message = f"the format {name!r} is outside the subset"
            self.fault(node, message, f"use {', '.join(sorted(self.rules.formats))}, or a pattern")

    def containers(self, node: _Node, types: list[Any]) -> Iterator[_Node]:
        """Check the keywords of objects and arrays; yield the subschemas of properties and items."""
        depth = node.depth + ("object" in types or "array" in types)
        if depth > self.rules.max_depth and self.too_deep is None:
            self.too_deep = node.path
        self.deepest = max(self.deepest, depth)
        if "object" in types:
            yield from self.object(node, depth)
        if "array" in types:
            if isinstance(node.raw.get("items"), list) or "items" not in node.raw:
                self.fault(node, "an array has no single schema for its items", 'add "items": {…}')
            else:
                yield _Node(node.raw["items"], (*node.path, "items"), depth)

    def object(self, node: _Node, depth: int) -> Iterator[_Node]:
        """ "All fields must be `required`", "`additionalProperties: false` must always be set in objects"."""
        raw = node.raw
        if raw.get("additionalProperties") is not False:
            self.fault(node, "additionalProperties is not false", 'add "additionalProperties": false')
        properties, required = raw.get("properties"), raw.get("required", [])
        if not isinstance(properties, dict):
            self.fault(node, "an object has no properties", 'add "properties": {…}, which may be empty')
            return
        if not isinstance(required, list):
            self.fault(node, "required is not a list of names", 'write "required": ["a", "b"]')
            return
        listed = set(map(str, required))
        missing = [name for name in properties if name not in listed]
        extra = [name for name in required if name not in properties]
        if missing:
            message = f"not every property is required: {excerpt(missing)[1:-1]}"
            self.fault(node, message, 'add it to required; let null stand for its absence ("type": ["string", "null"])')
        if extra:
            self.fault(node, f"required names no property: {excerpt(extra)[1:-1]}", "declare it under properties")
        self.properties += len(properties)
        for name, inner in properties.items():
            self.text += len(str(name))
            yield _Node(inner, (*node.path, "properties", name), depth)


def violations(schema: Json, rules: StrictRules = RULES) -> list[Violation]:
    """List everything in a schema that is outside the strict subset of OpenAI's Structured Outputs.

    Args:
        schema: The schema as JSON (a dict).
        rules: The names and limits of the subset; by default OpenAI's.

    Returns:
        One `Violation` (pointer, message, fix) for each thing outside the subset; empty if the schema is inside.

    Source:
        "Structured Outputs", section "Supported schemas",
        https://developers.openai.com/api/docs/guides/structured-outputs, as of 2026.

    Example:
        >>> from constrain.languages.schema import violations
        >>> schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
        >>> for violation in violations(schema):
        ...     print(violation.pointer, violation.message)
        $ not every property is required: "a"
    """
    return _Walk(schema, rules).run()


def is_strict(given: Mapping[str, Any], place: str) -> bool:
    """True if "strict" is true beside a schema. place: of `given`. Raises ConstrainError if it is no boolean."""
    strict = given.get("strict")
    if strict is not None and not isinstance(strict, bool):
        raise ConstrainError(
            f"strict is true or false, not {strict!r:.40}", place=f"{place}.strict", fix="leave it out"
        )
    return bool(strict)


def check(schema: Json, rules: StrictRules = RULES) -> None:
    """Raise one SchemaError that lists everything outside the strict subset; return None if the schema is inside."""
    outside = violations(schema, rules)
    if not outside:
        return
    count = "1 thing is" if len(outside) == 1 else f"{len(outside)} things are"
    parts = [
        f"{violation.message}\n  at {violation.pointer}\n  fix: {violation.fix}" for violation in outside[:MAX_LISTED]
    ]
    if len(outside) > MAX_LISTED:
        parts.append(f"… and {len(outside) - MAX_LISTED} more")
    body = "\n".join("  " + line for part in parts for line in part.split("\n"))
    fix = "change each of them; constrain.schema.violations(schema) gives them as a list"
    raise SchemaError(f"{count} outside the strict subset\n{body}", fix=fix)


def _of_length(raw: dict[str, Any], keyword: str) -> str | None:
    """The fix of a limit on characters; None for other keywords."""
    if keyword not in ("minLength", "maxLength"):
        return None
    if "pattern" in raw:
        return "say it in the pattern"
    return f'write it as a pattern: "^[\\\\s\\\\S]{{{raw.get("minLength", 0)},{raw.get("maxLength", "")}}}$"'
