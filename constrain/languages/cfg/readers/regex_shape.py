"""Finds lazy quantifiers and lookaround in a terminal's regex, and whether lookaround reaches beyond its edges.

Two methods: `_PIECE` scans the text of any regex, also of a fragment; the functions on whole terminals walk the tree of
Python's own `re` parser. Cost: linear. If `re` cannot parse a pattern, the answer is the cautious one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

try:
    from re import _parser
except ImportError:  # Python 3.10
    import sre_parse as _parser

ENDLESS = int(_parser.MAXREPEAT)  # "no upper bound" of a repetition
# One piece of a regex: an escaped character, a character class, a group's opening, a quantifier, or any character.
_PIECE = re.compile(
    r"(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<open>\((?:\?(?:<?[=!]|[^()]*?[:>)])?)?)"
    r"|(?P<quantifier>(?:[*+?]|\{\d*,?\d*\})(?P<lazy>\?)?)|(?P<other>.)",
    re.DOTALL,
)
_ASSERTIONS = {"(?=", "(?!", "(?<=", "(?<!", r"\b", r"\B", r"\A", r"\Z", "^", "$"}


def is_lazy(pattern: str) -> bool:
    """True if the regex has a lazy quantifier."""
    return any(piece["lazy"] for piece in _PIECE.finditer(pattern))


def needs_neighbours(pattern: str) -> bool:
    """True if the regex has an assertion, so that its meaning depends on its neighbours."""
    return any(piece[0] in _ASSERTIONS for piece in _PIECE.finditer(pattern))


def sees_outside(pattern: str) -> tuple[int, int]:
    """The number of characters (before, after) a terminal's text on which its assertions depend; 2 means 2 or more.

    A lookahead from the inside that may run over the end, as in `(?!if\\b)\\w+`, does not count: for it the text ends
    with the terminal.
    """
    parsed = parse_tree(pattern)
    if parsed is None:
        return 2, 2
    return _asserts(parsed, leading=True), _asserts(parsed, leading=False)


def has_greedy_after_lazy(pattern: str) -> bool:
    """True if a lazy quantifier is followed by a part that is neither lazy nor of fixed length."""
    parsed = parse_tree(pattern)
    return parsed is None or _mixes(parsed, False)[1]


def split_after_lazy(pattern: str) -> tuple[str, str]:
    """Split a pattern (head, tail) after its lazy parts and the fixed-length parts behind them, as in `".*?"` + `i?`.

    The tail may match nothing, so the first end of the head does not depend on it. The tail is "" if no split exists.
    """
    items = _items(pattern)
    if len(items) == 1 and (group := _group(items[0])):
        opening, inner = group
        head, tail = split_after_lazy(inner)
        return (f"{opening}{head})", f"{opening}{tail})") if tail else (pattern, "")
    lazy = [index for index, item in enumerate(items) if is_lazy(item)]
    cut = lazy[-1] + 1 if lazy else 0
    while cut < len(items) and _has_fixed_length(items[cut]):
        cut += 1
    head, tail = "".join(items[:cut]), "".join(items[cut:])
    parsed = parse_tree(tail)
    if "|" in items or needs_neighbours(tail) or parsed is None or parsed.getwidth()[0] > 0:
        return pattern, ""
    return head, tail


def _items(pattern: str) -> list[str]:
    """The top-level pieces of a pattern, each with its quantifier; a group is one piece, and so is `|`."""
    items: list[str] = []
    depth = 0
    for piece in _PIECE.finditer(pattern):
        if depth or (piece["quantifier"] and items):
            items[-1] += piece[0]
        else:
            items.append(piece[0])
        depth += (piece["open"] is not None and not piece[0].endswith(")")) - (piece[0] == ")")
    return items


def _group(item: str) -> tuple[str, str] | None:
    """(opening, inside) of a piece that is one group without a quantifier and no lookaround; else None."""
    opening = _PIECE.match(item)
    if opening and opening["open"] and opening[0] not in _ASSERTIONS and item.endswith(")"):
        return opening[0], item[opening.end() : -1]
    return None


def _has_fixed_length(item: str) -> bool:
    parsed = parse_tree(item)
    return parsed is not None and parsed.getwidth()[0] == parsed.getwidth()[1] and not needs_neighbours(item)


def parse_tree(pattern: str) -> Any:
    """Return the tree of Python's own parser; None if it refuses the pattern."""
    try:
        return _parser.parse(pattern)
    except re.error:
        return None


def _asserts(parsed: Any, *, leading: bool) -> int:
    """The number of characters that assertions at an edge see beyond it: 0, 1, or 2 for more."""
    characters = 0
    for operation, argument in parsed if leading else reversed(list(parsed)):
        name = str(operation)
        if name == "AT":
            characters = max(characters, 1 if "BOUNDARY" in str(argument) else 2)
            continue
        if name in ("ASSERT", "ASSERT_NOT"):
            if argument[0] == (-1 if leading else 1):
                characters = max(characters, 1 if argument[1].getwidth() == (1, 1) else 2)
            continue
        inner = list(_inner_parts(name, argument))
        characters = max([characters, *(_asserts(part, leading=leading) for part in inner)])
        least = min((part.getwidth()[0] for part in inner), default=1)
        if least * (argument[0] if "REPEAT" in name else 1) > 0:
            break
    return characters


def _inner_parts(name: str, argument: Any) -> Iterable[Any]:
    """The parts of a group, a choice or a repetition in `re`'s tree."""
    if name == "BRANCH":
        return argument[1]
    if name == "SUBPATTERN":
        return [argument[-1]]
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return [argument[2]]
    return [argument] if name == "ATOMIC_GROUP" else []


def _mixes(parsed: Any, lazy: bool) -> tuple[bool, bool]:
    """(whether a lazy quantifier was passed, whether a part of variable length follows one).

    lazy: whether one was passed before the tree.
    """
    for operation, argument in parsed:
        name = str(operation)
        inner = list(_inner_parts(name, argument))
        if name == "BRANCH" and lazy and len({part.getwidth() for part in inner}) > 1:
            return lazy, True
        if name in ("MAX_REPEAT", "POSSESSIVE_REPEAT") and argument[0] != argument[1]:
            if lazy or _mixes(inner[0], False)[0]:
                return lazy, True
        if name == "MIN_REPEAT":
            lazy = True
        if name == "ATOMIC_GROUP":
            return lazy, True
        after = [_mixes(part, lazy) for part in inner]
        if any(mixed for _, mixed in after):
            return lazy, True
        lazy = lazy or any(passed for passed, _ in after)
    return lazy, False
