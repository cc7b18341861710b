"""A script, run with TRITON_INTERPRET=1: the Triton kernel beside plain arithmetic, on random logits and masks.

Prints "masked" and the number of cases.
"""

from collections.abc import Sequence

import numpy as np
import torch

CASES = 60


def random_words(rng: np.random.Generator, rows: int, size: int, kind: str) -> np.ndarray:
    """uint32[rows, ceil(size / 32)]: nothing, everything, half, or runs of words of either."""
    shape = (rows, -(-size // 32))
    half = rng.integers(0, 2**32, shape, dtype=np.uint32)
    if kind == "none":
        return np.zeros_like(half)
    if kind == "all":
        return np.full_like(half, 0xFFFFFFFF)
    if kind == "runs":
        return np.where(rng.random(shape) < 0.4, 0, np.where(rng.random(shape) < 0.5, 0xFFFFFFFF, half)).astype(
            np.uint32
        )
    return half


def expected(logits: torch.Tensor, words: np.ndarray, size: int, rows: Sequence[int] | None) -> torch.Tensor:
    """The masked logits, one by one."""
    out = logits.clone()
    for i, row in enumerate(range(len(words)) if rows is None else rows):
        for token in range(logits.shape[1]):
            if token >= size or not int(words[i, token // 32]) >> (token % 32) & 1:
                out[row, token] = -torch.inf
    return out


def main() -> None:
    from constrain.sampling.bitmask import triton_kernel as triton_bitmask

    triton_bitmask.BLOCK = 64  # several blocks a row
    triton_bitmask.PROGRAMS = 3  # several tasks a program
    rng = np.random.default_rng(0)
    for case in range(CASES):
        dtype = [torch.float32, torch.float16, torch.bfloat16, torch.float64][case % 4]
        size = int(rng.integers(1, 260))
        n, width = int(rng.integers(1, 5)), size + int(rng.integers(0, 90))
        memory = torch.tensor(rng.normal(size=(n, width + 5))).to(dtype)
        before, logits = memory.clone(), memory[:, 2 : 2 + width]
        rows = rng.permutation(n)[: rng.integers(1, n + 1)].tolist() if case % 2 else None
        words = random_words(
            rng, n if rows is None else len(rows), size, ["none", "all", "runs", "half"][case // 4 % 4]
        )
        wanted = expected(logits, words, size, rows)
        sent = torch.from_numpy(words.view(np.int32))
        triton_bitmask.refuse_(logits, sent, size, None if rows is None else torch.tensor(rows))
        assert torch.equal(logits, wanted), case
        assert torch.equal(memory[:, :2], before[:, :2]) and torch.equal(memory[:, 2 + width :], before[:, 2 + width :])
    print("masked", CASES)


if __name__ == "__main__":
    main()
