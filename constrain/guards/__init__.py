"""Guards: what a grammar cannot remember. A guard reads the text beside the automaton and vetoes tokens.

A constraint may have a `guard`. Its grammar marks the nonterminals inside which the guard has something to say
(`Nonterminal.watched`): elsewhere it is not asked, and costs nothing. A guard's states are immutable, so forks and
rollbacks are free here too.

start reading at: repeats.py (no key and no item twice)
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Guard(Protocol):
    """What the engine asks of a guard.

    always: also where no watched nonterminal was begun; for vocabularies with tokens that begin one and break its rule.
    """

    always: bool

    def start(self) -> Hashable:
        """The state before the first byte."""

    def step(self, state: Hashable, text: bytes) -> Hashable | None:
        """The state after more text, which the grammar allows; None: vetoed."""

    def veto(self, state: Hashable, row: NDArray[np.uint32]) -> None:
        """Clear the bits of the tokens that `step` would veto. row: uint32[>= ceil(V / 32)], allowed by the grammar."""
