"""Combinators: grammars written in Python, with other constraints as parts.

    number = constrain.regex(r"\\d+")
    term = constrain.alt(number, constrain.seq("(", constrain.ref("sum"), ")"))
    sums = constrain.rules({"sum": constrain.many(term, separator="+", low=1)})
    answer = constrain.seq("Answer: ", constrain.json_schema({"type": "object"}), constrain.optional("."))

The idea: a combinator makes an `ebnf` expression; a str is itself, a constraint whose language is regular one terminal,
any other constraint a part with its own rules (`parts`). Nothing is ignored between parts, and every way to cut a text
counts (`lexer="dynamic"`). `ref` names a rule of the enclosing `rules`, so definitions may be recursive.

Cost: linear in what is written. Limit: a constraint that is lexed greedily cannot be a part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from constrain.automata.syntax import Node, literal
from constrain.cfg.build import Reading, build
from constrain.cfg.ebnf import Choice, Expression, Leaf, Ref, Repetition, Sequence
from constrain.cfg.rules import Terminal
from constrain.cfg.transform.fold import references, to_node
from constrain.constraints.base import Constraint
from constrain.constraints.composite import Composite
from constrain.constraints.parts import part
from constrain.errors import GrammarError, LimitError

_START = "start"


@dataclass(frozen=True)
class Combined(Composite):
    """An expression of parts; make one with `seq`, `alt`, `many`, `optional` or `ref`. shown: how it was written."""

    expression: Expression
    shown: str = field(compare=False)

    @property
    def open_refs(self) -> list[str]:
        """The names that it refers to; it is complete only inside of `rules` that define them."""
        return list(references(self.expression))

    @cached_property
    def reading(self) -> Reading:
        """One rule. Raises GrammarError if a `ref` is open."""
        for name in self.open_refs:
            raise GrammarError(
                f"ref({name!r}) has no definition", place=self._shown(), fix=f"use rules({{{name!r}: ..., ...}})"
            )
        return _read({_START: self.expression}, _START)

    @cached_property
    def node(self) -> Node | None:
        """The language as one regular language, if it is one and not too large."""
        return None if self.open_refs else to_node({_START: self.expression}, _START)

    def _unite(self, other: Constraint) -> Constraint:
        return alt(self, other) if self.open_refs else NotImplemented

    def __repr__(self) -> str:
        return self.shown


@dataclass(frozen=True)
class RuleSet(Composite):
    """Named expressions that may refer to each other; make one with `rules`."""

    definitions: tuple[tuple[str, Expression], ...]
    start: str

    @cached_property
    def reading(self) -> Reading:
        """The rules."""
        return _read(dict(self.definitions), self.start)

    @property
    def findings(self) -> tuple[str, ...]:
        """What the analysis found: rules that were dropped or are out of reach."""
        return self.reading.findings

    @cached_property
    def node(self) -> Node | None:
        """The language as one regular language, if no rule of it is recursive and it is not too large."""
        return to_node(dict(self.definitions), self.start)

    def __repr__(self) -> str:
        return f"rules({{{', '.join(f'{name!r}: ...' for name, _ in self.definitions)}}}, start={self.start!r})"


def _read(definitions: Mapping[str, Expression], start: str) -> Reading:
    try:
        return build(definitions, start, folded=True, place=lambda name: None)
    except RecursionError:
        raise LimitError("the parts are nested too deeply", fix="name the inner ones, with rules and ref") from None


Piece = str | Constraint


def seq(*parts: Piece) -> Constraint:
    """The parts one after the other. No part: the empty text.

    parts: str or constraint; a constraint may be anything that can be compiled. Raises GrammarError for anything else.
    """
    return _combined("seq", Sequence(tuple(map(_expression, parts))), parts)


def alt(*parts: Piece) -> Constraint:
    """Any one of the parts. Raises GrammarError as `seq`, and if there is no part."""
    if not parts:
        raise GrammarError("alt needs at least one part", fix="give it one")
    return _combined("alt", Choice(tuple(map(_expression, parts))), parts)


def optional(part: Piece) -> Constraint:
    """The part or nothing."""
    return _combined("optional", Repetition(_expression(part), 0, 1), (part,))


def many(part: Piece, *, separator: Piece | None = None, low: int = 0, high: int | None = None) -> Constraint:
    """`low` to `high` copies of a part, with a separator between them; high None: no bound."""
    if isinstance(low, bool) or not isinstance(low, int) or low < 0:
        raise GrammarError(f"many needs low >= 0, not {low!r}", fix="low is how many there must be")
    if high is not None and (isinstance(high, bool) or not isinstance(high, int) or high < low):
        raise GrammarError(f"many needs high >= low, not {high!r} and {low}", fix="high=None stands for no bound")
    item = _expression(part)
    options = [f"{k}={v!r}" for k, v in {"separator": separator, "low": low or None, "high": high}.items() if v]
    if separator is None or high == 0:
        return _combined("many", Repetition(item, low, high), (part,), *options)
    more = Repetition(
        Sequence((_expression(separator), item)), max(low - 1, 0), None if high is None else max(high - 1, 0)
    )
    found: Expression = Sequence((item, more))
    return _combined("many", found if low else Repetition(found, 0, 1), (part,), *options)


def ref(name: str) -> Constraint:
    """The rule of this name, of the `rules` that this becomes a part of."""
    if not isinstance(name, str) or not name or "#" in name:
        raise GrammarError(f"ref needs the name of a rule, not {name!r}", fix="a name is a str without '#'")
    return Combined(Ref(name), f"ref({name!r})")


def rules(definitions: Mapping[str, Piece], *, start: str | None = None) -> Constraint:
    """Rules by name, which may use each other, and themselves, through `ref`.

    start: the rule to start from; by default the first. Raises GrammarError for a `ref` without a definition,
    UnsatisfiableError if no text is a member.
    """
    if not isinstance(definitions, Mapping) or not definitions:
        raise GrammarError("rules needs a mapping of names to parts", fix='rules({"name": part, ...})')
    for name in definitions:
        ref(name)  # raises for what is no name
    first = next(iter(definitions)) if start is None else start
    if first not in definitions:
        raise GrammarError(
            f"there is no rule {first!r} to start from; the rules are: {', '.join(definitions)}",
            fix="name one of them: start=...",
        )
    made = {name: _expression(part) for name, part in definitions.items()}
    for name, expression in made.items():
        for used in references(expression):
            if used not in made:
                raise GrammarError(
                    f"ref({used!r}) has no definition", place=f"rule {name!r}", fix=f"add {used!r} to the rules"
                )
    constraint = RuleSet(tuple(made.items()), first)
    constraint.to_grammar()  # read now: a fault belongs to this line, not to a later one
    return constraint


def _expression(piece: Piece) -> Expression:
    if isinstance(piece, str):
        if any("\ud800" <= character <= "\udfff" for character in piece):
            raise GrammarError(f"a part has a lone surrogate: {piece!r:.60}", fix="it is not text: remove it")
        return Leaf(Terminal(literal(piece), repr(piece), literal=True))
    if isinstance(piece, Combined):
        return piece.expression
    if isinstance(piece, Constraint):
        return part(piece)
    raise GrammarError(
        f"a part is a str or a constraint, not {type(piece).__name__}: {piece!r:.60}",
        fix="wrap it: constrain.json_schema(...), .regex(...), .grammar(...) or .choices([...])",
    )


def _combined(name: str, expression: Expression, parts: tuple[Piece, ...], *options: str) -> Combined:
    return Combined(expression, f"{name}({', '.join([*map(repr, parts), *options])})")
