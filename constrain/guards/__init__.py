"""Guards: conditions on values that no grammar can express. A guard reads the text too, and vetoes tokens.

A constraint may have a `guard`. Its grammar marks the nonterminals inside which the guard may veto
(`Nonterminal.watched`). Elsewhere the guard is not asked and costs nothing. The states of a guard are immutable, so
forks and rollbacks are free.

takes: the bytes of a text, masks that the grammar allows
gives: masks without the tokens that would break the condition
used by: schema (repeated keys and items), derived, constraints
start reading at: repeats.py
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Guard(Protocol):
    """The interface that the engine uses.

    Attributes:
        always: Ask the guard everywhere, not only inside watched nonterminals. Needed for vocabularies with a token
            that begins a watched nonterminal and breaks the condition too.
    """

    always: bool

    def start(self) -> Hashable:
        """The state before the first byte."""

    def step(self, state: Hashable, text: bytes) -> Hashable | None:
        """The state after more text, which the grammar allows; None: the guard vetoes the text."""

    def veto(self, state: Hashable, row: NDArray[np.uint32]) -> None:
        """Clear the bits of the tokens that `step` would veto.

        row: uint32[>= ceil(V / 32)], the tokens that the grammar allows; changed in place.
        """


class TokenGuard(Guard, Protocol):
    """A guard that counts tokens, or reads special ones. It reads each token by itself."""

    def step_token(self, state: Hashable, token: int) -> Hashable | None:
        """`step` for a token that does not end the text. `step` reads bytes that are no token, as one token."""
