"""Arguments whose objects and arrays are no JSON: the values of a call, read from a `NestedStyle`.

The idea: an argument is read up to its end, which brackets, quotes and closing elements tell; then its text becomes a
value at once. Brackets are rewritten to JSON. Elements are read by the schema, which says what has no quotes: whether a
text is a string, whether an element without any in it is an object or an array.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from constrain.chat.calls.functions import Function
from constrain.chat.calls.values import Values, held
from constrain.chat.tags.elements import NestedStyle
from constrain.chat.tags.parameters import Style
from constrain.errors import UnsatisfiableError
from constrain.languages.automata.syntax import EMPTY
from constrain.languages.schema import JsonSchema, json_schema
from constrain.languages.schema.sets.algebra import Conj, values_of
from constrain.masks.derived.members import is_member

_SCHEMAS: WeakKeyDictionary[Function, JsonSchema] = WeakKeyDictionary()
_WORDS = {"None": "null", "True": "true", "False": "false"}
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""


def reading_of(style: Style | NestedStyle, function: Function | None) -> Values | BracketedValues | ElementValues:
    """The reader of one call's arguments in a style. function: the tool; None: it is not known."""
    if isinstance(style, Style):
        return Values(style, function)
    return ElementValues(style, function) if "{name}" in style.close_property else BracketedValues(style)


class BracketedValues:
    """The arguments of one call as names with values in brackets, read as their text comes.

    Args:
        style: How they are written.

    Attributes:
        values: The values so far.
        inside: The text goes on inside of a value.
        problem: What is wrong with the last value; "" if nothing is.
    """

    def __init__(self, style: NestedStyle) -> None:
        self.values: dict[str, Any] = {}
        self.inside, self.problem = False, ""
        self._quote = style.stop  # "": strings are in quotes of their own, with escapes
        sign = (style.root or style.property)[-1]
        self._opening = re.compile(rf"\s*,?\s*({style.names})\s*{sign}\s*")
        self._begun = re.compile(rf"\s*,?\s*(?:{style.names})?\s*")
        quotes = re.escape(self._quote) if self._quote else r"[\"']"
        self._signs = re.compile(rf"{quotes}|[(){{}}\[\],]" + ("" if self._quote else r"|\\"))
        self._name, self._pieces, self._depth, self._string, self._skip = "", [""], 0, "", False

    def feed(self, text: str) -> int:
        """Read what a text begins with.

        Returns the number of characters that were read; 0: more text is needed. Raises ValueError.
        """
        if not self.inside:
            found = self._opening.match(text)
            if found is None:
                if self._begun.fullmatch(text):
                    return 0
                raise ValueError("the name of an argument is expected")
            self._name, self._pieces, self._depth, self.inside = found[1], [], 0, True
            return found.end()
        end = self._end(text)
        taken = len(text) - held(text, self._quote) if end < 0 else end
        self._pieces.append(text[:taken])
        if end >= 0:
            self.inside = False
            try:
                self.values[self._name] = self._value("".join(self._pieces))
            except ValueError as error:
                self.problem = str(error)
        return taken

    def _end(self, text: str) -> int:
        """The place of the comma or bracket behind the value; -1: it goes on. Keeps what was passed."""
        at = 0
        if self._skip and text:
            self._skip, at = False, 1
        limit = len(text) - held(text, self._quote)
        while found := self._signs.search(text, at, limit):
            sign, at = found[0], found.end()
            if sign == "\\":
                self._skip = bool(self._string) and at == limit
                at += bool(self._string)
            elif self._string:
                self._string = "" if sign == self._string else self._string
            elif sign in ('"', "'", self._quote):
                self._string = sign
            elif sign in "({[":
                self._depth += 1
            elif self._depth == 0:
                return found.start()
            elif sign in ")}]":
                self._depth -= 1
        return -1

    def _value(self, text: str) -> Any:
        if self._quote:
            quote = re.escape(self._quote)
            written = re.sub(rf"(?s){quote}(.*?){quote}|([^\s{{}}\[\],:]+)(?=\s*:)", _quoted, text)
        else:
            written = re.sub(rf"(?s){_QUOTED}|\b(?:None|True|False)\b", _literal, text)
        try:
            return json.loads(written, strict=False)
        except ValueError:
            raise ValueError(f"{text!r:.60} is no value") from None


def _quoted(found: re.Match[str]) -> str:
    return json.dumps(found[2] if found[1] is None else found[1])


def _literal(found: re.Match[str]) -> str:
    """A constant or string of Python as JSON."""
    if found[0] in _WORDS:
        return _WORDS[found[0]]
    if found[0][0] == '"':
        with suppress(ValueError):
            return json.dumps(json.loads(found[0], strict=False))
    return json.dumps(_evaluated(found[0]))


def _evaluated(text: str) -> str:
    try:
        return str(ast.literal_eval(text.replace("\n", "\\n")))
    except SyntaxError as error:
        raise ValueError(str(error)) from None


class ElementValues:
    """The arguments of one call as elements in elements, read as their text comes.

    Args:
        style: How they are written; all beginnings and ends of elements begin with `stop`.
        function: The tool; None: it is not known.

    Attributes:
        values: The values so far.
        inside: The text goes on inside of an argument.
        problem: What is wrong with the last argument; "" if nothing is.
    """

    def __init__(self, style: NestedStyle, function: Function | None) -> None:
        self.values: dict[str, Any] = {}
        self.inside, self.problem = False, ""
        self._mark = style.stop
        self._sign = re.compile(re.escape(self._mark) + r"\s*<(/?)([^<>]*)>")
        self._schema = _schema(function)
        self._pieces: list[str] = []
        self._path: list[str] = []

    def feed(self, text: str) -> int:
        """Read what a text begins with.

        Returns the number of characters that were read; 0: more text is needed. Raises ValueError.
        """
        found = self._sign.search(text)
        if found is None:
            keep = text.rfind(self._mark)
            keep = keep if keep >= 0 else len(text) - held(text, self._mark)
            if not self.inside and text[:keep].strip():
                raise ValueError(f"{self._mark + '<'!r} is expected")
            self._pieces.append(text[:keep] if self.inside else "")
            return keep if self.inside else 0
        closes, name = found[1], found[2]
        if not self.inside:
            if closes or text[: found.start()].strip():
                raise ValueError("an element is expected")
            self.inside, self._pieces, self._path = True, [], [name]
            return found.end()
        if not closes:
            self._path.append(name)
        elif name != self._path.pop():
            self.problem = f"the end of {name!r} has no beginning"
            return found.end()
        if self._path:
            self._pieces.append(text[: found.end()])
            return found.end()
        name = name.strip()
        inner = "".join([*self._pieces, text[: found.start()]])
        self.inside = False
        try:
            self.values[name] = self._value(self._tree(inner), self._arguments(name))
        except ValueError as error:
            self.problem = str(error)
        return found.end()

    def _arguments(self, name: str) -> list[Conj] | None:
        if self._schema is None:
            return None
        root = self._schema.document.root
        return [conj for box in self._schema.normalizer.normal(root).objects for conj in values_of(box, name)]

    def _tree(self, text: str) -> str | list[tuple[str, Any]]:
        """A text without elements, or pairs of names and what is in them."""
        stack: list[tuple[str, list[tuple[str, Any]]]] = [("", [])]
        at = 0
        for found in self._sign.finditer(text):
            between, at = text[at : found.start()], found.end()
            if not found[1]:
                stack.append((found[2], []))
            else:
                name, members = stack.pop()
                stack[-1][1].append((name, members or between))
        return stack[0][1] or text

    def _value(self, tree: str | list[tuple[str, Any]], sets: Iterable[Conj] | None) -> Any:
        """The value of an element. sets: what the value may be; None: nothing is known."""
        if self._schema is None or sets is None:
            return self._guess(tree)
        normals = [self._schema.normalizer.normal(conj) for conj in dict.fromkeys(sets)]
        arrays = [box for normal in normals for box in normal.arrays]
        objects = [box for normal in normals for box in normal.objects]
        if not isinstance(tree, str):
            if arrays and all(name == "item" for name, _ in tree):
                items = [[(*box.prefix, box.rest)[min(i, len(box.prefix))] for box in arrays] for i in range(len(tree))]
                return [self._value(inner, conjs) for (_, inner), conjs in zip(tree, items, strict=True)]
            return {
                name: self._value(inner, [conj for box in objects for conj in values_of(box, name)])
                for name, inner in tree
            }
        strings = any(normal.strings != EMPTY for normal in normals)
        if not tree.strip() and not strings and (arrays or objects):
            return [] if arrays else {}
        if any(self._is_scalar(conj, tree.strip()) for conj in sets) or not strings:
            try:
                return json.loads(tree)
            except ValueError:
                raise ValueError(f"{tree!r:.60} is no JSON") from None
        return tree

    def _is_scalar(self, conj: Conj, text: str) -> bool:
        """True if a text is a value of a set, other than a string."""
        assert self._schema is not None
        one = self._schema.of(conj)
        try:
            if isinstance(json.loads(text), str):
                return False
            return is_member(one, text)
        except (ValueError, UnsatisfiableError):
            return False

    def _guess(self, tree: str | list[tuple[str, Any]]) -> Any:
        if not isinstance(tree, str):
            inner = [(name, self._guess(one)) for name, one in tree]
            return [one for _, one in inner] if all(name == "item" for name, _ in tree) else dict(inner)
        try:
            value = json.loads(tree)
        except ValueError:
            return tree
        return tree if isinstance(value, str) else value


def _schema(function: Function | None) -> JsonSchema | None:
    if function is None:
        return None
    if function not in _SCHEMAS:
        _SCHEMAS[function] = json_schema(dict(function.parameters))
    return _SCHEMAS[function]
