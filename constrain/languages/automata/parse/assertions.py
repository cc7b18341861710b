r"""Pattern trees: regular languages with zero-width assertions between them.

The idea: an assertion is a condition on the whole text on one side of its place. `^` means "nothing before", `(?=B)`
means "the text after this place is in B·ANY_TEXT", `\b` is a choice of two pairs of assertions. So a pattern is a tree
of sequences, choices and loops over plain languages (`Node`) and assertions; lookaround.py turns it into one plain
language. The constructors keep a subtree without assertions plain, so most patterns are one `Node` from the start.
"""

from __future__ import annotations

from collections.abc import Sequence as ListOf
from dataclasses import dataclass

from constrain.languages.automata.shape import first_characters, in_sequence, max_length, min_length, mirror, times
from constrain.languages.automata.syntax import (
    ANY_TEXT,
    EMPTY,
    EPSILON,
    Chars,
    Complement,
    Concat,
    Literals,
    Node,
    Ranges,
    alternate,
    concat,
)
from constrain.languages.automata.unicode import intervals


@dataclass(frozen=True)
class Near:
    """The assertion that the adjacent character is in a set. `Near(True, (), True, i)` is the end of the text.

    Attributes:
        ahead: About the character after this place; else about the one before.
        characters: The set.
        or_edge: It also holds if there is no character.
        index: The place in the pattern, for messages.
    """

    ahead: bool
    characters: Ranges
    or_edge: bool
    index: int

    @property
    def language(self) -> Node:
        """The texts on that side for which the assertion holds."""
        one = Chars(self.characters)
        adjacent = concat(one, ANY_TEXT) if self.ahead else concat(ANY_TEXT, one)
        return alternate(adjacent, EPSILON) if self.or_edge else adjacent


@dataclass(frozen=True)
class Look:
    """The assertion that the whole text on one side (`ahead`: after this place) is in a language."""

    ahead: bool
    language: Node
    index: int


@dataclass(frozen=True)
class PatternSequence:
    """The concatenation of the parts."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class PatternChoice:
    """The union of the parts."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Loop:
    """`low` to `high` copies of a body (`high` None: unbounded)."""

    body: Tree
    low: int
    high: int | None


Assertion = Near | Look
Tree = Node | Near | Look | PatternSequence | PatternChoice | Loop


def start(index: int) -> Near:
    """The assertion that the text starts here."""
    return Near(False, (), True, index)


def end(index: int) -> Near:
    """The assertion that the text ends here."""
    return Near(True, (), True, index)


def word_boundary(word: Ranges, index: int) -> Tree:
    r"""The assertion `\b`: a word character on exactly one side."""
    other = intervals.negate(word)
    return choice(
        [
            sequence([Near(False, word, False, index), Near(True, other, True, index)]),
            sequence([Near(False, other, True, index), Near(True, word, False, index)]),
        ]
    )


def not_word_boundary(word: Ranges, index: int) -> Tree:
    r"""The assertion `\B`: word characters on both sides, or on none."""
    other = intervals.negate(word)
    return choice(
        [
            sequence([Near(False, word, False, index), Near(True, word, False, index)]),
            sequence([Near(False, other, True, index), Near(True, other, True, index)]),
        ]
    )


def assertion(ahead: bool, language: Node, index: int) -> Tree:
    """The simplest form of the assertion that the whole text on one side is in a language."""
    if language == ANY_TEXT:
        return EPSILON
    if language == EMPTY:
        return EMPTY
    negative = isinstance(language, Complement)
    plain = language.args[0] if negative else language
    if plain == EPSILON:
        return Near(ahead, intervals.ANY if negative else (), not negative, index)
    if isinstance(plain, Concat) and len(plain.args) == 2:
        near, rest = plain.args if ahead else reversed(plain.args)
        if rest == ANY_TEXT and isinstance(near, Chars | Literals) and max_length(near) == min_length(near) == 1:
            ranges = first_characters(near)
            return Near(ahead, intervals.negate(ranges) if negative else ranges, negative, index)
    return Look(ahead, language, index)


def sequence(parts: ListOf[Tree]) -> Tree:
    """The concatenation of the parts; adjacent plain parts become one language."""
    merged: list[Tree] = []
    run: list[Node] = []
    for part in parts:
        for item in part.parts if isinstance(part, PatternSequence) else (part,):
            if isinstance(item, Node):
                run.append(item)
            else:
                merged += [in_sequence(run)] if run else []
                merged.append(item)
                run = []
    if not merged:
        return in_sequence(run)
    merged += [in_sequence(run)] if run else []
    if EMPTY in merged:
        return EMPTY
    merged = [part for part in merged if part != EPSILON]
    return merged[0] if len(merged) == 1 else PatternSequence(tuple(merged))


def anywhere(tree: Tree) -> Tree:
    """The texts in which a pattern is found. PERF: most patterns say both ends, and then nothing is left to solve."""
    parts = list(tree.parts) if isinstance(tree, PatternSequence) else [tree]
    is_first, is_last = _is_edge(parts[0], ahead=False), _is_edge(parts[-1], ahead=True)
    inner = parts[is_first : len(parts) - is_last]
    found = sequence([*[ANY_TEXT] * (not is_first), *inner, *[ANY_TEXT] * (not is_last)])
    return found if isinstance(found, Node) else sequence([ANY_TEXT, tree, ANY_TEXT])


def _is_edge(tree: Tree, ahead: bool) -> bool:
    """True if a part is the assertion of the end, or else the beginning, of the whole text."""
    return isinstance(tree, Near) and tree.ahead is ahead and tree.or_edge and not tree.characters


def choice(parts: ListOf[Tree]) -> Tree:
    """The union of the parts; plain parts become one language."""
    plain = [part for part in parts if isinstance(part, Node)]
    other = [part for part in parts if not isinstance(part, Node)]
    union = alternate(*plain)
    merged = other if union == EMPTY else [*other, union]
    return PatternChoice(tuple(merged)) if len(merged) > 1 else merged[0] if merged else EMPTY


def loop(body: Tree, low: int, high: int | None) -> Tree:
    """`low` to `high` copies. A bare assertion is needed once (`(?=a){2}`) or not at all (`(?=a)*`)."""
    if isinstance(body, Node):
        return times(body, low, high)
    if high == 0 or (isinstance(body, Near | Look) and low == 0):
        return EPSILON
    return body if isinstance(body, Near | Look) or low == high == 1 else Loop(body, low, high)


def mirror_tree(tree: Tree) -> Tree:
    """The reversal of a pattern: it matches the same texts read backwards."""
    if isinstance(tree, Node):
        return mirror(tree)
    if isinstance(tree, Near):
        return Near(not tree.ahead, tree.characters, tree.or_edge, tree.index)
    if isinstance(tree, Look):
        return Look(not tree.ahead, mirror(tree.language), tree.index)
    if isinstance(tree, Loop):
        return Loop(mirror_tree(tree.body), tree.low, tree.high)
    parts = tuple(map(mirror_tree, tree.parts))
    return PatternSequence(parts[::-1]) if isinstance(tree, PatternSequence) else PatternChoice(parts)
