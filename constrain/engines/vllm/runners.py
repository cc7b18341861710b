"""In vLLM's workers: a token's log p and log Z, from the logits before and after the mask, by either model runner.

The idea: a runner computes logits, masks them in place, and gives them to a sampler, whose log-probabilities of a token
travel with it. Functions around these places note log Σ exp before the mask, and write the two numbers in place of the
log-probabilities of the rows that ask (recording.py).

* *V1*: `sample_tokens` has the logits before the mask, `_sample` after it. One token a step: drafts are not recorded.
* *V2*, vLLM's default on GPUs: `apply_grammar_bitmask` has them before, both samplers after. A row of logits is a place
  of a draft, too, and the row's request is known on the device alone. So all rows are computed where any asks, and
  nothing waits for the device; rows behind a refused draft are computed and not read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from constrain.engines.vllm.patches import wrap
from constrain.engines.vllm.recording import NO_ID, WEIGHTS, asks_for

_HELD = "_before_the_mask_of_constrain"
_ASKING = "_temperatures_of_constrain"
_SAMPLER = "_sampler_of_constrain"


class BeforeMask(NamedTuple):
    """Rows of a batch that ask, before the mask.

    Attributes:
        rows: Their places, or, of all rows, bool[R]: which ask.
        temperatures: float[R]; None where all are 1.
        log_totals: log Σ exp of their logits, float[R].
    """

    rows: Any
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


def own_temperature(params: Any) -> float:
    """The temperature at which the numbers of a request are told: 1 where nothing is drawn."""
    return params.temperature if params.temperature > 0 else 1.0


# --- the V1 model runner ----------------------------------------------------------------------------------------------


def install_v1() -> None:
    """Record in this process. A worker calls it, which has the model runner imported."""
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner

    wrap(GPUModelRunner, "sample_tokens", _before_the_mask)
    wrap(GPUModelRunner, "_sample", _after_the_mask)


def _before_the_mask(original: Callable[..., Any]) -> Callable[..., Any]:
    def sample_tokens(self: Any, grammar_output: Any) -> Any:
        state = self.execute_model_state
        asking = {} if state is None or state.spec_decode_metadata is not None else _rows_that_ask(self)
        if asking and state.logits is not None:
            import torch

            rows, given = list(asking), list(asking.values())
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


def _rows_that_ask(runner: Any) -> dict[int, float]:
    """The places of a batch that ask, with their temperatures."""
    params = [runner.requests[each].sampling_params for each in runner.input_batch.req_ids]
    return {row: own_temperature(each) for row, each in enumerate(params) if asks_for(each, WEIGHTS)}


# --- the V2 model runner ----------------------------------------------------------------------------------------------


def install_v2() -> None:
    """Record in this process, where `VllmConfig.use_v2_model_runner`."""
    from vllm.v1.worker.gpu.model_runner import GPUModelRunner
    from vllm.v1.worker.gpu.sample.sampler import Sampler
    from vllm.v1.worker.gpu.spec_decode.rejection_sampler import RejectionSampler
    from vllm.v1.worker.gpu.structured_outputs import StructuredOutputsWorker

    wrap(Sampler, "add_request", _noting_who_asks)
    wrap(GPUModelRunner, "sample", _showing_its_sampler)
    wrap(StructuredOutputsWorker, "apply_grammar_bitmask", _before_the_bitmask)
    wrap(Sampler, "__call__", _after_the_bitmask)
    wrap(RejectionSampler, "__call__", _after_the_bitmask)


def _noting_who_asks(original: Callable[..., Any]) -> Callable[..., Any]:
    def add_request(self: Any, req_idx: int, sampling_params: Any) -> Any:
        asking = self.__dict__.setdefault(_ASKING, {})
        asking.pop(req_idx, None)  # of a request that had this place before
        if asks_for(sampling_params, WEIGHTS):
            asking[req_idx] = own_temperature(sampling_params)
        return original(self, req_idx, sampling_params)

    return add_request


def _showing_its_sampler(original: Callable[..., Any]) -> Callable[..., Any]:
    def sample(self: Any, *arguments: Any, **named: Any) -> Any:
        if self.structured_outputs_worker is not None:
            setattr(self.structured_outputs_worker, _SAMPLER, self.sampler)
        return original(self, *arguments, **named)

    return sample


def _before_the_bitmask(original: Callable[..., Any]) -> Callable[..., Any]:
    def apply_grammar_bitmask(self: Any, logits: Any, input_batch: Any, *rest: Any, **named: Any) -> Any:
        setattr(input_batch, _HELD, _before(getattr(self, _SAMPLER, None), logits, input_batch))
        return original(self, logits, input_batch, *rest, **named)

    return apply_grammar_bitmask


def _after_the_bitmask(original: Callable[..., Any]) -> Callable[..., Any]:
    """Put around the call of a sampler, plain or with drafts."""

    def sample(self: Any, logits: Any, input_batch: Any, *rest: Any, **named: Any) -> Any:
        if _HELD not in input_batch.__dict__:  # nothing is masked in this step
            setattr(input_batch, _HELD, _before(getattr(self, "sampler", self), logits, input_batch))
        before = input_batch.__dict__.pop(_HELD)
        if before is None:
            return original(self, logits, input_batch, *rest, **named)
        masked = logits.clone()  # the sampler may work in place
        output = original(self, logits, input_batch, *rest, **named)
        given = output.logprobs_tensors
        log_p, log_z = numbers_of(before, masked, given.logprob_token_ids[:, 0].long())
        for column, numbers in enumerate((log_p, log_z)):
            kept = given.logprobs[:, column]
            kept.copy_(numbers.to(kept.dtype).where(before.rows, kept))
        given.logprob_token_ids[:, 1].masked_fill_(before.rows, NO_ID)
        return output

    return sample


def _before(sampler: Any, logits: Any, input_batch: Any) -> BeforeMask | None:
    """All rows of a batch before the mask; None: nobody asks."""
    import torch

    asking = getattr(sampler, _ASKING, {})
    asked = {asking[place] for place in input_batch.idx_mapping_np.tolist() if place in asking}
    if not asked:
        return None
    table = torch.zeros(max(input_batch.idx_mapping_np.max(), *asking) + 1)  # of places of requests; 0: does not ask
    table[list(asking)] = torch.tensor(list(asking.values()))
    temperatures = table.to(logits.device, non_blocking=True)[input_batch.expanded_idx_mapping.long()]
    rows = temperatures > 0
    shaped = None if asked == {1.0} else temperatures.where(rows, 1.0)
    return BeforeMask(rows, shaped, log_totals(logits, shaped))
