"""GuardedSteps: asks the constraint's guard and its check about the text that a sequence has read.

The idea: where the grammar requires it (WATCH), the guard reads the text too and vetoes tokens; a complete text may
still have to pass the constraint's check. Both are rare, and cost nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from constrain.kernels.parser import advance, configurations
from constrain.languages.automata.memory import words_of
from constrain.languages.guards import Before, Guard
from constrain.languages.vocab.marked import with_places
from constrain.masks.engine.rows import Row
from constrain.masks.engine.steps import STATE, Steps

if TYPE_CHECKING:
    from constrain.languages.automata.syntax import Ranges, Tokens
    from constrain.languages.cfg.transform.captures import Capture


class GuardedSteps(Steps):
    """The steps of one sequence, as the guard and the check of the constraint see them."""

    __slots__ = ()

    # -- the guard -----------------------------------------------------------------------------------------------------

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
                for i in range(known, now):
                    states[i + 1] = self._guard_step(states[i], self._steps[i])
            else:
                states[now] = guard.step(states[known], b"".join(map(self._bytes, self._steps[known:now])))
        return states[now]

    def _guard_step(self, state: Hashable, step: int | bytes) -> Hashable | None:
        """The guard's state after a step; None: the guard vetoes it."""
        guard: Any = self.compiled.guard
        text = self._bytes(step)
        by_token = self.compiled.by_token and not isinstance(step, bytes) and step not in self._eos_ids
        after: Hashable | None = guard.step_token(state, step, text) if by_token else guard.step(state, text)
        return after

    def is_clear(self, step: int | bytes, keep: bool = False) -> bool:
        """True if the guard allows a step that the grammar allows, and some text after it. keep: it will be taken."""
        guard = self.compiled.guard
        if guard is None:
            return True
        after = self._guard_step(self.guard_state(), step)
        if after is None or not self._lives_after(step, after):
            return False
        if keep:
            self._guarded[len(self._steps) + 1 :] = (after,)
        return True

    def _lives_after(self, step: int | bytes, state: Hashable) -> bool:
        """True if the text has a completion after a step that its grammar allows, whatever its tokens.

        state: the guard's after the step.
        """
        lookahead, memory = self.compiled.lookahead, self._memory
        inner, last = self.compiled.inner_state(state), self.compiled.inner_state(self.guard_state())
        if lookahead is None or not lookahead.doubts(inner):
            return True
        kernel: Any = advance.advance_bytes if isinstance(step, bytes) else self._kernels.step
        argument: Any = words_of(step) if isinstance(step, bytes) else step

        def look(configuration: int) -> bool:
            before = Before(configuration, last, self._bytes(step))
            return lookahead.lives(lambda: memory.call(kernel, configuration, argument) & STATE, inner, before)

        return self.locked(look)

    def _veto(self, guard: Guard, row: Row) -> None:
        """Remove the tokens from a mask that the guard vetoes, and those after which it vetoes all that the grammar
        leaves. guard: the constraint's; row: the tokens that the grammar allows, changed in place."""
        state, lookahead = self.guard_state(), self.compiled.lookahead
        if lookahead is None:  # of rules that are followed, and nothing else
            guard.veto(state, row)
        else:
            lookahead.narrow(guard, state, self.compiled.inner_state(state), row, self.locked, self.is_clear)

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
        guard: Any = self.compiled.guard
        return None if self.compiled.followed is None or self.ended else guard.temperature(self.guard_state())

    # -- the check of a complete text ----------------------------------------------------------------------------------

    def is_accepting(self) -> bool:
        """True if the text so far is in the language and passes the constraint's check."""
        return bool(self._ask(configurations.accepts)) and self._passes()

    @property
    def fault(self) -> str | None:
        """The fault that the constraint's check finds in the text so far, if the grammar accepts it; else None."""
        return self._fault() if self._ask(configurations.accepts) else None

    def captures(self) -> list[Capture]:
        """The texts that rules with a capture derived in the text so far (`Constraint.captures`).

        Returns:
            The captures in the order in which they end; none if the text so far is not in the language.
        """
        return self.compiled.constraint.captures_marked(self._marked_text(), self._read_spans())

    def _passes(self) -> bool:
        """True if the text so far, which the grammar accepts, passes the constraint's check, and its guard's."""
        ending = self.compiled.ending
        return (ending is None or ending.may_end(self.guard_state())) and self._fault() is None

    def _fault(self) -> str | None:
        """The fault that the constraint's check finds in the text so far, which the grammar accepts. Asked once for
        each text."""
        constraint = self.compiled.constraint
        if not constraint.residual:
            return None
        if self._checked[0] != len(self._steps):
            try:
                if self._automaton.layout.spans:
                    fault = constraint.residual_fault_marked(self._marked_text(), self._read_spans())
                else:
                    fault = constraint.residual_fault(self.text.decode())
            except UnicodeDecodeError:
                fault = "the text is not UTF-8"
            self._checked = (len(self._steps), fault)
        return self._checked[1]

    def _marked_text(self) -> bytes:
        """The bytes that were read so far, with the marks of special tokens."""
        tokens = self._automaton.vocabulary.tokens
        return b"".join(step if isinstance(step, bytes) else tokens[step] or b"" for step in self._steps)

    def _read_spans(self) -> Mapping[Tokens, Ranges]:
        """The ids of the mentioned sets of tokens, with the positions of tokens that may be read in two ways."""
        layout = self._automaton.layout
        if not layout.offset:
            return layout.spans
        return with_places(layout.spans, self._steps, layout.vocabulary.tokens, self.compiled.vocabulary)
