"""Composed models against their formulas: every method samples the composed distribution, by enumeration of whole
decoders."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
import torch
from sampling_cases import LANGUAGES, PROMPT, Case, Tokens, cases, conditional, exact, law_of, weighted

import constrain
from constrain.errors import ConstrainError
from constrain.papers.composed import (
    Composed,
    ContextAware,
    Ensemble,
    EntropySwitch,
    ExpertContrast,
    Guided,
    LayerContrast,
    MixtureOfPrompts,
    SelectiveContrast,
)
from constrain.sampling import CARS, MCMC, SIR, SMC, Exact, Sample, Settings, enumerate_draws, lcd
from constrain.sampling.core.sampler import drive
from constrain.sampling.processors import MinP
from constrain.speculative import LegalWords, Lookup, Speculation
from toy_matcher import ToyVocabulary
from toy_model import TableModel

TINY = 1e-10
OTHER, THIRD = [1, 1, 0], [0]


class ToyHandle(TableModel):
    """A table of logits that has what `generate` asks of a model."""

    tokenizer = None
    vocabulary = ToyVocabulary([b"a"], [0])


def log_sum(values: Sequence[float]) -> float:
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


Logs = Sequence[np.ndarray]  # log p of the next token, by part
Past = list[tuple[Logs, int]]  # of every token before: log p of its place by part, and the token


def guided(scale: float) -> Callable[[Logs, Past], list[float]]:
    return lambda logs, past: [logs[1][v] + scale * (logs[0][v] - logs[1][v]) for v in range(len(logs[0]))]


def selective(weight: float, threshold: float, floor: float) -> Callable[[Logs, Past], list[float]]:
    def scores(logs: Logs, past: Past) -> list[float]:
        p, q = np.exp(logs[0]), np.exp(logs[1])
        kept = [max(0.0, p[v] + weight * (p[v] - q[v])) if p[v] >= floor / len(p) else 0.0 for v in range(len(p))]
        if statistics.stdev(p) > threshold or not sum(kept):
            return [float(each) for each in logs[0]]
        return [math.log(each) if each else -math.inf for each in kept]

    return scores


def average(weights: Sequence[float]) -> Callable[[Logs, Past], list[float]]:
    return lambda logs, past: [
        log_sum([math.log(w) + log_p[v] for w, log_p in zip(weights, logs, strict=True)]) for v in range(len(logs[0]))
    ]


def product(weights: Sequence[float]) -> Callable[[Logs, Past], list[float]]:
    return lambda logs, past: [
        math.fsum(w * log_p[v] for w, log_p in zip(weights, logs, strict=True)) for v in range(len(logs[0]))
    ]


def mixture(weights: Sequence[float]) -> Callable[[Logs, Past], list[float]]:
    """log Σ_k w_k p_k(text, v): renormalising divides by that of the text."""

    def scores(logs: Logs, past: Past) -> list[float]:
        texts = [math.log(w) + math.fsum(logs[k][token] for logs, token in past) for k, w in enumerate(weights)]
        return [
            log_sum([text + log_p[v] for text, log_p in zip(texts, logs, strict=True)]) for v in range(len(logs[0]))
        ]

    return scores


def switch(threshold: float, window: int, least: int) -> Callable[[Logs, Past], list[float]]:
    """EAD: the writer of every place, from the first on."""

    def scores(logs: Logs, past: Past) -> list[float]:
        part, since, bits = 0, 0, []
        for place in [*(before for before, _ in past), logs]:
            bits.append(-math.fsum(math.exp(log_p) * log_p for log_p in place[part]) / math.log(2))
            wanted = int(statistics.fmean(bits[-window:]) > threshold)
            if wanted != part and since >= least:
                part, since = wanted, 0
            since += 1
        return [float(each) for each in logs[part]]

    return scores


def layers(weight: float, floor: float) -> Callable[[Logs, Past], list[float]]:
    """LOL: the model against its lower layers, and beside an amateur."""

    def scores(logs: Logs, past: Past) -> list[float]:
        p, q = logs[0], logs[1]
        rest = [-weight * q[v] for v in range(len(p))]
        if len(logs) == 4:
            rest = [weight * (q[v] - logs[3][v]) - logs[2][v] for v in range(len(p))]
        least = floor * math.exp(max(p))
        return [p[v] + rest[v] if math.exp(p[v]) >= least else -math.inf for v in range(len(p))]

    return scores


class ExpertTables(ExpertContrast):
    """Tables in the place of a mixture of experts and itself: the formula alone."""

    def __init__(self, strong: ToyHandle, weak: ToyHandle, weight: float, floor: float) -> None:
        Composed.__init__(self, [strong, weak])
        self.weight, self.floor = weight, floor


def routings(weight: float, floor: float) -> Callable[[Logs, Past], list[float]]:
    """SCMoE: (1 + β) log p − β log q above the floor."""

    def scores(logs: Logs, past: Past) -> list[float]:
        p, q = logs[0], logs[1]
        least = floor * math.exp(max(p))
        return [p[v] + weight * (p[v] - q[v]) if math.exp(p[v]) >= least else -math.inf for v in range(len(p))]

    return scores


WEIGHTS = [0.2, 0.5, 0.3]
PAIRS = [(PROMPT, [OTHER, THIRD])]
# name: (the model of a handle, what its parts read in place of the prompt, seeds of its parts, formula, from where)
MODELS: dict[str, tuple[Callable[[Any], Any], list[list[int]], list[int], Any, int]] = {
    "guided": (lambda h: Guided(h(0), [(PROMPT, OTHER)], scale=1.8), [PROMPT, OTHER], [0, 0], guided(1.8), 0),
    "reversed": (lambda h: Guided(h(0), [(PROMPT, OTHER)], scale=-0.5), [PROMPT, OTHER], [0, 0], guided(-0.5), 0),
    "context": (lambda h: ContextAware(h(0), [(PROMPT, THIRD)], alpha=0.7), [PROMPT, THIRD], [0, 0], guided(1.7), 0),
    "selective": (
        lambda h: SelectiveContrast(h(0), [(PROMPT, OTHER)], weight=0.8, threshold=0.2, floor=0.1), [PROMPT, OTHER],
        [0, 0], selective(0.8, 0.2, 0.1), 0,
    ),
    "average": (
        lambda h: MixtureOfPrompts(h(0), PAIRS, WEIGHTS), [PROMPT, OTHER, THIRD], [0, 0, 0], average(WEIGHTS), 0,
    ),
    "mixture": (
        lambda h: MixtureOfPrompts(h(0), PAIRS, WEIGHTS, how="mixture"), [PROMPT, OTHER, THIRD], [0, 0, 0],
        mixture(WEIGHTS), 0,
    ),
    "models": (lambda h: Ensemble([h(0), h(1)], [3, 1]), [PROMPT] * 2, [0, 1], average([0.75, 0.25]), 0),
    "experts": (
        lambda h: Ensemble([h(0), h(1)], [3, 1], how="product"), [PROMPT] * 2, [0, 1], product([0.75, 0.25]), 0,
    ),
    "one of two": (
        lambda h: Ensemble([h(0), h(1)], [3, 1], how="mixture"), [PROMPT] * 2, [0, 1], mixture([0.75, 0.25]), 1,
    ),
    "routings": (lambda h: ExpertTables(h(0), h(1), 0.5, 0.1), [PROMPT] * 2, [0, 1], routings(0.5, 0.1), 0),
    "layers": (lambda h: LayerContrast(h(0), h(1), weight=0.4, floor=0.1), [PROMPT] * 2, [0, 1], layers(0.4, 0.1), 0),
    "layers and an amateur": (
        lambda h: LayerContrast(h(0), h(1), (h(2), h(3)), weight=0.4), [PROMPT] * 4, [0, 1, 2, 3], layers(0.4, 0.0), 0,
    ),
    "switch": (
        lambda h: EntropySwitch(h(0), h(1), threshold=0.8, window=2, least=1), [PROMPT] * 2, [0, 1],
        switch(0.8, 2, 1), 1,
    ),
    "switch after prompts": (
        lambda h: EntropySwitch(h(0), h(1), threshold=0.6, window=3, least=0, prompts=[PROMPT]), [PROMPT] * 2, [0, 1],
        switch(0.6, 3, 0), 0,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Composition(Case):
    """A case whose model is composed, by its formula."""

    name: str = ""

    def part(self, number: int) -> ToyHandle:
        width = LANGUAGES[self.language].vocabulary.size
        return ToyHandle(width, self.seed * 10 + number, min(self.spread, 4.0))

    @cached_property
    def model(self) -> Any:
        return self

    def log_probs(self, prefix: Sequence[int]) -> np.ndarray:
        _, prompts, seeds, formula, begin = MODELS[self.name]
        parts = [self.part(seed) for seed in seeds]
        output = list(prefix)[len(PROMPT) :]
        past: Past = []
        if begin:  # the prompt speaks too, after its first token
            for place in range(begin, len(PROMPT)):
                past.append(([part.log_probs(PROMPT[:place]) for part in parts], PROMPT[place]))
        for place, token in enumerate(output):
            before = [p.log_probs([*own, *output[:place]]) for p, own in zip(parts, prompts, strict=True)]
            past.append((before, token))
        logs = [part.log_probs([*own, *output]) for part, own in zip(parts, prompts, strict=True)]
        scores = formula(logs, past)
        return np.array(scores) - log_sum(scores)

    def composed_job(self, draw: Any, **changes: Any) -> Any:
        vocabulary = self.constraint.vocabulary
        return self.job(draw, model=MODELS[self.name][0](self.part), token_bytes=vocabulary.tokens, **changes)


CASES = [
    Composition(case.language, case.seed, case.spread, case.settings, name) for name in MODELS for case in cases(3)
]
SOME = pytest.mark.parametrize("case", CASES, ids=[f"{case.name}-{case}" for case in CASES])
SMALL = [
    Composition(language, 1, 1.0, Settings(max_tokens=4), name)
    for name in MODELS
    for language in ("optional tail", "ambiguous")
]


def walk(case: Composition, method: Any) -> list[tuple[float, Sample]]:
    return list(enumerate_draws(lambda draw: drive(method, case.composed_job(draw))[0]))


def members(case: Composition) -> dict[Tokens, float]:
    """log p of every member that has any mass."""
    return {tokens: log_p for tokens, log_p in exact(case).items() if log_p > -math.inf}


def truth(case: Composition) -> dict[Tokens, float]:
    return {tokens: math.exp(log_p) for tokens, log_p in members(case).items()}


@SOME
def test_masked_decoding(case: Composition) -> None:
    found = walk(case, lcd)
    assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=TINY)
    assert weighted(found) == pytest.approx(truth(case), rel=1e-8, abs=1e-300)


@SOME
def test_exact(case: Composition) -> None:
    target = members(case)
    if target and math.fsum(map(math.exp, target.values())) > 1e-290:
        assert law_of(walk(case, Exact())) == pytest.approx(conditional(target), abs=TINY)


@pytest.mark.parametrize("case", SMALL, ids=[f"{case.name}-{case}" for case in SMALL])
@pytest.mark.parametrize(
    "method",
    [
        SIR(samples=2),
        SMC(particles=2),
        Speculation([LegalWords(), Lookup()]),
        CARS(attempts=1),
        MCMC(steps=1, proposal="uniform"),
    ],
    ids=["sir", "smc", "drafts", "cars", "mcmc"],
)
def test_every_method(case: Composition, method: Any) -> None:
    """Sequences are forked, dropped and begun again, and what follows the text with them."""
    found = walk(case, method)
    target = truth(case)
    if isinstance(method, CARS):
        law = law_of(found)
        success = math.fsum(law.values())
        assert {x: q / success for x, q in law.items()} == pytest.approx(conditional(members(case)), abs=1e-9)
    elif isinstance(method, MCMC):
        pi = conditional(members(case))
        first = law_of(walk(case, MCMC(steps=0)))
        laws = (law_of(found), first)
        near, far = (0.5 * math.fsum(abs(law.get(x, 0) - pi.get(x, 0)) for x in {*law, *pi}) for law in laws)
        assert near <= far + TINY
        for sample in (each for _, each in found if each.finish_reason == "stop"):
            assert sample.log_prob == pytest.approx(math.log(target[tuple(sample.tokens)]), abs=1e-8)
    else:
        assert weighted(found) == pytest.approx(target, rel=1e-8, abs=1e-300)


def test_a_token_without_mass() -> None:
    """A token without mass after the prompt has none composed; one without mass after the other alone has a floor."""
    parts = [torch.tensor([[0.0, -torch.inf, -torch.inf]]), torch.tensor([[0.0, -torch.inf, 0.0]])]
    model = Guided(ToyHandle(3), [(PROMPT, OTHER)], scale=2)
    assert model.combine(parts, None).tolist() == [[0.0, -math.inf, -math.inf]]
    assert model.combine(parts[::-1], None).tolist() == [[0.0, -math.inf, 100.0]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ensemble([]), "takes a list of models"),
        (lambda: Ensemble([ToyHandle(3), ToyHandle(4)]), r"different vocabularies[\s\S]*part 1"),
        (lambda: Ensemble([ToyHandle(3)], [0]), "weights must be 1 numbers"),
        (lambda: Ensemble([ToyHandle(3)], how="sum"), "there is no 'sum' of models"),
        (lambda: Guided(ToyHandle(3), {}), "every prompt needs counterparts"),
        (lambda: Guided(ToyHandle(3), [([0], [1]), ([0, 1], [1])]), "begins another one"),
        (lambda: Guided(ToyHandle(3), [([0], [1])], scale=math.inf), "scale must be a finite number"),
        (lambda: ContextAware(ToyHandle(3), [([0], [1])], alpha=-1), "alpha must be a number"),
        (lambda: SelectiveContrast(ToyHandle(3), [([0], [1])], threshold=2), "threshold must be a number"),
        (lambda: EntropySwitch(ToyHandle(3), ToyHandle(3), threshold=-1), "threshold must be a number"),
        (lambda: LayerContrast(ToyHandle(3), ToyHandle(3), ToyHandle(3)), "a model and its lower layers"),
        (lambda: LayerContrast(ToyHandle(3), ToyHandle(3), floor=2), "floor must be a number"),
        (lambda: Guided(ToyHandle(3), [([0], [1])]).start([[1, 1]], [1]), "no counterparts in the composed model"),
    ],
)
def test_what_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ConstrainError, match=message):
        make()


def test_the_context_has_room_for_every_prompt() -> None:
    handle = ToyHandle(3)
    handle.context = 10
    assert Guided(handle, [([0], [1, 1, 1])]).context == 8
    assert Guided(handle, [([0, 0], [1])]).context == 10
    assert Ensemble([handle, ToyHandle(3)]).context == 10


def test_a_model_reads_when_it_writes() -> None:
    """EAD: the large model reads in one forward pass what the small one wrote; the one that does not write rests."""
    small, large = ToyHandle(3, seed=1), ToyHandle(3, seed=2)
    flat, sharp = np.zeros(3), np.array([9.0, 0.0, 0.0])
    for text in ([0], [0, 0], [0, 0, 0], [0] * 4, [0] * 5):
        small.fixed[tuple(text)] = flat if len(text) == 3 else sharp
        large.fixed[tuple(text)] = sharp + 1
    session, (first,) = EntropySwitch(small, large, threshold=1, window=1, least=0).start([[0]], keep=[1])
    counts, found = [(small.forwards, large.forwards)], [first]
    for _ in range(4):
        found += session.feed([[0]], keep=[1])
        counts.append((small.forwards, large.forwards))
    assert counts == [(1, 0), (2, 0), (3, 1), (4, 2), (5, 2)]  # the third place is unsure, the fourth is not
    assert torch.stack(found).exp()[:, 0, 0].tolist() == pytest.approx([float(torch.tensor(sharp).softmax(0)[0])] * 5)


def test_generate() -> None:
    """A batch is what its prompts give alone; processors go on top; equal parts are the model."""
    reference = constrain.reference.load()
    table = {"A word: ": "Word: ", "The name: ": "A: "}
    guided_model = Guided(reference, table, scale=1.4)
    options: dict[str, Any] = {"regex": "[a-z]{2,5}", "seed": 5, "processors": [MinP(0.02)]}
    together = constrain.generate(guided_model, list(table), **options)
    assert together[0].text == constrain.generate(guided_model, "A word: ", **options).text
    plain = constrain.generate(reference, "A word: ", **options)
    same = constrain.generate(Ensemble([reference, reference], how="product"), "A word: ", **options)
    assert same.text == plain.text
    assert same.logprob == pytest.approx(plain.logprob, abs=1e-3)
    one = constrain.generate(Guided(reference, table, scale=1), "A word: ", **options)
    assert one.text == plain.text
    drafted = constrain.generate(guided_model, list(table), draft="auto", **options)
    assert [each.text for each in drafted] == [each.text for each in together]
