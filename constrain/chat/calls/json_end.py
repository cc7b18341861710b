"""Find the end of a JSON value in a text that comes in pieces."""

from __future__ import annotations

import re

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
