"""genlm-control beside this library, on the same model object: AWRS inside SMC, as its authors run it.

Its batches are sent as soon as all particles have asked (batch_size = particles), and the prompt's keys and values are
cached beforehand: faster than its defaults. A call that ends in an assertion of its own — 0.4.1 does so where valid
mass is tiny — is counted in `failures` and gives no particles. Needs `pip install genlm-control`; see `available`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
import warnings
from collections.abc import Iterator
from typing import Any

from faithful_cases import Case

Atoms = list[tuple[bytes, float]]


def available() -> bool:
    """genlm-control can be imported."""
    return importlib.util.find_spec("genlm") is not None and importlib.util.find_spec("genlm.control") is not None


class Genlm:
    """AWRS-SMC for a case; `together` of its calls run side by side, and share batches of the model."""

    def __init__(self, case: Case, seed: int, particles: int, ess_threshold: float = 0.5, together: int = 1) -> None:
        self.case, self.seed, self.particles, self.ess_threshold = case, seed, particles, ess_threshold
        self.together = together
        self.calls = self.failures = 0
        self._begin()

    def _begin(self) -> None:
        from genlm.backend.llm import AsyncTransformer
        from genlm.control import AWRS, PromptedLLM

        warnings.filterwarnings("ignore")  # that the language uses few tokens
        handle = self.case.handle
        self.loop = asyncio.new_event_loop()  # kept: its batches wait on it from one call to the next
        self.loop.set_exception_handler(lambda *_: None)
        self.model = AsyncTransformer(
            handle.model, handle.tokenizer, batch_size=self.particles * self.together, timeout=0.02
        )
        llm = PromptedLLM(self.model, prompt_ids=self.case.prompt_ids)
        language = _language(self.case).coerce(llm, f=b"".join)
        self.sampler = AWRS(llm, language, seed=self.seed + 1000 * self.failures)

    def __call__(self) -> list[tuple[Atoms, int]]:
        """(weighted texts, forwards as sequences) of each call; nothing is kept from what ran before."""
        self.calls += self.together
        self.model.clear_cache()
        found = []
        results = self.loop.run_until_complete(self._run())
        for result in results:
            if isinstance(result, AssertionError):
                self.failures += 1
                found.append(([], self.particles))  # at least the first token of each
            elif isinstance(result, BaseException):
                raise result
            else:
                found.append(self._read(result))
        if any(isinstance(result, AssertionError) for result in results):
            self.loop.run_until_complete(self._end())
            self._begin()
        return found

    def _read(self, sequences: Any) -> tuple[Atoms, int]:
        forwards = sum(map(len, sequences.contexts))
        done = [
            (context[:-1], float(weight))
            for context, weight in zip(sequences.contexts, sequences.log_weights, strict=True)
            if weight > -math.inf and not hasattr(context[-1], "token_id")  # the end is a symbol of its own
        ]
        return [(b"".join(token.byte_string for token in tokens), weight) for tokens, weight in done], forwards

    async def _run(self) -> list[Any]:
        self.model.cache_kv(tuple(self.case.prompt_ids))
        calls = [
            self.sampler.smc(
                n_particles=self.particles, ess_threshold=self.ess_threshold, max_tokens=self.case.max_tokens
            )
            for _ in range(self.together)
        ]
        return await asyncio.gather(*calls, return_exceptions=True)

    async def _end(self) -> None:
        """Cancel what a failed call left behind."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _language(case: Case) -> Any:
    from genlm.control import BoolCFG, BoolFSA, JsonSchema

    if case.pattern is not None:
        return BoolFSA.from_regex(case.pattern)
    return BoolCFG.from_lark(case.grammar) if case.schema is None else JsonSchema(json.loads(case.schema))


def runner(case: Case, seed: int, particles: int) -> Iterator[tuple[int, Atoms]]:
    """As in faithful_methods.py."""
    method = Genlm(case, seed, particles)
    while True:
        ((atoms, forwards),) = method()
        yield forwards, atoms
