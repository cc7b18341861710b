"""Distributions over orders against the list of all orders."""

import math
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
import torch

from constrain import reference
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers import Orders, plackett_luce
from constrain.sampling import TorchDraw, enumerate_draws
from naive_laws import chi_square_of_orders

TINY = 1e-10


def random_orders(seed: int) -> Orders:
    rng = np.random.default_rng(seed)
    count, spread = 1 + seed % 5, (0.5, 3.0, 40.0)[seed % 3]
    begin, follow = rng.normal(scale=spread, size=count), rng.normal(scale=spread, size=(count, count))
    if seed % 4 == 3 and count > 1:
        follow[0, 1] = -math.inf  # item 1 never comes directly after item 0
    return Orders(begin, follow)


def by_hand(orders: Orders) -> dict[tuple[int, ...], float]:
    """log weight of every order, from the definition."""
    return {
        order: float(orders.begin[order[0]]) + math.fsum(float(orders.follow[i, j]) for i, j in pairwise(order))
        for order in permutations(range(orders.count))
    }


@pytest.mark.parametrize("seed", range(60))
def test_the_law_is_that_of_all_orders(seed: int) -> None:
    orders = random_orders(seed)
    logs = by_hand(orders)
    top = max(logs.values())
    total = math.fsum(math.exp(log - top) for log in logs.values())
    law = {order: math.exp(log - top) / total for order, log in logs.items()}
    assert orders.log_mass == pytest.approx(top + math.log(total), abs=1e-9)
    best, log_weight = orders.best
    assert logs[best] == pytest.approx(top, abs=1e-9) == pytest.approx(log_weight, abs=1e-9)
    assert {order: orders.share(order) for order in logs} == pytest.approx(law, abs=TINY)
    drawn: dict[tuple[int, ...], float] = {}
    for probability, order in enumerate_draws(lambda draw: orders.draw(draw=draw)):
        drawn[order] = drawn.get(order, 0.0) + probability
    assert {order: drawn.get(order, 0.0) for order in law} == pytest.approx(law, abs=TINY)
    places = np.zeros((orders.count, orders.count))
    for order, share in law.items():
        for place, item in enumerate(order):
            places[item, place] += share
    assert np.abs(orders.places - places).max() < TINY


@pytest.mark.parametrize("seed", range(20))
def test_plackett_luce_draws_without_replacement(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=(1.0, 6.0)[seed % 2], size=1 + seed % 4).tolist()
    law: dict[tuple[int, ...], float] = {}
    for order in permutations(range(len(scores))):
        left, share = list(order), 1.0
        for item in order:
            share *= math.exp(scores[item]) / math.fsum(math.exp(scores[j]) for j in left)
            left.remove(item)
        law[order] = share
    drawn: dict[tuple[int, ...], float] = {}
    for probability, order in enumerate_draws(lambda draw: plackett_luce(scores, draw=draw)):
        drawn[order] = drawn.get(order, 0.0) + probability
    assert drawn == pytest.approx(law, abs=TINY)
    assert sorted(plackett_luce(scores, seed=seed)) == list(range(len(scores)))


def test_of_a_model_is_the_chain_of_its_pairs() -> None:
    """Each weight from the definition: the prompt, an item, the separator and another item, read by themselves."""
    handle = HFModel.of(reference.load(torch.float64))
    items = ["red", "10", "a b"]
    orders = Orders.of(handle, "Things: ", items, separator="; ")
    assert orders.forwards == 1
    prompt = handle.tokenizer("Things: ")["input_ids"]

    def log_p(before: list[int], text: str) -> float:
        ids = handle.tokenizer(text, add_special_tokens=False)["input_ids"]
        (logits,) = handle.read([[*before, *ids]])
        logs = logits.log_softmax(-1)
        return float(sum(logs[len(before) - 1 + i, token] for i, token in enumerate(ids)))

    for i, item in enumerate(items):
        assert orders.begin[i] == pytest.approx(log_p(prompt, item), abs=1e-9)
        own = handle.tokenizer(item, add_special_tokens=False)["input_ids"]
        for j, other in enumerate(items):
            if i != j:
                assert orders.follow[i, j] == pytest.approx(log_p([*prompt, *own], "; " + other), abs=1e-9)


@pytest.mark.parametrize(
    "begin, follow, message",
    [
        ([0, 0], [[0, 0]], "begin and follow must be float[n] and float[n, n]"),
        ([], [], "begin and follow must be float[n] and float[n, n]"),
        ([0.0] * 15, np.zeros((15, 15)), "15 items have too many sets for a table"),
        ([math.nan], [[0]], "log weights of orders must be numbers below inf"),
        ([-math.inf], [[0]], "no order of the items has any weight"),
    ],
)
def test_faults_are_named(begin: Any, follow: Any, message: str) -> None:
    with pytest.raises(ConstrainError) as caught:
        Orders(begin, follow)
    assert message in str(caught.value)


def test_what_is_no_order_is_an_error() -> None:
    with pytest.raises(ConstrainError, match="not an order of the items 0 to 1"):
        Orders([0, 0], [[0, 0], [0, 0]]).share([0, 0])


def test_a_race_has_the_law_of_draws_without_replacement() -> None:
    """The race of `TorchDraw` against the definition: every order of four outcomes, chi-square at 1e-6."""
    weights = [0.5, 0.3, 0.15, 0.05]
    logs = [*map(math.log, weights), -math.inf]
    draw = TorchDraw(3)
    found = (plackett_luce(logs, draw=draw) for _ in range(20_000))
    assert chi_square_of_orders(found, weights) < 74.0  # 23 degrees of freedom
