"""Find the ids at which a loop that calls a logits processor stops, and apply them to a constraint.

The idea: chat models end a turn with an id of their own, and the tokenizer's end-of-text id is often another. A mask
that offers an id at which the loop does not stop lets it run past the end. So at the end of a text exactly the loop's
ids are offered, and nowhere else. transformers does not tell a processor where it stops, but every loop of it has a
local `generation_config`, which is looked up on the stack of the caller.
Limit: loops that are not of transformers say nothing; then the ids of the vocabulary count, or the given ids.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from constrain.errors import ConstrainError

FRAMES = 16  # of the stack that are looked at
WORD = 32


class Endings(NamedTuple):
    """own: ids that end a text in the vocabulary, in the matcher's eyes. stops: ids at which the loop stops.
    text: of these, the ids that are text in the vocabulary."""

    own: tuple[int, ...]
    stops: frozenset[int]
    text: frozenset[int] = frozenset()

    def read(self, token: int) -> int:
        """The id by which a matcher knows a token."""
        return self.own[0] if token in self.stops and token not in self.own else token

    def write(self, words: np.ndarray) -> None:
        """Turn a mask, uint32[words], of the vocabulary's endings into one of the loop's."""
        if self.stops == frozenset(self.own):
            return
        complete = any(words[i // WORD] >> np.uint32(i % WORD) & np.uint32(1) for i in self.own)
        for i in {*self.own, *self.text}:
            words[i // WORD] &= ~np.uint32(1 << i % WORD)
        for i in self.stops if complete else ():
            words[i // WORD] |= np.uint32(1 << i % WORD)


def endings_of(vocabulary: Any, stops: frozenset[int] | None) -> Endings:
    """The meaning of the ids at which a loop stops. stops: None if they are not known.

    Raises ConstrainError: it stops nowhere, at ids that the vocabulary lacks, or at a text that no other token writes.
    """
    own = tuple(vocabulary.eos_ids)
    if stops is None:
        return Endings(own, frozenset(own))
    if not stops:
        raise ConstrainError(
            "model.generate stops at no token: it has no eos_token_id, and would write on after the end of the text",
            fix=f"pass eos_token_id={own[0]} to model.generate, or set model.generation_config.eos_token_id",
        )
    usable = frozenset(i for i in stops if 0 <= i < vocabulary.size)
    if not usable:
        raise ConstrainError(
            f"model.generate stops at {sorted(stops)}, and the constraint is compiled for {vocabulary.size} tokens",
            fix="compile it for Vocabulary.from_huggingface(tokenizer, size=model.config.vocab_size), or pass the "
            f"tokenizer's own end to model.generate: eos_token_id={own[0]}",
        )
    text = frozenset(i for i in usable.difference(own) if vocabulary.tokens[i] is not None)
    bytes_of_others = {token for i, token in enumerate(vocabulary.tokens) if i not in text and len(token or b"") == 1}
    for i in sorted(text):
        if any(bytes([byte]) not in bytes_of_others for byte in vocabulary.tokens[i]):
            raise ConstrainError(
                f"model.generate stops at id {i}, which is text in this vocabulary, {vocabulary.tokens[i]!r}, "
                "and no other tokens write it",
                fix=f"pass the tokenizer's own end to model.generate: eos_token_id={own[0]}",
            )
    return Endings(own, usable, text)


def stops_of_caller() -> frozenset[int] | None:
    """The ids at which the loop of transformers on this stack stops; None where there is no such loop."""
    from transformers import GenerationConfig

    frame: FrameType | None = sys._getframe(1)
    for _ in range(FRAMES):
        if frame is None:
            return None
        config = frame.f_locals.get("generation_config")
        if isinstance(config, GenerationConfig):
            return ids_in(config.eos_token_id)
        frame = frame.f_back
    return None


def call_of_caller() -> object | None:
    """The configuration that a running call of `model.generate` made for itself: it identifies the call.

    Of calls inside each other, as with an assistant model, the outermost. None where there is no such call.
    """
    found = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "generate" and str(frame.f_globals.get("__name__")).startswith("transformers."):
            found = frame.f_locals.get("generation_config", found)
        frame = frame.f_back
    return found


def ids_in(eos: int | Iterable[int] | None) -> frozenset[int]:
    """The ids of an `eos_token_id` as configurations say it: none, one or several."""
    if eos is None:
        return frozenset()
    return frozenset(map(int, eos)) if isinstance(eos, Iterable) else frozenset([int(eos)])
