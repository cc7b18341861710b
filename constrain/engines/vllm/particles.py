"""`smc` inside vLLM: particles are requests side by side, and a fork of one goes on as a new request.

The idea: token by token, each token of each particle is a request that reads the text behind its last full block of the
cache, and answers with a row of logits. Here a particle is one request under the engine's own mask, with the numbers
that come with its tokens (masked.py), and stays in the batch from its first token to its last. The particles of a row
are compared at the token that all of them have reached. Where their weights are too uneven, ancestors are chosen: the
first copy of one goes on as the request that it is, with the tokens that it wrote beyond that place, which are draws
of its own; further copies are new requests whose prompt has the text so far; the requests of the others are ended.

Distribution and weights: those of `constrain.sampling.methods.smc`; so is what is random but for the tokens, which the
engine draws, each request by a seed from the row's stream. Outputs are repeatable.
Cost: that of as many whole outputs, and for each fork what its prompt has behind the last full block.
Limits: particles without a potential or a check, compared at every token, with one child each; a worker that records
weights. All else goes token by token (model.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from constrain.engines.vllm.masked import EngineDecoding, recorded, records_of, seed_of, take_token, temperature_of
from constrain.engines.vllm.model import VLLMModel
from constrain.sampling.core.draw import substream
from constrain.sampling.core.job import Job, Sample, TokenRecord
from constrain.sampling.core.particles import Particle
from constrain.sampling.core.resampling import effective_size, resample
from constrain.sampling.core.sampler import Sampler
from constrain.sampling.core.shape import shaped
from constrain.sampling.methods.smc import AWRS, SMC, drawn_of_population

_numbers = count()  # of requests, in this process


@dataclass
class _Slot:
    """A particle with its request.

    Attributes:
        particle: The particle, as far as it was compared.
        request: The request's id; empty: there is none, for the text has ended.
        begun: Tokens of the text that the request's prompt has.
        ahead: Tokens beyond what was compared.
        finished: The engine is done with the request.
    """

    particle: Particle
    request: str = ""
    begun: int = 0
    ahead: list[TokenRecord] = field(default_factory=list)
    finished: bool = False

    @property
    def waits(self) -> bool:
        """True if the engine has to write its next token."""
        return not (self.particle.ended or self.ahead or self.finished)


class EngineSMC(Sampler):
    """Sequential Monte Carlo by an engine.

    Args:
        decoding: Masked decoding by the engine.
        options: The particles; see `does`.
    """

    name = "smc"
    needs_chance = True
    distribution = SMC.distribution

    def __init__(self, decoding: EngineDecoding, options: SMC) -> None:
        self.decoding = decoding
        self.options = options

    @classmethod
    def does(cls, model: VLLMModel, method: Any) -> bool:
        """True if an engine can do what a method does."""
        if type(method) not in (SMC, AWRS) or method.potential is not None or method.check is not None:
            return False
        if method.boundary != "token" or method.children != 1:
            return False
        ends_in_time = model.options is not None and model.options.complete
        return model.records and model.steps and not ends_in_time

    def run(self, job: Job) -> list[Sample]:
        """One sample a row, drawn from the particles of that row, which are its `population`."""
        run = _Run(self.decoding, self.options, shaped(job))
        try:
            with job.clock.stage("model"):
                run.begin()
                while run.waiting:
                    run.step()
        finally:
            run.close()
        return [run.result(row) for row in run.rows]


class _Run:
    """The state of one call. `of_row` holds the slots of each row."""

    def __init__(self, decoding: EngineDecoding, options: SMC, job: Job) -> None:
        self.decoding, self.options, self.job = decoding, options, job
        self.engine = decoding.model.llm.llm_engine
        self.temperature = temperature_of(job)
        self.rows = range(len(job.prompts))
        self.written = [0] * len(job.prompts)  # tokens that the engine wrote
        self.ended: set[int] = set()  # rows
        self.requests: dict[str, _Slot] = {}  # those that run
        self.of_row: list[list[_Slot]] = []

    def begin(self) -> None:
        """Ask for all particles."""
        for row in self.rows:
            stream = substream(self.job.streams[row], self.options.particles + 2)  # of all seeds of the row
            self.of_row.append([_Slot(Particle(self.job, row, stream)) for _ in range(self.options.particles)])
            for slot in self.of_row[row]:
                self._ask(slot)

    @property
    def waiting(self) -> bool:
        """True if the engine has tokens to write."""
        return bool(self.requests)

    def step(self) -> None:
        """Let the engine write a token of each request, and compare the particles that all have one more."""
        for output in self.engine.step():
            slot = self.requests.get(output.request_id)
            if slot is not None:
                self._read(slot, output)
        for row, slots in enumerate(self.of_row):
            while not all(slot.particle.ended for slot in slots) and not any(slot.waits for slot in slots):
                self._compare(row)
                slots = self.of_row[row]
            if row not in self.ended and all(slot.particle.ended for slot in slots):
                self.ended.add(row)
                self.job.watcher.ended(row)

    def close(self) -> None:
        """End the requests that still run."""
        self._end(list(self.requests.values()))

    def _ask(self, slot: _Slot) -> None:
        """Make the request of a particle's next tokens."""
        particle = slot.particle
        if particle.ended:
            return
        text = particle.sample.tokens
        slot.request, slot.begun = f"constrain-particle-{next(_numbers)}", len(text)
        params = self.decoding.params(particle.left, seed_of(self.job, particle), self.temperature, len(text))
        prompt = {"prompt_token_ids": [*self.job.prompts[particle.row], *text]}
        self.requests[slot.request] = slot
        self.engine.add_request(slot.request, prompt, params)

    def _end(self, slots: Sequence[_Slot]) -> None:
        """Take requests from the engine."""
        running = [slot.request for slot in slots if self.requests.pop(slot.request, None) is not None]
        if running:
            self.engine.abort_request(running)

    def _read(self, slot: _Slot, output: Any) -> None:
        """Note the tokens that are new in the output of a request, which has all of its tokens."""
        [written] = output.outputs
        known = len(slot.particle.sample.tokens) - slot.begun + len(slot.ahead)
        new = records_of(written.token_ids, recorded(written), self.temperature)[known:]
        slot.ahead += new
        self.written[slot.particle.row] += len(new)
        if output.finished:
            slot.finished = True
            del self.requests[slot.request]

    def _compare(self, row: int) -> None:
        """Give each particle of a row its next token, and choose among them where their weights are uneven."""
        slots = self.of_row[row]
        for slot in slots:
            particle = slot.particle
            if particle.ended:
                continue
            if slot.ahead:
                take_token(self.job, particle, slot.ahead.pop(0))
            else:  # the engine gave up: a limit of its own
                particle.dead_end()
            if particle.ended and particle.sample.finish_reason == "length":
                particle.sample.log_weight = -math.inf  # cut off: no member
        self._end([slot for slot in slots if slot.particle.ended])
        weights = [slot.particle.sample.log_weight for slot in slots]
        going = [slot for slot in slots if not slot.particle.ended]
        if going and max(weights) > -math.inf:
            if effective_size(weights) < self.options.ess_threshold * self.options.particles:
                self._choose(row, weights)

    def _choose(self, row: int, weights: Sequence[float]) -> None:
        """Resample the particles of a row."""
        slots, particles = self.of_row[row], self.options.particles
        stream = substream(self.job.streams[row], particles)
        ancestors, new = resample(self.options.resampling, weights, particles, self.job.draw, stream)
        self._end([slot for place, slot in enumerate(slots) if place not in ancestors])
        chosen: list[_Slot] = []
        used: set[int] = set()
        for ancestor, weight in zip(ancestors, new, strict=True):
            slot = slots[ancestor]
            if ancestor in used:
                slot = _Slot(slot.particle.fork(slot.particle.stream))
                self._ask(slot)
            used.add(ancestor)
            slot.particle.sample.log_weight = weight
            chosen.append(slot)
        self.of_row[row] = chosen

    def result(self, row: int) -> Sample:
        """The output of a row."""
        population = [slot.particle.sample for slot in self.of_row[row]]
        chosen = drawn_of_population(self.job, row, population, self.options.particles)
        written = self.written[row]
        return replace(chosen, forwards=written, masks=written)
