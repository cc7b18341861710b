"""Structural tags: free text and tags with constrained contents, as engines' tool parsers and clients ask for them.

    {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [...]}}

The idea: each format is a constraint. Sequences, alternatives and repetitions are combinators; free text with tags is
`triggered`. The older form, `structures` and `triggers`, is triggered tags with schemas.

The vocabulary of formats is XGrammar's (0.2.8, https://xgrammar.mlc.ai/docs/, "Structural Tag"). What is not a language
of texts is refused with its place: formats of single tokens, counts of tokens, contents in a model's own XML.
Difference: `any_order` is every order with each required key once, where XGrammar drops these two conditions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from constrain.automata.syntax import ANY_TEXT
from constrain.constraints.base import Constraint
from constrain.constraints.combinators import alt, many, optional, seq
from constrain.constraints.regular import Regular, choices, regex
from constrain.derived.triggered import Piece, Triggered, triggered, without
from constrain.errors import ConstrainError
from constrain.grammar_text.text import grammar

Schema = Callable[..., Constraint]
SHOWN = 80  # characters of a format in messages
FIX = "ask for json, regex, choice or grammar; for tools in vLLM, VLLM_ENFORCE_STRICT_TOOL_CALLING=0 asks for JSON"


def structural_tag(given: Any, schema: Schema, check_length: Callable[[str, str], None]) -> Constraint:
    """The constraint of a structural tag.

    Args:
        given: The tag, as JSON: an object with `format`, or with `structures` and `triggers`.
        schema: A JSON Schema → its constraint, with the options of the engine; takes `property_order=` too.
        check_length: Raises for a pattern or a grammar that is too long.

    Returns:
        A constraint.

    Raises:
        ConstrainError: The tag is malformed, has a format that is not supported, or its contents are faulty.
    """
    if not isinstance(given, dict):
        raise ConstrainError(f"a structural tag is an object, not {type(given).__name__}", place="structural_tag")
    reader = _Reader(schema, check_length)
    if "structures" in given:
        tags = [
            {"begin": tag.get("begin"), "content": {"type": "json_schema", "json_schema": tag.get("schema")},
             "end": tag.get("end")}
            for tag in reader.objects(given, "structures", "structural_tag")
        ]  # fmt: skip
        return reader.triggered_tags({"triggers": given.get("triggers"), "tags": tags}, "structural_tag")
    return reader.read(given.get("format"), "structural_tag.format")


class _Reader:
    """Reads formats. Each method takes a format and its place."""

    def __init__(self, schema: Schema, check_length: Callable[[str, str], None]) -> None:
        self.schema = schema
        self.check_length = check_length

    def read(self, given: Any, place: str) -> Constraint:
        """Any format."""
        if not isinstance(given, dict):
            raise self.fault("a format is an object", given, place, 'like {"type": "regex", "pattern": "[0-9]+"}')
        kind = given.get("type")
        method = _FORMATS.get(kind) if isinstance(kind, str) else None
        if method is None:
            raise self.fault(f"the format {kind!r} of a structural tag is not supported", given, place, FIX)
        return method(self, given, place)

    # -- contents ------------------------------------------------------------------------------------------------------

    def const_string(self, given: Any, place: str) -> Constraint:
        return choices([self.text(given, "value", place)])

    def json_schema(self, given: Any, place: str) -> Constraint:
        if given.get("style", "json") != "json":
            raise self.fault(f"contents in the style {given['style']!r} are not supported", given, place, FIX)
        self.refuse(given, place, "max_whitespace_cnt", "excludes")
        schema = given.get("json_schema")
        if not isinstance(schema, (dict, bool)):
            raise self.fault("json_schema is a schema", given, f"{place}.json_schema", "an object, true or false")
        try:
            return self.schema(schema, **({"property_order": "any"} if given.get("any_order") else {}))
        except ConstrainError as error:
            raise _within(error, f"{place}.json_schema") from None

    def grammar(self, given: Any, place: str) -> Constraint:
        return self.inner(lambda text: grammar(text, format="ebnf"), given, "grammar", place)

    def regex(self, given: Any, place: str) -> Constraint:
        return self.inner(regex, given, "pattern", place)

    def any_text(self, given: Any, place: str, ends: tuple[str, ...] = ()) -> Constraint:
        """Any text; inside of a tag, without what ends the tag."""
        self.refuse(given, place, "max_tokens")
        excluded = [*self.texts(given, "excludes", place), *ends]
        node = without(excluded) if excluded else ANY_TEXT
        most = given.get("max_chars")
        if most is None:
            return Regular(node)
        return regex(f"(?s:.{{0,{int(most)}}})") & Regular(node)

    # -- combinations --------------------------------------------------------------------------------------------------

    def sequence(self, given: Any, place: str) -> Constraint:
        return seq(*self.elements(given, place))

    def either(self, given: Any, place: str) -> Constraint:
        return alt(*self.elements(given, place))

    def optional(self, given: Any, place: str) -> Constraint:
        return optional(self.content(given, place))

    def plus(self, given: Any, place: str) -> Constraint:
        return many(self.content(given, place), low=1)

    def star(self, given: Any, place: str) -> Constraint:
        return many(self.content(given, place))

    def repeat(self, given: Any, place: str) -> Constraint:
        low, high = given.get("min"), given.get("max")
        if not isinstance(low, int) or not isinstance(high, int):
            raise self.fault("min and max are numbers", given, place, "max=-1 is no bound")
        return many(self.content(given, place), low=low, high=None if high == -1 else high)

    def tag(self, given: Any, place: str, rest_of: str = "") -> Constraint:
        """`begin`, content, one of the ends. rest_of: a beginning of `begin` that was read already."""
        begin = self.text(given, "begin", place)
        end = given.get("end")
        ends = self.texts(given, "end", place) if isinstance(end, list) else [self.text(given, "end", place)]
        inner = given.get("content")
        if isinstance(inner, dict) and inner.get("type") == "any_text":
            content = self.any_text(inner, f"{place}.content", tuple(text for text in ends if text))
        else:
            content = self.read(inner, f"{place}.content")
        return seq(*filter(None, [begin.removeprefix(rest_of)]), content, *([choices(ends)] if any(ends) else []))

    def tags_with_separator(self, given: Any, place: str) -> Constraint:
        tags = alt(*(self.tag(*one) for one in self.tags(given, place)))
        low, high = int(bool(given.get("at_least_one"))), 1 if given.get("stop_after_first") else None
        return many(tags, separator=self.text(given, "separator", place) or None, low=low, high=high)

    def triggered_tags(self, given: Any, place: str) -> Constraint:
        """Free text in which a trigger is followed by the rest of one of its tags."""
        self.refuse(given, place, "excludes")
        triggers = self.texts(given, "triggers", place)
        contents: dict[str, list[Constraint]] = {trigger: [] for trigger in triggers}
        for tag, where in self.tags(given, place):
            begin = self.text(tag, "begin", where)
            own = [trigger for trigger in triggers if begin.startswith(trigger)]
            if len(own) != 1:
                problem = f"more than one trigger, {', '.join(map(repr, own))}" if own else "none of the triggers"
                raise self.fault(f"{begin!r} begins with {problem}", tag, f"{where}.begin", "give each tag one trigger")
            contents[own[0]].append(self.tag(tag, where, rest_of=own[0]))
        pieces = [(trigger, alt(*inner), "") for trigger, inner in contents.items() if inner]
        least = int(bool(given.get("at_least_one")))
        if not given.get("stop_after_first"):
            return triggered(pieces, least=least)
        triggered(pieces)  # checks the triggers
        first: Constraint = Triggered(tuple(Piece(*piece) for piece in pieces), 1, 1, final=True)
        return first if least else alt(Regular(without(triggers)), first)

    # -- fields --------------------------------------------------------------------------------------------------------

    def elements(self, given: Any, place: str) -> list[Constraint]:
        found = self.objects(given, "elements", place)
        return [self.read(element, f"{place}.elements[{i}]") for i, element in enumerate(found)]

    def content(self, given: Any, place: str) -> Constraint:
        return self.read(given.get("content"), f"{place}.content")

    def tags(self, given: Any, place: str) -> list[tuple[Any, str]]:
        return [(tag, f"{place}.tags[{i}]") for i, tag in enumerate(self.objects(given, "tags", place))]

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


_FORMATS: dict[str, Callable[[_Reader, Any, str], Constraint]] = {
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
}


def _within(error: ConstrainError, place: str) -> ConstrainError:
    """The error of a content, with its place in the tag before its own."""
    inner = f", {error.place}" if error.place else ""
    return type(error)(error.message, place=f"{place}{inner}", fix=error.fix)
