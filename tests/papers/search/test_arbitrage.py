"""`Arbitrage`: the distribution of outputs, from all draws; the oracle, and a router that is learned from it."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from sampling_cases import Case, Tokens
from test_unsure_searches import Twin, law_of, models, summed

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers.search.arbitrage import Arbitrage, ComparedStep, DraftedStep, compared_steps, fit_router

MARKS = b"(b"


def router(step: DraftedStep) -> float:
    """Some function of what a router is told."""
    return 0.4 * (len(step.after) - len(step.before)) + 0.3 * step.after.count("a") + 0.2 * min(2.0, step.surprise)


class ArbitrageTwin(Twin):
    """The distribution by its formula: q(u) 1[the router is content] + R p(u)."""

    def __init__(self, case: Case, other: Case) -> None:
        super().__init__(case)
        self.draft = Twin(other)

    def text(self, ids: Tokens) -> str:
        return b"".join(self.vocabulary.tokens[v] or b"" for v in ids if v not in self.vocabulary.eos_ids).decode()

    def steps(self, of: Twin, ids: Tokens, begun: int, logs: float = 0.0) -> Iterator[tuple[float, Tokens, float]]:
        """(probability, the text with a step, mean −log p of the step; −1 at a dead end)"""
        written = ids[begun:]
        if written and (self.ended(ids) or any(byte in MARKS for byte in self.vocabulary.tokens[written[-1]] or b"")):
            yield 1.0, ids, logs / len(written)
        elif not of.law(ids):
            yield 1.0, ids, -1.0
        else:
            for token, p in of.law(ids).items():
                for chance, output, surprise in self.steps(of, (*ids, token), begun, logs - math.log(p)):
                    yield p * chance, output, surprise

    def outputs(self, ids: Tokens = ()) -> Iterator[tuple[float, Tokens]]:
        if self.ended(ids):
            yield 1.0, ids
            return
        refused = 0.0
        for p, output, surprise in self.steps(self.draft, ids, len(ids)):
            if surprise >= 0 and router(DraftedStep(self.text(ids), self.text(output), surprise)) <= 1.0:
                yield from ((p * chance, whole) for chance, whole in self.outputs(output))
            else:
                refused += p
        for p, output, surprise in self.steps(self, ids, len(ids)):
            rest = [(1.0, output)] if surprise < 0 else self.outputs(output)
            yield from ((refused * p * chance, whole) for chance, whole in rest)


@pytest.mark.parametrize("case", models(3, ("forced chain", "one member", "optional tail")), ids=str)
def test_the_law_of_arbitrage(case: Case) -> None:
    other = replace(case, seed=case.seed + 3)  # of the same width
    method = Arbitrage(other.model, router, threshold=1.0, boundary=lambda _, new: any(byte in MARKS for byte in new))
    expected = summed(ArbitrageTwin(case, other).outputs(), least=1e-15)
    assert law_of(case, method) == pytest.approx(expected, abs=1e-10)


def embedded() -> tuple[HFModel, HFModel]:
    reference = constrain.reference.load()
    return HFModel(reference.draft, reference.tokenizer), HFModel(reference.model, reference.tokenizer)


def after_comma(before: bytes, new: bytes) -> bool:
    return b"," in new


@pytest.mark.parametrize("bound, by_target", [(-1.0, 4), (2.0, 0)])
def test_a_router_that_always_says_the_same(bound: float, by_target: int) -> None:
    """Always the target, or never; the large model reads nothing in vain where it is not asked."""
    small, large = embedded()
    read = []

    class Read(HFModel):
        def start(self, prefixes: Any, keep: Any) -> Any:
            read.append(len(prefixes))
            return super().start(prefixes, keep)

    method = Arbitrage(small, lambda step: 0.5, threshold=max(0.0, bound), boundary=after_comma)
    if bound < 0:
        method.router = lambda step: 1.0
    watched = Read(large.model, large.tokenizer)
    g = constrain.generate(watched, "Digits: ", regex="[0-9](,[0-9]){3}", method=method, seed=1, draft=False)
    assert g.finish_reason == "stop"
    assert g.stats.method == f"arbitrage: 4 steps, {by_target} by the target"
    assert bool(read) == bool(by_target)


def test_the_oracle_takes_the_better_step_and_teaches_a_router() -> None:
    small, large = embedded()

    def reward(text: str) -> float:
        return float(text.count("7") - text.count("1"))

    steps: list[ComparedStep] = []
    for seed in range(6):
        found, g = compared_steps(
            large, small, "Digits: ", reward, boundary=after_comma, regex="[0-9](,[0-9]){5}", seed=seed, draft=False
        )
        steps += found
        assert g.finish_reason == "stop"
        by_target = sum(each.better for each in found)
        assert g.stats.method == f"arbitrage oracle: {len(found)} steps, {by_target} by the target"
        for this, after in pairwise(found):
            assert this.better or after.step.before == this.step.after
    assert 0 < sum(each.better for each in steps) < len(steps)
    learned = fit_router(steps, reward)
    chances = [learned(each.step) for each in steps]
    assert all(0 < chance < 1 for chance in chances)
    better = [chance for chance, each in zip(chances, steps, strict=True) if each.better]
    assert sum(better) / len(better) > sum(chances) / len(chances)
    with pytest.raises(ConstrainError, match="some better, and some not"):
        fit_router([each for each in steps if each.better], reward)


def test_options_of_arbitrage() -> None:
    small, large = embedded()
    with pytest.raises(ConstrainError, match="router="):
        Arbitrage(small, "no function")  # type: ignore[arg-type]
    with pytest.raises(ConstrainError, match="no boundary"):
        Arbitrage(small, router, boundary="statement")
    other = HFModel.of(constrain.reference.load())
    other.width += 1
    with pytest.raises(ConstrainError, match="another vocabulary"):
        constrain.generate(large, "Hi", regex="a", method=Arbitrage(other, router))
