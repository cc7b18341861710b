"""`constrain.describe`: a schema in words for the prompt of a model.

A constraint decides what a model can write, not what it means to write: a model that was not told the fields spends its
probability elsewhere, and what is left for the schema's texts is little and odd. The words are few and the same for the
same schema: one line for each field. There is no example: small models copy its values into their answers (note 0039).

Rules: a definition is written where it is first used; used again, and inside of itself, only by its name. References by
JSON pointer (`#/$defs/name`) and into a registry or files are followed; others are named. Keywords that have no words
here stand as JSON, so nothing is left out but annotations, and what stands beside an enum.
"""

from __future__ import annotations

import json
from typing import Any

from constrain.errors import ConstrainError
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.regular import Choices
from constrain.languages.schema import JsonSchema, json_schema
from constrain.languages.schema.read.document import shown
from constrain.languages.schema.read.references import Resource, step_into
from constrain.limits import default_limits, tick, within_stack

INDENT = "  "
ONE_LINE = 300  # characters of choices
SILENT = frozenset({
    "$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "title", "description", "examples", "default",
    "deprecated", "readOnly", "writeOnly", "discriminator",
})  # fmt: skip
SAID = frozenset({
    "type", "properties", "required", "additionalProperties", "items", "prefixItems", "enum", "const", "anyOf", "oneOf",
    "allOf", "$ref", "format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "x-span",
    "x-python",
})  # fmt: skip

_OF_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
LIMITS = {
    "string": ("format", "pattern", "minLength", "maxLength", "x-span"),
    "number": _OF_NUMBERS,
    "integer": _OF_NUMBERS,
}


def describe(wanted: Any) -> str:
    """Write instructions for a model that is to answer with JSON of a schema.

    They name each field with its type, its description and its limits. `constrain.Prompt(content, describe=True)` puts
    them into a prompt.

    Args:
        wanted: What `generate` takes as `schema=` or `type=`, or what `constrain.json_schema` or `constrain.choices`
            returned.

    Returns:
        Some lines of text. A definition that is used again, or in itself, is written once and then named.

    Raises:
        ConstrainError: It is a constraint with neither a schema nor choices; or what `constrain.json_schema` raises.
        LimitError: It is nested too deeply, or its words take too long.

    Example:
        >>> import constrain
        >>> from pydantic import BaseModel, Field
        >>> class Person(BaseModel):
        ...     name: str = Field(description="first and last name")
        ...     age: int | None = Field(None, ge=0)
        >>> print(constrain.describe(Person))
        Answer with a JSON object that has these fields:
        - "name": string, first and last name
        - "age" (optional): integer from 0 or null
    """
    if isinstance(wanted, Choices):
        return _choices(wanted.options)
    if isinstance(wanted, Constraint) and not isinstance(wanted, JsonSchema):
        raise ConstrainError(
            f"describe takes a schema or choices, and {wanted!r:.60} has none",
            fix="pass a schema, a type or choices, or say in the prompt what is wanted",
        )
    with within_stack("the schema"), default_limits().of("describing the schema"):
        constraint = wanted if isinstance(wanted, JsonSchema) else json_schema(wanted)
        return "\n".join(_Outline(constraint.written, constraint.document.root_site.resource).whole())


def _choices(options: tuple[str, ...]) -> str:
    """The texts as they are: on one line where they are words, else a line each."""
    if len(options) == 1:
        return f"Answer with this text and nothing else: {options[0]}"
    quoted = any("\n" in option or option != option.strip() for option in options)
    words = not quoted and all(option.replace(" ", "").isalnum() for option in options)
    if words and sum(map(len, options)) <= ONE_LINE:
        return f"Answer with one of these and nothing else: {', '.join(options)}"
    lines = [json.dumps(option, ensure_ascii=False, default=shown) if quoted else option for option in options]
    said = "one of these texts, without the quotes," if quoted else "one of these texts"
    return "\n".join([f"Answer with {said} and nothing else:", *(f"- {line}" for line in lines)])


class _Outline:
    """One walk over a schema.

    root: the schema, or the document that the walk is in. resource: of the schema; it has the registry. resolver: of
    references in another document. uses: how often each reference of the schema occurs. begun: the targets of
    references that were written so far.
    """

    def __init__(self, root: Any, resource: Resource) -> None:
        self.root = root
        self.resource = resource
        self.resolver: Any = None
        self.uses: dict[str, int] = {}
        self.begun = {id(root)}
        _count(root, self.uses)

    def _resolve(self, reference: str) -> tuple[Any, Any, Any]:
        """(the schema that a reference leads to, the root and the resolver there); None: it is not found, or named."""
        if reference.startswith("#"):
            at = self.root
            if reference[1:2] not in ("", "/"):
                return None, None, None
            for part in reference[2:].split("/") if len(reference) > 1 else ():
                found = step_into(at, part)
                if found is None:
                    return None, None, None
                at, _ = found
            return at, self.root, self.resolver
        if self.resource.registry is None:
            return None, None, None
        resolved = (self.resolver or self.resource.resolver).lookup(reference)
        return resolved.contents, resolved.resolver.lookup("#").contents, resolved.resolver

    def whole(self) -> list[str]:
        """The lines of the whole schema."""
        phrase, lines = self.phrase(self.root, "")
        told = self.root.get("description") if isinstance(self.root, dict) else None
        said = f": {_line(told).removesuffix('.')}." if told else ""
        if not (lines and phrase.startswith("object")):
            return [f"Answer with JSON: {phrase}{said.replace(':', ',', 1)}", *lines]
        return [
            f"Answer with a JSON {phrase}{said}" + (" It has these fields:" if said else " that has these fields:"),
            *lines,
        ]

    def phrase(self, schema: Any, indent: str) -> tuple[str, list[str]]:
        """(a subschema in words, lines below them for its parts)."""
        tick()
        if not isinstance(schema, dict) or not schema.keys() - SILENT:
            return "any JSON value" if schema is not False else "nothing", []
        words, lines = self._kind(schema, indent)
        others = {key: value for key, value in schema.items() if key not in SAID | SILENT}
        if others:
            words += f" with {json.dumps(others, ensure_ascii=False, default=shown)}"
        return words, lines

    def _kind(self, schema: dict[str, Any], indent: str) -> tuple[str, list[str]]:
        if "const" in schema:
            return json.dumps(schema["const"], ensure_ascii=False, default=shown), []
        if "enum" in schema:
            return _or([json.dumps(each, ensure_ascii=False, default=shown) for each in schema["enum"]]), []
        if "$ref" in schema:
            words, lines = self._referred(schema["$ref"], indent)
            beside = {key: value for key, value in schema.items() if key in SAID - {"$ref", "type"}}
            return f"{words} with {json.dumps(beside, ensure_ascii=False, default=shown)}" if beside else words, lines
        for key in ("anyOf", "oneOf", "allOf"):
            if schema.get(key):
                own = {each: value for each, value in schema.items() if each not in (key, "type") and each in SAID}
                return self._branches([own, *schema[key]] if own else schema[key], key, indent)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return self._branches([{**schema, "type": kind} for kind in kinds], "anyOf", indent)
        if kinds == "array" or (kinds is None and ("items" in schema or "prefixItems" in schema)):
            return self._array(schema, indent)
        if kinds == "object" or (kinds is None and ("properties" in schema or "additionalProperties" in schema)):
            return self._object(schema, indent)
        own = dict(schema)
        if kinds is not None:
            own = {key: value for key, value in schema.items() if key == "x-python" or key in LIMITS.get(kinds, ())}
        return " ".join([kinds or "any JSON value", *_limits(own)]), []

    def _referred(self, reference: str, indent: str) -> tuple[str, list[str]]:
        name = "the whole" if reference == "#" else reference.rpartition("/")[2]
        target, *there = self._resolve(reference)
        if target is None:
            return f"what {reference} is", []
        if isinstance(target, dict):
            if id(target) in self.begun:
                return f"{name} again", []
            self.begun.add(id(target))
        here = self.root, self.resolver
        self.root, self.resolver = there
        words, lines = self.phrase(target, indent)
        self.root, self.resolver = here
        told = target.get("description") if isinstance(target, dict) else None
        named = f"{words} {name}" if self.uses.get(reference, 0) > 1 else words
        return f"{named} ({_line(told)})" if told else named, lines

    def _branches(self, branches: list[Any], key: str, indent: str) -> tuple[str, list[str]]:
        phrases = [self.phrase(branch, indent + INDENT) for branch in branches]
        if len(branches) == 1:
            return phrases[0][0], [line.removeprefix(INDENT) for line in phrases[0][1]]
        if sum(bool(lines) for _, lines in phrases) + (key == "allOf") <= 1 and key != "allOf":
            lines = next((lines for _, lines in phrases if lines), [])
            return _or([words for words, _ in phrases]), [line.removeprefix(INDENT) for line in lines]
        all_lines = []
        for place, (branch, (words, lines)) in enumerate(zip(branches, phrases, strict=True), 1):
            told = branch.get("description") if isinstance(branch, dict) else None
            all_lines += [f"{indent}{place}. {words}" + (f": {_line(told)}" if told else ""), *lines]
        return {"anyOf": "one of these:", "oneOf": "exactly one of these:", "allOf": "all of this:"}[key], all_lines

    def _object(self, schema: dict[str, Any], indent: str) -> tuple[str, list[str]]:
        required, lines = schema.get("required", []), []
        for name, part in schema.get("properties", {}).items():
            words, below = self.phrase(part, indent + INDENT)
            told = part.get("description") if isinstance(part, dict) else None
            optional = "" if name in required else " (optional)"
            label = f"{indent}- {json.dumps(name, ensure_ascii=False, default=shown)}{optional}: {words}"
            lines += [f"{label}, {_line(told)}" if told else label, *below]
        more = schema.get("additionalProperties")
        if isinstance(more, dict) and more.keys() - SILENT:
            words, below = self.phrase(more, indent + INDENT)
            lines += [f"{indent}- any {'other ' if lines else ''}key: {words}", *below]
        return "object", lines

    def _array(self, schema: dict[str, Any], indent: str) -> tuple[str, list[str]]:
        lines: list[str] = []
        words = "array"
        items = schema.get("items")
        first = items if isinstance(items, list) else schema.get("prefixItems", [])
        for place, part in enumerate(first, 1):
            said, below = self.phrase(part, indent + INDENT)
            lines += [f"{indent}- item {place}: {said}", *below]
        if isinstance(items, dict) and items.keys() - SILENT:
            said, below = self.phrase(items, indent)
            words += f" of {said}" if not lines else f", then {said}"
            lines += below
        return " ".join([words, *_limits(schema)]), lines


def _count(schema: Any, uses: dict[str, int]) -> None:
    """Count the references in a schema."""
    tick()
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            uses[schema["$ref"]] = uses.get(schema["$ref"], 0) + 1
        schema = list(schema.values())
    for part in schema if isinstance(schema, list) else ():
        _count(part, uses)


def _line(text: Any) -> str:
    """A text on one line."""
    return " ".join(str(text).split())


def _or(words: list[str]) -> str:
    """Alternatives in words: "a, b or c"."""
    return " or ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])}, or {words[-1]}"


def _quoted(span: Any) -> str:
    """The value of `x-span` in words; of a text that it holds itself the beginning."""
    given = {"text": span} if isinstance(span, str) else span
    text = "".join(given["text"]) if "text" in given else ""
    source = json.dumps(f"{text[:60]}…" if len(text) > 60 else text, ensure_ascii=False) if text else given["document"]
    unit = {"char": "characters", "chunk": "pieces"}.get(given.get("unit", ""), f"whole {given.get('unit', 'word')}s")
    return f"that quotes {source}" + (f" ({unit})" if "unit" in given else "")


_ASKED = {  # by a type of Python
    "ge": "from {}", "gt": "above {}", "le": "up to {}", "lt": "below {}", "multiple_of": "a multiple of {}",
    "max_digits": "with at most {} digits", "decimal_places": "with at most {} decimals",
    "pattern": "that matches /{}/",
}  # fmt: skip


def _limits(schema: dict[str, Any]) -> list[str]:
    """The limits of a scalar or an array in words."""
    said = []
    if "format" in schema:
        said.append(f"({schema['format']})")
    for least, most, unit in (
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
    ):
        low, high = schema.get(least), schema.get(most)
        with_ = "with " if unit else "from "
        if low is not None and high is not None:
            said.append(f"{with_}{low} to {high}{unit}" if low != high else f"{with_}{low}{unit}".replace("from", "of"))
        elif low is not None:
            said.append(f"with at least {low}{unit}" if unit else f"from {low}")
        elif high is not None:
            said.append(f"with at most {high}{unit}" if unit else f"up to {high}")
    for key, words in (("exclusiveMinimum", "above"), ("exclusiveMaximum", "below"), ("multipleOf", "a multiple of")):
        if schema.get(key) is True:  # of draft 4, about the bound beside it
            said.append(f"{words} that")
        elif schema.get(key, False) is not False:
            said.append(f"{words} {schema[key]}")
    if "pattern" in schema:
        said.append(f"that matches /{schema['pattern']}/")
    if "x-span" in schema:
        said.append(_quoted(schema["x-span"]))
    asked = schema.get("x-python", {})
    said += [words.format(asked[key]) for key, words in _ASKED.items() if key in asked]
    if schema.get("uniqueItems"):
        said.append("that all differ")
    return said
