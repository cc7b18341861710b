"""`ValueGuided`: tokens drawn by p · exp(β · value); of Transfer Q* direct transfer alone, by greedy rollouts.

Each token is drawn by the model's share of it times exp of the value of the text with it.

Distribution: q(v | s) ∝ p(v | s) · exp(β · V(s v)) over the allowed tokens, where V of an open text is `value.prefix`
and of a complete one `value.complete` = Φ(x). Weight: log p(x) + β Φ(x) − log q(x), so outputs are properly weighted
for p(x) · 1[x ∈ L] · exp(β Φ(x)), whatever the values of open texts are. With β V(s) = log E_p[exp(β Φ(x)) 1[x ∈ L] |
s], the soft value, q is that target itself and all weights are equal.

This is decoding with values at the token level: controlled decoding (Mudgal et al. 2023, arXiv 2310.17022, section 3)
and Transfer-Q* (Chakraborty et al. 2024, arXiv 2405.20495, section 3), which estimates V by the reward of the
continuation that an aligned model writes. `rollouts` does that by masked greedy decoding of the model `aligned`, or of
the model itself (theirs draws the continuation). Their correction for a model that is aligned with another reward
(indirect transfer) is not here: the weight of an output corrects for any value.

Measured on SmolLM2 (eight one-line programs, the share of passed tests as the reward): 0.52 in 129 forward passes,
`Planned` 0.50 in 36; pays where weights are wanted (record 2026-11-29-papers). With leaf F1 as the reward, on the
embedded draft model (n = 6), its own rollouts bring 0.153 instead of 0.108 at 36 times the forward passes, those of the
large model nothing: Transfer Q* does not pay there (record 2026-11-28-papers).

Cost: one sequence; `top` calls of the value a token; with rollouts as many sequences of at most `rollouts` tokens, and
the text once more for an aligned model. Limits: with `top`, tokens beyond the likeliest have no chance, and weights are
proper over what is left; an aligned model has the same vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.generation.handles import handle_of
from constrain.papers.search.found import Asking, BestTexts, Reward, check_number, reward_of
from constrain.papers.search.lookahead import greedy_ends
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.sampler import Sampler, check_count
from constrain.sampling.core.shape import shaped
from constrain.sampling.core.step import Step
from constrain.sampling.methods.exact import children


class ValueGuided(Sampler):
    """Tokens drawn by p · exp(β · value); see `constrain.papers.search.value_guided`.

    Args:
        value: V of open texts by `prefix` and Φ of complete ones by `complete`; a plain function answers both.
        strength: β.
        top: the likeliest allowed tokens that may be drawn; None: all.
        rollouts: tokens of masked greedy decoding behind each of them before the value is asked; 0: none.
        aligned: what `generate` takes as a model, to write the rollouts; None: the model itself.

    Raises:
        ConstrainError: an option is out of range; or, when it runs, the aligned model has another vocabulary.

    Source:
        Chakraborty et al. 2024, arXiv 2405.20495, section 3; Mudgal et al. 2023, arXiv 2310.17022, section 3.

    Example:
        >>> import constrain
        >>> from constrain.papers.search.value_guided import ValueGuided
        >>> method = ValueGuided(lambda text: -30.0 * text.count("a"))
        >>> constrain.generate(constrain.reference.load(), "A: ", regex="[ab]{3}", method=method, seed=1).text
        'bbb'
    """

    name = "value-guided"
    weighs = True
    needs_chance = True
    distribution = "weighted; each token by p · exp(β · value), for p · exp(β · Φ) conditioned on the constraint"

    def __init__(
        self, value: Reward, *, strength: float = 1.0, top: int | None = 16, rollouts: int = 0, aligned: Any = None
    ) -> None:
        self.value = reward_of("value", value, open_too=True)
        self.strength = check_number("strength", strength)
        self.top = None if top is None else check_count("top", top)
        self.rollouts = check_count("rollouts", rollouts, 0)
        if aligned is not None and not self.rollouts:
            raise ConstrainError("an aligned model writes rollouts, and there are none", fix="rollouts=16")
        self.aligned = aligned if aligned is None or hasattr(aligned, "start") else handle_of(aligned)

    def run(self, job: Job) -> list[Sample]:
        job = shaped(job)
        if self.aligned is not None and not speaks_like(self.aligned, job):
            raise ConstrainError("the aligned model has another vocabulary", fix="use models of one tokenizer")
        outputs = []
        for row in range(len(job.prompts)):
            found = BestTexts(job, 1)
            outputs.append(self._draw(job, row, Asking(job, row, self.value, found), found))
        return outputs

    def _draw(self, job: Job, row: int, asking: Asking, found: BestTexts) -> Sample:
        block = Particles(job, [Particle(job, row)], forced=False)
        (particle,) = block.all
        guide = block
        if self.aligned is not None:  # it reads what is written
            guide = Particles(replace(job, model=self.aligned), [particle.fork(particle.stream)], forced=False)
            guide.start()
        block.start()
        while block.live:
            _, step = children(block)
            order = step.log_prob_raw.sort(descending=True, stable=True).indices
            order = order if self.top is None else order[: self.top]
            if not len(order):
                particle.dead_end()
                break
            values = [self.strength * value for value in self._values(guide, step.rows(order), asking, found)]
            scores = step.log_prob_raw[order].cpu().double() + torch.tensor(values, dtype=torch.float64)
            if float(scores.max()) == -math.inf:
                particle.dead_end()
                break
            probabilities = scores.softmax(0)
            at = int(job.draw(probabilities.unsqueeze(0), [job.streams[row]]))
            chosen = step.rows(order[at : at + 1])
            chosen = Step(chosen.token, chosen.log_prob_raw, probabilities[at : at + 1].log(), chosen.log_z)
            for each in {id(block): block, id(guide): guide}.values():
                each.take(chosen)
                each.forward()
        sample = particle.sample
        if sample.finish_reason == "stop":
            sample.log_weight += self.strength * asking.completes([sample.tokens])[0]
            sample.accepted = 1
        else:
            sample.log_weight = -math.inf
        sample.log_evidence = sample.log_weight
        sample.forwards, sample.evaluations = found.forwards + sum(block.reads.values()), found.evaluations
        if guide is not block:
            sample.forwards += sum(guide.reads.values())
        return sample

    def _values(self, block: Particles, step: Step, asking: Asking, found: BestTexts) -> list[float]:
        """V of the text with each of the tokens."""
        (parent,) = block.live
        tokens = step.token.tolist()
        if not self.rollouts:
            texts = [[*parent.sample.tokens, token] for token in tokens]
            return [(asking.completes if text[-1] in block.eos else asking.prefixes)([text])[0] for text in texts]
        twin = block.branch([0] * len(tokens))
        ended = greedy_ends(twin, step, self.rollouts, found)
        return [asking.either(each) for each in ended]


def speaks_like(model: Any, job: Job) -> bool:
    """True if a model has as many logits as the job's model, and the same bytes for every token that it names."""
    tokens = getattr(getattr(model, "vocabulary", None), "tokens", job.token_bytes)
    return model.width == job.model.width and all(a == b for a, b in zip(tokens, job.token_bytes, strict=False))
