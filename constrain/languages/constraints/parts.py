"""Constraints as parts of other constraints, with their guards and checks.

The idea: a regular part is one terminal. Any other part is its own start symbol, under the dynamic lexer, with the
ignored text of its own grammar only (`start_of`). Conditions that rules cannot express (a schema's keys must not
repeat, items must differ) are enforced in one of two ways:

* **a guard** vetoes tokens while the text is written, if fixed texts determine where the part begins, and none of them
  is a prefix of another (`branches`): `seq("Answer: ", json_schema(...))`, or one such text for each tool;
* **a check** of the finished text decides whether some derivation passes (`cfg/transform/chart.py`); such a
  constraint is *residual*: a text that does not pass does not count as complete. The verdict is exact, but a text may
  have run into a dead end by then.

A part with a lexer of its own, or with a monitor, is *read apart* (`Constraint.read_apart`): to the rules it is any
text, and one guard follows all guarded parts of the constraint, in all ways to read the text (masks/engine/regions).

Cost: none for parts without a guard or a check.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Hashable, Iterable, Mapping
from collections.abc import Sequence as SequenceOf
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from constrain.errors import LimitError, UnsatisfiableError
from constrain.languages.automata import syntax
from constrain.languages.automata.decide import is_empty
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.ebnf import JOINED, Choice, Expression, Leaf, Part, Ref, Repeated, Sequence
from constrain.languages.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.regular import inline_ignored
from constrain.languages.constraints.base import refuse_counts

if TYPE_CHECKING:
    from constrain.languages.constraints.base import Constraint
    from constrain.languages.guards import Guard
    from constrain.languages.vocab.vocabulary import Vocabulary

_parts: WeakValueDictionary[Constraint, Part] = WeakValueDictionary()
MAX_BRANCHES = 1000  # fixed texts after which a guarded part may begin
# The engine reads them; it comes after this wing, and is imported when somebody asks.
_READ_APART = "constrain.masks.engine.regions.apart"


class PartSymbol(Nonterminal):
    """The start symbol of a constraint that is a part.

    Args:
        constraint: The constraint.
        name: As of `Nonterminal`.
        expand: As of `Nonterminal`.
        key: As of `Nonterminal`.
        check: As of `Nonterminal`.
    """

    __slots__ = ("constraint",)

    def __init__(
        self,
        constraint: Constraint,
        name: str,
        expand: Callable[[], SequenceOf[SequenceOf[Symbol]]],
        key: Hashable,
        check: Callable[[str], str | None] | None,
    ) -> None:
        super().__init__(name, expand, key, check=check)
        self.constraint = constraint


def part(constraint: Constraint) -> Expression:
    """A constraint as an expression; a constraint without texts derives nothing.

    PERF: equal constraints are one part, so that the arguments of many tools that are alike are read once.
    """
    node = constraint.node
    if node is not None:
        return Leaf(Terminal(node, constraint._shown()))
    known = _parts.get(constraint)
    if known is None:
        try:
            known = _parts[constraint] = Part(constraint, start_of(constraint))
        except UnsatisfiableError:
            return Leaf(Terminal(syntax.EMPTY, constraint._shown()))
    return known


def start_of(constraint: Constraint) -> Nonterminal:
    """A start symbol for a constraint under the dynamic lexer, nothing ignored, with the constraint's check.

    Raises GrammarError if the constraint counts tokens, UnsatisfiableError if it has no text.
    """
    refuse_counts(constraint)
    grammar = constraint.to_grammar()
    if constraint.read_apart:
        text = Terminal(constraint.outline, constraint._shown())
        return PartSymbol(constraint, text.name, lambda: [[text]], ("apart", constraint), constraint.part_fault)
    start = inline_ignored(grammar).start
    check = (
        constraint.residual_fault if (constraint.residual or constraint.guarded) and not constraint.composite else None
    )
    key = "part", start, constraint if check else None
    return PartSymbol(constraint, start.name, lambda: [[start]], key, check)


def guard_apart(constraint: Constraint, vocabulary: Vocabulary) -> Guard:
    """The guard of a constraint some of whose parts are read apart: it follows all guarded parts."""
    guard: Guard = import_module(_READ_APART).guard_of(constraint, vocabulary)
    return guard


class Branch(NamedTuple):
    """One way through an expression.

    Attributes:
        text: The fixed text that it begins with.
        constraint: The guarded part after the text; None: there is none.
        open: Whether the expression ends with the fixed text, so that a following text extends it.
    """

    text: str
    constraint: Constraint | None = None
    open: bool = True


def branches(rules: Mapping[str, Expression], start: str) -> list[Branch] | None:
    """The branches of some rules, if fixed texts tell them apart.

    Returns None if it cannot be known where the guarded parts begin, or if there are none.
    """
    ways = _branches(Ref(start), rules, frozenset())
    if ways is None or not any(branch.constraint for branch in ways):
        return None
    ways = sorted({branch._replace(open=False) for branch in ways}, key=lambda branch: branch.text)
    are_apart = all(not later.text.startswith(branch.text) for branch, later in pairwise(ways))
    return ways if are_apart else None


def _branches(expression: Expression, rules: Mapping[str, Expression], inside: frozenset[str]) -> list[Branch] | None:
    """The branches of an expression; None if they are not known. `inside` are the rules that are being followed."""
    if isinstance(expression, Part) and expression.constraint.guarded:
        return [Branch("", expression.constraint, open=False)]
    if isinstance(expression, Leaf):
        node = expression.terminal.node
        if isinstance(node, syntax.Literals) and len(node.texts) <= MAX_BRANCHES:
            return [Branch(text) for text in node.texts]
        return [Branch("", open=False)]
    if isinstance(expression, Ref):
        if expression.name in inside:
            return None
        return _branches(rules[expression.name], rules, inside | {expression.name})
    if isinstance(expression, Choice):
        return _concatenate(_branches(part, rules, inside) for part in expression.parts)
    if isinstance(expression, Sequence):
        return _in_sequence(expression, rules, inside)
    return None if _guarded(expression, rules) else [Branch("", open=False)]


def _concatenate(lists: Iterable[list[Branch] | None]) -> list[Branch] | None:
    joined: list[Branch] = []
    for ways in lists:
        if ways is None or len(joined) + len(ways) > MAX_BRANCHES:
            return None
        joined += ways
    return joined


def _in_sequence(expression: Sequence, rules: Mapping[str, Expression], inside: frozenset[str]) -> list[Branch] | None:
    """The branches of a sequence: each open branch is extended by those of the next part."""
    ways = [Branch("")]
    for part in expression.parts:
        following = _branches(part, rules, inside)
        if following is None or len(ways) * len(following) > MAX_BRANCHES:
            return None
        if any(branch.constraint for branch in following) and not all(branch.open for branch in ways):
            return None  # a second guarded part, or one after a text that is not fixed
        opened = [branch for branch in ways if branch.open]
        ways = [branch for branch in ways if not branch.open]
        ways += [Branch(head.text + tail.text, tail.constraint, tail.open) for head in opened for tail in following]
    return ways


def _guarded(expression: Expression, rules: Mapping[str, Expression]) -> bool:
    """True if the expression, or a rule that it reaches, has a guarded part."""
    seen: set[str] = set()
    stack = [expression]
    while stack:
        top = stack.pop()
        if isinstance(top, Part):
            if top.constraint.guarded:
                return True
        elif isinstance(top, Ref):
            if top.name not in seen and top.name in rules:
                seen.add(top.name)
                stack.append(rules[top.name])
        elif isinstance(top, Repeated):
            stack.append(top.part)
        elif isinstance(top, JOINED):
            stack += top.parts
    return False


def is_prefix_free(node: Node) -> bool:
    """True if no member of a regular language begins another. False too where that takes too many states to decide."""
    try:
        return is_empty(syntax.intersect(node, syntax.concat(node, syntax.ANY_CHAR, syntax.ANY_TEXT)))
    except LimitError:
        return False


def guard_of(ways: list[Branch], vocabulary: Vocabulary) -> Guard:
    """The guard for the parts at the ends of some branches."""
    from constrain.languages.guards.prefixed import Prefixed

    guards: dict[Constraint, Guard | None] = {}
    for branch in ways:
        if branch.constraint is not None and branch.constraint not in guards:
            guards[branch.constraint] = branch.constraint.guard(vocabulary)
    return Prefixed([(b.text.encode(), guards[b.constraint] if b.constraint else None) for b in ways], vocabulary)


copyreg.pickle(Part, lambda part_: (part, (part_.constraint,)))  # type: ignore[arg-type, return-value]  # its symbol is made again
