"""The slots of a batch in a model's memory, and which of them hold a token.

The idea: as long as every slot holds a token, two numbers say all, and a forward pass of one row costs no arithmetic
on tensors. From the first row that is shorter than another one on, a mask says which slots count.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch


class Slots:
    """S slots for each of B rows. A value: what grows, or is cut, is another one.

    Args:
        rows: B.
        width: S; all of them hold tokens if there is no mask.
        device: Where tensors are made.
        mask: int64[B, S], 1 where a slot holds a token of the row.
        lengths: int64[B], the sums of the mask's rows.
    """

    def __init__(
        self,
        rows: int,
        width: int,
        device: torch.device,
        mask: torch.Tensor | None = None,
        lengths: torch.Tensor | None = None,
    ) -> None:
        self.rows, self.width, self.device = rows, width, device
        self._mask, self._lengths = mask, lengths

    @property
    def even(self) -> bool:
        """True if every slot is known to hold a token."""
        return self._mask is None

    @property
    def attention(self) -> torch.Tensor:
        """int64[B, S], 1 where a slot holds a token of the row."""
        if self._mask is not None:
            return self._mask
        return torch.ones((self.rows, self.width), dtype=torch.int64, device=self.device)

    @property
    def lengths(self) -> torch.Tensor:
        """int64[B], tokens of each row."""
        if self._lengths is not None:
            return self._lengths
        return torch.full((self.rows,), self.width, dtype=torch.int64, device=self.device)

    @property
    def longest(self) -> int:
        """Tokens of the longest row."""
        return self.width if self._lengths is None else int(self._lengths.max())

    def more(self, counts: Sequence[int]) -> Slots:
        """With slots for so many tokens more of each row, aligned to the right."""
        new = max(counts)
        if self.even and min(counts) == new:
            return Slots(self.rows, self.width + new, self.device)
        present = [[0] * (new - count) + [1] * count for count in counts]
        told = torch.tensor(present, dtype=torch.int64, device=self.device)
        mask = torch.cat([self.attention, told], dim=1)
        return Slots(self.rows, self.width + new, self.device, mask, self.lengths + told.sum(1))

    def first(self, width: int) -> Slots:
        """The first slots of each row."""
        if self._mask is None:
            return Slots(self.rows, width, self.device)
        mask = self._mask[:, :width]
        return Slots(self.rows, width, self.device, mask, mask.sum(1))

    def positions(self, last: int) -> torch.Tensor:
        """int64[B, last], the positions of the tokens in the last slots; 0 in slots before the first token."""
        if self._mask is None:
            return torch.arange(self.width - last, self.width, device=self.device).expand(self.rows, last)
        told = self._mask[:, self.width - last :]
        before = (self.lengths - told.sum(1)).unsqueeze(1)
        return (before + told.cumsum(1) - 1).clamp(min=0)

    def select(self, index: torch.Tensor) -> Slots:
        """Keep these rows, int64[N], in this order."""
        if self._mask is None or self._lengths is None:
            return Slots(len(index), self.width, self.device)
        return Slots(len(index), self.width, self.device, self._mask[index], self._lengths[index])
