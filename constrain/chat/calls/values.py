"""Arguments that stand in elements: the values of a call, read from a model's own markup.

A string stands as it is, any other value as JSON. Which of them it is, the element says, or the property's schema.
Where only the schema says it, a text that spells a value of another type that is allowed is read as that value: `null`
of an optional string is None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from constrain.chat.calls.functions import Function
from constrain.chat.tags.parameters import Style, without_strings
from constrain.errors import UnsatisfiableError
from constrain.languages.automata.syntax import EMPTY
from constrain.languages.schema import JsonSchema, json_schema
from constrain.languages.schema.sets.algebra import FALSE, values_of
from constrain.masks.derived.members import is_member

Kinds = tuple[bool, Callable[[str], bool]]
_KINDS: WeakKeyDictionary[Function, dict[str, Kinds]] = WeakKeyDictionary()


class Values:
    """The values of one call, read as their text comes.

    Args:
        style: How elements are written.
        function: The tool; None: it is not known.

    Attributes:
        values: The values so far.
        inside: The text goes on inside of an element.
        problem: What is wrong with the last value; "" if nothing is.
    """

    def __init__(self, style: Style, function: Function | None) -> None:
        self.style = style
        self.function = function
        self.values: dict[str, Any] = {}
        self.inside, self.problem = False, ""
        self._before, _, after = style.raw.replace("{quoted}", "{name}").replace("{space}", " ").partition("{name}")
        self._inner = after[len(after.rstrip()) :]  # white space inside of an element, before its value
        self._typed = style.raw != style.other or "{kind}" in style.raw
        self._openings = [(text.split(), strings) for text, strings in _openings(style)]
        self._close = style.close.strip()
        self._lead = style.close[: len(style.close) - len(style.close.lstrip())]
        self._name, self._strings = "", True
        self._others: Callable[[str], bool] = _is_json
        self._pieces: list[str] = []
        self._end: JsonEnd | None = None

    def feed(self, text: str) -> int:
        """Read what a text begins with.

        Returns the number of characters that were read; 0: more text is needed. Raises ValueError.
        """
        if not self.inside:
            return self._open(text)
        if self._end is not None:
            count = self._end.feed(text)
            taken = len(text) if count < 0 else count
            self._end = self._end if count < 0 else None
            self._pieces.append(text[:taken])
            return taken
        end = text.find(self._close)
        taken = end if end >= 0 else len(text) - held(text, self._close)
        self._pieces.append(text[:taken])
        if end < 0:
            return taken
        self.inside = False
        try:
            self.values[self._name] = self._value("".join(self._pieces))
        except ValueError as error:
            self.problem = str(error)
        return end + len(self._close)

    def _open(self, text: str) -> int:
        """Read what opens an element."""
        if not text.startswith(self._before):
            if self._before.startswith(text):
                return 0
            raise ValueError(f"{self._before!r} is expected")
        parts = self._openings[0][0]
        end = text.find(parts[0], len(self._before))
        if end < 0:
            return 0
        found = [(_behind(text, end, parts), strings) for parts, strings in self._openings]
        at, strings = max(found, key=lambda one: one[0])
        if at <= 0:
            if at == 0:
                return 0
            raise ValueError(f"{' '.join(parts)!r} is expected")
        if len(text) < at + len(self._inner):
            return 0
        self._name = text[len(self._before) : end]
        if "{quoted}" in self.style.raw:
            self._name = self._name.replace("&quot;", '"').replace("&amp;", "&")
        self._strings, self._others = (strings, lambda text: False) if self._typed else self._kinds(self._name)
        self._pieces, self._end, self.inside = [], None if self._strings else JsonEnd(), True
        return at + len(self._inner) if text.startswith(self._inner, at) else at

    def _value(self, raw: str) -> Any:
        if self._strings:
            raw = raw.removesuffix(self._lead)
            if not self._others(raw.strip()):
                return raw
        word = raw.strip()
        if word in self.style.words:
            return (None, False, True)[self.style.words.index(word)]
        try:
            return json.loads(raw)
        except ValueError:
            raise ValueError(f"{raw!r:.60} is no JSON") from None

    def _kinds(self, name: str) -> Kinds:
        """(whether a property may be a string, whether a text is another value that it may be)."""
        if self.function is None:
            return True, _is_json
        known = _KINDS.setdefault(self.function, {})
        if name not in known:
            known[name] = kinds_of(self.function, name)
        return known[name]


def kinds_of(function: Function, name: str) -> Kinds:
    """(whether a property of a tool may be a string, whether a text is another value that it may be)."""
    whole = json_schema(dict(function.parameters))
    boxes = whole.normalizer.normal(whole.document.root).objects
    conjs = dict.fromkeys(conj for box in boxes for conj in values_of(box, name))
    found = [whole.of(conj) for conj in conjs if conj != FALSE]
    if not found:
        return True, _is_json
    one = found[0] if len(found) == 1 else whole.beside_definitions({"anyOf": [each.written for each in found]})
    try:
        strings = one.normalizer.normal(one.document.root).strings != EMPTY
    except UnsatisfiableError:
        return False, _is_json
    if not strings:
        return False, lambda text: True
    others: JsonSchema | None = without_strings(one)
    return True, (lambda text: False) if others is None else (lambda text: is_member(others, text))


def _openings(style: Style) -> list[tuple[str, bool]]:
    """The texts between a name and a value, and whether the value is a string."""
    found = []
    for template, kinds in ((style.raw, ("string",)), (style.other, ("number", "boolean", "null", "object", "array"))):
        behind = template.replace("{quoted}", "{name}").replace("{space}", " ").partition("{name}")[2]
        some = kinds if "{kind}" in behind else kinds[:1]
        found += [(behind.replace("{kind}", kind), kinds[0] == "string") for kind in some]
    return found


def _behind(text: str, at: int, parts: list[str]) -> int:
    """The place behind parts with any white space before each; 0: the text ends before; -1: it has other ones."""
    for part in parts:
        at += len(text[at:]) - len(text[at:].lstrip())
        if not text.startswith(part, at):
            return 0 if part.startswith(text[at:]) else -1
        at += len(part)
    return at


def _is_json(text: str) -> bool:
    """True if a text is a JSON value other than a string."""
    try:
        return not isinstance(json.loads(text), str)
    except ValueError:
        return False


def held(text: str, close: str) -> int:
    """The length of the longest end of a text that begins a delimiter."""
    for count in range(min(len(text), len(close) - 1), 0, -1):
        if close.startswith(text[len(text) - count :]):
            return count
    return 0


_BREAKS = re.compile(r'["\\{}\[\]]')
_SCALAR_ENDS = re.compile(r"[\s,\]}<]")


class JsonEnd:
    """Finds the end of one JSON value. Each character is read once.

    Attributes:
        depth: The number of open brackets.
    """

    def __init__(self) -> None:
        self.depth = 0
        self._in_string = False
        self._escaped = False
        self._begun = False
        self._scalar = False

    def feed(self, text: str) -> int:
        """The number of characters of the text that belong to the value; -1: all of them, and it goes on."""
        at = 0
        if not self._begun:
            at = len(text) - len(text.lstrip())
            if at == len(text):
                return -1
            self._begun = True
            self._scalar = text[at] not in '"{['
        if self._scalar:
            found = _SCALAR_ENDS.search(text, at)
            return -1 if found is None else found.start()
        if self._escaped and text:
            self._escaped, at = False, at + 1
        while found := _BREAKS.search(text, at):
            at = found.end()
            if self._in_string:
                if found[0] == "\\":
                    if at == len(text):
                        self._escaped = True
                    at += 1
                elif found[0] == '"':
                    self._in_string = False
            elif found[0] == '"':
                self._in_string = True
            elif found[0] in "{[":
                self.depth += 1
            elif found[0] in "}]":
                self.depth -= 1
            if not self._in_string and self.depth <= 0 and found[0] in '"}]':
                return at
        return -1
