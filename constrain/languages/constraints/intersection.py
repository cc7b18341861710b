"""The intersection of constraints: `a & b`.

A part with a lexer of its own, or with a monitor, is read twice: by rules that take every way to cut a text into
lexemes, where the regular side is enforced, and apart, as it is (masks/engine/regions). Each promises by itself that
the text has an end.

Where the regular side counts many characters, as `.{0,500}` does, their number is left to a guard, and the rules are
those of the others (`shape.without_most`, masks/completion/characters.py): the rules of a product would be multiplied
by the number.

Limit: at most one part is not regular. The intersection of two context-free languages cannot be computed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module

from constrain.errors import GrammarError, LimitError
from constrain.languages.automata.shape import without_most
from constrain.languages.automata.syntax import Node, intersect
from constrain.languages.cfg.rules import Grammar
from constrain.languages.constraints.around import Around
from constrain.languages.constraints.base import Constraint, refuse_monitors, refuse_tokens
from constrain.languages.constraints.combinators import seq
from constrain.languages.constraints.parts import guard_apart
from constrain.languages.constraints.regular import Regular
from constrain.languages.constraints.report import ReportLine
from constrain.languages.constraints.union import Union
from constrain.languages.guards import Guard
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import lazily

COUNTED, FEW = 32, 1_000  # characters and items of a product that is made although a guard could count: PERF of masks
_CHARACTERS = "constrain.masks.completion.characters"  # of the engine, which comes after this wing


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
        return super()._build() if self._other is None else replace(self._product[0], watched=self.guarded)

    @lazily
    def _product(self) -> tuple[Grammar, int | None]:
        """The rules of a part that is not regular, as far as the others allow; and the most characters, if they are
        left to the guard."""
        from constrain.languages.cfg.transform.product import product  # loads numba

        assert self._other is not None
        grammar, (loose, most) = self._other.as_dynamic(), without_most(self._regular)
        if most is None or loose == self._regular:
            return product(grammar, self._regular), None
        with suppress(LimitError):
            if most <= COUNTED:
                return product(grammar, self._regular, FEW), None
        grammar = product(grammar, loose)
        import_module(_CHARACTERS).refuse_longer(grammar, most)
        return grammar, most

    @property
    def most(self) -> int | None:
        """The most characters of its texts, where a guard counts them; None: its rules do."""
        return None if self._other is None else self._product[1]

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

    @property
    def counts_characters(self) -> bool:
        return self.most is not None

    @lazily
    def guarded(self) -> bool:
        return self._apart or self.inner.guarded or self.counts_characters

    @lazily
    def read_apart(self) -> bool:
        """True if, as a part, it is read by an automaton and a guard of its own: where its own text ends is counted."""
        return self.monitored or self.counts_characters

    @lazily
    def outline(self) -> Node:
        return self._regular

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        guard = guard_apart(seq(self.inner), vocabulary) if self._apart else self.inner.guard(vocabulary)
        if self.most is None:
            return guard
        bounded: Guard = import_module(_CHARACTERS).guard_of(guard, self.most, vocabulary)
        return bounded

    @lazily
    def report(self) -> list[ReportLine]:
        if self.most is None:
            return self.inner.report
        note = f"at most {self.most} characters: a guard counts them"
        if self._apart or self.inner.guarded:
            note += "; another guard is not asked whether its own ends fit, so near the bound a text may end dead"
        return [*self.inner.report, ReportLine("(characters)", "$", "enforced", note)]

    def residual_fault(self, text: str) -> str | None:
        """None, or the fault of the part that is not regular, or that the text is too long."""
        if self.most is not None and len(text) > self.most:
            return f"it has {len(text)} characters, and {self.most} at most are allowed"
        return self.inner.residual_fault(text)

    def __repr__(self) -> str:
        return " & ".join(f"({part!r})" if isinstance(part, Union) else repr(part) for part in self.parts)
