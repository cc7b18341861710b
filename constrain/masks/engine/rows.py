"""Rows of masks that callers give: arrays, or tensors in the memory of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError

Row = NDArray[np.uint32]
Rows = Any  # an array or a tensor


def shared_array(rows: Any) -> Any:
    """A tensor of torch in the memory of the CPU as an array of the same memory; anything else as it is."""
    if isinstance(rows, np.ndarray) or not hasattr(rows, "data_ptr"):
        return rows
    if rows.device.type != "cpu":
        raise ConstrainError(
            f"masks are written to the memory of the CPU, and this tensor is on {rows.device}",
            fix="fill a pinned tensor of the CPU, and copy it",
        )
    return rows.numpy()


def checked_row(row: Row, size: int) -> Row:
    """The row as uint32 words. Raises ConstrainError if it cannot hold a mask."""
    row = shared_array(row)
    need = (size + 31) // 32
    if not isinstance(row, np.ndarray) or row.dtype not in (np.uint32, np.int32):
        kind = row.dtype if isinstance(row, np.ndarray) else type(row).__name__
        raise ConstrainError(f"a mask is an array of uint32, not {kind}", fix="np.zeros(vocabulary.words, np.uint32)")
    if row.ndim != 1 or row.size < need:
        raise ConstrainError(
            f"a mask row for {size} tokens has {need} words, not shape {row.shape}",
            fix="np.zeros(vocabulary.words, np.uint32)",
        )
    if not row.flags.c_contiguous or not row.flags.writeable:
        what = "contiguous" if not row.flags.c_contiguous else "writable"
        raise ConstrainError(f"a mask row must be {what}", fix="copy it: row.copy()")
    return row if row.dtype == np.uint32 else row.view(np.uint32)
