"""The n samples of `FirstFinish(samples=N)` that end first; `first=` of older versions said the same."""

from __future__ import annotations

from typing import Any

import constrain
from constrain.generation.result import Generations
from constrain.papers import FirstFinish

OPTIONS: dict[str, Any] = {"regex": "a{1,9}", "seed": 3, "max_tokens": 12}


def test_the_first_of_some_samples() -> None:
    """In a list where there are several, for one prompt and for several; one by itself."""
    model = constrain.reference.load()
    found = constrain.generate(model, "A: ", n=2, method=FirstFinish(samples=6), **OPTIONS)
    assert isinstance(found, Generations)
    assert [len(g.tokens) for g in found] == sorted(len(g.tokens) for g in found)
    one = constrain.generate(model, "A: ", method=FirstFinish(samples=6), **OPTIONS)
    assert len(one.tokens) == len(found[0].tokens)
    several = constrain.generate(model, ["A: ", "B: "], n=3, method=FirstFinish(samples=4), **OPTIONS)
    assert [len(each) for each in several] == [3, 3]


def test_all_of_them() -> None:
    """As many outputs as samples are every sample that ends, in order of length."""
    model = constrain.reference.load()
    found = constrain.generate(model, "A: ", n=5, method=FirstFinish(samples=5), **OPTIONS)
    assert len(found) == 5
    assert [len(g.tokens) for g in found] == sorted(len(g.tokens) for g in found)
    assert {g.finish_reason for g in found} == {"stop"}
