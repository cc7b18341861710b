"""Formats that no small automaton decides, as leaves of a language of strings with regular bounds.

The idea: `Undecided("regex")` stands for exactly the texts of the format, so `not` and `oneOf` stay exact. The format's
own check decides whether a given text is in such a language. Where an automaton is needed, a larger language replaces
the leaf, and below a complement a smaller one, so that the whole language only grows (an over-approximation). The check
of the finished text refuses the texts that are too many.

Cost: linear in the unions, intersections and complements of the tree, once for each tree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from constrain.languages.automata.syntax import (
    ANY_TEXT,
    EMPTY,
    Alternate,
    Complement,
    Intersect,
    Node,
    alternate,
    complement,
    intersect,
)
from constrain.languages.schema.formats.registry import AT_LEAST, CHECKED_LATER, FORMATS, conforms


class Undecided(Node):
    """The texts of a format. Its only argument is the name, a key of `CHECKED_LATER`."""

    @property
    def name(self) -> str:
        """The name of the format."""
        return self.args[0]


def format_language(name: str) -> Node:
    """The language of a known format."""
    return Undecided(name) if name in CHECKED_LATER else FORMATS[name]()


@lru_cache(maxsize=1024)
def at_most(language: Node) -> Node:
    """A regular language that holds every text of the language: the language itself, if it has no `Undecided` leaf."""
    return _replaced(language, lambda name, positive: (FORMATS if positive else AT_LEAST)[name](), True)


def for_text(language: Node, text: str) -> Node:
    """A regular language that holds the text if and only if the language does."""
    return _replaced(language, lambda name, _: ANY_TEXT if conforms(name, text) else EMPTY, True)


def _replaced(node: Node, leaf: Callable[[str, bool], Node], positive: bool) -> Node:
    """The tree with its `Undecided` leaves replaced; `positive`: it is under an even number of complements."""
    if isinstance(node, Undecided):
        return leaf(node.name, positive)
    if isinstance(node, Complement):
        part = _replaced(node.args[0], leaf, not positive)
        return node if part is node.args[0] else complement(part)
    if not isinstance(node, Alternate | Intersect):
        return node
    parts = [_replaced(part, leaf, positive) for part in node.args]
    if all(new is old for new, old in zip(parts, node.args, strict=True)):
        return node
    return (alternate if isinstance(node, Alternate) else intersect)(*parts)
