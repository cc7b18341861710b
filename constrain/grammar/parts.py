"""Sources as parts of other sources: what a part brings along, and who looks after it.

The idea: a part whose language is regular is one terminal. Any other is its own start symbol, under the dynamic lexer
and with the ignored text of no grammar but its own (`start_of`). What a part cannot say in rules — a schema's keys must
not repeat, items must differ — is seen to in one of two ways:

* **a guard** vetoes tokens while the text is written, if it is certain where the part begins: after one of some fixed
  texts, none of which begins another (`branches`): `seq("Answer: ", json_schema(...))`, or one such text for each tool;
* **a check** of the finished text finds out whether any derivation passes (`finished`); such a source is *residual*: a
  text that does not pass does not count as complete. Exact, but a text may have run into a dead end by then.

Cost: none for parts without a guard or a check.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from constrain.automata import syntax
from constrain.errors import GrammarError, UnsatisfiableError
from constrain.grammar.ebnf import Choice, Expression, Leaf, Part, Ref, Repetition, Sequence
from constrain.grammar.regular import spaced_out
from constrain.grammar.rules import Nonterminal, Terminal
from constrain.guards.prefixed import Prefixed

if TYPE_CHECKING:
    from constrain.grammar.source import Source
    from constrain.guards import Guard
    from constrain.vocab.vocabulary import Vocabulary

MAX_BRANCHES = 1000  # fixed texts after which a guarded part may begin


def part(source: Source) -> Expression:
    """A source as an expression. Raises GrammarError if it is lexed greedily; a source without texts derives
    nothing."""
    node = source.node
    if node is not None:
        return Leaf(Terminal(node, source._shown()))
    try:
        return Part(source, start_of(source))
    except UnsatisfiableError:
        return Leaf(Terminal(syntax.EMPTY, source._shown()))


def start_of(source: Source) -> Nonterminal:
    """A start symbol for a source under the dynamic lexer, nothing ignored, with the source's check.

    Raises GrammarError if the source is lexed greedily, UnsatisfiableError if it has no text.
    """
    grammar = source.to_grammar()
    if grammar.lexer != "dynamic":
        raise GrammarError(
            f"{source._shown()} has lexer='greedy' and cannot be joined with another source: "
            "the longest lexeme would be sought among the parts of both",
            fix="use lexer='dynamic', or write both as one grammar",
        )
    start = spaced_out(grammar).start
    check = source.check if (source.residual or source.guarded) and not source.composite else None
    return Nonterminal(start.name, lambda: [[start]], key=("part", start, source if check else None), check=check)


def parts_of(rules: Iterable[Expression]) -> tuple[Source, ...]:
    """The sources that are parts of some rules, each once."""
    found: dict[Source, None] = {}
    stack = list(rules)
    while stack:
        top = stack.pop()
        if isinstance(top, Part):
            found[top.source] = None
        elif isinstance(top, Repetition):
            stack.append(top.part)
        elif isinstance(top, Sequence | Choice):
            stack += top.parts
    return tuple(found)


class Branch(NamedTuple):
    """One way through an expression: a fixed text, then a guarded part (None: none). open: the fixed text goes on."""

    text: str
    source: Source | None = None
    open: bool = True


def branches(rules: Mapping[str, Expression], start: str) -> list[Branch] | None:
    """The ways to the guarded parts, if a fixed text tells them apart; None if it cannot be known where they begin, or
    if there are none."""
    found = _branches(Ref(start), rules, frozenset())
    if found is None or not any(branch.source for branch in found):
        return None
    found = sorted({branch._replace(open=False) for branch in found}, key=lambda branch: branch.text)
    clear = all(not later.text.startswith(branch.text) for branch, later in pairwise(found))
    return found if clear else None


def _branches(expression: Expression, rules: Mapping[str, Expression], inside: frozenset[str]) -> list[Branch] | None:
    """inside: the rules that are being followed; None: not to be told."""
    if isinstance(expression, Part) and expression.source.guarded:
        return [Branch("", expression.source, open=False)]
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
        if any(branch.source for branch in following) and not all(branch.open for branch in found):
            return None  # a second guarded part, or one after a text that is not fixed
        opened = [branch for branch in found if branch.open]
        found = [branch for branch in found if not branch.open]
        found += [Branch(head.text + tail.text, tail.source, tail.open) for head in opened for tail in following]
    return found


def _guarded(expression: Expression, rules: Mapping[str, Expression]) -> bool:
    """Does the expression, or a rule that it reaches, have a guarded part?"""
    seen: set[str] = set()
    stack = [expression]
    while stack:
        top = stack.pop()
        if isinstance(top, Part):
            if top.source.guarded:
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
    made: dict[Source, Guard | None] = {}
    for branch in found:
        if branch.source is not None and branch.source not in made:
            made[branch.source] = branch.source.guard(vocabulary)
    return Prefixed([(b.text.encode(), made[b.source] if b.source else None) for b in found], vocabulary)
