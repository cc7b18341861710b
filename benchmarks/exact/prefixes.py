"""A prefix of a JSON text (RFC 8259), as the value that it has begun: closed parts are values, the rest is open."""

from __future__ import annotations

import codecs
import functools
import json
import math
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

SPACE = re.compile(r"[ \t\n\r]*")
BODY = re.compile(r'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*')
ESCAPE_BEGUN = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
DIGITS = re.compile(r"[-+.eE0-9]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
NUMBER_BEGUN = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:(?<=[0-9])[eE][+-]?[0-9]*)?)?")
WORDS = {"true": True, "false": False, "null": None}


class NoPrefixError(ValueError):
    """No JSON text begins like this."""


@dataclass
class Closed:
    """A value that no further text changes."""

    value: Any


@dataclass
class Nothing:
    """A value of which nothing is written."""


@dataclass
class Text:
    """An open string. tail: bytes of a character that is not whole; pending: an escape has begun."""

    written: str
    tail: bytes = b""
    pending: bool = False

    @property
    def halved(self) -> bool:
        """True if it ends with the first half of a pair of escapes, which the next one may complete."""
        return "\ud800" <= self.written[-1:] < "\udc00"

    @property
    def least(self) -> int:
        """The least number of characters that the string will have."""
        return len(self.written) + (bool(self.tail) or (self.pending and not self.halved))

    def begins(self, whole: str) -> bool:
        """True if the string can become this one."""
        if self.halved or self.pending:
            return whole.startswith(self.written[:-1] if self.halved else self.written)
        given = self.written.encode("utf-8", "surrogatepass") + self.tail
        return whole.encode("utf-8", "surrogatepass").startswith(given)


@dataclass
class Number:
    """A number that may go on."""

    written: str


@dataclass
class Word:
    """`true`, `false` or `null`, begun."""

    word: str
    written: str


@dataclass
class Object:
    """An open object. key: of the member that has begun; comma: a member must follow."""

    members: dict[str, Any] = field(default_factory=dict)
    key: Text | str | None = None
    member: Part | None = None
    comma: bool = False

    @property
    def least(self) -> int:
        """The least number of members that it will have."""
        return len(self.members) + (self.key is not None or self.comma)


@dataclass
class Array:
    """An open array. comma: an item must follow."""

    items: list[Any] = field(default_factory=list)
    item: Part | None = None
    comma: bool = False

    @property
    def least(self) -> int:
        """The least number of items that it will have."""
        return len(self.items) + (self.comma or not isinstance(self.item, (Nothing, type(None))))


Part = Closed | Nothing | Text | Number | Word | Object | Array


def in_string(part: Any) -> bool:
    """True if the innermost open part is a string or a key, and no escape has begun there."""
    while isinstance(part, (Object, Array)):
        is_key = isinstance(part, Object) and isinstance(part.key, Text)
        part = part.key if is_key else part.member if isinstance(part, Object) else part.item  # type: ignore[union-attr]
    return isinstance(part, Text) and not part.pending


@functools.lru_cache(20_000)
def read(data: bytes) -> Prefix | None:
    """A prefix of a JSON text; None: it is none."""
    try:
        return Prefix(data)
    except NoPrefixError:
        return None


class Prefix:
    """A prefix that was read. part: its value; repeats: an object has a key twice; held: floats hold its numbers.

    Raises NoPrefixError.
    """

    def __init__(self, data: bytes) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            self.text = decoder.decode(data)
        except UnicodeDecodeError as error:
            raise NoPrefixError("no UTF-8") from error
        self.tail, self.at = decoder.getstate()[0], 0
        self.repeats, self.held = False, True
        self.part = self._value()
        self._space()
        if self.at < len(self.text) or (self.tail and not in_string(self.part)):
            raise NoPrefixError(f"{self.text[self.at :][:20]!r}")

    def _space(self) -> str:
        """The next character that is no blank; "" at the end."""
        self.at = SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.text[self.at : self.at + 1]

    def _value(self) -> Part:
        first = self._space()
        if not first:
            return Nothing()
        if first == '"':
            return self._string()
        if first in "{[":
            self.at += 1
            return self._object() if first == "{" else self._array()
        if first in "-0123456789":
            return self._number()
        for word, value in WORDS.items():
            written = self.text[self.at : self.at + len(word)]
            if word.startswith(written):
                self.at += len(written)
                return Closed(value) if written == word else Word(word, self._to_end(written))
        raise NoPrefixError(first)

    def _to_end(self, written: str) -> str:
        if self.at < len(self.text):
            raise NoPrefixError(written)
        return written

    def _string(self) -> Closed | Text:
        begin = self.at + 1
        end = BODY.match(self.text, begin).end()  # type: ignore[union-attr]
        written = json.loads(f'"{self.text[begin:end]}"')
        self.at = end + 1
        if self.text[end : end + 1] == '"':
            return Closed(written)
        rest, self.at = self.text[end:], len(self.text)
        if rest and not ESCAPE_BEGUN.fullmatch(rest):
            raise NoPrefixError(rest[:20])
        return Text(written, self.tail, bool(rest))

    def _number(self) -> Closed | Number:
        written = DIGITS.match(self.text, self.at)[0]  # type: ignore[index]
        self.at += len(written)
        if not (NUMBER_BEGUN if self.at == len(self.text) else NUMBER).fullmatch(written):
            raise NoPrefixError(written)
        return Number(written) if self.at == len(self.text) else Closed(self.number(written))

    def number(self, written: str) -> int | float:
        """The value of a number; notes where a float does not hold it."""
        value = json.loads(written) if len(written) < 400 else math.inf
        if isinstance(value, float):
            self.held &= math.isfinite(value) and len(written) < 16 and Decimal(written) == Decimal(repr(value))
        return value

    def _object(self) -> Closed | Object:
        found = Object()
        while True:
            mark = self._space()
            if mark == "}" and not found.comma:
                self.at += 1
                return Closed(found.members)
            if not mark:
                return found
            if mark != '"':
                raise NoPrefixError(mark)
            key = self._string()
            found.key = key.value if isinstance(key, Closed) else key
            if isinstance(key, Text) or not (mark := self._space()):
                return found
            self._take(":", mark)
            found.member = self._value()
            if not isinstance(found.member, Closed):
                return found
            self.repeats |= key.value in found.members
            found.members[key.value] = found.member.value
            found.key, found.member, found.comma = None, None, False
            mark = self._space()
            if mark == "}" or not mark:
                self.at += len(mark)
                return Closed(found.members) if mark else found
            self._take(",", mark)
            found.comma = True

    def _array(self) -> Closed | Array:
        found = Array()
        while True:
            mark = self._space()
            if mark == "]" and not found.comma:
                self.at += 1
                return Closed(found.items)
            if not mark:
                return found
            found.item = self._value()
            if not isinstance(found.item, Closed):
                return found
            found.items.append(found.item.value)
            found.item, found.comma = None, False
            mark = self._space()
            if mark == "]" or not mark:
                self.at += len(mark)
                return Closed(found.items) if mark else found
            self._take(",", mark)
            found.comma = True

    def _take(self, wanted: str, mark: str) -> None:
        if mark != wanted:
            raise NoPrefixError(mark)
        self.at += 1
