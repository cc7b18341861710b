"""Languages and models so small that everything about them can be written down, and what should then hold.

`exact(case)` lists every member with its probability, from the definition. `outcomes` walks the decision tree of a
method on one row. No sampler is used to test a sampler.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from constrain.masks.engine import fill_masks
from constrain.sampling import Draw, Job, Sample, Settings, enumerate_draws
from constrain.sampling.core.sampler import drive
from toy_matcher import ToyConstraint, ToyVocabulary
from toy_model import TableModel

PROMPT = [0, 1]
Tokens = tuple[int, ...]


def dyck(text: bytes, limit: int) -> tuple[bool, bool]:
    """A pair: the text is a prefix of a balanced word of at most `limit` brackets; it is such a word."""
    depth = 0
    for byte in text:
        depth += 1 if byte == ord("(") else -1
        if depth < 0:
            return False, False
    return len(text) + depth <= limit, depth == 0 and len(text) <= limit


BITS = ToyVocabulary([b"0", b"1", None], [2])
WORDS = ToyVocabulary([b"t", b"tr", b"ue", b"rue", b"fa", b"lse", b"x", None], [7])
TWINS = ToyVocabulary([b"a", b"b", b"a", b"ab", None, None], [4, 5])  # two ids for "a", two ends
BRACKETS = ToyVocabulary([b"(", b")", b"()", None], [3])
LETTERS = ToyVocabulary([b"a", b"b", b"c", None], [3])
LANGUAGES = {
    "skewed": ToyConstraint(BITS, [b"00000", *(b"1" + f"{i:04b}".encode() for i in range(16))]),
    "dyck": ToyConstraint(BRACKETS, is_prefix=lambda t: dyck(t, 4)[0], is_member=lambda t: dyck(t, 4)[1]),
    "ambiguous": ToyConstraint(WORDS, [b"true", b"false"]),
    "twins": ToyConstraint(TWINS, [b"ab", b"b", b"ba"]),
    "forced chain": ToyConstraint(LETTERS, [b"abcabc", b"bcb"]),
    "optional tail": ToyConstraint(LETTERS, [b"a", b"abc", b"cb"]),
    "one member": ToyConstraint(LETTERS, [b"abc"]),
    "only the empty text": ToyConstraint(LETTERS, [b""]),
    # Infinite languages, cut by max_tokens.
    "cut": ToyConstraint(
        LETTERS, is_prefix=lambda t: b"c" not in t[:-1] and set(t) <= set(b"ac"), is_member=lambda t: t.endswith(b"c")
    ),
    # The engine promises that "b" goes on, and then nothing may follow: a dead end.
    "dead end": ToyConstraint(LETTERS, is_prefix=lambda t: t in (b"", b"a", b"b"), is_member=lambda t: t == b"a"),
}
LIMITS = {"cut": 4}  # max_tokens; the others have room


@dataclass(frozen=True)
class Case:
    """A language, a random model, and what shapes it."""

    language: str
    seed: int
    spread: float = 2.0
    settings: Settings = field(default_factory=lambda: Settings(max_tokens=9))

    def __str__(self) -> str:
        return f"{self.language}-{self.seed}"

    @property
    def constraint(self) -> ToyConstraint:
        return LANGUAGES[self.language]

    @cached_property
    def model(self) -> TableModel:
        return TableModel(self.constraint.vocabulary.size + self.seed % 3, self.seed, self.spread)

    def job(self, draw: Draw, rows: int = 1, **changes: Any) -> Job:
        vocabulary = self.constraint.vocabulary
        job = Job(
            model=self.model,
            prompts=[PROMPT] * rows,
            matchers=[self.constraint.matcher() for _ in range(rows)],
            size=vocabulary.size,
            eos_ids=vocabulary.eos_ids,
            settings=self.settings,
            draw=draw,
            streams=range(rows),
            constraint_key=self.language,
        )
        return replace(job, **changes)


def cases(seeds: int, spreads: tuple[float, ...] = (1.0, 3.0, 12.0)) -> list[Case]:
    """So many models for each language; the last spread makes valid masses below 1e-5 common."""
    return [
        Case(language, seed, spreads[seed % len(spreads)], Settings(max_tokens=LIMITS.get(language, 9)))
        for language in LANGUAGES
        for seed in range(seeds)
    ]


def exact(case: Case, prompt: list[int] = PROMPT) -> dict[Tokens, float]:
    """log p of every member of at most max_tokens tokens, EOS included."""
    return members(case.model, case.constraint, case.settings.max_tokens, prompt)


def members(
    model: TableModel, constraint: ToyConstraint, limit: int = 12, prompt: list[int] = PROMPT
) -> dict[Tokens, float]:
    """log p of every member of at most `limit` tokens, EOS included."""
    vocabulary, found = constraint.vocabulary, {}
    stack: list[tuple[Tokens, bytes, float]] = [((), b"", 0.0)]
    while stack:
        ids, text, log_p = stack.pop()
        if len(ids) == limit:
            continue
        log_probs = model.log_probs([*prompt, *ids])
        if constraint.is_member(text):
            found.update({(*ids, eos): log_p + float(log_probs[eos]) for eos in vocabulary.eos_ids})
        for token_id, token in enumerate(vocabulary.tokens):
            if token and token_id not in vocabulary.eos_ids and constraint.is_prefix(text + token):
                stack.append(((*ids, token_id), text + token, log_p + float(log_probs[token_id])))
    return found


def no_draw(probabilities: object, streams: object) -> Any:
    raise AssertionError("nothing may be drawn")


def mass(exact_law: dict[Tokens, float]) -> float:
    """Z."""
    return math.fsum(map(math.exp, exact_law.values()))


def conditional(exact_law: dict[Tokens, float]) -> dict[Tokens, float]:
    """π, found without underflow."""
    top = max(exact_law.values())
    total = math.fsum(math.exp(each - top) for each in exact_law.values())
    return {tokens: math.exp(each - top) / total for tokens, each in exact_law.items()}


def outcomes(case: Case, method: Callable[[], Any], rows: int = 1) -> Iterator[tuple[float, list[Sample]]]:
    """(probability, samples) of every way the draws can turn out. method: makes a new method for each of them."""
    yield from enumerate_draws(lambda draw: drive(method(), case.job(draw, rows)))


def job_of(case: Case, draw: Draw, **changes: Any) -> Job:
    """The job of a case, with the bytes of its tokens."""
    return case.job(draw, token_bytes=case.constraint.vocabulary.tokens, **changes)


def walk(case: Case, method: Any, **changes: Any) -> list[tuple[float, Sample]]:
    """(probability, sample) of every way the draws of one row can turn out."""
    return list(enumerate_draws(lambda draw: drive(method, job_of(case, draw, **changes))[0]))


def compiled_outcomes(
    model: Any, compiled: Any, method: Callable[[], Any], **settings: Any
) -> list[tuple[float, Sample]]:
    """(probability, sample) of every way the draws of one row can turn out, in a language that the engine compiled."""
    vocabulary = compiled.vocabulary

    def run(draw: Draw) -> Sample:
        job = Job(
            model=model, prompts=[PROMPT], matchers=[compiled.matcher()], size=vocabulary.size, draw=draw, streams=[0],
            eos_ids=list(vocabulary.eos_ids), settings=Settings(**settings), fill_masks=fill_masks,
            token_bytes=vocabulary.tokens,
        )  # fmt: skip
        return drive(method(), job)[0]

    return list(enumerate_draws(run))


def law_of(found: list[tuple[float, Sample]]) -> dict[Tokens, float]:
    """Probability of every complete output."""
    law: dict[Tokens, float] = {}
    for probability, sample in found:
        if sample.finish_reason == "stop":
            law[tuple(sample.tokens)] = law.get(tuple(sample.tokens), 0.0) + probability
    return law


def weighted(found: list[tuple[float, Sample]]) -> dict[Tokens, float]:
    """E[w · 1(x)] of every complete output x."""
    sums: dict[Tokens, float] = {}
    for probability, sample in found:
        if sample.finish_reason == "stop":
            weight = probability * math.exp(sample.log_weight)
            sums[tuple(sample.tokens)] = sums.get(tuple(sample.tokens), 0.0) + weight
    return sums


def distance(left: dict[Tokens, float], right: dict[Tokens, float]) -> float:
    """Total variation."""
    return 0.5 * math.fsum(abs(left.get(x, 0.0) - right.get(x, 0.0)) for x in left.keys() | right.keys())
