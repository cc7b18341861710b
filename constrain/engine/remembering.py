"""Masks of matchers whose guard remembers them (`RememberingGuard`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain.engine.rows import Row, checked_row

if TYPE_CHECKING:
    from constrain.engine.matcher import Matcher
    from constrain.guards import RememberingGuard


def fill_remembered(matcher: Matcher, guard: RememberingGuard, row: Row) -> None:
    """`Matcher.fill_mask` of a matcher that has not read an EOS, and has no EOS tokens of its own."""
    automaton = matcher.compiled.automaton
    row = checked_row(row, automaton.size)  # its flags or shape may have changed since it was checked
    state = matcher.guard_state()
    known = guard.known_row(state, (matcher._epoch, matcher._states[len(matcher._steps)]))
    if known is not None:
        row[: len(known)] = known
        row[len(known) :] = 0
        return
    matcher.narrow(row, matcher._ask(automaton.fill_mask, row))
    guard.keep_row(state, (matcher._epoch, matcher._states[len(matcher._steps)]), row)
