"""Guards of texts with a fixed prefix: another guard reads the text after it.

The idea: no fixed prefix is a prefix of another, so the text determines which of them it has. The guard of that prefix
reads the text after it, until its value is complete.

Cost: a comparison with each prefix until one is read; then the cost of the other guard.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from constrain.errors import UnsatisfiableError
from constrain.languages.automata.decide import AutomatonRun, first_end
from constrain.languages.automata.syntax import Node
from constrain.languages.guards import Guard
from constrain.languages.guards.repeats import GuardedText
from constrain.languages.guards.token_tables import TokenTables
from constrain.languages.vocab.vocabulary import Vocabulary


class PrefixState(NamedTuple):
    """The state of `Prefixed`.

    Attributes:
        text: The text so far, until its prefix is known.
        known: Whether the prefix is known.
        guard: The guard of the text after the prefix; None if it has none.
        inner: The state of that guard.
    """

    text: bytes
    known: bool = False
    guard: Guard | None = None
    inner: Hashable = None


class Prefixed:
    """A `Guard` of texts with one of several prefixes.

    Attributes:
        texts: Pairs (prefix, guard of the text after it or None).
        always: See `Guard`.
    """

    def __init__(self, texts: Sequence[tuple[bytes, Guard | None]], vocabulary: Vocabulary) -> None:
        self.texts = texts
        self.always = any(guard is not None and guard.always for _, guard in texts)
        self.tables = TokenTables.of(vocabulary)

    def start(self) -> PrefixState:
        return self._start_state(b"") or PrefixState(b"")

    def step(self, state: Hashable, text: bytes) -> PrefixState | None:
        state = cast(PrefixState, state)
        if state.known:
            if state.guard is None:
                return state
            inner = state.guard.step(state.inner, text)
            return None if inner is None else state._replace(inner=inner)
        return self._start_state(state.text + text)

    def _start_state(self, text: bytes) -> PrefixState | None:
        """The state after a text from the beginning; None: it is vetoed."""
        for fixed, guard in self.texts:
            if text.startswith(fixed):
                if guard is None:
                    return PrefixState(b"", True)
                inner = guard.step(guard.start(), text[len(fixed) :])
                return None if inner is None else PrefixState(b"", True, guard, inner)
        return PrefixState(text)

    def veto(self, state: Hashable, row: NDArray[np.uint32]) -> None:
        state = cast(PrefixState, state)
        if state.guard is not None:
            state.guard.veto(state.inner, row)
        elif not state.known and self.always:  # tokens that begin a value and contain a repetition
            self.tables.veto_doubles(row, partial(self.step, state))

    def reader(self, state: Hashable) -> GuardedText | None:
        state = cast(PrefixState, state)
        return None if state.guard is None else state.guard.reader(state.inner)


class PatternState(NamedTuple):
    """The state of `AfterPattern`.

    Attributes:
        text: The text so far, while it is no member of the pattern.
        run: Where its automaton stands (`decide.Run`).
        inner: Then the state of the other guard.
    """

    text: bytes
    run: AutomatonRun | None
    inner: Hashable = None


class AfterPattern:
    """A `Guard` of texts that begin with a member of a regular language, none of which begins another.

    Attributes:
        pattern: The language.
        guard: The guard of the text after the member.
        always: See `Guard`.
    """

    def __init__(self, pattern: Node, guard: Guard, vocabulary: Vocabulary) -> None:
        self.pattern = pattern
        self.guard = guard
        self.always = guard.always
        self.tables = TokenTables.of(vocabulary)

    def start(self) -> PatternState:
        return PatternState(b"", None)

    def step(self, state: Hashable, text: bytes) -> PatternState | None:
        state = cast(PatternState, state)
        if state.inner is None:
            run, end = first_end(self.pattern, state.run, state.text, text)
            if end < 0:
                return PatternState(state.text + text, run)
            state, text = PatternState(b"", None, self.guard.start()), text[end:]
        inner = self.guard.step(state.inner, text)
        return None if inner is None else state._replace(inner=inner)

    def veto(self, state: Hashable, row: NDArray[np.uint32]) -> None:
        state = cast(PatternState, state)
        if state.inner is not None:
            self.guard.veto(state.inner, row)
        elif self.always:  # tokens that begin a value and contain a repetition
            self.tables.veto_doubles(row, partial(self.step, state))

    def reader(self, state: Hashable) -> GuardedText | None:
        state = cast(PatternState, state)
        return None if state.inner is None else self.guard.reader(state.inner)


class AfterPrefix:
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
        self.always = guard.always
        state = guard.step(guard.start(), text) if text else guard.start()
        if state is None:
            what = "a key or an item occurs twice, or a monitor refuses a name, before the text begins"
            raise UnsatisfiableError(what, fix="correct the prefix")
        self.state = state
        self.suffix = suffix
        if suffix and hasattr(guard, "may_end"):
            self.may_end = self._may_end
            if hasattr(guard, "ends"):
                self.ends = lambda grammar: cast(Any, guard).ends(grammar, self._may_end)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "guard":
            raise AttributeError(name)
        return getattr(self.guard, name)  # only if the guard has it

    def _may_end(self, state: Hashable) -> bool:
        """`EndingGuard.may_end`, of the text with its suffix."""
        end = self.guard.step(state, self.suffix)
        return end is not None and bool(cast(Any, self.guard).may_end(end))

    def start(self) -> Hashable:
        return self.state

    def step(self, state: Hashable, text: bytes) -> Hashable | None:
        return self.guard.step(state, text)

    def veto(self, state: Hashable, row: NDArray[np.uint32]) -> None:
        self.guard.veto(state, row)

    def reader(self, state: Hashable) -> GuardedText | None:
        return self.guard.reader(state)
