"""What the tests of this room share: grammars, a source made of a grammar, matchers of bytes."""

from __future__ import annotations

from dataclasses import dataclass

from constrain.grammar.rules import Grammar
from constrain.grammar.source import Source
from constrain.guided.members import byte_matcher

JSON = r"""
start: value
value: object | array | STRING | NUMBER | "true" | "false" | "null"
object: "{" [pair ("," pair)*] "}"
pair: STRING ":" value
array: "[" [value ("," value)*] "]"
STRING: /"([^"\\\x00-\x1f]|\\["\\\/bfnrt]|\\u[0-9a-fA-F]{4})*"/
NUMBER: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/
%ignore /[ \t\n]+/
"""

STATEMENTS = r"""
start: statement*
statement: "let" NAME "=" expression ";" | "if" expression "then" statement | NAME "(" expression ")" ";"
expression: expression "+" expression | expression "==" expression | NAME | NUMBER | "(" expression ")"
NAME: /[a-z]+/
NUMBER: /[0-9]+(\.[0-9]+)?/
%ignore " "
"""


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
