"""Helpers of the tests of derived constraints and completions: a constraint made of a grammar, matchers of bytes."""

from __future__ import annotations

from dataclasses import dataclass

from constrain.languages.cfg.rules import Grammar
from constrain.languages.constraints.base import Constraint
from constrain.masks.derived.members import byte_matcher


@dataclass(frozen=True)
class Made(Constraint):
    """A constraint for a grammar made by hand."""

    made: Grammar

    def to_grammar(self) -> Grammar:
        return self.made

    def __repr__(self) -> str:
        return "made by hand"


def reads(constraint: Constraint, text: str) -> tuple[bool, bool]:
    """(is it a beginning of a member, is it one) as the engine says."""
    matcher = byte_matcher(constraint)
    alive = matcher.advance_bytes(text.encode())
    return alive, alive and matcher.is_accepting()
