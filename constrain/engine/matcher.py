"""A matcher follows one sequence: which tokens may come next, and whether the text so far is complete.

The idea: its whole state is one integer, a configuration of the automaton; the history of those integers is all that
`rollback` and `fork` need. Where the grammar asks for it (WATCH), the constraint's guard reads along and vetoes tokens;
a text that is complete may still have to pass the constraint's check. Both are rare, and cost nothing elsewhere.
Cost: `advance` a table look-up a byte; `fork` copies the history list.
A matcher belongs to one thread at a time; any number of matchers may run in parallel on one compiled constraint.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from constrain.automata.store import BOTTOM, STOPS
from constrain.errors import ConstrainError
from constrain.kernels.masks import fill
from constrain.kernels.masks.fill import fill_mask, known_mask
from constrain.kernels.parser import advance, configurations
from constrain.kernels.records import arena
from constrain.kernels.records.configurations import is_watched

if TYPE_CHECKING:
    from constrain.engine.automaton import TokenAutomaton
    from constrain.engine.compiled import CompiledConstraint

WATCH = advance.WATCH
_STATE = WATCH - 1
MAX_FORCED = 1 << 16  # tokens or bytes that `forced_tokens` and `forced_bytes` give at most
Row = NDArray[np.uint32]


class Matcher:
    """One sequence under a compiled constraint. Steps (`advance`, `advance_bytes`) can be taken back one by one."""

    __slots__ = (
        "compiled", "_always_guarded", "_automaton", "_eos_ids", "_epoch", "_finished", "_guarded", "_passed", "_row",
        "_size", "_states", "_steps",
    )  # fmt: skip

    def __init__(self, compiled: CompiledConstraint) -> None:
        self.compiled = compiled
        self._automaton: TokenAutomaton = compiled.automaton
        self._always_guarded = compiled.always_guarded
        self._eos_ids = self._automaton.eos_ids
        self._size = self._automaton.size
        self._row: Row | None = None  # the latest that was checked
        self._epoch, start = compiled.known_start
        self._steps: list[int | bytes] = []  # what was read: token ids, or bytes
        self._states: list[int] = [start]  # the configuration before each step and after the last
        self._finished = False  # the last step was an EOS
        self._guarded: list[Hashable] = []  # the guard's states before each step; None where it was not asked
        self._passed = (-1, False)  # the constraint's check of the text: after how many steps, its verdict

    # -- reading -------------------------------------------------------------------------------------------------------

    def advance(self, token_id: SupportsIndex) -> bool:
        """Read a token. False, and no change, if it is not allowed here; an EOS is allowed iff the text is complete.

        Raises ConstrainError for an id outside the vocabulary.
        """
        token = token_id if type(token_id) is int and 0 <= token_id < self._size else self._token(token_id)
        if self._finished:
            return False
        if token in self._eos_ids:
            if not self.is_accepting():
                return False
            self._states.append(self._states[-1])
            self._finished = True
        else:
            automaton = self._automaton
            state = 0
            with automaton.lock:  # PERF: `_ask`, written out, for what is known and what is not
                if self._epoch == automaton.epoch:
                    state = automaton.known_step(automaton.A, self._states[-1], token)
                    if not state:
                        automaton.S[0] = BOTTOM
                        try:
                            state = automaton.step(automaton.A, automaton.H, automaton.S, self._states[-1], token)
                        except STOPS as stop:
                            automaton.satisfy(stop)
            state = state or self._ask(advance.advance, token)
            if state >= WATCH:
                if not self._is_clear(token, keep=True):
                    return False
                state &= _STATE
            elif state == arena.NONE:
                return False
            self._states.append(state)
        self._steps.append(token)
        return True

    def advance_bytes(self, text: bytes) -> bool:
        """Read bytes, as one step. False, and no change, if no member begins so."""
        if not isinstance(text, bytes | bytearray):
            raise ConstrainError(f"advance_bytes() takes bytes, not {type(text).__name__}", fix="text.encode()")
        if self._finished:
            return False
        state = self._ask(advance.advance_bytes, _words(text))
        if state == arena.NONE or (state >= WATCH and not self._is_clear(bytes(text), keep=True)):
            return False
        self._states.append(state & _STATE)
        self._steps.append(bytes(text))
        return True

    def rollback(self, n_tokens: int) -> None:
        """Take back the last n steps. Raises ConstrainError, and changes nothing, if there are fewer."""
        if not isinstance(n_tokens, int) or not 0 <= n_tokens <= len(self._steps):
            raise ConstrainError(f"cannot take back {n_tokens!r} of {len(self._steps)} steps")
        if n_tokens:
            del self._steps[-n_tokens:]
            del self._states[-n_tokens:]
            del self._guarded[len(self._states) :]
            self._finished = False
            self._passed = (-1, False)

    def fork(self) -> Matcher:
        """An independent matcher at the same place."""
        copy = Matcher(self.compiled)
        copy._epoch = self._epoch
        copy._steps = self._steps.copy()
        copy._states = self._states.copy()
        copy._finished = self._finished
        copy._guarded = self._guarded.copy()
        copy._passed = self._passed
        return copy

    def __copy__(self) -> Matcher:
        return self.fork()

    def __deepcopy__(self, memo: dict[int, Any]) -> Matcher:
        return self.fork()

    def __reduce__(self) -> tuple[Any, ...]:
        """By compiled constraint and steps, which are read again."""
        return _reread, (self.compiled, self._steps)

    # -- asking --------------------------------------------------------------------------------------------------------

    def fill_mask(self, row: Row) -> None:
        """Write the mask of the next token.

        row: uint32[>= ceil(V / 32)], contiguous, writable (int32 is taken too); low bit first, 1 = allowed. The EOS
        bits are set iff the text is complete; after an EOS nothing is allowed. Raises ConstrainError for another shape
        or dtype.
        """
        automaton = self._automaton
        if row is not self._row:
            self._row = row = _row(row, automaton.size)
        if self._finished:
            row[:] = 0
            return
        found = -1
        with automaton.lock:  # PERF: as in `advance`
            if self._epoch == automaton.epoch:
                try:
                    found = known_mask(automaton.A, self._states[-1], row)
                    if found < 0:
                        automaton.S[0] = BOTTOM
                        found = fill_mask(automaton.A, automaton.H, automaton.S, self._states[-1], row)
                except STOPS as stop:
                    automaton.satisfy(stop)
                except TypeError:  # no kernel takes the row: its flags or shape have changed since it was checked
                    row = _row(row, automaton.size)
        if found < 0:
            found = self._ask(fill.fill_mask, row)
        if found > 0 or self._always_guarded:
            self._narrow(row, found)

    def write_mask(self, row: Row, find: Callable[[int], Row]) -> None:
        """Write a mask as `fill_mask` does, of tokens that are found otherwise: EOS, guard and check are seen to.

        find: (configuration) -> the tokens that may come next, uint32[ceil(V / 32)]; called under the automaton's lock.
        Raises ConstrainError for a row of another shape or dtype.
        """
        automaton = self._automaton
        row = _row(row, automaton.size)
        row[:] = 0
        if self._finished:
            return

        def operation() -> int:
            self._follow()
            here = self._states[-1]
            words = find(here)
            row[: len(words)] = words
            found = fill.IS_WATCHED if is_watched(automaton.A, here) else 0
            return found + (fill.IS_ACCEPTING if automaton.call(configurations.accepts, here) else 0)

        found = automaton.attempt(operation)
        if found & fill.IS_ACCEPTING:
            for token in self._eos_ids:
                row[token >> 5] |= np.uint32(1 << (token & 31))
        if found or self._always_guarded:
            self._narrow(row, found)

    def mask(self) -> Row:
        """The mask of the next token as a read-only row, uint32[ceil(V / 32)], as `fill_mask` writes it.

        The row never changes, and may be kept; matchers in the same state are given the same one, without a copy.
        """
        automaton = self._automaton
        with automaton.lock:
            current = self._epoch == automaton.epoch and not self._finished
            known = automaton.rows.get(self._states[-1]) if current else None
        if known is not None and not self._narrows(known[1]):
            return known[0]
        row = np.zeros((automaton.size + 31) // 32, np.uint32)
        if not self._finished:
            found = self._ask(fill.fill_mask, row)
            if self._narrows(found):
                self._narrow(row, found)
            else:
                automaton.keep_row(self._epoch, self._states[-1], row, found)
        row.flags.writeable = False
        return row

    def allows(self, token_id: SupportsIndex) -> bool:
        """Whether the token may come next; computes no mask. Raises ConstrainError for an id outside the vocabulary."""
        token = self._token(token_id)
        if self._finished:
            return False
        if token in self._automaton.eos_ids:
            return self.is_accepting()
        state = self._ask(advance.advance, token)
        return state != arena.NONE and (state < WATCH or self._is_clear(token))

    def is_accepting(self) -> bool:
        """Whether the text so far is a member of the language."""
        return bool(self._ask(configurations.accepts)) and self._passes()

    def is_finished(self) -> bool:
        """Whether an EOS was read, or nothing but an EOS can follow."""
        return self._finished or bool(self._ask(configurations.is_complete))

    def forced_tokens(self) -> list[int]:
        """The tokens that must follow: as long as exactly one is allowed, and it is not an EOS."""
        if self._finished:
            return []
        forced: list[int] = []
        fork = self.fork()
        while len(forced) < MAX_FORCED:
            token = fork._ask(fill.forced_token)
            if token < 0 or token in self._automaton.eos_ids:
                break
            if not fork.advance(token):  # vetoed: a dead end
                break
            forced.append(token)
        return forced

    def forced_bytes(self) -> bytes:
        """The bytes that must follow: as long as exactly one may, and the text is not complete."""
        if self._finished:
            return b""
        forced = bytearray()
        fork = self.fork()
        while len(forced) < MAX_FORCED:
            byte = fork._ask(advance.forced_byte)
            if byte < 0:
                break
            if not fork.advance_bytes(bytes([byte])):
                break
            forced.append(byte)
        return bytes(forced)

    @property
    def state(self) -> int:
        """Where the matcher is, as a hashable int: equal states of one compiled constraint allow the same texts.

        A state is good until the automaton runs out of memory and forgets (`TokenAutomaton.flush`).
        """

        def operation() -> int:
            self._follow()
            c = self._states[-1]
            if self.compiled.guard is not None and is_watched(automaton.A, c):
                return self._epoch << 32 | automaton.watched_state(c, self._guard_state())
            return self._epoch << 32 | c

        automaton = self._automaton
        state: int = automaton.attempt(operation)
        return ~state if self._finished else state

    @property
    def text(self) -> bytes:
        """The bytes read so far."""
        return b"".join(map(self._bytes, self._steps))

    def __repr__(self) -> str:
        return f"Matcher({len(self._steps)} steps, {self.text[-40:]!r})"

    # -- the guard and the check ---------------------------------------------------------------------------------------

    def _guard_state(self) -> Hashable:
        """The guard's state after the steps so far; it reads what it has not read yet, as one text."""
        guard = self.compiled.guard
        assert guard is not None
        states, now = self._guarded, len(self._steps)
        if len(states) <= now:
            states += [None] * (now + 1 - len(states))
        if states[now] is None:
            known = now
            while known and states[known] is None:
                known -= 1
            if states[known] is None:
                states[known] = guard.start()
            states[now] = guard.step(states[known], b"".join(map(self._bytes, self._steps[known:now])))
        return states[now]

    def _is_clear(self, step: int | bytes, keep: bool = False) -> bool:
        """Whether the guard lets a step pass. keep: it will be taken."""
        guard = self.compiled.guard
        if guard is None:
            return True
        after = guard.step(self._guard_state(), self._bytes(step))
        if after is not None and keep:
            self._guarded.append(after)
        return after is not None

    def _passes(self) -> bool:
        """Whether the text so far, which the grammar accepts, passes the constraint's check."""
        constraint = self.compiled.constraint
        if not constraint.residual:
            return True
        if self._passed[0] != len(self._steps):
            try:
                verdict = constraint.check(self.text.decode()) is None
            except UnicodeDecodeError:
                verdict = False
            self._passed = (len(self._steps), verdict)
        return self._passed[1]

    def _narrows(self, found: int) -> bool:
        """Whether `_narrow` has anything to ask about a mask."""
        compiled = self.compiled
        return bool(
            compiled.always_guarded
            or (found & fill.IS_WATCHED and compiled.guard is not None)
            or (found & fill.IS_ACCEPTING and compiled.constraint.residual)
        )

    def _narrow(self, words: Row, found: int) -> None:
        """Take out of a mask what the guard vetoes, and the EOS if the text does not pass. found: see `fill_mask`."""
        guard = self.compiled.guard
        if guard is not None and (found & fill.IS_WATCHED or guard.always):
            guard.veto(self._guard_state(), words)
        if found & fill.IS_ACCEPTING and not self._passes():
            for token in self._automaton.eos_ids:
                words[token >> 5] &= ~np.uint32(1 << (token & 31))

    def _bytes(self, step: int | bytes) -> bytes:
        return step if isinstance(step, bytes) else self.compiled.vocabulary.tokens[step] or b""

    # -- how -----------------------------------------------------------------------------------------------------------

    def _ask(self, kernel: Any, *arguments: Any) -> int:
        """Run a kernel on the present configuration."""
        automaton = self._automaton
        with automaton.lock:
            if self._epoch == automaton.epoch:  # PERF: most questions end here, so nothing is prepared for the others
                automaton.S[0] = BOTTOM
                try:
                    return kernel(automaton.A, automaton.H, automaton.S, self._states[-1], *arguments)
                except STOPS as stop:
                    automaton.satisfy(stop)

            def operation() -> int:
                self._follow()
                return automaton.call(kernel, self._states[-1], *arguments)

            result: int = automaton.attempt(operation)
            return result

    def _follow(self) -> None:
        """After a flush: find the states again by reading the steps from the start. The caller holds the lock."""
        automaton = self._automaton
        if self._epoch == automaton.epoch:
            return
        states = [self.compiled.start()]
        for step in self._steps:
            if isinstance(step, bytes):
                states.append(automaton.call(advance.advance_bytes, states[-1], _words(step)) & _STATE)
            elif step in automaton.eos_ids:
                states.append(states[-1])
            else:
                states.append(automaton.call(advance.advance, states[-1], step) & _STATE)
        self._states = states
        self._epoch = automaton.epoch

    def _token(self, token_id: SupportsIndex) -> int:
        try:
            token = operator.index(token_id)
        except TypeError:
            raise ConstrainError(f"a token id is an int, not {type(token_id).__name__}") from None
        if not 0 <= token < self._automaton.size:
            raise ConstrainError(f"token id {token} is outside the vocabulary of {self._automaton.size} tokens")
        return token


def _reread(compiled: CompiledConstraint, steps: list[int | bytes]) -> Matcher:
    """The matcher of a pickle."""
    matcher = Matcher(compiled)
    for step in steps:
        taken = matcher.advance_bytes(step) if isinstance(step, bytes) else matcher.advance(step)
        if not taken:
            raise ConstrainError(
                f"step {step!r} of a pickled matcher is not allowed any more", fix="use equal versions of constrain"
            )
    return matcher


def _row(row: Row, size: int) -> Row:
    """A mask row, checked, as uint32 words."""
    need = (size + 31) // 32
    if not isinstance(row, np.ndarray) or row.dtype not in (np.uint32, np.int32):
        found = row.dtype if isinstance(row, np.ndarray) else type(row).__name__
        raise ConstrainError(f"a mask is an array of uint32, not {found}", fix="np.zeros(vocabulary.words, np.uint32)")
    if row.ndim != 1 or row.size < need:
        raise ConstrainError(
            f"a mask row for {size} tokens has {need} words, not shape {row.shape}",
            fix="np.zeros(vocabulary.words, np.uint32)",
        )
    if not row.flags.c_contiguous or not row.flags.writeable:
        raise ConstrainError("a mask row must be contiguous and writable", fix="np.ascontiguousarray(row)")
    return row if row.dtype == np.uint32 else row.view(np.uint32)


def _words(text: bytes) -> NDArray[np.int32]:
    return np.frombuffer(text, np.uint8).astype(np.int32)
