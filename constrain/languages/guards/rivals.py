"""The values that the value under way must not become and still may: its rivals.

The idea: a grammar that goes on is no promise that the guard lets it. But all completions of the value under way can
be vetoed only if each of them was seen, so only while its beginning *agrees* with the beginning of a value that was
seen. That is rare. Then `doubt` is a key of the place, else None, and the engine looks ahead (engine/lookahead.py).

A container that must not equal another hands its members on: the members of a rival are rivals of its own members. A
beginning may agree with a rival that it can no longer become (1e5 with 1): then the engine looks ahead in vain.

Cost: one comparison for each value that was seen, some microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from decimal import Decimal
from typing import Any, NamedTuple

from constrain.languages.guards.json_reader import (
    AFTER,
    COLON,
    NAME,
    SCALAR,
    TEXT,
    VALUE,
    JsonState,
    OpenContainer,
    Stack,
    parts_so_far,
    unescaped,
)


class Rivals(NamedTuple):
    """The values and names that must not come next.

    Attributes:
        whole: The values that the innermost container agrees with and must not equal.
        outer: The same for each container around it, outermost first.
        values: The values that its next value, or the one under way, must not equal.
        names: The names that lead on to one of `whole`, and those that were seen where names may run out.
    """

    whole: list[Any]
    values: list[Any]
    names: list[str]
    outer: tuple[frozenset[Any], ...] = ()

    def texts(self, named: bool) -> list[str]:
        """The strings among the values; named: the names."""
        return self.names if named else [key[1] for key in self.values if key[0] == "string"]


def rivals(here: JsonState, every_kind: bool = False) -> Rivals:
    """The rivals at a place. every_kind: before a value, also what only values of some kind must not equal."""
    kind, stack = EVERY if every_kind and here.mode == VALUE else kind_of(here), here.stack
    frames: list[tuple[OpenContainer, str]] = []
    while stack is not None:
        frame, stack = stack
        frames.append((frame, kind))
        kind = "object" if frame.is_object else "array"
    inner = Rivals([], [], [])
    for frame, kind in reversed(frames):
        outer = (*inner.outer, frozenset(inner.whole))
        whole = _agreeing(frame, inner.values) if inner.values else []
        if frame.is_object and frame.name is None:
            names = [name for key in whole for name, _ in key[1]]
            if can_run_out(frame, kind):
                names += frame.seen or ()
            inner = Rivals(whole, [], names, outer)
        elif frame.is_object:
            inner = Rivals(whole, [value for key in whole for name, value in key[1] if name == frame.name], [], outer)
        else:
            values = [key[1][frame.size] for key in whole if len(key[1]) > frame.size]
            if can_run_out(frame, kind):
                values += frame.seen or ()
            inner = Rivals(whole, values, [], outer)
    return inner


EVERY = "every"


def kind_of(here: JsonState) -> str:
    """The kind of the value under way in the innermost container; "value" before it, "name" at a name; else ""."""
    if here.mode in (NAME, TEXT) and here.stack is not None and is_named(here.stack[0]):
        return "name"
    if here.mode == SCALAR:
        return "" if here.raw[:1] in b"tfn" else "number"
    return {TEXT: "string", VALUE: "value"}.get(here.mode, "")


def can_run_out(frame: OpenContainer, kind: str) -> bool:
    """True if the names of an object, or of an array whose items must differ its values of a kind, may run out."""
    if frame.place is None:
        return False
    if frame.is_object:
        return kind == "name" and frame.place.names_run_out
    if not frame.place.unique:
        return False
    return kind in frame.place.runs_out or (kind == EVERY and bool(frame.place.runs_out))


def item_in_question(here: JsonState, every_kind: bool = False) -> int | None:
    """The number of open containers inside the innermost item or name that may reach a dead end; None: there is none.

    every_kind: see `rivals`.
    """
    stack, kind, inside = here.stack, EVERY if every_kind and here.mode == VALUE else kind_of(here), 0
    while stack is not None:
        frame, stack = stack
        if can_run_out(frame, kind):
            return inside
        kind = "object" if frame.is_object else "array"
        inside += 1
    return None


def _agreeing(frame: OpenContainer, values: list[Any]) -> list[Any]:
    """The values that a container may still equal."""
    parts = parts_so_far(frame)
    if frame.is_object:
        members = frozenset(parts)
        return [key for key in values if key[0] == "object" and members <= key[1]]
    items = tuple(parts)
    return [key for key in values if key[0] == "array" and key[1][: len(items)] == items]


def doubt(state: JsonState) -> Hashable | None:
    """None if the guard cannot veto everything that the grammar leaves; else a key of the place.

    What may follow depends on nothing but the key and the grammar's state.
    """
    mode, stack, raw, _ = state
    if stack is None or item_in_question(state) is None:
        return None
    frame = stack[0]
    here: Hashable = None
    values = rivals(state)
    if mode == TEXT:
        here = begun, _ = unescaped(raw)
        texts = values.texts(is_named(frame))
        doubtful = any(spelled(text).startswith(begun) for text in texts)
    elif mode == SCALAR:
        doubtful = any(may_become(raw, key) for key in values.values)
        here = canonical(raw, values.values) if doubtful else None
    elif mode == VALUE:
        doubtful = bool(values.values or (values.whole and not frame.is_object))
    elif mode == NAME:
        doubtful = bool(values.names or values.whole)
    else:
        assert mode in (AFTER, COLON)
        doubtful = bool(values.whole if mode == AFTER else values.values)
    if not doubtful:
        return None
    seen = (values.outer, *map(frozenset, (values.whole, values.values, values.names)))
    return mode, here, _path(stack), seen


def is_fresh(state: JsonState) -> bool:
    """True if the string or scalar under way can no longer become a name or a value that was seen and must not come."""
    mode, stack, raw, _ = state
    if stack is None or mode not in (TEXT, SCALAR):
        return stack is None and mode in (TEXT, SCALAR)
    found, frame = rivals(state), stack[0]
    if mode == SCALAR:
        return not any(may_become(raw, key) for key in found.values)
    begun, _ = unescaped(raw)
    texts = [*found.texts(is_named(frame)), *(frame.seen if is_named(frame) else ())]
    return not any(spelled(text).startswith(begun) for text in texts)


def standing(state: JsonState) -> Hashable:
    """A key of what was read: equal keys allow the same continuations. The order of members is none of it."""
    mode, stack, raw, _ = state
    path: list[Hashable] = []
    frame: OpenContainer
    while stack is not None:
        frame, stack = stack
        names = frozenset(frame.seen or ()) if frame.is_object else None
        items = None if frame.is_object else (frozenset(frame.seen or ()), frame.repeated)
        parts = parts_so_far(frame)
        path.append((frame.name, frame.size, names, items, frozenset(parts) if frame.is_object else tuple(parts)))
    return mode, raw, tuple(path)


def watches(stack: Stack) -> bool:
    """True if values in an open container may run out at all."""
    while stack is not None:
        frame, stack = stack
        if can_run_out(frame, "name" if frame.is_object else EVERY):
            return True
    return False


def conditions(here: JsonState) -> Hashable:
    """The conditions on the open containers and on the value under way: a key without values."""
    stack, found = here.stack, []
    place: Any = None
    if stack is not None and here.mode in (VALUE, COLON) and stack[0].is_object and stack[0].place is not None:
        place = stack[0].place.member(stack[0].name or "")
    while stack is not None:
        frame, stack = stack
        found.append((frame.is_object, frame.place))
    return here.mode, kind_of(here), place, tuple(found)


def is_named(frame: OpenContainer) -> bool:
    """True if a string in a container is a name."""
    return frame.is_object and frame.name is None


def _path(stack: Stack) -> Hashable:
    """A key of the open containers."""
    path: list[Hashable] = []
    while stack is not None:
        frame, stack = stack
        parts = parts_so_far(frame)
        path.append((frame.name, frame.size, frozenset(parts) if frame.is_object else tuple(parts)))
    return tuple(path)


# -------------------------------------------------------------------------------------------------- beginnings


def spelled(text: str) -> bytes:
    """The bytes of a text, lone surrogates too."""
    return text.encode("utf-8", "surrogatepass")


_NUMBER = re.compile(rb"(-?)(\d*)(?:\.(\d*))?([eE][-+]?\d*)?")


def may_become(raw: bytes, key: Any) -> bool:
    """True if the beginning of a scalar agrees with a value. Always true if a text that begins so has the value."""
    if isinstance(key, bytes):  # `true`, `false` or `null`
        return key.startswith(raw)
    if key[0] != "number" or raw[:1] in b"tfn":
        return False
    if not isinstance(key[1], Decimal):
        return True
    digits = significant(raw)
    if digits is None:
        return True
    sign, others, _ = key[1].as_tuple()
    zero = not any(others)
    if not zero and (raw[:1] == b"-") != bool(sign):
        return False
    return bytes(others).startswith(bytes(digits))


def digits_of(key: Any) -> bytes | None:
    """The digits of a number without zeros in front; None if they are not known."""
    if not isinstance(key[1], Decimal):
        return None
    return bytes(digit + 48 for digit in key[1].as_tuple().digits).lstrip(b"0")


def significant(raw: bytes) -> list[int] | None:
    """The digits of the beginning of a number without zeros at its ends; None if it is no number's."""
    match = _NUMBER.fullmatch(raw)
    if match is None:
        return None
    return [byte - 48 for byte in (match[2] + (match[3] or b"")).strip(b"0")]


def canonical(raw: bytes, keys: Iterable[Any]) -> Hashable:
    """One of the beginnings of a scalar after which the same texts lead to rivals.

    Zeros behind the last digit of any rival, zeros before an exponent's digits, and the exponent of 0 change nothing.
    """
    match = _NUMBER.fullmatch(raw)
    if match is None:
        return raw
    sign, whole, fraction, exponent = match.groups()
    if not (whole + (fraction or b"")).strip(b"0") and exponent:
        return sign, b"0", None, b"e"
    if fraction:
        digits = max((_scale(key) for key in keys), default=0) + 1
        kept = fraction.rstrip(b"0")
        fraction = kept + b"0" * min(len(fraction) - len(kept), max(digits - len(kept), 0))
    if exponent:
        sign_of_it = exponent[1:2] if exponent[1:2] in (b"-", b"+") else b""
        figures = exponent[1 + len(sign_of_it) :]
        exponent = b"e" + sign_of_it.replace(b"+", b"") + (figures.lstrip(b"0") or figures[:1])
        fraction = (fraction or b"").rstrip(b"0")
    return sign, whole, fraction, exponent


def _scale(key: Any) -> int:
    """The number of digits behind a value's point."""
    if key[0] != "number" or not isinstance(key[1], Decimal):
        return 0
    exponent = key[1].as_tuple().exponent
    return -exponent if isinstance(exponent, int) and exponent < 0 else 0
