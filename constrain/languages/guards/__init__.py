"""Guards: conditions on values that no grammar can express. A guard reads the text too, and vetoes tokens.

A constraint may have a `guard`. Its grammar marks the nonterminals inside which the guard may veto
(`Nonterminal.watched`). Elsewhere the guard is not asked and costs nothing. The states of a guard are immutable, so
forks and rollbacks are free. A guard is a subclass of `Guard`, which has an answer to every question but three.

takes: the bytes of a text, masks that the grammar allows
gives: masks without the tokens that would break the condition
start reading at: repeats.py
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from constrain.languages.guards.repeats import GuardedText

MaskKey = tuple[int, int, int]


class Guard:
    """A recogniser of texts beside the grammar, and the base class of all: `start`, `step` and `veto` are its own.

    Attributes:
        always: Ask the guard everywhere, not only inside watched nonterminals. Needed for vocabularies with a token
            that begins a watched nonterminal and breaks the condition too.
        by_token: It counts tokens, or reads special ones, so it reads each token by itself (`step_token`).
        ending: It has a say in where a text may end (`may_end`).
        remembers: It remembers masks, which depend on its state and the configuration alone (`known_row`).
        layer: The name of what refuses tokens here, and the reason, as `explain` tells them.
    """

    always = by_token = ending = remembers = False
    layer: tuple[str, str] = ("region", "the guard of the piece of text that stands here refuses it")

    def start(self) -> Hashable:
        """The state before the first byte."""
        raise NotImplementedError

    def step(self, state: Any, text: bytes) -> Hashable | None:
        """The state after more text, which the grammar allows; None: the guard vetoes the text.

        A guard that reads tokens takes the text for one token.
        """
        raise NotImplementedError

    def veto(self, state: Any, row: NDArray[np.uint32]) -> None:
        """Clear the bits of the tokens that `step` would veto.

        row: uint32[>= ceil(V / 32)], the tokens that the grammar allows; changed in place.
        """
        raise NotImplementedError

    def step_token(self, state: Any, token: int, text: bytes) -> Hashable | None:
        """`step` for a token that does not end the text. text: Its bytes."""
        return self.step(state, text)

    def may_end(self, state: Any) -> bool:
        """True if the text may end, if the grammar allows it."""
        return True

    def temperature(self, state: Any) -> float | None:
        """The temperature at which the next token is drawn; None: that of the whole text."""
        return None

    def reader(self, state: Any) -> GuardedText | None:
        """The JSON text under way, and its reader; None: there is none."""
        return None

    # -- for looking ahead ---------------------------------------------------------------------------------------------

    def ends(self, grammar: Any, may_end: Callable[[Any], bool] | None = None) -> GuardEnds | None:
        """The ends that the guard and a grammar allow, as far as the guard has doubts; None: it never has one.

        may_end: of the text, if that is not for the guard alone to say.
        """
        return None

    def owed(self, state: Any) -> list[bytes]:
        """Texts that settle what a text owes, as far as the guard knows some."""
        return []

    def names(self, state: Any) -> list[bytes]:
        """The rests of the names that may stand next, the shortest first; none where any may."""
        return []

    def labels(self, state: Any) -> NDArray[np.int64] | None:
        """int64[>= V]: tokens with equal labels leave the same to be completed; None: not known."""
        return None

    # -- for guards that remember masks --------------------------------------------------------------------------------

    def known_row(self, state: Any, key: MaskKey) -> NDArray[np.uint32] | None:
        """The mask at a state and (number of the automaton, epoch, configuration), if it was kept."""
        return None

    def keep_row(self, state: Any, key: MaskKey, row: NDArray[np.uint32]) -> None:
        """Keep a mask."""


class Before(NamedTuple):
    """The place before the last step of a text, a token or some bytes, and its bytes. state: of the guard."""

    configuration: int
    state: Any
    token: bytes


class GuardEnds(Protocol):
    """The answers of a guard that doubts at some states whether the grammar leaves anything that it takes."""

    def doubts(self, state: Any) -> bool:
        """True if only the grammar knows whether a text goes on."""

    def dead(self, configuration: int, state: Any, row: NDArray[np.uint32]) -> list[int]:
        """The tokens of a mask, after `veto`, behind which the grammar and the guard leave nothing.

        configuration, state: Those before the tokens.
        """

    def lives(self, configuration: int, state: Any, before: Before | None = None) -> bool:
        """True if the grammar and the guard both go on with a text. before: the place before its last step: then the
        answer is that of the mask there."""
