"""Structural tags: the JSON in which engines' tool parsers and clients describe free text, tags and their contents.

    {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [...]}}

The idea: this module only reads; each format is a constraint of this package or a combinator. The older form,
`structures` and `triggers`, is triggered tags with schemas. Free text at the end of a tag goes up to the tag's end, so
the ends of the tags around a format are handed down to it.

The vocabulary of formats is XGrammar's (0.2.8, https://xgrammar.mlc.ai/docs/, "Structural Tag"). What cannot be
enforced is refused with its place. Differences: docs/howto/tags.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from constrain.chat.tags.clean import without_texts
from constrain.chat.tags.dispatch import dispatch, separated, triggered_tags
from constrain.chat.tags.free import free_text
from constrain.chat.tags.parameters import declared_only, parameters
from constrain.chat.tags.tag import Tag, tag
from constrain.chat.tags.token_tags import any_tokens, token_dispatch, token_triggered_tags
from constrain.errors import ConstrainError, LimitError
from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import alt, many, optional, seq, token
from constrain.languages.constraints.regular import Regular, choices
from constrain.languages.grammar_text.text import grammar
from constrain.languages.schema import JsonLayout, json_schema
from constrain.languages.schema.check.finished import integer_of
from constrain.masks.derived.reasoning import after

Schema = Callable[..., Any]
TOP = "structural_tag.format"
SHOWN = 80  # characters of a format in messages
FIX = "ask for json, regex, choice or grammar; for tools in vLLM, VLLM_ENFORCE_STRICT_TOOL_CALLING=0 asks for JSON"
_STYLES = {"qwen_xml": "qwen", "minimax_xml": "minimax", "deepseek_xml": "deepseek", "glm_xml": "glm",
           "deepseek_v4_1_xml": "deepseek-v4.1", "kimi_k3_xml": "kimi-k3", "cohere_xml": "cohere",
           "minimax_m3_xml": "minimax-m3"}  # fmt: skip


def structural_tag(
    given: Any, *, schema: Schema = json_schema, check_length: Callable[[str, str], None] = lambda name, text: None
) -> Constraint:
    """The constraint of a structural tag.

    Args:
        given: The tag: JSON text or what it says, an object with `format`, or with `structures` and `triggers`.
        schema: A JSON Schema → its constraint; takes `property_order=` and `whitespace=` too. Default: `json_schema`.
        check_length: Raises for a pattern or a grammar that is too long; called with its kind and text.

    Returns:
        A constraint.

    Raises:
        ConstrainError: The tag is malformed, has a format that is not supported, or its contents are faulty; with the
            place in the tag.

    Example:
        >>> import constrain
        >>> word = {"type": "tag", "begin": "<w>", "content": {"type": "regex", "pattern": "[a-z]+"}, "end": "</w>"}
        >>> constrain.tags.structural_tag({"type": "structural_tag", "format": word})
        tag('<w>', regex('[a-z]+'), '</w>')
    """
    try:
        return _read(given, _Reader(schema, check_length))
    except RecursionError:
        raise LimitError("the structural tag is nested too deeply", fix="break it up with fewer levels") from None


def _read(given: Any, reader: _Reader) -> Constraint:
    if isinstance(given, str):
        try:
            given = json.loads(given, parse_int=integer_of)
        except ValueError as error:
            raise ConstrainError(f"the structural tag is not JSON: {error}", place="structural_tag") from None
    if not isinstance(given, dict):
        raise ConstrainError(f"a structural tag is an object, not {type(given).__name__}", place="structural_tag")
    if given.get("type", "structural_tag") != "structural_tag":
        message = f'the type of a structural tag is "structural_tag", not {given["type"]!r:.40}'
        raise ConstrainError(message, place="structural_tag.type", fix="correct it, or leave it out")
    if "structures" in given:
        tags = [
            {"begin": one.get("begin"), "content": {"type": "json_schema", "json_schema": one.get("schema")},
             "end": one.get("end")}
            for one in reader.objects(given, "structures", "structural_tag")
        ]  # fmt: skip
        return reader.read(
            {"type": "triggered_tags", "triggers": given.get("triggers"), "tags": tags}, "structural_tag"
        )
    form = given.get("format")
    return reader.thoughtful(form) or reader.read(form, TOP)


class Ends(NamedTuple):
    """The ends of the tag around a format that stands at the end of its contents.

    Attributes:
        texts: The ends that are texts.
        tokens: The ends that are tokens: names and ids.
    """

    texts: tuple[str, ...] = ()
    tokens: tuple[str | int, ...] = ()


NO_ENDS = Ends()


class _Reader:
    """Reads formats. Each method takes a format, its place, and the texts that end the tag around it."""

    def __init__(self, schema: Schema, check_length: Callable[[str, str], None]) -> None:
        self.schema = schema
        self.check_length = check_length

    def read(self, given: Any, place: str, ends: Ends = NO_ENDS) -> Constraint:
        """Any format."""
        if not isinstance(given, dict):
            raise self.fault("a format is an object", given, place, 'like {"type": "regex", "pattern": "[0-9]+"}')
        kind = given.get("type")
        method = _FORMATS.get(kind) if isinstance(kind, str) else None
        if method is None:
            raise self.fault(f"the format {kind!r} of a structural tag is not supported", given, place, FIX)
        try:
            return method(self, given, place, ends)
        except ConstrainError as error:
            raise _within(error, place) from None

    # -- contents ------------------------------------------------------------------------------------------------------

    def const_string(self, given: Any, place: str, ends: Ends) -> Constraint:
        return choices([self.text(given, "value", place)])

    def json_schema(self, given: Any, place: str, ends: Ends) -> Constraint:
        style = given.get("style", "json")
        schema = given.get("json_schema")
        if not isinstance(schema, (dict, bool)):
            raise self.fault("json_schema is a schema", given, f"{place}.json_schema", "an object, true or false")
        excludes = tuple(self.texts(given, "excludes", place))
        if "" in excludes:
            raise self.fault("an excluded text is empty: it would occur everywhere", given, f"{place}.excludes")
        make = self.maker(given, place)
        if excludes:
            schema = without_texts(schema if style == "json" else declared_only(schema), excludes)
        try:
            if style == "json":
                return make(schema)
            if style not in _STYLES:
                raise self.fault(f"contents in the style {style!r} are not supported", given, f"{place}.style", FIX)
            return parameters(schema, _STYLES[style], make=make, excludes=excludes)
        except ConstrainError as error:
            raise _within(error, f"{place}.json_schema") from None

    def maker(self, given: Any, place: str) -> Schema:
        """The function that makes constraints of schemas, with the options of the format."""
        options: dict[str, Any] = {"property_order": "any"} if self.flag(given, "any_order", place) else {}
        most = given.get("max_whitespace_cnt")
        if most is not None:
            if isinstance(most, bool) or not isinstance(most, int) or most < 0:
                raise self.fault(
                    "max_whitespace_cnt is a number of characters", given, f"{place}.max_whitespace_cnt", "0 or more"
                )
            options["whitespace"] = JsonLayout(most=most) if most else "compact"
        return lambda schema: self.schema(schema, **options)

    def qwen_xml_parameter(self, given: Any, place: str, ends: Ends) -> Constraint:
        return self.json_schema({**given, "style": "qwen_xml"}, place, ends)

    def grammar(self, given: Any, place: str, ends: Ends) -> Constraint:
        return self.inner(lambda text: grammar(text, format="ebnf"), given, "grammar", place)

    def regex(self, given: Any, place: str, ends: Ends) -> Constraint:
        """ECMA-262's syntax, with a dot that is any character, as XGrammar reads it."""

        def read(text: str) -> Constraint:
            return Regular(parse_ecma(text, whole=True, flags="s"), shown=f"regex({text!r})")

        return self.inner(read, given, "pattern", place)

    def any_text(self, given: Any, place: str, ends: Ends) -> Constraint:
        """Any text; at the end of a tag, without what ends the tag."""
        if given.get("max_tokens") is not None:
            raise self.fault(
                "max_tokens of any_text counts the tokens of thoughts with which the text begins",
                given,
                f"{place}.max_tokens",
                "let a tag with this content begin the format, use any_tokens, or bound characters with max_chars",
            )
        most = given.get("max_chars")
        return free_text([*self.texts(given, "excludes", place), *ends.texts], most=most)

    def thoughtful(self, given: Any) -> Constraint | None:
        """A format that begins with a tag of free text of at most so many tokens; None for any other."""
        alone = not isinstance(given, dict) or given.get("type") != "sequence"
        elements = [given] if alone else given.get("elements")
        if not isinstance(elements, list) or not elements or not isinstance(elements[0], dict):
            return None
        place = TOP if alone else f"{TOP}.elements[0]"
        first: Any = elements[0]
        optional = first.get("type") == "optional"
        if optional:
            first, place = first.get("content"), f"{place}.content"
        content = first.get("content") if isinstance(first, dict) and first.get("type") == "tag" else None
        if not isinstance(content, dict) or content.get("type") != "any_text" or content.get("max_tokens") is None:
            return None
        ends = first.get("end")
        if content.get("excludes") not in ([ends], ends):  # the first end ends the thoughts anyway
            self.refuse(content, f"{place}.content", "excludes")
        self.refuse(content, f"{place}.content", "max_chars")
        if isinstance(ends, list) and len(ends) != 1:
            raise self.fault("thoughts with max_tokens have one end", first, f"{place}.end")
        begin = self.edge(first, "begin", place)
        end = self.edge({"end": ends[0]} if isinstance(ends, list) else first, "end", place)
        rest = seq(*(self.read(one, f"{TOP}.elements[{i}]") for i, one in enumerate(elements) if i))
        try:
            return after(end, rest, begin=begin, optional=optional, max_tokens=content["max_tokens"])
        except ConstrainError as error:
            raise _within(error, place) from None

    # -- tokens --------------------------------------------------------------------------------------------------------

    def token(self, given: Any, place: str, ends: Ends) -> Constraint:
        return token(self.one_token(given.get("token"), given, f"{place}.token"))

    def exclude_token(self, given: Any, place: str, ends: Ends) -> Constraint:
        return token(but=[*self.some_tokens(given, "exclude_tokens", place), *ends.tokens])

    def any_tokens(self, given: Any, place: str, ends: Ends) -> Constraint:
        most = given.get("max_tokens")
        return any_tokens(but=[*self.some_tokens(given, "exclude_tokens", place), *ends.tokens], most=most)

    # -- combinations --------------------------------------------------------------------------------------------------

    def sequence(self, given: Any, place: str, ends: Ends) -> Constraint:
        found = self.objects(given, "elements", place)
        last = len(found) - 1
        parts = [
            self.read(one, f"{place}.elements[{i}]", ends if i == last else NO_ENDS) for i, one in enumerate(found)
        ]
        return parts[0] if len(parts) == 1 else seq(*parts)

    def either(self, given: Any, place: str, ends: Ends) -> Constraint:
        found = self.objects(given, "elements", place)
        return alt(*(self.read(one, f"{place}.elements[{i}]", ends) for i, one in enumerate(found)))

    def optional(self, given: Any, place: str, ends: Ends) -> Constraint:
        return optional(self.content(given, place, ends))

    def plus(self, given: Any, place: str, ends: Ends) -> Constraint:
        return many(self.content(given, place, ends), low=1)

    def star(self, given: Any, place: str, ends: Ends) -> Constraint:
        return many(self.content(given, place, ends))

    def repeat(self, given: Any, place: str, ends: Ends) -> Constraint:
        low, high = given.get("min"), given.get("max")
        if not isinstance(low, int) or not isinstance(high, int):
            raise self.fault("min and max are numbers", given, place, "max=-1 is no bound")
        return many(self.content(given, place, ends), low=low, high=None if high == -1 else high)

    def tag(self, given: Any, place: str, ends: Ends = NO_ENDS) -> Tag:
        """`begin`, content, one of the ends."""
        begin = self.edge(given, "begin", place)
        if isinstance(given.get("end"), list):
            own: Any = self.texts(given, "end", place)
        else:
            own = self.edge(given, "end", place)
        if isinstance(own, Constraint):
            inner = Ends((), (self.one_token(given["end"].get("token"), given, f"{place}.end"),))
        else:
            inner = Ends(tuple(text for text in ([own] if isinstance(own, str) else own) if text), ())
        return tag(begin, self.read(given.get("content"), f"{place}.content", inner), own)

    def tags_with_separator(self, given: Any, place: str, ends: Ends) -> Constraint:
        return separated(
            self.tags(given, place),
            self.text(given, "separator", place),
            at_least_one=self.flag(given, "at_least_one", place),
            stop_after_first=self.flag(given, "stop_after_first", place),
        )

    def triggered_tags(self, given: Any, place: str, ends: Ends) -> Constraint:
        return triggered_tags(
            self.texts(given, "triggers", place),
            self.tags(given, place),
            at_least_one=self.flag(given, "at_least_one", place),
            stop_after_first=self.flag(given, "stop_after_first", place),
            excludes=[*self.texts(given, "excludes", place), *ends.texts],
        )

    def token_triggered_tags(self, given: Any, place: str, ends: Ends) -> Constraint:
        return token_triggered_tags(
            self.some_tokens(given, "trigger_tokens", place),
            self.tags(given, place),
            at_least_one=self.flag(given, "at_least_one", place),
            stop_after_first=self.flag(given, "stop_after_first", place),
            but=[*self.some_tokens(given, "exclude_tokens", place), *ends.tokens],
        )

    def dispatch(self, given: Any, place: str, ends: Ends) -> Constraint:
        rules = [
            (self.text({"pattern": one}, "pattern", where), inner) for one, inner, where in self.rules(given, place)
        ]
        excludes = [*self.texts(given, "excludes", place), *ends.texts]
        return dispatch(rules, loop=self.flag(given, "loop", place, True), excludes=excludes)

    def token_dispatch(self, given: Any, place: str, ends: Ends) -> Constraint:
        rules = [(self.one_token(one, given, where), inner) for one, inner, where in self.rules(given, place)]
        but = [*self.some_tokens(given, "exclude_tokens", place), *ends.tokens]
        return token_dispatch(rules, loop=self.flag(given, "loop", place, True), but=but)

    def rules(self, given: Any, place: str) -> list[tuple[Any, Constraint, str]]:
        """(pattern, contents, place) of each rule of a dispatch."""
        rules = given.get("rules")
        if (
            not isinstance(rules, list)
            or not rules
            or not all(isinstance(r, list | tuple) and len(r) == 2 for r in rules)
        ):
            raise self.fault("rules is a list of pairs [pattern, format], at least one", given, f"{place}.rules")
        wheres = [f"{place}.rules[{i}]" for i in range(len(rules))]
        return [
            (one, self.read(inner, f"{where}[1]"), where) for (one, inner), where in zip(rules, wheres, strict=True)
        ]

    # -- fields --------------------------------------------------------------------------------------------------------

    def content(self, given: Any, place: str, ends: Ends) -> Constraint:
        return self.read(given.get("content"), f"{place}.content", ends)

    def tags(self, given: Any, place: str) -> list[Tag]:
        found: list[Tag] = []
        for i, one in enumerate(self.objects(given, "tags", place)):
            try:
                found.append(self.tag(one, f"{place}.tags[{i}]"))
            except ConstrainError as error:
                raise _within(error, f"{place}.tags[{i}]") from None
        return found

    def edge(self, given: Any, name: str, place: str) -> str | Constraint:
        """The beginning or the end of a tag: a text, or a token as a format."""
        value = given.get(name)
        if isinstance(value, dict) and value.get("type") == "token":
            return self.token(value, f"{place}.{name}", NO_ENDS)
        return self.text(given, name, place)

    def flag(self, given: Any, name: str, place: str, default: bool = False) -> bool:
        value = given.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.fault(f"{name} is true or false, not {value!r:.40}", given, f"{place}.{name}")
        return default if value is None else value

    def one_token(self, value: Any, given: Any, place: str) -> str | int:
        if (
            isinstance(value, bool)
            or not isinstance(value, str | int)
            or value == ""
            or (isinstance(value, int) and value < 0)
        ):
            raise self.fault(f"a token is a name or an id, not {value!r:.40}", given, place)
        return value

    def some_tokens(self, given: Any, name: str, place: str) -> list[str | int]:
        value = given.get(name, [])
        if not isinstance(value, list):
            raise self.fault(f"{name} is a list of names and ids", given, f"{place}.{name}")
        return [self.one_token(one, given, f"{place}.{name}") for one in value]

    def objects(self, given: Any, name: str, place: str) -> list[Any]:
        value = given.get(name)
        if not isinstance(value, list) or not value or not all(isinstance(each, dict) for each in value):
            raise self.fault(f"{name} is a list of objects, at least one", given, f"{place}.{name}")
        return value

    def text(self, given: Any, name: str, place: str) -> str:
        value = given.get(name)
        if not isinstance(value, str):
            fix = FIX if isinstance(value, dict) else None
            raise self.fault(f"{name} is a text, not {type(value).__name__}", given, f"{place}.{name}", fix)
        return value

    def texts(self, given: Any, name: str, place: str) -> list[str]:
        value = given.get(name, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.fault(f"{name} is a list of texts", given, f"{place}.{name}")
        return value

    def inner(self, make: Callable[[str], Constraint], given: Any, name: str, place: str) -> Constraint:
        text = self.text(given, name, place)
        try:
            self.check_length(name, text)
            return make(text)
        except ConstrainError as error:
            raise _within(error, f"{place}.{name}") from None

    def refuse(self, given: Any, place: str, *names: str) -> None:
        for name in names:
            if given.get(name) not in (None, []):
                raise self.fault(f"{name} is not supported", given, f"{place}.{name}", FIX)

    def fault(self, message: str, given: Any, place: str, fix: str | None = None) -> ConstrainError:
        return ConstrainError(message, place=f"{place}\n{json.dumps(given, default=str)[:SHOWN]}", fix=fix)


_FORMATS: dict[str, Callable[[_Reader, Any, str, Ends], Constraint]] = {
    "const_string": _Reader.const_string,
    "json_schema": _Reader.json_schema,
    "grammar": _Reader.grammar,
    "regex": _Reader.regex,
    "any_text": _Reader.any_text,
    "sequence": _Reader.sequence,
    "or": _Reader.either,
    "optional": _Reader.optional,
    "plus": _Reader.plus,
    "star": _Reader.star,
    "repeat": _Reader.repeat,
    "tag": _Reader.tag,
    "tags_with_separator": _Reader.tags_with_separator,
    "triggered_tags": _Reader.triggered_tags,
    "dispatch": _Reader.dispatch,
    "qwen_xml_parameter": _Reader.qwen_xml_parameter,
    "token": _Reader.token,
    "exclude_token": _Reader.exclude_token,
    "any_tokens": _Reader.any_tokens,
    "token_triggered_tags": _Reader.token_triggered_tags,
    "token_dispatch": _Reader.token_dispatch,
}


def _within(error: ConstrainError, place: str) -> ConstrainError:
    """The error of a content, with its place in the tag before its own; an error that has one stays as it is."""
    if error.place and error.place.startswith("structural_tag"):
        return error
    inner = f", {error.place}" if error.place else ""
    return type(error)(error.message, place=f"{place}{inner}", fix=error.fix)
