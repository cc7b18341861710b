"""Let vLLM's workers record a token's log p before the mask, log Z, or the whole row of logits.

The idea: the numbers travel as log-probabilities of vLLM, which follow their tokens through scheduling, preemption and
several processes. A request that we make ourselves (model.py, masked.py) says in `SamplingParams.extra_args` what it
wants:

* {"constrain": "weights"}, with logprobs=1: the two log-probabilities of each token are log p, of the model before the
  mask at the request's temperature, and log Z, of the mass that the mask left. The second has the id `NO_ID`, so that
  an engine without these hooks is known by its answer.
* {"constrain": "row"}, with logprobs=-1: the front end keeps the log-probabilities of all tokens as an array, and makes
  no Python objects of them.

A request of weights may also say how many of the last tokens of its prompt are of its text already: {"constrain.begun":
8}. Its grammar reads them first (hooks.py), and goes on behind them.

All only where the request asks for flat log-probabilities without text, which no HTTP request can: an id that is no
token would end the process that wants its text.

The workers' part is runners.py. Cost: two sums of exponentials and a copy of the rows that ask; nothing for other
batches. Limits: nothing that shapes logits after the mask: penalties, bad words, min_p, top_k, top_p. Our own requests
have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from constrain.engines.vllm.options import ENTRY
from constrain.engines.vllm.patches import wrap
from constrain.engines.vllm.versions import ROWS

WEIGHTS, ROW = "weights", "row"
BEGUN = f"{ENTRY}.begun"
NO_ID = -1


def asks_for(params: Any, what: str) -> bool:
    """True if a request, by its `SamplingParams`, wants numbers of this kind."""
    extra = getattr(params, "extra_args", None) or {}
    return extra.get(ENTRY) == what and params.flat_logprobs and not params.detokenize


def begun_in(params: Any) -> int:
    """The number of last tokens of a request's prompt that its text has already, by its `SamplingParams`."""
    return int(params.extra_args.get(BEGUN, 0)) if asks_for(params, WEIGHTS) else 0


# --- in the front end -------------------------------------------------------------------------------------------------


class RowLogprobs:
    """The log-probabilities of a request as arrays: `rows`, float32[W] for each of its tokens."""

    def __init__(self) -> None:
        self.rows: list[np.ndarray] = []

    def __len__(self) -> int:
        return len(self.rows)


def install_in_front_end() -> None:
    """Let this process keep rows as arrays, where vLLM has what that needs."""
    if ROWS.differences():
        return
    from vllm.v1.engine.logprobs import LogprobsProcessor

    wrap(LogprobsProcessor, "from_new_request", _beginning)
    wrap(LogprobsProcessor, "_update_sample_logprobs", _keeping_rows)


def _beginning(original: Callable[..., Any]) -> Callable[..., Any]:
    def from_new_request(tokenizer: Any, request: Any) -> Any:
        processor = original(tokenizer, request)
        if asks_for(request.sampling_params, ROW):
            processor.logprobs = RowLogprobs()
        return processor

    return from_new_request


def _keeping_rows(original: Callable[..., Any]) -> Callable[..., Any]:
    def update(self: Any, logprobs_lists: Any) -> Any:
        if not isinstance(self.logprobs, RowLogprobs):
            return original(self, logprobs_lists)
        for ids, values in zip(logprobs_lists.logprob_token_ids, logprobs_lists.logprobs, strict=True):
            self.logprobs.rows.append(row_of(ids[1:], values[1:]))
        return None

    return update


def row_of(ids: Sequence[int] | np.ndarray, values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Numbers in the order of their token ids: float32[W]; ids: all of 0 … W − 1, in any order."""
    row = np.empty(len(ids), np.float32)
    row[ids] = values
    return row
