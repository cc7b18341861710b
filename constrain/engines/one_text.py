"""Language models over a machine that holds one text, and can go back in it: llama-cpp-python, onnxruntime-genai.

The idea: a session holds the tokens of its rows. To read a row, the machine goes back to what the row shares with its
text, and reads the rest. So one output costs what the machine costs by itself, and a fork costs nothing. n outputs read
again, at each step, what they do not share: n outputs of T tokens cost n T² / 2 tokens of reading, most of them many at
a time.
Limit: drafts are trees of tokens, which such a machine does not read; `draft=` is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch


class OneTextModel(ABC):
    """A `constrain.sampling.LanguageModel` over such a machine. Nothing else may use the machine meanwhile.

    Attributes:
        width: Logits a position.
    """

    ragged = True
    width: int

    @abstractmethod
    def known(self) -> list[int]:
        """The text that the machine holds."""

    @abstractmethod
    def go_back(self, length: int) -> int:
        """Forget all but the first `length` tokens. Returns how many are kept: fewer where it cannot go back so far."""

    @abstractmethod
    def append(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Read at least one token more. Returns the logits after the last one, float32[width], for the caller."""

    def start(
        self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]
    ) -> tuple[OneTextSession, list[torch.Tensor]]:
        """Read B prefixes; see `constrain.sampling.LanguageModel`."""
        session = OneTextSession(self, [[] for _ in prefixes])
        return session, session.feed(prefixes, keep)

    def read(self, text: Sequence[int], keep: int) -> torch.Tensor:
        """The logits at the last `keep` tokens of a text, float32[keep, width]."""
        import torch  # logits processors do without it

        known = self.known()
        common = next((i for i, (a, b) in enumerate(zip(known, text, strict=False)) if a != b), len(known))
        first = len(text) - keep
        place, rows = self.go_back(min(common, first)), []
        for end in range(first + 1, len(text) + 1):
            rows.append(self.append(text[place:end]))
            place = end
        return torch.from_numpy(np.stack(rows))


class OneTextSession:
    """The tokens of each row; see `constrain.sampling.Session`."""

    def __init__(self, model: OneTextModel, texts: list[list[int]]) -> None:
        self.model = model
        self.texts = texts

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        """Append tokens to each row, and return logits; see `constrain.sampling.Session`. Equal rows are read once."""
        self.texts = [[*text, *chunk] for text, chunk in zip(self.texts, chunks, strict=True)]
        read: dict[tuple[tuple[int, ...], int], torch.Tensor] = {}
        for key in [(tuple(text), kept) for text, kept in zip(self.texts, keep, strict=True)]:
            if key not in read:
                read[key] = self.model.read(*key)
        return [read[tuple(text), kept] for text, kept in zip(self.texts, keep, strict=True)]

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows, in this order."""
        self.texts = [self.texts[row] for row in rows]

    def fork(self, rows: Sequence[int]) -> OneTextSession:
        """A session of its own that goes on with these rows."""
        return OneTextSession(self.model, [self.texts[row] for row in rows])
