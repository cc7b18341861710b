"""One place of a text: what engines' masks say of a token, and what can be proved of it.

A token is "allowed" in error where no completion is valid, "refused" in error where a valid one is exhibited. Where a
convention that engines may choose tells why, the finding is named after it and is no error:

    white space, spelling     the exhibited text is not what `json.dumps` writes, with or without blanks, or it has
                              control characters (U+007F to U+009F), which an escape can write
    forced cut                the engine allows one token only, another one of the same text
    number form               a number is written 1.0 or 1e2, or with more digits than 21, or 17 beside a point
    key order                 keys are not in the order of `properties`, or of several of them
    undeclared key            a key that nothing declares, where `additionalProperties` is absent
    repeated key              all that may follow repeats a key
    bytes                     the text is no UTF-8: an engine that reads tokens as characters
    format                    the string has a `format`, which is an annotation by default
    older draft               the schema's draft ignores a keyword that the newest one knows
"""

from __future__ import annotations

import codecs
import itertools
import json
import re
from typing import Any, NamedTuple

import regex

from exact.endings import COMPACT, SPACED, Endings
from exact.prefixes import Array, Closed, Object, Part, Text, read
from exact.reader import NEWEST, Path, Reader

ORDER = (
    "pattern format const enum multipleOf minimum exclusiveMinimum maximum exclusiveMaximum minLength maxLength "
    "uniqueItems contains minItems maxItems not oneOf anyOf allOf if $ref patternProperties propertyNames "
    "additionalProperties required properties items type"
).split()
BLANKS = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')
CONTROL = re.compile("[\x7f-\x9f]")
NUMBERS = re.compile(r'"(?:[^"\\]|\\.)*"|(-?\d[-+.eE\d]*)')


class Verdict(NamedTuple):
    """The proof about a text. state: "dead", "live" or "open"; why: a keyword; witness: a valid text; named: the
    convention for which it is no error."""

    state: str
    why: str = ""
    witness: str = ""
    named: str | None = None


OPEN = Verdict("open")


def is_odd(number: str) -> bool:
    """True if a number is written as an engine may choose not to."""
    _, point, rest = number.partition(".")
    count = sum(map(str.isdigit, number))
    return (
        "e" in number.lower() or number == "-0" or count > (17 if point else 21) or bool(point and not rest.strip("0"))
    )


def is_text(data: bytes) -> bool:
    """True if bytes begin a text of UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


class Judge:
    """Verdicts for one schema. instances: values, of which the valid ones are used."""

    def __init__(self, schema: Any, instances: list[Any]) -> None:
        self.reader = Reader(schema)
        self.valid = [each for each in instances if self.reader.verdict((), each)]
        self.endings = Endings(self.reader, self.valid)
        self.newest: Reader | None = None
        if self.reader.draft != NEWEST and isinstance(schema, dict):
            self.newest = Reader({key: each for key, each in schema.items() if key != "$schema"})
        self._dead: dict[bytes, Verdict] = {}
        self._live: dict[bytes, Verdict] = {}

    def dead(self, data: bytes) -> Verdict:
        """True if it is proved that no completion is valid."""
        if data not in self._dead:
            why = self.reader.dead(data, repeats=True)
            if why is None and self._repeats(data):
                found = Verdict("dead", "", "", "repeated key")
            elif why is None:
                again = self.reader.dead(data)
                found = Verdict("dead", again, "", "repeated key") if again else OPEN
            else:
                found = Verdict("dead", why, "", None if why != "syntax" or is_text(data) else "bytes")
            self._dead[data] = found
        return self._dead[data]

    @staticmethod
    def _repeats(data: bytes) -> bool:
        if (prefix := read(data)) is None:
            return False
        part: Any = prefix.part
        while isinstance(part, (Object, Array)):
            if isinstance(part, Object) and isinstance(part.key, str) and part.key in part.members:
                return True
            part = part.member if isinstance(part, Object) else part.item
        return prefix.repeats

    def live(self, data: bytes) -> Verdict:
        """Is a valid completion found? One that no convention names, if there is one."""
        if data not in self._live:
            judged = (self.whole(text, len(data)) for text in itertools.islice(self._texts(data), 60))
            found = list(itertools.islice((each for each in judged if each.state == "live"), 2))
            self._live[data] = min(found, key=lambda each: each.named is not None, default=OPEN)
        return self._live[data]

    def _texts(self, data: bytes) -> Any:
        try:
            yield from self.endings.texts(data)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, regex.error):  # an odd schema
            return

    def whole(self, data: bytes, at: int | None = None) -> Verdict:
        """A finished text. at: bytes of the prefix with the token that it is to exhibit."""
        prefix = read(data + b" ")
        if prefix is None or not isinstance(prefix.part, Closed):
            return Verdict("dead", "syntax")
        text, value = data.decode(), prefix.part.value
        if prefix.repeats or not prefix.held:
            return OPEN
        said = self.reader.verdict((), value)
        if said is False:
            return Verdict("dead", self.reader.closed((), value) or "", text)
        return OPEN if said is None else Verdict("live", self.keyword(data[:at]), text, self.named(text, value, at))

    def named(self, text: str, value: Any, at: int | None) -> str | None:
        """The convention for which an engine may refuse a valid text."""
        plain = [json.dumps(value, ensure_ascii=False, separators=marks) for marks in (SPACED, COMPACT)]
        if any(each[1] and is_odd(each[1]) for each in NUMBERS.finditer(text)):
            return "number form"
        if CONTROL.search(text):
            return "spelling"
        if text not in plain:
            return "white space" if BLANKS.sub(lambda m: m[1] or "", text) == plain[1] else "spelling"
        if name := self._keys([()], value):
            return name
        here = self.place(text.encode()[:at])
        string = isinstance(here[1], Text)
        formats = string and any("format" in each for each in self.endings.schemas(here[0]))
        if formats or not self.reader.verdict((), value, formats=True):
            return "format"
        return "older draft" if self.newest and not self.newest.verdict((), value) else None

    def _keys(self, paths: list[Path], value: Any) -> str | None:
        """ "key order" or "undeclared key", where an object has it."""
        applied = self.endings.applied(paths)
        steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, each in steps:
            if found := self._keys(self.endings.children(applied, step), each):
                return found
        if not isinstance(value, dict):
            return None
        schemas = [self.reader.at(path) for path in applied]
        own = [list(each["properties"]) for each in schemas if each.get("properties")]
        declared = {key for keys in own for key in keys}
        needed = [key for each in schemas for key in each.get("required", ()) or ()]
        ranks = [(0, 0) if k in declared else (1, needed.index(k)) if k in needed else (2, 0) for k in value]
        if ranks != sorted(ranks) or any(
            [k for k in value if k in keys] != [k for k in keys if k in value] for keys in own
        ):
            return "key order"
        if own and not any(declared & value.keys() <= set(keys) for keys in own):
            return "key order"
        told = any("additionalProperties" in each or "unevaluatedProperties" in each for each in schemas)
        patterns = [p for each in schemas for p in each.get("patternProperties", ())]
        others = [k for k in value if k not in declared and not any(regex.search(p, k) for p in patterns)]
        return "undeclared key" if others and not told else None

    def place(self, data: bytes) -> tuple[list[Path], Part | None]:
        """The subschemas of the innermost open part, and that part."""
        if (prefix := read(data)) is None:
            return [()], None
        part: Any = prefix.part
        paths: list[Path] = [()]
        while isinstance(part, (Object, Array)):
            applied = self.endings.applied(paths)
            step = part.key if isinstance(part, Object) else len(part.items)
            inner = part.member if isinstance(part, Object) else part.item
            if inner is None or not isinstance(step, (str, int)):
                break
            paths, part = self.endings.children(applied, step), inner
        return paths, part

    def keyword(self, data: bytes) -> str:
        """The most special keyword of the place of a token."""
        given = {key for each in self.endings.schemas(self.place(data)[0]) for key in each}
        return next((name for name in ORDER if name in given), "any value")
