"""Steps: the tokens and bytes that one sequence has read, with the state after each of them.

The idea: the state of the grammar is one integer, a configuration of the automaton. The history of these integers is
all that `rollback` and `fork` need. After a flush of the automaton it is computed again, by reading the steps again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from constrain.errors import ConstrainError
from constrain.kernels.parser import advance
from constrain.languages.automata.memory import BOTTOM, STOPS, words_of
from constrain.limits import limits_at
from constrain.masks.engine.rows import Row

if TYPE_CHECKING:
    from constrain.masks.engine.compiled import CompiledConstraint

STATE = advance.STATE
TRIES = 3  # of a kernel, before `attempt` runs it, which may forget all states
Result = TypeVar("Result")
NO_RUN = None, None, 0
UNCHECKED: tuple[int, str | None] = (-1, None)  # after no number of steps


class Steps:
    """The steps of one sequence under a compiled constraint.

    Attributes:
        compiled (CompiledConstraint): The constraint, shared with other matchers.
    """

    __slots__ = (
        "compiled", "_always_narrowed", "_automaton", "_checked", "_end", "_eos_ids", "_epoch", "_guarded", "_kernels",
        "_memory", "_remembering", "_row", "_run", "_size", "_states", "_steps",
    )  # fmt: skip

    def __init__(self, compiled: CompiledConstraint, eos_ids: tuple[int, ...] | None = None) -> None:
        """Begin a text. PERF: one for each request, so the layers above have no constructors of their own."""
        self.compiled = compiled
        self._automaton = automaton = compiled.automaton
        self._memory = automaton.memory
        self._kernels = automaton.kernels
        layout = automaton.layout
        self._size = layout.size
        if eos_ids is None:
            self._eos_ids = layout.eos_ids
            self._always_narrowed = compiled.always_guarded
            self._remembering = compiled.remembering
        else:
            self._eos_ids = eos_ids
            self._always_narrowed = True
            self._remembering = None
        self._epoch, start = compiled.known_start
        self._steps: list[int | bytes] = []  # token ids, or bytes
        # The configuration before each step and after the last one. A step counts once it stands in `_steps`: what was
        # written here before it, by a step that was interrupted, is written over.
        self._states: list[int] = [start]
        self._end = -1  # the number of steps after which the text has ended
        self._guarded: list[Hashable] = []  # the guard's states before each step; None where it was not asked
        self._checked = UNCHECKED  # (number of steps, fault) of the last check of the text by the constraint
        self._row: Row | None = None  # the last row for a mask that was checked
        self._run: tuple[Any, ...] = NO_RUN  # where the last question was whether text is forced: the place, the answer

    def take(self, step: int | bytes, state: int) -> None:
        """Note a step that is no EOS, and the configuration after it. For the engine's own modules."""
        now = len(self._steps)
        self._end = -1
        self._states[now + 1 :] = (state,)
        self._steps.append(step)

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
            self._checked = UNCHECKED
            del self._steps[-n_tokens:]
            del self._states[len(self._steps) + 1 :]
            del self._guarded[len(self._states) :]

    @property
    def place(self) -> int:
        """A number for the state of the grammar, of this epoch: what is known of a place can be kept by it."""
        return self._epoch << 32 | self._states[len(self._steps)]

    @property
    def ended(self) -> bool:
        """True if an EOS was read. `is_finished` is also true where only an EOS can follow."""
        return self._end == len(self._steps)

    @property
    def text(self) -> bytes:
        """The bytes that were read so far; EOS and special tokens add none (`Vocabulary.to_bytes` can name them)."""
        return b"".join(map(self._bytes, self._steps))

    @property
    def _own_eos_ids(self) -> tuple[int, ...] | None:
        """The EOS tokens that this matcher was given; None: those of the vocabulary."""
        return None if self._eos_ids is self._automaton.layout.eos_ids else self._eos_ids

    def _token(self, token_id: SupportsIndex) -> int:
        """The token id as an int. Raises ConstrainError."""
        try:
            token = operator.index(token_id)
        except TypeError:
            raise ConstrainError(f"a token id is an int, not {type(token_id).__name__}") from None
        if not 0 <= token < self._size:
            raise ConstrainError(f"token id {token} is outside the vocabulary of {self._size} tokens")
        return token

    def _bytes(self, step: int | bytes) -> bytes:
        """The bytes of a step."""
        if not isinstance(step, bytes) and step in self._eos_ids:
            return b""
        return step if isinstance(step, bytes) else self.compiled.vocabulary.tokens[step] or b""

    # -- the automaton -------------------------------------------------------------------------------------------------

    def _ask(self, kernel: Any, *arguments: Any) -> int:
        """Run a kernel on the current configuration."""
        automaton, memory = self._automaton, self._memory
        with memory.lock:
            memory.begin()
            for _ in range(TRIES):  # PERF: most calls succeed at once, and most others at the second, without a closure
                if self._epoch != automaton.epoch:
                    break
                memory.S[0] = BOTTOM
                try:
                    return kernel(memory.A, memory.H, memory.S, self._states[len(self._steps)], *arguments)
                except STOPS as stop:
                    with limits_at(self._place):
                        automaton.satisfy(stop)
            return self.locked(lambda configuration: memory.call(kernel, configuration, *arguments))

    def locked(self, operation: Callable[[int], Result]) -> Result:
        """Run an operation on the current configuration under the automaton's lock; again if it runs out of memory."""

        def attempt() -> Result:
            self._follow()
            return operation(self._states[len(self._steps)])

        with limits_at(self._place):
            return self._automaton.attempt(attempt)

    def _place(self) -> str:
        """The place in the text, for the message of a limit."""
        return f"the text after {len(self._steps)} steps\n{self.text[-40:]!r}"

    def _follow(self) -> None:
        """After a flush, compute the states again by reading the steps from the start. The caller holds the lock."""
        automaton, memory = self._automaton, self._memory
        if self._epoch == automaton.epoch:
            return
        states = [self.compiled.start()]
        for step in self._steps:
            memory.begin()  # a text has no limit, but each of its steps
            if isinstance(step, bytes):
                states.append(memory.call(advance.advance_bytes, states[-1], words_of(step)) & STATE)
            elif step in self._eos_ids:
                states.append(states[-1])
            else:
                states.append(memory.call(self._kernels.step, states[-1], step) & STATE)
        self._states, self._epoch = states, automaton.epoch
