"""Languages of a few texts over three tokens: small enough to walk every decision of many particles.

Beside them a language as a black box, jobs without a mask, and a random soft potential.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sampling_cases import Case, Tokens, exact

from constrain.sampling import Draw, Job, Settings
from constrain.sampling.core.potentials import Potential
from toy_matcher import ToyConstraint, ToyVocabulary
from toy_model import TableModel

LETTERS = ToyVocabulary([b"a", b"b", None], [2])
TINY_LANGUAGES = {
    "two": ToyConstraint(LETTERS, [b"ab", b"b"]),
    "branching": ToyConstraint(LETTERS, [b"aa", b"ab", b"b"]),
    "empty too": ToyConstraint(LETTERS, [b"", b"a"]),
    "forced": ToyConstraint(LETTERS, [b"ba"]),
    "twin ids": ToyConstraint(ToyVocabulary([b"a", b"a", None], [2]), [b"a"]),
    "segmentations": ToyConstraint(ToyVocabulary([b"a", b"aa", None], [2]), [b"aa"]),
    "only the empty text": ToyConstraint(LETTERS, [b""]),
}


@dataclass(frozen=True)
class Tiny(Case):
    @property
    def constraint(self) -> ToyConstraint:
        return TINY_LANGUAGES[self.language]

    @cached_property
    def model(self) -> TableModel:
        return TableModel(3, self.seed, self.spread)


def tiny_cases(seeds: int, max_tokens: int = 3, first: int = 0) -> list[Tiny]:
    """So many models for each language; every third is so sharp that valid masses below 1e-5 are common."""
    return [
        Tiny(name, seed, (1.0, 4.0, 12.0)[seed % 3], Settings(max_tokens=max_tokens))
        for name in TINY_LANGUAGES
        for seed in range(first, first + seeds)
    ]


def membership(case: Case, calls: list[bytes] | None = None) -> Potential:
    """The language of a case as a black box."""

    class Membership(Potential):
        def prefix(self, text: bytes) -> float:
            if calls is not None:
                calls.append(text)
            return 0.0 if case.constraint.is_prefix(text) else -math.inf

        def complete(self, text: bytes) -> float:
            return 0.0 if case.constraint.is_member(text) else -math.inf

    return Membership()


def bare(case: Case, draw: Draw, **changes: object) -> Job:
    """No mask: the check is all there is."""
    vocabulary = case.constraint.vocabulary
    return case.job(draw, matchers=None, token_bytes=vocabulary.tokens, **changes)


class Taste(Potential):
    """Random log weights for complete texts; for prefixes others, or -inf where no text goes on.

    dislikes: texts that have no weight at all
    """

    def __init__(self, case: Case, seed: int = 0, dislikes: tuple[bytes, ...] = ()) -> None:
        self.case, self.seed, self.dislikes = case, seed, dislikes
        self.members = {case.constraint.vocabulary.to_bytes(tokens) for tokens in exact(case)}

    def complete(self, text: bytes) -> float:
        return -math.inf if text in self.dislikes else self._random(1, text)

    def prefix(self, text: bytes) -> float:
        goes_on = any(member.startswith(text) and member not in self.dislikes for member in self.members)
        return self._random(2, text) if goes_on else -math.inf

    def _random(self, kind: int, text: bytes) -> float:
        return float(np.random.default_rng([self.seed, kind, *text]).normal(scale=1.5))

    def target(self) -> dict[Tokens, float]:
        """p(x) exp Φ(x) of every member that has a weight."""
        text_of = self.case.constraint.vocabulary.to_bytes
        logs = {tokens: log_p + self.complete(text_of(tokens)) for tokens, log_p in exact(self.case).items()}
        return {tokens: math.exp(log) for tokens, log in logs.items() if log > -math.inf}
