"""Models whose conditional can be computed: n-grams and hidden Markov models, times the automaton of a constraint.

Not measured with a model of that size: a test bed, held to enumeration.

    β_k(q, h) = Pr[ the text is complete within k more tokens | constraint at q, model at h ]
              = Σ_v e(v | h) · Σ_h' M_v(h, h') β_{k−1}(q·v, h')          over allowed tokens v;  1 after EOS

e is what a state of the model emits, M_v how it goes on: a fixed matrix for a hidden Markov model, "shift v in" for an
n-gram. With β, p(v | prefix, the text becomes a member) is a sum over h, so the target is drawn from token by token,
exactly, for infinite languages too. This is the tractable half of Ctrl-G (Zhang et al. 2024) and GeLaTo (2023).

Such models are `LanguageModel`s, so every method runs on them: useful as a test bed, and as a cheap first look.

Cost: (states of the constraint that T tokens reach) × T × (model states × tokens), once for all outputs of a prompt.
Limit: `limit` constraint states, then a LimitError; a matcher must tell its `state`. Temperature and truncation make
another model of it, which is read by `exact` like any other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from constrain.errors import ConstrainError, LimitError
from constrain.sampling.core.job import Job, Sample, TokenRecord
from constrain.sampling.core.model import Extras
from constrain.sampling.core.particles import budget_of

Array = NDArray[np.float64]


class Tractable(Extras):
    """A model with finitely many hidden states; everything in logs.

    log_emission: float64[H, W], log e(v | h); rows sum to 1.
    """

    context: int | None = None
    ragged = True

    def __init__(self, emission: Any) -> None:
        self.log_emission = _log(_distribution("emission", emission, 2))

    @property
    def width(self) -> int:
        """The number of tokens."""
        return int(self.log_emission.shape[1])

    def begin(self, prompt: Sequence[int]) -> Array:
        """log belief over states before the first token of the output, float64[H]."""
        raise NotImplementedError

    def push(self, belief: Array, token: int) -> Array:
        """log belief after a token, normalised."""
        raise NotImplementedError

    def pull(self, token: int, values: Array) -> Array:
        """log Σ_h' M_v(h, h') exp(values(h')), float64[H]."""
        raise NotImplementedError

    def next_log_probs(self, belief: Array) -> Array:
        """log p of every token given a belief, float64[W]."""
        return _log_sum(belief[:, np.newaxis] + self.log_emission, 0)

    def product(self, job: Job, row: int, limit: int) -> ModelProduct:
        """The product with the constraint of a row, which the method "exact" draws from. Raises LimitError."""
        return ModelProduct(job, row, self, limit)

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[Any, list[torch.Tensor]]:
        session = _Session(self, [[] for _ in prefixes])
        return session, session.feed(prefixes, keep)


class HiddenMarkov(Tractable):
    """A hidden Markov model as a `LanguageModel`: a state emits a token, then moves on.

    Args:
        initial: [H], the distribution of the first state.
        transition: [H, H], from row to column.
        emission: [H, W], the distribution of the token that each state emits.

    Raises:
        ConstrainError: rows that are no distributions, or shapes that do not fit.

    Example:
        >>> from constrain.papers import HiddenMarkov
        >>> HiddenMarkov([1, 0], [[0.5, 0.5], [0, 1]], [[0.9, 0.1], [0.2, 0.8]]).width
        2
    """

    def __init__(self, initial: Any, transition: Any, emission: Any) -> None:
        super().__init__(emission)
        self.log_initial = _log(_distribution("initial", initial, 1))
        self.log_transition = _log(_distribution("transition", transition, 2))
        states = len(self.log_emission)
        if self.log_initial.shape != (states,) or self.log_transition.shape != (states, states):
            raise ConstrainError(
                f"{states} states emit, {len(self.log_initial)} begin, and transitions have shape "
                f"{self.log_transition.shape}"
            )

    def begin(self, prompt: Sequence[int]) -> Array:
        belief = self.log_initial
        for token in prompt:
            belief = self.push(belief, token)
        return belief

    def push(self, belief: Array, token: int) -> Array:
        moved = _log_sum((belief + self.log_emission[:, token])[:, np.newaxis] + self.log_transition, 0)
        total = float(_log_sum(moved, 0))
        return moved - total if total > -math.inf else self.log_initial

    def pull(self, token: int, values: Array) -> Array:
        return _log_sum(self.log_transition + values[np.newaxis], 1)


class NGram(Tractable):
    """An n-gram model as a `LanguageModel`: the next token depends on the n − 1 tokens before it.

    Args:
        probabilities: [W] * n; the last axis is the next token. Prompts must have n − 1 tokens at least.

    Raises:
        ConstrainError: rows that are no distributions, or axes of unequal length.

    Example:
        >>> from constrain.papers import NGram
        >>> NGram([[0.9, 0.1], [0.5, 0.5]]).order
        2
    """

    def __init__(self, probabilities: Any) -> None:
        table = np.asarray(probabilities, np.float64)
        if table.ndim < 1 or len(set(table.shape)) > 1:
            raise ConstrainError(f"an n-gram table has n axes of one length, not shape {table.shape}")
        super().__init__(table.reshape(-1, table.shape[-1]))
        self.order = table.ndim

    def begin(self, prompt: Sequence[int]) -> Array:
        """The belief after a prompt. Raises ConstrainError: the prompt is too short."""
        if len(prompt) < self.order - 1:
            raise ConstrainError(f"a {self.order}-gram needs a prompt of {self.order - 1} tokens, not {len(prompt)}")
        belief = np.full(len(self.log_emission), -math.inf)
        state = 0
        for token in prompt[len(prompt) - self.order + 1 :]:
            state = state * self.width + token
        belief[state] = 0.0
        return belief

    def push(self, belief: Array, token: int) -> Array:
        moved = np.full_like(belief, -math.inf)
        moved[self._after(int(belief.argmax()), token)] = 0.0
        return moved

    def pull(self, token: int, values: Array) -> Array:
        return values[self._after(np.arange(len(values)), token)]

    def _after(self, state: Any, token: int) -> Any:
        """The state that a token leads to: the oldest token is shifted out."""
        return (state * self.width + token) % len(self.log_emission)


class _Session:
    """A session whose rows are token lists."""

    def __init__(self, model: Tractable, rows: list[list[int]]) -> None:
        self.model = model
        self.rows = rows

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        given = []
        for row, chunk, kept in zip(self.rows, chunks, keep, strict=True):
            row += chunk
            places = range(len(row) - kept + 1, len(row) + 1)
            logits = [self.model.next_log_probs(self.model.begin(row[:place])) for place in places]
            given.append(torch.tensor(np.array(logits).reshape(kept, self.model.width)))
        return given

    def select(self, rows: Sequence[int]) -> None:
        self.rows = [list(self.rows[row]) for row in rows]

    def fork(self, rows: Sequence[int]) -> _Session:
        return _Session(self.model, [list(self.rows[row]) for row in rows])


class ModelProduct:
    """A tractable model times the constraint of a row: β, and draws from the target. log_mass: log Z."""

    def __init__(self, job: Job, row: int, model: Tractable, limit: int) -> None:
        """Raises LimitError: more than `limit` states of the constraint."""
        self.job = job
        self.model = model
        self.budget = budget_of(job, row)
        self.belief = model.begin(job.prompts[row])
        self.edges = self._explore(row, limit)
        self.beta = [[np.full(len(self.belief), -math.inf)] * len(self.edges)]
        for _ in range(self.budget):
            self.beta.append([self._step(edges, self.beta[-1]) for edges in self.edges])
        self.log_mass = min(0.0, float(_log_sum(self.belief + self.beta[-1][0], 0)))

    def draw(self, stream: int) -> Sample:
        """One sample of the target, by the job's draw."""
        sample = Sample(finish_reason="dead_end", log_weight=-math.inf)
        sample.log_evidence, sample.evidence_bounds, sample.tv_bound = self.log_mass, (self.log_mass,) * 2, 0.0
        if self.log_mass == -math.inf:
            return sample
        sample.finish_reason, sample.log_weight, sample.accepted = "stop", 0.0, 1
        state, belief = 0, self.belief
        for left in range(self.budget, 0, -1):
            tokens = list(self.edges[state])
            raw = self.model.next_log_probs(belief)
            ahead = [
                float(_log_sum(belief + self.model.log_emission[:, token] + self._ahead(state, token, left), 0))
                for token in tokens
            ]
            log_law = np.array(ahead) - _log_sum(np.array(ahead), 0)
            chosen = int(self.job.draw(torch.tensor(np.exp(log_law)[np.newaxis]), [stream])[0])
            token = tokens[chosen]
            log_z = min(0.0, float(_log_sum(raw[tokens], 0)))
            sample.tokens.append(token)
            sample.trace.append(TokenRecord(token, float(raw[token]), float(log_law[chosen]), log_z))
            sample.log_prob += float(raw[token])
            if token in self.job.eos_ids:
                break
            state, belief = self.edges[state][token], self.model.push(belief, token)
        return sample

    def _ahead(self, state: int, token: int, left: int) -> Array:
        """log Σ_h' M_v(h, h') β_{left−1}(q·v, h')."""
        if token in self.job.eos_ids:
            return np.zeros(len(self.belief))
        return self.model.pull(token, self.beta[left - 1][self.edges[state][token]])

    def _step(self, edges: dict[int, int], before: list[Array]) -> Array:
        total = np.full(len(self.belief), -math.inf)
        for token, state in edges.items():
            ahead = 0.0 if token in self.job.eos_ids else self.model.pull(token, before[state])
            total = np.logaddexp(total, self.model.log_emission[:, token] + ahead)
        return total

    def _explore(self, row: int, limit: int) -> list[dict[int, int]]:
        """For each state of the constraint, which token leads where; the first is the beginning."""
        job = self.job
        if job.matchers is None:
            return [dict.fromkeys(range(job.size), 0)]
        first: Any = job.matchers[row].fork()
        numbers = {first.state: 0}
        frontier, edges = [first], []
        bits = np.zeros((1, job.words), np.uint32)
        for depth in range(self.budget):
            matchers, frontier = frontier, []
            for matcher in matchers:
                job.fill_masks([matcher], bits)
                after: dict[int, int] = {}
                for token in np.flatnonzero(np.unpackbits(bits[0].view(np.uint8), bitorder="little")).tolist():
                    if token in job.eos_ids:
                        after[token] = 0
                        continue
                    fork = matcher.fork()
                    fork.advance(token)
                    if fork.state not in numbers:
                        numbers[fork.state] = len(numbers)
                        frontier.append(fork)
                    after[token] = numbers[fork.state]
                edges.append(after)
            if len(numbers) > limit:
                raise LimitError(
                    f"the constraint has more than {limit} states within {depth + 1} tokens",
                    place=f"prompt of output {row}",
                    fix="raise limit=, or lower max_tokens",
                )
        return edges + [{}] * (len(numbers) - len(edges))


def _distribution(name: str, given: Any, axes: int) -> Array:
    """Probabilities along the last axis, checked."""
    array = np.asarray(given, np.float64)
    if array.ndim != axes or not (array >= 0).all() or not np.allclose(array.sum(-1), 1, atol=1e-8):
        raise ConstrainError(
            f"{name} must be probabilities along its last axis, with {axes} axes", fix="divide each row by its sum"
        )
    return array / array.sum(-1, keepdims=True)


def _log(array: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(array)


def _log_sum(array: Array, axis: int) -> Array:
    """log Σ exp along an axis; -inf where all are."""
    top = array.max(axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    return _log(np.exp(array - top).sum(axis)) + top.squeeze(axis)
