"""Minimum Bayes risk by its formula and by enumeration; outputs at several temperatures are those of generate."""

import math
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.errors import ConstrainError
from constrain.generation import Generation, Generations, Stats
from constrain.papers import hedged, minimum_bayes_risk
from constrain.sampling.core.draw import mixed


def output(text: str, log_weight: float = 0.0, finish: Any = "stop") -> Generation[Any]:
    return Generation(text, [1], None, 0.0, log_weight, finish, Stats())


@pytest.mark.parametrize("seed", range(20))
def test_values_by_the_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = ["".join(rng.choice(list("abc"), rng.integers(1, 5))) for _ in range(6)]
    logs = rng.normal(size=6)
    outputs = [output(text, log) for text, log in zip(texts, logs.tolist(), strict=True)]
    table = {(one, other): float(rng.normal()) for one in texts for other in texts}
    asked: list[tuple[str, str]] = []

    def utility(candidate: Generation[Any], other: Generation[Any]) -> float:
        asked.append((candidate.text, other.text))
        return table[candidate.text, other.text]

    weights = np.exp(logs) / np.exp(logs).sum()
    for weighted, shares in ((True, weights), (False, np.full(6, 1 / 6))):
        asked.clear()
        failed = [output("x", 0.0, "length"), output("y", -math.inf)]
        found = minimum_bayes_risk([*outputs, *failed], utility, weighted=weighted)
        expected = [sum(w * table[one, other] for w, other in zip(shares, texts, strict=True)) for one in texts]
        assert found.values == pytest.approx(expected)
        assert found.output is outputs[int(np.argmax(expected))]
        assert len(asked) == len(set(asked)) == len(set(texts)) ** 2


def test_the_value_is_the_expected_utility() -> None:
    """With one output for each text, weighted by its probability, it is the expectation under the model."""
    model, choices = constrain.reference.load(), ["red", "bed", "blue"]
    scores = constrain.score(model, "A colour: ", choices)
    outputs = [output(text, math.log(share)) for text, share in zip(choices, scores.shares, strict=True)]
    same = lambda one, other: float(one.text == other.text)  # noqa: E731
    found = minimum_bayes_risk(outputs, same)
    assert found.values == pytest.approx(scores.shares)
    assert found.output.text == scores.best.text


def test_texts_agree_by_their_pairs() -> None:
    assert minimum_bayes_risk([output("abcd"), output("abxd"), output("zzzz")]).output.text in ("abcd", "abxd")
    assert minimum_bayes_risk([output("abc"), output("abd")]).values == pytest.approx([0.75, 0.75])
    assert minimum_bayes_risk([output("a"), output("a"), output("")]).values == pytest.approx([2 / 3, 2 / 3, 1 / 3])


def test_hedged_outputs() -> None:
    model = constrain.reference.load()
    options: dict[str, Any] = {"regex": "[a-z]{3,6}", "max_tokens": 8}
    found = hedged(model, "A word: ", [0, 0.5, 1.2], seed=4, **options)
    for number, (temperature, each) in enumerate(zip([0, 0.5, 1.2], found, strict=True)):
        alone = constrain.generate(model, "A word: ", temperature=temperature, seed=mixed(4, number), **options)
        assert each.text == alone.text
    assert isinstance(found, Generations)


def test_hedged_outputs_of_neighbouring_seeds_are_independent() -> None:
    """Once the outputs of seed 2 were those of seed 1, shifted by one."""
    model, options = constrain.reference.load(), {"regex": "[a-z]{4}", "max_tokens": 5, "canonical": False}
    drawn = [each.stats.seed for seed in range(-2, 6) for each in hedged(model, "A", [1] * 2, seed=seed, **options)]
    assert len(set(drawn)) == len(drawn)
    same = [hedged(model, "A", [1] * 3, seed=7, **options).unwrap() for _ in range(2)]
    assert same[0] == same[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: minimum_bayes_risk([output("a", 0.0, "length")]), "no output is complete"),
        (lambda: minimum_bayes_risk([output("a")], lambda one, other: math.nan), "a utility is a finite number"),
        (lambda: hedged(None, "", []), "takes a list of temperatures"),
        (lambda: hedged(None, "", [1], n=2), "hedged has no argument n"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ConstrainError, match=message):
        call()
