"""MaskedSteps: writes the masks of the tokens that may come next in a sequence.

The idea: a kernel writes the mask of the grammar (kernels/masks). The guard removes tokens from it where the grammar is
watched, and the check the EOS tokens where the text is complete.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from constrain.kernels.masks import fill
from constrain.kernels.parser import configurations
from constrain.kernels.records.configurations import is_watched
from constrain.languages.vocab.bits import clear_bits, set_bits
from constrain.masks.engine.guarded import GuardedSteps
from constrain.masks.engine.rows import Row, checked_row


class MaskedSteps(GuardedSteps):
    """The steps of one sequence, with the masks of what may follow."""

    __slots__ = ()

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
        if row is not self._row:
            self._row = row = checked_row(row, self._size)
        now = len(self._steps)
        if self._end == now:
            row[:] = 0
            return
        if self._remembering is not None:
            self._fill_remembered(row)
            return
        try:  # PERF: most masks are known; they need neither the lock nor scratch
            flags = self._kernels.known_mask(self._memory.A, self._epoch, self._states[now], row)
        except TypeError:  # the flags or the shape of the row have changed since it was checked
            row, flags = checked_row(row, self._size), -1
        if flags < 0:
            flags = self._ask(self._kernels.fill_mask, row)
        if flags > 0 or self._always_narrowed:
            self.narrow(row, flags)

    def mask(self) -> Row:
        """The mask of the tokens that may come next, in the format of `fill_mask`.

        Returns:
            uint32[ceil(V / 32)], read-only. It never changes and may be kept; matchers in the same state share it.

        Raises:
            LimitError: The mask does not fit into the automaton's memory.
        """
        known, now = self._automaton.known, len(self._steps)
        if known.epoch == self._epoch and self._end != now:
            cached = known.masks.get(self._states[now])
            if cached is not None and not self._narrows(cached[1]):
                return cached[0]
        row = np.zeros((self._size + 31) // 32, np.uint32)
        if not self.ended and self._remembering is not None:
            self._fill_remembered(row)
        elif not self.ended:
            flags = self._ask(self._kernels.fill_mask, row)
            if self._narrows(flags):
                self.narrow(row, flags)
            else:  # the mask may have taken a flush
                self._automaton.known.keep_mask(self._epoch, self._states[now], row, flags)
        row.flags.writeable = False
        return row

    def write_mask(self, row: Row, find: Callable[[int], Row]) -> None:
        """Write a mask like `fill_mask`, with the tokens that a function computes. EOS, guard and check are added here.

        For the completion package. find: configuration -> the tokens that may come next, uint32[ceil(V / 32)]; called
        under the automaton's lock. Raises ConstrainError for a row of another shape or dtype.
        """
        row = checked_row(row, self._size)
        row[:] = 0
        if self.ended:
            return

        def write(configuration: int) -> int:
            words = find(configuration)
            row[: len(words)] = words
            watched = fill.IS_WATCHED if is_watched(self._memory.A, configuration) else 0
            return watched + (fill.IS_ACCEPTING if self._memory.call(configurations.accepts, configuration) else 0)

        flags = self.locked(write)
        if flags & fill.IS_ACCEPTING:
            set_bits(row, self._automaton.layout.eos_ids)
        if flags or self._always_narrowed:
            self.narrow(row, flags)

    def _fill_remembered(self, row: Row) -> None:
        """`fill_mask` for a guard that remembers masks, of a text without an EOS and without EOS tokens of its own."""
        guard, now = self._remembering, len(self._steps)
        assert guard is not None
        guarded = self._guarded  # PERF: mostly the guard has read all steps
        state = guarded[now] if len(guarded) > now else None
        if state is None:
            state = self.guard_state()
        key = self._automaton.number, self._epoch, self._states[now]
        known = guard.known_row(state, key)
        if known is not None:
            try:
                np.copyto(row, known)
            except (TypeError, ValueError):  # the row is longer, or has changed since it was checked
                row = checked_row(row, self._size)
                row[: len(known)] = known[: len(row)]
                row[len(known) :] = 0
            return
        row = checked_row(row, self._size)
        self.narrow(row, self._ask(self._kernels.fill_mask, row))
        guard.keep_row(state, key, row)

    def _narrows(self, flags: int) -> bool:
        """True if `narrow` may change a mask. flags: the result of the kernel `fill_mask`."""
        watched = flags & fill.IS_WATCHED and self.compiled.guard is not None
        checked = flags & fill.IS_ACCEPTING and self.compiled.constraint.residual
        return bool(self._always_narrowed or watched or checked)

    def vetoes_all(self) -> bool:
        """True if the grammar goes on with tokens, and the guard with none of them."""
        row = np.zeros((self._size + 31) // 32, np.uint32)
        self._ask(self._kernels.fill_mask, row)
        return bool(row.any()) and not self.mask().any()

    def narrow(self, row: Row, flags: int) -> None:
        """Remove the tokens that the guard vetoes from a mask, and the EOS tokens if the text fails its check.

        The kernel knows the vocabulary's EOS tokens only: those of a matcher of its own are set here.
        """
        guard = self.compiled.guard
        if guard is not None and (flags & fill.IS_WATCHED or guard.always):
            self._veto(guard, row)
        ends = flags & fill.IS_ACCEPTING and self._passes()
        usual = self._automaton.layout.eos_ids
        if not ends or self._eos_ids is not usual:
            clear_bits(row, usual)
            clear_bits(row, self._eos_ids)
            if ends:
                set_bits(row, self._eos_ids)
