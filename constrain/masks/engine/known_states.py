"""KnownStates: the masks and the numbers of states that the matchers of one epoch share."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.languages.automata.memory import MAX_WORDS
from constrain.lazily import Remembered

MAX_ROWS = 512  # complete masks that are kept for `Matcher.mask`
MAX_NUMBERS = 1 << 14  # states of a guard whose numbers are kept; a state that was forgotten gets a new one


class KnownStates:
    """The masks and numbers of one epoch of an automaton; a new object is made after each flush.

    Attributes:
        epoch: The automaton's.
        masks: Configuration -> (mask, the flags of `fill_mask`).
        kept: What others keep of this epoch, by its type.
    """

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.masks: Remembered[int, tuple[NDArray[np.uint32], int]] = Remembered(MAX_ROWS)
        self.kept: dict[Any, Any] = {}
        self._watched: Remembered[tuple[int, Hashable], int] = Remembered(MAX_NUMBERS)
        self._numbers = itertools.count(MAX_WORDS)

    def keep_mask(self, epoch: int, configuration: int, row: NDArray[np.uint32], flags: int) -> None:
        """Keep a mask of an epoch that will not be changed any more, with the flags of `fill_mask`."""
        if epoch == self.epoch:
            self.masks.keep(configuration, (row, flags))

    def number(self, configuration: int, guarded: Hashable) -> int:
        """A number for a pair (configuration, state of the guard), different from all configurations."""
        key = configuration, guarded
        try:
            known = self._watched.get(key)
            return self._watched.keep(key, next(self._numbers)) if known is None else known
        except RecursionError:  # values are nested too deeply to be compared: the state counts as a new one
            return next(self._numbers)
