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

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from constrain.chat.tags.elements import NESTED, NOTHING, ElementRules, Elements, NestedStyle, elements, pieces_of
from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.languages.automata.syntax import EMPTY, EPSILON, Node, chars, concat, intersect, repeat
from constrain.languages.automata.syntax import optional as optional_node
from constrain.languages.cfg.ebnf import Choice, Expression, Leaf, Sequence
from constrain.languages.cfg.free_text import without
from constrain.languages.cfg.rules import Terminal
from constrain.languages.constraints.combinators import expression_of
from constrain.languages.schema import JsonLayout, JsonSchema, json_schema
from constrain.languages.schema.sets.algebra import NOTHING as NO_VALUES
from constrain.languages.schema.sets.algebra import Conj
from constrain.languages.schema.sets.numbers import has_numbers
from constrain.languages.schema.sets.strings import is_void

Schema = Callable[..., JsonSchema]
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
GAP = Leaf(Terminal(SPACES, "space"))


def parameters(
    schema: Any,
    style: str | Style | NestedStyle = "qwen",
    *,
    make: Schema = json_schema,
    excludes: tuple[str, ...] = (),
    tokens: tuple[str, ...] = (),
    later: bool = False,
) -> Elements:
    """The properties of an object as elements of a model's own markup.

    Args:
        schema: A JSON Schema of an object, as `json_schema` takes it; then arguments are the declared ones, unless the
            schema says itself that there are others. Or what `json_schema` returned, which is taken as it is.
        style: One of `STYLES`: "qwen", "minimax", "deepseek", "deepseek-v4.1", "glm" or "kimi-k3"; or a `Style`. Or
            "cohere", "minimax-m3", "gemma4" or "pythonic", or a `NestedStyle`, where objects and arrays are elements in
            elements (elements.py).
        make: Makes the constraint of a schema; by default `json_schema`.
        excludes: Texts that do not occur in raw strings.
        tokens: The texts of the style that are special tokens, as `constrain.token` takes them.
        later: The caller reads finished texts, and checks what elements do not show: `uniqueItems` of nested ones, and
            formats of raw strings that no automaton decides ("regex", "hostname"). Otherwise these are errors.

    Returns:
        A constraint. Its `left` names the keywords that are left to the caller.

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
    whole = schema if isinstance(schema, JsonSchema) else make(declared_only(schema))
    _ = whole.normalizer  # raises for a malformed schema
    form = style if not isinstance(style, str) else NESTED[style] if style in NESTED else STYLES[style]
    if isinstance(form, NestedStyle):
        return elements(whole, form, excludes, _space(whole.options.whitespace), tokens, later)
    return _Flat(whole, form, excludes, tokens, later).constraint(GAP)


def declared_only(schema: Any) -> Any:
    """The schema of arguments, which are the declared ones unless it says itself that there are others."""
    is_plain = isinstance(schema, dict) and schema.get("properties") and OPENING.isdisjoint(schema)
    return {**schema, "additionalProperties": False} if is_plain else schema


class _Flat(ElementRules):
    """The rules of elements whose values are raw strings or JSON."""

    def __init__(
        self, whole: JsonSchema, form: Style, excludes: tuple[str, ...], tokens: tuple[str, ...], later: bool
    ) -> None:
        super().__init__(whole, later)
        self.form, self.excludes, self.tokens = form, excludes, tokens
        self.close = pieces_of(form.close, tokens)
        self.elements: dict[tuple[str | Node, Conj], Expression] = {}

    def element(self, name: str | Node, value: Conj, root: bool = False) -> Expression:
        known = self.elements.get((name, value))
        if known is None:
            known = self.elements[name, value] = self._element_of(name, value)
        return known

    def _element_of(self, name: str | Node, value: Conj) -> Expression:
        branches: list[Expression] = []
        form, close = self.form, self.close

        def add(template: str, kind: str, *values: Expression) -> None:
            branches.append(Sequence((*_open(template, name, kind, self.tokens), *values, *close)))

        normal = self.normalizer.normal(value)
        raw = intersect(self.regular(normal.strings), without((form.close, *self.excludes)))
        if raw != EMPTY:
            add(form.raw, "string", Leaf(Terminal(raw, "text")))
        held = (normal.null, False in normal.booleans, True in normal.booleans)
        for word, kind, is_member in zip(form.words, ("null", "boolean", "boolean"), held, strict=False):
            if is_member:
                add(form.other, kind, GAP, expression_of(word), GAP)
        for kind, others in self._others(value, "{kind}" in form.other):
            add(form.other, kind, GAP, others, GAP)
        return Sequence((GAP, Choice(tuple(branches)))) if branches else NOTHING

    def _others(self, value: Conj, apart: bool) -> Iterator[tuple[str, Expression]]:
        """The values that are no strings, with their type; apart: each type by itself, if there are several."""
        normal, normalizer = self.normalizer.normal(value), self.normalizer
        parts = {
            "number": NO_VALUES._replace(numbers=tuple(filter(has_numbers, normal.numbers))),
            "boolean": NO_VALUES._replace(booleans=normal.booleans),
            "null": NO_VALUES._replace(null=normal.null),
            "object": NO_VALUES._replace(objects=tuple(filter(normalizer.has_objects, normal.objects))),
            "array": NO_VALUES._replace(arrays=tuple(filter(normalizer.has_arrays, normal.arrays))),
        }
        held = [kind for kind, part in parts.items() if part != NO_VALUES]
        scalars = {"object", "array"}.isdisjoint(held) and not self.whole.document.residuals
        for group in [[kind] for kind in held] if apart else [held] if held else []:
            if scalars:
                terminals = (one for kind in group for one in self.lowering.terminals(parts[kind]))
                yield group[0], Choice(tuple(map(Leaf, terminals)))
                continue
            one = self.whole.of(value)
            if group != held or not is_void(normal.strings):
                one = self.whole.beside_definitions({"allOf": [one.written, {"type": group}]})
            yield group[0], expression_of(one)


def _space(whitespace: str | JsonLayout) -> Node:
    """The whitespace between nested elements: any, or as little as is asked for."""
    if isinstance(whitespace, JsonLayout):
        return EPSILON if whitespace.gap is None else optional_node(whitespace.gap)
    return EPSILON if whitespace == "compact" else SPACES


def without_strings(value: JsonSchema) -> JsonSchema | None:
    """The values of a schema that are no strings; None if there are none."""
    narrowed = value.beside_definitions({"allOf": [value.written, {"not": {"type": "string"}}]})
    try:
        narrowed.to_grammar()
    except UnsatisfiableError:
        return None
    return narrowed


def _open(template: str, name: str | Node, kind: str, tokens: tuple[str, ...]) -> list[Expression]:
    """The text that opens an element."""
    before, _, behind = template.replace("{kind}", kind).replace("{quoted}", "{name}").partition("{name}")
    if isinstance(name, str):
        written = name.replace("&", "&amp;").replace('"', "&quot;") if "{quoted}" in template else name
        before, name = before + written, ""
    named = [] if isinstance(name, str) else [Leaf(Terminal(name, "name"))]
    first, *rest = behind.split("{space}")
    pieces = [*pieces_of(before, tokens), *named, *pieces_of(first, tokens)]
    return pieces + [piece for text in rest for piece in (GAP, *pieces_of(text, tokens))]
