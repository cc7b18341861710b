"""Scores of options against the definition: products of next-token probabilities, and one forward for all."""

import math
from enum import Enum
from functools import wraps
from typing import Any

import pytest
import torch

import constrain
from constrain import reference
from constrain.errors import ConstrainError, LimitError
from constrain.models.hf import HFModel
from constrain.papers import rank
from constrain.reports.answers import Scores
from constrain.reports.answers import token_tree as trees
from toy_handle import ENDS, PIECES, Cutter, ToyHandle

TINY = 1e-10
PROMPT = [0, 5, 1]


def handle(seed: int, ragged: bool = True) -> ToyHandle:
    return ToyHandle(len(PIECES), seed, (1.0, 3.0, 9.0)[seed % 3], ragged)


def by_hand(model: ToyHandle, tokens: tuple[int, ...], end: bool, temperature: float = 1.0) -> float:
    """log p, from the definition."""
    total, text = 0.0, list(PROMPT)
    for token in tokens:
        total += float(_log_probs(model, text, temperature)[token])
        text.append(token)
    ends = _log_probs(model, text, temperature)[ENDS]
    return total + (float(ends.logsumexp(0)) if end else 0.0)


def _log_probs(model: ToyHandle, text: list[int], temperature: float) -> torch.Tensor:
    return (torch.tensor(model.logits(text)) / temperature).log_softmax(0)


def ways(text: bytes) -> list[tuple[int, ...]]:
    if not text:
        return [()]
    return [
        (token, *rest)
        for token, piece in enumerate(PIECES)
        if piece and text.startswith(piece)
        for rest in ways(text[len(piece) :])
    ]


TEXTS = ["ab", "a", "bab", "", "abab", "a"]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("ragged", [True, False])
def test_canonical_is_the_tokenizers_cut(seed: int, ragged: bool) -> None:
    model, end, temperature = handle(seed, ragged), bool(seed % 2), (1.0, 0.5)[seed % 4 // 2]
    scores = constrain.score(model, PROMPT, TEXTS, end=end, temperature=temperature)
    for text, score in zip(TEXTS, scores, strict=True):
        tokens = tuple(Cutter()(text)["input_ids"])
        assert score.tokens == tokens
        assert score.logprob == pytest.approx(by_hand(model, tokens, end, temperature), abs=TINY)
        assert (score.option, score.text, score.tokenisations) == (text, text, 1)


@pytest.mark.parametrize("seed", range(12))
def test_all_is_the_sum_over_all_cuts(seed: int) -> None:
    model, end = handle(seed), bool(seed % 2)
    for text, score in zip(TEXTS, constrain.score(model, PROMPT, TEXTS, tokenisations="all", end=end), strict=True):
        each = {tokens: by_hand(model, tokens, end) for tokens in ways(text.encode())}
        assert math.exp(score.logprob) == pytest.approx(math.fsum(map(math.exp, each.values())), abs=TINY)
        assert score.tokenisations == len(each)
        assert each[score.tokens] == pytest.approx(max(each.values()))


@pytest.mark.parametrize("seed", range(10))
def test_token_ids_count_as_they_stand(seed: int) -> None:
    model = handle(seed)
    ids = [[3, 1], [0, 1], [2], [2, 7], []]
    scores = constrain.score(model, PROMPT, ids)
    for tokens, score in zip(ids, scores, strict=True):
        ended = bool(tokens) and tokens[-1] in ENDS
        assert score.logprob == pytest.approx(by_hand(model, tuple(tokens), not ended), abs=TINY)
        assert score.tokens == tuple(tokens[:-1] if ended else tokens)


@pytest.mark.parametrize("seed", range(10))
def test_shares_are_the_exact_law_of_generate(seed: int) -> None:
    model = handle(seed)
    texts = ["ab", "bab", "b"]
    scores = constrain.score(model, PROMPT, texts, tokenisations="all")
    table = constrain.generate(model, PROMPT, choices=texts, method="exact", seed=1)
    assert table.log_evidence == pytest.approx(math.log(math.fsum(math.exp(s.logprob) for s in scores)), abs=1e-9)
    total = math.fsum(math.exp(s.logprob) for s in scores)
    assert scores.shares == pytest.approx([math.exp(s.logprob) / total for s in scores])
    assert scores.best.logprob == max(s.logprob for s in scores) == scores.ranked[0].logprob


@pytest.fixture(scope="module")
def ref() -> HFModel:
    return HFModel.of(reference.load(torch.float64))


OPTIONS = [f"{a}{b}" for a in ("red", "green", "blue", "dark ", "light ", "name", "item", "value") for b in
           ("", "er", " one", "ish", "s", "ly", "_id", " 2")]  # fmt: skip


def test_64_options_are_one_forward_and_equal_to_64_scores(ref: HFModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the model's own forwards counted, and the definition as the other side: no tree, no cache."""
    assert len(set(OPTIONS)) == 64
    assert ref.branching
    calls = []
    forward = ref.model.forward

    @wraps(forward)  # what it takes is looked up in its signature
    def counted(*given: Any, **named: Any) -> Any:
        calls.append(1)
        return forward(*given, **named)

    monkeypatch.setattr(ref.model, "forward", counted)
    scores = constrain.score(ref, "A colour: ", OPTIONS)
    assert (len(calls), scores.forwards) == (1, 1)
    prompt = ref.tokenizer("A colour: ")["input_ids"]
    for score in scores:
        single = constrain.score(ref, "A colour: ", [score.text])[0]
        (logits,) = ref.read([[*prompt, *score.tokens]])
        logs = logits.log_softmax(-1)
        steps = [logs[len(prompt) - 1 + i, token] for i, token in enumerate(score.tokens)]
        total = float(sum(steps)) + float(logs[-1, sorted(ref.vocabulary.eos_ids)].logsumexp(0))
        assert score.logprob == pytest.approx(single.logprob, abs=1e-5)
        assert score.logprob == pytest.approx(total, abs=1e-5)


def test_trees_paths_parts_and_prompts_give_the_same(ref: HFModel, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts, options = ["A colour: ", "The name is "], OPTIONS[:12]
    whole = constrain.score(ref, prompts, options, tokenisations="all")
    assert [each.forwards for each in whole] == [1, 1]
    monkeypatch.setattr(trees, "NODES", 40)
    parts = constrain.score(ref, prompts, options, tokenisations="all")
    assert parts[0].forwards > 1
    monkeypatch.setattr(ref, "branching", False)
    paths = constrain.score(ref, prompts, options, tokenisations="all")
    assert paths[0].forwards == 2
    for place in range(2):
        for one, two, three in zip(whole[place], parts[place], paths[place], strict=True):
            assert one.logprob == pytest.approx(two.logprob, abs=1e-9) == pytest.approx(three.logprob, abs=1e-9)
            assert one.tokens == two.tokens == three.tokens


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


def test_an_enum_gives_its_members(ref: HFModel) -> None:
    assert {score.option for score in constrain.score(ref, "A colour: ", Colour)} == set(Colour)


def test_rank_orders_by_the_first_token(ref: HFModel) -> None:
    labels = ["7", "[", "true", "{"]
    order = rank(ref, '{"size": ', labels)
    (logits,) = ref.read([ref.tokenizer('{"size": ')["input_ids"]])
    logs = logits[-1].log_softmax(-1)
    first = {label: ref.tokenizer(label)["input_ids"][0] for label in labels}
    assert [score.text for score in order] == sorted(labels, key=lambda label: -float(logs[first[label]]))
    assert [score.logprob for score in order] == pytest.approx([float(logs[first[score.text]]) for score in order])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m: constrain.score(m, "a", "red"), "choices must be a list of options, not str"),
        (lambda m: constrain.score(m, "a", []), "choices needs at least one option"),
        (lambda m: constrain.score(m, "a", [3]), "an option is no text and no token ids, but int: 3\n  at option 0"),
        (lambda m: constrain.score(m, "a", ["a", [99]]), "an option has token id 99\n  at option 1"),
        (lambda m: constrain.score(m, "a", ["a"], tokenisations="any"), 'must be "canonical" or "all", not \'any\''),
        (lambda m: constrain.score(m, "a", ["a"], temperature=0), "temperature 0 has no probabilities"),
        (lambda m: constrain.score(m, "a", ["x"], tokenisations="all"), "no tokens of the vocabulary spell 'x'"),
        (lambda m: rank(m, "a", ["a", "a"]), "two labels begin with the same token: 'a' and 'a'\n  at option 1"),
        (lambda m: rank(m, "a", [""]), "a label is empty\n  at option 0"),
        (lambda m: rank(m, ["a", "b"], ["a"]), "rank takes one prompt"),
    ],
)
def test_faults_are_named(call: Any, message: str) -> None:
    with pytest.raises(ConstrainError) as caught:
        call(handle(0))
    assert message in str(caught.value)


def test_too_many_cuts_are_an_error() -> None:
    with pytest.raises(LimitError) as caught:
        constrain.score(handle(0), "a", ["ab" * 16], tokenisations="all")
    assert "more than 20000 beginnings of token sequences" in str(caught.value)


def test_too_long_an_option_is_an_error(ref: HFModel) -> None:
    with pytest.raises(ConstrainError, match="and the model has"):
        constrain.score(ref, "a", ["red", "a b c " * (ref.context or 0)])


def test_scores_without_mass_have_no_shares() -> None:
    dead = constrain.answers.Score("a", "a", (0,), -math.inf)
    assert Scores([dead, dead]).shares == [0.0, 0.0]
