"""The cost of attention over a shared prompt for n samples, and the saving by a split with log-sum-exp (Hydragen).

    python benchmarks/shared_prefix.py

Question: a step of 16 samples of one prompt reads the prompt's keys and values 16 times (`SharedLayer` puts them
together for each attention). Juravsky et al. 2024 ("Hydragen", arXiv 2402.05099) read them once for all samples, as one
matrix product, and join both parts by their log-sum-exp. Columns: a step of the reference model, by the length of the
prompt; one attention of its size, put together as now, and split. Both ways must agree within 1e-5.
Clock: CPU time of this thread, medians.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import torch
from torch.nn.functional import scaled_dot_product_attention

import constrain
from constrain.models.hf import HFModel

SAMPLES, HEADS, KEYS, SIZE, OWN = 16, 4, 2, 64, 8


def timed(run: Callable[[], object], times: int = 30) -> float:
    """Milliseconds of a call."""
    found = []
    for _ in range(times):
        start = time.thread_time()
        run()
        found.append(time.thread_time() - start)
    return 1000 * median(found)


def step(handle: HFModel, length: int) -> float:
    """Milliseconds of a step of all samples after a prompt."""
    session = handle.start([[5 + i % 99 for i in range(length)]], [1])[0].fork([0] * SAMPLES)
    return timed(lambda: session.feed([[9]] * SAMPLES, [1] * SAMPLES))


def attentions(length: int) -> tuple[Callable[[], torch.Tensor], Callable[[], torch.Tensor]]:
    """One layer's attention of a new token, put together and split, on random keys and values."""
    torch.manual_seed(length)
    q = torch.randn(SAMPLES, HEADS, 1, SIZE)
    stem, own = torch.randn(2, 1, KEYS, length, SIZE), torch.randn(2, SAMPLES, KEYS, OWN, SIZE)

    def together() -> torch.Tensor:
        k, v = (torch.cat([a.expand(SAMPLES, -1, -1, -1), b], 2) for a, b in zip(stem, own, strict=True))
        return scaled_dot_product_attention(q, k, v, enable_gqa=True)

    def split() -> torch.Tensor:
        of = HEADS // KEYS
        scaled = q.view(SAMPLES, KEYS, of, SIZE) / SIZE**0.5
        shared = scaled.transpose(0, 1).reshape(KEYS, SAMPLES * of, SIZE) @ stem[0, 0].transpose(1, 2)
        first = (shared.softmax(-1) @ stem[1, 0]).view(KEYS, SAMPLES, of, SIZE).transpose(0, 1)
        alone = scaled @ own[0].transpose(2, 3)
        last = alone.softmax(-1) @ own[1]
        weight = shared.logsumexp(-1).view(KEYS, SAMPLES, of).transpose(0, 1) - alone.logsumexp(-1)
        share = weight.sigmoid().unsqueeze(-1)
        return (share * first + (1 - share) * last).reshape(SAMPLES, HEADS, 1, SIZE)

    assert torch.allclose(together(), split(), atol=1e-5)
    return together, split


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    handle = HFModel.of(constrain.reference.load())
    print("| prompt, tokens | step of 16 samples, ms | one attention, ms | split, ms |\n|---|---|---|---|")
    for length in (8, 128, 512, 960):
        together, split = attentions(length)
        print(f"| {length} | {step(handle, length):.1f} | {timed(together):.2f} | {timed(split):.2f} |")


if __name__ == "__main__":
    main()
