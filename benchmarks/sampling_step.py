"""Time of choosing one token beside the model: mask, temperature, log Z, truncation and draw.

    python benchmarks/sampling_step.py [--size 128256] [--seconds 0.3]

Answers are checked: against a plain float64 softmax over the allowed tokens. Best of many runs on one core; the times
do not include filling the mask (`benchmarks/maskbench.py`) nor the model. Bias: random logits, of a spread that gives
the likeliest tokens most of the mass, as a model's do.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch

from constrain.sampling import Settings, TorchDraw, bitmask_words, step


def masks(rows: int, size: int) -> Iterator[tuple[str, np.ndarray | None]]:
    """No mask, the inside of a string (nearly all tokens), and the tokens that may follow a value (few)."""
    yield "none", None
    full = np.full((rows, bitmask_words(size)), 0xFFFFFFFF, dtype=np.uint32)
    full[:, ::50] = 0xFFFFFFF7
    full[:, -1] = 0 if size % 32 else full[:, -1]
    yield "nearly all", full
    few = np.zeros_like(full)
    few[:, [1, 17, -2]] = [[0b101, 0b11, 0b1111]]
    yield "few", few


def check(logits: torch.Tensor, mask: np.ndarray | None, size: int) -> None:
    """log Z and log p_raw against plain arithmetic."""
    drawn = step(logits, mask, settings=Settings(), draw=TorchDraw(0), streams=range(len(logits)), size=size)
    probs = logits.double().softmax(-1)
    for row, p in enumerate(probs):
        allowed = (
            np.ones(size, bool) if mask is None else np.unpackbits(mask[row].view(np.uint8), bitorder="little") > 0
        )
        token = int(drawn.token[row])
        assert allowed[token]
        assert abs(float(drawn.log_z[row]) - math.log(float(p[torch.tensor(allowed[:size])].sum()))) < 1e-4
        assert abs(float(drawn.log_prob_raw[row]) - math.log(float(p[token]))) < 1e-4


def one_step(logits: torch.Tensor, mask: np.ndarray | None, size: int, settings: Settings) -> Callable[[], object]:
    draw = TorchDraw(0)
    return lambda: step(logits, mask, settings=settings, draw=draw, streams=range(len(logits)), size=size)


def best(run: Callable[[], object], seconds: float) -> float:
    """The least time of a run, in milliseconds."""
    run()
    least, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - start)
    return least * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=128_256)
    parser.add_argument("--seconds", type=float, default=0.3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    kinds = {"sample": Settings(), "greedy": Settings(temperature=0), "top-k 50": Settings(top_k=50)}
    kinds["top-p 0.9"] = Settings(top_p=0.9)
    print(f"{'rows':>4}  {'mask':<10}  " + "  ".join(f"{kind:>10}" for kind in kinds) + "   (ms)")
    for rows, place in itertools.product((1, 8), range(3)):
        logits = torch.randn((rows, given.size), generator=torch.Generator().manual_seed(0)) * 4
        name, mask = list(masks(rows, given.size))[place]
        check(logits, mask, given.size)
        times = [best(one_step(logits, mask, given.size, settings), given.seconds) for settings in kinds.values()]
        print(f"{rows:>4}  {name:<10}  " + "  ".join(f"{ms:>10.3f}" for ms in times))


if __name__ == "__main__":
    main()
