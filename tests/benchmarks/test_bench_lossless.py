"""Benchmarks of drafts: in lossless.py every drafter has a row and a difference its gap.

The commands for a GPU run on the CPU: kernels by Triton's interpreter, a tiny model.
"""

import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import constrain.papers.drafting
import constrain.papers.heads
import constrain.papers.layers
import constrain.speculative.drafters
from constrain.papers.heads import HeadsAdapter
from constrain.speculative import Drafter
from lossless import TIE, Bench, requests

PACKAGES = (
    constrain.papers.drafting, constrain.papers.heads, constrain.papers.layers, constrain.speculative.drafters,
)  # fmt: skip
BASES = {"HeadsAdapter", "PseudoHeads"}  # have no drafts of their own
ABSENT = {"Seeing": "drafts for prompts with images"}


def kinds() -> Iterator[type]:
    """Every public class of drafters, and of heads that draft."""
    for package in PACKAGES:
        for module in pkgutil.iter_modules(package.__path__):
            name = f"{package.__name__}.{module.name}"
            for each in vars(importlib.import_module(name)).values():
                if isinstance(each, type) and each.__module__ == name and issubclass(each, (Drafter, HeadsAdapter)):
                    yield each


def test_requests_differ() -> None:
    assert len(set(requests(100))) == 100
    assert requests(7) == requests(100)[:7]


def test_every_drafter_has_a_row(repository: Path) -> None:
    text = (repository / "benchmarks" / "lossless.py").read_text(encoding="utf-8")
    every = [each for each in kinds() if each.__name__[0] != "_" and each.__name__ not in BASES | {*ABSENT}]
    assert len(every) > 25
    absent = [
        each.__name__ for each in every if not re.search(rf'\b{each.__name__}\(|"{getattr(each, "name", None)}"', text)
    ]
    assert not absent


def test_a_difference_has_its_gap() -> None:
    """One token parts two outputs: the logits there are those of a forward pass over what they share."""
    asked: list[Any] = []

    def start(prompts: list[list[int]], wanted: list[int]) -> tuple[None, list[torch.Tensor]]:
        asked.append((prompts, wanted))
        return None, [torch.tensor([[0.0, 1.0, 2.5, 2.25]])]

    bench = Bench.__new__(Bench)
    bench.handle = SimpleNamespace(tokenizer=lambda text: {"input_ids": [7]}, start=start)  # type: ignore[assignment]
    assert bench.gap("a", [5, 2, 9], [5, 3]) == 0.25 > TIE
    assert asked == [([[7, 5]], [1])]


KERNELS = {"vocabulary", "nodes", "batch", "fused", "launched", "filtered", "traversal", "eager", "xgrammar", "mask"}
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command, rows, columns",
    [
        ("kernels --sizes 70 --nodes 2 --batch 1 --repeat 1", 1, KERNELS),
        ("model --shape tiny --prompt 9 --tokens 6", 3, {"row", "forwards", "ms a forward", "tokens/s"}),
        (
            "forward --model none --shape tiny --prompt 9 --batch 1 3 --nodes 2 --repeat 1",
            4,
            {"arm", "ms", "MiB", "logits as today"},
        ),
    ],
)
def test_the_commands(command: str, rows: int, columns: set[str], tmp_path: Path) -> None:
    pytest.importorskip("triton")
    script = ROOT / "benchmarks" / "speculation_gpu.py"
    done = subprocess.run(
        [sys.executable, str(script), *command.split(), "--out", str(tmp_path)],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    about, *records = map(json.loads, (tmp_path / f"{command.split()[0]}.jsonl").read_text().splitlines())
    assert about["device"]
    assert len(records) == rows
    assert all(columns <= record.keys() for record in records)
