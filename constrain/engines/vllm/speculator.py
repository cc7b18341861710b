"""The drafter (drafter.py) under vLLM's V2 model runner, which has no door for drafters of others.

    vllm serve MODEL --additional-config '{"constrain": {}}' --speculative-config '{"method": "ngram_gpu",
      "model": "constrain.engines.vllm.drafter.ConstraintDrafter", "num_speculative_tokens": 8}'

The idea: by the method "custom_class" an engine falls back to the V1 runner, without asynchronous scheduling. A
speculator of V2 is an object that the runner asks for int64[requests, drafts] after each step, so where an engine with
n-grams names our class as its model, ours takes the place of the one that copies n-grams.

Cost: one wait for the device a step, for the tokens that it drew; the scheduler goes on meanwhile. V2 verifies a fixed
number of drafts, so what is not drafted is filled with the last token, and refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from constrain.engines.vllm.drafter import ConstraintDrafter
from constrain.engines.vllm.options import takes_place
from constrain.engines.vllm.patches import wrap


class ConstraintSpeculator:
    """As vLLM's `BaseSpeculator`, whose attributes stand first.

    Args:
        vllm_config: The configuration of the engine.
        device: Where tokens are.
        req_states: The runner's `RequestState`: all tokens of each request, by its place.
    """

    supports_mm_inputs = False
    draft_logits = None
    num_query_per_req, num_extra_query_per_req = 1, 0

    def __init__(self, vllm_config: Any, device: Any, req_states: Any) -> None:
        import torch

        self.drafter, self.states = ConstraintDrafter(vllm_config), req_states
        self.requests: dict[str, tuple[Any, list[int]]] = {}  # vLLM's `NewRequestData`, and all tokens so far
        most = vllm_config.scheduler_config.max_num_seqs
        self.chains = torch.zeros((most, self.drafter.length), dtype=torch.int64, device=device)
        self.window = torch.arange(-self.drafter.length - 1, 0, device=device)  # of the tokens that a step may add

    def init_cudagraph_manager(self, cudagraph_mode: Any) -> None:
        """There is no model to capture."""

    def capture(self) -> None:
        """There is no model to capture."""

    def read(self, scheduled: Any) -> None:
        """Note the requests that begin, or begin again, in a step, and forget the finished ones."""
        for ended in scheduled.finished_req_ids:
            self.requests.pop(ended, None)
            self.drafter.drafts.pop(ended, None)
        for new in scheduled.scheduled_new_reqs:
            self.requests[new.req_id] = new, list(new.prefill_token_ids)

    def propose(
        self, input_batch: Any, _metadata: Any, _slots: Any, _hidden: Any, _aux: Any, num_sampled: Any, *_: Any,
        dummy_run: bool = False, **__: Any,
    ) -> Any:  # fmt: skip
        """A chain for each request of the batch.

        Args:
            input_batch: The batch of the step before.
            num_sampled: int32[requests], how many tokens each has got in it; 0: its prompt is not read yet.
            dummy_run: Nothing is read; vLLM asks how long it takes.

        Returns:
            Token ids, int64[requests, drafts], on the device.
        """
        import torch

        chains = self.chains[: input_batch.num_reqs]
        if dummy_run:
            return chains
        places = input_batch.idx_mapping
        lengths = self.states.total_len.gpu[places]
        ends = (lengths[:, None] + self.window).clamp(min=0)
        last = self.states.all_token_ids.gpu[places[:, None], ends]
        told = torch.cat([lengths[:, None], num_sampled[:, None], last], dim=1).tolist()  # the one wait for the device
        found = []
        for name, (length, sampled, *tokens) in zip(input_batch.req_ids, told, strict=True):
            chain = self._row(name, length, tokens) if sampled else []
            found.append([*chain, *tokens[-1:] * (chains.shape[1] - len(chain))])
        chains.copy_(torch.tensor(found), non_blocking=True)
        return chains

    def _row(self, name: str, length: int, last: list[int]) -> list[int]:
        """The chain of a request that has so many tokens, of which these are the last ones."""
        request, text = self.requests[name]
        new = length - len(text)
        if not 0 <= new <= len(last):  # not as the runner of a tested version counts
            return []
        text += last[len(last) - new :]
        room = min(self.drafter.length, self.drafter.most - length - 1)
        return self.drafter.chain(name, request, text, room) if room > 0 else []


def install() -> None:
    """Take the place of the speculator by n-grams in this process, for engines that name the drafter."""
    from vllm.v1.worker.gpu import model_runner

    wrap(model_runner, "init_speculator", _of_ours)
    wrap(model_runner.GPUModelRunner, "add_requests", _telling)


def _of_ours(original: Callable[..., Any]) -> Callable[..., Any]:
    def init_speculator(vllm_config: Any, device: Any, req_states: Any) -> Any:
        make = ConstraintSpeculator if takes_place(vllm_config) else original
        return make(vllm_config, device, req_states)

    return init_speculator


def _telling(original: Callable[..., Any]) -> Callable[..., Any]:
    def add_requests(self: Any, scheduler_output: Any) -> Any:
        if isinstance(self.speculator, ConstraintSpeculator):
            self.speculator.read(scheduler_output)
        return original(self, scheduler_output)

    return add_requests
