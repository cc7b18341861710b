"""Puts bitmasks on logits.

A bitmask is uint32[B, ceil(V / 32)], low bit first, 1 = allowed (int32 of the same bits is accepted too, since torch
knows few operations on uint32). Logits may be wider than the vocabulary — models are padded to a round size — and the
ids beyond it stand for nothing: they are never allowed.

Cost: on a CPU some µs a row (kernels/masks); what that kernel does not read (float64, columns that are not side by
side, logits that need gradients) takes unpacked bits and a masked fill. On a GPU the words travel (V / 8 bytes a row;
buffer.py), and one Triton kernel writes (triton_kernel.py); without Triton, bits are unpacked there. Where few
tokens are allowed — most states of a schema or a grammar — samplers take only their columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from constrain.errors import ConstrainError

WORD = 32
_WORD_TYPES = {np.dtype(np.uint32), np.dtype(np.int32), torch.uint32, torch.int32}
SPARSE = 8  # columns are picked when at most one in so many is allowed in any row


def bitmask_words(size: int) -> int:
    """The number of words of a bitmask.

    Args:
        size: tokens of the vocabulary.

    Returns:
        ceil(size / 32).

    Example:
        >>> from constrain.sampling import bitmask_words
        >>> bitmask_words(128_256)
        4008
    """
    return -(-size // WORD)


def apply_bitmask_(
    logits: torch.Tensor,
    bitmask: np.ndarray | torch.Tensor,
    size: int | None = None,
    *,
    rows: Sequence[int] | np.ndarray | torch.Tensor | None = None,
) -> torch.Tensor:
    """Set the logits of all tokens that are not allowed to -inf, in place.

    Args:
        logits: float[B, W].
        bitmask: uint32 or int32 [N, ceil(V / 32)], low bit first, 1 = allowed. One on the logits' device stays there.
        size: V, the tokens of the vocabulary; by default all that the words have room for, up to W.
        rows: N row numbers: bitmask[i] is for logits[rows[i]], other rows stay as they are; by default N = B, in order.
            A tensor on another device than the CPU is not checked, since that would wait for the device.

    Returns:
        `logits`.

    Raises:
        ConstrainError: shapes or dtypes do not fit, or W < V.

    Example:
        >>> import numpy as np
        >>> import torch
        >>> apply_bitmask_(torch.zeros(1, 4), np.array([[0b1010]], dtype=np.uint32))
        tensor([[-inf, 0., -inf, 0.]])
    """
    size = checked_size(logits, bitmask, size, None if rows is None else len(rows))
    if logits.device.type != "cpu":
        _apply_on_device(logits, _on_device(bitmask, logits.device), size, _rows_on_device(rows, logits))
        return logits
    words = _host_words(bitmask)
    places = range(len(words)) if rows is None else _rows(rows, len(logits))
    kind = _BITS.get(logits.dtype)
    if kind is None or logits.stride(1) != 1 or logits.requires_grad or not len(words):
        for place, refused in zip(places, torch.from_numpy(bits_of(~words)), strict=True):
            logits[place, :size].masked_fill_(refused[:size], -torch.inf)
            logits[place, size:] = -torch.inf
        return logits
    integers, minus_infinity = kind
    refuse = _kernels()[integers]
    bits = logits.detach().view(integers).numpy()
    for place, row in zip(places, words, strict=True):
        refuse(bits[place], row, size, minus_infinity)
    if not logits.is_inference():
        torch.autograd.graph.increment_version(logits)  # torch does not see what kernels write
    return logits


_BITS = {  # floats -> integers of their width, and the bits of -inf in them
    torch.float32: (torch.int32, -0x800000),
    torch.float16: (torch.int16, -0x400),
    torch.bfloat16: (torch.int16, -0x80),
}


@cache
def _kernels() -> dict[torch.dtype, Any]:
    from constrain import kernels
    from constrain.kernels.masks import logits

    kernels.load()
    return {torch.int32: logits.refuse_singles, torch.int16: logits.refuse_halves}


def _apply_on_device(logits: torch.Tensor, words: torch.Tensor, size: int, rows: torch.Tensor | None) -> None:
    """words: int32[N, W] on the logits' device. rows: int64[N] there."""
    if logits.device.type == "cuda" and logits.stride(1) == 1 and find_spec("triton") is not None:
        from constrain.sampling.bitmask.triton_kernel import refuse_

        refuse_(logits, words, size, rows)
        return
    refused = _unpack(~words)[:, :size]
    if rows is None:
        logits[:, :size].masked_fill_(refused, -torch.inf)
        logits[:, size:] = -torch.inf
    else:
        logits[rows, :size] = logits[rows, :size].masked_fill_(refused, -torch.inf)
        logits[rows, size:] = -torch.inf


def masked_logits(
    logits: torch.Tensor, bitmask: np.ndarray | torch.Tensor, size: int | None = None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The logits under a mask, and the columns that were kept: float[B, U] and int64[U], or None for all of them.

    Arguments as of `apply_bitmask_`; `logits` is left as it is. Columns are in order; what no row allows is left out,
    what one row does not allow is -inf.
    PERF: a step (V = 128,256, few tokens allowed, one row, one core) takes 0.2 ms instead of 0.6 ms.
    """
    size = checked_size(logits, bitmask, size)
    words = _host_words(bitmask)
    union = np.bitwise_or.reduce(words, axis=0)
    kept = np.flatnonzero(bits_of(union[np.newaxis])[0, :size])
    if not 0 < len(kept) * SPARSE <= logits.shape[1]:
        return apply_bitmask_(logits.clone(), words, size), None
    columns = torch.from_numpy(kept).to(logits.device)
    taken = logits.index_select(1, columns)
    if len(words) > 1:
        refused = ((words[:, kept // WORD] >> (kept % WORD).astype(np.uint32)) & 1) == 0
        taken.masked_fill_(torch.from_numpy(refused).to(logits.device), -torch.inf)
    return taken, columns


def checked_size(
    logits: torch.Tensor, bitmask: np.ndarray | torch.Tensor, size: int | None, n_rows: int | None = None
) -> int:
    """The size; raises ConstrainError when shapes or dtypes do not fit."""
    if bitmask.dtype not in _WORD_TYPES or bitmask.ndim != 2 or logits.ndim != 2:
        raise ConstrainError(
            f"a bitmask must be uint32 or int32 of two dimensions beside logits of two, not {bitmask.dtype} of "
            f"{bitmask.ndim} beside logits of {logits.ndim}"
        )
    width = logits.shape[1]
    rows = len(logits) if n_rows is None else n_rows
    if size is None:
        size = min(width, bitmask.shape[1] * WORD)
    if tuple(bitmask.shape) != (rows, bitmask_words(size)):
        raise ConstrainError(
            f"a bitmask for {rows} rows of {size} tokens has shape {(rows, bitmask_words(size))}, "
            f"not {tuple(bitmask.shape)}"
        )
    if width < size:
        raise ConstrainError(
            f"the model gives {width} logits for a vocabulary of {size} tokens",
            fix="compile the constraint for a Vocabulary of the model's own tokenizer",
        )
    return size


def _rows(rows: Sequence[int] | np.ndarray | torch.Tensor, n: int) -> list[int]:
    """Row numbers as a list, checked."""
    numbers: list[int] = rows.tolist() if isinstance(rows, np.ndarray | torch.Tensor) else [*rows]
    for number in numbers:
        if not isinstance(number, int) or not 0 <= number < n:
            raise ConstrainError(f"there is no row {number!r} among {n} rows of logits")
    return numbers


def _rows_on_device(
    rows: Sequence[int] | np.ndarray | torch.Tensor | None, logits: torch.Tensor
) -> torch.Tensor | None:
    if rows is None or (isinstance(rows, torch.Tensor) and rows.device.type != "cpu"):
        return rows
    return torch.tensor(_rows(rows, len(logits)), dtype=torch.int64).to(logits.device, non_blocking=True)


def _host_words(bitmask: np.ndarray | torch.Tensor) -> np.ndarray:
    """uint32[N, W], contiguous."""
    words = bitmask.cpu().numpy() if isinstance(bitmask, torch.Tensor) else bitmask
    return np.ascontiguousarray(words).view(np.uint32)


def _on_device(bitmask: np.ndarray | torch.Tensor, device: torch.device) -> torch.Tensor:
    """int32[N, W] on a device."""
    if isinstance(bitmask, np.ndarray):
        bitmask = torch.from_numpy(np.ascontiguousarray(bitmask).view(np.int32))
    return bitmask.view(torch.int32).to(device, non_blocking=True)


def bits_of(words: np.ndarray) -> np.ndarray:
    """The bits of [B, W] words as bool[B, 32 · W].

    numpy unpacks bytes, which follow each other as bits do on little-endian machines: all that torch runs on.
    """
    flat = np.unpackbits(words.view(np.uint8).ravel(), bitorder="little").view(bool)
    return flat.reshape(len(words), words.shape[1] * WORD)


def _unpack(words: torch.Tensor) -> torch.Tensor:
    """The bits of words, int32[B, W] on any device, as booleans."""
    bits = (words.unsqueeze(-1) >> torch.arange(WORD, device=words.device, dtype=torch.int32)) & 1
    return bits.reshape(len(words), -1).bool()
