"""A text with several holes: what the first may become, so that some filling of all makes a member.

The idea: the grammar is projected onto its first gap (projection.py); long texts before and after all holes are read by
the engine first (quotients). So masks are exact although the text behind the hole has holes of its own. When the first
hole is filled, its text is part of the prefix of the next one; the last is an ordinary `between`.

Three things are decided on the whole text, when the last hole is filled: the deferred checks of a schema, repetitions
behind a hole, and maximal munch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from constrain.errors import LimitError
from constrain.gaps.projection import first_gap
from constrain.languages.cfg.rules import Grammar
from constrain.languages.constraints.report import ReportLine
from constrain.masks.derived.holes import Continuation
from constrain.masks.derived.quotient import left_quotient, right_quotient

LONG = 200  # characters; longer texts before the first or after the last hole are read by the engine


@dataclass(frozen=True)
class FirstHole(Continuation):
    """The texts w such that prefix + w + after[0] + x + after[1] + … is a member of `inner` for some texts x, …"""

    after: tuple[str, ...]

    def _build(self) -> Grammar:
        grammar, after = self.inner.as_dynamic(), list(self.after)
        if grammar.closing:
            return first_gap(grammar, self.prefix, after)
        if len(after[-1]) > LONG:
            grammar, after[-1] = right_quotient(grammar, after[-1]), ""
        return self._watched(self._first_gap(grammar, after))

    def _first_gap(self, grammar: Grammar, after: list[str]) -> Grammar:
        """With a short text before it, the tables of the grammar serve for all texts."""
        if len(self.prefix) <= LONG:
            try:
                return first_gap(grammar, self.prefix, after)
            except LimitError:  # with the text read, the grammar may be smaller
                if not self.prefix:
                    raise
        return first_gap(left_quotient(grammar, self.prefix), "", after)

    @property
    def report(self) -> list[Any]:
        """The entries of the inner constraint, and what is left to the last hole."""
        return [*self.inner.report, ReportLine("(holes)", "$", "residual", "the whole is checked with its last hole")]

    def __repr__(self) -> str:
        return f"between({self.inner!r}, a text with {len(self.after)} holes)"
