"""One request inside the engine: vLLM's `StructuredOutputGrammar` over a matcher.

The idea: vLLM's scheduler asks for the mask of the next token, tells which tokens were sampled, tries drafts and takes
them back (requests/request.py). A request's own ends are the model's, and its `stop_token_ids`.

vLLM stops masking a request once it `is_terminated`, which is after an end was read and not before, and lets it run on
under `ignore_eos`. A token that is refused is an error of the request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from constrain.engines.requests.images import Compiled, Resumed
from constrain.engines.requests.request import RequestMatcher, Rows

logger = logging.getLogger("vllm.constrain")  # below vLLM's logger, which has the handlers


class VLLMGrammar(RequestMatcher):
    """The constraint of one request, at the end of what was sampled so far.

    Args:
        compiled: The compiled constraint, shared with other requests.
        stop_ids: The ids that end this request's text; none: those of the vocabulary.
        rows_of: vLLM's bitmask tensor → its words, uint32[N, ceil(V / 32)].
    """

    __slots__ = ("_rows_of",)

    def __init__(
        self,
        compiled: Compiled | Resumed,
        stop_ids: Iterable[int],
        rows_of: Callable[[Any], Rows],
    ) -> None:
        super().__init__(compiled, stop_ids, logger)
        self._rows_of = rows_of

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Read sampled tokens. False: one of them is not allowed, and vLLM ends the request."""
        for token in tokens:
            if not self.must_read(token):
                logger.error("constrain: request %s ends: %s", request_id, self.fault)
                return False
        return True

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """The longest prefix of a draft that may be read. Nothing is read."""
        read = 0
        for token in tokens:
            if token < 0 or self.ended or not self.read(token):
                break
            read += 1
        self.rollback(read)
        return tokens[:read]

    def fill_bitmask(self, bitmask: Any, index: int) -> None:
        """Write the mask of the next token into a row of vLLM's tensor, int32[N, ceil(V / 32)]."""
        self.fill(self._rows_of(bitmask)[index])

    def is_terminated(self) -> bool:
        """True if an id that ends the text was read."""
        return self.ended
