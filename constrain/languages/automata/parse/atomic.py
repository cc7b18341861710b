r"""Atomic groups and possessive quantifiers, `(?>...)`, `a++`: what their first way to match excludes, as look-ahead.

The idea: an atomic group takes the first way in which its pattern matches here, and never another one. So the second of
two alternatives counts where the first matches nothing, `(?>A|B)` = `A|(?!A)B`; a greedy repetition of X goes on while
it can, `(?>X*)` = `X*(?!X)`, if at most one text of X begins at a place (X is *prefix-free*), and a lazy one ends at
once. A part with one way to match at a place excludes nothing. In what remains, a repetition ends where what follows
inside decides: it is refused. Cost: a search of the automaton for each part, and a copy of what follows alternatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from constrain.languages.automata.decide import is_empty
from constrain.languages.automata.parse import assertions, lookaround
from constrain.languages.automata.parse.assertions import Look, Near, Tree
from constrain.languages.automata.shape import max_length, min_length, nullable, times
from constrain.languages.automata.syntax import ANY_CHAR, ANY_TEXT, EMPTY, EPSILON, Node, Repeat, concat, intersect

MAX_CASES = 200  # alternatives, each with what follows it


class Ways(NamedTuple):
    """The order in which the ways to match a part are tried.

    Attributes:
        one: There is one way at most, at each place.
        lazy: It is a repetition that prefers few copies.
        mixed: The order is not known.
        branches: Of a group: its alternatives.
    """

    one: bool = False
    lazy: bool = False
    mixed: bool = False
    branches: tuple[Any, ...] = ()


class OrderedPart(NamedTuple):
    """A part of a sequence, and its ways."""

    tree: Tree
    ways: Ways = Ways()


def repeated(part: OrderedPart, made: Tree, *, lazy: bool, possessive: bool) -> OrderedPart:
    """A part with a quantifier. made: its tree."""
    body, ways = part
    fixed = isinstance(body, Node) and min_length(body) == max_length(body)
    kept = isinstance(made, Repeat) and made.node == body  # else copies of copies may have been counted together
    mixed = ways.mixed or ways.lazy or not (kept or fixed)
    return OrderedPart(made, Ways(one=possessive, lazy=lazy and not mixed, mixed=mixed and not possessive))


def atomic(branches: Sequence[Sequence[OrderedPart]], index: int) -> Tree | None:
    """The atomic group of these alternatives, in their order, at a place; None if it is not of a kind above."""
    found: list[Tree] = []
    for number, parts in enumerate(branches):
        kept = _sequence(parts, index)
        if kept is None or number > MAX_CASES:
            return None
        earlier = [_whole(other) for other in branches[:number]]
        refused = [lookaround.look(other, True, True, index) for other in earlier if not _apart(other, kept)]
        found.append(assertions.sequence([*refused, kept]))
    whole = assertions.choice([_whole(parts) for parts in branches])
    return whole if _has_one_way(whole) else assertions.choice(found)


def possessive(body: Tree, low: int, high: int | None, index: int) -> Tree | None:
    """The tree of a possessive loop, which takes all copies there are; None if a copy matches in several ways."""
    if not isinstance(body, Node) or nullable(body) or not _has_one_way(body):
        return None
    if low == high:
        return times(body, low, high)
    over = lookaround.look(body, True, True, index)
    if high is None:
        return assertions.sequence([times(body, low, None), over])
    fewer = assertions.sequence([times(body, low, high - 1), over])
    return assertions.choice([times(body, high, high), fewer])


def _whole(parts: Sequence[OrderedPart]) -> Tree:
    return assertions.sequence([part.tree for part in parts])


def _sequence(parts: Sequence[OrderedPart], index: int) -> Tree | None:
    """The first way to match a sequence."""
    kept: list[Tree] = []
    for number, (tree, ways) in enumerate(parts):
        after = parts[number + 1 :]
        rest = _whole(after)
        if ways.one or _has_one_way(tree):
            kept.append(tree)
        elif ways.branches and not ways.mixed:
            cases = [[*branch, *after] for branch in ways.branches]
            inner = atomic(cases, index) if len(cases) * len(cases[0]) < MAX_CASES else None
            return None if inner is None else assertions.sequence([*kept, inner])
        elif isinstance(tree, Repeat) and isinstance(rest, Node) and not ways.mixed:
            most = possessive(tree.node, tree.low, tree.high, index)
            is_free, is_apart = nullable(rest), _apart(tree.node, rest)
            if most is None or not (is_free or is_apart):
                return None
            few = times(tree.node, tree.low, tree.low)
            kept.append(tree if is_apart else few if ways.lazy else most)
        else:
            return None
    return assertions.sequence(kept)


def _has_one_way(tree: Tree) -> bool:
    """True if at most one text of a pattern begins at each place: no text begins with another one."""
    if not isinstance(tree, Node):
        return isinstance(tree, Near | Look)
    if min_length(tree) == max_length(tree):
        return True
    return is_empty(intersect(tree, concat(tree, ANY_CHAR, ANY_TEXT)))


def _apart(one: Tree, other: Tree) -> bool:
    """True if no text begins with a text of each."""
    if not isinstance(one, Node) or not isinstance(other, Node) or EPSILON in (one, other):
        return EMPTY in (one, other)
    return is_empty(intersect(concat(one, ANY_TEXT), concat(other, ANY_TEXT)))
