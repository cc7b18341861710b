"""Masked decoding inside vLLM, with weights: the fast way of `lcd`, `sir` and what is built on them.

The idea: the engine's own structured outputs are masked decoding, so a whole sequence is one request, at the engine's
speed: continuous batching, one forward pass a token, and three numbers that come back with each token. Distribution and
weight are as in `constrain.sampling.methods.lcd`: q(x) = Π p / Z_t and w = Π Z_t. The numbers are

    recorded    log p and log Z_t of each token, from the logits before and after the mask (recording.py)
    rescored    log q of each token comes with the output, log p from reading prompt and output once more; at
                temperature 1 only, since that is all that vLLM tells without hooks, and log Z_t = log p − log q

An output that ends at its budget is cut there; the plain loop allows only EOS at the last position. Both estimate the
same sums without bias: E[w 1(x)] = p(x) for every valid x that fits. Chains that rewrite an output from its middle
(`mcmc` but for proposal="restart") compare proposals of one distribution only, so they go token by token.

Draws are the engine's: each request has a seed, drawn from the sequence's own stream. So outputs are repeatable, and
differ from those of the same seed under transformers; they do not depend on their batch but by rounding of logits.
Limits: the constraint must be one that a request can say (`request_of`), from its beginning; top_k and top_p, healing,
stop sequences, length limits and streams go the plain way, token by token (model.py).
"""

from __future__ import annotations

import json
import math
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from constrain.engines.requests.constraints import constraint_of
from constrain.engines.requests.options import EngineOptions
from constrain.engines.vllm.model import VLLMModel
from constrain.engines.vllm.options import ENTRY
from constrain.engines.vllm.recording import BEGUN, NO_ID, WEIGHTS
from constrain.errors import ConstrainError
from constrain.languages.constraints.regular import Choices, Regex
from constrain.languages.grammar_text.text import GrammarText
from constrain.languages.schema.api import JsonSchema
from constrain.masks.engine.narrowed import engine_of
from constrain.sampling.core.draw import TorchDraw
from constrain.sampling.core.job import Job, Sample, Settings, TokenRecord
from constrain.sampling.core.particles import Particle
from constrain.sampling.core.sampler import Sampler
from constrain.sampling.core.shape import ShapedModel
from constrain.sampling.methods.lcd import lcd


class StructuredOutput(NamedTuple):
    """A constraint as a request says it: a field of vLLM's `StructuredOutputsParams`, and its text."""

    kind: str
    text: str

    @property
    def field(self) -> dict[str, Any]:
        """The field with its value."""
        return {self.kind: json.loads(self.text) if self.kind == "choice" else self.text}


class TokenNumbers(NamedTuple):
    """Of each token of an output: log p of the model, and log Z of the mass that was allowed."""

    log_p: list[float]
    log_z: list[float]


def request_of(constraint: Any, options: EngineOptions) -> StructuredOutput | None:
    """A request whose constraint is this one when an engine with these options reads it; None: there is none."""
    match constraint:
        case Choices():
            asked = StructuredOutput("choice", json.dumps(list(constraint.options)))
        case Regex():
            asked = StructuredOutput("regex", constraint.pattern)
        case JsonSchema():
            asked = StructuredOutput("json", json.dumps(constraint.written))
        case GrammarText():
            asked = StructuredOutput("grammar", constraint.text)
        case _:
            return None
    try:
        read: Any = constraint_of(asked.kind, asked.text, options)
    except ConstrainError:  # over the engine's limits, or another format
        return None
    match constraint:
        case Choices():  # an Enum's, too, whose class is about values
            same = read.options == constraint.options
        case JsonSchema():
            same = read == replace(constraint, parse_with=None)
        case _:
            same = read == constraint
    return asked if same else None


class EngineDecoding(Sampler):
    """Masked decoding of whole sequences by an engine, as a method and for `Job.grow`.

    Args:
        model: The engine.
        asked: The constraint.

    Attributes:
        canonical: The engine's option: which tokens count.
    """

    name = "lcd"
    drafts = False

    def __init__(self, model: VLLMModel, asked: StructuredOutput) -> None:
        self.model = model
        self.asked = asked
        self.canonical: bool | None = None if model.options is None else model.options.canonical

    def writes(self, canonical: bool | None) -> bool:
        """True if the engine counts the tokens that a request of `generate` wants to count."""
        return canonical is None or canonical == self.model.canonical

    def method_for(self, method: Any) -> Any:
        """The method that does in the engine what a method does; itself, where there is none."""
        from constrain.engines.vllm.particles import EngineSMC

        if method is lcd:
            return self
        return EngineSMC(self, method) if EngineSMC.does(self.model, method) else method

    @classmethod
    def of(cls, model: VLLMModel, compiled: Any, constraint: Any, settings: Settings) -> EngineDecoding | None:
        """The decoding of a request; None where it goes token by token."""
        if model.options is None or settings.truncates:
            return None
        if compiled is None or compiled.vocabulary.eos_ids != model.vocabulary.eos_ids:
            return None
        asked = request_of(constraint, model.options)
        rescores = settings.temperature == 1 and model.config.speculative_config is None
        if asked is None or not (model.records_all or rescores):
            return None
        return cls(model, asked)

    def __call__(self, job: Job) -> Generator[tuple[int, list[int]], None, list[Sample]]:
        """Run the method `lcd`; tokens are streamed when their output is complete."""
        particles = [Particle(job, row) for row in range(len(job.prompts))]
        self.grow(job, particles)
        for particle in particles:
            sample = particle.sample
            yield particle.row, sample.tokens
            sample.accepted = int(sample.finish_reason == "stop")
            sample.log_evidence = sample.log_weight if sample.accepted else -math.inf
        return [particle.sample for particle in particles]

    def complete(self, job: Job, particles: Sequence[Particle], between: Any = None) -> None:
        """For `Job.grow`: bring sequences to their end. Raises ConstrainError: there is something to do meanwhile."""
        if between is not None:
            message = 'an engine writes whole texts, and boundary="draft" compares particles where drafts end'
            raise ConstrainError(message, fix='take boundary="token"')
        self.grow(job, particles)

    def grow(self, job: Job, particles: Sequence[Particle]) -> None:
        """Write the samples of particles that have no token yet. Raises ConstrainError: one has."""
        if any(particle.sample.tokens for particle in particles):
            raise ConstrainError("an engine's grammar begins with the output", fix="leave out Job.grow for this method")
        live = [particle for particle in particles if not particle.ended]
        temperature = temperature_of(job)
        if not live:
            return
        with job.clock.stage("model"):
            prompts = [job.prompts[particle.row] for particle in live]
            seeds = [seed_of(job, particle) for particle in live]
            outputs = self._outputs(prompts, [particle.budget for particle in live], seeds, temperature)
        read: set[int] = set()  # rows whose prompt is counted
        for particle, (output, numbers) in zip(live, outputs, strict=True):
            take(job, particle, output, numbers, temperature)
            particle.sample.forwards += forwards_of(output, is_first=particle.row not in read)
            particle.sample.forwards += not self.model.records  # it was read once more
            read.add(particle.row)

    def params(self, budget: int, seed: int, temperature: float, begun: int = 0) -> Any:
        """vLLM's `SamplingParams` of a sequence. begun: how many of the prompt's last tokens its text has already."""
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        return SamplingParams(
            max_tokens=budget, temperature=temperature, seed=seed, logprobs=1, flat_logprobs=True, detokenize=False,
            structured_outputs=StructuredOutputsParams(**self.asked.field),
            extra_args={ENTRY: WEIGHTS, BEGUN: begun} if self.model.records else None,
        )  # fmt: skip

    def _outputs(
        self, prompts: Sequence[Sequence[int]], budgets: Sequence[int], seeds: Sequence[int], temperature: float
    ) -> list[tuple[Any, TokenNumbers]]:
        params = [self.params(budget, seed, temperature) for budget, seed in zip(budgets, seeds, strict=True)]
        outputs = self.model.submit(prompts, params)
        numbers = [recorded(each) for each in outputs] if self.model.records else self._rescored(prompts, outputs)
        return list(zip(outputs, numbers, strict=True))

    def _rescored(self, prompts: Sequence[Sequence[int]], outputs: Sequence[Any]) -> list[TokenNumbers]:
        """Read outputs once more, without the mask."""
        from vllm import SamplingParams

        texts = [[*prompt, *output.token_ids] for prompt, output in zip(prompts, outputs, strict=True)]
        params = [
            SamplingParams(
                max_tokens=1, temperature=0.0, prompt_logprobs=0, logprob_token_ids=[text[-1]], flat_logprobs=True,
                detokenize=False,
            )
            for text in texts
        ]  # fmt: skip
        read = self.model.submit_whole([text[:-1] for text in texts], params)
        numbers = []
        for output, again in zip(outputs, read, strict=True):
            log_q = per_token(output.logprobs, 0)
            count = len(log_q) - 1
            before = per_token(again.prompt_logprobs, 0)[-count:] if count else []
            log_p = [*before, per_token(again.outputs[0].logprobs, 1)[0]]
            numbers.append(TokenNumbers(log_p, [p - q for p, q in zip(log_p, log_q, strict=True)]))
        return numbers


# --- numbers ----------------------------------------------------------------------------------------------------------


def per_token(logprobs: Any, column: int) -> list[float]:
    """A column of vLLM's `FlatLogprobs`: its value for each token that has one."""
    bounds = zip(logprobs.start_indices, logprobs.end_indices, strict=True)
    return [logprobs.logprobs[start + column] for start, end in bounds if start + column < end]


def recorded(output: Any) -> TokenNumbers:
    """The numbers that the workers recorded. Raises ConstrainError if a token has none."""
    given = output.logprobs
    if any(given.token_ids[end - 1] != NO_ID for end in given.end_indices):
        raise ConstrainError("a worker of this engine does not record weights", fix="VLLMModel(llm, rescore=True)")
    return TokenNumbers(per_token(given, 0), per_token(given, 1))


def records_of(tokens: Sequence[int], numbers: TokenNumbers, temperature: float) -> list[TokenRecord]:
    """The records of an output, as the samplers keep them.

    Args:
        tokens: Its ids.
        numbers: Their numbers.
        temperature: 0: nothing was drawn, so that each token was sampled with probability 1.

    Returns:
        A record a token: log p_raw, log p_sampled = log p_raw − log Z, log Z, which rounding does not lift above 0.
    """
    records = []
    for token, log_p, log_z in zip(tokens, numbers.log_p, numbers.log_z, strict=True):
        at_most = min(log_z, 0.0)
        records.append(TokenRecord(token, log_p, 0.0 if temperature == 0 else min(log_p - at_most, 0.0), at_most))
    return records


def take(job: Job, particle: Particle, output: Any, numbers: TokenNumbers, temperature: float) -> None:
    """Write an output of the engine into a particle. Raises ConstrainError: it is not in the constraint's language.

    A text that fails a validator of a Python type, which the engine does not have, is a dead end.
    """
    for record in records_of(output.token_ids, numbers, temperature):
        if not particle.ended:
            take_token(job, particle, record)
    if not particle.ended:  # the engine gave up: a limit of its own
        particle.dead_end()


def take_token(job: Job, particle: Particle, record: TokenRecord) -> None:
    """Append a token that the engine wrote; see `take`."""
    particle.sample.masks += 1
    is_end = record.token in job.eos_ids
    if particle.matcher is not None and not particle.matcher.advance(record.token):
        engine = engine_of(particle.matcher)
        if is_end and engine is not None and engine.fault is not None:
            particle.dead_end()
            return
        raise ConstrainError(
            "the engine wrote a token that the constraint does not allow",
            place=f"output {particle.row}, token {len(particle.sample.tokens)}: id {record.token}",
            fix="check that the engine was started with this model's tokenizer",
        )
    particle.record(record, record.log_z)
    particle.append(record.token, is_end)


def forwards_of(output: Any, is_first: bool) -> int:
    """The forwards of an output: one a token. The first reads the prompt, which the sequences of a row share, and is
    counted for one of them; the engine's prefix cache has its full blocks for the others."""
    return max(0, len(output.token_ids) - (not is_first))


def temperature_of(job: Job) -> float:
    """The temperature of the model that a job speaks of; `shaped` jobs have it in their model."""
    return job.model.settings.temperature if isinstance(job.model, ShapedModel) else job.settings.temperature


def seed_of(job: Job, particle: Particle) -> int:
    """A seed for the engine, from the stream of a sequence. Raises ConstrainError: `job.draw` is not random."""
    if not isinstance(job.draw, TorchDraw):
        raise ConstrainError(
            f"vLLM draws by itself, and cannot ask {type(job.draw).__name__}", fix="leave out Job.grow for this draw"
        )
    uniform = float(np.asarray(job.draw.peek(particle.stream, 1))[0])
    job.draw.skip(particle.stream, 1)
    return int(uniform * 2**53)
