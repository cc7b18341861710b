"""What a matcher is in the middle of: which lexemes, which rules. For units of a text that are larger than a token.

The idea: a configuration is a set of pairs (parser state, lexer state); a pair that has read something is a lexeme in
progress, known by the parser state it began in. The items of a parser state, and of the states where their rules
began, are the rules in progress.

Cost: `open_rules` visits the parser states that are still open, in Python. Limits: numbers of one epoch of the
automaton cannot be compared with those of another; a rule counts as open once its first lexeme may have ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from constrain.engine.matcher import Matcher
from constrain.kernels.records import view
from constrain.kernels.records.grammars import NONTERMINAL

Result = TypeVar("Result")


def lexemes(matcher: Matcher) -> tuple[frozenset[int], frozenset[int]]:
    """(begun, all): the parser states in which lexemes began that have read something, and all that may go on."""

    def pairs() -> tuple[frozenset[int], frozenset[int]]:
        words = _pairs(matcher)
        return frozenset(w >> 1 for w in words if not w & 1), frozenset(w >> 1 for w in words)

    return _under_lock(matcher, pairs)


def open_rules(matcher: Matcher) -> frozenset[str]:
    """Names of the rules that have begun and not ended, in any reading of the text."""

    def names() -> frozenset[str]:
        automaton = matcher._automaton
        found: set[int] = set()
        pending = [word >> 1 for word in _pairs(matcher)]
        seen = set(pending)
        while pending:
            state = pending.pop()
            items = view.items(automaton.A, state).tolist()
            found.update(lhs for lhs, _, _ in items)
            fresh = {origin for _, _, origin in items if origin} - seen
            seen |= fresh
            pending.extend(fresh)
        return frozenset(automaton._names[int(automaton.A[lhs + NONTERMINAL.NUMBER])] for lhs in found)

    return _under_lock(matcher, names)


def _pairs(matcher: Matcher) -> list[int]:
    """2 · parser state + fresh, of every pair of the configuration."""
    begun: list[int] = view.pairs(matcher._automaton.A, matcher._states[-1])[:, 0].tolist()
    return begun


def _under_lock(matcher: Matcher, operation: Callable[[], Result]) -> Result:
    def follow() -> Result:
        matcher._follow()
        return operation()

    result: Result = matcher._automaton.attempt(follow)
    return result
