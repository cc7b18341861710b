"""`generate(first=k)`: the k of n samples that end first."""

from __future__ import annotations

from typing import Any

import constrain
from constrain.generation.result import Generations
from constrain.papers import FirstFinish

OPTIONS: dict[str, Any] = {"regex": "a{1,9}", "seed": 3, "max_tokens": 12}


def test_the_first_are_those_of_the_search() -> None:
    """In a list, as n of them would be, for one prompt and for several."""
    model = constrain.reference.load()
    found = constrain.generate(model, "A: ", n=6, first=2, **OPTIONS)
    search = constrain.generate(model, "A: ", n=2, method=FirstFinish(samples=6), **OPTIONS)
    assert isinstance(found, Generations)
    assert [g.text for g in found] == [g.text for g in search]
    assert [len(g.tokens) for g in found] == sorted(len(g.tokens) for g in found)
    one = constrain.generate(model, "A: ", n=6, first=1, **OPTIONS)
    assert isinstance(one, Generations) and len(one) == 1
    assert len(one[0].tokens) == len(found[0].tokens)
    several = constrain.generate(model, ["A: ", "B: "], n=4, first=3, **OPTIONS)
    assert [len(each) for each in several] == [3, 3]
    alone = constrain.generate(model, "A: ", first=1, **OPTIONS)
    assert alone.finish_reason == "stop"


def test_all_of_them() -> None:
    """first=n gives every sample that ends, in order of length."""
    model = constrain.reference.load()
    found = constrain.generate(model, "A: ", n=5, first=5, **OPTIONS)
    assert len(found) == 5
    assert [len(g.tokens) for g in found] == sorted(len(g.tokens) for g in found)
    assert {g.finish_reason for g in found} == {"stop"}
