"""Candidates without replacement: the kernels against torch by seed, the law of an order, what is left, and faults."""

import itertools
import math

import numpy as np
import pytest
import torch

from constrain.errors import ConstrainError
from constrain.sampling import TorchDraw, bitmask_words
from constrain.sampling.core.urns import Drawn, KernelUrns, TensorUrns, Urns, urns_of
from naive_laws import chi_square_of_orders

NEAR = 2e-5  # of logs of sums in float32


def given(seed: int, rows: int, size: int, spread: float, density: float) -> tuple[torch.Tensor, np.ndarray]:
    """float32[rows, size + 5], some -inf, and masks."""
    rng = np.random.default_rng(seed)
    logits = (rng.standard_normal((rows, size + 5)) * spread).astype(np.float32)
    logits[rng.random(logits.shape) < 0.1] = -np.inf
    bits = rng.random((rows, bitmask_words(size) * 32)) < density
    bits[:, size:] = False
    return torch.from_numpy(logits), np.packbits(bits, axis=1, bitorder="little").view(np.uint32)


def both(logits: torch.Tensor, words: np.ndarray, size: int) -> list[Urns]:
    """The same urns by kernels and by torch, drawing from equal seeds."""
    streams = range(len(logits))
    found = [urns_of(kind, words, size, TorchDraw(7), streams) for kind in (logits, logits.double())]
    assert [type(each) for each in found] == [KernelUrns, TensorUrns]
    return found


def emptied(urns: Urns, row: int, most: int = 10_000) -> list[Drawn]:
    """All of a row, or the first few."""
    return [one for one in itertools.takewhile(bool, (urns.draw([row])[0] for _ in range(most))) if one]


@pytest.mark.parametrize("spread", [0.5, 3.0, 40.0])  # at 40, what is left is soon faint beside what was taken
@pytest.mark.parametrize("size, density", [(40, 0.6), (2500, 0.02), (2500, 1.0)])
def test_kernels_draw_as_torch_does(spread: float, size: int, density: float) -> None:
    logits, words = given(3, 3, size, spread, density)
    before = words.copy()
    by_kernels, by_torch = both(logits, words, size)
    for row in range(3):
        found, expected = emptied(by_kernels, row, 100), emptied(by_torch, row, 100)
        assert [each.candidate for each in found] == [each.candidate for each in expected]
        numbers = [[(each.log_prob, each.log_left) for each in some] for some in (found, expected)]
        assert np.allclose(numbers[0], numbers[1], rtol=1e-6, atol=NEAR)
        if len(found) < 100:
            assert found[-1].log_left == -math.inf
    assert (words == before).all()


def test_an_order_has_all_that_is_allowed_and_masses_of_what_is_left() -> None:
    logits, words = given(5, 1, 70, 30.0, 0.5)
    allowed = np.unpackbits(words.view(np.uint8), bitorder="little")[:70].astype(bool) & np.isfinite(
        logits[0, :70].numpy()
    )
    log_probs = logits.double().log_softmax(-1)[0]
    for urns in both(logits, words, 70):
        order = emptied(urns, 0)
        assert {each.candidate for each in order} == set(np.flatnonzero(allowed).tolist())
        for j, each in enumerate(order):
            left = log_probs[[other.candidate for other in order[j:]]].logsumexp(0)
            assert each.log_mass == pytest.approx(float(left), rel=1e-6, abs=NEAR)
        assert urns.draw([0]) == [None]


def test_the_likeliest_come_in_order_and_are_gone() -> None:
    logits, words = given(6, 2, 2500, 3.0, 0.3)
    for urns in both(logits, words, 2500):
        head = [one for _ in range(5) for one in urns.draw([1], likeliest=True) if one]
        probs = [each.log_prob for each in head]
        assert probs == sorted(probs, reverse=True)
        rest = emptied(urns, 1)
        assert max(each.log_prob for each in rest) <= probs[-1]
        assert not {each.candidate for each in head} & {each.candidate for each in rest}


def test_rows_do_not_depend_on_each_other() -> None:
    logits, words = given(8, 3, 300, 2.0, 0.7)
    for together, alone in zip(both(logits, words, 300), both(logits, words, 300), strict=True):
        turns = [together.draw([0, 1, 2]) for _ in range(6)]
        for row in (2, 0, 1):
            apart = [one for _ in range(6) for one in alone.draw([row]) if one]
            assert np.allclose([turn[row] for turn in turns], apart, rtol=1e-12)  # type: ignore[arg-type]


def test_an_order_by_kernels_is_drawn_without_replacement() -> None:
    """Every order of four of 1,500 tokens, two in one part of the sums, against the definition: chi-square at 1e-6."""
    weights, ids = [0.5, 0.3, 0.15, 0.05], [3, 700, 1100, 1400]
    logits = torch.full((1, 1500), -math.inf)
    logits[0, ids] = torch.tensor(weights).log()
    words, draw = np.full((1, bitmask_words(1500)), 0xFFFFFFFF, np.uint32), TorchDraw(3)
    orders = (
        tuple(ids.index(each.candidate) for each in emptied(urns_of(logits, words, 1500, draw, [0]), 0))
        for _ in range(20_000)
    )
    assert chi_square_of_orders(orders, weights) < 74.0  # 23 degrees of freedom


def test_faults_are_named_and_nothing_allowed_is_an_empty_urn() -> None:
    logits, words = given(9, 2, 50, 1.0, 0.5)
    words[1] = 0
    assert [urns.draw([1]) for urns in both(logits, words, 50)] == [[None], [None]]
    logits[1, 3] = math.nan
    with pytest.raises(ConstrainError, match=r"NaN \(token ids 3\)"):
        urns_of(logits, words, 50, TorchDraw(1), [0, 1])
