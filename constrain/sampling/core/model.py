"""The protocols of models: logits after a prefix, for a batch of sequences that grow, fork and end.

The two protocols say no more than the methods need, so that a table of numbers in a test, a Hugging Face model or a
remote engine can stand behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch


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
        undrafted: The model below one that drafts.
        parts: The models that it is made of.
        decoding: Of a handle of an engine: the masked decoding of whole sequences that it does by itself.
    """

    undrafted: LanguageModel | None = None
    parts: Sequence[Any] = ()
    decoding: Any = None

    @property
    def reads_ahead(self) -> bool:
        """It has `start_ahead` (`constrain.sampling.core.ahead`)."""
        return False

    def product(self, job: Any, row: int, limit: int) -> Any:
        """The product with the constraint of a row, from which "exact" draws. Raises LimitError."""
        return None


_NONE = Extras()


def extras_of(model: Any) -> Extras:
    """The abilities of a model beside `LanguageModel`: itself, or the base class for any other object."""
    return model if isinstance(model, Extras) else _NONE


class WrappedModel(Extras):
    """Base class of models that wrap another model: it has its sizes.

    Attributes:
        model: The other model.
    """

    model: LanguageModel

    @property
    def width(self) -> int:
        """Logits per position."""
        return self.model.width

    @property
    def context(self) -> int | None:
        """Positions that the model has."""
        return self.model.context

    @property
    def ragged(self) -> bool:
        return self.model.ragged
