r"""Reads XGrammar's EBNF.

    root ::= expression ("=" expression)*      # a comment
    expression ::= [0-9]+ ([-+*/] [0-9]+){0,4}

The idea: a dialect of GBNF (`gbnf.GbnfParser`) with its own names, line rules and escapes. A rule ends where the next
one begins, which must be at the beginning of a line; newlines mean nothing else. Repetition operators cannot be
stacked; the empty text is written `""` or `()`. `[^]` is any character.

Syntax: https://xgrammar.mlc.ai/docs/, "EBNF Grammar". **Lookahead assertions** `(= ...)` at the end of a rule are hints
by which XGrammar classifies tokens before it sees what follows; they do not change the language (0.2.8 accepts the same
texts with and without). They are read, checked and reported in `findings`; masks are exact here without them.
**Options** in brackets after a rule's name: `capture` and `temperature` do not change the language and are reported
too. Budgets (`max_tokens`, `max_chars`) and `lazy` would change it and are refused, as are **macros** (`Regex(...)`,
`TagDispatch(...)`): combine constraints in Python instead (`constrain.seq`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import ClassVar

from constrain.cfg.build import Reading
from constrain.cfg.ebnf import Expression, Sequence
from constrain.cfg.readers.gbnf import BLANK_LINES, GbnfParser, finish

_OPTIONS = re.compile(r'\[(?:[^\]"\n]|"(?:\\.|[^"\\\n])*")*\]')
_OPTION = re.compile(r'[ \t]*([A-Za-z_]+)[ \t]*(?:=[ \t]*(?:"(?:\\.|[^"\\\n])*"|[^,"\s]+))?[ \t]*(?:,|$)')
_HARMLESS = ("capture", "temperature")


def read_ebnf(text: str, *, start: str = "root") -> Reading:
    """Read a grammar in XGrammar's EBNF.

    Raises GrammarError with its place in the text, UnsatisfiableError if no text is a member, LimitError if the text is
    nested too deeply.
    """
    parser = EbnfParser(text)
    reading = finish(parser, start)
    return replace(reading, findings=(*reading.findings, *parser.notes))


class EbnfParser(GbnfParser):
    """Recursive descent over XGrammar's EBNF.

    Attributes:
        notes: Sentences about constructs that have no effect on the language.
    """

    NAME = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*")
    BLANK = BLANK_LINES
    ANY = ""  # there is no sign for any character; a dot may be part of a name
    ESCAPES: ClassVar = {
        "n": "\n",
        "r": "\r",
        "t": "\t",
        "b": "\b",
        "f": "\f",
        "a": "\a",
        "v": "\v",
        "0": "\0",
        "e": "\x1b",
    } | {c: c for c in "\"\\/'?"}
    SET_ESCAPES: ClassVar = ESCAPES | {c: c for c in "^$.*+()[]{}|-"}
    HEX_DIGITS: ClassVar = {"x": "+", "u": "{4}", "U": "{8}"}
    ESCAPES_SHOWN = r"\n \r \t \b \f \a \v \0 \e \" \\ \/ \' \? \xHH... \uHHHH \UHHHHHHHH"
    DEFINES = re.compile(rf"{NAME.pattern}(?:{_OPTIONS.pattern})?[ \t]*::=")

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.notes: list[str] = []

    def name(self, expected: str, fix: str) -> str:
        """Read a name. A rule's name may have options; another name must not be a macro."""
        index = self.index
        name = super().name(expected, fix)
        following = self.text[self.index : self.index + 1]
        if expected == "a rule name":
            if self.text[self.text.rfind("\n", 0, index) + 1 : index].strip():
                raise self.fault(f"rule {name} begins in the middle of a line", index, len(name), "begin a new line")
            if following == "[":
                self._options(name)
        elif following == "(" and name[0].isupper():
            raise self.fault(
                f"the macro {name} is not supported", index, len(name), "write rules, or use constrain.seq and its like"
            )
        return name

    def _options(self, name: str) -> None:
        """Read the options after a rule's name; refuse options that would change the language."""
        start = self.index
        options = _OPTIONS.match(self.text, start)
        if not options:
            raise self.fault("these options are not closed", start, fix="add ]")
        at, end = start + 1, options.end() - 1
        while at < end:
            option = _OPTION.match(self.text, at, end)
            if not option:
                raise self.fault("bad option", at, fix="write name or name=value, with commas between")
            if option[1] not in _HARMLESS:
                message = f"the option {option[1]} of rule {name} is not supported: it would change the language"
                raise self.fault(message, option.start(1), len(option[1]), "write what it means as rules")
            self.notes.append(f"rule {name}: the option {option[1]} changes no language; it has no effect here")
            at = option.end()
        self.index = options.end()

    def at_end_of_rule(self) -> bool:
        """Whether the text ends here, or a rule or an assertion begins."""
        if self.index >= len(self.text) or (not self.groups and self.text.startswith("(=", self.index)):
            return True
        return not self.groups and self.DEFINES.match(self.text, self.index) is not None

    def choice(self, nested: bool) -> Expression:
        """Read alternatives; at the end of a rule an assertion may follow."""
        if nested and self._at_empty_group():
            return Sequence(())
        body = super().choice(nested)
        if not nested and self.text.startswith("(=", self.index):
            self._assertion()
        return body

    def _at_empty_group(self) -> bool:
        self.skip(BLANK_LINES)
        return self.text.startswith(")", self.index)

    def _assertion(self) -> None:
        """Read a lookahead assertion and note that it has no effect."""
        opened = self.index
        self.index += 2
        self.groups.append(opened)
        super().choice(nested=True)
        if not self.text.startswith(")", self.index):
            raise self.fault("this assertion is not closed", opened, fix="add )")
        self.groups.pop()
        self.index += 1
        rule = next(reversed(self.defined))
        self.notes.append(
            f"rule {rule}: the assertion (= ...) is a hint that changes no language; it has no effect here"
        )
        self.skip(BLANK_LINES)

    def sequence(self, nested: bool) -> Expression:
        """Read a sequence, empty only as a whole group: `()`."""
        self.skip(BLANK_LINES)
        index = self.index
        sequence = super().sequence(nested)
        written = self.text[index : self.index].strip()
        is_group = nested and self.text[:index].rstrip().endswith("(") and self.text[self.index : self.index + 1] == ")"
        if sequence == Sequence(()) and not written and not is_group:
            raise self.fault("an empty alternative", min(index, len(self.text)), fix='write "" for the empty text')
        return sequence

    def repeated(self, item: Expression, blank: re.Pattern[str]) -> Expression:
        """Read at most one operator after an item."""
        if self.text[self.index : self.index + 1] in ("*", "+", "?", "{"):
            item = self.repetition(item)
            self.skip(blank)
            if self.text[self.index : self.index + 1] in ("*", "+", "?", "{"):
                raise self.fault("two operators on one element", fix="group the element with the first: (x+)?")
        return item
