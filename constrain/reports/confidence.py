"""Confidence in a part of an output: the probability of its tokens, under the model and under the masks.

The idea: an output records of each token its probability and the mass that the constraint allowed there. A part of the
text (the value at a JSON pointer, a capture) is some tokens, so it has a probability: the product of theirs. Divided by
the mass allowed it is the probability with which masked decoding writes that part behind what stands before it.

It is a probability of tokens, not of being right: of two spellings of one answer each has a part of it, what stands
before it is taken as given, and models are surer than they are right. It ranks fields: docs/howto/see.md has figures.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from constrain.errors import ConstrainError
from constrain.reports.display.tokens import ShownToken

SPACE = re.compile(r"[ \t\n\r]*")
DECODER = json.JSONDecoder()


class PartConfidence(NamedTuple):
    """The probability of a part of an output.

    Attributes:
        text: The part.
        tokens: The number of tokens that have some of it.
        log_prob: log p of these tokens given all before them, of the model without the constraint.
        log_allowed: log of the mass that the constraint allowed at them, their sum: 0 where it bent nothing.
        margin: log p of a token less log p of the next best that was allowed there, the least of those tokens that were
            not forced; as far as alternatives are known (`constrain.trace`), else None. Negative where a sampler took
            another one than the best; inf where all tokens were forced.
    """

    text: str
    tokens: int
    log_prob: float
    log_allowed: float
    margin: float | None = None

    @property
    def probability(self) -> float:
        """The probability with which masked decoding writes the part, at the temperature of the output."""
        return math.exp(min(self.log_prob - self.log_allowed, 0.0))


def confidence_of(
    text: str, span: tuple[int, int], pieces: Sequence[bytes], tokens: Sequence[ShownToken]
) -> PartConfidence:
    """The confidence of a part of an output.

    Args:
        text: The whole text.
        span: Where the part begins and ends, in characters.
        pieces: The bytes of each token of the text; what is no part of it, as an end-of-text token, counts for nothing.
        tokens: The same tokens, with what was recorded of them.

    Raises:
        ConstrainError: Nothing was recorded of a token.
    """
    begin, end = (len(text[:place].encode("utf-8", "surrogateescape")) for place in span)
    whole, at, own = text.encode("utf-8", "surrogateescape"), 0, []
    for piece, token in zip(pieces, tokens, strict=True):
        if piece and whole.startswith(piece, at):
            if at < end and at + len(piece) > begin:
                own.append(token)
            at += len(piece)
    if (not own and begin < end) or any(token.probability is None or token.allowed is None for token in own):
        raise ConstrainError(
            "this output has no record of its tokens' probabilities", fix="constrain.trace(model, prompt, output, ...)"
        )
    log_prob, log_allowed = (sum(_log(value) for value in column) for column in _columns(own))
    return PartConfidence(text[span[0] : span[1]], len(own), log_prob, min(log_allowed, 0.0), _margin(own))


def _columns(tokens: Sequence[ShownToken]) -> tuple[list[float], list[float]]:
    return [token.probability or 0.0 for token in tokens], [token.allowed or 0.0 for token in tokens]


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -math.inf


def _margin(tokens: Sequence[ShownToken]) -> float | None:
    least = math.inf
    for token in tokens:
        if token.forced:
            continue
        others = [each.probability for each in token.alternatives if each.allowed and each.token != token.token]
        if not others:
            return None
        least = min(least, _log(token.probability or 0.0) - _log(max(others)))
    return least


def value_span(text: str, pointer: str) -> tuple[int, int]:
    """Find the value at a JSON pointer (RFC 6901) in a JSON text.

    Args:
        text: One JSON value.
        pointer: Such as "/people/0/name"; "" is the whole value. Of equal keys the last counts.

    Raises:
        ConstrainError: The text is no JSON, or has no such value.

    Example:
        >>> value_span('{"a": [1, 23]}', "/a/1")
        (10, 12)
    """
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise ConstrainError(f"{pointer!r:.60} is no JSON pointer", fix='"/name", "/people/0/name", or ""')
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    at: int | None
    try:
        at = skip(text, 0)
        for step in steps:
            at = members_at(text, at).get(step)
            if at is None:
                break
        else:
            return at, DECODER.raw_decode(text, at)[1]
    except (ValueError, IndexError, RecursionError) as error:
        raise ConstrainError(f"the text is no JSON value: {error}", fix="a part of another text is a capture") from None
    raise ConstrainError(f"the text has no value at {pointer!r:.60}", place=f"step {step!r:.60}")


def of_members(text: str, pieces: Sequence[bytes], tokens: Sequence[ShownToken]) -> dict[str, float]:
    """The probability of each member of an output that is a JSON object; none of another one, or without a record."""
    try:
        spans = {name: (at, DECODER.raw_decode(text, at)[1]) for name, at in members_at(text, skip(text, 0)).items()}
        found = {name: confidence_of(text, span, pieces, tokens).probability for name, span in spans.items()}
    except (ValueError, IndexError, RecursionError, ConstrainError):
        return {}
    return found if text.lstrip().startswith("{") else {}


def members_at(text: str, at: int) -> dict[str, int]:
    """Find where each member of the object or array at a place begins, by name or index; none of another value."""
    found: dict[str, int] = {}
    opening = text[at]
    if opening not in "{[":
        return found
    at = skip(text, at + 1)
    while text[at] not in "}]":
        if text[at] == ",":
            at = skip(text, at + 1)
        name = str(len(found))
        if opening == "{":
            name, at = scanstring(text, at + 1, False)
            at = skip(text, skip(text, at) + 1)
        found[name] = at
        at = skip(text, DECODER.raw_decode(text, at)[1])
    return found


def skip(text: str, at: int) -> int:
    """The place behind whitespace."""
    found: Any = SPACE.match(text, at)
    end: int = found.end()
    return end
