"""Losses of the training script by their definitions, and a copy of a model that learns to fill blanks (LUD)."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import constrain
from constrain.models.hf import HFModel
from constrain.papers import LexicalUnits
from toy_model import tiny_handle, tiny_llama

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

handle = pytest.fixture(scope="module", name="handle")(tiny_handle)


@pytest.mark.parametrize("kind", ["kl", "reverse", "jsd"])
def test_divergences(kind: str) -> None:
    """Each row by its formula, over the allowed tokens; least where the two are equal."""
    from train_draft import divergence

    rng = np.random.default_rng(3)
    allowed = torch.tensor([[True, True, True, False], [True, False, True, True], [False, True, False, False]])
    target = torch.from_numpy(rng.dirichlet(np.ones(4), 3)).masked_fill(~allowed, 0)
    target /= target.sum(-1, keepdim=True)
    guess = torch.from_numpy(rng.normal(size=(3, 4))).requires_grad_()
    found = divergence(kind, guess, target, allowed)
    total = 0.0
    for p, logits, legal in list(zip(target.tolist(), guess.tolist(), allowed.tolist(), strict=True))[:2]:
        weights = np.where(legal, np.exp(logits), 0)
        q = weights / weights.sum()
        for one, other in zip(p, q, strict=True):
            middle = (one + other) / 2
            if kind == "kl" and one:
                total -= one * np.log(other)
            if kind == "reverse" and other:
                total += other * np.log(other / one)
            if kind == "jsd" and other:
                total += (one * np.log(one / middle) + other * np.log(other / middle)) / 2
    assert found.item() == pytest.approx(total / 2, abs=1e-9)
    found.backward()
    assert guess.grad is not None
    assert bool(guess.grad.isfinite().all())
    equal = target.clamp(min=1e-9).log().requires_grad_()
    divergence(kind, equal, target, allowed).backward()
    assert equal.grad is not None
    assert float(equal.grad.abs().max()) < 1e-6


@pytest.mark.parametrize("loss", ["kl", "reverse", "jsd"])
def test_blanks_are_learned(handle: HFModel, loss: str) -> None:
    """A copy that learned one text by heart fills the blanks behind it, and drafts whole units."""
    from train_draft import Blanks, distances, text_of, told

    deep = HFModel(tiny_llama(handle.tokenizer, num_hidden_layers=2), handle.tokenizer)
    constraint = constrain.compile(constrain.regex("[a-f]{16}"), deep.vocabulary)
    plain = constrain.generate(deep, "red", constraint=constraint, temperature=0)
    text = text_of(deep, deep.tokenizer("red")["input_ids"], constraint, plain)
    torch.manual_seed(0)
    random.seed(0)
    blanks = Blanks(deep)
    adam = torch.optim.Adam(blanks.parameters(), lr=5e-3)
    said = told(deep, text, True)
    greedy = torch.nn.functional.one_hot(said.probs.argmax(-1), said.probs.shape[1]).to(said.probs)
    for step in range(80):
        losses, _ = distances(blanks, "kl" if step < 40 else loss, text, said._replace(probs=greedy))
        adam.zero_grad()
        torch.stack(losses).sum().backward()
        adam.step()
    own = HFModel(blanks.model.eval(), handle.tokenizer)
    units = LexicalUnits(own, blank=blanks.blank, span=blanks.span, sure=0.5)
    found = constrain.generate(deep, "red", constraint=constraint, temperature=0, draft=[units])
    assert found.tokens == plain.tokens
    assert found.stats.forwards < 0.7 * plain.stats.forwards
