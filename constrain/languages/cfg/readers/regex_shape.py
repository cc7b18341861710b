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

    A look-ahead that ends with an edge of a word, as in `(?!if\\b)\\w+`, is about the terminal's own text: for it the
    text ends with the terminal.
    """
    parsed = parse_tree(pattern)
    if parsed is None:
        return 2, 2
    return _sees_before(parsed), min(_sees_after(parsed, 0), 2)


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


def _sees_before(parsed: Any) -> int:
    """The number of characters that assertions at the beginning see before it: 0, 1, or 2 for more."""
    characters = 0
    for operation, argument in parsed:
        name = str(operation)
        if name == "AT":
            characters = max(characters, 1 if "BOUNDARY" in str(argument) else 2)
            continue
        if name in ("ASSERT", "ASSERT_NOT"):
            if argument[0] == -1:
                characters = max(characters, 1 if argument[1].getwidth() == (1, 1) else 2)
            continue
        inner = list(_inner_parts(name, argument))
        characters = max([characters, *map(_sees_before, inner)])
        least = min((part.getwidth()[0] for part in inner), default=1)
        if least * (argument[0] if "REPEAT" in name else 1) > 0:
            break
    return characters


def _sees_after(parsed: Any, following: int) -> int:
    """The number of characters that look-ahead may see beyond a terminal's end.

    following: the least number of characters of the terminal behind this part of it.
    """
    seen = 0
    for operation, argument in reversed(list(parsed)):
        name = str(operation)
        if name == "AT" and not following:
            seen = max(seen, 1 if "BOUNDARY" in str(argument) else 2)
        elif name in ("ASSERT", "ASSERT_NOT") and argument[0] == 1 and not (following and _ends_a_word(argument[1])):
            seen = max(seen, _reach(argument[1]) - following)
        inner = list(_inner_parts(name, argument))
        seen = max([seen, *(_sees_after(part, following) for part in inner)])
        least = min((part.getwidth()[0] for part in inner), default=name not in ("AT", "ASSERT", "ASSERT_NOT"))
        following += least * (argument[0] if "REPEAT" in name else 1)
    return seen


def _reach(parsed: Any) -> int:
    """The number of characters that a look-ahead may see."""
    passed = reach = 0
    for operation, argument in parsed:
        name = str(operation)
        if name == "AT":
            reach = max(reach, passed + (1 if "BOUNDARY" in str(argument) else 2))
        elif name in ("ASSERT", "ASSERT_NOT"):
            reach = max(reach, passed + (_reach(argument[1]) if argument[0] == 1 else 0))
        else:
            inner = list(_inner_parts(name, argument))
            copies = int(argument[1]) if "REPEAT" in name else 1
            before = passed + max((part.getwidth()[1] for part in inner), default=0) * (copies - 1)
            reach = max([reach, *(before + _reach(part) for part in inner)])
            passed += max((part.getwidth()[1] for part in inner), default=1) * copies
        reach = max(reach, passed)
    return reach


def _ends_a_word(parsed: Any) -> bool:
    r"""True if a pattern ends with `\b`, `$`, `\Z` or `(?![...])`, in each of its alternatives."""
    if not len(parsed):
        return False
    operation, argument = list(parsed)[-1]
    name = str(operation)
    if name == "AT":
        return "NON_BOUNDARY" not in str(argument) and "BEGINNING" not in str(argument)
    if name == "ASSERT_NOT":
        return argument[0] == 1 and argument[1].getwidth() == (1, 1)
    return name in ("BRANCH", "SUBPATTERN") and all(map(_ends_a_word, _inner_parts(name, argument)))


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
