"""Formats that no small automaton decides: a leaf of a language of strings, between two regular languages.

The idea: `Undecided("regex")` stands for exactly the texts of the format, so `not` and `oneOf` lose nothing on paper.
Whether a given text is in such a language is decided by the format's own check. Where an automaton is needed, the leaf
is replaced by a larger language, and below a complement by a smaller one, so that the whole only grows; what is too
much is found by the check of the finished text.
Cost: linear in the unions, intersections and complements of the tree, once for each tree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from constrain.automata.syntax import (
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
from constrain.schema.formats.registry import AT_LEAST, CHECKED_LATER, FORMATS, conforms


class Undecided(Node):
    """The texts of a format. args: (name,), one of `CHECKED_LATER`."""

    @property
    def name(self) -> str:
        return self.args[0]


def format_language(name: str) -> Node:
    """The texts of a format that is known."""
    return Undecided(name) if name in CHECKED_LATER else FORMATS[name]()


@lru_cache(maxsize=1024)
def at_most(language: Node) -> Node:
    """A regular language that holds every text of the language: itself, if it has no format in it that is open."""
    return _replaced(language, lambda name, inside: (FORMATS if inside else AT_LEAST)[name](), True)


def for_text(language: Node, text: str) -> Node:
    """A regular language that holds the text if and only if the language does."""
    return _replaced(language, lambda name, _: ANY_TEXT if conforms(name, text) else EMPTY, True)


def _replaced(node: Node, leaf: Callable[[str, bool], Node], inside: bool) -> Node:
    """The tree with its leaves replaced; inside: under an even number of complements."""
    if isinstance(node, Undecided):
        return leaf(node.name, inside)
    if isinstance(node, Complement):
        part = _replaced(node.args[0], leaf, not inside)
        return node if part is node.args[0] else complement(part)
    if not isinstance(node, Alternate | Intersect):
        return node
    parts = [_replaced(part, leaf, inside) for part in node.args]
    if all(new is old for new, old in zip(parts, node.args, strict=True)):
        return node
    return (alternate if isinstance(node, Alternate) else intersect)(*parts)
