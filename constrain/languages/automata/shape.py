"""Properties of a language that follow from its syntax tree, without an automaton: lengths, beginnings, reversal.

Cost: linear in the tree. Limits: for intersections and complements, lengths and first characters are only bounds.
`nullable` is exact. `mirror` is exact on trees without `JsonString`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

from constrain.languages.automata.syntax import (
    ANY_CHAR,
    ANY_TEXT,
    Acyclic,
    Alternate,
    Chars,
    Complement,
    Concat,
    Intersect,
    JsonString,
    Literals,
    Node,
    Ranges,
    Repeat,
    alternate,
    chars,
    complement,
    concat,
    intersect,
    literal,
    literals,
    repeat,
)
from constrain.languages.automata.unicode import intervals


def nullable(node: Node) -> bool:
    """True if the language contains the empty text."""
    if isinstance(node, Literals):
        return "" in node.texts
    if isinstance(node, Acyclic):
        return node.accepting[0]
    if isinstance(node, Repeat):
        return node.low == 0 or nullable(node.node)
    if isinstance(node, Complement):
        return not nullable(node.args[0])
    if isinstance(node, Alternate):
        return any(map(nullable, node.args))
    return isinstance(node, Concat | Intersect) and all(map(nullable, node.args))


def endless(node: Node) -> bool:
    """True if it is plain that every beginning of a text of the language is that of infinitely many."""
    if isinstance(node, Concat):
        return endless(node.args[-1])
    if isinstance(node, Alternate):
        return all(map(endless, node.args))
    return isinstance(node, Repeat) and node.high is None and min_length(node.node) > 0


def min_length(node: Node) -> int:
    """A lower bound on the characters of a text of the language."""
    if isinstance(node, Chars):
        return 1
    if isinstance(node, Literals):
        return min(map(len, node.texts))
    if isinstance(node, Concat):
        return sum(map(min_length, node.args))
    if isinstance(node, Alternate):
        return min(map(min_length, node.args))
    if isinstance(node, Repeat):
        return node.low * min_length(node.node)
    if isinstance(node, Intersect):
        return max(map(min_length, node.args))
    return 0 if nullable(node) else 1


def max_length(node: Node) -> int | None:
    """An upper bound on the characters of a text of the language; None: no bound is known."""
    if isinstance(node, Chars):
        return 1
    if isinstance(node, Literals):
        return max(map(len, node.texts))
    if isinstance(node, Repeat):
        longest = max_length(node.node)
        return None if longest is None or node.high is None else longest * node.high
    if isinstance(node, Concat | Alternate | Intersect):
        lengths = [max_length(part) for part in node.args]
        bounds = [length for length in lengths if length is not None]
        if isinstance(node, Intersect):
            return min(bounds, default=None)
        if len(bounds) == len(lengths):
            return sum(bounds) if isinstance(node, Concat) else max(bounds)
    return None


def without_most(node: Node) -> tuple[Node, int | None]:
    """(a language, a number): the texts of the first with at most so many characters are the language; None: all.

    So `SELECT.{0,80}` is the texts of `SELECT.*` with at most 86 characters, which has no states that count. Where the
    number does not tell, as in `.{0,80};.{0,20}` or `(a|bc).{0,80}`, it is the node itself, and its longest text.
    """
    parts = list(map(without_most, node.args)) if isinstance(node, Concat | Alternate | Intersect) else []
    if isinstance(node, Intersect):
        bounds = [most for _, most in parts if most is not None]
        return intersect(*(loose for loose, _ in parts)), min(bounds, default=None)
    counted = [most for (loose, most), part in zip(parts, node.args, strict=False) if loose != part]
    if isinstance(node, Concat) and len(counted) == 1 and counted[0] is not None:
        fixed = [_only_length(part) for (loose, _), part in zip(parts, node.args, strict=True) if loose == part]
        lengths = [length for length in fixed if length is not None]
        if len(lengths) == len(fixed):
            return concat(*(loose for loose, _ in parts)), counted[0] + sum(lengths)
    if isinstance(node, Alternate) and len(set(counted)) == 1 and counted[0] == max_length(node):
        return alternate(*(loose for loose, _ in parts)), counted[0]
    if isinstance(node, Repeat) and node.high is not None and node.high > node.low:
        length = _only_length(node.node)
        unit = chars(first_characters(node.node)) if length == 1 else node.node  # one set: that of all is known as such
        if length:
            return repeat(unit, node.low), length * node.high
    return node, max_length(node)


def _only_length(node: Node) -> int | None:
    """The characters of each text of the language; None: they differ, or it is not plain that they do not."""
    if isinstance(node, Chars):
        return 1
    if isinstance(node, Literals):
        lengths = set(map(len, node.texts))
        return lengths.pop() if len(lengths) == 1 else None
    if isinstance(node, Repeat):
        length = _only_length(node.node)
        return node.low * length if length is not None and node.low == node.high else None
    if isinstance(node, Concat | Alternate):
        parts = [_only_length(part) for part in node.args]
        found = [length for length in parts if length is not None]
        if len(found) < len(parts):
            return None
        return sum(found) if isinstance(node, Concat) else found[0] if len(set(found)) == 1 else None
    return None


def first_characters(node: Node) -> Ranges:
    """A set that contains the first character of every text of the language."""
    if isinstance(node, Chars):
        return node.ranges
    if isinstance(node, Literals):
        return intervals.union((ord(text[0]), ord(text[0])) for text in node.texts if text)
    if isinstance(node, Alternate):
        return intervals.union(*map(first_characters, node.args))
    if isinstance(node, Repeat):
        return first_characters(node.node)
    if isinstance(node, Concat):
        first: Ranges = ()
        for part in node.args:
            first = intervals.union(first, first_characters(part))
            if not nullable(part):
                break
        return first
    if isinstance(node, Intersect):  # the smallest of the parts' sets is a bound
        return min(map(first_characters, node.args), key=lambda ranges: sum(high - low + 1 for low, high in ranges))
    return ((34, 34),) if isinstance(node, JsonString) else intervals.ANY


@lru_cache(maxsize=4096)
def first_text(node: Node) -> str:
    """A text with which every text of the language begins, as far as the tree shows; "" if none is seen."""
    if isinstance(node, Literals):
        return common_start(node.texts)
    if isinstance(node, Chars):
        return _only_text(node) or ""
    if isinstance(node, Concat):
        fixed = [*takewhile(lambda part: _only_text(part) is not None, node.args)]
        return "".join(map(first_text, node.args[: len(fixed) + 1]))
    if isinstance(node, Alternate):
        return common_start([first_text(part) for part in node.args])
    if isinstance(node, Intersect):
        return max((first_text(part) for part in node.args), key=len)
    return first_text(node.node) if isinstance(node, Repeat) and node.low else ""


def common_start(texts: Sequence[str]) -> str:
    """The longest text with which all texts begin; the first and the last in order decide."""
    first, last = min(texts, default=""), max(texts, default="")
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(left for left, _ in same)


def reach(node: Node) -> int | None:
    """The number of leading characters that decide whether a text is in the language; None: no bound is known.

    `B·ANY_TEXT` is decided by as many characters as the longest text of B has; a finite language by one more, since
    the text must also end.
    """
    if node == ANY_TEXT:
        return 0
    if isinstance(node, Concat) and node.args[-1] == ANY_TEXT:
        return max_length(concat(*node.args[:-1]))
    if isinstance(node, Complement):
        return reach(node.args[0])
    if isinstance(node, Alternate | Intersect):
        reaches = [reach(part) for part in node.args]
        bounds = [characters for characters in reaches if characters is not None]
        return max(bounds) if len(bounds) == len(reaches) else None
    longest = max_length(node)
    return None if longest is None else longest + 1


def mirror(node: Node) -> Node:
    """The reversal of the language: its texts read backwards."""
    if isinstance(node, Literals):
        return literals(text[::-1] for text in node.texts)
    if isinstance(node, Concat):
        return concat(*map(mirror, reversed(node.args)))
    if isinstance(node, Alternate):
        return alternate(*map(mirror, node.args))
    if isinstance(node, Intersect):
        return intersect(*map(mirror, node.args))
    if isinstance(node, Repeat):
        return repeat(mirror(node.node), node.low, node.high)
    if isinstance(node, Complement):
        return complement(mirror(node.args[0]))
    return node


def not_empty(node: Node) -> Node:
    """The language without the empty text."""
    if not nullable(node):
        return node
    if isinstance(node, Repeat) and not nullable(node.node):
        return repeat(node.node, 1, node.high)
    if isinstance(node, Literals):
        return literals(text for text in node.texts if text)
    return intersect(node, repeat(ANY_CHAR, 1, None))


def times(node: Node, low: int, high: int | None) -> Node:
    """`low` to `high` copies. Nested repeats are joined if possible: `(x?){9}` is `x{0,9}`, `(x*)*` is `x*`."""
    if isinstance(node, Repeat) and (high is None or high >= 1):
        if node.low == 0 and node.high in (1, None):
            return repeat(node.node, 0, high if node.high == 1 else None)
        if node.low == 1 and node.high is None and low <= 1:
            return repeat(node.node, low, None)
    return repeat(node, low, high)


def in_sequence(parts: list[Node]) -> Node:
    """The concatenation of the parts; adjacent single texts are joined, so that `abc` is one `Literals`."""
    joined: list[Node] = []
    run: list[str] = []
    for part in parts:
        text = _only_text(part)
        if text is not None:
            run.append(text)
        else:
            if run:
                joined.append(literal("".join(run)))
                run = []
            joined.append(part)
    if run:
        joined.append(literal("".join(run)))
    return joined[0] if len(joined) == 1 else concat(*joined)


def _only_text(node: Node) -> str | None:
    if isinstance(node, Literals):
        return node.texts[0] if len(node.texts) == 1 else None
    if not isinstance(node, Chars):
        return None
    only = intervals.single(node.ranges)
    return None if only is None else chr(only)
