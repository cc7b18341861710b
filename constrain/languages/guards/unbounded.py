"""Places from which a value can still become any number of values, or more than a text can hold, whatever was seen.

The idea: finitely many values were seen. So a value that can become infinitely many ones cannot run into a dead end.
It can if a string or a number in it is not finished and takes one more byte without leaving its grammar's state: that
byte can be repeated, and each time gives another value. Nor can one that can become `MANY` ones: an integer with some
digits to come, since texts that differ in a digit, or in a plain character, are different values. Such a place is
looked for ahead, inside of the item or the name that must differ, along the bytes that the grammar allows. The answer
depends on the grammar's state and on the kinds of the open containers, not on values, so it is remembered.

    mode    of the JSON reader; NAMED: inside a name
    kinds   the open containers up to the item, innermost last; none at a name that must differ: OBJECT, ARRAY,
            SET (an array whose items must differ: none is completed on the way), FIXED (nor is the array closed)

Cost: some microseconds for each byte on the way, once for each place. Limit: after `MOST` places the answer is no, as
for languages that have no such place: then the engine looks at the values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from constrain.languages.guards.json_reader import AFTER, COLON, NAME, SCALAR, TEXT, VALUE, JsonState, OpenContainer

MOST = 64
MANY = 1 << 32  # values; no text has so many items
STEPS, WIDTH = 32, 4  # bytes that are counted along, and states at a time
NAMED = 6
OBJECT, ARRAY, SET, FIXED = b"OASF"
QUOTE, BACKSLASH = b'"\\'
DIGITS = frozenset(b"123456789")
PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\')
EXPONENT = frozenset(b"eE")
SPACE = frozenset(b" \t\n\r")

Ways = Iterator[tuple[bytes, int]]  # bytes, and the configuration after any one of them


class Place(NamedTuple):
    """A place: a configuration of the grammar, and what the module describes."""

    configuration: int
    mode: int
    kinds: bytes


def place_of(configuration: int, here: JsonState, item: int) -> Place | None:
    """The place of a text; None: inside an escape or an exponent, where more bytes need not be another value.

    item: The number of open containers inside of the item that must differ.
    """
    mode, stack, raw, _ = here
    if (mode == SCALAR and EXPONENT & set(raw)) or (mode == TEXT and b"\\" in raw[-6:]):
        return None
    kinds = bytearray()
    for _ in range(item):
        frame, stack = stack  # type: ignore[misc]
        kinds.append(_kind(frame))
    if mode == TEXT and here.stack is not None and here.stack[0].is_object and here.stack[0].name is None:
        mode = NAMED
    return Place(configuration, mode, bytes(reversed(kinds)))


def _kind(frame: OpenContainer) -> int:
    if frame.is_object:
        return OBJECT
    if frame.place is not None and frame.place.repeats:
        return FIXED
    return SET if frame.unique else ARRAY


class Unbounded:
    """The places of one grammar that were asked for. ways: the bytes that follow a configuration."""

    def __init__(self, ways: Callable[[int], Ways]) -> None:
        self.ways = ways
        self.known: dict[Place, bool] = {}
        self._varied: dict[tuple[int, bool], bool] = {}

    def __contains__(self, place: Place) -> bool:
        known = self.known.get(place)
        return self._look(place) if known is None else known

    def _look(self, start: Place) -> bool:
        visited = {start}
        path = [start]
        steps = [self._steps(start)]
        while steps and len(visited) < MOST:
            if self.known.get(path[-1]) or self._varies(path[-1]):
                self.known.update(dict.fromkeys(path, True))
                return True
            for place in steps[-1]:
                if place not in visited and self.known.get(place) is not False:
                    visited.add(place)
                    path.append(place)
                    steps.append(self._steps(place))
                    break
            else:
                path.pop()
                steps.pop()
        self.known.update(dict.fromkeys([start] if steps else visited, False))
        return False

    def _varies(self, place: Place) -> bool:
        """True if the string or number under way can become `MANY` values."""
        if place.mode not in (TEXT, NAMED, SCALAR):
            return False
        key = place.configuration, place.mode == SCALAR
        if key not in self._varied:
            self._varied[key] = self._is_varied(*key)
        return self._varied[key]

    def _is_varied(self, start: int, is_number: bool) -> bool:
        """True if a byte that leads back can be repeated, or `MANY` texts of one length may follow.

        The bytes make other values: digits but 0, or plain characters. Only the states that most texts lead to are
        followed.
        """
        values, counts = DIGITS if is_number else PLAIN, {start: 1}
        for _ in range(STEPS):
            following: Counter[int] = Counter()
            for configuration, count in counts.items():
                for alike, after in self.ways(configuration):
                    different = len(values.intersection(alike))
                    if different and after == configuration:
                        return True
                    if different:
                        following[after] += count * different
            if following.total() >= MANY:
                return True
            counts = dict(following.most_common(WIDTH))
        return False

    def _steps(self, place: Place) -> Iterator[Place]:
        """The places after one byte, with what matters to the reader: one byte for each of its meanings."""
        for alike, after in self.ways(place.configuration):
            meanings: set[int] = set()
            for byte in alike:
                reached = self._next_state(place.mode, place.kinds, byte)
                if reached is not None and reached[0] not in meanings:
                    meanings.add(reached[0])
                    yield Place(after, *reached)

    def _next_state(self, mode: int, kinds: bytes, byte: int) -> tuple[int, bytes] | None:
        """(mode, kinds) after a byte; None: not on the way."""
        if mode in (TEXT, NAMED):
            if byte == QUOTE:
                return _completed(kinds) if mode == TEXT else (COLON, kinds) if kinds else None
            return None if byte == BACKSLASH else (mode, kinds)
        if mode == SCALAR and byte not in SPACE and byte not in b",]}":
            return None if byte in EXPONENT else (mode, kinds)
        if mode == SCALAR:
            completed = _completed(kinds)
            if completed is None or byte in SPACE:
                return completed
            mode, kinds = completed
        return (mode, kinds) if byte in SPACE else _after_punctuation(mode, kinds, byte)


def _after_punctuation(mode: int, kinds: bytes, byte: int) -> tuple[int, bytes] | None:
    """(mode, kinds) after a byte outside of strings and scalars."""
    if byte == QUOTE:
        return (TEXT if mode == VALUE else NAMED), kinds
    if byte == ord(":"):
        return VALUE, kinds
    if byte == ord(","):
        return (NAME if kinds[-1] == OBJECT else VALUE), kinds
    if byte == ord("{"):
        return NAME, kinds + bytes((OBJECT,))
    if byte == ord("["):
        return VALUE, kinds + bytes((FIXED,))
    if byte in b"]}":
        return _completed(kinds[:-1]) if kinds and kinds[-1] != FIXED else None
    return (SCALAR, kinds) if mode == VALUE else None


def _completed(kinds: bytes) -> tuple[int, bytes] | None:
    """(mode, kinds) after a value."""
    return (AFTER, kinds) if kinds and kinds[-1] in (OBJECT, ARRAY) else None
