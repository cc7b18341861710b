r"""GBNF read a second time, plainly: a tokenizer of regexes, backtracking-free descent, and a set-based recogniser.

Everything in llama.cpp's description of the format (grammars/README.md there) but references to tokens: strings, sets,
ranges, negation, `.`, escapes, groups, `* + ? {m} {m,} {m,n}`, comments, alternatives over several lines. Written apart
from `cfg/readers/gbnf.py`, with another method: positions reached, as sets, over the parsed tree, with a
least fixed point over the spans of rules. For texts of a few characters.
"""

from __future__ import annotations

import re
from typing import Any

_TOKEN = re.compile(
    r'(?P<blank>[ \t]+|\#[^\n]*)|(?P<line>\r?\n)|(?P<define>::=)|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|(?P<set>\[\^?(?:\\.|[^\]\\])*\])|(?P<count>\{\s*\d+\s*(?:,\s*\d*\s*)?\})|(?P<name>[A-Za-z0-9_][A-Za-z0-9_-]*)|(?P<sign>[|()*+?.])"
)
_CHARACTER = re.compile(r"\\(?:x(..)|u(....)|U(........)|(.))|(.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r"}


def characters(text: str) -> list[str]:
    """The characters of a string's or set's inside; escapes undone."""
    found = []
    for match in _CHARACTER.finditer(text):
        code = match[1] or match[2] or match[3]
        found.append(chr(int(code, 16)) if code else _PLAIN.get(match[4], match[4]) if match[4] else match[5])
    return found


class Gbnf:
    """A grammar; `accepts` decides membership. Raises ValueError where it cannot read."""

    def __init__(self, text: str, root: str = "root") -> None:
        self.tokens: list[tuple[str, str]] = []
        index = 0
        while index < len(text):
            match = _TOKEN.match(text, index)
            if match is None:
                raise ValueError(f"at {index}: {text[index : index + 20]!r}")
            if match.lastgroup != "blank":
                self.tokens.append((str(match.lastgroup), match[0]))
            index = match.end()
        self.at = 0
        self.rules: dict[str, Any] = {}
        self.root = root
        self._lines()
        while self.at < len(self.tokens):
            kind, name = self.tokens[self.at]
            if kind != "name" or self._kind(1) != "define" or name in self.rules:
                raise ValueError(f"no rule: {name}")
            self.at += 2
            self._lines()
            self.rules[name] = self._choice(False)
            if self._kind() not in ("line", None):
                raise ValueError(f"after rule {name}: {self.tokens[self.at]}")
            self._lines()
        if root not in self.rules:
            raise ValueError("no root")

    def _kind(self, ahead: int = 0) -> str | None:
        return self.tokens[self.at + ahead][0] if self.at + ahead < len(self.tokens) else None

    def _is(self, sign: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at] == ("sign", sign)

    def _lines(self) -> None:
        while self._kind() == "line":
            self.at += 1

    def _choice(self, nested: bool) -> Any:
        parts = [self._sequence(nested)]
        while True:
            back = self.at
            self._lines()
            if not self._is("|"):
                self.at = back
                return ("choice", parts)
            self.at += 1
            self._lines()
            parts.append(self._sequence(nested))

    def _sequence(self, nested: bool) -> Any:
        parts: list[Any] = []
        while True:
            if nested:
                self._lines()
            kind = self._kind()
            if kind is None or kind == "line" or self._is("|") or self._is(")"):
                return ("sequence", parts)
            value = self.tokens[self.at][1]
            self.at += 1
            if kind == "string":
                parts.append(("text", "".join(characters(value[1:-1]))))
            elif kind == "set":
                parts.append(("set", *self._set(value[1:-1])))
            elif kind == "name":
                parts.append(("rule", value))
            elif value == ".":
                parts.append(("set", True, []))
            elif value == "(":
                parts.append(self._choice(True))
                self._lines()
                if not self._is(")"):
                    raise ValueError("no )")
                self.at += 1
            elif parts and (kind == "count" or value in "*+?"):
                numbers = re.findall(r"\d+", value)
                low = int(numbers[0]) if numbers else int(value == "+")
                high = None if value in ("*", "+") or value.rstrip("} \n").endswith(",") else int((numbers or [1])[-1])
                parts.append(("repeat", parts.pop(), low, high))
            else:
                raise ValueError(f"misplaced {value}")

    @staticmethod
    def _set(inside: str) -> tuple[bool, list[tuple[str, str]]]:
        negated = inside.startswith("^")
        pieces = [match[0] for match in _CHARACTER.finditer(inside[negated:])]
        ranges, i = [], 0
        while i < len(pieces):
            wide = i + 2 < len(pieces) and pieces[i + 1] == "-"
            ranges.append((characters(pieces[i])[0], characters(pieces[i + 2 if wide else i])[0]))
            i += 3 if wide else 1
        return negated, ranges

    def accepts(self, text: str) -> bool:
        """Is the text a member? By repetition over all spans until no rule derives more."""
        spans: dict[tuple[str, int], frozenset[int]] = {}

        def ends(node: Any, begins: frozenset[int]) -> frozenset[int]:
            kind = node[0]
            if kind == "text":
                return frozenset(b + len(node[1]) for b in begins if text.startswith(node[1], b))
            if kind == "set":
                hits = (b for b in begins if b < len(text))
                return frozenset(b + 1 for b in hits if node[1] != any(x <= text[b] <= y for x, y in node[2]))
            if kind == "rule":
                return frozenset(e for b in begins for e in spans.get((node[1], b), ()))
            if kind == "choice":
                return frozenset().union(*(ends(part, begins) for part in node[1]))
            if kind == "sequence":
                for part in node[1]:
                    begins = ends(part, begins)
                return begins
            _, part, low, high = node
            for _ in range(low):
                begins = ends(part, begins)
            found, count = begins, low
            while (high is None or count < high) and begins:
                begins = ends(part, begins) - (found if high is None else frozenset())
                found, count = found | begins, count + 1
            return found

        while True:
            changed = False
            for name, body in self.rules.items():
                for begin in range(len(text) + 1):
                    after = ends(body, frozenset([begin]))
                    if after != spans.get((name, begin), frozenset()):
                        spans[name, begin] = after
                        changed = True
            if not changed:
                return len(text) in spans.get((self.root, 0), ())
