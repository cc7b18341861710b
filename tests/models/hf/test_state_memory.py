"""Rows of what models remember: found by comparing two rows with three, copied and gathered wherever they are."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from constrain.models.hf.memory import gathered, module_tensors, row_axes, tensors

HEADS = 3


class Layer:
    """Tensors as caches of transformers hold them: in attributes, dicts, lists; rows first, later, or times heads."""

    def __init__(self, rows: int) -> None:
        self.states = {0: torch.randn(rows, 5), 1: None}
        self.pair = [torch.randn(4, rows, 2), (torch.randn(rows * HEADS, 2), "text")]
        self.window = torch.tensor(7)
        self.seen = {0: True}
        self.shared = torch.nn.Linear(2, 2)
        self.owner = self  # a cycle


def parts(layer: Any) -> list[torch.Tensor]:
    """By row first."""
    rows = layer.states[0].shape[0]
    return [layer.states[0], layer.pair[0].transpose(0, 1), layer.pair[1][0].reshape(rows, HEADS, 2)]


def test_rows_are_found_wherever_they_are() -> None:
    assert row_axes(Layer(2), Layer(3)) == {
        ("states", "0"): (0, 1),
        ("pair", "0"): (1, 1),
        ("pair", "1", "0"): (0, HEADS),
    }
    assert row_axes((torch.ones(2), torch.ones(4)), (torch.ones(2), torch.ones(4))) == {}


@pytest.mark.parametrize("rows", [[0], [2, 0], [1, 1, 1], [3, 2, 1, 0, 3]])
def test_rows_are_copied(rows: list[int]) -> None:
    layer, axes = Layer(4), row_axes(Layer(2), Layer(3))
    before = [part.clone() for part in parts(layer)]
    twin = gathered(layer, axes, torch.tensor(rows))
    for found, part in zip(parts(twin), before, strict=True):
        assert torch.equal(found, part[rows])
    assert twin.owner is twin
    assert twin.shared is layer.shared
    for tensor in tensors(twin).values():
        tensor.zero_()
    twin.seen[0] = False
    assert all(map(torch.equal, parts(layer), before))
    assert layer.seen[0]
    assert layer.window == 7


def test_tensors_of_modules_are_neither_parameters_nor_buffers() -> None:
    outer = torch.nn.Sequential(torch.nn.Linear(2, 2))
    outer[0].register_buffer("buffer", torch.ones(2))
    outer[0].state = torch.ones(3)
    assert list(module_tensors(outer)) == ["0.state"]
