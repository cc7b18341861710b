"""Free text as expressions: any text, without some texts, or up to the first of some triggers.

The idea: "any text in which no trigger occurs" and "any text that ends with its first trigger" are regular languages,
defined by complements. So free text is exact also where triggers overlap: the first trigger that is complete counts,
and of two that end at once (`ab` and `b`) the longer one. With contents after triggers: text → piece* free;
piece → (free text that ends with its first trigger) contents.

Cost: one automaton with a state for each beginning of a trigger.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from constrain.errors import ConstrainError
from constrain.languages.automata.syntax import (
    ANY_CHAR,
    ANY_TEXT,
    Node,
    complement,
    concat,
    intersect,
    literal,
    literals,
)
from constrain.languages.cfg.ebnf import Choice, Expression, Leaf, Repeated
from constrain.languages.cfg.ebnf import Sequence as Concatenation
from constrain.languages.cfg.rules import Terminal
from constrain.limits import tick


def without(texts: Sequence[str]) -> Node:
    """Any text in which none of the texts occurs."""
    return complement(_containing(texts)) if texts else ANY_TEXT


def up_to(trigger: str, triggers: Sequence[str], excludes: Sequence[str] = ()) -> Node:
    """Any text that ends with a trigger where it is the first that is complete, and the longest of those."""
    tick(len(triggers))
    longer = [other for other in triggers if other != trigger and other.endswith(trigger)]
    never = [
        going_on(triggers),
        *([concat(ANY_TEXT, literals(longer))] if longer else []),
        *([_containing(excludes)] if excludes else []),
    ]
    return intersect(concat(ANY_TEXT, literal(trigger)), *map(complement, never))


def going_on(texts: Sequence[str]) -> Node:
    """Any text in which something follows one of the texts."""
    return concat(ANY_TEXT, literals(texts), ANY_CHAR, ANY_TEXT)


def _containing(texts: Sequence[str]) -> Node:
    return concat(ANY_TEXT, literals(texts), ANY_TEXT)


def dispatched(rules: Sequence[tuple[str, Expression]], loop: bool, excludes: Sequence[str]) -> Expression:
    """Free text with contents after triggers.

    rules: triggers, each with its contents. loop: free text goes on after contents. excludes: what does not occur in
    free text. Raises ConstrainError for triggers that stand twice, hold each other, or hold an excluded text.
    """
    triggers = [trigger for trigger, _ in rules]
    for trigger in triggers:
        tick(len(triggers))
        if triggers.count(trigger) > 1:
            raise ConstrainError(f"the trigger {trigger!r} stands twice", fix="join what may follow it: alt(one, two)")
    for one, two in permutations(triggers, 2):
        tick()
        if one in two[:-1]:
            raise ConstrainError(
                f"the trigger {two!r} holds the trigger {one!r}, which would come first",
                fix="choose triggers none of which is a part of another, except at its end",
            )
    for text in excludes:
        for trigger in triggers:
            if text in trigger:
                raise ConstrainError(f"the trigger {trigger!r} holds {text!r}, which is excluded", fix="exclude less")
    made: list[Expression] = []
    for trigger, contents in rules:
        ends_with_it = Leaf(Terminal(up_to(trigger, triggers, excludes), f"text up to {trigger!r}"))
        made.append(Concatenation((ends_with_it, contents)))
    free = Leaf(Terminal(without([*triggers, *excludes]), "free text"))
    if loop:
        return Concatenation((Repeated(Choice(tuple(made)), 0, None), free))
    return Choice((free, *made))
