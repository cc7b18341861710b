"""The protocols of models: logits after a prefix, for a batch of sequences that grow, fork and end.

The protocols say no more than the methods need, so that a table of numbers in a test, a Hugging Face model or a remote
engine can stand behind them. `LanguageModel` and `Session` are what every model has. A `Target` reads trees of drafts
besides, logits at all their places from one forward pass, and keeps one path of each; `target_of` (chains.py) makes one
of any model, and `WrappedModel` (wrapped.py) changes the logits of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

Ints = NDArray[np.int32]


class LanguageModel(Protocol):
    """Logits after a prefix. `constrain.hf.HFModel` is one for models of transformers.

    Example:
        >>> from constrain.sampling import LanguageModel, NGram
        >>> model: LanguageModel = NGram([[0.9, 0.1], [0.5, 0.5]])
        >>> _, (logits,) = model.start([[0, 1]], keep=[1])
        >>> logits.exp()
        tensor([[0.5000, 0.5000]], dtype=torch.float64)
    """

    @property
    def width(self) -> int:
        """Logits per position: the size of the vocabulary, or more where the model is padded."""

    @property
    def context(self) -> int | None:
        """Positions that the model has, None when unlimited."""

    @property
    def ragged(self) -> bool:
        """A batch may grow by different lengths at once (`Session.feed`)."""

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[Session, list[torch.Tensor]]:
        """Read B prefixes, each with at least one token.

        keep: B numbers; how many of the last positions' logits are wanted
        returns: the session, and logits float[keep[i], width] for each row
        """


class Session(Protocol):
    """A batch of sequences with what the model remembers of them.

    Example:
        >>> from constrain.sampling import NGram, Session
        >>> session: Session = NGram([[0.9, 0.1], [0.5, 0.5]]).start([[0], [1]], keep=[1, 1])[0]
        >>> session.select([1, 1])  # go on with the second sequence, twice
        >>> len(session.feed([[0], [1]], keep=[1, 1]))
        2
    """

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        """Append at least one token to each row (equally many unless the model is `ragged`); see `start`."""

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows, in this order; a row may be dropped, or repeated to fork it."""

    def fork(self, rows: Sequence[int]) -> Session:
        """A session of its own that goes on with these rows; this one stays as it is."""


class Extras:
    """Base class of models that do more than `LanguageModel` asks; what a subclass does not override it cannot do.

    Attributes:
        decoding: Of a handle of an engine: the masked decoding of whole sequences that it does by itself.
    """

    decoding: Any = None

    @property
    def undrafted(self) -> LanguageModel | None:
        """The model below one that drafts."""
        return None

    @property
    def parts(self) -> Sequence[Any]:
        """The models that it is made of."""
        return ()

    @property
    def reads_ahead(self) -> bool:
        """True if a model has `start_ahead` (`constrain.sampling.core.ahead`)."""
        return False

    def product(self, job: Any, row: int, limit: int) -> Any:
        """The product with the constraint of a row, from which "exact" draws. Raises LimitError."""
        return None


_NONE = Extras()


def extras_of(model: Any) -> Extras:
    """The abilities of a model beside `LanguageModel`: itself, or the base class for any other object."""
    return model if isinstance(model, Extras) else _NONE


class TreeReader(Protocol):
    """Reads a forward pass in its own way: more places of it, which no output depends on."""

    def read(
        self,
        session: Any,
        chunks: Sequence[Sequence[int]],
        keep: Sequence[int],
        tokens: Sequence[Ints],
        parents: Sequence[Ints],
    ) -> list[torch.Tensor]:
        """Run `TreeSession.forward` of the session itself, with more nodes, and set `session.hidden`."""


Hidden = bool | tuple[int, ...] | TreeReader


class TreeSession(Protocol):
    """B sequences with what the model remembers of them.

    A session may have an attribute `keep_hidden`, to be set before a forward pass. True: then `hidden` has, for each
    row, what the model's head read for the logits of that forward, float[keep + r, H]. A tuple of layers: what went
    into them, joined (without layers: what the last one gave), at every position that was read, float[chunk + r, F].
    A `TreeReader`: what it likes, float[keep + r, F].

    Example:
        >>> from constrain.sampling import NGram
        >>> from constrain.speculative import ForkTarget, TreeSession
        >>> session: TreeSession = ForkTarget(NGram([[0.5, 0.5], [0.5, 0.5]])).open(rows=2)
    """

    @property
    def forwards(self) -> Sequence[int]:
        """B numbers: in how many forward passes of the model each row took part at the last call of `forward`."""

    def forward(
        self, chunks: Sequence[Sequence[int]], keep: Sequence[int], tokens: Sequence[Ints], parents: Sequence[Ints]
    ) -> list[torch.Tensor]:
        """Append a chunk to each row, and read a tree behind it; `commit` must follow before the next forward pass.

        chunks: B lists: kept whatever the verdict. A row with an empty one, keep 0 and no tree is not read; not all are
        keep: B numbers ≥ 1: how many of the chunk's last positions' logits are wanted; the last is the root's
        tokens, parents: int32[r] a row, r ≥ 0: the nodes of a tree whose root is the end of the chunk (parents: ROOT or
          an earlier node); a chain unless the target is `branching`
        returns: for each row float[keep + r, width]: logits of the chunk's end, the root last, then after each node
        """

    def commit(self, paths: Sequence[Sequence[int]]) -> None:
        """Keep these nodes of each row's tree, a path from its root, as part of the sequence; forget the others."""

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows, in this order; a row may be dropped, or repeated to fork it."""

    def fork(self, rows: Sequence[int]) -> TreeSession:
        """A session of its own that goes on from these rows, in this order; this one stays as it is."""


class Target(Protocol):
    """A model that can be asked about trees; `ForkTarget` is one for any `LanguageModel`.

    Example:
        >>> from constrain.sampling import NGram
        >>> from constrain.speculative import ForkTarget, Target
        >>> target: Target = ForkTarget(NGram([[0.5, 0.5], [0.5, 0.5]]))
        >>> target.width
        2
    """

    @property
    def width(self) -> int:
        """Logits per position."""

    @property
    def branching(self) -> bool:
        """True if the model reads trees; if not, it reads chains only."""

    def open(self, rows: int) -> TreeSession:
        """A session of so many sequences, all empty."""
