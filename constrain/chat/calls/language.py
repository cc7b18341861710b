"""The language of a turn: thoughts, content and calls in a format.

The idea: each call is a sequence of the texts of the format's template, with the tool's schema for its arguments. Names
of special tokens in these texts are tokens (`constrain.token`), everything else is text. Content is free text without
what begins calls, so that the text tells where they begin; that is what the reader relies on.

Repeated keys and items in arguments are vetoed token by token where the text tells where arguments stand (guarded.py),
else checked when the turn is complete.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from constrain.chat.calls.format import ARGUMENTS, NAME, Format
from constrain.chat.calls.functions import Function
from constrain.chat.calls.guarded import ArgumentsRegion, GuardedCalls
from constrain.chat.calls.texts import object_with_texts
from constrain.chat.tags.dispatch import one_of
from constrain.chat.tags.free import free_text
from constrain.chat.tags.parameters import Style, parameters
from constrain.errors import ConstrainError, SchemaError, UnsatisfiableError
from constrain.languages.automata.syntax import ANY_TEXT, complement, concat, intersect, literal
from constrain.languages.cfg.free_text import dispatched
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import (
    Combined,
    Piece,
    alt,
    expression_of,
    many,
    optional,
    seq,
    shown_call,
    token,
)
from constrain.languages.constraints.regular import Regular, regex
from constrain.languages.guards.pieces import are_apart
from constrain.languages.schema import JsonSchema, json_schema
from constrain.languages.schema.api import PropertyOrder, Undeclared
from constrain.languages.schema.read.keywords import KEYWORDS
from constrain.masks.derived.reasoning import after

Arguments = dict[str, Constraint]  # the languages of the arguments, by the names of the tools
_OPTIONAL = re.compile(r"\(\?:([^][()\\*+?{}|.]+)")  # a text with which an optional field begins
GAP = regex("[ \n]{0,4}")  # between thoughts and calls


class Wanted(NamedTuple):
    """The parts that a turn may have.

    Attributes:
        choice: "auto": content, or content and calls. "none": content. "required", or the name of a tool: calls.
        parallel: There may be several calls.
        thinking: "optional", "required", "none", or "open": the prompt has begun them.
        thinking_tokens: The greatest number of tokens of thoughts; None: no bound.
        undeclared: What becomes of arguments that are not declared, as in `json_schema`.
        texts: The constraints on string arguments, by the names of tools and arguments.
        most: The greatest number of calls; None: no bound.
    """

    choice: str = "auto"
    parallel: bool = True
    thinking: str = "optional"
    thinking_tokens: int | None = None
    undeclared: Undeclared = "avoid"
    texts: Mapping[str, Mapping[str, Constraint]] = MappingProxyType({})
    most: int | None = None

    @property
    def must_call(self) -> bool:
        """True if each turn has a call."""
        return self.choice not in ("auto", "none")


def arguments_by_name(form: Format, functions: Sequence[Function], wanted: Wanted) -> Arguments:
    """The arguments of each function, as the format writes them. Raises ConstrainError."""
    return {function.name: _read(form, function, wanted) for function in functions}


def language(form: Format, arguments: Arguments, wanted: Wanted) -> Constraint:
    """The turns of a format that call functions with some arguments. Raises ConstrainError."""
    regions = [] if wanted.choice == "none" else _regions(form, arguments, wanted)
    turn = _turn(form, arguments, wanted)
    if form.tail:
        turn = seq(turn, *_edges(form, form.tail))
    if form.unthought and wanted.thinking in ("optional", "none"):
        turn = seq(optional(seq(*_edges(form, form.unthought))), turn)
    if wanted.thinking == "none" or form.thinking is None:
        return _guarded(form, turn, regions, wanted)
    opening, closing = (_edges(form, edge) for edge in form.thinking)
    if len(opening) > 1 or len(closing) > 1:
        return _channelled(form, turn, regions, wanted)
    return after(
        closing[0],
        _guarded(form, turn, regions, wanted),
        begin="" if wanted.thinking == "open" else opening[0],
        optional=wanted.thinking == "optional",
        max_tokens=wanted.thinking_tokens,
    )


def _channelled(form: Format, turn: Constraint, regions: list[ArgumentsRegion], wanted: Wanted) -> Constraint:
    """Thoughts between delimiters of several tokens: the first token of the close ends them."""
    assert form.thinking is not None
    begin, close = form.thinking
    first, *rest = _edges(form, close)
    answer = seq(*rest, turn)
    if wanted.thinking_tokens is not None:
        if wanted.thinking != "open":
            raise ConstrainError(
                f"thoughts of the format {form.name!r} begin with several tokens, and have a budget only "
                "if the prompt has begun them",
                place="thinking_tokens",
                fix=f'end the prompt with {begin!r}, and pass thinking="open"',
            )
        return after(first, _guarded(form, answer, regions, wanted), max_tokens=wanted.thinking_tokens)
    head = [] if wanted.thinking == "open" else _edges(form, begin)
    names = [name for name, is_token in form.split(close) if is_token]
    thoughtful = seq(*head, free_text(names[:1]), first, answer)
    return _guarded(form, alt(thoughtful, turn) if wanted.thinking == "optional" else thoughtful, regions, wanted)


def _turn(form: Format, arguments: Arguments, wanted: Wanted) -> Constraint:
    """A turn without thoughts."""
    begin, end = form.answer
    text = _instead(form) if form.instead else free_text(_excluded(form))
    answer = seq(*_edges(form, begin), text, *_edges(form, end)) if form.delimited else text
    if wanted.choice == "none":
        return answer
    if wanted.choice == "auto" and not (form.instead or form.delimited):
        return _interrupted(form, arguments, wanted)
    calls = _calls(form, arguments, wanted)
    before = optional(_preamble(form)) if form.delimited and form.preamble is not None else seq()
    if wanted.must_call:
        gap = form.thinking is not None and not form.delimited and wanted.thinking != "none"
        return seq(GAP if gap else before, calls)
    return alt(answer, seq(before, calls))


def _interrupted(form: Format, arguments: Arguments, wanted: Wanted) -> Constraint:
    """Free text, and calls that may end it.

    PERF: where the free text has what begins calls at its end, no mask of it depends on calls, and tools share them.
    """
    trigger, *excluded = never = _excluded(form)
    begun = _calls_behind(trigger, form, arguments, wanted) if _is_apart(trigger, excluded) else None
    if begun is None:
        text = free_text(never)
        return alt(text, seq(text, _calls(form, arguments, wanted)))
    expression = dispatched([(trigger, expression_of(begun))], False, excluded)
    return Combined(expression, partial(shown_call, "dispatch", (begun,)))


def _is_apart(trigger: str, excluded: Sequence[str]) -> bool:
    """True if text before a trigger is no part of another occurrence of it, nor of an excluded text."""
    ends = [text[i:] for text in (trigger, *excluded) for i in range(1, len(text))]
    return not any(trigger.startswith(end) or end.startswith(trigger) for end in ends)


def _preamble(form: Format) -> Constraint:
    assert form.preamble is not None
    begin, end = form.preamble
    return seq(*_edges(form, begin), free_text(_excluded(form)), *_edges(form, end))


def _excluded(form: Format) -> list[str]:
    """The texts and token names that content does not contain: they begin calls or thoughts, or end the content."""
    texts = [form.trigger, *(form.thinking or ()), form.answer[1], *(form.preamble or ())]
    found = [form.split(text.strip())[0][0] for text in texts if text]
    return list(dict.fromkeys(found))


def _instead(form: Format) -> Constraint:
    """Content that does not begin with the trigger."""
    return Regular(intersect(ANY_TEXT, complement(concat(literal(form.trigger), ANY_TEXT))))


def _calls(form: Format, arguments: Arguments, wanted: Wanted) -> Constraint:
    """One or several calls."""
    calls = _calls_behind("", form, arguments, wanted)
    assert calls is not None
    return calls


def _calls_behind(begun: str, form: Format, arguments: Arguments, wanted: Wanted) -> Constraint | None:
    """One or several calls without the text with which they begin; None if they do not begin with it."""
    head, each = _fields(form, form.begin, {}), _each(form, arguments)
    if begun and not all(_begins_with(begun, pieces) for pieces in ([head] if head else each)):
        return None
    before = [one_of([head], begun)] if head and begun else head
    start = "" if head else begun
    one = one_of(each, start) if all(_begins_with(start, pieces) for pieces in each) else alt(*(seq(*p) for p in each))
    most, between = wanted.most if _is_parallel(form, wanted) else 1, _edges(form, form.between or "")
    more = [] if most == 1 else [many(seq(*between, start, one), high=None if most is None else most - 1)]
    return seq(*before, one, *more, *_edges(form, form.end))


def _begins_with(text: str, pieces: Sequence[Piece]) -> bool:
    return isinstance(pieces[0], str) and pieces[0].startswith(text)


def _each(form: Format, arguments: Arguments) -> list[list[Piece]]:
    """The pieces of a call of each tool, in each way that the format has."""
    return [
        _fields(form, call, {NAME: name, ARGUMENTS: one})
        for name, one in arguments.items()
        for call in (form.call, *form.others)
    ]


def _is_parallel(form: Format, wanted: Wanted) -> bool:
    return wanted.parallel and form.between is not None and wanted.most != 1


# -- where arguments stand ---------------------------------------------------------------------------------------------


def _guarded(form: Format, constraint: Constraint, regions: list[ArgumentsRegion], wanted: Wanted) -> Constraint:
    """The constraint, with the guards of arguments if they stand in known places."""
    if not regions:
        return constraint
    assert isinstance(constraint, Combined)
    names = [region.content for region in regions]
    return GuardedCalls(
        constraint.expression,
        partial(shown_call, "calls", names),
        regions=tuple(regions),
        trigger=tuple(form.split(form.trigger)) if form.begin else (),
        alone=form.instead,
    )


def _regions(form: Format, arguments: Arguments, wanted: Wanted) -> list[ArgumentsRegion]:
    """The regions of arguments; none if the text alone does not tell them apart."""
    if form.parameters is not None:
        return []
    regions = []
    for name, content, call in ((*one, call) for one in arguments.items() for call in (form.call, *form.others)):
        pieces = [(name, False) if one == (NAME, True) else one for one in form.pieces(call)]
        at = pieces.index((ARGUMENTS, True))
        before = max((i + 1 for i, (_, is_field) in enumerate(pieces[:at]) if is_field), default=0)
        begin = form.split("".join(one for one, _ in pieces[before:at]))
        ends = [form.split(end) for end in _ends(form, pieces[at + 1 :])]
        if not all(ends) and _is_parallel(form, wanted):  # the next call follows at once: its first token is the end
            if len(ends) > 1 or form.between or before or not begin[0][1]:
                return []
            ends = [[begin.pop(0)]]
        regions.append(ArgumentsRegion(tuple(begin), content, tuple(map(tuple, ends))))
    texts = ["".join(piece for piece, _ in region.begin).encode() for region in regions]
    return regions if all(texts) and are_apart(texts) else []


def _ends(form: Format, pieces: list[tuple[str, bool]]) -> list[str]:
    """The texts of which one follows arguments; "" if that is not known."""
    ends = []
    while pieces and pieces[0][1]:  # fields that may be empty
        found = _OPTIONAL.match(form.fields[pieces.pop(0)[0]])
        ends.append(found[1] if found else "")
    text = ""
    while pieces and not pieces[0][1]:
        text += pieces.pop(0)[0]
    return [text, *ends]


def _read(form: Format, function: Function, wanted: Wanted) -> Constraint:
    """The arguments of a tool. Errors name it: of a hundred tools nobody finds the one at fault."""
    try:
        return _arguments(form, function, wanted)
    except (SchemaError, UnsatisfiableError) as error:
        place = f"the tool {function.name!r}" + (f", {error.place}" if error.place else "")
        raise type(error)(error.message, place=place, fix=error.fix) from None


def arguments_of(function: Function, undeclared: Undeclared = "avoid", order: PropertyOrder = "schema") -> JsonSchema:
    """The JSON of the arguments of a tool. Raises SchemaError, UnsatisfiableError."""
    return json_schema(_declared(function, undeclared), undeclared=undeclared, property_order=order)


def _declared(function: Function, undeclared: Undeclared) -> dict[str, Any]:
    """The schema of the arguments of a tool; one that says that it has none is closed."""
    schema = dict(function.parameters)
    if undeclared != "allow" and _has_none(schema):
        schema["additionalProperties"] = False
    return schema


def _arguments(form: Format, function: Function, wanted: Wanted) -> Constraint:
    texts = wanted.texts.get(function.name)
    if texts:
        if form.parameters is not None:
            raise ConstrainError(
                f"the format {form.name!r} writes arguments as elements, and texts= constrains strings of JSON",
                place=f"texts[{function.name!r}]",
                fix="use a format that writes arguments as JSON",
            )
        return object_with_texts(_declared(function, wanted.undeclared), texts, function.name, wanted.undeclared)
    order: PropertyOrder = "schema" if form.parameters is None else form.order
    whole = arguments_of(function, wanted.undeclared, order)
    if form.parameters is None:
        return whole
    close = form.parameters.close.strip() if isinstance(form.parameters, Style) else ""
    excludes = (close,) if isinstance(form.parameters, Style) and close != form.parameters.close else ()
    elements = parameters(whole, form.parameters, excludes=excludes, tokens=form.tokens, later=True)
    try:
        elements.to_grammar()
    except UnsatisfiableError as error:
        raise UnsatisfiableError(
            f"the arguments of {function.name!r} cannot be written in the format {form.name!r}: {error.message}",
            fix="declare the properties, or use a format that writes arguments as JSON",
        ) from None
    return elements


def _has_none(schema: Mapping[str, Any]) -> bool:
    """True if a tool says that it has no arguments: it lists none, and no keyword speaks of others."""
    others = KEYWORDS.keys() & schema.keys() - {"type", "properties"}
    return schema.get("properties") == {} and all(schema[key] in ([], False) for key in others)


def _fields(form: Format, template: str, values: dict[str, Piece]) -> list[Piece]:
    """The pieces of a template with values, other fields and tokens; neighbouring texts joined."""
    found: list[Piece] = []
    for piece, is_field in form.pieces(template):
        if is_field and piece not in values:
            found.append(regex(form.fields[piece]))
            continue
        value = values[piece] if is_field else piece
        for part in _edges(form, value) if isinstance(value, str) else [value]:
            if isinstance(part, str) and found and isinstance(found[-1], str):
                found[-1] += part
            else:
                found.append(part)
    return found


def _edges(form: Format, text: str) -> list[Piece]:
    """A text with its special tokens."""
    return [token(piece) if is_token else piece for piece, is_token in form.split(text)]
