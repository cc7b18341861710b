"""AdaDec's threshold, learned for a model from texts that are known to be right: `Pausing(threshold=learned)`.

Measured on SmolLM2 (fields of texts, n = 20): 1.63 nats from 356 places, 18 of them wrong. Pausing there has 73 % of
the fields right in 984 forward passes, a guess of 1 nat 74 % in 1,228, greedy decoding 68 % in 633, and pausing
everywhere 76 % in 5,619. The threshold pays beside the guess, a fifth of whose passes it saves; so few texts do not
tell more (record 2026-11-29-papers).

Paper: He et al. 2025, arXiv 2506.08980, section "threshold learning"; the procedure is that of the authors' program
(SYSUSELab/AdaDec, commit c3efd5e): along each known text, the entropy at every place and
whether the text's token is the likeliest there. Of four fifths of the places as many right as wrong ones are kept, and
a logistic regression with a ridge of 1 says P(right) from the entropy. On the last fifth, the probability between 0.01
and 0.99 that tells right from wrong best is found, and the entropy at which P(right) is that probability is the
threshold.

Here entropies are those under the mask (`Pausing` asks for the same), and places without a choice are left out.
Distribution: none is sampled. Cost: a forward pass for each known token. Limit: some hundred places at least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from constrain.errors import ConstrainError
from constrain.generation.front import generate
from constrain.generation.handles import handle_of
from constrain.papers.search.cautious import entropy
from constrain.papers.search.found import BestTexts, each_prompt
from constrain.reports.answers.score import cut
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.sampler import Sampler, check_share
from constrain.sampling.methods.exact import children


class KnownPlace(NamedTuple):
    """A place of a known text. nats: the entropy there; right: the text's token is the likeliest."""

    nats: float
    right: bool


def known_places(model: Any, prompt: Any, text: str, *, tokenizer: Any = None, **options: Any) -> list[KnownPlace]:
    """List entropy and rightness at the places of a known text where the constraint leaves a choice.

    Args:
        model: What `generate` takes.
        prompt: One prompt.
        text: The text that is right.
        tokenizer: For a model that comes without one.
        options: Of `generate`, a constraint among them.

    Raises:
        ConstrainError: The constraint refuses the text, or what `generate` raises.

    Example:
        >>> import constrain
        >>> from constrain.papers.search.threshold import known_places
        >>> len(known_places(constrain.reference.load(), "A date: ", "2024", regex="[0-9]{4}")) > 0
        True
    """
    handle = handle_of(model, tokenizer)
    walk = _Known(cut(handle, text, 0))
    generate(handle, prompt, method=walk, max_tokens=len(walk.tokens) + 1, **options)
    return walk.found


def fit_threshold(places: Sequence[KnownPlace], *, held: float = 0.2, seed: int = 0) -> float:
    """Find the entropy in nats from which the likeliest token is not to be trusted.

    Args:
        places: Of `known_places`, of all texts.
        held: The share of places that the probability is chosen on.
        seed: Of the division.

    Raises:
        ConstrainError: There are too few places, or all are right, or all wrong, or entropy says nothing.

    Example:
        >>> from constrain.papers.search.threshold import KnownPlace, fit_threshold
        >>> places = [KnownPlace(i / 100, i < 60) for i in range(100)]
        >>> 0.4 < fit_threshold(places) < 0.8
        True
    """
    rng = np.random.default_rng(seed)
    rows = np.array([(place.nats, place.right) for place in places], dtype=np.float64).reshape(-1, 2)
    rows = rows[rng.permutation(len(rows))]
    kept = len(rows) - round(len(rows) * check_share("held", held))
    learned, judged = rows[:kept], rows[kept:] if kept < len(rows) else rows
    right, wrong = learned[learned[:, 1] == 1], learned[learned[:, 1] == 0]
    count = min(len(right), len(wrong))
    if not count:
        raise ConstrainError(
            "a threshold is learned from places where the likeliest token is right, and from others",
            place=f"{len(right)} right and {len(wrong)} wrong places",
            fix="add known texts",
        )
    known = np.concatenate([right[:count], wrong[:count]])
    slope, offset = logistic(known[:, :1], known[:, 1])
    if slope >= 0:
        raise ConstrainError("entropy does not tell wrong places from right ones here", fix="choose a threshold")
    chance = 1 / (1 + np.exp(-(slope * judged[:, 0] + offset)))
    shares = np.arange(1, 100) / 100
    hits = [int(((chance >= share) == (judged[:, 1] == 1)).sum()) for share in shares]
    best = float(shares[int(np.argmax(hits))])
    return max(0.0, float((math.log(best / (1 - best)) - offset) / slope))


def logistic(inputs: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Slopes, and last the offset, that maximise Σ log P(right) − Σ slope² / 2, by Newton's steps.

    inputs: float64[n, slopes]; right: of 0 and 1, float64[n]
    """
    inputs = np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1)
    weights, ridge = np.zeros(inputs.shape[1]), np.diag([1.0] * (inputs.shape[1] - 1) + [1e-9])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ weights, -500, 500)))
        gradient = inputs.T @ (right - chance) - ridge @ weights
        step = np.linalg.solve(inputs.T @ (inputs * (chance * (1 - chance))[:, None]) + ridge, gradient)
        weights += step
        if float(np.abs(step).max()) < 1e-10:
            break
    return weights


class _Known(Sampler):
    """Writes a known text, and notes its places."""

    name, random = "known", False
    distribution = "no distribution: a text that is given"

    def __init__(self, tokens: Sequence[int]) -> None:
        self.tokens, self.found = list(tokens), list[KnownPlace]()

    def run(self, job: Job) -> list[Sample]:
        return each_prompt(job, self.name, self._write)

    def _write(self, job: Job, row: int, found: BestTexts) -> None:
        block = Particles(job, [Particle(job, row)], forced=False)
        block.start()
        for number, token in enumerate(self.tokens):
            _, step = children(block) if block.live else (None, None)
            places = [] if step is None else (step.token == token).nonzero().flatten().tolist()
            if step is None or not places:
                raise ConstrainError("the constraint refuses the known text", place=f"token {number}")
            if len(step.token) > 1:
                right = bool(step.log_prob_sampled[places[0]] == step.log_prob_sampled.max())
                self.found.append(KnownPlace(entropy(block), right))
            block.take(step.rows(places[:1]))
            block.forward()
        found.account(block)
