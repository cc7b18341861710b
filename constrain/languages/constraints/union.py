"""The union of constraints: `a | b`."""

from __future__ import annotations

from dataclasses import dataclass

from constrain.errors import UnsatisfiableError
from constrain.languages.automata.syntax import Node, alternate
from constrain.languages.cfg.build import GrammarReading, build
from constrain.languages.cfg.ebnf import Choice, Expression
from constrain.languages.cfg.rules import Grammar
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.composite import Composite
from constrain.languages.constraints.parts import part as part_of
from constrain.lazily import lazily


@dataclass(frozen=True)
class Union(Composite):
    """Any of the parts; make one with `|`."""

    parts: tuple[Constraint, ...]
    followed = ()  # `|` takes no part that counts tokens; to look for one would read all parts for each `|`
    counts_tokens = False

    @lazily
    def distinct(self) -> dict[Constraint, None]:
        """The parts as keys. PERF: the next `|` copies them, and asks none for its hash."""
        return dict.fromkeys(self.parts)

    @lazily
    def node(self) -> Node | None:
        nodes = [part.node for part in self.parts]
        return None if any(node is None for node in nodes) else alternate(*(node for node in nodes if node is not None))

    @lazily
    def reading(self) -> GrammarReading:
        """One rule. A part without texts adds nothing, unless there is nothing else."""
        rules: dict[str, Expression] = {"start": Choice(tuple(map(part_of, self.parts)))}
        try:
            return build(rules, "start", folded=True, place=lambda name: None)
        except UnsatisfiableError:
            for part in self.parts:
                part.to_grammar()  # raises the reason
            raise

    def _build(self) -> Grammar:
        return Constraint._build(self) if self.node is not None else super()._build()

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.parts))
