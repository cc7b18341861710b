"""Matcher: follows one sequence and says which tokens may come next, and whether the text so far is complete.

The idea: a matcher is made of layers, each in a file of its own. `Steps` (steps.py) has what was read and asks the
automaton; `GuardedSteps` (guarded.py) asks the guard and the check; `MaskedSteps` (masks.py) writes masks; the matcher
reads tokens and bytes. Each layer knows the ones before it only.
Cost: `advance` is a table look-up for each byte; `fork` copies the history list.
A matcher belongs to one thread at a time. Any number of matchers may run in parallel on one compiled constraint.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError
from constrain.kernels.parser import advance, configurations, forced, spelling
from constrain.kernels.records import arena
from constrain.kernels.records.arena import HEADER
from constrain.kernels.records.configurations import CONFIG, SPELLINGS, is_watched
from constrain.languages.automata.marks import MARK
from constrain.languages.automata.memory import words_of
from constrain.masks.engine.masks import MaskedSteps
from constrain.masks.engine.steps import STATE

if TYPE_CHECKING:
    from constrain.languages.constraints.refusal import Refusal
    from constrain.masks.engine.compiled import CompiledConstraint

WATCH = advance.WATCH
RUN = 64  # forced bytes that are looked for in one call of a kernel
MAX_FORCED = 1 << 16  # tokens or bytes that `forced_tokens` and `forced_bytes` return at most
NO_TEXTS = np.zeros(0, np.int32)


class Matcher(MaskedSteps):
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

    __slots__ = ()

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
            kernels = self._kernels
            # PERF: most steps are known; they need neither the lock nor scratch
            state = kernels.known_step(self._memory.A, self._epoch, self._states[now], token)
            state = state or self._ask(kernels.step, token)
            if state >= WATCH:
                epoch = self._epoch
                if not self.is_clear(token, keep=True):
                    return False
                state = (state if self._epoch == epoch else self._ask(kernels.step, token)) & STATE  # it may flush
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
            Whether some text of the language begins with the text so far and these bytes. If not, the matcher is
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
        if not isinstance(atomic, bool):
            raise ConstrainError(f"atomic must be True or False, not {atomic!r:.60}")
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

    def fork(self) -> Matcher:
        """An independent copy in the same state. Cost: O(steps)."""
        eos_ids = self._eos_ids  # PERF: without the property
        copy = type(self)(self.compiled, None if eos_ids is self._automaton.layout.eos_ids else eos_ids)
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

    def __repr__(self) -> str:
        return f"Matcher({len(self._steps)} steps, {self.text[-40:]!r})"

    # -- questions -----------------------------------------------------------------------------------------------------

    def allows(self, token_id: SupportsIndex) -> bool:
        """True if a token may come next, decided without a mask.

        Raises:
            ConstrainError: The id is not in the vocabulary.
        """
        token = self._token(token_id)
        if self.ended:
            return False
        if token in self._eos_ids:
            return self.is_accepting()
        state = self._ask(self._kernels.step, token)
        return state != arena.NONE and (state < WATCH or self.is_clear(token))

    def explain(self, given: int | str | bytes) -> Refusal | None:
        """Say which layer refuses a token or a text, why, and what it would have allowed.

        Layers are the grammar, the constraint's guards and checks, and the matchers around this one where `generate`
        asks for more: `constrain.explain`.

        Args:
            given: A token id; or a text, which is written token by token as far as that goes.

        Returns:
            None if it may come next; else a `Refusal` with its `layer`. `str` gives it as lines for a person.

        Raises:
            ConstrainError: The id is not in the vocabulary, or the argument is neither an id nor a text.
            LimitError: A step does not fit into the automaton's memory.

        Example:
            >>> import constrain
            >>> vocabulary = constrain.Vocabulary([b"1", b"k", b"m", b"km", None], eos_ids=[4])
            >>> matcher = constrain.compile(constrain.grammar('start: /[0-9]+/ ("km" | "m")'), vocabulary).matcher()
            >>> matcher.advance(0), matcher.explain(3), matcher.explain("km")
            (True, None, None)
            >>> refusal = matcher.explain(4)
            >>> refusal.layer, refusal.because, refusal.expected
            ('grammar', 'the text is not complete', '`0`–`9`, `k`, `m`')
        """
        from constrain.masks.engine.layers import explained

        return explained(self, given)

    def is_finished(self) -> bool:
        """True if an EOS was read, or an EOS can follow and nothing else."""
        return self.ended or (bool(self._ask(configurations.is_complete)) and self._passes())

    def forced_tokens(self) -> list[int]:
        """The tokens that must follow: exactly one token is allowed at each position, and it is not an EOS.

        Returns:
            Token ids, at most 65,536 (`MAX_FORCED`). The matcher does not read them.

        Raises:
            LimitError: A step does not fit into the automaton's memory.
        """
        if self.ended:
            return []
        forced: list[int] = []
        fork = self  # PERF: and no copy where nothing is forced, as nearly everywhere
        while len(forced) < MAX_FORCED:
            token = fork._ask(self._automaton.kernels.forced_token)
            if token < 0 or token in self._eos_ids or token in self._automaton.layout.eos_ids:
                break
            fork = fork if forced else self.fork()
            if not fork.advance(token):  # the guard vetoes the only token: a dead end
                break
            forced.append(token)
        return forced

    def forced_bytes(self, most: int = MAX_FORCED) -> bytes:
        """The bytes that must follow: exactly one byte is possible at each position, and the text is not complete.

        They end where a special token is possible.

        Args:
            most: How many are looked for.

        Returns:
            At most so many bytes. The matcher does not read them.

        Raises:
            LimitError: A step does not fit into the automaton's memory.
        """
        return self.forced_end(operator.index(most))[0]

    def forced_end(self, most: int = MAX_FORCED) -> tuple[bytes, bool]:
        """`forced_bytes`, and False where it is known that something follows them."""
        found, fork = bytearray(), self
        while len(found) < most and not self.ended:
            words, length = fork._forced_run(min(most - len(found), RUN))
            run = words[: length & STATE].astype(np.uint8).tobytes().partition(bytes([MARK]))[0]
            guarded = bool(length & WATCH) and self.compiled.guard is not None
            is_last = len(run) < len(words) or len(found) + len(run) == most
            if (guarded or not is_last) and run:
                fork = self.fork() if fork is self else fork
                if not fork.advance_bytes(run):
                    run = bytes(itertools.takewhile(lambda byte: fork.advance_bytes(bytes([byte])), run))  # noqa: B023
                    is_last = True
            found += run
            if is_last:
                return bytes(found), bool(length & forced.NOTHING_FOLLOWS)
        return bytes(found), True

    def _forced_run(self, most: int) -> tuple[NDArray[np.int32], int]:
        """Words, and what `forced_run` says of the bytes that it has written to them: of `is_forced`, if it was asked
        here before."""
        here, words, length = self._run
        if most == RUN and here == (self._epoch, self._states[len(self._steps)]):
            return words, length
        words = np.empty(most, np.int32)
        return words, self._ask(forced.forced_run, words)

    def forcing(self, texts: NDArray[np.int32] = NO_TEXTS, tokens: NDArray[np.int32] = NO_TEXTS) -> int:
        """Say what restricts the next token beside the mask: FORCED if two bytes or more must follow, as `forced_bytes`
        has them; SPELLING if some tokens spell one of some texts; else NOT_FORCED (kernels/parser/forced.py).

        Args:
            texts: The texts, as BEGINNINGS, always the same ones.
            tokens: The tokens, as SPELLINGS, always the same ones.

        Raises:
            LimitError: A step does not fit into the automaton's memory.
        """
        now = len(self._steps)
        if self._end == now:
            return forced.NOT_FORCED
        known = self._kernels.known_forced(self._memory.A, self._epoch, self._states[now])
        if not known:
            words = np.empty(RUN, np.int32)
            length, known = divmod(self._ask(forced.is_forced, words, texts, tokens), 1 << forced.FORCED_BITS)
            if length:
                self._run = (self._epoch, self._states[now]), words, length
        if known == forced.FORCED_IF_CLEAR:
            is_clear = self.compiled.guard is None or len(self.forced_bytes(2)) == 2
            return forced.FORCED if is_clear else forced.NOT_FORCED
        return known

    def spelling_tokens(self, texts: NDArray[np.int32], tokens: NDArray[np.int32]) -> list[int]:
        """The nodes of some tokens, as SPELLINGS, that spell one of some texts, as BEGINNINGS, if they come next.

        Raises:
            LimitError: A step does not fit into the automaton's memory.
        """
        found = np.empty(tokens[SPELLINGS.COUNT], np.int32)
        return [] if self.ended else found[: self._ask(spelling.spelling_tokens, texts, tokens, found)].tolist()

    def any_byte(self, bits: NDArray[np.int32]) -> bool:
        """True if one of the bytes of a bitmap, int32[8], low bit first, may follow. The guard is not asked.

        Raises:
            LimitError: A step does not fit into the automaton's memory.
        """
        return not self.ended and bool(self._ask(advance.any_byte, bits))

    def is_watched(self) -> bool:
        """True if the constraint's guard, where it has one, is asked about the next token."""
        A, configuration = self._memory.A, self._states[len(self._steps)]
        if A[HEADER.EPOCH] == self._epoch + 1:  # PERF: needs no lock
            return bool(A[configuration + CONFIG.WATCHED] == 2)
        return bool(self.locked(lambda configuration: is_watched(self._memory.A, configuration)))

    @property
    def state(self) -> int:
        """A number for the state: equal numbers of one compiled constraint allow the same continuations.

        States before and after a flush of the automaton cannot be compared (`TokenAutomaton`).
        """
        automaton = self._automaton
        epoch, configuration = self._epoch, self._states[len(self._steps)]
        A = automaton.memory.A
        if A[HEADER.EPOCH] == epoch + 1 and (self.compiled.guard is None or A[configuration + CONFIG.WATCHED] != 2):
            state = epoch << 32 | configuration  # PERF: most often so, and needs no lock
            return ~state if self.ended else state

        def number(configuration: int) -> int:
            if self.compiled.guard is not None and is_watched(automaton.memory.A, configuration):
                return self._epoch << 32 | automaton.known.number(configuration, self.guard_state())
            return self._epoch << 32 | configuration

        state = self.locked(number)
        return ~state if self.ended else state


def reread(compiled: CompiledConstraint, steps: list[int | bytes], eos_ids: tuple[int, ...] | None) -> Matcher:
    """Rebuild a matcher from a pickle, by reading its steps again. Raises ConstrainError."""
    matcher = compiled.make_matcher(eos_ids)
    for step in steps:
        taken = matcher.advance_bytes(step) if isinstance(step, bytes) else matcher.advance(step)
        if not taken:
            raise ConstrainError(
                f"step {step!r} of a pickled matcher is not allowed any more", fix="use equal versions of constrain"
            )
    return matcher
