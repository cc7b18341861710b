"""Masks of matchers whose guard remembers them (`RememberingGuard`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from constrain.masks.engine.rows import Row, checked_row

if TYPE_CHECKING:
    from constrain.languages.guards import RememberingGuard
    from constrain.masks.engine.matcher import Matcher


def fill_remembered(matcher: Matcher, guard: RememberingGuard, row: Row) -> None:
    """`Matcher.fill_mask` of a matcher that has not read an EOS, and has no EOS tokens of its own."""
    now = len(matcher._steps)
    guarded = matcher._guarded  # PERF: mostly the guard has read all steps
    state = guarded[now] if len(guarded) > now else None
    if state is None:
        state = matcher.guard_state()
    known = guard.known_row(state, (matcher._epoch, matcher._states[now]))
    if known is not None:
        try:
            np.copyto(row, known)
        except (TypeError, ValueError):  # the row is longer, or has changed since it was checked
            row = checked_row(row, matcher.compiled.automaton.layout.size)
            row[: len(known)] = known[: len(row)]
            row[len(known) :] = 0
        return
    row = checked_row(row, matcher.compiled.automaton.layout.size)
    matcher.narrow(row, matcher._ask(matcher.compiled.automaton.kernels.fill_mask, row))
    guard.keep_row(state, (matcher._epoch, matcher._states[now]), row)
