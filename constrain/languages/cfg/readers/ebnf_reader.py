r"""Reads XGrammar's EBNF.

    root ::= expression ("=" expression)*      # a comment
    expression ::= [0-9]+ ([-+*/] [0-9]+){0,4}

The idea: a dialect of GBNF (`gbnf.GbnfParser`) with its own names, line rules and escapes. A rule ends where the next
one begins, which must be at the beginning of a line; newlines mean nothing else. Repetition operators cannot be
stacked; the empty text is written `""` or `()`. `[^]` is any character.

Syntax: https://xgrammar.mlc.ai/docs/, "EBNF Grammar". **Lookahead assertions** `(= ...)` at the end of a rule are hints
by which XGrammar classifies tokens before it sees what follows; they do not change the language (0.2.8 accepts the same
texts with and without). They are read, checked and reported in `findings`; masks are exact here without them.
**Options** in brackets after a rule's name: `capture` and `capture="n"` (`Constraint.captures`); `lazy`: a regular rule
ends as soon as it can; `max_chars=n`: a regular rule has at most n characters (XGrammar lets it run on to where it can
end). `temperature` and `max_tokens`: cfg/followed.py. What XGrammar prints of parts of captures: told in `findings`.
**Macros** (`Regex(...)`, `TagDispatch(...)`): ebnf_macros.py.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any, ClassVar

from constrain.errors import ConstrainError, GrammarError, span
from constrain.languages.automata import syntax
from constrain.languages.automata.counts import read_count
from constrain.languages.cfg.build import CaptureRule, GrammarReading
from constrain.languages.cfg.ebnf import Expression, Leaf, Sequence
from constrain.languages.cfg.followed import FollowedRule
from constrain.languages.cfg.readers.ebnf_macros import MACROS, MacroRule, Substring, expand
from constrain.languages.cfg.readers.gbnf import BLANK_LINES, GbnfParser, finish
from constrain.languages.cfg.readers.rule_options import count_of, shortest, temperature_of
from constrain.languages.cfg.rules import Terminal
from constrain.languages.cfg.transform.fold import reachable, to_node, with_loops

_OPTIONS = re.compile(r'\[(?:[^\]"\n]|"(?:\\.|[^"\\\n])*")*\]')
_OPTION = re.compile(r'[ \t]*([A-Za-z_]+)[ \t]*(?:=[ \t]*("(?:\\.|[^"\\\n])*"|[^,"\s]+))?[ \t]*(?:,|$)')
_CALL = re.compile(r"([A-Z][A-Za-z0-9_.-]*)\(")
_ARGUMENT = re.compile(r"([A-Za-z_]\w*)[ \t\r\n]*=(?!=)")
_WORD = re.compile(r"\d+|[A-Za-z_.-][A-Za-z0-9_.-]*")


def read_ebnf(text: str, *, start: str = "root", substring: Substring | None = None) -> GrammarReading:
    """Read a grammar in XGrammar's EBNF. substring: the meaning of `Substring(...)`.

    Raises GrammarError with its place in the text, UnsatisfiableError if no text is a member, LimitError if the text is
    nested too deeply.
    """
    parser = EbnfParser(text, substring)
    reading = finish(parser, start)
    inside = {f"rule {name} is not reachable from {start}" for name in parser.written}  # folded into narrowed rules
    return replace(reading, findings=(*(one for one in reading.findings if one not in inside), *parser.notes))


class EbnfParser(GbnfParser):
    """Recursive descent over XGrammar's EBNF.

    Attributes:
        notes: Sentences about constructs that have no effect on the language.
    """

    NAME = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*")
    BLANK = BLANK_LINES
    COUNT = re.compile(r"\{[ \t\r\n]*(\d+)[ \t\r\n]*(?:(,)[ \t\r\n]*(-1|\d*)[ \t\r\n]*)?\}")
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

    def __init__(self, text: str, substring: Substring | None = None) -> None:
        super().__init__(text)
        self.notes: list[str] = []
        self.substring = substring
        self.written: set[str] = set()  # the rules that narrowed rules use
        self.narrowed: dict[str, list[tuple[str, int, str]]] = {}  # rule -> options that change it: name, number, place

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
        return name

    def _options(self, name: str) -> None:
        """Read the options after a rule's name."""
        start = self.index
        options = _OPTIONS.match(self.text, start)
        if not options:
            raise self.fault("these options are not closed", start, fix="add ]")
        at, end = start + 1, options.end() - 1
        while at < end:
            option = _OPTION.match(self.text, at, end)
            if not option:
                raise self.fault("bad option", at, fix="write name or name=value, with commas between")
            self._option(name, option[1], option[2], option.start(1))
            at = option.end()
        self.index = options.end()

    def _option(self, rule: str, option: str, value: str | None, at: int) -> None:
        """Keep an option of a rule, or refuse it."""
        number = read_count(value) if value and value.isdecimal() else -1
        if option in ("temperature", "max_tokens"):
            self._follow(rule, option, value, span(self.text, at, len(option)))
        elif option == "capture" and (value is None or (value[0] == '"' and len(value) > 2)):
            self.captures[rule] = CaptureRule(rule if value is None else ast.literal_eval(value))
        elif (option == "lazy" and value is None) or (option == "max_chars" and number >= 0):
            place = span(self.text, at, len(option))
            self.narrowed.setdefault(rule, []).append((option, number, place))
        elif option.startswith("capture_hidden_") or option == "stop_capture":
            self.notes.append(f"rule {rule}: {option} changes no language, and captures are as without it")
        elif option in ("lazy", "max_chars", "capture"):
            fix = 'write lazy, max_chars=100 or capture="name"'
            raise self.fault(f"bad value of the option {option}", at, len(option), fix)
        else:
            message = f"the option {option} of rule {rule} is not supported: it would change the language"
            raise self.fault(message, at, len(option), "write what it means as rules")

    def _follow(self, rule: str, option: str, value: str | None, place: str) -> None:
        """Keep an option about the tokens of a rule."""
        old = self.followed.get(rule, FollowedRule(place=place))
        if option == "temperature":
            self.followed[rule] = replace(old, temperature=temperature_of(value, place))
        elif count_of(value, place):
            self.followed[rule] = replace(old, max_tokens=count_of(value, place))
        else:
            raise GrammarError("max_tokens=0 leaves the rule no token", place=place, fix='write "" for the empty text')

    def read(self) -> dict[str, Expression]:
        """Read all rules, and narrow those with options."""
        rules = super().read()
        narrowed = dict(rules)
        for name, options in self.narrowed.items():
            node = to_node(with_loops(rules), name)
            self.written |= reachable(rules, name).keys()
            for option, number, place in options:
                if node is None:
                    fix = "let it use no rule that refers to itself, or name the part that is meant"
                    raise GrammarError(f"{option} needs a regular rule", place=place, fix=fix)
                most = syntax.repeat(syntax.ANY_CHAR, 0, number)
                node = shortest(node) if option == "lazy" else syntax.intersect(node, most)
            assert node is not None
            narrowed[name] = Leaf(Terminal(node, name))
        return narrowed

    def item(self) -> Expression:
        """Read an item, which may be a macro."""
        call = _CALL.match(self.text, self.index)
        if call is None:
            return super().item()
        index, name = self.index, call[1]
        if name not in MACROS:
            fix = f"the macros are {', '.join(MACROS)}"
            raise self.fault(f"the macro {name} is not supported", index, len(name), fix)
        self.index = call.end()
        arguments, options = self._arguments(index)
        try:
            return expand(name, arguments, options, self.substring)
        except ConstrainError as error:
            inside = "" if error.place is None else "\nin it, " + error.place
            place = span(self.text, index, len(name)) + inside
            raise type(error)(error.message, place=place, fix=error.fix) from None

    def _arguments(self, opened: int) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a macro, up to the parenthesis that closes it."""
        arguments: list[Any] = []
        options: dict[str, Any] = {}
        self.skip(BLANK_LINES)
        while not self.text.startswith(")", self.index):
            named = _ARGUMENT.match(self.text, self.index)
            if named is not None:
                self.index = named.end()
                self.skip(BLANK_LINES)
                options[named[1]] = self._value(opened)
            else:
                arguments.append(self._value(opened))
            self._comma(opened)
        self.index += 1
        return arguments, options

    def _value(self, opened: int) -> Any:
        """One argument: a string, a number, true, false, a rule, or a tuple of such."""
        if self.text.startswith('"', self.index):
            index = self.index
            self.index += 1
            characters = []
            while not self.text.startswith('"', self.index):
                characters.append(self.character(index, "string"))
            self.index += 1
            return "".join(characters)
        if self.text.startswith("(", self.index):
            self.index += 1
            values: list[Any] = []
            self.skip(BLANK_LINES)
            while not self.text.startswith(")", self.index):
                values.append(self._value(opened))
                self._comma(opened)
            self.index += 1
            return tuple(values)
        word = _WORD.match(self.text, self.index)
        if word is None:
            fix = "an argument is a string, a number, true, false, the name of a rule, or a tuple of such"
            raise self.fault("bad argument", min(self.index, len(self.text) - 1), fix=fix)
        self.index = word.end()
        if word[0].isdecimal():
            return read_count(word[0])
        if word[0] in ("true", "false"):
            return word[0] == "true"
        self.used.setdefault(word[0], word.start())
        return MacroRule(word[0])

    def _comma(self, opened: int) -> None:
        """Read the comma after an argument, unless it is the last one."""
        self.skip(BLANK_LINES)
        if self.text.startswith(",", self.index):
            self.index += 1
            self.skip(BLANK_LINES)
        elif not self.text.startswith(")", self.index):
            raise self.fault("the arguments of this macro are not closed", opened, fix="add ), and commas between them")

    def at_end_of_rule(self) -> bool:
        """True if the text ends here, or a rule or an assertion begins."""
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
