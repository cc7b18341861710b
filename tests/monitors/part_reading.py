"""A text with parts, read by the definition: in all ways, each part by a matcher of its own constraint alone.

    Reading.of((b"Answer: ", Part(query), b"."))

A position is what is left to read. Where a part may end, it may go on too, so a text has several positions; it may go
on if one of them may. Nothing of the library's own readings (masks/engine/regions) is used.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import constrain

# The characters that an escape `\\u` may write here: controls, Latin, and one of each three first digits.
WRITTEN = [code for code in {*range(0x20), *range(0x7F, 0x100), *range(0x105, 0x10000, 0x10)} if code >> 11 != 0x1B]
SHORT = {letter: json.loads(f'"\\{letter}"') for letter in '"\\bfnrt'}
SPELLED = {
    **{f"\\{letter}": meant for letter, meant in SHORT.items()},
    **{f"\\u{code:04x}": chr(code) for code in WRITTEN if chr(code) not in SHORT.values()},
    "\\ud83d\\ude00": "\U0001f600",
}


class Part(NamedTuple):
    """A text of a constraint."""

    constraint: Any


class Quoted(NamedTuple):
    """A JSON string whose value is a text of a constraint."""

    constraint: Any


class Choice(NamedTuple):
    """One of several sequences."""

    ways: tuple[Any, ...]


class Many(NamedTuple):
    """Any number of copies of a sequence."""

    copy: tuple[Any, ...]


class Inside(NamedTuple):
    """A position inside of a part: its matcher, and in a JSON string the escape that was begun."""

    matcher: Any
    escape: str | None


@functools.cache
def compiled(constraint: Any) -> Any:
    return constrain.compile(constraint, constrain.Vocabulary.of_bytes())


def expanded(rest: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The positions at the beginning of a sequence: nothing is left, or a byte comes next, or a part."""
    if not rest:
        yield ()
        return
    head, *more = rest
    tail = tuple(more)
    if isinstance(head, bytes):
        yield from expanded(tail) if not head else [rest]
    elif isinstance(head, Choice):
        for way in head.ways:
            yield from expanded((*way, *tail))
    elif isinstance(head, Many):
        yield from expanded(tail)
        yield from expanded((*head.copy, head, *tail))
    elif isinstance(head, Quoted):
        yield (b'"', Inside(compiled(head.constraint).matcher(), ""), b'"', *tail)
    elif isinstance(head, Part):
        yield from expanded((Inside(compiled(head.constraint).matcher(), None), *tail))
    else:
        yield rest
        if not head.escape and head.matcher.is_accepting():
            yield from expanded(tail)


class Reading(NamedTuple):
    """All positions of a text."""

    positions: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, whole: tuple[Any, ...]) -> Reading:
        return cls(tuple(expanded(whole)))

    def after(self, text: bytes) -> Reading:
        reading = self
        for byte in text:
            reading = Reading(tuple(one for position in reading.positions for one in stepped(position, byte)))
        return reading

    @property
    def goes_on(self) -> bool:
        return bool(self.positions)

    @property
    def may_end(self) -> bool:
        return () in self.positions


def stepped(position: tuple[Any, ...], byte: int) -> Iterator[tuple[Any, ...]]:
    """The positions after a byte."""
    if not position:
        return
    head, *tail = position
    if isinstance(head, bytes):
        if head[0] == byte:
            yield from expanded((head[1:], *tail))
    elif head.escape is None:
        matcher = head.matcher.fork()
        if matcher.advance_bytes(bytes([byte])):
            yield from expanded((Inside(matcher, None), *tail))
    else:
        after = in_string(head, byte)
        if after is not None:
            yield from expanded((after, *tail))


def in_string(inside: Inside, byte: int) -> Inside | None:
    """A position in a JSON string after a byte; None: no value goes on so."""
    matcher = inside.matcher.fork()
    if not inside.escape and byte != ord("\\"):
        plain = byte >= 0x20 and byte != ord('"')
        return Inside(matcher, "") if plain and matcher.advance_bytes(bytes([byte])) else None
    escape = inside.escape + chr(byte)
    digits = escape[:2] + escape[2:].lower()
    if digits in SPELLED or (len(escape) == 6 and digits[:4] not in ("\\ud8", "\\ud9", "\\uda", "\\udb")):
        try:
            meant = json.loads(f'"{escape}"')
        except ValueError:
            return None
        written = digits in SPELLED or (meant >= "\x7f" and not "\ud800" <= meant < "\ue000")
        return Inside(matcher, "") if written and matcher.advance_bytes(meant.encode()) else None
    begun = (meant for spelled, meant in SPELLED.items() if spelled.startswith(digits))
    return Inside(matcher, escape) if any(matcher.fork().advance_bytes(meant.encode()) for meant in begun) else None
