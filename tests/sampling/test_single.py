"""One row in numpy against rows of tensors: the same token for the same seed, the same numbers, the same law."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.sampling import Settings, TorchDraw, bitmask_words, enumerate_draws
from constrain.sampling.core.single import BLOCK, row_of
from constrain.sampling.core.step import step_by_tensors

SIZES = [1, 5, 40, 700, 2 * BLOCK, 2 * BLOCK + 1, 5 * BLOCK + 17]


def problem(seed: int, size: int, dtype: torch.dtype) -> tuple[torch.Tensor, np.ndarray | None]:
    """Logits, wider than the vocabulary now and then, and a mask: none, few, many; what is allowed may be faint."""
    rng = np.random.default_rng([seed, size])
    logits = rng.normal(size=size + int(rng.integers(0, 3))) * rng.choice([0.1, 3, 20])
    logits[rng.random(len(logits)) < 0.2] = -np.inf
    logits[int(rng.integers(len(logits)))] = 1.0
    share = rng.choice([-1, 0, 0.01, 0.1, 0.5, 1])
    if share < 0:
        return torch.tensor(logits, dtype=dtype).unsqueeze(0), None
    allowed = rng.random(size) < share
    if rng.random() < 0.3:  # far below the rest
        logits[:size][allowed] -= 200.0
    bits = np.zeros(32 * bitmask_words(size), np.uint8)
    bits[:size] = allowed
    return torch.tensor(logits, dtype=dtype).unsqueeze(0), np.packbits(bits, bitorder="little").view(np.uint32)[None]


@given(st.integers(0, 10**6), st.sampled_from(SIZES), st.sampled_from([0.0, 0.7, 1.0]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_row_is_a_step(seed: int, size: int, temperature: float, double: bool) -> None:
    logits, mask = problem(seed, size, torch.float64 if double else torch.float32)
    row = row_of(logits, temperature)
    assert row is not None
    draw, other = TorchDraw(seed), TorchDraw(seed)
    for _ in range(3):
        found = row.choose(None if mask is None else mask[0], size, temperature, draw, 7)
        truth = step_by_tensors(logits, mask, Settings(temperature=temperature), other, [7], size)
        assert found.token == int(truth.token[0])
        tolerance = 1e-9 if double else 2e-5
        numbers = (truth.log_prob_raw, truth.log_prob_sampled, truth.log_z)
        assert found[1:] == pytest.approx([float(each[0]) for each in numbers], abs=tolerance, rel=tolerance)
        if found.token >= 0:
            assert row.raw(found.token) == pytest.approx(found.log_prob_raw, abs=1e-12)


@pytest.mark.parametrize("words", [None, 0b10110, 0b1000, 0])
def test_the_law_of_a_row(words: int | None) -> None:
    logits = torch.tensor([[0.5, -1.0, 2.0, 0.0, -np.inf]], dtype=torch.float64)
    mask = None if words is None else np.array([words], np.uint32)
    row = row_of(logits, 1.0)
    assert row is not None
    law: dict[int, float] = {}
    for probability, found in enumerate_draws(lambda draw: row.choose(mask, 5, 1.0, draw, 0)):
        law[found.token] = law.get(found.token, 0.0) + probability
    allowed = [i for i in range(5) if (words is None or words >> i & 1) and logits[0, i] > -torch.inf]
    total = sum(float(logits[0, i].exp()) for i in allowed)
    assert law == pytest.approx({i: float(logits[0, i].exp()) / total for i in allowed} or {-1: 1.0}, abs=1e-12)


def test_equals_of_the_likeliest() -> None:
    row = row_of(torch.tensor([[1.0, 3.0, 3.0, 4.0]]), 0.0)
    assert row is not None
    assert row.choose(np.array([0b0111], np.uint32), 4, 0.0, TorchDraw(0), 0).token == 1


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_for_a_row(bad: float) -> None:
    assert row_of(torch.tensor([[0.0, bad]]), 1.0) is None
    assert row_of(torch.tensor([[-float("inf")] * 2]), 1.0) is None
    assert row_of(torch.zeros((1, 3), dtype=torch.bfloat16), 1.0) is None
    assert row_of(torch.zeros((1, 3), requires_grad=True), 1.0) is None
