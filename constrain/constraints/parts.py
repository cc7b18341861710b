"""Constraints as parts of other constraints: what a part brings along, and who looks after it.

The idea: a part whose language is regular is one terminal. Any other is its own start symbol, under the dynamic lexer
and with the ignored text of no grammar but its own (`start_of`). What a part cannot say in rules — a schema's keys must
not repeat, items must differ — is seen to in one of two ways:

* **a guard** vetoes tokens while the text is written, if it is certain where the part begins: after one of some fixed
  texts, none of which begins another (`branches`): `seq("Answer: ", json_schema(...))`, or one such text for each tool;
* **a check** of the finished text finds out whether any derivation passes (`finished`); such a constraint is
  *residual*: a text that does not pass does not count as complete. Exact, but a text may have run into a dead end by
  then.

Cost: none for parts without a guard or a check.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from constrain.automata import syntax
from constrain.cfg.ebnf import Choice, Expression, Leaf, Part, Ref, Repetition, Sequence
from constrain.cfg.rules import Nonterminal, Terminal
from constrain.cfg.transform.regular import inline_ignored
from constrain.errors import GrammarError, UnsatisfiableError
from constrain.guards.prefixed import Prefixed

if TYPE_CHECKING:
    from constrain.constraints.base import Constraint
    from constrain.guards import Guard
    from constrain.vocab.vocabulary import Vocabulary

MAX_BRANCHES = 1000  # fixed texts after which a guarded part may begin


def part(constraint: Constraint) -> Expression:
    """A constraint as an expression. Raises GrammarError if it is lexed greedily; a constraint without texts derives
    nothing."""
    node = constraint.node
    if node is not None:
        return Leaf(Terminal(node, constraint._shown()))
    try:
        return Part(constraint, start_of(constraint))
    except UnsatisfiableError:
        return Leaf(Terminal(syntax.EMPTY, constraint._shown()))


def start_of(constraint: Constraint) -> Nonterminal:
    """A start symbol for a constraint under the dynamic lexer, nothing ignored, with the constraint's check.

    Raises GrammarError if the constraint is lexed greedily, UnsatisfiableError if it has no text.
    """
    grammar = constraint.to_grammar()
    if grammar.lexer != "dynamic":
        raise GrammarError(
            f"{constraint._shown()} has lexer='greedy' and cannot be joined with another constraint: "
            "the longest lexeme would be sought among the parts of both",
            fix="use lexer='dynamic', or write both as one grammar",
        )
    start = inline_ignored(grammar).start
    check = constraint.check if (constraint.residual or constraint.guarded) and not constraint.composite else None
    return Nonterminal(start.name, lambda: [[start]], key=("part", start, constraint if check else None), check=check)


class Branch(NamedTuple):
    """One way through an expression: a fixed text, then a guarded part (None: none). open: the fixed text goes on."""

    text: str
    constraint: Constraint | None = None
    open: bool = True


def branches(rules: Mapping[str, Expression], start: str) -> list[Branch] | None:
    """The ways to the guarded parts, if a fixed text tells them apart; None if it cannot be known where they begin, or
    if there are none."""
    found = _branches(Ref(start), rules, frozenset())
    if found is None or not any(branch.constraint for branch in found):
        return None
    found = sorted({branch._replace(open=False) for branch in found}, key=lambda branch: branch.text)
    clear = all(not later.text.startswith(branch.text) for branch, later in pairwise(found))
    return found if clear else None


def _branches(expression: Expression, rules: Mapping[str, Expression], inside: frozenset[str]) -> list[Branch] | None:
    """inside: the rules that are being followed; None: not to be told."""
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
        return _joined(_branches(each, rules, inside) for each in expression.parts)
    if isinstance(expression, Sequence):
        return _in_sequence(expression, rules, inside)
    return None if _guarded(expression, rules) else [Branch("", open=False)]


def _joined(lists: Iterable[list[Branch] | None]) -> list[Branch] | None:
    found: list[Branch] = []
    for each in lists:
        if each is None or len(found) + len(each) > MAX_BRANCHES:
            return None
        found += each
    return found


def _in_sequence(expression: Sequence, rules: Mapping[str, Expression], inside: frozenset[str]) -> list[Branch] | None:
    found = [Branch("")]
    for each in expression.parts:
        following = _branches(each, rules, inside)
        if following is None or len(found) * len(following) > MAX_BRANCHES:
            return None
        if any(branch.constraint for branch in following) and not all(branch.open for branch in found):
            return None  # a second guarded part, or one after a text that is not fixed
        opened = [branch for branch in found if branch.open]
        found = [branch for branch in found if not branch.open]
        found += [Branch(head.text + tail.text, tail.constraint, tail.open) for head in opened for tail in following]
    return found


def _guarded(expression: Expression, rules: Mapping[str, Expression]) -> bool:
    """Does the expression, or a rule that it reaches, have a guarded part?"""
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
        elif isinstance(top, Repetition):
            stack.append(top.part)
        elif isinstance(top, Sequence | Choice):
            stack += top.parts
    return False


def guard_of(found: list[Branch], vocabulary: Vocabulary) -> Guard:
    """The guard for the parts at the ends of some branches."""
    made: dict[Constraint, Guard | None] = {}
    for branch in found:
        if branch.constraint is not None and branch.constraint not in made:
            made[branch.constraint] = branch.constraint.guard(vocabulary)
    return Prefixed([(b.text.encode(), made[b.constraint] if b.constraint else None) for b in found], vocabulary)


copyreg.pickle(Part, lambda part_: (part, (part_.constraint,)))  # type: ignore[arg-type, return-value]  # its symbol is made again
