"""`constrain.json_string`: a JSON string whose value is a text of another constraint.

    constrain.seq('{"query": ', constrain.json_string(query), "}")

The idea: between the quotes stands a part that is read apart, through its escapes (masks/engine/regions/escapes.py). So
a grammar with a lexer of its own, and a monitor, see the text that the string means.

Source: RFC 8259, section 7.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

from constrain.errors import ConstrainError
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.ebnf import Part, Sequence
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.constraints.base import Constraint, refuse_tokens
from constrain.languages.constraints.combinators import Combined, expression_of, shown_call
from constrain.languages.constraints.parts import start_of
from constrain.lazily import lazily

CONTENT = r'(?:[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u[0-9a-fA-F]{4})*'


@dataclass(frozen=True)
class EscapedText(Constraint):
    """The texts between the quotes of JSON strings whose values are texts of `inner`. Made by `json_string`."""

    inner: Constraint

    def _build(self) -> Grammar:
        self.inner.to_grammar()  # errors are raised here
        text = Terminal(self.outline, self._shown())
        return Grammar(Nonterminal("start", lambda: [[text]]))

    @lazily
    def outline(self) -> Node:
        """The texts that may stand between quotes."""
        return parse_python(CONTENT)

    @property
    def members(self) -> tuple[Constraint, ...]:
        """The constraint on the value."""
        return (self.inner,)

    @lazily
    def outlined(self) -> bool:
        """True: its grammar knows the escapes only."""
        return True

    @lazily
    def residual(self) -> bool:
        """True if the value has a check."""
        return self.inner.residual

    @property
    def report(self) -> list[Any]:
        """The entries of the constraint on the value."""
        return self.inner.report

    def part_fault(self, text: str) -> str | None:
        """The fault of the value that a text means; None: it is a member."""
        try:
            value = json.loads(f'"{text}"')
        except ValueError as error:
            return f"no JSON string: {error}"
        return self.inner.part_fault(value)

    def __repr__(self) -> str:
        return f"json_string({self.inner!r})"


def json_string(constraint: Constraint) -> Constraint:
    """A JSON string, with its quotes, whose value is a text of a constraint.

    Escapes stand where JSON needs them, and for characters that are not ASCII.

    Args:
        constraint: The constraint on the value, of any kind that mentions no tokens.

    Returns:
        A constraint.

    Raises:
        ConstrainError: It is no constraint.
        GrammarError: It counts or mentions tokens.

    Example:
        >>> import constrain
        >>> call = constrain.seq('{"lines": ', constrain.json_string(constrain.regex("([a-z]+\\n)+")), "}")
        >>> call.accepts('{"lines": "one\\\\ntwo\\\\n"}'), call.accepts('{"lines": "one"}')
        (True, False)
    """
    if not isinstance(constraint, Constraint):
        raise ConstrainError(
            f"json_string() takes a constraint, not {type(constraint).__name__}",
            fix="wrap it: constrain.regex(...), .grammar(...) or .choices([...])",
        )
    refuse_tokens(constraint, "cannot be the value of a string")
    escaped = EscapedText(constraint)
    quote = expression_of('"')
    expression = Sequence((quote, Part(escaped, start_of(escaped)), quote))
    return Combined(expression, partial(shown_call, "json_string", (constraint,)))
