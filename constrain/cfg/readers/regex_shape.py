"""What a terminal's regex asks of its surroundings: lazy quantifiers, look-around, and whether they reach beyond its
edges.

Two views: `_PIECE` steps over the text of a regex (any regex, also a fragment), and the functions on whole terminals
walk the tree that Python's own `re` makes of it. Cost: linear. When `re` cannot read a pattern, the answer is the
cautious one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

try:
    from re import _parser
except ImportError:  # Python 3.10
    import sre_parse as _parser

# One step: an escaped character, a character class, a group's opening, a quantifier, or anything else.
_PIECE = re.compile(
    r"(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<open>\((?:\?(?:<?[=!]|[^()]*?[:>)])?)?)"
    r"|(?P<quantifier>(?:[*+?]|\{\d*,?\d*\})(?P<lazy>\?)?)|(?P<other>.)",
    re.DOTALL,
)
_ASSERTIONS = {"(?=", "(?!", "(?<=", "(?<!", r"\b", r"\B", r"\A", r"\Z", "^", "$"}


def is_lazy(pattern: str) -> bool:
    """Does the regex have a lazy quantifier?"""
    return any(piece["lazy"] for piece in _PIECE.finditer(pattern))


def needs_neighbours(pattern: str) -> bool:
    """Does the regex have an assertion, so that its meaning depends on what stands around it?"""
    return any(piece[0] in _ASSERTIONS for piece in _PIECE.finditer(pattern))


def sees_outside(pattern: str) -> tuple[int, int]:
    """How many characters before its first and after its last an assertion of the terminal may depend on; 2: or more.

    A look-ahead from inside that may run over the end, as in `(?!if\\b)\\w+`, does not count: it sees the end of the
    terminal.
    """
    parsed = _parse(pattern)
    if parsed is None:
        return 2, 2
    return _asserts(parsed, leading=True), _asserts(parsed, leading=False)


def has_greedy_after_lazy(pattern: str) -> bool:
    """Is a lazy quantifier followed by a part that is neither lazy nor of fixed length?"""
    parsed = _parse(pattern)
    return parsed is None or _mixes(parsed, False)[1]


def split_after_lazy(pattern: str) -> tuple[str, str]:
    """(head, tail) of a pattern: the tail follows all lazy parts and what they stop at, and may match nothing.

    Where the head first ends does not depend on the tail, as in `".*?"i?`. The tail is "" if there is no such place.
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
    parsed = _parse(tail)
    if "|" in items or needs_neighbours(tail) or parsed is None or parsed.getwidth()[0] > 0:
        return pattern, ""
    return head, tail


def _items(pattern: str) -> list[str]:
    """The pieces of a pattern outside of groups, each with its quantifier; `|` is a piece."""
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
    """(opening, inside) of a piece that is one group without a quantifier; no look-around."""
    opening = _PIECE.match(item)
    if opening and opening["open"] and opening[0] not in _ASSERTIONS and item.endswith(")"):
        return opening[0], item[opening.end() : -1]
    return None


def _has_fixed_length(item: str) -> bool:
    parsed = _parse(item)
    return parsed is not None and parsed.getwidth()[0] == parsed.getwidth()[1] and not needs_neighbours(item)


def _parse(pattern: str) -> Any:
    try:
        return _parser.parse(pattern)
    except re.error:
        return None


def _asserts(parsed: Any, *, leading: bool) -> int:
    """How far the assertions at an edge look over it: 0 characters, 1, or 2 for more."""
    found = 0
    for operation, argument in parsed if leading else reversed(list(parsed)):
        name = str(operation)
        if name == "AT":
            found = max(found, 1 if "BOUNDARY" in str(argument) else 2)
            continue
        if name in ("ASSERT", "ASSERT_NOT"):
            if argument[0] == (-1 if leading else 1):
                found = max(found, 1 if argument[1].getwidth() == (1, 1) else 2)
            continue
        inner = list(_inside(name, argument))
        found = max([found, *(_asserts(part, leading=leading) for part in inner)])
        least = min((part.getwidth()[0] for part in inner), default=1)
        if least * (argument[0] if "REPEAT" in name else 1) > 0:
            break
    return found


def _inside(name: str, argument: Any) -> Iterable[Any]:
    """The parts of a group, a choice or a repetition of `re`'s tree."""
    if name == "BRANCH":
        return argument[1]
    if name == "SUBPATTERN":
        return [argument[-1]]
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return [argument[2]]
    return [argument] if name == "ATOMIC_GROUP" else []


def _mixes(parsed: Any, lazy: bool) -> tuple[bool, bool]:
    """lazy: was a lazy quantifier passed? Returns (was one passed afterwards, does a part of variable length follow
    one)."""
    for operation, argument in parsed:
        name = str(operation)
        inner = list(_inside(name, argument))
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
