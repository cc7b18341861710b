"""A JSON text read byte by byte, with what its containers have held so far.

The idea: the grammar has already seen to it that the text is JSON; this reader only follows strings, brackets and
commas, and collects names and values where somebody asks for them. Its states are immutable. It reads one value, and
nothing after it.

    mode     VALUE   a value comes, or whitespace, or `]`        AFTER   a value is complete
             NAME    a name comes, or whitespace, or `}`         COLON   a name is complete
             TEXT    inside a string                             SCALAR  inside a number, `true`, `false` or `null`
    raw      the bytes of the string (without quotes) or scalar in progress

Values are compared as JSON values (Core 2020-12 section 4.2.2): `key_of_scalar` and the keys of containers are equal
exactly if the values are. Cost: about 0.3 µs a structural byte; a run inside a string is one search.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple, Protocol

from constrain.guards.seen import Seen

VALUE, NAME, TEXT, SCALAR, COLON, AFTER = range(6)
SPACE = frozenset(b" \t\n\r")
WORDS = {word[0]: word for word in (b"true", b"false", b"null")}
_RUN = re.compile(rb'[^"\\]*')
_SCALAR = re.compile(rb"[^\s,\]}]*")


class WatchedPlace(Protocol):
    """What a schema says about the values at one place of a text."""

    @property
    def unique(self) -> bool: ...  # equal items are forbidden, whatever the array

    @property
    def repeats(self) -> bool: ...  # equal items are asked for

    def item(self, i: int) -> WatchedPlace | None: ...
    def member(self, name: str) -> WatchedPlace | None: ...


class Parts:
    """A list that shares its beginning with others: the latest part, and those before it. Equal to itself only."""

    __slots__ = ("before", "part")

    def __init__(self, part: Hashable, before: Parts | None) -> None:
        self.part = part
        self.before = before


class OpenContainer(NamedTuple):
    """An open container.

    is_object; place: what is known of it (None: nothing that matters). seen: the names of an object; the keys of the
    items of an array, if they are compared. name: the latest name. size: items so far. repeated: two were equal.
    parts: its members (name, key) or items' keys so far, if the container's own key will be asked for (`keyed`).
    """

    is_object: bool
    place: WatchedPlace | None
    seen: Seen | None
    keyed: bool
    name: str | None = None
    size: int = 0
    parts: Parts | None = None
    repeated: bool = False

    @property
    def unique(self) -> bool:
        return not self.is_object and self.place is not None and self.place.unique

    @property
    def compares(self) -> bool:
        return not self.is_object and self.seen is not None


Stack = tuple[Any, ...] | None  # (frame, stack below)


class JsonState(NamedTuple):
    """Where a text is; see above. root: what is known of the whole value."""

    mode: int
    stack: Stack
    raw: bytes
    root: WatchedPlace | None


class Repeated(Exception):
    """A name or an item occurs twice, or, where some item has to, none does."""


def read(state: JsonState, text: bytes) -> JsonState:
    """The state after more text. Raises Repeated."""
    mode, stack, raw, root = state
    i, n = 0, len(text)
    while i < n:
        byte = text[i]
        if mode == TEXT:
            end = _end(_RUN, text, i)
            if end < n and text[end] == 0x22 and not _is_escaped(raw + text[i:end]):
                raw += text[i:end]
                i = end + 1
                if stack is not None and stack[0].is_object and stack[0].name is None:
                    mode, stack = COLON, _named(stack, decode(raw))
                else:
                    mode, stack = AFTER, _completed(stack, lambda raw=raw: ("string", decode(raw)))
                raw = b""
            else:
                end = min(n, end + 1)  # a backslash, or a quote after one
                raw = _kept(stack, raw + text[i:end])
                i = end
        elif mode == SCALAR:
            if not raw and text[i] in WORDS:
                _refuse_repeated(stack, WORDS[text[i]])
            end = _end(_SCALAR, text, i)
            raw += text[i:end]
            i = end
            if i < n:
                mode, stack, raw = AFTER, _completed(stack, lambda raw=raw: key_of_scalar(raw)), b""
        elif byte in SPACE:
            i += 1
        elif mode == AFTER and stack is None:  # the value is complete: what follows is no JSON of ours
            break
        elif byte == 0x22:
            mode = TEXT
            i += 1
        elif byte == 0x7B or byte == 0x5B:
            stack = (_opened(stack, root, byte == 0x7B), stack)
            mode = NAME if byte == 0x7B else VALUE
            i += 1
        elif byte == 0x7D or byte == 0x5D:
            frame, below = stack  # type: ignore[misc]
            if not frame.is_object and not frame.repeated and frame.place is not None and frame.place.repeats:
                raise Repeated("no item")
            mode, stack = AFTER, _completed(below, lambda frame=frame: key_of_container(frame))
            i += 1
        elif byte == 0x2C:
            mode = NAME if stack[0].is_object else VALUE  # type: ignore[index]
            i += 1
        elif byte == 0x3A:
            mode = VALUE
            i += 1
        else:
            mode = SCALAR
    return JsonState(mode, stack, raw, root)


def _end(pattern: re.Pattern[bytes], text: bytes, start: int) -> int:
    match = pattern.match(text, start)
    return start if match is None else match.end()


def _kept(stack: Stack, raw: bytes) -> bytes:
    """What has to be remembered of a string: all of it if somebody will ask for it, else whether an escape began."""
    if stack is not None and (stack[0].keyed or stack[0].compares or (stack[0].is_object and stack[0].name is None)):
        return raw
    return b"\\" if _is_escaped(raw) else b""


def _is_escaped(raw: bytes) -> bool:
    """Does the text end in an odd number of backslashes?"""
    return (len(raw) - len(raw.rstrip(b"\\"))) % 2 == 1


def _opened(stack: Stack, root: WatchedPlace | None, is_object: bool) -> OpenContainer:
    """The frame of a container that begins."""
    if stack is None:
        place, keyed = root, False
    else:
        outer: OpenContainer = stack[0]
        keyed = outer.keyed or outer.compares
        if outer.place is None:
            place = None
        else:
            place = outer.place.member(outer.name or "") if outer.is_object else outer.place.item(outer.size)
    watched = is_object or (place is not None and (place.unique or place.repeats))
    return OpenContainer(is_object, place, Seen() if watched else None, keyed)


def _refuse_repeated(stack: Stack, word: bytes) -> None:
    """Raises Repeated when a word begins that must not come again: it could only be completed."""
    if stack is not None and stack[0].unique and word in stack[0].seen:
        raise Repeated(word)


def _named(stack: Any, name: str) -> Stack:
    """The stack after a name. Raises Repeated."""
    frame, below = stack
    if name in frame.seen:
        raise Repeated(name)
    # PERF: `_replace` takes three times as long, here and below
    is_object, place, seen, keyed, _, size, parts, repeated = frame
    return OpenContainer(is_object, place, seen.add(name), keyed, name, size, parts, repeated), below


def _completed(stack: Stack, key: Any) -> Stack:
    """The stack after a value of the innermost container; key(): its key. Raises Repeated."""
    if stack is None:
        return None
    frame, below = stack
    if frame.is_object:
        parts = Parts((frame.name, key()), frame.parts) if frame.keyed else None
        return OpenContainer(True, frame.place, frame.seen, frame.keyed, None, frame.size, parts, frame.repeated), below
    made = key() if frame.keyed or frame.compares else None
    seen, repeated = frame.seen, frame.repeated
    if seen is not None and made in seen:
        if frame.unique:
            raise Repeated(made)
        repeated = True
    elif seen is not None:
        seen = seen.add(made)
    parts = Parts(made, frame.parts) if frame.keyed else None
    return OpenContainer(False, frame.place, seen, frame.keyed, frame.name, frame.size + 1, parts, repeated), below


# ----------------------------------------------------------------------------------------------------------- keys


def decode(raw: bytes) -> str:
    """The characters of a string's bytes (without quotes). Raises ValueError if an escape or a character is cut."""
    text = raw.decode("utf-8") if b"\\" not in raw else json.loads(b'"' + raw + b'"')
    return str(text)


def key_of_scalar(raw: bytes) -> Hashable:
    """The key of a number, `true`, `false` or `null`."""
    if raw in (b"true", b"false", b"null"):
        return raw
    try:
        return "number", Decimal(raw.decode())  # equal decimals hash alike: 1, 1.0 and 1e0
    except InvalidOperation:  # an exponent beyond all measure
        return "number", raw


def key_of_container(frame: OpenContainer) -> Hashable:
    """The key of a container that is complete: the order of members does not count."""
    if not frame.keyed:
        return None
    parts = []
    rest = frame.parts
    while rest is not None:
        parts.append(rest.part)
        rest = rest.before
    return ("object", frozenset(parts)) if frame.is_object else ("array", tuple(parts))
