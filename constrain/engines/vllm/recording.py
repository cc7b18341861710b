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

Where the mask is applied there are the logits before it (`sample_tokens`) and after it (`_sample`). Cost: two sums of
exponentials and a copy of the rows that ask; nothing for other batches. Limits: the V1 model runner, one token a step,
and nothing that shapes logits after the mask: penalties, bad words, min_p, top_k, top_p. Our own requests have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from constrain.engines.vllm.options import ENTRY
from constrain.engines.vllm.patches import wrap
from constrain.engines.vllm.versions import ROWS

WEIGHTS, ROW = "weights", "row"
BEGUN = f"{ENTRY}.begun"
NO_ID = -1
_HELD = "_before_the_mask_of_constrain"


def asks_for(params: Any, what: str) -> bool:
    """True if a request, by its `SamplingParams`, wants numbers of this kind."""
    extra = getattr(params, "extra_args", None) or {}
    return extra.get(ENTRY) == what and params.flat_logprobs and not params.detokenize


def begun_in(params: Any) -> int:
    """The number of last tokens of a request's prompt that its text has already, by its `SamplingParams`."""
    return int(params.extra_args.get(BEGUN, 0)) if asks_for(params, WEIGHTS) else 0


# --- in a worker ------------------------------------------------------------------------------------------------------


class BeforeMask(NamedTuple):
    """Rows of a batch that ask, before the mask: their places, temperatures float[R] or None where all are 1, and
    log Σ exp of their logits float[R]."""

    rows: list[int]
    temperatures: Any
    log_totals: Any


def scaled(logits: Any, temperatures: Any) -> Any:
    """logits / temperature, in float32: float[R, W] and float[R]; None leaves them as they are."""
    return logits.float() if temperatures is None else logits.float() / temperatures[:, None]


def log_totals(logits: Any, temperatures: Any) -> Any:
    """log Σ exp(logits / temperature) of each row: float32[R], of float[R, W] and float[R] or None."""
    return scaled(logits, temperatures).logsumexp(-1)


def numbers_of(before: BeforeMask, masked: Any, tokens: Any) -> tuple[Any, Any]:
    """The log p and the log Z of each row's token.

    Args:
        before: The rows before the mask.
        masked: float[R, W], their logits after it.
        tokens: int64[R], the tokens that were drawn.

    Returns:
        log p of the token, and log Z, at the row's temperature: two of float32[R].
    """
    log_z = log_totals(masked, before.temperatures) - before.log_totals
    logits = scaled(masked.gather(1, tokens[:, None]), before.temperatures)[:, 0]
    return logits - before.log_totals, log_z


def install_in_worker() -> None:
    """Record in this process. A worker calls it, which has the model runner imported."""
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner

    wrap(GPUModelRunner, "sample_tokens", _before_the_mask)
    wrap(GPUModelRunner, "_sample", _after_the_mask)


def _before_the_mask(original: Callable[..., Any]) -> Callable[..., Any]:
    def sample_tokens(self: Any, grammar_output: Any) -> Any:
        state = self.execute_model_state
        rows = [] if state is None or state.spec_decode_metadata is not None else _rows_that_ask(self)
        if rows and state.logits is not None:
            import torch

            given = [each if each > 0 else 1.0 for each in self.input_batch.temperature_cpu[rows].tolist()]
            temperatures = None if set(given) == {1.0} else torch.tensor(given, device=state.logits.device)
            setattr(self, _HELD, BeforeMask(rows, temperatures, log_totals(state.logits[rows], temperatures)))
        return original(self, grammar_output)

    return sample_tokens


def _after_the_mask(original: Callable[..., Any]) -> Callable[..., Any]:
    def _sample(self: Any, logits: Any, spec_decode_metadata: Any) -> Any:
        before = self.__dict__.pop(_HELD, None)
        if before is None:
            return original(self, logits, spec_decode_metadata)
        masked = logits[before.rows]  # a copy: the sampler works in place
        output = original(self, logits, spec_decode_metadata)
        given = output.logprobs_tensors
        tokens = output.sampled_token_ids[before.rows, 0].long()
        log_p, log_z = numbers_of(before, masked, tokens)
        given.logprobs[before.rows, 0] = log_p.to(given.logprobs.dtype)
        given.logprobs[before.rows, 1] = log_z.to(given.logprobs.dtype)
        given.logprob_token_ids[before.rows, 1] = NO_ID
        return output

    return _sample


def _rows_that_ask(runner: Any) -> list[int]:
    requests = runner.requests
    return [
        row
        for row, request_id in enumerate(runner.input_batch.req_ids)
        if asks_for(requests[request_id].sampling_params, WEIGHTS)
    ]


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
