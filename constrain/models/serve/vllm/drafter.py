"""A drafter for vLLM: forced bytes, copies of what stands in the prompt, the schema or the output, and a prior.

    vllm serve MODEL --additional-config '{"constrain": {}}' --speculative-config '{"method": "custom_class",
      "model": "constrain.models.serve.vllm.drafter.ConstraintDrafter", "num_speculative_tokens": 8}'

The idea: vLLM verifies one chain of tokens a request. So at each place the surest guess is taken, and every token is
legal under the request's constraint: bytes that must follow, tokenised; else what followed the last tokens before
(`speculative.drafters.lookup`); else the token that most requests had in this state of the constraint. Requests without
a constraint get copies only. Outputs do not depend on drafts: vLLM verifies them, and its grammar is the backend's.

vLLM asks a drafter with the rows of its batch, and does not say which request a row is. The model runner that asks
knows, so it is read from the stack of the call. Constraints are read and compiled again in the worker's process, which
the drafter shares with the model: once for equal ones.

Cost: tens of microseconds a row. Limits: where a reasoning parser is used, nothing is drafted among the thoughts. vLLM
takes no trees, as docs/speculative.md has them.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from constrain.masks.engine.compiled import CompiledConstraint, compile_bytewise
from constrain.masks.engine.matcher import Matcher
from constrain.models.serve.requests.constraints import constraint_of
from constrain.models.serve.requests.options import EngineOptions
from constrain.models.serve.requests.vocabulary import vocabulary_of
from constrain.models.serve.vllm.options import options_in
from constrain.speculative.drafters.forced import longest_match
from constrain.speculative.drafters.lookup import CopyIndex
from constrain.speculative.drafters.tables import DraftTable

logger = logging.getLogger("vllm.constrain")
FRAMES = 4  # of the stack that are looked at
SURE = 0.5  # the share of a state's most frequent token above which the prior names it
SEEN = 2  # how often a state must have been seen for that
SHORTEST, LONGEST = 1, 4  # tokens that must agree for a copy; from 2 on: 1.48 instead of 1.67 tokens a step
MAX_HINT = 20_000  # characters of a constraint's text that is offered for copying


class ConstraintPrior:
    """Counts of the tokens that requests of one constraint wrote in each of its states.

    Attributes:
        compiled: The constraint.
        hint: Its text as token ids: keys and values worth copying.
        counts: State → how often each token came next.
    """

    def __init__(self, compiled: CompiledConstraint, hint: list[int]) -> None:
        self.compiled = compiled
        self.hint = hint
        self.counts: DraftTable[Counter[int]] = DraftTable()

    def count(self, state: int, token: int) -> None:
        seen = self.counts.get(state)
        if seen is None:
            seen = Counter()
            self.counts.keep(state, seen)
        seen[token] += 1

    def guess(self, state: int) -> int | None:
        """The token that most requests had in a state, if it is a safe guess."""
        seen = self.counts.get(state)
        if not seen:
            return None
        [(token, times)] = seen.most_common(1)
        total = seen.total()
        return token if total >= SEEN and times > SURE * total else None


class Draft:
    """One request: what was written, and where its constraint stands.

    Args:
        prior: The request's constraint, with its counts; None: it has none.
        encode: Bytes → token ids.
        begin: How many of the tokens come before the constrained text: the prompt, and thoughts.
        stop_ids: The ids that end the text; none: the vocabulary's.
    """

    def __init__(
        self,
        prior: ConstraintPrior | None,
        encode: Callable[[bytes], Sequence[int]],
        begin: int,
        stop_ids: Sequence[int] = (),
    ) -> None:
        self.prior = prior
        self.encode = encode
        self.read = begin
        self.matcher: Matcher | None = None
        self.index = CopyIndex(SHORTEST, LONGEST, 1)
        if prior is not None:
            self.matcher = prior.compiled.matcher(eos_ids=stop_ids or None)
            self.index.add_text(prior.hint)
        self.index.begin()

    def extend(self, tokens: list[int]) -> bool:
        """Read what is new of a request's tokens. False: its text has ended, or left the constraint."""
        self.index.extend(tokens)
        matcher, prior = self.matcher, self.prior
        if matcher is None or prior is None:
            return True
        new, self.read = tokens[self.read :], len(tokens)
        for token in new:
            state = matcher.state
            if not matcher.advance(token):
                return False
            prior.count(state, token)
        return not matcher.ended

    def propose(self, tokens: list[int], length: int) -> list[int]:
        """Up to `length` tokens that may follow."""
        chain: list[int] = []
        while len(chain) < length:
            more = self._surest([*tokens[-LONGEST:], *chain], length - len(chain))
            taken = self._legal(more)
            chain += more[:taken]
            if not taken:
                break
        if self.matcher is not None:
            self.matcher.rollback(len(chain))
        return chain

    def _surest(self, tail: list[int], length: int) -> Sequence[int]:
        if self.matcher is not None and self.prior is not None:
            forced = self.matcher.forced_bytes()
            if forced:
                return self.encode(forced)[:length]
            likely = self.prior.guess(self.matcher.state)
            if likely is not None:
                return [likely]
        found = self.index.continuations(tail, length)
        return found[0][1] if found else []

    def _legal(self, tokens: Sequence[int]) -> int:
        """Read tokens up to the first that is not allowed; return how many."""
        return len(tokens) if self.matcher is None else self.matcher.advance_tokens(tokens)


class ConstraintDrafter:
    """The drafter of one worker. vLLM makes it from the class's name.

    Args:
        vllm_config: The configuration of the engine.
    """

    def __init__(self, vllm_config: Any) -> None:
        from vllm.tokenizers import cached_tokenizer_from_config

        model = vllm_config.model_config
        self.length: int = vllm_config.speculative_config.num_speculative_tokens
        self.most: int = model.max_model_len
        self.options = options_in(vllm_config) or EngineOptions()
        self.tokenizer = cached_tokenizer_from_config(model_config=model)
        eos = (model.try_get_generation_config() or {}).get("eos_token_id")
        eos_ids = list(eos) if isinstance(eos, (list, tuple)) else [] if eos is None else [eos]
        self.vocabulary = vocabulary_of(self.tokenizer, model.get_vocab_size(), eos_ids)
        self.encode = longest_match(self.vocabulary.tokens)
        self.prior_of = lru_cache(maxsize=self.options.cached)(self._prior_of)
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
            found.append(self._row(ids[row], runner.requests[ids[row]], token_ids_cpu[row, :count].tolist(), room))
        return found

    def _row(self, request_id: str, request: Any, tokens: list[int], room: int) -> list[int]:
        """The chain of one request. A fault costs drafts, not the request."""
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
        return Draft(prior, self.encode, begin, sorted(params.all_stop_token_ids))

    def _begin(self, request: Any, tokens: list[int]) -> int | None:
        """The position at which the constrained text begins; None: not yet."""
        prompt = len(request.prompt_token_ids or [])
        if self.reasoner is None or self.reasoner.is_reasoning_end(tokens[:prompt]):
            return prompt
        if not self.reasoner.is_reasoning_end(tokens):
            return None
        return len(tokens) - len(self.reasoner.extract_content_ids(tokens[prompt:]))

    def _prior_of(self, kind: str, text: str) -> ConstraintPrior:
        compiled = compile_bytewise(constraint_of(kind, text, self.options), self.vocabulary)
        hint = self.tokenizer.encode(text, add_special_tokens=False) if len(text) <= MAX_HINT else []
        return ConstraintPrior(compiled, list(hint))


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
