"""A guard for a text that begins with one of some fixed texts, after which another guard takes over.

The idea: none of the fixed texts is the beginning of another, so the text itself tells which of them it is; what comes
after it is read by that one's guard. That guard stops reading where its value is complete.

Cost: a comparison with each fixed text until one is there; then what the other guard costs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from constrain.errors import UnsatisfiableError
from constrain.guards import Guard
from constrain.guards.repeats import TokenTables
from constrain.vocab.vocabulary import Vocabulary


class PrefixState(NamedTuple):
    """text: what was read, until it is known which of the texts it begins with. guard: then whose turn it is, with its
    state; None: nobody's."""

    text: bytes
    known: bool = False
    guard: Guard | None = None
    inner: Hashable = None


class Prefixed:
    """The guard (see `guards.Guard`). texts: (fixed text, the guard that follows it, or None)."""

    def __init__(self, texts: Sequence[tuple[bytes, Guard | None]], vocabulary: Vocabulary) -> None:
        self.texts = texts
        self.always = any(guard is not None and guard.always for _, guard in texts)
        self.tables = TokenTables.of(vocabulary)

    def start(self) -> PrefixState:
        """Nothing was read."""
        return self._begun(b"") or PrefixState(b"")

    def step(self, state: Hashable, text: bytes) -> PrefixState | None:
        """See `Guard`."""
        here = cast(PrefixState, state)
        if here.known:
            if here.guard is None:
                return here
            inner = here.guard.step(here.inner, text)
            return None if inner is None else here._replace(inner=inner)
        return self._begun(here.text + text)

    def _begun(self, text: bytes) -> PrefixState | None:
        """The state after a text from the start; None: vetoed."""
        for fixed, guard in self.texts:
            if text.startswith(fixed):
                if guard is None:
                    return PrefixState(b"", True)
                inner = guard.step(guard.start(), text[len(fixed) :])
                return None if inner is None else PrefixState(b"", True, guard, inner)
        return PrefixState(text)

    def veto(self, state: Hashable, row: NDArray[np.uint32]) -> None:
        """See `Guard`."""
        here = cast(PrefixState, state)
        if here.guard is not None:
            here.guard.veto(here.inner, row)
        elif not here.known and self.always:  # tokens that begin a value and repeat something in it
            for token in self.tables.doubles.within(row):
                if self.step(here, self.tables.tokens[token] or b"") is None:
                    row[token >> 5] &= ~np.uint32(1 << (token & 31))


class AfterPrefix:
    """A guard that has read the beginning of the text. Raises UnsatisfiableError if it vetoes that."""

    def __init__(self, guard: Guard, text: bytes) -> None:
        self.guard = guard
        self.always = guard.always
        state = guard.step(guard.start(), text)
        if state is None:
            raise UnsatisfiableError("a key or an item occurs twice before the text begins", fix="correct the prefix")
        self.state = state

    def start(self) -> Hashable:
        """The state after the beginning."""
        return self.state

    def step(self, state: Hashable, text: bytes) -> Hashable | None:
        """See `Guard`."""
        return self.guard.step(state, text)

    def veto(self, state: Hashable, row: NDArray[np.uint32]) -> None:
        """See `Guard`."""
        self.guard.veto(state, row)
