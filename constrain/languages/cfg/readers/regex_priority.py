r"""The texts that a lazy regex prefers: those at whose end `re.match`, on the text alone, stops.

The idea: backtracking tries ways in an order, and the first that fits wins. Instead, all ways are followed at once, in
that order, character by character (R. Cox, "Regular Expression Matching: the Virtual Machine Approach", 2009): where a
way has ended, those behind it in the list can win no more and are dropped. The lists are the states of a finite
automaton; a text is preferred if some way ends with it. Look-around of one character is a condition on a way.

Example: in `/(\\/|[^/])*?/[a-z]*` the escaped slash is tried before the end, so `/\/` goes on after its second slash.

Cost: Python; some µs for each way in each state. Not followed, so None: back-references, atomic groups, anchors, longer
look-around, repetition of what may be empty, more than `MAX_STATES` states.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from constrain.errors import RegexError
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.paths import combined
from constrain.languages.automata.shape import first_characters, max_length, min_length
from constrain.languages.automata.syntax import EPSILON, Node, Ranges, chars
from constrain.languages.automata.unicode import intervals
from constrain.languages.cfg.readers.regex_shape import ENDLESS, parse_tree
from constrain.limits import tick

MAX_STATES = 100
MAX_COPIES = 100
CATEGORIES = {"DIGIT": "d", "NOT_DIGIT": "D", "SPACE": "s", "NOT_SPACE": "S", "WORD": "w", "NOT_WORD": "W"}


class Sees(NamedTuple):
    """A condition on the character beside a place; `or_edge`: it also holds if there is none."""

    ahead: bool
    characters: Ranges
    or_edge: bool


class Alternatives(NamedTuple):
    """One of some sequences, the first one first."""

    parts: tuple[Items, ...]


class Copies(NamedTuple):
    """`low` to `high` copies of a sequence; `lazy`: few rather than many."""

    body: Items
    low: int
    high: int
    lazy: bool


Item = Ranges | Sees | Alternatives | Copies
Items = tuple["Item", ...]


class Way(NamedTuple):
    """A way to go on: a character of a set, then the items; no set: the end, under a condition."""

    characters: Ranges | None
    rest: Items
    condition: Sees | None


State = tuple[Way, ...]


class _NotFollowed(Exception):
    """The pattern has a part of a kind that is not followed."""


def preferred_texts(pattern: str) -> Node | None:
    """The texts that a pattern in Python's syntax prefers; None if it has a part that is not followed."""
    parsed = parse_tree(pattern)
    if parsed is None:
        return None
    try:
        items = tuple(_items(parsed, parsed.state.flags))
        return _language(items)
    except (_NotFollowed, RegexError, RecursionError):
        return None


def _items(parsed: Any, flags: int) -> Iterator[Item]:
    """Yield the parts of a sequence in `re`'s tree."""
    for operation, argument in parsed:
        tick()
        name = str(operation)
        if name == "SUBPATTERN":
            yield from _items(argument[3], (flags | argument[1]) & ~argument[2])
        elif name == "BRANCH":
            yield Alternatives(tuple(tuple(_items(part, flags)) for part in argument[1]))
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, body = argument
            if int(low) > MAX_COPIES or (body.getwidth()[0] == 0 and int(high) > 1):
                raise _NotFollowed
            yield Copies(tuple(_items(body, flags)), int(low), int(high), name == "MIN_REPEAT")
        elif name in ("ASSERT", "ASSERT_NOT"):
            body = tuple(_items(argument[1], flags))
            if len(body) != 1 or isinstance(body[0], (Sees, Alternatives, Copies)):
                raise _NotFollowed
            negative = name == "ASSERT_NOT"
            yield Sees(argument[0] > 0, intervals.negate(body[0]) if negative else body[0], negative)
        else:
            yield _characters(name, argument, flags)


def _characters(name: str, argument: Any, flags: int) -> Ranges:
    """The characters of a leaf of `re`'s tree."""
    node = parse_python(_written(name, argument), flags=flags & (re.IGNORECASE | re.ASCII | re.DOTALL))
    if not min_length(node) == max_length(node) == 1:
        raise _NotFollowed
    return first_characters(node)


def _written(name: str, argument: Any) -> str:
    """A leaf of `re`'s tree, as a pattern."""
    if name == "LITERAL":
        return f"\\U{argument:08x}"
    if name == "RANGE":
        return f"\\U{argument[0]:08x}-\\U{argument[1]:08x}"
    if name == "CATEGORY" and (short := CATEGORIES.get(str(argument).removeprefix("CATEGORY_"))):
        return f"\\{short}"
    if name == "NOT_LITERAL":
        return f"[^\\U{argument:08x}]"
    if name == "IN":
        return f"[{''.join('^' if str(op) == 'NEGATE' else _written(str(op), arg) for op, arg in argument)}]"
    if name == "ANY":
        return "."
    raise _NotFollowed


def _language(items: Items) -> Node | None:
    """The language of the automaton whose states are lists of ways."""
    classes = _classes(_sets(items))
    start = tuple(_expanded([items], None))
    numbers: dict[State, int] = {start: 0}
    states = [start]
    edges: dict[int, dict[int, tuple[Node, int]]] = {-2: {0: (EPSILON, 1)}}
    for number, state in enumerate(states):  # grows
        targets: dict[int, list[tuple[int, int]]] = {}
        for ranges in classes:
            after = _step(state, ranges[0][0])
            if not after:
                continue
            if after not in numbers:
                numbers[after] = len(states)
                states.append(after)
                if len(states) > MAX_STATES:
                    return None
            targets.setdefault(numbers[after], []).extend(ranges)
        edges[number] = {target: (chars(ranges), 1) for target, ranges in targets.items()}
        if any(way.characters is None and (way.condition is None or way.condition.or_edge) for way in state):
            edges[number][-3] = (EPSILON, 1)
    return combined(edges)


def _sets(items: Items) -> Iterator[Ranges]:
    """Yield every set of characters of a sequence."""
    for item in items:
        if isinstance(item, Sees):
            yield item.characters
        elif isinstance(item, Alternatives):
            for part in item.parts:
                yield from _sets(part)
        elif isinstance(item, Copies):
            yield from _sets(item.body)
        else:
            yield item


def _classes(sets: Iterable[Ranges]) -> list[Ranges]:
    """The characters in classes that no set tells apart."""
    classes: list[Ranges] = [intervals.ANY]
    for each in dict.fromkeys(sets):
        parts = [part for old in classes for part in (intervals.common(old, each), intervals.subtract(old, each))]
        classes = [part for part in parts if part]
    return classes


def _step(state: State, character: int) -> State:
    """The ways after a character."""
    followed: list[Items] = []
    for way in state:
        if way.characters is None:
            if way.condition is None or _has(way.condition.characters, character):
                break  # the match ended before this character: what comes behind has lost
        elif _has(way.characters, character):
            followed.append(way.rest)
    return tuple(_expanded(followed, character))


def _expanded(starts: list[Items], before: int | None) -> dict[Way, None]:
    """The ways that begin with some sequences, in their order, up to the first that ends in any case.

    before: the character before this place.
    """
    ways: dict[Way, None] = {}
    stack: list[tuple[Items, Sees | None]] = [(items, None) for items in reversed(starts)]
    while stack:
        tick()
        items, condition = stack.pop()
        if not items:
            ways[Way(None, (), condition)] = None
            if condition is None:
                break
            continue
        first, rest = items[0], items[1:]
        if isinstance(first, Alternatives):
            stack += [(part + rest, condition) for part in reversed(first.parts)]
        elif isinstance(first, Copies):
            stack += [(branch + rest, condition) for branch in reversed(list(_branches(first)))]
        elif isinstance(first, Sees) and not first.ahead:
            if first.or_edge if before is None else _has(first.characters, before):
                stack.append((rest, condition))
        elif isinstance(first, Sees):
            stack.append((rest, first if condition is None else _both(first, condition)))
        else:
            ranges = first if condition is None else intervals.common(first, condition.characters)
            if ranges:
                ways[Way(ranges, rest, None)] = None
    return ways


def _branches(copies: Copies) -> Iterator[Items]:
    """Yield the ways to begin some copies, the preferred one first."""
    body, low, high, lazy = copies
    more = (*body, Copies(body, max(low - 1, 0), high if high >= ENDLESS else high - 1, lazy))
    if low > 0 or high == 0:
        yield more if high else ()
    else:
        yield from ((), more) if lazy else (more, ())


def _both(one: Sees, other: Sees) -> Sees:
    """The conjunction of two conditions."""
    return Sees(True, intervals.common(one.characters, other.characters), one.or_edge and other.or_edge)


def _has(ranges: Ranges, character: int) -> bool:
    """True if a character is in a set."""
    return any(low <= character <= high for low, high in ranges)
