"""Drafts over composed models: every part reads the same tree, and outputs have the distribution without drafts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from matrix_cases import handle
from sampling_cases import exact, weighted
from test_ahead import EXACT, METHODS, WEIGHTED, Found, table
from test_composed import MODELS, Composition, ToyHandle
from test_matrix_laws import RULES, Asked, drawn
from tiny_cases import TINY_LANGUAGES

import constrain
from constrain.errors import ConstrainError
from constrain.papers import Heads
from constrain.papers.composed import ByteModel, ContextAware, Ensemble, EntropySwitch, Guided, MixtureOfPrompts
from constrain.papers.heads import DraftHeads
from constrain.sampling import Draw, Sample, Settings, enumerate_draws, lcd
from constrain.sampling.core.chains import target_of
from constrain.sampling.core.sampler import drive
from constrain.speculative import Fixed, Speculation
from toy_matcher import ToyConstraint, ToyVocabulary
from tree_target import Given, TreeTable

TINY = 1e-10
PROMPT = "red green red green name 00"
OTHER = "red name"


class TreeHandle(TreeTable):
    """A table of logits that reads trees, and has what `generate` asks of a model."""

    tokenizer = None
    vocabulary = ToyVocabulary([b"a"], [0])


@dataclass(frozen=True)
class Drafted(Composition):
    """A composed model whose parts read trees, or chains, over three tokens."""

    chains: bool = False

    @property
    def constraint(self) -> ToyConstraint:
        return TINY_LANGUAGES[self.language]

    def part(self, number: int) -> Any:
        kind = ToyHandle if self.chains else TreeHandle
        return kind(self.constraint.vocabulary.size, self.seed * 10 + number, min(self.spread, 4.0))


def walk(case: Drafted, method: Callable[[], Any], drafts: Callable[[], Speculation] | None = None) -> Found:
    """Every way the draws can turn out; drafts are read ahead, unless they are the method."""

    def run(draw: Draw) -> Sample:
        job = case.composed_job(draw)
        (sample,) = drive(method(), job if drafts is None else drafts().ahead(job))
        return sample

    return list(enumerate_draws(run))


def check(case: Drafted, found: Found, plain: Found) -> None:
    """The joint distribution of outputs and their numbers is that without drafts, and that of the formula."""
    assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=TINY)
    assert table(found) == pytest.approx(table(plain), abs=TINY)


def number_of(name: str) -> int:
    return list(MODELS).index(name)


@pytest.mark.parametrize("chains", [False, True], ids=["trees", "chains"])
@pytest.mark.parametrize("name", MODELS)
def test_the_rules(name: str, chains: bool) -> None:
    """Of masked decoding: the target of a node is what the parts' logits make of it."""
    taken = 0
    for place, rule in enumerate(RULES[chains::2]):
        seed = number_of(name) + place
        case = Drafted(("branching", "twin ids")[place % 2], seed, 1.5, Settings(max_tokens=3), name, chains)
        verifier = Asked(rule)
        found = walk(case, lambda rule=rule, seed=seed, verifier=verifier: drawn(rule, seed, verifier))
        check(case, found, walk(case, lambda: lcd))
        truth = {tokens: math.exp(log_p) for tokens, log_p in exact(case).items() if log_p > -math.inf}
        assert weighted(found) == pytest.approx(truth, rel=1e-8, abs=1e-300)
        taken += verifier.taken
    assert taken > 0


@pytest.mark.parametrize("chains", [False, True], ids=["trees", "chains"])
@pytest.mark.parametrize("name", MODELS)
def test_methods_that_read_ahead(name: str, chains: bool) -> None:
    """Particles fork, wait and are dropped, and what follows the text goes with them along each path."""
    names = list(METHODS)
    for place in range(2):
        method = names[(2 * number_of(name) + place + chains) % len(names)]
        language = "twin ids" if method in EXACT else "branching"
        case = Drafted(language, place, 1.5, Settings(max_tokens=3), name, chains)
        found = walk(case, METHODS[method], lambda: Speculation([Given(3, 5)], controller=Fixed(6, 3)))
        check(case, found, walk(case, METHODS[method]))
        if method in WEIGHTED:
            truth = {tokens: math.exp(log_p) for tokens, log_p in exact(case).items() if log_p > -math.inf}
            assert weighted(found) == pytest.approx(truth, rel=1e-8, abs=1e-14)


COMPOSED: dict[str, Callable[[], Any]] = {
    "guided": lambda: Guided(handle(), {PROMPT: OTHER}, scale=1.6),
    "context": lambda: ContextAware(handle(), {PROMPT: OTHER}),
    "mixture": lambda: MixtureOfPrompts(handle(), {PROMPT: [OTHER]}, how="mixture"),
    "ensemble": lambda: Ensemble([handle(), handle(1)], how="product"),
    "of composed": lambda: Ensemble([Guided(handle(), {PROMPT: OTHER}), handle(1)]),
    "switch": lambda: EntropySwitch(handle(1), handle(), threshold=3),
}


@pytest.mark.parametrize("name", COMPOSED)
@pytest.mark.parametrize(("method", "temperature"), [("lcd", 0), ("lcd", 1.0), ("smc", 1.0)])
def test_generate(name: str, method: str, temperature: float) -> None:
    """The texts are those without drafts, in fewer forward passes; a switch reads chains only."""
    model = COMPOSED[name]()
    assert target_of(model).branching is (name != "switch")
    given: dict[str, Any] = {
        "regex": "(red|green|name| ){12}", "temperature": temperature, "seed": 2, "max_tokens": 30, "method": method,
    }  # fmt: skip
    plain = constrain.generate(model, PROMPT, **given)
    found = constrain.generate(model, PROMPT, draft="auto", **given)
    assert (found.tokens, found.finish_reason) == (plain.tokens, plain.finish_reason)
    assert found.logprob == pytest.approx(plain.logprob, abs=1e-6)
    assert sum(count.drafted for count in found.stats.drafts.values()) > 0
    assert {count.fault for count in found.stats.drafts.values()} == {None}
    if name != "switch":  # whose chains are read by a fork, and again where they were not taken whole
        assert found.stats.forwards < plain.stats.forwards


def test_what_is_refused() -> None:
    """Heads read the hidden states of one model; bytes are read one after the other."""
    heads = Heads(DraftHeads(handle(), depth=1))
    with pytest.raises(ConstrainError, match="tells no hidden states"):
        constrain.generate(COMPOSED["guided"](), PROMPT, regex="a+", draft=heads, max_tokens=3)
    for model in (ByteModel(handle()), Ensemble([ByteModel(handle())])):
        with pytest.raises(ConstrainError, match="drafts need a model of transformers"):
            constrain.generate(model, PROMPT, regex="a+", draft="auto", max_tokens=3)
