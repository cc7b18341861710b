"""Heads and models that learn while they draft: outputs stay, the loss is that of the definition, acceptance grows."""

import copy
from typing import Any

import pytest
import torch

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers import DraftHeads, Heads
from constrain.papers.heads import Eagle, HeadsAdapter, Hydra, Medusa, OnlineHeads, OnlineModel
from constrain.speculative import Fixed, Model, Speculation
from toy_model import tiny_handle, tiny_llama

handle = pytest.fixture(scope="module", name="handle")(tiny_handle)


def draft_model(handle: HFModel) -> HFModel:
    torch.manual_seed(5)
    return HFModel(tiny_llama(handle.tokenizer, num_hidden_layers=1), handle.tokenizer)


MAKE: dict[str, Any] = {
    "sequential": DraftHeads, "medusa": Medusa, "hydra": Hydra, "eagle": Eagle, "model": draft_model,
}  # fmt: skip


def learning(name: str, made: Any, **options: Any) -> Any:
    return OnlineModel(made, **options) if name == "model" else OnlineHeads(made, **options)


def unchanged(name: str, made: Any) -> Any:
    """A drafter with a copy that stays as it is."""
    if name == "model":
        return Model(HFModel(copy.deepcopy(made.model), made.tokenizer))
    return Heads(copy.deepcopy(made))


def generate(handle: HFModel, drafter: Any, verifier: str = "match", **given: Any) -> Any:
    made = None if drafter is None else Speculation([drafter], verifier=verifier, controller=Fixed(6, 4, 0.0))
    return constrain.generate(handle, "red", regex="[a-f]{24}", draft=made, max_tokens=30, **given)


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_what_is_learned_changes_no_output(handle: HFModel, name: str, temperature: float) -> None:
    drafter = learning(name, MAKE[name](handle), every=2, rate=1e-2)
    for seed in range(3):
        given = {"temperature": temperature, "seed": seed, "n": 2}
        plain, found = generate(handle, None, **given), generate(handle, drafter, **given)
        assert [each.tokens for each in found] == [each.tokens for each in plain]
        assert all(each.stats.drafts[drafter.name].fault is None for each in found)
    assert drafter.changes > 3
    if name == "model":
        assert generate(handle, drafter, "token", temperature=1.0, seed=1).stats.drafts["model"].fault is None


@pytest.mark.parametrize("name", MAKE)
def test_acceptance_grows(handle: HFModel, name: str) -> None:
    """The same text again and again: fewer forward passes than with a drafter that stays as it is."""
    made = MAKE[name](handle)
    fixed = generate(handle, unchanged(name, made), temperature=0.0)
    drafter = learning(name, made, every=2, rate=1e-2 if name == "model" else 2e-2)
    forwards = [generate(handle, drafter, temperature=0.0).stats.forwards for _ in range(8)]
    assert forwards[-1] < 0.75 * fixed.stats.forwards


def test_it_drafts_with_what_it_has_learned(handle: HFModel) -> None:
    """After a change the text is read anew: each draft is that of a drafter that remembers nothing."""
    drafter = OnlineModel(draft_model(handle), every=2, rate=1e-2)
    seen: list[tuple[int, list[int], list[int]]] = []
    propose = drafter.propose

    def spied(contexts: Any, budgets: Any) -> Any:
        trees = propose(contexts, budgets)
        (context,), (tree,) = contexts, trees
        fresh = Model(drafter.model).propose([copy.copy(context)], budgets)[0] if tree.tokens.size else tree
        seen.append((drafter.changes, tree.tokens.tolist(), fresh.tokens.tolist()))
        return trees

    drafter.propose = spied  # type: ignore[method-assign]
    generate(handle, drafter, temperature=0.0)
    assert len({changes for changes, _, _ in seen}) > 2
    assert all(ours == fresh for _, ours, fresh in seen)


def test_the_loss_of_a_model_is_that_of_the_definition(handle: HFModel) -> None:
    """One change, against the same step of Adam by hand from the target's probabilities of the whole text."""
    model = draft_model(handle)
    twin = copy.deepcopy(model.model)
    drafter = OnlineModel(model, every=5, window=9, rate=1e-2)
    told: list[Any] = []
    learn = drafter._learn

    def spied(first: int, text: Any, labels: Any) -> None:
        told.append((first, list(text), dict(labels)))
        learn(first, text, labels)
        told.append([each.detach().clone() for each in model.model.parameters()])

    drafter._learn = spied  # type: ignore[method-assign]
    generate(handle, drafter, temperature=1.0, seed=3)
    (first, text, labels), after = told[:2]
    with torch.inference_mode():
        law = handle.model(input_ids=torch.tensor([text])).logits[0]
    guesses, losses = twin(input_ids=torch.tensor([text[first:]])).logits[0], []
    for place, (ids, chances, allowed) in labels.items():
        masked = law[place - 1][: len(allowed)].masked_fill(~allowed, -torch.inf).softmax(-1)
        kept = masked[ids].double() / masked[ids].double().sum()
        torch.testing.assert_close(chances.double(), kept, atol=1e-5, rtol=1e-5)
        own = guesses[place - 1 - first][: len(allowed)].masked_fill(~allowed, -torch.inf).log_softmax(-1)
        losses.append(-(chances.to(own) * own[ids]).sum())
    adam = torch.optim.Adam(twin.parameters(), lr=1e-2)
    torch.stack(losses).mean().backward()
    torch.nn.utils.clip_grad_norm_(twin.parameters(), 1.0)
    adam.step()
    for one, other in zip(after, twin.parameters(), strict=True):
        torch.testing.assert_close(one, other.detach(), atol=1e-6, rtol=1e-5)


def test_the_loss_of_heads_is_that_of_the_definition(handle: HFModel) -> None:
    """One change, against the same step of Adam taken by hand from the target's probabilities of the whole text."""
    heads: HeadsAdapter = DraftHeads(handle, depth=2)
    for each in heads.parameters():
        torch.nn.init.normal_(each, std=0.3, generator=torch.Generator().manual_seed(1))
    twin = copy.deepcopy(heads)
    drafter = OnlineHeads(heads, every=5, rate=1e-2)
    told: list[Any] = []
    learn = drafter._learn

    def spied(window: Any, text: Any) -> None:
        told.append((copy.deepcopy(window), list(text)))
        learn(window, text)
        told.append([each.detach().clone() for each in heads.parameters()])

    drafter._learn = spied  # type: ignore[method-assign]
    generate(handle, drafter, temperature=1.0, seed=3)
    (window, text), after = told[:2]
    count = len(window.features)
    tokens = torch.tensor(text[window.first : window.first + count])
    with torch.inference_mode():
        logits = handle.model(input_ids=torch.tensor([text])).logits[0]
    losses = []
    for step, guesses in enumerate(twin.unrolled(window.features, tokens), 1):
        for row, guess in enumerate(guesses):
            place = window.first + row + step
            if place in window.labels:
                ids, chances, allowed = window.labels[place]
                law = logits[place][: len(allowed)].masked_fill(~allowed, -torch.inf).softmax(-1)
                kept = law[ids] / law[ids].sum()
                torch.testing.assert_close(chances.double(), kept, atol=1e-5, rtol=1e-5)
                assert law[ids].sum() > law.topk(len(ids)).values.sum() - 1e-6
                own = guess[: len(allowed)].masked_fill(~allowed, -torch.inf).log_softmax(-1)
                losses.append(-(kept * own[ids]).sum())
    adam = torch.optim.Adam(twin.parameters(), lr=1e-2)
    torch.stack(losses).mean().backward()
    torch.nn.utils.clip_grad_norm_(twin.parameters(), 1.0)
    adam.step()
    for one, other in zip(after, twin.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", ["sequential", "model"])
@pytest.mark.parametrize("options", [{"every": 0}, {"window": 0}, {"width": 0}])
def test_options(handle: HFModel, name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConstrainError, match="must be an int of at least 1"):
        learning(name, MAKE[name](handle), **options)
