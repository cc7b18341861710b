"""A reader of literals in C++ and Rust: the arguments of calls, as far as they are written out.

Strings of all kinds, lists in `[]`, `{}`, `()` or `vec![]`, `json!()`, numbers, and names that were bound to these; all
else is `...`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

TOKEN = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/
    | (?P<rust>b?r(?P<hashes>\#*)"(?P<rust_text>.*?)"(?P=hashes))
    | (?P<cpp>R"(?P<mark>[^(\s]*)\((?P<cpp_text>.*?)\)(?P=mark)")
    | (?P<string>b?"(?P<text>(?:\\.|[^"\\])*)")
    | (?P<char>'(?:\\.|[^'\\])')
    | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w]))
    | (?P<name>[A-Za-z_]\w*(?:::\w+)*!?)
    | (?P<mark_of>.)""",
    re.DOTALL | re.VERBOSE,
)
ESCAPE = re.compile(r"\\(?:u\{(\w+)\}|u(\w{4})|U(\w{8})|x(\w\w)|(\r?\n\s*)|(.))", re.DOTALL)
LETTERS = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "v": "\v", "a": "\a"}
OPENS, CLOSES = ("(", "[", "{"), (")", "]", "}", None)
CONVERSIONS = ("to_string", "into", "as_str", "clone", "to_owned")
NAMED = {"true": True, "false": False, "null": None, "nullptr": None}


def unescaped(text: str) -> str:
    """The text of a string literal. The bytes that C++ writes with \\x are read as UTF-8."""

    def one(found: re.Match[str]) -> str:
        *codes, line_end, letter = found.groups()
        code = next((each for each in codes if each), None)
        if code:
            number = int(code, 16)
            return chr(0xDC00 + number) if codes[3] and number > 127 else chr(number)
        return "" if line_end else LETTERS.get(letter, letter)

    return ESCAPE.sub(one, text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class Literals:
    """The tokens of a source file, and a place among them."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, Any]] = []
        for found in TOKEN.finditer(text):
            kind = found.lastgroup
            if found["rust"] or found["cpp"] or found["string"]:
                raw = found["rust_text"] if found["rust"] else found["cpp_text"]
                self.tokens.append(("string", raw if raw is not None else unescaped(found["text"])))
            elif kind is not None:
                self.tokens.append((kind, found[0]))
        self.at = 0
        self.bound: dict[str, Any] = {}

    def peek(self) -> Any:
        """The text of the next token if it is not a string; "" for a string, None at the end."""
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("end", None)
        return "" if kind == "string" else text

    def calls(self, names: set[str]) -> Iterator[tuple[str, list[Any]]]:
        """Yield calls of functions in the functions of a file with their arguments; in a test of cases, for each."""
        cases: list[list[Any]] = []
        while self.at < len(self.tokens) - 1:
            text, before = self.tokens[self.at][1], self.tokens[self.at - 1][1]
            self.at += 1
            if text.partition("::")[0] == "case" and self.peek() == "(":
                self.at += 1
                cases.append(self.group("(", json=False))
            elif text == "fn" or before == "void":
                named = self.parameters()
                begin, outer = self.at, self.bound
                for case in cases or [[]]:
                    self.at, self.bound = begin, {**outer, **dict(zip(named, case, strict=False))}
                    yield from self.body(names)
                self.bound, cases = outer, []
            elif self.peek() == ":":
                self.bind(text)

    def parameters(self) -> list[str]:
        """Go to the body of a function, and return the names of the parameters that its cases give."""
        named = []
        while self.peek() not in ("{", ";", None):
            if self.peek() == "case":
                named.append(self.tokens[self.at + 2][1])
            self.at += 1
        return named

    def body(self, names: set[str]) -> Iterator[tuple[str, list[Any]]]:
        """Yield the calls in the brackets that begin here."""
        depth = 0
        while self.peek() is not None:
            kind, text = self.tokens[self.at]
            self.at += 1
            depth += kind == "mark_of" and (text in OPENS) - (text in CLOSES)
            if depth <= 0:
                return
            if kind == "name" and text in names and self.peek() == "(":
                self.at += 1
                yield text, self.group("(", json=False)
            elif kind == "name" and self.peek() in ("=", ":"):
                self.bind(text)

    def looped(self) -> Iterator[Any]:
        """Yield the values of the lists that `for … in [` goes through."""
        while self.at < len(self.tokens) - 1:
            self.at += 1
            if self.tokens[self.at - 1][1] == "in" and self.peek() == "[":
                self.at += 1
                yield from self.group("[", json=False)

    def bind(self, name: str) -> None:
        """Bind a name to the value behind `=`."""
        begin = self.at
        while self.peek() not in ("=", ";", ",", "{", "}", None):
            self.at += 1
        if self.peek() == "=":
            self.at += 1
            self.bound[name] = self.value()
        self.at = begin

    def value(self, json: bool = False) -> Any:
        """The value that begins here, up to the comma or bracket behind it; `...` if it is computed."""
        while self.peek() in ("&", "mut"):
            self.at += 1
        kind, text = self.tokens[self.at]
        self.at += 1
        made: Any = ...
        if kind == "string":
            made = text
            while self.peek() == "":  # C++ joins neighbours
                made += self.tokens[self.at][1]
                self.at += 1
        elif kind == "number":
            made = float(text) if re.search(r"[.eE]", text) else int(text)
        elif text == "vec!":
            made = self.value(json)
        elif text == "json!":
            self.at += 1
            [made] = self.group("(", json=True)
        elif kind == "name":
            made = NAMED.get(text, self.bound.get(text, ...))
        elif text in OPENS:
            made = self.group(text, json)
            parts = [*made, *made.values()] if isinstance(made, dict) else made
            made = ... if json and ... in parts else made
        return made if self.ends() else ...

    def group(self, opening: str, json: bool) -> Any:
        """The values of a bracket that was opened; in JSON `{` opens a mapping."""
        values: list[Any] = []
        keys: list[Any] = []
        while self.peek() not in CLOSES:
            values.append(self.value(json))
            if json and self.peek() == ":":
                keys.append(values.pop())
            self.at += self.peek() in (",", ":", ";")
        self.at += 1
        if json and opening == "{":
            return dict(zip(keys, values, strict=True)) if len(keys) == len(values) else {"": ...}
        return values

    def ends(self) -> bool:
        """True if the value is whole; else skip what is behind it."""
        whole, depth = True, 0
        while depth or self.peek() not in (",", ":", ";", *CLOSES):
            if not depth and self.peek() == "." and self.tokens[self.at + 1][1] in CONVERSIONS:
                self.at += 4
                continue
            whole = False
            depth += (self.peek() in OPENS) - (self.peek() in CLOSES[:3])
            self.at += 1
            if self.at >= len(self.tokens):
                break
        return whole
