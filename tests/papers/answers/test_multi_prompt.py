"""Classes after several prompts: plans by enumeration, scores and hidden states by plain passes, shares by formula."""

import itertools
from typing import Any

import pytest
import torch

import constrain
from constrain.errors import ConstrainError
from constrain.papers.answers.multi_prompt import BLUR, HEAT, MultiPrompt, transport

PROMPTS = ["{} is a ", "Q: {}? A: a ", "Say what {} is: "]
CLASSES = {"colour": ["red", "yellow"], "size": ["long"]}


@pytest.fixture(scope="module", name="reader")
def made() -> MultiPrompt:
    return MultiPrompt(constrain.reference.load(), PROMPTS, CLASSES, size=8, weight=0.3)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_plans_are_the_cheapest(count: int) -> None:
    """Equal amounts: some permutation is as cheap as any plan (Birkhoff). Where it is so by far, that is the plan."""
    torch.manual_seed(count)
    costs = 2 * torch.rand(5, 2, count, count, dtype=torch.float64)
    plans = transport(costs)
    assert plans.shape == costs.shape
    torch.testing.assert_close(plans.sum(-2), torch.full_like(plans.sum(-2), 1 / count))
    torch.testing.assert_close(plans.sum(-1), torch.full_like(plans.sum(-1), 1 / count), atol=1e-2, rtol=0)
    for cost, plan in zip(costs.flatten(0, 1), plans.flatten(0, 1), strict=True):
        each = {
            order: float(sum(cost[i, j] for i, j in enumerate(order))) / count
            for order in itertools.permutations(range(count))
        }
        best = min(each, key=each.__getitem__)
        found = float((plan * cost).sum())
        assert min(each.values()) - 1e-2 <= found <= min(each.values()) + 2 * BLUR * count
        if count > 1 and sorted(each.values())[1] - each[best] > 4 * BLUR:
            assert [int(row.argmax()) for row in plan] == list(best)


def test_what_the_model_says(reader: MultiPrompt) -> None:
    handle = reader.handle
    said = reader.said("green")
    for place, prompt in enumerate(PROMPTS):
        ids = torch.tensor([handle.tokenizer(prompt.replace("{}", "green"))["input_ids"]])
        with torch.no_grad():
            out = handle.model(ids, output_hidden_states=True)
        torch.testing.assert_close(said.hidden[place], out.hidden_states[-1][0, -1], atol=1e-4, rtol=1e-4)
        logs = out.logits[0, -1].log_softmax(-1)
        for k, words in enumerate(CLASSES.values()):
            mean = sum(float(logs[handle.tokenizer(word)["input_ids"][0]]) for word in words) / len(words)
            assert float(said.scores[place, k]) == pytest.approx(mean, abs=1e-4)


def shares(reader: MultiPrompt, text: str) -> list[float]:
    """By the formula, with a loop for each sum."""
    said, bare = reader.said(text), reader.said("")
    total = []
    for k in range(2):
        calibrated = sum(float(said.scores[p, k] - bare.scores[p, k]) for p in range(3)) / 3
        cost = 0.0
        if reader._fitted is not None:
            matrix, prototypes = reader._fitted
            own = [row @ matrix for row in said.hidden]
            pairs = torch.tensor(
                [[1 - float(torch.cosine_similarity(a, b, dim=0)) for b in prototypes[k]] for a in own]
            )
            plan = transport(pairs)
            cost = sum(float(plan[i, j] * pairs[i, j]) for i in range(3) for j in range(3))
        total.append(0.3 * calibrated - cost / HEAT)
    return torch.tensor(total).softmax(0).tolist()


def test_shares_by_the_formula_and_what_is_learned(reader: MultiPrompt) -> None:
    """A class that is learned has most of the share of its examples, and equal seeds give equal readers."""
    names = list(CLASSES)
    assert list(reader.shares("green").values()) == pytest.approx(shares(reader, "green"), abs=1e-5)
    examples = [("green", "colour"), ("white", "colour"), ("small", "size"), ("long", "size")]
    reader.fit(examples, steps=60)
    assert list(reader.shares("wide").values()) == pytest.approx(shares(reader, "wide"), abs=1e-4)
    for text, name in examples:
        assert int(reader.costs(reader.said(text)).argmin()) == names.index(name)
    first = reader.shares("wide")
    reader.fit(examples, steps=60)
    assert reader.shares("wide") == first
    reader.fit([(text, names[1 - names.index(name)]) for text, name in examples], steps=60)
    for text, name in examples:
        assert int(reader.costs(reader.said(text)).argmin()) != names.index(name)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"prompts": ["{}", "no place"]}, "a prompt has no place for the text: 'no place'"),
        ({"prompts": []}, "a prompt has no place"),
        ({"classes": {"one": ["a"]}}, "there are 1 classes"),
        ({"classes": {"one": ["a"], "two": []}}, "class 'two' has no label word"),
        ({"classes": {"one": ["a"], "two": [""]}}, "class 'two' has no label word, or an empty one"),
        ({"classes": {"one": ["a"], "two": ["b", "a"]}}, "words of 'one' and 'two' begin with the same token"),
        ({"size": 0}, "size"),
        ({"weight": -1}, "weight"),
    ],
)
def test_options(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"prompts": PROMPTS, "classes": CLASSES, **change}
    with pytest.raises(ConstrainError, match=message):
        MultiPrompt(constrain.reference.load(), given.pop("prompts"), given.pop("classes"), **given)


def test_examples_of_every_class(reader: MultiPrompt) -> None:
    for examples in ([("green", "colour")], [("a", "colour"), ("b", "size"), ("c", "shape")]):
        with pytest.raises(ConstrainError, match="examples and classes differ"):
            reader.fit(examples)
