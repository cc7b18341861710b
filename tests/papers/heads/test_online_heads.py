"""Heads that learn while they draft: outputs stay, the loss is that of the definition, and acceptance grows."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers import DraftHeads, Heads
from constrain.papers.heads import Eagle, HeadsAdapter, Hydra, Medusa, OnlineHeads
from constrain.speculative import Fixed, Speculation
from toy_model import tiny_handle

handle = pytest.fixture(scope="module", name="handle")(tiny_handle)

MAKE: dict[str, Any] = {"sequential": DraftHeads, "medusa": Medusa, "hydra": Hydra, "eagle": Eagle}


def generate(handle: HFModel, drafter: Any, **given: Any) -> Any:
    speculation = None if drafter is None else Speculation([drafter], controller=Fixed(6, 4, 0.0))
    return constrain.generate(handle, "red", regex="[a-f]{24}", draft=speculation, max_tokens=30, **given)


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_what_is_learned_changes_no_output(handle: HFModel, name: str, temperature: float) -> None:
    drafter = OnlineHeads(MAKE[name](handle), every=2, rate=1e-2)
    for seed in range(3):
        given = {"temperature": temperature, "seed": seed, "n": 2}
        plain, found = generate(handle, None, **given), generate(handle, drafter, **given)
        assert [each.tokens for each in found] == [each.tokens for each in plain]
        assert all(each.stats.drafts["heads"].fault is None for each in found)
    assert drafter.changes > 3


@pytest.mark.parametrize("name", MAKE)
def test_acceptance_grows(handle: HFModel, name: str) -> None:
    """The same text again and again: fewer forward passes than with heads that stay as they are."""
    heads = MAKE[name](handle)
    fixed = generate(handle, Heads(copy.deepcopy(heads)), temperature=0.0)
    drafter = OnlineHeads(heads, every=2, rate=2e-2)
    forwards = [generate(handle, drafter, temperature=0.0).stats.forwards for _ in range(8)]
    assert forwards[-1] < 0.75 * fixed.stats.forwards


def test_the_loss_is_that_of_the_definition(handle: HFModel) -> None:
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


@pytest.mark.parametrize("options", [{"every": 0}, {"window": 0}, {"width": 0}])
def test_options_of_online_heads(handle: HFModel, options: dict[str, Any]) -> None:
    with pytest.raises(ConstrainError, match="must be an int of at least 1"):
        OnlineHeads(DraftHeads(handle), **options)
