"""Stop sequences as a part of the language: the text ends where the first of them is complete.

    constrain.generate(model, prompt, grammar=..., stop=["\\n\\n", "###"])

The idea: with stop sequences s the texts are those of L, and w s for w in L, in which no stop sequence ends before the
end: an intersection with a regular language. So masks know that nothing can follow a stop sequence, even in the middle
of a token, and that a text of L must not run over one.

Exact for regular constraints and for grammars under `lexer="dynamic"` (GrammarError under "greedy"). A guard of the
constraint
does not read along here: repeated keys and items are checked on the finished text (`report` says so).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from constrain.automata.syntax import (
    ANY_CHAR,
    ANY_TEXT,
    EPSILON,
    Node,
    alternate,
    complement,
    concat,
    intersect,
    literal,
    literals,
)
from constrain.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.cfg.transform.product import product
from constrain.constraints.base import Constraint
from constrain.constraints.report import Entry
from constrain.derived.members import is_member
from constrain.derived.triggered import start_of
from constrain.errors import ConstrainError


@dataclass(frozen=True)
class Stopped(Constraint):
    """Texts of `inner`, or of `inner` and a stop sequence, that end where a stop sequence is first complete."""

    inner: Constraint
    stops: tuple[str, ...]

    @cached_property
    def _ends(self) -> Node:
        """No stop sequence is followed by anything."""
        return complement(concat(ANY_TEXT, literals(self.stops), ANY_CHAR, ANY_TEXT))

    @cached_property
    def node(self) -> Node | None:
        """The language, if that of the inner constraint is known to be regular."""
        if self.inner.node is None:
            return None
        return intersect(concat(self.inner.node, alternate(EPSILON, literals(self.stops))), self._ends)

    def _build(self) -> Grammar:
        if self.node is not None:
            return super()._build()
        start = start_of(self.inner)
        stopped = [[start, Terminal(literal(stop), repr(stop), literal=True)] for stop in self.stops]
        alternatives: list[list[Symbol]] = [[start], *stopped]
        return product(Grammar(Nonterminal("start", lambda: alternatives)), self._ends)

    def cut(self, text: str) -> tuple[str, str]:
        """(the text without the stop sequence that ended it, that sequence); "" where none did."""
        for stop in sorted(self.stops, key=len, reverse=True):
            if text.endswith(stop) and is_member(self.inner, text[: len(text) - len(stop)]):
                return text[: len(text) - len(stop)], stop
        return text, ""

    @property
    def residual(self) -> bool:
        """Whether a finished text counts only if it passes `check`."""
        return self.inner.residual or self.inner.guarded

    def check(self, text: str) -> str | None:
        """What the inner constraint says of the text without its stop sequence."""
        return self.inner.check(self.cut(text)[0])

    @property
    def report(self) -> list[Any]:
        """The entries of the inner constraint, and what is checked afterwards."""
        note = "with stop sequences repeated keys and items are checked on the finished text"
        return [*self.inner.report, *([Entry("(guard)", "$", "residual", note)] if self.inner.guarded else [])]

    def __getattr__(self, name: str) -> Any:
        if name == "parse":  # only where the inner constraint has values
            parse = self.inner.parse  # type: ignore[attr-defined]
            return lambda text: parse(self.cut(text)[0])
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"stopped({self.inner!r}, {list(self.stops)!r})"


def stopped(constraint: Constraint, stop: Any) -> Stopped:
    """A constraint whose texts end at the first of the stop sequences. stop: a text, or several.

    Raises ConstrainError for what is no stop sequence, GrammarError for a recursive constraint with lexer="greedy".
    """
    stops = (stop,) if isinstance(stop, str) else tuple(stop) if isinstance(stop, list | tuple) else (stop,)
    for each in stops:
        if not isinstance(each, str) or not each or any("\ud800" <= character <= "\udfff" for character in each):
            raise ConstrainError(f"a stop sequence is a text that is not empty, not {each!r:.60}", fix='stop="\\n\\n"')
    if not stops:
        raise ConstrainError("stop is an empty list", fix="leave it out, or name the sequences that end a text")
    found = Stopped(constraint, tuple(dict.fromkeys(stops)))
    found.to_grammar()  # read now: a fault belongs to this line, not to a later one
    return found
