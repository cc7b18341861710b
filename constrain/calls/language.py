"""The language of a turn: thoughts, content and calls in a format.

The idea: each call is a sequence of the texts of the format's template, with the tool's schema for its arguments. Names
of special tokens in these texts are tokens (`constrain.token`), everything else is text. Content is free text without
what begins calls, so that the text tells where they begin; that is what the reader relies on.

Repeated keys and items in arguments are vetoed token by token where each call is a tag of text (tags/dispatch.py), else
checked when the turn is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from constrain.automata.syntax import ANY_TEXT, complement, concat, intersect, literal
from constrain.calls.format import ARGUMENTS, NAME, Format
from constrain.calls.functions import Function
from constrain.constraints.base import Constraint
from constrain.constraints.combinators import Combined, Piece, alt, many, optional, seq, shown_call, token
from constrain.constraints.regular import Regular, regex
from constrain.derived.reasoning import after
from constrain.errors import ConstrainError
from constrain.schema import json_schema
from constrain.tags.dispatch import Tagged
from constrain.tags.free import free_text
from constrain.tags.parameters import parameters
from constrain.tags.tag import Tag, tag

GAP = regex("[ \n]{0,4}")  # between thoughts and calls


class Wanted(NamedTuple):
    """What a turn may consist of.

    Attributes:
        choice: "auto": content, or content and calls. "required": calls. "none": content.
        parallel: There may be several calls.
        thinking: "optional", "required", "none", or "open": the prompt has begun them.
        thinking_tokens: The greatest number of tokens of thoughts; None: no bound.
    """

    choice: str
    parallel: bool
    thinking: str
    thinking_tokens: int | None


def language(form: Format, functions: Sequence[Function], wanted: Wanted) -> Constraint:
    """The turns of a format that call some functions. Raises ConstrainError."""
    turn = _turn(form, functions, wanted)
    if wanted.thinking == "none" or form.thinking is None:
        return turn
    begin, close = form.thinking
    return _thoughtful(form, begin, close, turn, wanted)


def _thoughtful(form: Format, begin: str, close: str, turn: Constraint, wanted: Wanted) -> Constraint:
    """Thoughts before a turn."""
    opening, closing = _edges(form, begin), _edges(form, close)
    opened = wanted.thinking == "open"
    if len(opening) > 1 or len(closing) > 1:
        return _channelled(form, begin, close, turn, wanted)
    start: Any = "" if opened else opening[0]
    return after(
        closing[0],
        turn,
        begin=start,
        optional=wanted.thinking == "optional",
        max_tokens=wanted.thinking_tokens,
    )


def _channelled(form: Format, begin: str, close: str, turn: Constraint, wanted: Wanted) -> Constraint:
    """Thoughts between delimiters of several tokens: the first token of the close ends them."""
    first, *rest = _edges(form, close)
    answer = seq(*rest, turn)
    head = [] if wanted.thinking == "open" else _edges(form, begin)
    if wanted.thinking_tokens is not None:
        if head:
            raise ConstrainError(
                f"thoughts of the format {form.name!r} begin with several tokens, and have a budget only "
                "if the prompt has begun them",
                fix=f'end the prompt with {begin!r}, and pass thinking="open"',
            )
        return after(first, answer, max_tokens=wanted.thinking_tokens)
    names = [name for name, is_token in form.split(close) if is_token]
    thought = seq(*head, free_text(names[:1]), first, answer)
    return alt(thought, turn) if wanted.thinking == "optional" else thought


def _turn(form: Format, functions: Sequence[Function], wanted: Wanted) -> Constraint:
    """A turn without thoughts."""
    begin, end = form.answer
    excludes = _excluded(form)
    text = _instead(form) if form.instead else free_text(excludes)
    answer = seq(*_edges(form, begin), text, *_edges(form, end)) if form.delimited else text
    if wanted.choice == "none":
        return answer
    calls, tags = _calls(form, functions, wanted.parallel)
    if wanted.choice == "required":
        made = calls if form.thinking is None or form.delimited or wanted.thinking == "none" else seq(GAP, calls)
        if form.delimited and form.preamble is not None:
            made = seq(optional(_preamble(form)), calls)
        return _with_tags(made, tags)
    if form.instead:
        return alt(answer, calls)  # content may have the text of a call in its middle
    if not form.delimited:
        return _with_tags(alt(text, seq(text, calls)), tags)
    before = [] if form.preamble is None else [optional(_preamble(form))]
    return alt(answer, seq(*before, calls))


def _preamble(form: Format) -> Constraint:
    assert form.preamble is not None
    begin, end = form.preamble
    return seq(*_edges(form, begin), free_text(_excluded(form)), *_edges(form, end))


def _excluded(form: Format) -> list[str]:
    """What content does not contain: the text or the name of what begins calls or thoughts or ends the content."""
    texts = [form.trigger, *(form.thinking or ()), form.answer[1], *(form.preamble or ())]
    found = [form.split(text)[0][0] for text in texts if text]
    return list(dict.fromkeys(found))


def _instead(form: Format) -> Constraint:
    """Content that does not begin with the trigger."""
    return Regular(intersect(ANY_TEXT, complement(concat(literal(form.trigger), ANY_TEXT))))


def _with_tags(constraint: Constraint, tags: tuple[Tag, ...]) -> Constraint:
    """The constraint, whose tags are found in the text."""
    if not tags:
        return constraint
    assert isinstance(constraint, Combined)
    return Tagged(constraint.expression, partial(shown_call, "calls", tags), tags=tags)


def _calls(form: Format, functions: Sequence[Function], parallel: bool) -> tuple[Constraint, tuple[Tag, ...]]:
    """(one or several calls, their tags if the text tells where they stand)."""
    each = [_call(form, function) for function in functions]
    one = alt(*each)
    most = None if parallel and form.between is not None else 1
    between = _edges(form, form.between or "")
    separator = seq(*between) if between else None
    calls = seq(*_fields(form, form.begin, {}), many(one, separator=separator, low=1, high=most),
                *_edges(form, form.end))  # fmt: skip
    tags = tuple(call for call in each if isinstance(call, Tag))
    in_text = len(tags) == len(each) and not form.begin and not form.instead
    return calls, tags if in_text else ()


def _call(form: Format, function: Function) -> Constraint:
    """A call of a function: a tag, if its delimiters are text."""
    arguments = _arguments(form, function)
    pieces = _fields(form, form.call, {NAME: function.name, ARGUMENTS: arguments})
    at = next(i for i, piece in enumerate(pieces) if piece is arguments)
    before, after_it = pieces[:at], pieces[at + 1 :]
    if all(isinstance(piece, str) for piece in (*before, *after_it)):
        return tag("".join(map(str, before)), arguments, "".join(map(str, after_it)))
    return seq(*pieces)


def _arguments(form: Format, function: Function) -> Constraint:
    schema = dict(function.parameters)
    if form.parameters is None:
        return json_schema(schema)
    close = form.parameters.close.strip()
    excludes = (close,) if close != form.parameters.close else ()
    return parameters(schema, form.parameters, excludes=excludes)


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
