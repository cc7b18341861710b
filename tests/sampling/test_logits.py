"""A step against plain arithmetic in float64, for rows of every kind; the distribution of a row; one row is as many."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.sampling import Draw, Settings, Step, TorchDraw, bitmask_words, enumerate_draws, step
from constrain.sampling.core.draw import BLOCK
from constrain.sampling.core.logits import LogitRows

SIZES = [1, 5, 40, 700, 2 * BLOCK, 2 * BLOCK + 1, 5 * BLOCK + 17]


class ByTensors:
    """The draws of a `TorchDraw`, which a step cannot recognise: it draws by tensors."""

    def __init__(self, seed: int) -> None:
        self.draw = TorchDraw(seed)

    def __call__(self, probabilities: torch.Tensor, streams: list[int]) -> torch.Tensor:
        return self.draw(probabilities, streams)


def problem(seed: int, size: int, rows: int) -> tuple[torch.Tensor, np.ndarray | None]:
    """Logits, wider than the vocabulary now and then, and masks: none, few, many; what is allowed may be faint."""
    rng = np.random.default_rng([seed, size])
    logits = rng.normal(size=(rows, size + int(rng.integers(0, 3)))) * rng.choice([0.1, 3, 20])
    logits[rng.random(logits.shape) < 0.2] = -np.inf
    logits[:, int(rng.integers(logits.shape[1]))] = 1.0
    share = rng.choice([-1, 0, 0.01, 0.1, 0.5, 1])
    if share < 0:
        return torch.tensor(logits), None
    allowed = rng.random((rows, size)) < share
    if rng.random() < 0.3:  # far below the rest
        logits[:, :size][allowed] -= 200.0
    bits = np.zeros((rows, 32 * bitmask_words(size)), np.uint8)
    bits[:, :size] = allowed
    return torch.tensor(logits), np.packbits(bits, axis=1, bitorder="little").view(np.uint32)


def numbers_of(logits: np.ndarray, allowed: np.ndarray, temperature: float, token: int) -> tuple[float, float, float]:
    """log p_raw, log p_sampled and log Z of a token, by the definitions; logits: float64[W]."""
    logits = logits if temperature == 0 else logits / temperature
    top = float(logits[allowed].max(initial=-math.inf))
    total = float(logits.max()) + math.log(math.fsum(np.exp(logits - logits.max())))
    if top == -math.inf:
        return -math.inf, 0.0, -math.inf
    mass = top + math.log(math.fsum(np.exp(logits[allowed] - top)))
    return logits[token] - total, 0.0 if temperature == 0 else logits[token] - mass, min(0.0, mass - total)


@given(
    st.integers(0, 10**6),
    st.sampled_from(SIZES),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.7, 1.0]),
    st.sampled_from([torch.float64, torch.float32, torch.bfloat16]),
)
@settings(max_examples=200, deadline=None)
def test_a_step_is_its_definition(seed: int, size: int, rows: int, temperature: float, dtype: torch.dtype) -> None:
    exact, mask = problem(seed, size, rows)
    logits = exact.to(dtype)
    before = logits.clone()
    drawn = step(
        logits, mask, settings=Settings(temperature=temperature), draw=TorchDraw(seed), streams=range(rows), size=size
    )
    assert torch.equal(logits, before)
    tolerance = 1e-9 if dtype == torch.float64 else 5e-5
    for row, plain in enumerate(logits.double().numpy()):
        allowed = np.ones(len(plain), bool)
        if mask is not None:
            allowed[:] = False
            allowed[:size] = np.unpackbits(mask[row].view(np.uint8), bitorder="little")[:size]
        token = int(drawn.token[row])
        found = [float(numbers[row]) for numbers in (drawn.log_prob_raw, drawn.log_prob_sampled, drawn.log_z)]
        assert found == pytest.approx(numbers_of(plain, allowed, temperature, token), abs=tolerance, rel=tolerance)
        if token < 0:
            assert plain[allowed].max(initial=-math.inf) == -math.inf
        elif temperature == 0:
            assert token == int(np.where(allowed, plain, -math.inf).argmax())
        else:
            assert allowed[token] and plain[token] > -math.inf


@given(st.integers(0, 10**6), st.sampled_from(SIZES), st.sampled_from([0.7, 1.0]), st.booleans())
@settings(max_examples=100, deadline=None)
def test_one_row_draws_as_many_rows(seed: int, size: int, temperature: float, double: bool) -> None:
    logits, mask = problem(seed, size, 3)
    logits = logits if double else logits.float()

    def run(rows: slice, draw: Draw) -> Step:
        part = None if mask is None else mask[rows]
        streams = range(3)[rows]
        return step(
            logits[rows], part, settings=Settings(temperature=temperature), draw=draw, streams=streams, size=size
        )

    one, tensors, many = TorchDraw(seed), ByTensors(seed), TorchDraw(seed)
    for _ in range(3):
        together = run(slice(3), many).token.tolist()
        assert [int(run(slice(i, i + 1), one).token) for i in range(3)] == together
        assert [int(run(slice(i, i + 1), tensors).token) for i in range(3)] == together


@pytest.mark.parametrize("words", [None, 0b10110, 0b1000, 0])
def test_the_law_of_a_row(words: int | None) -> None:
    logits = torch.tensor([[0.5, -1.0, 2.0, 0.0, -np.inf]], dtype=torch.float64)
    mask = None if words is None else np.array([[words]], np.uint32)
    law: dict[int, float] = {}
    for probability, found in enumerate_draws(
        lambda draw: step(logits, mask, settings=Settings(), draw=draw, streams=[0], size=5)
    ):
        law[int(found.token)] = law.get(int(found.token), 0.0) + probability
    allowed = [i for i in range(5) if (words is None or words >> i & 1) and logits[0, i] > -torch.inf]
    total = sum(float(logits[0, i].exp()) for i in allowed)
    assert law == pytest.approx({i: float(logits[0, i].exp()) / total for i in allowed} or {-1: 1.0}, abs=1e-12)


def test_equals_of_the_likeliest() -> None:
    logits, mask = torch.tensor([[1.0, 3.0, 3.0, 4.0]]), np.array([[0b0111]], np.uint32)
    drawn = step(logits, mask, settings=Settings(temperature=0), draw=TorchDraw(0), streams=[0], size=4)
    assert int(drawn.token) == 1


def test_logits_on_a_device_give_the_same_numbers() -> None:
    """torch's arithmetic in place of numpy's, on the CPU."""
    for seed, size in [(seed, size) for seed in range(20) for size in SIZES]:
        logits, mask = problem(seed, size, 2)
        host, device = LogitRows(logits, 0.7), LogitRows(logits, 0.7, xp=torch)
        ours, theirs = host.allowed(mask, size), device.allowed(mask, size)
        assert torch.allclose(host.tensor(ours.log_mass), theirs.log_mass, atol=1e-12)
        assert torch.allclose(host.tensor(host.log_total), device.log_total, atol=1e-12)
        assert torch.allclose(
            host.tensor(ours.weights / ours.mass[:, None]),
            theirs.weights / theirs.mass[:, None],
            atol=1e-12,
            equal_nan=True,
        )
