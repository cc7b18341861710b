"""`explain`: which layer of what `generate` asks refuses a token, or a text, and why.

The idea: the call is prepared as `generate` prepares it, and nothing is sampled. The text so far is written as its
matcher allows it; then the matcher says what refuses what should follow (masks/engine/layers.py). A stop sequence is a
part of the constraint by then, so the constraint without it is asked.

Limit: what changes probabilities is no layer of the mask, so top_k, top_p and processors are not asked. A text so far
is written in the longest tokens; pass token ids where another cut is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from constrain.errors import ConstrainError
from constrain.generation.call import prepare
from constrain.generation.handles import TextWriter, handle_of
from constrain.generation.request.request import Request
from constrain.generation.request.signature import ModelLike, PromptLike
from constrain.languages.constraints.refusal import Refusal
from constrain.masks.derived.members import byte_matcher, decided_by_bytes
from constrain.masks.derived.stopping import Stopped
from constrain.masks.engine.layers import GRAMMAR, explained, written

STOP = "stop sequence"


def explain(
    model: ModelLike,
    prompt: PromptLike,
    following: int | str | bytes,
    *,
    after: str | bytes | Sequence[int] = (),
    **options: Any,
) -> Refusal | None:
    """Say which layer of `generate` refuses a token or a text: grammar, guard, forced tokens, token budget and others.

    Args:
        model: as of `generate`; it is loaded, and not run.
        prompt: one prompt, as of `generate`.
        following: a token id, or a text. The first token after a prompt that is healed has the bytes that it took back.
        after: the output so far: a text, or token ids. If it is refused itself, that is explained.
        options: those of `generate`, with which it was called.

    Returns:
        None if the tokens may follow; else a `Refusal`: its `layer`, `because`, and the tokens that the layer allows.
        `str` gives it as lines for a person.

    Raises:
        ConstrainError: an argument is wrong, or there is no constraint of this library.

    Example:
        >>> import constrain
        >>> model = constrain.reference.load()
        >>> given = {"regex": "(very )*long", "max_tokens": 4, "complete": True}
        >>> print(constrain.explain(model, "It is ", "very", after="very very ", **given))
        ... # doctest: +ELLIPSIS
        token ... is refused by the token budget
        ...
    """
    request = Request.of(prompt, {**options, "draft": False})
    if isinstance(model, TextWriter):
        handle_of(model)  # raises: there is no mask to explain
    call = prepare(model, request)
    rows = sum(len(run.rows) for run in call.runs)
    if rows != 1 or not call.runs[0].constrained:
        raise ConstrainError("explain() takes one prompt, and the constraint of its output", place="prompt")
    run = call.runs[0]
    matcher, constraint = run.matcher(0), run.terms[0].constraint
    tokens: list[int] = []
    if not isinstance(after, str | bytes):
        tokens += after
    elif after:
        text = run.begins[0] + (after.encode() if isinstance(after, str) else after)
        tokens, refusal = written(matcher, text, whole=True)
        if refusal is not None:
            return _by_stop(refusal, constraint, text)
    for token in tokens:
        if not matcher.advance(token):
            following = token
            break
    refusal = explained(matcher, following)
    begun, pieces = matcher.text, run.vocabulary.tokens
    rest = following if isinstance(following, str | bytes) else pieces[following] or b""
    return _by_stop(refusal, constraint, begun + (rest.encode() if isinstance(rest, str) else rest))


def _by_stop(refusal: Refusal | None, constraint: Any, text: bytes) -> Refusal | None:
    """The refusal, put down to a stop sequence if the constraint without it goes on so. text: what is refused."""
    if refusal is None or refusal.layer != GRAMMAR or not isinstance(constraint, Stopped):
        return refusal
    if not byte_matcher(constraint.inner).advance_bytes(decided_by_bytes(constraint.inner, text)):
        return refusal
    because = f"the text ends where {' or '.join(map(repr, constraint.stops))} is complete"
    message = refusal.message.replace(f"the {GRAMMAR}", f"the {STOP}")
    return replace(refusal, message=message, layer=STOP, because=because, expected="the end of the text")
