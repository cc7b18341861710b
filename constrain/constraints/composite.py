"""The base class of constraints that are made of rules with other constraints as parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from constrain.automata.syntax import Ranges, Tokens, token_sets
from constrain.cfg.build import Reading
from constrain.cfg.ebnf import parts_of, terminals_of
from constrain.cfg.rules import Grammar
from constrain.cfg.transform.finished import check_finished
from constrain.constraints.base import Constraint
from constrain.constraints.parts import Branch, branches, guard_of
from constrain.guards import Guard
from constrain.lazily import lazily
from constrain.vocab.vocabulary import Vocabulary


class Composite(Constraint):
    """Base class of constraints that are made of rules, which may have other constraints as parts (`parts.py`).

    Subclasses define `reading`.
    """

    composite = True

    @property
    def reading(self) -> Reading:
        """The rules as read."""
        raise NotImplementedError

    def _build(self) -> Grammar:
        return self.reading.grammar

    @lazily
    def members(self) -> tuple[Constraint, ...]:
        """The parts that are constraints of their own, and not regular."""
        return parts_of(self.reading.rules.values())

    @lazily
    def token_sets(self) -> tuple[Tokens, ...]:
        """The sets of tokens that the rules and the parts mention."""
        found: dict[Tokens, None] = {}
        for part in self.members:
            found |= dict.fromkeys(part.token_sets)
        for terminal in terminals_of(self.reading.rules.values()):
            found |= dict.fromkeys(token_sets(terminal.node))
        return tuple(found)

    @lazily
    def _branches(self) -> list[Branch] | None:
        guarded = any(part.guarded for part in self.members)
        return branches(self.reading.rules, self.reading.start) if guarded else None

    @property
    def report(self) -> list[Any]:
        """The entries of the parts."""
        return [entry for part in self.members for entry in part.report]

    @property
    def residual(self) -> bool:
        """Whether some part has a check, or has a guard and may begin at a place that no fixed text determines."""
        return any(part.residual or (part.guarded and self._branches is None) for part in self.members)

    @property
    def guarded(self) -> bool:
        """Whether fixed texts determine where each guarded part begins."""
        return self._branches is not None

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        """The guard that follows the text into the part where it leads."""
        return None if self._branches is None else guard_of(self._branches, vocabulary)

    def check(self, text: str) -> str | None:
        """None if some derivation of the text passes the checks of all its parts, else one sentence."""
        if not any(part.residual or part.guarded for part in self.members):
            return None
        return check_finished(self.to_grammar(), text)

    def check_marked(self, text: bytes, spans: Mapping[Tokens, Ranges]) -> str | None:
        """`check` for a text with marks of tokens."""
        if not any(part.residual or part.guarded for part in self.members):
            return None
        return check_finished(self.to_grammar(), text, spans)
