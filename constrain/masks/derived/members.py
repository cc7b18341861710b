"""Membership in a constraint, decided by the engine byte by byte, without a tokenizer.

Cost: one automaton of bytes for the whole process, at most `BUDGET` bytes; linear in the text for most grammars.
"""

from __future__ import annotations

from functools import lru_cache

from constrain.languages.constraints.base import Constraint
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled import CompiledConstraint
from constrain.masks.engine.matcher import Matcher

BUDGET = 64 << 20


@lru_cache(maxsize=1)
def byte_automaton() -> TokenAutomaton:
    """The automaton of the vocabulary with one token for each byte."""
    return TokenAutomaton(Vocabulary.of_bytes(), BUDGET)


def byte_matcher(constraint: Constraint) -> Matcher:
    """A matcher of bytes at the beginning of a text."""
    return CompiledConstraint(constraint, Vocabulary.of_bytes(), byte_automaton()).matcher()


def is_member(constraint: Constraint, text: str) -> bool:
    """True if the text is in the constraint's language and passes its check."""
    matcher = byte_matcher(constraint)
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting()
