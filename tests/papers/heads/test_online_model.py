"""A draft model that learns while it drafts: outputs stay, the loss is that of the definition, acceptance grows."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers.heads import OnlineModel
from constrain.speculative import Fixed, Model, Speculation
from toy_model import tiny_handle, tiny_llama

handle = pytest.fixture(scope="module", name="handle")(tiny_handle)


def draft_model(handle: HFModel) -> HFModel:
    torch.manual_seed(5)
    return HFModel(tiny_llama(handle.tokenizer, num_hidden_layers=1), handle.tokenizer)


def generate(handle: HFModel, drafter: Any, verifier: str = "match", **given: Any) -> Any:
    made = None if drafter is None else Speculation([drafter], verifier=verifier, controller=Fixed(6, 4, 0.0))
    return constrain.generate(handle, "red", regex="[a-f]{24}", draft=made, max_tokens=30, **given)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_what_is_learned_changes_no_output(handle: HFModel, temperature: float) -> None:
    drafter = OnlineModel(draft_model(handle), every=2, rate=1e-2)
    for seed in range(3):
        given = {"temperature": temperature, "seed": seed, "n": 2}
        plain, found = generate(handle, None, **given), generate(handle, drafter, **given)
        assert [each.tokens for each in found] == [each.tokens for each in plain]
        assert all(each.stats.drafts["model"].fault is None for each in found)
    assert drafter.changes > 3
    assert generate(handle, drafter, "token", temperature=1.0, seed=1).stats.drafts["model"].fault is None


def test_acceptance_grows(handle: HFModel) -> None:
    """The same text again and again: fewer forward passes than with a model that stays as it is."""
    model = draft_model(handle)
    fixed = generate(handle, Model(HFModel(copy.deepcopy(model.model), model.tokenizer)), temperature=0.0)
    drafter = OnlineModel(model, every=2, rate=1e-2)
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


def test_the_loss_is_that_of_the_definition(handle: HFModel) -> None:
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


def test_options_of_an_online_model(handle: HFModel) -> None:
    for options in ({"every": 0}, {"window": 0}, {"width": 0}):
        with pytest.raises(ConstrainError, match="must be an int of at least 1"):
            OnlineModel(draft_model(handle), **options)
