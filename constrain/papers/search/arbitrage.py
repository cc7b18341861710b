"""`Arbitrage`: a small model drafts a step of reasoning, and a router says whether the large one had better write it.

Measured between two small mixtures trained on sums (n = 100): the target writes all steps and 83 are right, the draft
alone has 11; by a router that knows the draft's surprise alone the target writes 55 and 56 are right, where chance
would have 51; the oracle has 84 for 73. With such a router it does not pay: a good one is what it takes (record
2026-11-28-papers).

Paper: Maheswaran et al. 2025, "Arbitrage: Efficient Reasoning via Advantage-Aware Speculation" (arXiv 2512.05033). The
oracle takes of two steps, the draft's and the target's, the one of greater reward. A router estimates from the text and
the draft's step alone, before the target writes, the probability ŷ that the target's step has the greater reward:

    the draft's step stands where ŷ ≤ threshold; elsewhere the target writes the step

Their router is a reward model of reasoning steps that is trained on; here it is any function of a `DraftedStep`.
`fit_router` learns one from `compared_steps`: a logistic regression on the reward of the text with the step and on the
draft's mean surprise. A bound on the reward alone (RSD: Liao et al. 2025, arXiv 2501.19324, without
its chance) is `lambda step: float(reward(step.after) < bound)`. Rewards are those of `BestOf`, of open texts.

Distribution: with q and p the distributions of masked decoding of a step by the draft and by the target model, and
R(x) = Σ q(u | x) over the steps u that are not to stand,

    P(u | x) = q(u | x) · 1[ŷ(x, u) ≤ threshold] + R(x) · p(u | x)

Outputs carry no weights; `log_prob` is the sum over tokens of what the model that wrote them says.
Cost: the target reads what the draft wrote only when it writes, in one forward pass. Limit: models of one vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from constrain.errors import ConstrainError
from constrain.generation.front import generate
from constrain.generation.handles import handle_of
from constrain.papers.search.cautious import taken, write_unit
from constrain.papers.search.found import check_number, each_row, text_of
from constrain.papers.search.threshold import logistic
from constrain.papers.search.value_guided import speaks_like
from constrain.sampling.core.boundaries import boundary_of
from constrain.sampling.core.draw import substream
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.sampler import Sampler


class DraftedStep(NamedTuple):
    """A step that a router is asked about. surprise: the draft's mean −log p of its tokens, under the mask."""

    before: str
    after: str
    surprise: float


class ComparedStep(NamedTuple):
    """The step that each of two models writes. better: the reward of the target's step is the greater one."""

    step: DraftedStep
    reward: float
    better: bool


Router = Callable[[DraftedStep], float]


class Arbitrage(Sampler):
    """Steps of a draft model, or of the target where a router says so; see `constrain.papers.search.arbitrage`.

    Args:
        draft: what `generate` takes as a model; of the vocabulary of the target, which is the model of the call.
        router: from a step of the draft to the probability that the target's has a greater reward.
        threshold: above it the target writes the step.
        boundary: where steps end: "line", or what `SMC(boundary=...)` takes.

    Raises:
        ConstrainError: an option is out of range; or, when it runs, the draft has another vocabulary.

    Source:
        Maheswaran et al. 2025, arXiv 2512.05033.

    Example:
        >>> import constrain
        >>> from constrain.papers.search.arbitrage import Arbitrage
        >>> reference = constrain.reference.load()
        >>> draft = constrain.hf.HFModel(reference.draft, reference.tokenizer)
        >>> method = Arbitrage(draft, lambda step: step.surprise > 1, boundary=lambda before, new: b"," in new)
        >>> constrain.generate(reference, "Digits: ", regex="[0-9](,[0-9]){3}", method=method, seed=1).finish_reason
        'stop'
    """

    name = "arbitrage"
    needs_chance = True
    distribution = "steps of masked decoding by a draft model, or by the target where a router says so"

    def __init__(
        self,
        draft: Any,
        router: Router,
        *,
        threshold: float = 0.5,
        boundary: str | Callable[[bytes, bytes], bool] = "line",
    ) -> None:
        if not callable(router):
            raise ConstrainError(f"router= is a function of a drafted step, not {router!r:.60}")
        self.draft = draft if hasattr(draft, "start") else handle_of(draft)
        self.router, self.threshold = router, check_number("threshold", threshold, 0.0)
        self.boundary = boundary_of(boundary)

    def run(self, job: Job) -> list[Sample]:
        if not speaks_like(self.draft, job):
            raise ConstrainError("the draft model has another vocabulary", fix="use models of one tokenizer")
        return each_row(job, self._write)

    def _write(self, job: Job, row: int) -> Sample:
        particle, steps, by_target = Particle(job, row), 0, 0
        draft, target = _Writer(replace(job, model=self.draft), particle), _Writer(job, particle)
        while not particle.ended:
            particle, is_target = self._next(draft, target, particle, substream(job.streams[row], steps))
            steps, by_target = steps + 1, by_target + is_target
        sample = particle.sample
        sample.forwards = draft.forwards + target.forwards
        sample.log_weight = 0.0 if sample.finish_reason == "stop" else -math.inf
        sample.method = f"{self.name}: {steps} steps, {by_target} by the target"
        return sample

    def _next(self, draft: _Writer, target: _Writer, particle: Particle, stream: int) -> tuple[Particle, bool]:
        """The text with its next step, and whether the target wrote that."""
        found = self._step(draft, particle, substream(stream, 0))
        if found.sample.finish_reason != "dead_end":
            if float(self.router(drafted(draft.job, particle, found))) <= self.threshold:
                return found, False
        return self._step(target, particle, substream(stream, 1)), True

    def _step(self, writer: _Writer, particle: Particle, stream: int) -> Particle:
        """The text with what a model writes next, to the end of a step."""
        trial = writer.branch(particle, stream)
        write_unit(trial, self.boundary)
        writer.forwards += sum(trial.reads.values())
        return trial.all[0]


class _Writer:
    """One of the models, as far as it has read the text."""

    def __init__(self, job: Job, begun: Particle) -> None:
        self.job, self.forwards = job, 0
        self.block = Particles(job, [begun.fork(begun.stream)], forced=False)

    def branch(self, particle: Particle, stream: int) -> Particles:
        """A block that goes on from a text, of which the model reads what it has not."""
        if not self.block.live:
            self.block.start()
            self.forwards += sum(self.block.reads.values())
        if len(particle.sample.tokens) > len(self.block.all[0].sample.tokens):
            self.block = taken(self.block, particle)
            self.forwards += sum(self.block.reads.values())
        trial = self.block.branch([0])
        trial.all[0].stream, trial.all[0].logits = stream, self.block.logits
        return trial


def drafted(job: Job, before: Particle, after: Particle) -> DraftedStep:
    """The step between two states of a text."""
    tokens, begun = after.sample.tokens, len(before.sample.tokens)
    texts = [text_of(job, part).decode(errors="replace") for part in (tokens[:begun], tokens)]
    trace = after.sample.trace[begun:]
    surprise = -math.fsum(each.log_prob_sampled for each in trace) / max(1, len(trace))
    return DraftedStep(texts[0], texts[1], surprise)


class _Compared(Arbitrage):
    """The oracle: both models write each step, and the one of greater reward stands."""

    name = "arbitrage oracle"

    def __init__(self, draft: Any, reward: Callable[[str], float], boundary: Any) -> None:
        super().__init__(draft, lambda step: 0.0, boundary=boundary)
        self.reward, self.found = reward, list[ComparedStep]()

    def _next(self, draft: _Writer, target: _Writer, particle: Particle, stream: int) -> tuple[Particle, bool]:
        mine, theirs = (self._step(each, particle, substream(stream, i)) for i, each in enumerate((draft, target)))
        if mine.sample.finish_reason == "dead_end":
            return theirs, True
        step, other = drafted(draft.job, particle, mine), drafted(target.job, particle, theirs)
        reward = float(self.reward(step.after))
        better = theirs.sample.finish_reason != "dead_end" and float(self.reward(other.after)) > reward
        self.found.append(ComparedStep(step, reward, better))
        return (theirs if better else mine), better


def compared_steps(
    model: Any, small: Any, prompt: Any, reward: Callable[[str], float], *, boundary: Any = "line", **options: Any
) -> tuple[list[ComparedStep], Any]:
    """The steps of a text of which both models write each, and the one of greater reward stands (the paper's oracle).

    Args:
        model: the target: what `generate` takes.
        small: the draft model.
        prompt: one prompt.
        reward: of texts that may go on.
        boundary: where steps end, as of `Arbitrage`.
        options: of `generate`, a constraint among them.

    Returns:
        (the steps, for `fit_router`, and the output)
    """
    oracle = _Compared(small, reward, boundary)
    return oracle.found, generate(model, prompt, method=oracle, **options)


def fit_router(steps: Sequence[ComparedStep], reward: Callable[[str], float]) -> Router:
    """Learn a router: a logistic regression on the reward of the text with the step, and the draft's surprise.

    Raises:
        ConstrainError: all steps are better by one of the models.
    """
    if len({each.better for each in steps}) < 2:
        raise ConstrainError(
            "a router is learned from steps of which the target writes some better, and some not",
            place=f"{len(steps)} steps",
            fix="add texts",
        )
    inputs = np.array([(each.reward, each.step.surprise) for each in steps], dtype=np.float64)
    weights = logistic(inputs, np.array([each.better for each in steps], dtype=np.float64))

    def router(step: DraftedStep) -> float:
        logit = float(weights @ [float(reward(step.after)), step.surprise, 1.0])
        return 1 / (1 + math.exp(-max(-500.0, min(500.0, logit))))

    return router
