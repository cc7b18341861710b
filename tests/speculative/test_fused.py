"""The kernels against their torch twin, by Triton's interpreter on the CPU; the twin against `lcd`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sampling_cases import cases
from speculative_cases import random_tree
from test_decode import branching

from constrain.sampling import Settings, TorchDraw, lcd
from constrain.sampling.core.sampler import drive
from constrain.speculative import BuiltTree, Fixed, Speculation
from constrain.speculative.fused import FusedMatch, reference
from constrain.speculative.fused.batch import Trees, packed, unpacked
from constrain.speculative.tree import NONE
from constrain.speculative.verifiers import Match
from tree_target import Oracle

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
COMPILED = torch.cuda.is_available() and not INTERPRETED
DEVICE = torch.device("cuda" if COMPILED else "cpu")


def built(rng: np.random.Generator, nodes: int, size: int) -> BuiltTree:
    """A random legal tree: no two siblings alike; some places forced; some nodes not read."""
    draft = random_tree(rng, nodes, size)
    tokens, parents, seen = [], [], {}
    place = {-1: -1}
    for node, (token, parent) in enumerate(zip(draft.tokens.tolist(), draft.parents.tolist(), strict=True)):
        if 0 <= token < size and parent in place and (place[parent], token) not in seen:
            seen[place[parent], token] = place[node] = len(tokens)
            tokens.append(token)
            parents.append(place[parent])
    n = len(tokens)
    leaves = ~np.isin(np.arange(n), parents)
    forced = np.where(rng.random(n + 1) < 0.15, rng.integers(0, size, n + 1), NONE).astype(np.int32)
    return BuiltTree(
        np.array(tokens, np.int32), np.array(parents, np.int32), np.zeros(n), np.full(n, NONE, np.int32),
        read=~(leaves & (rng.random(n) < 0.2)), forced=forced, same=np.arange(n, dtype=np.int32),
        states=np.zeros(n + 1, np.int64), sources=np.full(n, NONE, np.int32),
    )  # fmt: skip


def problem(seed: int, width: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, Trees, int]:
    """Logits, trees and the size of the vocabulary."""
    rng = np.random.default_rng(seed)
    size = width - int(rng.integers(0, min(5, width - 1)))
    words = -(-size // 32)
    trees = [built(rng, int(rng.integers(0, 14)), min(size, 3)) for _ in range(4)]
    rows = sum(int(tree.read.sum()) + 1 for tree in trees)
    logits = torch.tensor(rng.normal(size=(rows, width)) * rng.choice([1, 5, 30])).to(dtype)
    logits[torch.tensor(rng.random((rows, width)) < 0.1)] = -torch.inf
    logits[:, :3] += 6  # tokens of the trees
    logits[:, 0] = 0.0  # no row without any mass
    bitmask = rng.integers(0, 2**32, (3, words), dtype=np.uint32)
    if seed % 3 == 0:
        bitmask[0] = 0  # a dead end
        bitmask[1] = 1
    masks = [rng.integers(-1, 3, len(tree) + 1).tolist() for tree in trees]
    uniform = rng.random((4, 13))
    logits = logits.to(DEVICE)
    return logits, packed(trees, masks, bitmask, words, uniform, logits.device), size


def agree(logits: torch.Tensor, trees: Trees, size: int, temperature: float, seed: int) -> int:
    from constrain.speculative.fused import kernels

    ours = unpacked(kernels.verify(logits, trees, temperature=temperature, size=size))
    truth = unpacked(reference.verify(logits, trees, temperature=temperature, size=size))
    for mine, theirs in zip(ours, truth, strict=True):
        assert (mine.nodes, mine.tokens) == (theirs.nodes, theirs.tokens), (seed, mine, theirs)
        for name in ("log_prob_raw", "log_prob_sampled", "log_z"):
            assert getattr(mine, name) == pytest.approx(getattr(theirs, name), abs=2e-5, rel=1e-5), (seed, name)
    return sum(len(each.tokens) for each in ours)


@pytest.mark.skipif(
    not (INTERPRETED or COMPILED), reason="no GPU; test_the_interpreter_runs_these starts them with TRITON_INTERPRET=1"
)
@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_kernels_are_the_reference(temperature: float) -> None:
    tokens = sum(agree(*problem(seed, 3 + 7 * seed), temperature, seed) for seed in range(12))
    assert tokens > 60  # paths were followed


@pytest.mark.skipif(
    not (INTERPRETED or COMPILED), reason="no GPU; test_the_interpreter_runs_these starts them with TRITON_INTERPRET=1"
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_several_chunks_and_other_dtypes(dtype: torch.dtype) -> None:
    for seed in range(2):
        agree(*problem(seed, 9_000 + seed, dtype), 1.0, seed)


@pytest.mark.skipif(not INTERPRETED, reason="test_the_interpreter_runs_these starts them with TRITON_INTERPRET=1")
def test_decoding_by_kernels() -> None:
    """Whole outputs, in float32, are those of `lcd` for the same seeds."""
    decoded("triton")


@pytest.mark.skipif(INTERPRETED, reason="is running")
def test_the_interpreter_runs_these() -> None:
    """Triton reads TRITON_INTERPRET when it is imported, so a process of its own."""
    pytest.importorskip("triton", reason="no triton: the kernels were not run")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", str(Path(__file__))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def decoded(kernels: str) -> int:
    """Outputs of several cases and seeds, with fused verification and without; how many forwards were saved."""
    saved = 0
    for case in cases(1, (1.0,)):
        for seed in range(2):
            for temperature in (0.0, 0.6):
                settings = Settings(max_tokens=case.settings.max_tokens, temperature=temperature)
                (plain,) = drive(lcd, branching(case.job(TorchDraw(seed), settings=settings)))
                guess = plain.tokens if seed else [*plain.tokens[:2], 0]
                method = Speculation([Oracle(guess)], verifier=FusedMatch(kernels), controller=Fixed(nodes=6, depth=6))
                (fast,) = drive(method, branching(case.job(TorchDraw(seed), settings=settings)))
                assert fast.tokens == plain.tokens
                assert fast.log_prob == pytest.approx(plain.log_prob, abs=1e-4)
                assert fast.log_weight == pytest.approx(plain.log_weight, abs=1e-4)
                saved += plain.forwards - fast.forwards
    return saved


def test_decoding_by_the_reference() -> None:
    assert decoded("torch") > 0


def test_what_a_device_cannot_do_is_done_by_match() -> None:
    case = cases(1, (1.0,))[0]
    settings = Settings(max_tokens=case.settings.max_tokens, top_k=2)
    plain, fast = (
        drive(Speculation([], verifier=verifier), branching(case.job(TorchDraw(1), settings=settings)))
        for verifier in (Match(), FusedMatch("torch"))
    )
    assert plain[0].tokens == fast[0].tokens


def test_peeking_does_not_change_what_is_drawn() -> None:
    law = torch.full((1, 1000), 1e-3)
    plain, peeked = TorchDraw(5), TorchDraw(5)
    expected = [int(plain(law, [7])) for _ in range(6)]
    found = []
    for used in (0, 2, 1):
        assert len(peeked.peek(7, 3)) == 3
        found += [int(1000 * number) for number in peeked.peek(7, used)]
        peeked.skip(7, used)
    found += [int(peeked(law, [7])) for _ in range(3)]
    assert found == expected
