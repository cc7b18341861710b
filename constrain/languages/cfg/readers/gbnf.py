r"""Reads GBNF, the grammar format of llama.cpp.

    root ::= "answer: " digit+ ("," digit{1,3})*   # a comment
    digit ::= [0-9]

The idea: GBNF has no lexer; its rules go down to characters. A recursive-descent parser makes EBNF expressions of
literals and character sets. `fold` then makes terminals of the largest regular pieces, which keeps the language, since
nothing is ignored and every segmentation counts.

Syntax: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md. Escapes: `\xHH \uHHHH \UHHHHHHHH \n \t
\r \\ \" \[ \]`. `.` is any character, newline too. As in llama.cpp a newline ends a rule unless it is inside
parentheses or next to a `|`. References to tokens (`<think>`, `<[1000]>`) are refused: the language of a constraint
is a language of texts.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import ClassVar

from constrain.errors import GrammarError, LimitError, did_you_mean, span
from constrain.languages.automata import syntax
from constrain.languages.automata.counts import read_count
from constrain.languages.automata.unicode import intervals
from constrain.languages.cfg.build import CaptureRule, GrammarReading, build, with_followed
from constrain.languages.cfg.ebnf import Choice, Expression, Leaf, Ref, Repeated, Sequence
from constrain.languages.cfg.followed import FollowedRule
from constrain.languages.cfg.rules import Terminal
from constrain.limits import limits_at, tick

_BLANK = re.compile(r"(?:[ \t]|#[^\n\r]*)*")
BLANK_LINES = re.compile(r"(?:[ \t\r\n]|#[^\n\r]*)*")


def read_gbnf(text: str, *, start: str = "root") -> GrammarReading:
    """Read a GBNF grammar.

    Raises GrammarError with its place in the text, UnsatisfiableError if no text is a member, LimitError if the text is
    nested too deeply.
    """
    return finish(GbnfParser(text), start)


def finish(parser: GbnfParser, start: str) -> GrammarReading:
    """The grammar of a parser's text. Raises as `read_gbnf`."""
    try:
        rules = parser.read()
        if not rules:
            raise GrammarError("the grammar is empty", fix='write at least a root rule, like root ::= "yes" | "no"')
        if start not in rules:
            message = f"there is no rule {start!r} to start from; the rules are: {', '.join(rules)}"
            fix = did_you_mean(start, rules, f"name one of your rules {start}, or pass start=...")
            raise GrammarError(message, fix=fix)
        reading = replace(build(rules, start, folded=True, place=parser.definition), captures=parser.captures)
        return with_followed(reading, parser.followed, lambda marked: build(marked, start, place=parser.definition))
    except RecursionError:
        raise LimitError("the grammar is nested too deeply", fix="name the inner parts as rules of their own") from None


class GbnfParser:
    """Recursive descent over the text; `index` is the current position.

    Each method reads one construct at the position and advances behind it. Dialects override the class variables
    (ebnf_reader.py). BLANK: matches what separates the items of a rule.
    """

    NAME = re.compile(r"[A-Za-z0-9_-]+")
    BLANK = _BLANK
    COUNT = re.compile(r"\{[ \t\r\n]*(\d+)[ \t\r\n]*(?:(,)[ \t\r\n]*(\d*)[ \t\r\n]*)?\}")
    ANY = "."
    ESCAPES: ClassVar = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "[": "[", "]": "]"}
    SET_ESCAPES: ClassVar = ESCAPES
    HEX_DIGITS: ClassVar = {"x": "{2}", "u": "{4}", "U": "{8}"}  # as a quantifier of a regex
    ESCAPES_SHOWN = r"\n \t \r \\ \" \[ \] \xHH \uHHHH \UHHHHHHHH"

    def __init__(self, text: str) -> None:
        self.text = text
        self.index = 0
        self.defined: dict[str, int] = {}  # rule name -> index of its definition
        self.used: dict[str, int] = {}  # rule name -> index of its first use
        self.groups: list[int] = []  # the indices of the open parentheses
        self.captures: dict[str, CaptureRule] = {}
        self.followed: dict[str, FollowedRule] = {}  # rules whose tokens matter

    def definition(self, name: str) -> str | None:
        """Draws the place where a rule is defined."""
        return span(self.text, self.defined[name], len(name)) if name in self.defined else None

    def read(self) -> dict[str, Expression]:
        """Read all rules. Raises GrammarError."""
        rules: dict[str, Expression] = {}
        self.skip(BLANK_LINES)
        with limits_at(lambda: span(self.text, self.index)):
            while self.index < len(self.text):
                name, body = self.rule()
                rules[name] = body
        for name, index in self.used.items():
            if name not in self.defined:
                place = span(self.text, index, len(name))
                fix = did_you_mean(name, self.defined, f"add a line {name} ::= ...")
                raise GrammarError(f"rule {name} is used but not defined", place=place, fix=fix)
        return rules

    def rule(self) -> tuple[str, Expression]:
        index = self.index
        name = self.name("a rule name", fix="a rule is written: name ::= alternatives")
        if name in self.defined:
            raise self.fault(f"rule {name} is defined more than once", index, len(name), "join the definitions with |")
        self.defined[name] = index
        self.skip(_BLANK)
        self.expect("::=")
        self.skip(BLANK_LINES)
        body = self.choice(nested=False)
        if not self.at_end_of_rule():
            raise self.fault(
                f"unexpected {self.text[self.index]!r}",
                fix="write a string, a [set], a rule name, a group, | or an end of line",
            )
        self.skip(BLANK_LINES)
        return name, body

    def at_end_of_rule(self) -> bool:
        """True if the text or the line ends here."""
        return self.index >= len(self.text) or self.text[self.index] in "\r\n"

    def choice(self, nested: bool) -> Expression:
        parts = [self.sequence(nested)]
        while self.at_bar():
            self.index += 1
            self.skip(BLANK_LINES)
            parts.append(self.sequence(nested))
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def at_bar(self) -> bool:
        """True if a | is next, maybe on a line of its own; if so, advance to it."""
        ahead = BLANK_LINES.match(self.text, self.index)
        if ahead and self.text[ahead.end() : ahead.end() + 1] == "|":
            self.index = ahead.end()
            return True
        return False

    def sequence(self, nested: bool) -> Expression:
        blank = BLANK_LINES if nested else self.BLANK
        parts: list[Expression] = []
        self.skip(blank)
        while not self.at_end_of_rule() and self.text[self.index] not in "|)":
            tick()
            item = self.item()
            self.skip(blank)
            parts.append(self.repeated(item, blank))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def repeated(self, item: Expression, blank: re.Pattern[str]) -> Expression:
        """Read the repetition operators after an item."""
        while self.text[self.index : self.index + 1] in ("*", "+", "?", "{"):
            item = self.repetition(item)
            self.skip(blank)
        return item

    def item(self) -> Expression:
        index, first = self.index, self.text[self.index]
        if first == '"':
            return self.string()
        if first == "[":
            return self.character_set()
        if first == self.ANY:
            self.index += 1
            return Leaf(Terminal(syntax.ANY_CHAR, "."))
        if first == "(":
            return self.group()
        if first in "<!":
            fix = "write the token's text as a string"
            raise self.fault("references to tokens are not supported: a constraint is a language of texts", fix=fix)
        if first in "*+?{":
            raise self.fault(
                f"{first} repeats nothing",
                fix=f'put it after a string, a [set], a rule name or a group; or quote it: "{first}"',
            )
        name = self.name("a string, a [set], a rule name or a group", fix=f'quote it if it is text: "{first}"')
        if self.groups and re.compile(r"[ \t]*::=").match(self.text, self.index):
            raise self.fault("this parenthesis is not closed", self.groups[-1], fix="add )")
        self.used.setdefault(name, index)
        return Ref(name)

    def group(self) -> Expression:
        self.groups.append(self.index)
        self.index += 1
        body = self.choice(nested=True)
        if self.text[self.index : self.index + 1] != ")":
            raise self.fault("this parenthesis is not closed", self.groups[-1], fix="add )")
        self.index += 1
        self.groups.pop()
        return body

    def repetition(self, item: Expression) -> Expression:
        index, operator = self.index, self.text[self.index]
        if operator != "{":
            self.index += 1
            return Repeated(item, *{"*": (0, None), "+": (1, None), "?": (0, 1)}[operator])
        count = self.COUNT.match(self.text, index)
        if not count:
            raise self.fault("bad repetition", index, fix="write {m}, {m,} or {m,n}")
        self.index = count.end()
        low = read_count(count[1])
        high = low if not count[2] else read_count(count[3]) if count[3] not in ("", "-1") else None
        if high is not None and high < low:
            raise self.fault(f"{{m,n}} needs m <= n, not {low} and {high}", index, len(count[0]), "swap them")
        return Repeated(item, low, high)

    def string(self) -> Expression:
        index = self.index
        self.index += 1
        characters = []
        while self.text[self.index : self.index + 1] != '"':
            characters.append(self.character(index, "string"))
        self.index += 1
        return Leaf(Terminal(syntax.literal("".join(characters)), self.text[index : self.index], literal=True))

    def character_set(self) -> Expression:
        index = self.index
        negated = self.text.startswith("[^", index)
        self.index += 2 if negated else 1
        ranges: list[tuple[int, int]] = []
        while self.text[self.index : self.index + 1] != "]":
            at = self.index
            low = high = ord(self.character(index, "set", surrogates=True))
            if self.text.startswith("-", self.index) and not self.text.startswith("-]", self.index):
                self.index += 1
                high = ord(self.character(index, "set", surrogates=True))
            if high < low:
                shown = self.text[at : self.index]
                raise self.fault(f"bad range {shown}", at, len(shown), "write the smaller character first")
            ranges.append((low, high))
        self.index += 1
        node = syntax.chars(intervals.negate(intervals.union(ranges)) if negated else ranges)
        return Leaf(Terminal(node, self.text[index : self.index]))

    def character(self, opened: int, what: str, *, surrogates: bool = False) -> str:
        """Read one character of a string or set, with escapes undone. opened: where the string or set begins."""
        index = self.index
        if index >= len(self.text) or self.text[index] in "\r\n":
            close = '"' if what == "string" else "]"
            raise self.fault(f"this {what} is not closed", opened, fix=f"add {close}; a newline is written \\n")
        self.index += 1
        if self.text[index] != "\\":
            return self.text[index]
        kind = self.text[self.index : self.index + 1]
        self.index += 1
        escapes = self.ESCAPES if what == "string" else self.SET_ESCAPES
        if kind in escapes and kind:
            return escapes[kind]
        count = self.HEX_DIGITS.get(kind)
        match = re.compile(f"[0-9A-Fa-f]{count}").match(self.text, self.index) if count else None
        if not match:
            digits = self.text[self.index : self.index + int(count[1])] if count and count[0] == "{" else ""
            fix = f"the escapes are {self.ESCAPES_SHOWN}"
            raise self.fault(f"unknown escape \\{kind}{digits}", index, 2 + len(digits), fix)
        digits = match[0]
        self.index += len(digits)
        code = int(digits, 16)
        if code > syntax.MAX_CODE_POINT or (not surrogates and syntax.SURROGATES[0] <= code <= syntax.SURROGATES[1]):
            raise self.fault(
                f"\\{kind}{digits} is not a character", index, 2 + len(digits), "use \\UHHHHHHHH, at most 0010FFFF"
            )
        return chr(code)

    def name(self, expected: str, fix: str) -> str:
        match = self.NAME.match(self.text, self.index)
        if not match:
            shown = repr(self.text[self.index]) if self.index < len(self.text) else "the end of the text"
            raise self.fault(f"expected {expected}, not {shown}", fix=fix)
        self.index = match.end()
        return match[0]

    def expect(self, symbol: str) -> None:
        if not self.text.startswith(symbol, self.index):
            raise self.fault(f"expected {symbol}", fix="a rule is written: name ::= alternatives")
        self.index += len(symbol)

    def skip(self, blank: re.Pattern[str]) -> None:
        match = blank.match(self.text, self.index)
        self.index = match.end() if match else self.index

    def fault(self, message: str, index: int | None = None, length: int = 1, fix: str | None = None) -> GrammarError:
        return GrammarError(message, place=span(self.text, self.index if index is None else index, length), fix=fix)
