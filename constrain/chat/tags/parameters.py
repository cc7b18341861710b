"""The arguments of a call in a model's own markup, one element for each property of a schema.

    constrain.tags.parameters(schema, style="qwen")  # <parameter=city>Paris</parameter><parameter=days>3</parameter>

The idea: a property whose value is a string is written as it is, without quotes and escapes, up to the text that closes
the element; any other value is JSON. Which texts of a property are raw strings follows from the schema's normal form,
whose strings are a regular language (schema/normalize). Which properties there are, and in which order, says
elements.py; undeclared ones are written where the schema says itself that there are some (`additionalProperties`,
`patternProperties`), or declares none.

The styles are data (`STYLES`): what opens an element, what closes it, and what stands between its name and its value.
Limits: a raw string does not contain the text that closes its element. Between elements stands at most one line end,
with up to eight blanks before and after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from constrain.chat.tags.elements import NESTED, ElementRules, NestedStyle, elements, split_tokens
from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.languages.automata.syntax import EMPTY, EPSILON, Node, chars, concat, intersect, repeat
from constrain.languages.automata.syntax import optional as optional_node
from constrain.languages.cfg.ebnf import Choice, Expression
from constrain.languages.cfg.free_text import without
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import Piece, alt, expression_of, seq, token
from constrain.languages.constraints.regular import Regular
from constrain.languages.schema import JsonLayout, JsonSchema, json_schema
from constrain.languages.schema.sets.algebra import Conj

Schema = Callable[..., JsonSchema]
_KINDS = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"}
OPENING = frozenset({"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames", "$ref",
                     "allOf", "anyOf", "oneOf"})  # fmt: skip
"""Keywords with which a schema says itself which further properties there may be."""


class Style(NamedTuple):
    """The texts around an argument.

    `{name}` and `{kind}` in the texts stand for what they say, `{quoted}` for the name with `&` and `"` as entities.

    Attributes:
        raw: The text before a string.
        other: The text before any other value.
        close: The end of the element.
        words: How null, false and true are written besides, as in Python; (): as in JSON only.
    """

    raw: str
    other: str
    close: str
    words: tuple[str, ...] = ()


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
    schema: Any,
    style: str | Style | NestedStyle = "qwen",
    *,
    make: Schema = json_schema,
    excludes: tuple[str, ...] = (),
    tokens: tuple[str, ...] = (),
) -> Constraint:
    """The properties of an object as elements of a model's own markup.

    Args:
        schema: A JSON Schema of an object, as `json_schema` takes it.
        style: One of `STYLES`: "qwen", "minimax", "deepseek", "deepseek-v4.1", "glm" or "kimi-k3"; or a `Style`. Or
            "cohere", "minimax-m3", "gemma4" or "pythonic", or a `NestedStyle`, where objects and arrays are elements in
            elements (elements.py).
        make: Makes the constraint of a schema; by default `json_schema`.
        excludes: Texts that do not occur in raw strings.
        tokens: The texts of the style that are special tokens, as `constrain.token` takes them.

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
    whole = make(declared_only(schema))
    whole.to_grammar()  # raises for a malformed schema
    form = style if not isinstance(style, str) else NESTED[style] if style in NESTED else STYLES[style]
    if isinstance(form, NestedStyle):
        return elements(whole, form, excludes, _space(whole.options.whitespace), tokens)
    return _Flat(whole, form, make, excludes, tokens).constraint(expression_of(SPACE))


def declared_only(schema: Any) -> Any:
    """The schema of arguments, which are the declared ones unless it says itself that there are others."""
    is_plain = isinstance(schema, dict) and schema.get("properties") and OPENING.isdisjoint(schema)
    return {**schema, "additionalProperties": False} if is_plain else schema


class _Flat(ElementRules):
    """The rules of elements whose values are raw strings or JSON."""

    def __init__(
        self, whole: JsonSchema, form: Style, make: Schema, excludes: tuple[str, ...], tokens: tuple[str, ...]
    ) -> None:
        super().__init__(whole)
        self.form, self.make, self.excludes, self.tokens = form, make, excludes, tokens
        self.elements: dict[tuple[str | Node, Conj], Expression] = {}

    def element(self, name: str | Node, value: Conj, root: bool = False) -> Expression:
        known = self.elements.get((name, value))
        if known is None:
            schema = self.make(self.whole.of(value).schema)
            known = self.elements[name, value] = _element(name, schema, self.form, self.excludes, self.tokens)
        return known


def _space(whitespace: str | JsonLayout) -> Node:
    """The whitespace between nested elements: any, or as little as is asked for."""
    if isinstance(whitespace, JsonLayout):
        return EPSILON if whitespace.gap is None else optional_node(whitespace.gap)
    return EPSILON if whitespace == "compact" else SPACES


def _element(
    name: str | Node, value: JsonSchema, form: Style, excludes: tuple[str, ...], tokens: tuple[str, ...]
) -> Expression:
    """The element of a property. name: its name, or the language of undeclared names."""
    branches: list[Constraint] = []
    close = _pieces(form.close, tokens)
    raw = intersect(value.normalizer.normal(value.document.root).strings, without((form.close, *excludes)))
    if raw != EMPTY:
        branches.append(seq(*_open(form.raw, name, "string", tokens), Regular(raw), *close))
    normal = value.normalizer.normal(value.document.root)
    held = (normal.null, False in normal.booleans, True in normal.booleans)
    for word, kind, is_member in zip(form.words, ("null", "boolean", "boolean"), held, strict=False):
        if is_member:
            branches.append(seq(*_open(form.other, name, kind, tokens), SPACE, word, SPACE, *close))
    for kind, others in _others(value):
        branches.append(seq(*_open(form.other, name, kind, tokens), SPACE, others, SPACE, *close))
    return expression_of(seq(SPACE, alt(*branches))) if branches else Choice(())


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


def _open(template: str, name: str | Node, kind: str, tokens: tuple[str, ...]) -> list[Piece]:
    """The text that opens an element."""
    quoted = name.replace("&", "&amp;").replace('"', "&quot;") if isinstance(name, str) else Regular(name)
    written = name if isinstance(name, str) else Regular(name)
    fields: dict[str, Piece] = {"{name}": written, "{quoted}": quoted, "{kind}": kind, "{space}": SPACE}
    pieces: list[Piece] = []
    for text in re.split("({[a-z]+})", template):
        for piece in [fields[text]] if text in fields else _pieces(text, tokens):
            if isinstance(piece, str) and pieces and isinstance(pieces[-1], str):
                pieces[-1] += piece
            else:
                pieces.append(piece)
    return pieces


def _pieces(text: str, tokens: tuple[str, ...]) -> list[Piece]:
    """A text with its special tokens."""
    return [token(piece) if special else piece for piece, special in split_tokens(text, tokens)]
