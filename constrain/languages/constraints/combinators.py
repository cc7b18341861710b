"""Combinators: grammars written in Python, with other constraints as parts.

    number = constrain.regex(r"\\d+")
    term = constrain.alt(number, constrain.seq("(", constrain.ref("sum"), ")"))
    sums = constrain.rules({"sum": constrain.many(term, separator="+", low=1)})
    answer = constrain.seq("Answer: ", constrain.json_schema({"type": "object"}), constrain.optional("."))

The idea: a combinator makes an expression (`cfg/ebnf.py`). A str stands for itself, a regular constraint becomes one
terminal, any other constraint a part with its own rules (`parts.py`). Nothing is ignored between parts, and every way
to cut a text counts (`lexer="dynamic"`). `ref` names a rule of the enclosing `rules`, so definitions may be recursive.

Cost: linear in what is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

from constrain.errors import GrammarError, LimitError, did_you_mean
from constrain.languages.automata.counts import MANY
from constrain.languages.automata.syntax import Node, Tokens, literal, shown_tokens
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
from constrain.languages.cfg.build import GrammarReading, build
from constrain.languages.cfg.ebnf import AnyOrder, Choice, Expression, Leaf, Ref, Repeated, Sequence
from constrain.languages.cfg.rules import Terminal
from constrain.languages.cfg.transform.fold import references, to_node
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.composite import Composite
from constrain.languages.constraints.parts import part
from constrain.lazily import lazily
from constrain.limits import default_limits, limits_at, tick

_START = "start"


@dataclass(frozen=True)
class Combined(Composite):
    """An expression of parts; make one with `seq`, `alt`, `many`, `optional` or `ref`.

    Attributes:
        expression: The expression.
        shown: The call that made it, for messages; or what makes its text. PERF: a schema's text is long, and rarely
            asked for.
    """

    expression: Expression
    shown: str | Callable[[], str] = field(compare=False)

    @property
    def inlined(self) -> bool:
        """True if it becomes rules of the constraint that it is a part of, not a part with a guard of its own."""
        return True

    @property
    def open_refs(self) -> list[str]:
        """The names that its `ref`s use; it is complete only inside of `rules` that define them."""
        return list(references(self.expression))

    @lazily
    def reading(self) -> GrammarReading:
        """One rule. Raises GrammarError if a `ref` is open."""
        for name in self.open_refs:
            raise GrammarError(
                f"ref({name!r}) has no definition", place=self._shown(), fix=f"use rules({{{name!r}: ..., ...}})"
            )
        return _read({_START: self.expression}, _START)

    @lazily
    def node(self) -> Node | None:
        return None if self.open_refs else to_node({_START: self.expression}, _START)

    def _unite(self, other: Constraint) -> Constraint:
        return alt(self, other) if self.open_refs else NotImplemented

    def __repr__(self) -> str:
        return self.shown if isinstance(self.shown, str) else self.shown()


@dataclass(frozen=True)
class RuleSet(Composite):
    """Named expressions that may refer to each other; make one with `rules`.

    Attributes:
        definitions: The expressions by name.
        start: The name of the first.
        any_order: What rules mean that are written in one of several orders.
    """

    definitions: tuple[tuple[str, Expression], ...]
    start: str
    any_order: tuple[tuple[str, AnyOrder], ...] = ()

    @lazily
    def reading(self) -> GrammarReading:
        return self.read()

    def read(self) -> GrammarReading:
        """Read the rules."""
        return _read(dict(self.definitions), self.start, dict(self.any_order))

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences about rules that were dropped or are out of reach."""
        return self.reading.findings

    @lazily
    def node(self) -> Node | None:
        return None if self.any_order else to_node(dict(self.definitions), self.start)

    def __repr__(self) -> str:
        return f"rules({{{', '.join(f'{name!r}: ...' for name, _ in self.definitions)}}}, start={self.start!r})"


def _read(
    definitions: Mapping[str, Expression], start: str, any_order: Mapping[str, AnyOrder] = MappingProxyType({})
) -> GrammarReading:
    try:
        with default_limits().reading("the parts"):
            return build(definitions, start, folded=True, place=lambda name: None, any_order=any_order)
    except RecursionError:
        raise LimitError("the parts are nested too deeply", fix="name the inner ones, with rules and ref") from None


Piece = str | Constraint


def seq(*parts: Piece) -> Constraint:
    """Concatenate parts; without parts it is the empty text.

    Args:
        *parts: Texts, which stand for themselves, and constraints of any kind that count no tokens.

    Returns:
        A constraint.

    Raises:
        GrammarError: A part is neither a str nor a constraint, or a constraint that counts tokens.

    Example:
        >>> import constrain
        >>> constrain.seq("Answer: ", constrain.choices(["yes", "no"]))
        seq('Answer: ', choices(['yes', 'no']))
    """
    return _combined("seq", Sequence(_expressions(parts)), parts)


def alt(*parts: Piece) -> Constraint:
    """Any one of the parts.

    Args:
        *parts: At least one text or constraint, as in `seq`.

    Returns:
        A constraint.

    Raises:
        GrammarError: There is no part, or one that `seq` would refuse.

    Example:
        >>> import constrain
        >>> constrain.alt("unknown", constrain.regex("[0-9]+"))
        alt('unknown', regex('[0-9]+'))
    """
    if not parts:
        raise GrammarError("alt needs at least one part", fix="give it one")
    return _combined("alt", Choice(_expressions(parts)), parts)


def optional(part: Piece) -> Constraint:
    """The part or nothing.

    Args:
        part: A text or a constraint, as in `seq`.

    Returns:
        A constraint.

    Raises:
        GrammarError: The part is one that `seq` would refuse.

    Example:
        >>> import constrain
        >>> constrain.seq(constrain.optional("-"), constrain.regex("[0-9]+"))
        seq(optional('-'), regex('[0-9]+'))
    """
    return _combined("optional", Repeated(expression_of(part), 0, 1), (part,))


def many(part: Piece, *, separator: Piece | None = None, low: int = 0, high: int | None = None) -> Constraint:
    """Repeat a part, with a separator between the copies.

    Args:
        part: A text or a constraint, as in `seq`.
        separator: A text or constraint between two copies; None: nothing.
        low: The least number of copies.
        high: The largest number of copies; None: no limit.

    Returns:
        A constraint.

    Raises:
        GrammarError: `low` is negative, `high` is less than `low`, or a part is one that `seq` would refuse.

    Example:
        >>> import constrain
        >>> constrain.many(constrain.regex("[0-9]+"), separator=", ", low=1)
        many(regex('[0-9]+'), separator=', ', low=1)
    """
    if isinstance(low, bool) or not isinstance(low, int) or low < 0:
        raise GrammarError(f"many needs low >= 0, not {low!r}", fix="low is how many there must be")
    if high is not None and (isinstance(high, bool) or not isinstance(high, int) or high < low):
        raise GrammarError(f"many needs high >= low, not {high!r} and {low}", fix="high=None stands for no bound")
    low, high = min(low, MANY), None if high is None else min(high, MANY)  # which Python can write
    item = expression_of(part)
    stated = {"separator": separator, "low": low or None, "high": high}
    options = [f"{name}={value!r}" for name, value in stated.items() if value is not None]
    if separator is None or high == 0:
        return _combined("many", Repeated(item, low, high), (part,), *options)
    more = Repeated(
        Sequence((expression_of(separator), item)), max(low - 1, 0), None if high is None else max(high - 1, 0)
    )
    copies: Expression = Sequence((item, more))
    return _combined("many", copies if low else Repeated(copies, 0, 1), (part,), *options)


def token(*which: str | int | range, but: Iterable[str | int | range] | None = None) -> Constraint:
    """One token of the vocabulary, read as one symbol: a special token, or any token of a set.

    No text is such a token, and it is no text: the characters `<|tool|>` and the token with that name are different.
    Which tokens these are, the vocabulary says when the constraint is compiled.

    Args:
        *which: The tokens: a name (`"<|tool|>"`; also the text of a token that has bytes), an id, or a range of ids.
        but: Any token except these, instead of `which`; `()`: any token. Tokens that end a text are never among them.

    Returns:
        A constraint. It adds nothing to the text of a generation (`Vocabulary.to_bytes(tokens, names=True)` shows it).

    Raises:
        GrammarError: There are no tokens, `which` and `but` are both given, or one is no name, id or range of ids.

    Example:
        >>> import constrain
        >>> vocabulary = constrain.Vocabulary([b"a", b"b", None, None], eos_ids=[2], names={"<|tool|>": 3})
        >>> call = constrain.seq(constrain.token("<|tool|>"), constrain.regex("[ab]+"))
        >>> matcher = constrain.compile(call, vocabulary).matcher()
        >>> matcher.advance(0), matcher.advance(3), matcher.advance(0), matcher.text
        (False, True, True, b'a')
    """
    if bool(which) == (but is not None):
        raise GrammarError("token needs tokens, or but=", fix='token("<|tool|>"), token(but=["<|tool|>"])')
    members = tuple(map(_member, which if but is None else but))
    node = Tokens(members, but is not None)
    shown = ", ".join(map(repr, which)) if but is None else f"but={list(but)!r}"
    return Combined(Leaf(Terminal(node, shown_tokens(node))), f"token({shown})")


def _member(given: str | int | range) -> str | tuple[int, int]:
    """A member of a set of tokens."""
    if isinstance(given, str) and given:
        return given
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return given, given
    if isinstance(given, range) and given and given.step == 1 and given.start >= 0:
        return given.start, given.stop - 1
    raise GrammarError(f"a token is a name, an id or a range of ids, not {given!r:.60}", fix='token("<|x|>"), token(5)')


def ref(name: str) -> Constraint:
    """Refer to a rule of the enclosing `rules`, which may be the rule itself.

    Args:
        name: The name of the rule.

    Returns:
        A constraint that can only be a part: compiling it outside of `rules` raises GrammarError.

    Raises:
        GrammarError: The name is not a str, is empty, or contains "#".

    Example:
        >>> import constrain
        >>> nested = constrain.alt("x", constrain.seq("(", constrain.ref("nested"), ")"))
        >>> constrain.rules({"nested": nested})
        rules({'nested': ...}, start='nested')
    """
    if not isinstance(name, str) or not name or "#" in name:
        raise GrammarError(f"ref needs the name of a rule, not {name!r}", fix="a name is a str without '#'")
    return Combined(Ref(name), f"ref({name!r})")


def rules(definitions: Mapping[str, Piece], *, start: str | None = None) -> Constraint:
    """Define rules by name. Rules may use each other, and themselves, through `ref`.

    Args:
        definitions: Name -> text or constraint, as in `seq`.
        start: The name of the rule to start from; by default the first.

    Returns:
        A constraint: the texts of the start rule.

    Raises:
        GrammarError: There is no rule, `start` is none of them, a `ref` has no definition, or a part is one that `seq`
            would refuse.
        UnsatisfiableError: No text is a member.
        LimitError: The parts are nested too deeply.

    Example:
        >>> import constrain
        >>> term = constrain.alt(constrain.regex("[0-9]+"), constrain.seq("(", constrain.ref("sum"), ")"))
        >>> constrain.rules({"sum": constrain.many(term, separator="+", low=1)})
        rules({'sum': ...}, start='sum')
    """
    if not isinstance(definitions, Mapping) or not definitions:
        raise GrammarError("rules needs a mapping of names to parts", fix='rules({"name": part, ...})')
    with limits_at(lambda: f"{len(definitions)} rules"), default_limits().reading("the parts"):
        return _rules(definitions, start)


def _rules(definitions: Mapping[str, Piece], start: str | None) -> Constraint:
    for name in definitions:
        tick()
        ref(name)  # raises for what is no name
    first = next(iter(definitions)) if start is None else start
    if first not in definitions:
        raise GrammarError(
            f"there is no rule {first!r} to start from; the rules are: {', '.join(definitions)}",
            fix=did_you_mean(first, definitions, "name one of them: start=..."),
        )
    expressions = {name: expression_of(part) for name, part in definitions.items()}
    for name, expression in expressions.items():
        for used in references(expression):
            if used not in expressions:
                raise GrammarError(
                    f"ref({used!r}) has no definition", place=f"rule {name!r}", fix=f"add {used!r} to the rules"
                )
    constraint = RuleSet(tuple(expressions.items()), first)
    constraint.to_grammar()  # reads the rules: errors are raised here, not at the first use
    return constraint


def expression_of(piece: Piece) -> Expression:
    """A text or a constraint as an expression. Raises GrammarError for anything else."""
    tick()
    if isinstance(piece, str):
        if has_lone_surrogate(piece):
            raise GrammarError(f"a part has a lone surrogate: {piece!r:.60}", fix="it is not text: remove it")
        return Leaf(Terminal(literal(piece), repr(piece), literal=True))
    if isinstance(piece, Combined) and piece.inlined:
        return piece.expression
    if isinstance(piece, Constraint):
        return part(piece)
    raise GrammarError(
        f"a part is a str or a constraint, not {type(piece).__name__}: {piece!r:.60}",
        fix="wrap it: constrain.json_schema(...), .regex(...), .grammar(...) or .choices([...])",
    )


def _expressions(parts: tuple[Piece, ...]) -> tuple[Expression, ...]:
    with (
        limits_at(lambda: f"{len(parts)} parts that begin with {parts[:1]!r:.40}"),
        default_limits().reading("the parts"),
    ):
        return tuple(map(expression_of, parts))


def _combined(name: str, expression: Expression, parts: tuple[Piece, ...], *options: str) -> Combined:
    return Combined(expression, partial(shown_call, name, parts, *options))


def shown_call(name: str, parts: Iterable[Any], *options: str) -> str:
    """A call with arguments, as it is written."""
    return f"{name}({', '.join([*map(repr, parts), *options])})"
