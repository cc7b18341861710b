"""Rows of logits by kernels against plain Python: sums, the likeliest token, what is kept, and the drawn token."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from constrain.errors import ConstrainError
from constrain.sampling import Settings, TorchDraw, bitmask_words, score, step
from constrain.sampling.core.measure import is_measured, measured

NEAR = 1e-5  # relative, of float32


def made(seed: int, width: int, spread: float, ties: bool) -> np.ndarray:
    """float32[width]: some -inf, zeros of both signs, and equal ones if wanted."""
    rng = np.random.default_rng(seed)
    logits = (rng.standard_normal(width) * spread).astype(np.float32)
    if ties:
        logits = np.round(logits)
    logits[rng.random(width) < 0.1] = -np.inf
    logits[rng.integers(width)] = 0.0
    return logits


def mask_of(seed: int, size: int, density: float) -> np.ndarray:
    """uint32[words], with bits beyond the size set, which nobody may read."""
    bits = np.random.default_rng(seed).random(bitmask_words(size) * 32) < density
    bits[size:] = True
    return np.packbits(bits, bitorder="little").view(np.uint32)


def kept(weights: dict[int, float], top_k: int | None, top_p: float | None) -> list[set[int]]:
    """The sets that truncation may keep: sums that are as good as p may be counted either way."""
    found = weights
    if top_k is not None and top_k < len(found):
        least = sorted(found.values(), reverse=True)[top_k - 1]
        found = {token: weight for token, weight in found.items() if weight >= least}
    if top_p is None or top_p == 1:
        return [set(found)]
    total, sets = math.fsum(found.values()), []
    for share in (top_p * (1 - NEAR), top_p, min(1.0, top_p * (1 + NEAR))):
        before = 0.0
        least = 0.0
        for weight in sorted(found.values(), reverse=True):
            if before >= share * total:
                break
            before, least = before + weight, weight
        sets.append({token for token, weight in found.items() if weight >= least})
    return sets


@given(
    st.integers(0, 2**31), st.sampled_from([1, 31, 33, 700, 1024, 2500]), st.sampled_from([0.0, 1.0, 8.0, 60.0]),
    st.booleans(), st.sampled_from([0.0, 0.003, 0.5, 1.0]), st.sampled_from([0.5, 1.0, 3.0]),
    st.sampled_from([None, 1, 3, 40]), st.sampled_from([None, 0.1, 0.9, 0.999, 1.0]), st.floats(0, 1, exclude_max=True),
)  # fmt: skip
@example(1, 2500, 60.0, False, 0.003, 1.0, None, None, 0.5)  # what is allowed is faint
@example(1, 700, 0.0, True, 1.0, 1.0, 3, 0.5, 0.999)  # all are equal
def test_rows_against_plain_python(
    seed: int, width: int, spread: float, ties: bool, density: float, temperature: float, top_k: int | None,
    top_p: float | None, uniform: float,
) -> None:  # fmt: skip
    logits, size = made(seed, width, spread, ties), max(1, width - seed % 3)
    mask = mask_of(seed, size, density)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[:size].astype(bool)
    scores = [float(logit / np.float32(temperature)) for logit in logits]
    allowed = [token for token in range(size) if bits[token] and scores[token] > -math.inf]
    top = max(scores)
    rows = torch.from_numpy(logits)[None], mask[None], size, temperature
    (greedy,) = measured(*rows, None)
    (drawn,) = measured(*rows, lambda _: uniform, top_k, top_p)
    assert greedy is not None and drawn is not None
    log_total = top + math.log(math.fsum(math.exp(score - top) for score in scores))
    assert greedy.log_total == drawn.log_total == pytest.approx(log_total, rel=NEAR, abs=NEAR)
    if not allowed:
        assert greedy.token == drawn.token == -1 and greedy.log_mass == -math.inf
        return
    best = max(scores[token] for token in allowed)
    assert greedy.token == next(token for token in allowed if logits[token] == logits[allowed].max())
    weights = {token: math.exp(scores[token] - best) for token in allowed}
    assert greedy.log_mass == pytest.approx(best + math.log(math.fsum(weights.values())), rel=NEAR, abs=NEAR)
    assert drawn.value == scores[drawn.token]
    fits = []
    for some in kept(weights, top_k, top_p):
        target = uniform * math.fsum(weights[token] for token in some)
        mass = math.fsum(weights[token] for token in some)
        before = math.fsum(weights[token] for token in some if token < drawn.token)
        after = before + weights[drawn.token]
        near = drawn.token in some and before - NEAR * mass <= target <= after + NEAR * mass
        fits.append(near and drawn.log_kept == pytest.approx(best + math.log(mass), rel=NEAR, abs=NEAR))
    assert any(fits)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("fault", [math.nan, -math.nan, math.inf])
def test_rows_that_are_no_logits(fault: float, dtype: torch.dtype) -> None:
    logits = torch.zeros((3, 2000), dtype=dtype)
    logits[1, 1500] = torch.copysign(torch.tensor(fault), torch.tensor(math.copysign(1.0, fault)))
    logits[2] = -math.inf
    found = list(measured(logits, None, 2000, 1.0, None))
    assert found[0] is not None and found[1:] == [None, None]


@pytest.mark.parametrize("temperature", [1e-38, 1e-45, 1e-50])
def test_temperatures_over_which_logits_are_infinite(temperature: float) -> None:
    """The largest is a fault, as infinite logits are; if only what is allowed is -inf, that is a dead end."""
    given = {"settings": Settings(temperature=temperature), "draw": TorchDraw(1), "streams": [0], "size": 3}
    with pytest.raises(ConstrainError, match="logits contain"):
        step(torch.tensor([[1.0, 2.0, 500.0]]), None, **given)
    with pytest.raises(ConstrainError, match="logits contain"):
        score(torch.tensor([[1.0, 2.0, 500.0]]), [1], temperature)
    if temperature == 1e-38:
        only_last = np.array([[0b100]], np.uint32)
        assert int(step(torch.tensor([[0.0, 1.0, -500.0]]), only_last, **given).token) == -1


def test_columns_that_are_not_contiguous_and_no_mask() -> None:
    logits = torch.arange(8.0).reshape(4, 2).T  # [2, 4]
    assert [each and each.token for each in measured(logits, None, 2, 1.0, None)] == [1, 1]
    assert [each and each.token for each in measured(logits, None, 4, 1.0, None)] == [3, 3]
    assert not is_measured(logits.double())
