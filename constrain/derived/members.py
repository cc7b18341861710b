"""Is a text a member of a constraint? Decided by the engine, byte by byte, without a tokenizer.

Cost: one automaton of bytes for the whole process (`BUDGET` bytes of states at most); linear for most grammars.
"""

from __future__ import annotations

from functools import lru_cache

from constrain.constraints.base import Constraint
from constrain.engine.automaton import TokenAutomaton
from constrain.engine.compiled import CompiledConstraint
from constrain.engine.matcher import Matcher
from constrain.vocab.vocabulary import Vocabulary

BUDGET = 64 << 20


@lru_cache(maxsize=1)
def byte_automaton() -> TokenAutomaton:
    """The automaton of a vocabulary with one token a byte."""
    return TokenAutomaton(byte_vocabulary(), BUDGET)


@lru_cache(maxsize=1)
def byte_vocabulary() -> Vocabulary:
    """One token for each byte, with the byte as its id, and an end of text."""
    return Vocabulary([*(bytes([i]) for i in range(256)), None], eos_ids=[256])


def byte_matcher(constraint: Constraint) -> Matcher:
    """A matcher of bytes at the beginning of a text."""
    return CompiledConstraint(constraint, byte_vocabulary(), byte_automaton()).matcher()


def is_member(constraint: Constraint, text: str) -> bool:
    """Whether the text is in the constraint's language and passes its check."""
    matcher = byte_matcher(constraint)
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting()
