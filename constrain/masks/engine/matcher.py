"""Matcher: follows one sequence and says which tokens may come next, and whether the text so far is complete.

The idea: the state is one integer, a configuration of the automaton. The history of these integers is all that
`rollback` and `fork` need. Where the grammar requires it (WATCH), the constraint's guard reads the text too and vetoes
tokens; a complete text may still have to pass the constraint's check. Both are rare, and cost nothing elsewhere.
Cost: `advance` is a table look-up for each byte; `fork` copies the history list.
A matcher belongs to one thread at a time. Any number of matchers may run in parallel on one compiled constraint.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

import numpy as np

from constrain.errors import ConstrainError
from constrain.kernels.masks import fill
from constrain.kernels.parser import advance, configurations
from constrain.kernels.records import arena
from constrain.kernels.records.configurations import is_watched
from constrain.languages.automata.marks import MARK
from constrain.languages.automata.memory import BOTTOM, STOPS
from constrain.languages.vocab.bits import clear_bits, set_bits
from constrain.languages.vocab.marked import with_places
from constrain.limits import limits_at
from constrain.masks.engine.known_states import NO_MASK
from constrain.masks.engine.lookahead import doubted, lives_after, veto_ahead
from constrain.masks.engine.pickled import reread
from constrain.masks.engine.remembering import fill_remembered
from constrain.masks.engine.rows import Row, checked_row, words_of

if TYPE_CHECKING:
    from constrain.languages.automata.syntax import Ranges, Tokens
    from constrain.languages.cfg.transform.captures import Capture
    from constrain.masks.engine.automaton import TokenAutomaton
    from constrain.masks.engine.compiled import CompiledConstraint

WATCH, STATE = advance.WATCH, advance.STATE
MAX_FORCED = 1 << 16  # tokens or bytes that `forced_tokens` and `forced_bytes` return at most
Result = TypeVar("Result")
_UNCHECKED: tuple[int, str | None] = (-1, None)  # after no number of steps


class Matcher:
    """One sequence under a compiled constraint. Made by `CompiledConstraint.matcher`.

    Each call of `advance` or `advance_bytes` is one step, and `rollback` undoes steps. A matcher can be pickled: it is
    rebuilt by reading its steps again.

    Attributes:
        compiled (CompiledConstraint): The constraint, shared with other matchers.

    Example:
        >>> import constrain
        >>> vocabulary = constrain.Vocabulary([b"y", b"es", b"no", b"x", None], eos_ids=[4])
        >>> matcher = constrain.compile(constrain.choices(["yes", "no"]), vocabulary).matcher()
        >>> [token for token in range(5) if matcher.allows(token)]
        [0, 2]
        >>> matcher.advance(0), matcher.advance(3), matcher.text
        (True, False, b'y')
        >>> matcher.forced_tokens(), matcher.is_accepting()
        ([1], False)
        >>> matcher.advance(1), matcher.is_accepting(), matcher.advance(4)
        (True, True, True)
    """

    __slots__ = (
        "compiled", "_always_narrowed", "_automaton", "_checked", "_end", "_eos_ids", "_epoch", "_guarded",
        "_remembering", "_row", "_size", "_states", "_steps",
    )  # fmt: skip

    def __init__(self, compiled: CompiledConstraint, eos_ids: tuple[int, ...] | None = None) -> None:
        self.compiled = compiled
        self._automaton: TokenAutomaton = compiled.automaton
        self._always_narrowed = compiled.always_guarded or eos_ids is not None
        self._remembering = compiled.remembering if eos_ids is None else None
        self._eos_ids = self._automaton.layout.eos_ids if eos_ids is None else eos_ids
        self._size = self._automaton.layout.size
        self._row: Row | None = None  # the last row that was checked
        self._epoch, start = compiled.known_start
        self._steps: list[int | bytes] = []  # token ids, or bytes
        # The configuration before each step and after the last one. A step counts once it stands in `_steps`: what was
        # written here before it, by a step that was interrupted, is written over.
        self._states: list[int] = [start]
        self._end = -1  # the number of steps after which the text has ended
        self._guarded: list[Hashable] = []  # the guard's states before each step; None where it was not asked
        self._checked = _UNCHECKED  # (number of steps, fault) of the last check of the text by the constraint

    # -- reading -------------------------------------------------------------------------------------------------------

    def advance(self, token_id: SupportsIndex) -> bool:
        """Read a token.

        Args:
            token_id: A token id of the vocabulary. An EOS is allowed if and only if the text is complete.

        Returns:
            Whether the token is allowed. If not, the matcher is unchanged.

        Raises:
            ConstrainError: The id is not in the vocabulary.
            LimitError: The step does not fit into the automaton's memory.
        """
        token = token_id if type(token_id) is int and 0 <= token_id < self._size else self._token(token_id)
        now = len(self._steps)
        if self._end == now:
            return False
        if token in self._eos_ids:
            if not self.is_accepting():
                return False
            state = self._states[now]
            self._end = now + 1
        else:
            automaton = self._automaton
            # PERF: most steps are known; they need neither the lock nor scratch
            state = automaton.kernels.known_step(automaton.memory.A, self._epoch, self._states[now], token)
            state = state or self._ask(automaton.kernels.step, token)
            if state >= WATCH:
                epoch = self._epoch
                if not self.is_clear(token, keep=True):
                    return False
                state = (
                    state if self._epoch == epoch else self._ask(automaton.kernels.step, token)
                ) & STATE  # it may flush
            elif state == arena.NONE:
                return False
            self._end = -1  # it may be of steps that were taken back
        self._states[now + 1 :] = (state,)
        self._steps.append(token)
        return True

    def advance_bytes(self, text: bytes) -> bool:
        """Read bytes as one step. They may end inside a token or a character.

        Args:
            text: Any number of bytes.

        Returns:
            Whether some member of the language begins with the text so far and these bytes. If not, the matcher is
            unchanged.

        Raises:
            ConstrainError: `text` is not `bytes` or `bytearray`.
            LimitError: The step does not fit into the automaton's memory.
        """
        if not isinstance(text, bytes | bytearray):
            raise ConstrainError(f"advance_bytes() takes bytes, not {type(text).__name__}", fix="text.encode()")
        if self.ended or MARK in text:
            return False
        state, epoch = self._ask(advance.advance_bytes, words_of(text)), self._epoch
        if state == arena.NONE or (state >= WATCH and not self.is_clear(bytes(text), keep=True)):
            return False
        state = state if self._epoch == epoch else self._ask(advance.advance_bytes, words_of(text))  # as in `advance`
        self.take(bytes(text), state & STATE)
        return True

    def take(self, step: int | bytes, state: int) -> None:
        """Note a step that is no EOS, and the configuration after it. For the engine's own rooms."""
        now = len(self._steps)
        self._end = -1
        self._states[now + 1 :] = (state,)
        self._steps.append(step)

    def advance_tokens(self, token_ids: Iterable[SupportsIndex], *, atomic: bool = False) -> int:
        """Read tokens, one step each, up to the first that is not allowed.

        Args:
            token_ids: Token ids, such as proposals of a draft model.
            atomic: Read all of them or none.

        Returns:
            How many were read. 0 if `atomic` and one of them is not allowed.

        Raises:
            ConstrainError: An id is not in the vocabulary. Then the tokens before it were read, or none if `atomic`.
            LimitError: A step does not fit into the automaton's memory.

        Example:
            >>> import constrain
            >>> matcher = constrain.compile(constrain.regex("ab+"), constrain.Vocabulary.of_bytes()).matcher()
            >>> matcher.advance_tokens(b"abx", atomic=True), matcher.advance_tokens(b"abx"), matcher.text
            (0, 2, b'ab')
        """
        if not isinstance(token_ids, Iterable):
            raise ConstrainError(f"advance_tokens() takes token ids, not {token_ids!r:.60}", fix="advance(id)")
        before = len(self._steps)
        try:
            complete = all(map(self.advance, token_ids))
        except BaseException:
            if atomic:
                self.rollback(len(self._steps) - before)
            raise
        if atomic and not complete:
            self.rollback(len(self._steps) - before)
        return len(self._steps) - before

    def rollback(self, n_tokens: int) -> None:
        """Undo steps.

        Args:
            n_tokens: The number of steps to undo, from the last one backwards. A call of `advance_bytes` is one step.

        Raises:
            ConstrainError: There are fewer steps. The matcher is unchanged.
        """
        if not isinstance(n_tokens, int) or not 0 <= n_tokens <= len(self._steps):
            raise ConstrainError(f"cannot take back {n_tokens!r} of {len(self._steps)} steps")
        if n_tokens:
            self._checked = _UNCHECKED
            del self._steps[-n_tokens:]
            del self._states[len(self._steps) + 1 :]
            del self._guarded[len(self._states) :]

    def fork(self) -> Matcher:
        """An independent copy at the same place. Cost: O(steps)."""
        copy = Matcher(self.compiled, self._own_eos_ids)
        copy._epoch = self._epoch
        copy._steps = self._steps.copy()
        copy._states = self._states.copy()
        copy._end = self._end
        copy._guarded = self._guarded.copy()
        copy._checked = self._checked
        return copy

    def __copy__(self) -> Matcher:
        return self.fork()

    def __deepcopy__(self, memo: dict[int, Any]) -> Matcher:
        return self.fork()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the compiled constraint and the steps; the steps are read again."""
        return reread, (self.compiled, self._steps, self._own_eos_ids)

    # -- questions -----------------------------------------------------------------------------------------------------

    def fill_mask(self, row: Row) -> None:
        """Write the mask of the tokens that may come next.

        Args:
            row: uint32[>= ceil(V / 32)], contiguous and writable, int32 too: an array, or a tensor of torch in the
                memory of the CPU. Bit `i & 31` of word `i >> 5` is 1 if token i is allowed. The bits of EOS tokens
                are 1 if and only if the text is complete. After an EOS no token is allowed.

        Raises:
            ConstrainError: The row has another shape or dtype.
            LimitError: The mask does not fit into the automaton's memory.
        """
        automaton = self._automaton
        if row is not self._row:
            self._row = row = checked_row(row, automaton.layout.size)
        now = len(self._steps)
        if self._end == now:
            row[:] = 0
            return
        if self._remembering is not None:
            fill_remembered(self, self._remembering, row)
            return
        try:
            flags = automaton.kernels.known_mask(
                automaton.memory.A, self._epoch, self._states[now], row
            )  # PERF: as in `advance`
        except TypeError:  # the flags or the shape of the row have changed since it was checked
            row, flags = checked_row(row, automaton.layout.size), -1
        if flags < 0:
            flags = self._ask(automaton.kernels.fill_mask, row)
        if flags > 0 or self._always_narrowed:
            self.narrow(row, flags)

    def write_mask(self, row: Row, find: Callable[[int], Row]) -> None:
        """Write a mask like `fill_mask`, with the tokens that a function computes. EOS, guard and check are added here.

        For the completion room. find: configuration -> the tokens that may come next, uint32[ceil(V / 32)]; called
        under the automaton's lock. Raises ConstrainError for a row of another shape or dtype.
        """
        automaton = self._automaton
        row = checked_row(row, automaton.layout.size)
        row[:] = 0
        if self.ended:
            return

        def write(configuration: int) -> int:
            words = find(configuration)
            row[: len(words)] = words
            watched = fill.IS_WATCHED if is_watched(automaton.memory.A, configuration) else 0
            return watched + (fill.IS_ACCEPTING if automaton.memory.call(configurations.accepts, configuration) else 0)

        flags = self.locked(write)
        if flags & fill.IS_ACCEPTING:
            set_bits(row, self._automaton.layout.eos_ids)
        if flags or self._always_narrowed:
            self.narrow(row, flags)

    def mask(self) -> Row:
        """The mask of the tokens that may come next, in the format of `fill_mask`.

        Returns:
            uint32[ceil(V / 32)], read-only. It never changes and may be kept; matchers in the same state share it.

        Raises:
            LimitError: The mask does not fit into the automaton's memory.
        """
        automaton = self._automaton
        known = automaton.known
        if known.epoch == self._epoch and not self.ended:
            cached, flags = known.masks.get(self._states[len(self._steps)], NO_MASK)
            if cached.size and not self._narrows(flags):
                return cached
        row = np.zeros((automaton.layout.size + 31) // 32, np.uint32)
        if not self.ended and self._remembering is not None:
            fill_remembered(self, self._remembering, row)
        elif not self.ended:
            flags = self._ask(automaton.kernels.fill_mask, row)
            if self._narrows(flags):
                self.narrow(row, flags)
            else:
                automaton.known.keep_mask(self._epoch, self._states[len(self._steps)], row, flags)
        row.flags.writeable = False
        return row

    def allows(self, token_id: SupportsIndex) -> bool:
        """Whether a token may come next, decided without a mask.

        Raises:
            ConstrainError: The id is not in the vocabulary.
        """
        token = self._token(token_id)
        if self.ended:
            return False
        if token in self._eos_ids:
            return self.is_accepting()
        state = self._ask(self._automaton.kernels.step, token)
        return state != arena.NONE and (state < WATCH or self.is_clear(token))

    def is_accepting(self) -> bool:
        """Whether the text so far is a member of the language and passes the constraint's check."""
        return bool(self._ask(configurations.accepts)) and self._passes()

    @property
    def ended(self) -> bool:
        """Whether an EOS was read. `is_finished` is also true where only an EOS can follow."""
        return self._end == len(self._steps)

    def is_finished(self) -> bool:
        """Whether an EOS was read, or an EOS can follow and nothing else."""
        return self.ended or (bool(self._ask(configurations.is_complete)) and self._passes())

    @property
    def fault(self) -> str | None:
        """What the constraint's check says of the text so far, if the grammar accepts it; else None."""
        return self._fault() if self._ask(configurations.accepts) else None

    def forced_tokens(self) -> list[int]:
        """The tokens that must follow: exactly one token is allowed at each place, and it is not an EOS.

        Returns:
            Token ids, at most 65,536 (`MAX_FORCED`). The matcher does not read them.

        Raises:
            LimitError: A step does not fit into the automaton's memory.
        """
        if self.ended:
            return []
        forced: list[int] = []
        fork = self.fork()
        while len(forced) < MAX_FORCED:
            token = fork._ask(self._automaton.kernels.forced_token)
            if token < 0 or token in self._eos_ids or token in self._automaton.layout.eos_ids:
                break
            if not fork.advance(token):  # the guard vetoes the only token: a dead end
                break
            forced.append(token)
        return forced

    def forced_bytes(self) -> bytes:
        """The bytes that must follow: exactly one byte is possible at each place, and the text is not complete.

        They end where a special token is possible.

        Returns:
            At most 65,536 bytes (`MAX_FORCED`). The matcher does not read them.

        Raises:
            LimitError: A step does not fit into the automaton's memory.
        """
        if self.ended:
            return b""
        forced = bytearray()
        fork = self.fork()
        while len(forced) < MAX_FORCED:
            byte = fork._ask(advance.forced_byte)
            if byte < 0 or byte == MARK:
                break
            if not fork.advance_bytes(bytes([byte])):
                break
            forced.append(byte)
        return bytes(forced)

    @property
    def temperature(self) -> float | None:
        """The temperature that the grammar's rules ask for the next token, `rule[temperature=0.7]`; None: none does.

        Where the text tells of several rules that the token may begin in, it is the highest of theirs; of rules inside
        of each other, that of the innermost.

        Example:
            >>> import constrain
            >>> text = constrain.grammar('start: "A" name\\nname[temperature=0.5]: /[a-z]+/')
            >>> matcher = constrain.compile(text, constrain.Vocabulary.of_bytes()).matcher()
            >>> matcher.temperature, matcher.advance(ord("A")), matcher.temperature
            (None, True, 0.5)
        """
        followed = self.compiled.followed
        return None if followed is None or self.ended else followed.temperature(self.guard_state())

    @property
    def state(self) -> int:
        """A number for the state: equal numbers of one compiled constraint allow the same continuations.

        States before and after a flush of the automaton cannot be compared (`TokenAutomaton`).
        """
        automaton = self._automaton

        def number(configuration: int) -> int:
            if self.compiled.guard is not None and is_watched(automaton.memory.A, configuration):
                return self._epoch << 32 | automaton.known.number(configuration, self.guard_state())
            return self._epoch << 32 | configuration

        state = self.locked(number)
        return ~state if self.ended else state

    @property
    def text(self) -> bytes:
        """The bytes that were read so far; EOS and special tokens add none (`Vocabulary.to_bytes` can name them)."""
        return b"".join(map(self._bytes, self._steps))

    def __repr__(self) -> str:
        return f"Matcher({len(self._steps)} steps, {self.text[-40:]!r})"

    # -- the guard and the check ---------------------------------------------------------------------------------------

    def guard_state(self) -> Hashable:
        """The guard's state after the steps so far. The guard reads all steps that it has not read yet at once."""
        guard: Any = self.compiled.guard
        states, now = self._guarded, len(self._steps)
        if len(states) <= now:
            states += [None] * (now + 1 - len(states))
        if states[now] is None:
            known = now
            while known and states[known] is None:
                known -= 1
            if states[known] is None:
                states[known] = guard.start()
            if self.compiled.by_token:
                for place in range(known, now):
                    states[place + 1] = self._read(states[place], self._steps[place])
            else:
                states[now] = guard.step(states[known], b"".join(map(self._bytes, self._steps[known:now])))
        return states[now]

    def _read(self, state: Hashable, step: int | bytes) -> Hashable | None:
        """The guard's state after a step; None: the guard vetoes it."""
        guard: Any = self.compiled.guard
        by_token = self.compiled.by_token and not isinstance(step, bytes) and step not in self._eos_ids
        after: Hashable | None = guard.step_token(state, step) if by_token else guard.step(state, self._bytes(step))
        return after

    def is_clear(self, step: int | bytes, keep: bool = False) -> bool:
        """Whether the guard allows a step that the grammar allows, and some text after it. keep: it will be taken."""
        guard = self.compiled.guard
        if guard is None:
            return True
        after = self._read(self.guard_state(), step)
        if after is None or (doubted(guard, after) is not None and not lives_after(self, step, after)):
            return False
        if keep:
            self._guarded[len(self._steps) + 1 :] = (after,)
        return True

    def _passes(self) -> bool:
        """Whether the text so far, which the grammar accepts, passes the constraint's check, and its guard's."""
        ending = self.compiled.ending
        return self._fault() is None and (ending is None or ending.may_end(self.guard_state()))

    def _fault(self) -> str | None:
        """What the constraint's check says of the text so far, which the grammar accepts. Asked once for each text."""
        constraint = self.compiled.constraint
        if not constraint.residual:
            return None
        if self._checked[0] != len(self._steps):
            try:
                if self._automaton.layout.spans:
                    fault = constraint.check_marked(self._marked_text(), self._read_spans())
                else:
                    fault = constraint.check(self.text.decode())
            except UnicodeDecodeError:
                fault = "the text is not UTF-8"
            self._checked = (len(self._steps), fault)
        return self._checked[1]

    def captures(self) -> list[Capture]:
        """What the constraint's rules with a capture derived in the text so far (`Constraint.captures`).

        Returns:
            The captures in the order in which they end; none if the text so far is not a member.
        """
        return self.compiled.constraint.captures_marked(self._marked_text(), self._read_spans())

    def _marked_text(self) -> bytes:
        """The bytes that were read so far, with the marks of special tokens."""
        tokens = self._automaton.vocabulary.tokens
        return b"".join(step if isinstance(step, bytes) else tokens[step] or b"" for step in self._steps)

    def _read_spans(self) -> Mapping[Tokens, Ranges]:
        """The ids of the mentioned sets of tokens; with the places of tokens that may be read as text or as tokens."""
        automaton = self._automaton
        if not automaton.layout.offset:
            return automaton.layout.spans
        return with_places(automaton.layout.spans, self._steps, automaton.vocabulary.tokens, self.compiled.vocabulary)

    def _narrows(self, flags: int) -> bool:
        """Whether `narrow` may change a mask. flags: the result of the kernel `fill_mask`."""
        watched = flags & fill.IS_WATCHED and self.compiled.guard is not None
        checked = flags & fill.IS_ACCEPTING and self.compiled.constraint.residual
        return bool(self._always_narrowed or watched or checked)

    def narrow(self, words: Row, flags: int) -> None:
        """Remove the tokens that the guard vetoes from a mask, and the EOS tokens if the text fails its check.

        The kernel knows the vocabulary's EOS tokens only: those of a matcher of its own are set here.
        """
        guard = self.compiled.guard
        if guard is not None and (flags & fill.IS_WATCHED or guard.always):
            veto_ahead(self, guard, self.guard_state(), words)
        ends = bool(flags & fill.IS_ACCEPTING) and self._passes()
        if not ends or self._own_eos_ids is not None:
            clear_bits(words, self._automaton.layout.eos_ids)
            clear_bits(words, self._eos_ids)
        if ends and self._own_eos_ids is not None:
            set_bits(words, self._eos_ids)

    @property
    def _own_eos_ids(self) -> tuple[int, ...] | None:
        """The EOS tokens that this matcher was given; None: those of the vocabulary."""
        return None if self._eos_ids is self._automaton.layout.eos_ids else self._eos_ids

    def _bytes(self, step: int | bytes) -> bytes:
        if not isinstance(step, bytes) and step in self._eos_ids:
            return b""
        return step if isinstance(step, bytes) else self.compiled.vocabulary.tokens[step] or b""

    # -- the automaton -------------------------------------------------------------------------------------------------

    def _ask(self, kernel: Any, *arguments: Any) -> int:
        """Run a kernel on the current configuration."""
        automaton = self._automaton
        with automaton.memory.lock:
            if self._epoch == automaton.epoch:  # PERF: most calls succeed at once, without a closure
                automaton.memory.S[0] = BOTTOM
                automaton.memory.begin()
                try:
                    return kernel(
                        automaton.memory.A,
                        automaton.memory.H,
                        automaton.memory.S,
                        self._states[len(self._steps)],
                        *arguments,
                    )
                except STOPS as stop:
                    automaton.satisfy(stop)
            return self.locked(lambda configuration: automaton.memory.call(kernel, configuration, *arguments))

    def locked(self, operation: Callable[[int], Result]) -> Result:
        """Run an operation on the current configuration under the automaton's lock; again if it runs out of memory."""

        def attempt() -> Result:
            self._follow()
            return operation(self._states[len(self._steps)])

        with limits_at(lambda: f"the text after {len(self._steps)} steps\n{self.text[-40:]!r}"):
            return self._automaton.attempt(attempt)

    def _follow(self) -> None:
        """After a flush, compute the states again by reading the steps from the start. The caller holds the lock."""
        automaton = self._automaton
        if self._epoch == automaton.epoch:
            return
        states = [self.compiled.start()]
        for step in self._steps:
            automaton.memory.begin()  # a text has no limit, but each of its steps
            if isinstance(step, bytes):
                states.append(automaton.memory.call(advance.advance_bytes, states[-1], words_of(step)) & STATE)
            elif step in self._eos_ids:
                states.append(states[-1])
            else:
                states.append(automaton.memory.call(automaton.kernels.step, states[-1], step) & STATE)
        self._states, self._epoch = states, automaton.epoch

    def _token(self, token_id: SupportsIndex) -> int:
        try:
            token = operator.index(token_id)
        except TypeError:
            raise ConstrainError(f"a token id is an int, not {type(token_id).__name__}") from None
        if not 0 <= token < self._automaton.layout.size:
            raise ConstrainError(f"token id {token} is outside the vocabulary of {self._automaton.layout.size} tokens")
        return token
