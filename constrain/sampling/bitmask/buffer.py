"""Masks on their way to a device: filled on the host, copied without waiting.

The idea: a copy is queued and not waited for if its source is pinned memory. Two host buffers take turns, so that one
is filled while the other may still be on its way; before a buffer is filled again, its last copy must be done, which
it is unless the device lags two steps behind.
On a CPU nothing is copied: the rows themselves are handed on.

Cost: V / 8 bytes a row, twice on the host and once on the device. Limit: the copies were not run on a GPU yet.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

TURNS = 2


class MaskBuffer:
    """Bitmasks on their way to a device: filled on the host, copied without waiting.

    Args:
        rows: B, the most rows of a step.
        size: V, tokens of the vocabulary.
        device: where the masks go.

    Example:
        >>> import constrain
        >>> from constrain.sampling import MaskBuffer
        >>> vocabulary = constrain.Vocabulary([b"a", b"b", None], eos_ids=[2])
        >>> matchers = [constrain.compile(constrain.regex("a+b"), vocabulary).matcher()]
        >>> buffer = MaskBuffer(rows=8, size=3, device="cpu")
        >>> constrain.fill_masks(matchers, buffer.fresh(len(matchers)))  # uint32[1, 1] on the host
        >>> buffer.send()  # int32[1, 1] on the device, for constrain.apply_bitmask_
        tensor([[1]], dtype=torch.int32)
    """

    def __init__(self, rows: int, size: int, device: torch.device | str) -> None:
        self.device = torch.device(device)
        self.rows = rows
        shape = (rows, -(-size // 32))
        self._pinned = self.device.type == "cuda"
        self._hosts = [torch.zeros(shape, dtype=torch.int32, pin_memory=self._pinned) for _ in range(TURNS)]
        self._copies = [
            host if self.device.type == "cpu" else torch.zeros(shape, dtype=torch.int32, device=self.device)
            for host in self._hosts
        ]
        self._done = [torch.cuda.Event() if self._pinned else None for _ in range(TURNS)]
        self._turn = TURNS - 1
        self._used = 0

    def fresh(self, n: int) -> NDArray[np.uint32]:
        """Host rows to fill for the next step; they hold the bits of an earlier one.

        n: at most B. Returns uint32[n, ceil(V / 32)]. Raises ValueError: n is greater than B.
        """
        if not 0 <= n <= self.rows:
            raise ValueError(f"a buffer of {self.rows} rows has not {n}")
        self._turn = (self._turn + 1) % TURNS
        self._used = n
        done = self._done[self._turn]
        if done is not None:
            done.synchronize()
        words: NDArray[np.uint32] = self._hosts[self._turn].numpy()[:n].view(np.uint32)
        return words

    def send(self) -> torch.Tensor:
        """Queue the copy of the rows that `fresh` gave last.

        Returns int32[n, ceil(V / 32)] on the device, in order with what is queued there after.
        """
        host, copy = self._hosts[self._turn][: self._used], self._copies[self._turn][: self._used]
        if copy.device.type != "cpu":
            copy.copy_(host, non_blocking=True)
        done = self._done[self._turn]
        if done is not None:
            done.record(torch.cuda.current_stream(self.device))
        return copy
