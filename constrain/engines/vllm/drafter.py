"""A drafter for vLLM: forced bytes, copies of what stands in the prompt, the schema or the output, and a prior.

    vllm serve MODEL --additional-config '{"constrain": {}}' --speculative-config '{"method": "custom_class",
      "model": "constrain.engines.vllm.drafter.ConstraintDrafter", "num_speculative_tokens": 8}'

The idea: vLLM verifies one chain of tokens a request. So at each place the surest guess is taken (chains.py), and every
token is legal under the request's constraint. Requests without a constraint get copies only. Outputs do not depend on
drafts: vLLM verifies them, and its grammar is the backend's.

vLLM asks a drafter with the rows of its batch, and does not say which request a row is. The model runner that asks
knows, so it is read from the stack of the call. Constraints are read and compiled again in the worker's process, which
the drafter shares with the model: once for equal ones.

Cost: tens of microseconds a row. Limits: where a reasoning parser is used, nothing is drafted among the thoughts. vLLM
takes no trees, as docs/speculative.md has them.
"""

from __future__ import annotations

import logging
import sys
from functools import lru_cache
from typing import Any

from constrain.engines.requests.compiler import RequestCompiler
from constrain.engines.requests.options import EngineOptions
from constrain.engines.vllm.chains import FADE, ConstraintPrior, Draft
from constrain.engines.vllm.options import options_in
from constrain.languages.vocab.longest import longest_match
from constrain.speculative.drafters.tally import Tally

logger = logging.getLogger("vllm.constrain")
FRAMES = 4  # of the stack that are looked at
MAX_HINT = 20_000  # characters of a constraint's text that is offered for copying


class ConstraintDrafter:
    """The drafter of one worker. vLLM makes it from the class's name.

    Args:
        vllm_config: The configuration of the engine.
    """

    warned = False  # that no model runner was found

    def __init__(self, vllm_config: Any) -> None:
        from vllm.tokenizers import cached_tokenizer_from_config

        model = vllm_config.model_config
        self.length: int = vllm_config.speculative_config.num_speculative_tokens
        self.most: int = model.max_model_len
        self.tokenizer = cached_tokenizer_from_config(model_config=model)
        eos = (model.try_get_generation_config() or {}).get("eos_token_id")
        eos_ids = list(eos) if isinstance(eos, (list, tuple)) else [] if eos is None else [eos]
        options = options_in(vllm_config) or EngineOptions()
        self.compiler = RequestCompiler(self.tokenizer, model.get_vocab_size(), options, eos_ids, resumes=False)
        self.encode = longest_match(self.compiler.vocabulary.tokens)
        self.prior_of = lru_cache(maxsize=options.cached)(self._prior_of)
        self.tally = Tally(FADE)
        self.drafts: dict[str, Draft | None] = {}  # None: nothing more is drafted for the request
        self.reasoner = _reasoner(vllm_config, self.tokenizer)

    def load_model(self, *arguments: Any, **named: Any) -> None:
        """vLLM loads the models of drafters. There is none."""

    def propose(
        self,
        sampled_token_ids: list[list[int]],
        num_tokens_no_spec: Any,
        token_ids_cpu: Any,
        slot_mappings: Any = None,
    ) -> list[list[int]]:
        """A chain for each row of the batch.

        Args:
            sampled_token_ids: What each row has just got; nothing: its prompt is not read yet.
            num_tokens_no_spec: int[rows], how many tokens each row has.
            token_ids_cpu: int[rows, >= tokens], its tokens.
            slot_mappings: Not used.

        Returns:
            Token ids for each row; [] where nothing is drafted.
        """
        runner = _runner()
        if runner is None:
            if not self.warned:
                logger.warning("constrain: nothing is drafted: the model runner that asks was not found")
            self.warned = True
            return [[] for _ in sampled_token_ids]
        ids = list(runner.input_batch.req_ids)
        for gone in self.drafts.keys() - ids:
            del self.drafts[gone]
        found: list[list[int]] = []
        for row, sampled in enumerate(sampled_token_ids):
            count = int(num_tokens_no_spec[row])
            room = min(self.length, self.most - count - 1)
            if not sampled or room <= 0:
                found.append([])
                continue
            found.append(self.chain(ids[row], runner.requests[ids[row]], token_ids_cpu[row, :count].tolist(), room))
        return found

    def chain(self, request_id: str, request: Any, tokens: list[int], room: int) -> list[int]:
        """The chain of one request with these tokens, at most `room` long. A fault costs drafts, not the request."""
        try:
            if request_id not in self.drafts:
                begin = self._begin(request, tokens)
                if begin is None:  # it is still thinking
                    return []
                self.drafts[request_id] = self._begun(request, begin)
            draft = self.drafts[request_id]
            if draft is None:
                return []
            if not draft.extend(tokens):
                self.drafts[request_id] = None
                return []
            return draft.propose(tokens, room)
        except Exception:
            logger.exception("constrain: nothing more is drafted for request %s", request_id)
            self.drafts[request_id] = None
            return []

    def _begun(self, request: Any, begin: int) -> Draft:
        params = request.sampling_params
        asked = getattr(params, "structured_outputs", None)
        prior = None
        if asked is not None:
            from vllm.v1.structured_output.request import get_structured_output_key

            kind, text = get_structured_output_key(asked)
            prior = self.prior_of(kind.name.lower(), text)
        return Draft(prior, self.encode, begin, self._stops(params), self.tally)

    def _stops(self, params: Any) -> list[int]:
        """The ids that end a request's text; none: those of the vocabulary."""
        vocabulary = self.compiler.vocabulary
        stops = sorted(token for token in params.all_stop_token_ids if 0 <= token < vocabulary.size)
        return [] if tuple(stops) == vocabulary.eos_ids else stops

    def _begin(self, request: Any, tokens: list[int]) -> int | None:
        """The position at which the constrained text begins; None: not yet."""
        prompt = len(request.prompt_token_ids or [])
        if self.reasoner is None or self.reasoner.is_reasoning_end(tokens[:prompt]):
            return prompt
        if not self.reasoner.is_reasoning_end(tokens):
            return None
        return len(tokens) - len(self.reasoner.extract_content_ids(tokens[prompt:]))

    def _prior_of(self, kind: str, text: str) -> ConstraintPrior:
        hint = self.tokenizer.encode(text, add_special_tokens=False) if len(text) <= MAX_HINT else []
        return ConstraintPrior(self.compiler.compiled(kind, text), list(hint))


def _runner() -> Any:
    """The model runner that asks; None: the stack is another one."""
    frame = sys._getframe(1)
    for _ in range(FRAMES):
        if frame is None:
            return None
        runner = frame.f_locals.get("self")
        if hasattr(runner, "input_batch") and hasattr(runner, "requests"):
            return runner
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _reasoner(vllm_config: Any, tokenizer: Any) -> Any:
    """The parser that knows where thoughts end; None: there are none, or they are constrained too."""
    settings = vllm_config.structured_outputs_config
    if not settings.reasoning_parser or settings.enable_in_reasoning:
        return None
    from vllm.reasoning import ReasoningParserManager

    return ReasoningParserManager.get_reasoning_parser(settings.reasoning_parser)(tokenizer)
