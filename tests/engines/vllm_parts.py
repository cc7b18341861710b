"""An engine with the outside of `vllm.LLM`, as far as constrain uses it: a table of probabilities, and a plain loop.

It answers requests as vLLM does: masked decoding of a request's constraint, log-probabilities after the mask, those of
a prompt before it, all tokens of a row in the order of their probability. `records`: it has the hooks of recording.py.
"""

from __future__ import annotations

import json
import math
import random
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from finite_language import VOCABULARY

import constrain
from constrain.engines.requests.constraints import constraint_of
from constrain.engines.requests.options import EngineOptions
from constrain.engines.vllm.model import VLLMModel
from constrain.engines.vllm.recording import NO_ID, ROW, WEIGHTS, RowLogprobs, asks_for, begun_in, row_of
from constrain.masks.derived.wanted_cuts import narrowed
from constrain.papers import NGram

DEFAULTS: dict[str, Any] = {
    "max_tokens": 16, "temperature": 1.0, "seed": None, "logprobs": None, "prompt_logprobs": None,
    "logprob_token_ids": None, "flat_logprobs": False, "detokenize": True, "structured_outputs": None,
    "extra_args": None,
}  # fmt: skip


def install(patch: pytest.MonkeyPatch) -> None:
    """Let `from vllm import SamplingParams` find these parameters."""
    vllm, params = ModuleType("vllm"), ModuleType("vllm.sampling_params")
    vllm.SamplingParams = lambda **given: SimpleNamespace(**{**DEFAULTS, **given})  # type: ignore[attr-defined]
    params.StructuredOutputsParams = lambda **given: given  # type: ignore[attr-defined]
    patch.setitem(sys.modules, "vllm", vllm)
    patch.setitem(sys.modules, "vllm.sampling_params", params)


class Flat:
    """As vLLM's `FlatLogprobs`."""

    def __init__(self) -> None:
        self.start_indices: list[int] = []
        self.end_indices: list[int] = []
        self.token_ids: list[int] = []
        self.logprobs: list[float] = []

    def add(self, *pairs: tuple[int, float]) -> None:
        self.start_indices.append(len(self.token_ids))
        self.token_ids += [token for token, _ in pairs]
        self.logprobs += [value for _, value in pairs]
        self.end_indices.append(len(self.token_ids))

    def first(self, count: int) -> Flat:
        """The log probabilities of the first tokens."""
        few = Flat()
        for start, end in zip(self.start_indices[:count], self.end_indices[:count], strict=True):
            few.add(*zip(self.token_ids[start:end], self.logprobs[start:end], strict=True))
        return few


class ToyEngine:
    """As vLLM's `LLMEngine`: requests that run side by side, some now and then a step behind.

    Attributes:
        running: The requests, with what each has to say, and how much of it was told.
        aborted: The number of requests that were taken back.
    """

    def __init__(self, llm: ToyLLM, vllm_config: Any) -> None:
        self.llm, self.vllm_config = llm, vllm_config
        self.running: dict[str, tuple[Any, int]] = {}
        self.aborted = self.steps = 0

    def add_request(self, request_id: str, prompt: Any, params: Any) -> str:
        assert request_id not in self.running
        self.llm.asked += 1
        [answer] = self.llm.answer(prompt["prompt_token_ids"], params).outputs
        self.running[request_id] = answer, 0
        return request_id

    def step(self) -> list[Any]:
        self.steps += 1
        told = []
        for number, (name, (answer, known)) in enumerate(list(self.running.items())):
            if (self.steps + number) % 5 == 0:
                continue
            now = SimpleNamespace(token_ids=answer.token_ids[: known + 1], logprobs=answer.logprobs.first(known + 1))
            finished = known + 1 == len(answer.token_ids)
            told.append(SimpleNamespace(request_id=name, outputs=[now], finished=finished))
            self.running[name] = answer, known + 1
            if finished:
                del self.running[name]
        return told

    def abort_request(self, request_ids: list[str]) -> None:
        for name in request_ids:
            del self.running[name]
        self.aborted += len(request_ids)


class ToyLLM:
    """An engine over `finite_language.VOCABULARY`, or another vocabulary.

    Attributes:
        asked: The number of requests so far.
    """

    def __init__(
        self,
        table: list[list[float]],
        *,
        records: bool = True,
        backend: bool = True,
        vocabulary: constrain.Vocabulary = VOCABULARY,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.model, self.records, self.asked = NGram(table), records, 0
        self.vocabulary, self.options = vocabulary, EngineOptions(**(options or {}))
        model = SimpleNamespace(
            runner_type="generate", skip_tokenizer_init=False, max_model_len=64, max_logprobs=-1,
            get_vocab_size=lambda: vocabulary.size, try_get_generation_config=dict,
        )  # fmt: skip
        config = SimpleNamespace(
            model_config=model, additional_config={"constrain": options or {}} if backend else {},
            speculative_config=None,
            structured_outputs_config=SimpleNamespace(backend="auto"),
        )  # fmt: skip
        self.llm_engine = ToyEngine(self, config)

    def get_tokenizer(self) -> Any:
        return None

    def row(self, prefix: list[int], temperature: float = 1.0) -> torch.Tensor:
        logits = self.model.start([prefix], [1])[1][0][0]
        return (logits / (temperature or 1.0)).log_softmax(-1)

    def generate(self, prompts: list[Any], params: list[Any], use_tqdm: bool) -> list[Any]:
        assert not use_tqdm
        self.asked += len(prompts)
        return [self.answer(each["prompt_token_ids"], how) for each, how in zip(prompts, params, strict=True)]

    def answer(self, prompt: list[int], how: Any) -> Any:
        assert prompt and len(prompt) < 64
        read = Flat()
        if how.prompt_logprobs is not None:
            read.add()
            for place, token in enumerate(prompt[1:], 1):
                row = self.row(prompt[:place])
                read.add((token, float(row[token])), (int(row.argmax()), float(row.max())))
        matcher = None
        if how.structured_outputs:
            [(kind, said)] = how.structured_outputs.items()
            text = said if isinstance(said, str) else json.dumps(said)
            compiled = constrain.compile(constraint_of(kind, text, self.options), self.vocabulary)
            matcher = narrowed([compiled], self.options.canonical)[0][0].matcher()
            begun = begun_in(how)
            for token in prompt[len(prompt) - begun :]:
                assert matcher.advance(token)
        chance, ids, told = random.Random(how.seed), [], Flat()
        rows = RowLogprobs()
        while len(ids) < how.max_tokens and (not ids or ids[-1] not in self.vocabulary.eos_ids):
            raw = self.row([*prompt, *ids])
            masked, mass = self.masked([*prompt, *ids], matcher, how.temperature)
            probabilities = masked.exp().tolist()
            greedy = max(range(len(probabilities)), key=probabilities.__getitem__)
            [token] = chance.choices(range(len(probabilities)), probabilities) if how.temperature else [greedy]
            if matcher is not None:
                assert matcher.advance(token)
            if asks_for(how, ROW):
                order = raw.argsort(descending=True)
                rows.rows.append(row_of(order.numpy(), raw[order].numpy()))
            elif how.logprobs == 1 and self.records and asks_for(how, WEIGHTS):
                told.add((token, float(masked[token]) + mass), (NO_ID, mass))
            elif how.logprobs == 1:
                after = self.masked([*prompt, *ids], matcher, 1.0, advanced=token)[0]
                told.add((token, float(after[token])), (int(after.argmax()), float(after.max())))
            elif how.logprob_token_ids:
                told.add((token, float(raw[token])), *((each, float(raw[each])) for each in how.logprob_token_ids))
            ids.append(token)
        logprobs = rows if asks_for(how, ROW) else told
        output = SimpleNamespace(token_ids=ids, logprobs=logprobs, finish_reason="stop")
        return SimpleNamespace(outputs=[output], prompt_logprobs=read)

    def masked(
        self, prefix: list[int], matcher: Any, temperature: float, advanced: int | None = None
    ) -> tuple[torch.Tensor, float]:
        """Log-probabilities after the mask, and log of the mass that it leaves. advanced: a token to take back."""
        row = self.row(prefix, temperature).double()
        if matcher is None:
            return row, 0.0
        bits = np.zeros(self.vocabulary.words, np.uint32)
        if advanced is not None:
            matcher.rollback(1)
        matcher.fill_mask(bits)
        if advanced is not None:
            matcher.advance(advanced)
        allowed = np.unpackbits(bits.view(np.uint8), bitorder="little")[: len(row)].astype(bool)
        kept = row.masked_fill(~torch.from_numpy(allowed), -math.inf)
        mass = kept.logsumexp(0)
        return kept - mass, float(mass)


def handle_of_toy(llm: ToyLLM, *, rescore: bool = False) -> VLLMModel:
    """The handle of such an engine, which has no tokenizer."""
    handle = VLLMModel(llm, rescore=rescore)
    handle.__dict__.update(vocabulary=llm.vocabulary, steps=True)
    return handle
