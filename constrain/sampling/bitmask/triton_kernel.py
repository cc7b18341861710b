"""A bitmask meets logits on a GPU: one Triton kernel, that writes -inf and reads no logit.

The idea: a program takes blocks of a row, one after the other until none is left (persistent: as many programs as the
GPU runs at once, however many rows there are). A word of the mask stands for 32 logits side by side, so a block loads
words once and stores to neighbouring addresses. Only what is refused is written: a mask that allows nearly everything
costs little more than reading itself.

Cost: V / 8 bytes read, and 2 or 4 bytes written for each token that is refused. Run by Triton's
interpreter in tests, and on an H200, where it takes as long as XGrammar's kernel (record 2026-11-26-gpu). Limit: the
block size and the number of programs are estimates.
"""

from __future__ import annotations

from functools import cache

import torch

try:
    import triton
    import triton.language as tl
except ImportError:  # no wheels for this platform: `apply_bitmask_` unpacks bits instead
    triton = None

BLOCK = 4096  # logits that a program masks at a time
PROGRAMS = 8  # for each multiprocessor


def refuse_(logits: torch.Tensor, words: torch.Tensor, size: int, rows: torch.Tensor | None) -> None:
    """Set the logits that the words do not allow, and all from `size` on, to -inf.

    logits: float[B, W] of any width, columns side by side. words: int32[N, ceil(size / 32)], on the same device.
    rows: int64[N], the row of logits of each row of words; None: in order. Nothing is checked, nothing waits.
    """
    if not len(words):
        return
    programs = _programs(logits.device)
    blocks = -(-logits.shape[1] // BLOCK)
    _refuse[(min(len(words) * blocks, programs),)](
        logits,
        words,
        words if rows is None else rows,
        len(words),
        logits.shape[1],
        size,
        logits.stride(0),
        words.stride(0),
        HAS_ROWS=rows is not None,
        BLOCK=BLOCK,
    )


@cache
def _programs(device: torch.device) -> int:
    if device.type != "cuda":
        return PROGRAMS
    return PROGRAMS * int(torch.cuda.get_device_properties(device).multi_processor_count)


if triton is not None:

    @triton.jit
    def _refuse(  # type: ignore[no-untyped-def]
        logits,
        words,
        rows,
        n_rows,
        width,
        size,
        logits_stride,
        words_stride,
        HAS_ROWS: tl.constexpr,
        BLOCK: tl.constexpr,
    ):
        blocks = tl.cdiv(width, BLOCK)
        for task in range(tl.program_id(0), n_rows * blocks, tl.num_programs(0)):
            i = (task // blocks).to(tl.int64)
            first = (task % blocks) * BLOCK
            row = tl.load(rows + i).to(tl.int64) if HAS_ROWS else i
            at = first // 32 + tl.arange(0, BLOCK // 32)
            word = tl.load(words + i * words_stride + at, mask=at * 32 < size, other=0)
            bit = tl.arange(0, 32)[None, :]
            column = at[:, None] * 32 + bit
            allowed = ((word[:, None] >> bit) & 1 != 0) & (column < size)
            tl.store(logits + row * logits_stride + column, float("-inf"), mask=(column < width) & ~allowed)
