"""Slots beside plain lists: rows that grow by chunks, are cut and chosen."""

import random

import pytest
import torch

from constrain.models.hf.slots import Slots


def check(slots: Slots, rows: list[list[int]]) -> None:
    """Check slots against rows of 0 (no token) and 1."""
    width = slots.width
    assert [len(row) for row in rows] == [width] * slots.rows
    assert slots.attention.tolist() == rows
    assert slots.lengths.tolist() == [sum(row) for row in rows]
    assert slots.longest == max(map(sum, rows))
    for last in {1, width // 2, width} - {0}:
        positions = [[max(0, sum(row[: slot + 1]) - 1) for slot in range(width - last, width)] for row in rows]
        assert slots.positions(last).tolist() == positions


@pytest.mark.parametrize("seed", range(30))
def test_walks(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 3)
    slots, rows = Slots(count, 0, torch.device("cpu")), [[] for _ in range(count)]
    is_even = True
    for _ in range(12):
        choice = rng.random()
        if choice < 0.6 or not slots.width:
            chunk = rng.randint(1, 4)
            counts = [chunk if rng.random() < 0.7 else rng.randint(0, 4) for _ in rows]
            counts[rng.randrange(len(counts))] = chunk
            slots, new = slots.more(counts), max(counts)
            rows = [[*row, *[0] * (new - each), *[1] * each] for row, each in zip(rows, counts, strict=True)]
            is_even &= len(set(counts)) == 1
        elif choice < 0.8:
            width = rng.randint(1, slots.width)
            slots, rows = slots.first(width), [row[:width] for row in rows]
        else:
            chosen = [rng.randrange(len(rows)) for _ in range(rng.randint(1, 3))]
            slots, rows = slots.select(torch.tensor(chosen)), [rows[i] for i in chosen]
        assert slots.even == is_even
        check(slots, rows)
