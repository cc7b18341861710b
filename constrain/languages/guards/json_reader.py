"""An incremental JSON reader that remembers the names and values of open containers.

The idea: the grammar guarantees that the text is JSON. So the reader only follows strings, brackets and commas, and
collects names and values where a condition needs them. Its states are immutable. It reads one value, and nothing after
it.

    mode     VALUE   next: a value, whitespace, or `]`           AFTER   a value is complete
             NAME    next: a name, whitespace, or `}`            COLON   a name is complete
             TEXT    inside a string                             SCALAR  inside a number, `true`, `false` or `null`
    raw      the bytes of the current string (without quotes) or scalar

Values are compared as JSON values (JSON Schema Core 2020-12, section 4.2.2): the keys of two values are equal exactly
if the values are equal. Cost: about 0.3 µs a structural byte; a run inside a string is one search.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple, Protocol

from constrain.languages.guards.seen import Seen
from constrain.limits import tick

VALUE, NAME, TEXT, SCALAR, COLON, AFTER = range(6)
SPACE = frozenset(b" \t\n\r")
QUOTE, COMMA, COLON_SIGN, OPEN_OBJECT = b'",:{'
OPENING = frozenset(b"[{")
PUNCTUATION = frozenset(b'",:[]{}')
WORDS = {word[0]: word for word in (b"true", b"false", b"null")}
_RUN = re.compile(rb'[^"\\]*')
_SCALAR = re.compile(rb"[^\s,\]}]*")


class WatchedPlace(Protocol):
    """The conditions of a schema on the value at one place of a text."""

    @property
    def unique(self) -> bool: ...  # the items of an array must differ

    @property
    def runs_out(self) -> frozenset[str]: ...  # of which kinds an item's beginning may leave only what was seen

    @property
    def names_run_out(self) -> bool: ...  # a name's beginning may leave only names that were seen

    @property
    def repeats(self) -> bool: ...  # two items of an array must be equal

    def item(self, i: int) -> WatchedPlace | None: ...
    def member(self, name: str) -> WatchedPlace | None: ...


class Parts:
    """A persistent list: its last part and the list before it. Equal to itself only."""

    __slots__ = ("before", "part")

    def __init__(self, part: Hashable, before: Parts | None) -> None:
        self.part = part
        self.before = before


class OpenContainer(NamedTuple):
    """An open container.

    Attributes:
        is_object: An object; else an array.
        place: The conditions on it; None: none.
        seen: The names of an object; the keys of the items of an array, if they are compared.
        keyed: The container's own key will be needed.
        name: The latest name.
        size: The number of items so far.
        parts: The members (name, key), or the keys of the items, so far; only if `keyed`.
        repeated: Two items were equal.
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
        """An array whose items must differ."""
        return not self.is_object and self.place is not None and self.place.unique

    @property
    def compares(self) -> bool:
        """An array whose items are compared."""
        return not self.is_object and self.seen is not None


Stack = tuple[Any, ...] | None  # (innermost container, stack below)


class JsonState(NamedTuple):
    """The state of the reader.

    Attributes:
        mode, raw: See the module.
        stack: The open containers.
        root: The conditions on the whole value.
    """

    mode: int
    stack: Stack
    raw: bytes
    root: WatchedPlace | None


class RepeatedName(Exception):
    """A name or an item occurs twice; or no item does in an array that must repeat one."""


def read(state: JsonState, text: bytes) -> JsonState:
    """The state after more text. Raises Repeated."""
    mode, stack, raw, root = state
    i, n = 0, len(text)
    while i < n:
        if mode == TEXT:
            mode, stack, raw, i = _read_string(stack, raw, text, i)
        elif mode == SCALAR:
            mode, stack, raw, i = _read_scalar(stack, raw, text, i)
        elif text[i] in SPACE:
            i += 1
        elif mode == AFTER and stack is None:  # the value is complete; the text after it is not part of it
            break
        elif text[i] in PUNCTUATION:
            tick()
            mode, stack = _read_punctuation(stack, root, text[i])
            i += 1
        else:
            mode = SCALAR
    return JsonState(mode, stack, raw, root)


Progress = tuple[int, Any, bytes, int]  # mode, stack, raw, index of the next byte


def _read_string(stack: Stack, raw: bytes, text: bytes, start: int) -> Progress:
    """Read on inside a string, at most to its closing quote. Raises Repeated."""
    end = _end(_RUN, text, start)
    if end == len(text) or text[end] != QUOTE or _is_escaped(raw + text[start:end]):
        end = min(len(text), end + 1)  # behind a backslash, or behind an escaped quote
        return TEXT, stack, _remembered_part(stack, raw + text[start:end]), end
    raw += text[start:end]
    if stack is not None and stack[0].is_object and stack[0].name is None:
        return COLON, _named(stack, decode(raw)), b"", end + 1
    return AFTER, _completed(stack, lambda: ("string", decode(raw))), b"", end + 1


def _read_scalar(stack: Stack, raw: bytes, text: bytes, start: int) -> Progress:
    """Read on inside a number, `true`, `false` or `null`. Raises Repeated."""
    word = None if raw else WORDS.get(text[start])  # its first letter determines the rest
    if word and stack is not None and stack[0].unique and word in stack[0].seen:
        raise RepeatedName(word)
    end = _end(_SCALAR, text, start)
    raw += text[start:end]
    if end == len(text):
        return SCALAR, stack, raw, end
    return AFTER, _completed(stack, lambda: key_of_scalar(raw)), b"", end


def _read_punctuation(stack: Any, root: WatchedPlace | None, byte: int) -> tuple[int, Stack]:
    """(mode, stack) after a bracket, a comma, a colon, or the opening quote of a string. Raises Repeated."""
    if byte == QUOTE:
        return TEXT, stack
    if byte == COLON_SIGN:
        return VALUE, stack
    if byte == COMMA:
        return (NAME if stack[0].is_object else VALUE), stack
    if byte in OPENING:
        is_object = byte == OPEN_OBJECT
        return (NAME if is_object else VALUE), (_opened(stack, root, is_object), stack)
    container, below = stack
    if not container.is_object and not container.repeated and container.place is not None and container.place.repeats:
        raise RepeatedName("no item")
    return AFTER, _completed(below, lambda: key_of_container(container))


def _end(pattern: re.Pattern[bytes], text: bytes, start: int) -> int:
    """The end of a match at an index; the index itself if there is none."""
    match = pattern.match(text, start)
    return start if match is None else match.end()


def _remembered_part(stack: Stack, raw: bytes) -> bytes:
    """The part of an open string to remember: all of it if its key is needed, else whether an escape was begun."""
    if stack is not None and (stack[0].keyed or stack[0].compares or (stack[0].is_object and stack[0].name is None)):
        return raw
    return b"\\" if _is_escaped(raw) else b""


def _is_escaped(raw: bytes) -> bool:
    """True if the text ends in an odd number of backslashes."""
    return (len(raw) - len(raw.rstrip(b"\\"))) % 2 == 1


def _opened(stack: Stack, root: WatchedPlace | None, is_object: bool) -> OpenContainer:
    """The container that begins here."""
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


def _named(stack: Any, name: str) -> Stack:
    """The stack after a name. Raises Repeated."""
    frame, below = stack
    if name in frame.seen:
        raise RepeatedName(name)
    # PERF: `_replace` takes three times as long, here and below
    is_object, place, seen, keyed, _, size, parts, repeated = frame
    return OpenContainer(is_object, place, seen.add(name), keyed, name, size, parts, repeated), below


def _completed(stack: Stack, key: Any) -> Stack:
    """The stack after a value of the innermost container. key: makes the value's key. Raises Repeated."""
    if stack is None:
        return None
    frame, below = stack
    if frame.is_object:
        parts = Parts((frame.name, key()), frame.parts) if frame.keyed else None
        return OpenContainer(True, frame.place, frame.seen, frame.keyed, None, frame.size, parts, frame.repeated), below
    item = key() if frame.keyed or frame.compares else None
    seen, repeated = frame.seen, frame.repeated
    if seen is not None and item in seen:
        if frame.unique:
            raise RepeatedName(item)
        repeated = True
    elif seen is not None:
        seen = seen.add(item)
    parts = Parts(item, frame.parts) if frame.keyed else None
    return OpenContainer(False, frame.place, seen, frame.keyed, frame.name, frame.size + 1, parts, repeated), below


# ----------------------------------------------------------------------------------------------------------- keys


def decode(raw: bytes) -> str:
    """The value of a string from its bytes (without quotes). Raises ValueError if an escape or character is cut."""
    text = raw.decode("utf-8") if b"\\" not in raw else json.loads(b'"' + raw + b'"')
    return str(text)


_ESCAPE = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+|\\[^u]", re.DOTALL)
_WHOLE = (
    re.compile(  # characters and escapes; the first half of a pair (RFC 8259, section 7) only before another escape
        rb"(?:[^\\]|\\[^u]|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[0-9a-fA-F]{4}|(?=[^\\]|\\[^u]))"
        rb"|\\u(?![dD][89abAB])[0-9a-fA-F]{4})*",
        re.DOTALL,
    )
)


def unescaped(raw: bytes) -> tuple[bytes, bytes]:
    """(the bytes that the beginning of a string stands for, the escape at its end that is not complete)."""
    if b"\\" not in raw:
        return raw, b""
    whole = _WHOLE.match(raw)
    assert whole is not None
    return _ESCAPE.sub(_meant, whole.group()), raw[whole.end() :]


def _meant(escape: re.Match[bytes]) -> bytes:
    """The bytes that escapes stand for."""
    text: str = json.loads(b'"' + escape.group() + b'"')
    return text.encode("utf-8", "surrogatepass")


def key_of_scalar(raw: bytes) -> Hashable:
    """The key of a number, `true`, `false` or `null`."""
    if raw in (b"true", b"false", b"null"):
        return raw
    try:
        return "number", Decimal(raw.decode())  # equal decimals hash alike: 1, 1.0 and 1e0
    except InvalidOperation:  # the exponent is too large for Decimal
        return "number", raw


def parts_so_far(frame: OpenContainer) -> list[Hashable]:
    """The members or the items of a container that were noted, in order."""
    parts, last = [], frame.parts
    while last is not None:
        parts.append(last.part)
        last = last.before
    return parts[::-1]


def key_of_container(frame: OpenContainer) -> Hashable:
    """The key of a complete container, in which the order of members does not matter; None if it is not needed."""
    if not frame.keyed:
        return None
    parts = parts_so_far(frame)
    return ("object", frozenset(parts)) if frame.is_object else ("array", tuple(parts))
