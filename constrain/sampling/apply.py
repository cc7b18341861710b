"""Bitmasks meet logits.

A bitmask is uint32[B, ceil(V / 32)], low bit first, 1 = allowed (int32 of the same bits is accepted too, since torch
knows few operations on uint32). Logits may be wider than the vocabulary — models are padded to a round size — and the
ids beyond it stand for nothing: they are never allowed.

Cost on a CPU: unpacking the bits, then one masked fill; on another device the words travel (V / 8 bytes a row), not
the bits.
"""

from __future__ import annotations

import numpy as np
import torch

from constrain.errors import ConstrainError

WORD = 32


def bitmask_words(size: int) -> int:
    """Words of a bitmask over `size` tokens."""
    return -(-size // WORD)


def apply_bitmask_(logits: torch.Tensor, bitmask: np.ndarray | torch.Tensor, size: int | None = None) -> torch.Tensor:
    """Set the logits of all tokens that are not allowed to -inf, in place; returns `logits`.

    logits: float[B, W]
    bitmask: uint32 or int32 [B, ceil(V / 32)]
    size: V, the tokens of the vocabulary; by default all that the words have room for, up to W
    raises: ConstrainError when shapes or dtypes do not fit, or W < V
    """
    if isinstance(bitmask, torch.Tensor):
        bitmask = bitmask.cpu().numpy()
    if bitmask.dtype not in (np.uint32, np.int32) or bitmask.ndim != 2 or logits.ndim != 2:
        raise ConstrainError(
            f"a bitmask must be uint32 or int32 of two dimensions beside logits of two, not {bitmask.dtype} of "
            f"{bitmask.ndim} beside logits of {logits.ndim}"
        )
    rows, width = logits.shape
    if size is None:
        size = min(width, bitmask.shape[1] * WORD)
    if bitmask.shape != (rows, bitmask_words(size)):
        raise ConstrainError(
            f"a bitmask for {rows} rows of {size} tokens has shape {(rows, bitmask_words(size))}, not {bitmask.shape}"
        )
    if width < size:
        raise ConstrainError(
            f"the model gives {width} logits for a vocabulary of {size} tokens",
            fix="compile the constraint for a Vocabulary of the model's own tokenizer",
        )
    if logits.device.type == "cpu":
        refused = np.unpackbits((~bitmask).view(np.uint8), axis=1, bitorder="little")[:, :size].view(bool)
        logits[:, :size].masked_fill_(torch.from_numpy(np.ascontiguousarray(refused)), -torch.inf)
    else:
        words = torch.from_numpy(np.ascontiguousarray(bitmask).view(np.int32)).to(logits.device)
        bits = (words.unsqueeze(-1) >> torch.arange(WORD, device=logits.device, dtype=torch.int32)) & 1
        logits[:, :size].masked_fill_(bits.reshape(rows, -1)[:, :size] == 0, -torch.inf)
    logits[:, size:] = -torch.inf
    return logits
