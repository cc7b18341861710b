"""What the tests of this room share: a source made of a grammar, matchers of bytes."""

from __future__ import annotations

from dataclasses import dataclass

from constrain.grammar.rules import Grammar
from constrain.grammar.source import Source
from constrain.guided.members import byte_matcher


@dataclass(frozen=True)
class Made(Source):
    """A source for a grammar made by hand."""

    made: Grammar

    def to_grammar(self) -> Grammar:
        return self.made

    def __repr__(self) -> str:
        return "made by hand"


def reads(source: Source, text: str) -> tuple[bool, bool]:
    """(is it a beginning of a member, is it one) as the engine says."""
    matcher = byte_matcher(source)
    alive = matcher.advance_bytes(text.encode())
    return alive, alive and matcher.is_accepting()
