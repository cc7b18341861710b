"""The intersection of constraints: `a & b`.

A part with a lexer of its own, or with a monitor, is read twice: by rules that take every way to cut a text into
lexemes, where the regular side is enforced, and apart, as it is (masks/engine/regions). Each promises by itself that
the text has an end.

Limit: at most one part is not regular. The intersection of two context-free languages cannot be computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from constrain.errors import GrammarError
from constrain.languages.automata.syntax import Node, intersect
from constrain.languages.cfg.rules import Grammar
from constrain.languages.constraints.around import Around
from constrain.languages.constraints.base import Constraint, refuse_monitors, refuse_tokens
from constrain.languages.constraints.combinators import seq
from constrain.languages.constraints.parts import guard_apart
from constrain.languages.constraints.regular import Regular
from constrain.languages.constraints.union import Union
from constrain.languages.guards import Guard
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import lazily


@dataclass(frozen=True)
class Intersection(Around):
    """All of the parts, of which at most one is not regular; make one with `&`.

    Raises GrammarError if two parts are not regular, or if one has a layout, or parts that are read apart.
    """

    parts: tuple[Constraint, ...]

    def __post_init__(self) -> None:
        for part in self.parts:
            refuse_tokens(part, "cannot be intersected")
        others = [part for part in self.parts if part.node is None]
        if len(others) > 1:
            raise GrammarError(
                f"cannot intersect {others[0]._shown()} and {others[1]._shown()}: both are recursive, and what they "
                "have in common cannot be computed",
                fix="write one of them as a regular language, or put the restriction into the other's rules",
            )
        if others and others[0].outlined:
            refuse_monitors(others[0], "cannot be intersected")
        if others and others[0].as_dynamic().lexer != "dynamic":
            raise GrammarError(
                f"cannot intersect {others[0]._shown()}, whose rules depend on columns",
                fix="put the restriction into the grammar's own terminals and rules",
            )

    @lazily
    def distinct(self) -> dict[Constraint, None]:
        """The parts as keys. PERF: the next `&` copies them, and asks none for its hash."""
        return dict.fromkeys(self.parts)

    @lazily
    def _other(self) -> Constraint | None:
        """The part that is not regular."""
        return next((part for part in self.parts if part.node is None), None)

    @lazily
    def inner(self) -> Constraint:
        """The part that says all but the texts."""
        return Regular(self._regular) if self._other is None else self._other

    @lazily
    def _regular(self) -> Node:
        return intersect(*(part.node for part in self.parts if part.node is not None))

    @property
    def node(self) -> Node | None:
        return self._regular if self._other is None else None

    def _build(self) -> Grammar:
        if self._other is None:
            return super()._build()
        from constrain.languages.cfg.transform.product import product  # loads numba

        return replace(product(self._other.as_dynamic(), self._regular), watched=self.guarded)

    @lazily
    def members(self) -> tuple[Constraint, ...]:
        return () if self._other is None else (self._other,)

    @lazily
    def outlined(self) -> bool:
        return False

    @lazily
    def monitored(self) -> bool:
        return self._apart or self.inner.monitored

    @lazily
    def _apart(self) -> bool:
        """True if the part that is not regular has a lexer of its own."""
        return self._other is not None and self._other.to_grammar().lexer == "greedy"

    @lazily
    def guarded(self) -> bool:
        return self._apart or self.inner.guarded

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        return guard_apart(seq(self.inner), vocabulary) if self._apart else self.inner.guard(vocabulary)

    def __repr__(self) -> str:
        return " & ".join(f"({part!r})" if isinstance(part, Union) else repr(part) for part in self.parts)
