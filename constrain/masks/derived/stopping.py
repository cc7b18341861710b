"""Stop sequences as part of the language: a text ends where a stop sequence is first complete.

    constrain.generate(model, prompt, grammar=..., stop=["\\n\\n", "###"])

The idea: the texts are the members w of L, and w s for a stop sequence s, such that no stop sequence ends before the
end of the text. That is an intersection with a regular language. So masks know that nothing can follow a stop sequence,
even in the middle of a token, and that a member of L must not contain one earlier.

Exact for regular constraints and for grammars under `lexer="dynamic"` (GrammarError under "greedy"). The guard of the
constraint reads the stop sequence too, and does not mind it: a member stands before it, whose values are complete.
Where a guard counts the characters of the member, each stop sequence stands behind a part that is read apart: the
members in which, with it behind them, no other one ends before (`_by_stop`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from constrain.errors import ConstrainError, GrammarError
from constrain.languages.automata.quotient import right_quotient
from constrain.languages.automata.syntax import (
    EPSILON,
    Node,
    Ranges,
    Tokens,
    alternate,
    complement,
    concat,
    intersect,
    literal,
    literals,
)
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
from constrain.languages.cfg.free_text import going_on
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.product import product
from constrain.languages.constraints.around import Around
from constrain.languages.constraints.base import Constraint, refuse_monitors, refuse_tokens
from constrain.languages.constraints.combinators import alt, seq
from constrain.languages.constraints.regular import Regular
from constrain.languages.guards import Guard
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import lazily
from constrain.masks.derived.members import is_member, is_refused
from constrain.masks.derived.triggered import start_of


@dataclass(frozen=True)
class Stopped(Around):
    """The members of `inner`, maybe followed by a stop sequence, that contain no earlier stop sequence.

    Attributes:
        inner: The constraint on the text before the stop sequence.
        stops: The stop sequences.
    """

    inner: Constraint
    stops: tuple[str, ...]

    @lazily
    def _ends(self) -> Node:
        """The texts in which nothing follows a stop sequence."""
        return complement(going_on(self.stops))

    @lazily
    def node(self) -> Node | None:
        if self.inner.node is None:
            return None
        return intersect(concat(self.inner.node, alternate(EPSILON, literals(self.stops))), self._ends)

    @lazily
    def _by_stop(self) -> Constraint | None:
        """The same texts, one part for each stop sequence and for none; None: the member is not read apart."""
        if not self.inner.read_apart:
            return None
        before = [Regular(right_quotient(self._ends, stop) if stop else self._ends) for stop in ("", *self.stops)]
        return alt(*(seq(self.inner & node, stop) for node, stop in zip(before, ("", *self.stops), strict=True)))

    @lazily
    def outlined(self) -> bool:
        return self.inner.outlined if self._by_stop is None else self._by_stop.outlined

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        return (self.inner if self._by_stop is None else self._by_stop).guard(vocabulary)

    def _build(self) -> Grammar:
        if self._by_stop is not None:
            return self._by_stop.to_grammar()
        if self.node is not None:
            return super()._build()
        start = start_of(self.inner)
        stopped = [[start, Terminal(literal(stop), repr(stop), literal=True)] for stop in self.stops]
        alternatives: list[list[Symbol]] = [[start], *stopped]
        return product(Grammar(Nonterminal("start", lambda: alternatives)), self._ends)

    def cut(self, text: str) -> tuple[str, str]:
        """(text before the stop sequence, stop sequence); the sequence is "" if none ended the text."""
        ends = [stop for stop in (*sorted(self.stops, key=len, reverse=True), "") if text.endswith(stop)]
        ways = [(text[: len(text) - len(stop)], stop) for stop in ends]
        found = next((way for way in ways if is_member(self.inner, way[0])), None)
        return found or next((way for way in ways if is_refused(self.inner, way[0])), ways[-1])

    def residual_fault(self, text: str) -> str | None:
        return self.inner.residual_fault(self.cut(text)[0])

    @property
    def valued(self) -> bool:
        return True

    def parse(self, text: str) -> Any:
        """The value of the text before the stop sequence."""
        return self.inner.parse(self.cut(text)[0])

    def capture_spans(self, text: bytes, spans: Mapping[Tokens, Ranges]) -> list[tuple[str, int, int]]:
        return self.inner.capture_spans(self.cut(text.decode())[0].encode(), spans)

    def __repr__(self) -> str:
        return f"stopped({self.inner!r}, {list(self.stops)!r})"


def stopped(constraint: Constraint, stop: Any) -> Stopped:
    """A constraint whose texts end at the first stop sequence. stop: a text, or a list of texts.

    Raises ConstrainError if `stop` is not one, GrammarError for a recursive constraint with lexer="greedy".
    """
    stops = (stop,) if isinstance(stop, str) else tuple(stop) if isinstance(stop, list | tuple) else (stop,)
    for text in stops:
        if not isinstance(text, str) or not text or has_lone_surrogate(text):
            raise ConstrainError(f"a stop sequence is a text that is not empty, not {text!r:.60}", fix='stop="\\n\\n"')
    if not stops:
        raise ConstrainError("stop is an empty list", fix="leave it out, or name the sequences that end a text")
    refuse_tokens(constraint, "cannot end at a stop sequence")
    if constraint.monitored or not constraint.counts_characters:
        refuse_monitors(constraint, "cannot end at a stop sequence")
    if constraint.read_apart and not constraint.counts_characters:
        raise GrammarError(
            f"{constraint._shown()} has lexer='greedy' and cannot end at a stop sequence: the longest lexeme would be "
            "sought in the sequence too",
            fix="use lexer='dynamic', or leave stop= out",
        )
    made = Stopped(constraint, tuple(dict.fromkeys(stops)))
    made.to_grammar()  # raise errors here, not when it is compiled
    return made
