"""A processor of logits for vLLM that pushes each request towards the ids in its `extra_args`, one a step."""

from __future__ import annotations

from typing import Any

from vllm.v1.sample.logits_processor import AdapterLogitsProcessor

PUSH = 60.0  # added to the logit of the next token


class Pushing(AdapterLogitsProcessor):
    """Pushes the requests that have ids to be pushed to."""

    def is_argmax_invariant(self) -> bool:
        """False: it chooses the token."""
        return False

    def new_req_logits_processor(self, params: Any) -> Any:
        """The processor of a request; None: nothing is pushed."""
        ids = (params.extra_args or {}).get("push")
        if not ids:
            return None
        steps = iter(ids)

        def push(output_ids: list[int], logits: Any) -> Any:
            logits[next(steps, ids[-1])] += PUSH
            return logits

        return push
