"""The arguments of a call in a model's own markup, one element for each property of a schema.

    constrain.tags.parameters(schema, style="qwen")  # <parameter=city>Paris</parameter><parameter=days>3</parameter>

The idea: a property whose value is a string is written as it is, without quotes and escapes, up to the text that closes
the element; any other value is JSON. Which texts of a property are raw strings follows from the schema's normal form,
whose strings are a regular language (schema/normalize). Declared properties come in their order, or in any
(`property_order="any"`), the required ones always.

The styles are data (`STYLES`): what opens an element, what closes it, and what stands between its name and its value.
Limits: no undeclared properties; a schema of one object whose values are independent (no `dependentRequired`, no
alternatives): a located error else. A raw string does not contain the text that closes its element. Between elements
stands at most one line end, with up to eight blanks before and after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from constrain.chat.tags.elements import MAX_ANY_ORDER, NESTED, elements
from constrain.errors import ConstrainError, LimitError, SchemaError, UnsatisfiableError
from constrain.languages.automata.syntax import EMPTY, EPSILON, Node, chars, concat, intersect, repeat
from constrain.languages.automata.syntax import optional as optional_node
from constrain.languages.cfg.free_text import without
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import alt, optional, ref, rules, seq
from constrain.languages.constraints.regular import Regular
from constrain.languages.schema import JsonLayout, JsonSchema, json_schema

Schema = Callable[..., JsonSchema]
_KINDS = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"}
_FOLDED = {"$schema", "$defs", "definitions", "type", "properties", "required", "additionalProperties", "title",
           "description", "$id", "$comment", "examples", "default", "strict"}  # fmt: skip


class Style(NamedTuple):
    """The texts around an argument.

    `{name}` and `{kind}` in the texts stand for what they say, `{quoted}` for the name with `&` and `"` as entities.

    Attributes:
        raw: The text before a string.
        other: The text before any other value.
        close: The end of the element.
    """

    raw: str
    other: str
    close: str


STYLES: Mapping[str, Style] = {
    "qwen": Style("<parameter={name}>", "<parameter={name}>", "</parameter>"),
    "minimax": Style('<parameter name="{name}">', '<parameter name="{name}">', "</parameter>"),
    "deepseek": Style(
        '<｜DSML｜parameter name="{name}" string="true">',
        '<｜DSML｜parameter name="{name}" string="false">',
        "</｜DSML｜parameter>",
    ),
    "deepseek-v4.1": Style(
        '<｜DSML｜ parameter name="{name}" string="true">',
        '<｜DSML｜ parameter name="{name}" string="false">',
        "</｜DSML｜ parameter>",
    ),
    "glm": Style(
        "<arg_key>{name}</arg_key>{space}<arg_value>", "<arg_key>{name}</arg_key>{space}<arg_value>", "</arg_value>"
    ),
    "kimi-k3": Style(
        '<|open|>argument key="{quoted}" type="{kind}"<|sep|>',
        '<|open|>argument key="{quoted}" type="{kind}"<|sep|>',
        "<|close|>argument<|sep|>",
    ),
}
BLANKS = repeat(chars([(0x20, 0x20), (0x09, 0x09)]), 0, 8)
LINE_END = concat(optional_node(chars([(0x0D, 0x0D)])), chars([(0x0A, 0x0A)]))
SPACES = concat(BLANKS, optional_node(concat(LINE_END, BLANKS)))
"""Between elements: a line end and an indentation. A model that is at a loss would write blanks for ever."""
SPACE = Regular(SPACES)


def parameters(
    schema: Any, style: str | Style = "qwen", *, make: Schema = json_schema, excludes: tuple[str, ...] = ()
) -> Constraint:
    """The properties of an object as elements of a model's own markup.

    Args:
        schema: A JSON Schema of an object, as `json_schema` takes it.
        style: One of `STYLES`: "qwen", "minimax", "deepseek", "deepseek-v4.1", "glm" or "kimi-k3"; or a `Style`. Or
            "cohere" or "minimax-m3", where objects and arrays are elements in elements (elements.py).
        make: Makes the constraint of a schema; by default `json_schema`.
        excludes: Texts that do not occur in raw strings.

    Returns:
        A constraint.

    Raises:
        ConstrainError: The style is not known.
        SchemaError: The schema is malformed, or is not that of one object with independent properties; with its place.
        UnsatisfiableError: No value fulfils it.

    Example:
        >>> import constrain
        >>> city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        >>> arguments = constrain.tags.parameters(city)
        >>> matcher = constrain.compile(arguments, constrain.Vocabulary.of_bytes()).matcher()
        >>> matcher.advance_bytes(b"<parameter=city>Paris"), matcher.is_accepting()
        (True, False)
    """
    if isinstance(style, str) and style not in STYLES and style not in NESTED:
        known = ", ".join([*STYLES, *NESTED])
        raise ConstrainError(f"unknown style {style!r} of parameters", fix=f"use one of {known}")
    whole = make(schema)
    whole.to_grammar()  # raises for a malformed schema
    if isinstance(style, str) and style in NESTED:
        return elements(whole, NESTED[style], excludes, _space(whole.options.whitespace))
    plain = whole.written
    if plain is True:
        plain = {"type": "object"}
    _check(plain)
    properties, required = plain.get("properties", {}), plain.get("required", [])
    if missing := [name for name in required if name not in properties]:
        raise SchemaError(f"the required property {missing[0]!r} is not declared", place="$.required", fix="declare it")
    form = style if isinstance(style, Style) else STYLES[style]
    parts: list[tuple[Constraint, bool]] = []
    for name, value in properties.items():
        element = _element(name, make(whole.beside_definitions(_schema(value)).schema), form, excludes)
        if element is None and name in required:
            raise UnsatisfiableError(f"no value fulfils the property {name!r}", place=f"$.properties.{name}")
        if element is not None:
            parts.append((element, name in required))
    if whole.options.property_order == "any":
        return seq(_in_any_order(parts), SPACE)
    return seq(*(element if is_required else optional(element) for element, is_required in parts), SPACE)


def _in_any_order(parts: list[tuple[Constraint, bool]]) -> Constraint:
    """Each required element once and each other one at most once: a rule for each set of written elements."""
    if len(parts) > MAX_ANY_ORDER:
        message = f"{len(parts)} properties in any order, more than {MAX_ANY_ORDER}"
        raise LimitError(message, fix='use property_order="schema"')

    def rest(written: int) -> Constraint:
        left = [i for i in range(len(parts)) if not written >> i & 1]
        ways: list[Constraint | str] = [seq(parts[i][0], ref(str(written | 1 << i))) for i in left]
        return alt(*ways, *([] if any(parts[i][1] for i in left) else [""]))

    return rules({str(written): rest(written) for written in range(1 << len(parts))})


def _space(whitespace: str | JsonLayout) -> Node:
    """The whitespace between nested elements: any, or as little as is asked for."""
    if isinstance(whitespace, JsonLayout):
        return EPSILON if whitespace.gap is None else optional_node(whitespace.gap)
    return EPSILON if whitespace == "compact" else SPACES


def _schema(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {} if value else {"not": {}}


def _check(schema: Any) -> None:
    """Raise SchemaError for what cannot be written as independent elements."""
    kind = schema.get("type", "object") if isinstance(schema, dict) else None
    if kind != "object":
        raise SchemaError(f"parameters are those of an object, not of {kind!r}", place="$.type", fix='"type": "object"')
    for keyword in schema:
        if keyword not in _FOLDED:
            raise SchemaError(
                f"{keyword} has no meaning for parameters, whose values stand alone",
                place=f"$.{keyword}",
                fix='say it in the properties, or use style="json"',
            )


def _element(name: str, value: JsonSchema, form: Style, excludes: tuple[str, ...]) -> Constraint | None:
    """The element of a property; None if no value fulfils it."""
    branches: list[Constraint] = []
    try:
        normal = value.normalizer.normal(value.document.root)
    except UnsatisfiableError:
        return None
    texts: Node = normal.strings
    if texts != EMPTY:
        raw = intersect(texts, without((form.close, *excludes)))
        branches.append(seq(*_open(form.raw, name, "string"), Regular(raw), form.close))
    for kind, others in _others(value):
        branches.append(seq(*_open(form.other, name, kind), SPACE, others, SPACE, form.close))
    return seq(SPACE, alt(*branches)) if branches else None


def without_strings(value: JsonSchema) -> JsonSchema | None:
    """The values of a schema that are no strings; None if there are none."""
    narrowed = value.beside_definitions({"allOf": [value.schema, {"not": {"type": "string"}}]})
    try:
        narrowed.to_grammar()
    except UnsatisfiableError:
        return None
    return narrowed


def _others(value: JsonSchema) -> list[tuple[str, JsonSchema]]:
    """The values that are no strings, by what a style calls their type."""
    found = []
    for kinds in (["number"], ["boolean"], ["null"], ["object"], ["array"]):
        narrowed = value.beside_definitions({"allOf": [value.schema, {"type": kinds[0]}]})
        one = JsonSchema(narrowed.schema, value.options, value.registry, limits=value.limits)
        try:
            one.to_grammar()
        except UnsatisfiableError:
            continue
        found.append((_KINDS.get(kinds[0], kinds[0]), one))
    return found


def _open(template: str, name: str, kind: str) -> list[str | Constraint]:
    """The text that opens an element."""
    before, space, after = template.partition("{space}")
    quoted = name.replace("&", "&amp;").replace('"', "&quot;")
    fill = lambda text: text.replace("{name}", name).replace("{quoted}", quoted).replace("{kind}", kind)  # noqa: E731
    return [fill(before), SPACE, fill(after)] if space else [fill(before)]
