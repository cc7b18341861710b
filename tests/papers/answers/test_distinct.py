"""Outputs that differ: sampling without replacement, by enumeration; and votes."""

import math
from itertools import permutations
from typing import Any

import pytest

import constrain
from constrain.errors import ConstrainError
from constrain.generation import Generation, Generations, Stats
from constrain.papers import distinct
from constrain.papers.answers.distinct import listed
from constrain.reports.answers import score
from constrain.sampling import Exact, enumerate_draws
from constrain.sampling.core.draw import mixed
from toy_handle import PIECES, ToyHandle

TEXTS = ["ab", "b", "bab"]
PROMPT = [0, 5, 1]


def handle(seed: int) -> ToyHandle:
    return ToyHandle(len(PIECES), seed, (1.0, 3.0, 9.0)[seed % 3])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_law_is_sampling_without_replacement(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way the draws of three calls can turn out: P(x, y, z) = π(x) π(y) / (1 − π(x)), over three texts."""
    model = handle(seed)
    from constrain.generation import run

    def once(draw: Any) -> tuple[str, ...]:
        monkeypatch.setattr(run, "TorchDraw", lambda seed: draw)
        outputs = distinct(model, PROMPT, 5, choices=TEXTS, method=Exact(), seed=1)
        return tuple(output.text for output in outputs)

    found: dict[tuple[str, ...], float] = {}
    for probability, texts in enumerate_draws(once):
        found[texts] = found.get(texts, 0.0) + probability
    shares = dict(zip(TEXTS, score(model, PROMPT, TEXTS, tokenisations="all").shares, strict=True))
    law = {(x, y, z): shares[x] * shares[y] / (shares[y] + shares[z]) for x, y, z in permutations(TEXTS)}
    assert found == pytest.approx(law, abs=1e-10)


def test_explored_texts_are_shown() -> None:
    """Each output is that of the language less the texts before, after the prompt that shows them."""
    model, language = constrain.reference.load(), constrain.regex("[a-f]{2}")
    found = distinct(model, "A: ", 4, explored=listed, constraint=language, seed=5)
    texts = [each.text for each in found]
    assert len(set(texts)) == 4
    for number, text in enumerate(texts):
        shown = "".join(f"A: {each}\n" for each in texts[:number]) + "A: "
        left = [one + other for one in "abcdef" for other in "abcdef" if one + other not in texts[:number]]
        again = constrain.generate(model, shown, choices=left, seed=mixed(5, number))
        assert again.text == text


def test_outputs_of_neighbouring_seeds_are_independent() -> None:
    given: dict[str, Any] = {"choices": TEXTS, "canonical": False}
    drawn = [each.stats.seed for seed in range(4) for each in distinct(handle(0), PROMPT, 3, seed=seed, **given)]
    assert len(set(drawn)) == len(drawn)


@pytest.mark.parametrize("name", ["argmax", "cars", "lcd", "sir"])
def test_methods_run_out_of_texts(name: str) -> None:
    model = handle(0)
    outputs = distinct(model, PROMPT, 9, choices=TEXTS, method=name, seed=3)
    assert sorted(output.text for output in outputs) == TEXTS


def test_a_grammar_and_a_prefix_that_is_used_up() -> None:
    """Behind "bb" there is one text, so that after it no mask begins with it: nothing ends in a dead end."""
    text = 'start: "a" start | "bb" | "ab"'
    outputs = distinct(handle(2), PROMPT, 4, grammar=text, seed=2, max_tokens=60, complete=True)
    assert len({output.text for output in outputs}) == 4
    assert {output.finish_reason for output in outputs} == {"stop"}


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "distinct takes texts out of a constraint, and none of this library was given"),
        ({"choices": ["a"], "stream": True}, "distinct has no argument stream"),
        ({"choices": ["a"], "regex": "a"}, "generate takes one constraint, not 2"),
    ],
)
def test_faults_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConstrainError) as caught:
        distinct(handle(0), PROMPT, 2, **options)
    assert message in str(caught.value)


def output(text: str, value: Any = None, log_weight: float = 0.0, finish: Any = "stop") -> Generation[Any]:
    return Generation(text, [1], value, 0.0, log_weight, finish, Stats())


VOTES = [  # (outputs, options, answers with shares)
    ([output("a"), output("b"), output("a")], {}, {"a": 2 / 3, "b": 1 / 3}),
    ([output("a"), output("b", log_weight=math.log(3))], {}, {"b": 0.75, "a": 0.25}),
    ([output("1", 1), output("1.0", 1.0), output("true", True)], {}, {1: 2 / 3, "True": 1 / 3}),
    ([output("x", {"a": [1]}), output("y", {"a": [1.0]}), output("z", 2)], {}, {"{'a': [1]}": 2 / 3, 2: 1 / 3}),
    ([output("a", finish="length"), output("b"), output("c", log_weight=-math.inf)], {}, {"b": 1.0}),
    ([output("a"), output("a"), output("bb"), output("cb")], {"key": lambda g: g.text[-1]}, {"a": 0.5, "b": 0.5}),
    ([output("a"), output("a"), output("bbb")], {"complexity": lambda g: len(g.text), "keep": 1}, {"bbb": 1.0}),
]


@pytest.mark.parametrize("outputs, options, expected", VOTES)
def test_votes_count_by_weight(outputs: list[Any], options: dict[str, Any], expected: dict[Any, float]) -> None:
    vote = Generations(outputs).vote(**options)
    shown = {answer if type(answer) in (int, float, str) else str(answer): share for answer, share in vote}
    assert shown == pytest.approx(expected)
    assert list(vote.shares) == sorted(vote.shares, reverse=True)
    assert vote.share == max(vote.shares)


def test_votes_estimate_the_conditional_law() -> None:
    """Weighted outputs of masked decoding: the shares tend to those of `score`, the counts do not."""
    model: ToyHandle = handle(4)
    truth = dict(zip(TEXTS, score(model, PROMPT, TEXTS, tokenisations="all").shares, strict=True))
    outputs = constrain.generate(model, PROMPT, choices=TEXTS, n=3000, seed=5, max_tokens=9)
    voted = dict(outputs.vote())
    counted = {text: sum(o.text == text for o in outputs) / len(outputs) for text in TEXTS}
    assert max(abs(voted.get(text, 0) - truth[text]) for text in TEXTS) < 0.06
    assert max(abs(counted[text] - truth[text]) for text in TEXTS) > 0.1


def test_a_vote_needs_a_complete_output() -> None:
    with pytest.raises(ConstrainError, match="no output is complete"):
        Generations([output("a", finish="length")]).vote()
    with pytest.raises(ConstrainError, match="complexity and keep go together"):
        Generations([output("a")]).vote(keep=3)
