"""Arguments that stand in elements: the values of a call, read from a model's own markup.

A string stands as it is, any other value as JSON; which of them a property may be, its schema says. A text that spells
a value of another type that is allowed is read as that value: `null` of an optional string is None.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from constrain.automata.syntax import EMPTY
from constrain.calls.functions import Function
from constrain.calls.json_end import JsonEnd
from constrain.derived.members import is_member
from constrain.errors import UnsatisfiableError
from constrain.schema import JsonSchema, json_schema
from constrain.tags.parameters import Style, without_strings

Kinds = tuple[bool, Callable[[str], bool]]
_KINDS: WeakKeyDictionary[Function, dict[str, Kinds]] = WeakKeyDictionary()


class Values:
    """The values of one call.

    Args:
        style: How elements are written.
        function: The tool; None: it is not known.

    Attributes:
        values: The values so far.
    """

    def __init__(self, style: Style, function: Function | None) -> None:
        self.style = style
        self.function = function
        self.values: dict[str, Any] = {}
        before, _, after = style.raw.replace("{space}", " ").partition("{name}")
        self._before, self._after = before, after.split()
        self._inner = after[len(after.rstrip()) :]  # white space inside of an element, before its value
        self._close = style.close.strip()

    def element(self, text: str) -> int:
        """Read the element that a text begins with. Returns its length; 0: it is not complete. Raises ValueError."""
        if not text.startswith(self._before):
            if self._before.startswith(text):
                return 0
            raise ValueError(f"{self._before!r} is expected")
        if not self._after:
            return 0
        end = text.find(self._after[0], len(self._before))
        if end < 0:
            return 0
        name, at = text[len(self._before) : end], end
        for part in self._after:
            at += len(text[at:]) - len(text[at:].lstrip())
            if not text.startswith(part, at):
                if part.startswith(text[at:]):
                    return 0
                raise ValueError(f"{part!r} is expected")
            at += len(part)
        if len(text) <= at:
            return 0
        strings, others = self._kinds(name)
        if text.startswith(self._inner, at):
            at += len(self._inner)
        close = self._closed(text, at, strings)
        if close < 0:
            return 0
        self.values[name] = self._value(text[at:close], strings, others)
        return close + len(self._close)

    def _closed(self, text: str, at: int, strings: bool) -> int:
        """Where the value is closed; -1: not yet."""
        if not strings:
            count = JsonEnd().feed(text[at:])
            if count < 0:
                return -1
            at += count
        return text.find(self._close, at)

    def _value(self, raw: str, strings: bool, others: Callable[[str], bool]) -> Any:
        lead = self.style.close[: len(self.style.close) - len(self.style.close.lstrip())]
        raw = raw.removesuffix(lead) if lead else raw
        if strings and not others(raw.strip()):
            return raw
        try:
            return json.loads(raw)
        except ValueError:
            if strings:
                return raw
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
    properties = function.parameters.get("properties", {})
    if name not in properties:
        return True, _is_json
    value = properties[name]
    one = json_schema(whole.beside_definitions(value if isinstance(value, dict) else {}).schema)
    try:
        strings = one.normalizer.normal(one.document.root).strings != EMPTY
    except UnsatisfiableError:
        return False, _is_json
    if not strings:
        return False, lambda text: True
    others: JsonSchema | None = without_strings(one)
    return True, (lambda text: False) if others is None else (lambda text: is_member(others, text))


def _is_json(text: str) -> bool:
    """Whether a text is a JSON value other than a string."""
    try:
        return not isinstance(json.loads(text), str)
    except ValueError:
        return False
