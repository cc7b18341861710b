"""One request inside the engine: vLLM's `StructuredOutputGrammar` over a matcher.

The idea: vLLM's scheduler asks for the mask of the next token, tells which tokens were sampled, tries drafts and takes
them back. All of it is a verb of a matcher. What differs are the ids that end a text: a request has its own (the
model's, and its `stop_token_ids`). They are offered exactly where the text is complete, and are refused elsewhere.

vLLM stops masking a request once it `is_terminated`, which is after an end was read and not before, and lets it run on
under `ignore_eos`; tokens after the end are taken as they come.

The scheduler runs in the engine's only loop, where an exception ends the engine. So a fault of one request (a limit, a
dead end) ends that request: its row allows everything, and the next token is refused, which vLLM reports as an error of
the request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.engine.compiled import CompiledConstraint
from constrain.errors import ConstrainError

logger = logging.getLogger("vllm.constrain")  # below vLLM's logger, which has the handlers
Rows = NDArray[np.uint32]


class RequestGrammar:
    """The constraint of one request, at the end of what was sampled so far.

    Args:
        compiled: The compiled constraint, shared with other requests.
        stop_ids: The ids that end this request's text; none: those of the vocabulary.
        rows_of: vLLM's bitmask tensor → its words, uint32[N, ceil(V / 32)].
    """

    __slots__ = ("_after", "_fault", "_rows_of", "_stops", "compiled", "matcher")

    def __init__(self, compiled: CompiledConstraint, stop_ids: Iterable[int], rows_of: Callable[[Any], Rows]) -> None:
        vocabulary = compiled.vocabulary
        stops = tuple(sorted({i for i in stop_ids if 0 <= i < vocabulary.size}))
        self.compiled = compiled
        self._stops = stops if stops and stops != vocabulary.eos_ids else None  # None: as the vocabulary has them
        self.matcher = compiled.matcher(eos_ids=self._stops)
        self._rows_of = rows_of
        self._after = 0  # tokens after the end
        self._fault = ""

    # -- vLLM's interface ----------------------------------------------------------------------------------------------

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Read sampled tokens. False: one of them is not allowed, and vLLM ends the request."""
        try:
            for token in tokens:
                if not self._read(token):
                    self._say(f"token {token} is not allowed after {self.matcher.text[-40:]!r}")
                    logger.error("constrain: request %s ends: %s", request_id, self._fault)
                    return False
        except Exception as error:
            self._catch(error)
            return False
        return True

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """The longest prefix of a draft that may be read. Nothing is read."""
        if self.is_terminated() or self._fault:
            return []
        read = 0
        try:
            for token in tokens:
                if token < 0 or self.is_terminated() or not self._read(token):
                    break
                read += 1
        except Exception as error:
            self._catch(error)
        self.rollback(read)
        return tokens[:read]

    def rollback(self, num_tokens: int) -> None:
        """Take back the last tokens that were read."""
        after = min(self._after, num_tokens)
        self._after -= after
        self.matcher.rollback(num_tokens - after)

    def fill_bitmask(self, bitmask: Any, index: int) -> None:
        """Write the mask of the next token into a row of vLLM's tensor, int32[N, ceil(V / 32)]."""
        row = self._rows_of(bitmask)[index]
        try:
            if not self._fault:
                self.matcher.fill_mask(row)
                if not row[row.argmax()]:  # PERF: 0.5 µs; `any` takes 4
                    self._say(f"no token is allowed after {self.matcher.text[-40:]!r}: a dead end")
        except Exception as error:
            self._catch(error)
        if self._fault:
            row[:] = 0xFFFFFFFF

    def is_terminated(self) -> bool:
        """Whether an id that ends the text was read."""
        return self.matcher.ended

    def reset(self) -> None:
        """Begin anew."""
        self.matcher = self.compiled.matcher(eos_ids=self._stops)
        self._after, self._fault = 0, ""

    def _read(self, token: int) -> bool:
        if self._fault:
            return False
        if self.is_terminated():
            self._after += 1
            return True
        return self.matcher.advance(token)

    # -- faults --------------------------------------------------------------------------------------------------------

    def _say(self, fault: str) -> None:
        self._fault = self._fault or fault

    def _catch(self, error: Exception) -> None:
        """A fault of this request, or of ours, ends the request and not the engine."""
        self._say(str(error))
        if isinstance(error, ConstrainError):
            logger.error("constrain: a request ends: %s", error)
        else:
            logger.exception("constrain: a request ends by a fault of the backend; please report it")
