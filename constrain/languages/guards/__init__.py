"""Guards: conditions on values that no grammar can express. A guard reads the text too, and vetoes tokens.

A constraint may have a `guard`. Its grammar marks the nonterminals inside which the guard may veto
(`Nonterminal.watched`). Elsewhere the guard is not asked and costs nothing. The states of a guard are immutable, so
forks and rollbacks are free.

takes: the bytes of a text, masks that the grammar allows
gives: masks without the tokens that would break the condition
start reading at: repeats.py
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from constrain.languages.guards.repeats import GuardedText


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

    def reader(self, state: Hashable) -> GuardedText | None:
        """The JSON text under way, and its reader; None: there is none."""


class TokenGuard(Guard, Protocol):
    """A guard that counts tokens, or reads special ones. It reads each token by itself."""

    def step_token(self, state: Hashable, token: int) -> Hashable | None:
        """`step` for a token that does not end the text. `step` reads bytes that are no token, as one token."""


class EndingGuard(Guard, Protocol):
    """A guard that has a say in where a text may end."""

    def may_end(self, state: Hashable) -> bool:
        """True if the text may end, if the grammar allows it."""


class GuardEnds(Protocol):
    """The answers of a guard that doubts at some states whether the grammar leaves anything that it takes.

    A guard that has such states makes them for a grammar: `guard.ends(grammar)`.
    """

    def doubts(self, state: Hashable) -> bool:
        """True if only the grammar knows whether a text goes on."""

    def dead(self, configuration: int, state: Hashable, row: NDArray[np.uint32]) -> list[int]:
        """The tokens of a mask, after `veto`, behind which the grammar and the guard leave nothing.

        configuration, state: Those before the tokens.
        """

    def lives(self, configuration: int, state: Hashable) -> bool:
        """True if the grammar and the guard both go on with a text."""


MaskKey = tuple[int, int, int]


class RememberingGuard(EndingGuard, Protocol):
    """A guard that remembers masks. A mask depends on the guard's state and the configuration alone."""

    def known_row(self, state: Hashable, key: MaskKey) -> NDArray[np.uint32] | None:
        """The mask at a state and (number of the automaton, epoch, configuration), if it was kept."""

    def keep_row(self, state: Hashable, key: MaskKey, row: NDArray[np.uint32]) -> None:
        """Keep a mask."""
