"""Guards of texts with a prefix: another guard reads the text after it.

The idea: no prefix is a prefix of another, so the text determines which of them it has. The guard of that prefix
reads the text after it, until its value is complete.

Cost: a comparison with each prefix until one is read; then the cost of the other guard.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.errors import UnsatisfiableError
from constrain.languages.automata.decide import AutomatonRun, first_end
from constrain.languages.automata.syntax import Node
from constrain.languages.guards import Guard, GuardEnds, MaskKey
from constrain.languages.guards.repeats import GuardedText
from constrain.languages.guards.token_tables import TokenTables
from constrain.languages.vocab.bits import Row
from constrain.languages.vocab.vocabulary import Vocabulary


class PrefixState(NamedTuple):
    """The state of `Prefixed`.

    Attributes:
        text: The text so far, until its prefix is known.
        run: Where the automaton of a prefix that is a language stands.
        known: Whether the prefix is known.
        guard: The guard of the text after the prefix; None if it has none.
        inner: The state of that guard.
    """

    text: bytes
    run: AutomatonRun | None = None
    known: bool = False
    guard: Guard | None = None
    inner: Hashable = None


class Prefixed(Guard):
    """The guard of texts with one of several prefixes.

    Args:
        texts: Pairs (prefix, guard of the text after it or None). A single prefix may be any member of a regular
            language, none of which begins another.
        vocabulary: The vocabulary.
    """

    def __init__(self, texts: Sequence[tuple[bytes | Node, Guard | None]], vocabulary: Vocabulary) -> None:
        self.texts = texts
        self.always = any(guard is not None and guard.always for _, guard in texts)
        self.tables = TokenTables.of(vocabulary)

    def start(self) -> PrefixState:
        return self.step(PrefixState(b""), b"") or PrefixState(b"")

    def step(self, state: PrefixState, text: bytes) -> PrefixState | None:
        if state.known:
            if state.guard is None:
                return state
            inner = state.guard.step(state.inner, text)
            return None if inner is None else state._replace(inner=inner)
        whole, run = state.text + text, None
        for prefix, guard in self.texts:
            if isinstance(prefix, bytes):
                rest = whole[len(prefix) :] if whole.startswith(prefix) else None
            else:
                run, end = first_end(prefix, state.run, state.text, text)
                rest = text[end:] if end >= 0 else None
            if rest is not None:
                inner = None if guard is None else guard.step(guard.start(), rest)
                return None if guard is not None and inner is None else PrefixState(b"", None, True, guard, inner)
        return PrefixState(whole, run)

    def veto(self, state: PrefixState, row: Row) -> None:
        if state.guard is not None:
            state.guard.veto(state.inner, row)
        elif not state.known and self.always:  # tokens that begin a value and contain a repetition
            self.tables.veto_doubles(row, partial(self.step, state))

    def reader(self, state: PrefixState) -> GuardedText | None:
        return None if state.guard is None else state.guard.reader(state.inner)


class AfterPrefix(Guard):
    """A guard that has already read a prefix, with all that the guard can do besides.

    Args:
        guard: The guard.
        text: The prefix.
        suffix: The text that follows when the text ends, as far as the guard has a say in that.

    Raises:
        UnsatisfiableError: It vetoes the prefix.
    """

    def __init__(self, guard: Guard, text: bytes = b"", suffix: bytes = b"") -> None:
        self.guard = guard
        self.always, self.by_token = guard.always, guard.by_token
        self.ending, self.remembers = guard.ending, guard.remembers
        state = guard.step(guard.start(), text) if text else guard.start()
        if state is None:
            what = "a key or an item occurs twice, or a monitor refuses a name, before the text begins"
            raise UnsatisfiableError(what, fix="correct the prefix")
        self.state = state
        self.suffix = suffix

    def start(self) -> Hashable:
        return self.state

    def step(self, state: Hashable, text: bytes) -> Hashable | None:
        return self.guard.step(state, text)

    def step_token(self, state: Hashable, token: int, text: bytes) -> Hashable | None:
        return self.guard.step_token(state, token, text)

    def veto(self, state: Hashable, row: Row) -> None:
        self.guard.veto(state, row)

    def may_end(self, state: Hashable) -> bool:
        """True if the text may end with its suffix."""
        end = self.guard.step(state, self.suffix) if self.suffix else state
        return end is not None and self.guard.may_end(end)

    def reader(self, state: Hashable) -> GuardedText | None:
        return self.guard.reader(state)

    def ends(self, grammar: Any, may_end: Callable[[Any], bool] | None = None) -> GuardEnds | None:
        return self.guard.ends(grammar, self.may_end if self.suffix and self.ending else may_end)

    def owed(self, state: Hashable) -> list[bytes]:
        return self.guard.owed(state)

    def names(self, state: Hashable) -> list[bytes]:
        return self.guard.names(state)

    def labels(self, state: Hashable) -> NDArray[np.int64] | None:
        return self.guard.labels(state)

    def known_row(self, state: Hashable, key: MaskKey) -> Row | None:
        return self.guard.known_row(state, key)

    def keep_row(self, state: Hashable, key: MaskKey, row: Row) -> None:
        self.guard.keep_row(state, key, row)
