"""llguidance's extensions of Lark, rewritten to what lark's own loader reads.

    start: "Answer: " %json {"type": "object"} | "Quote: " %regex {"substring_words": "to be or not to be"}
    call: <|tool_call|> NAME <[128010]>       // one token: by name, <[1,5-7]> by ids, <[^1,5-7]> any other, <[*]> any
    digits-in-hex[capture="n"]: /[0-9]/{2,4}  // names with hyphens, options of a rule, counts in braces
    WORD: /[a-z]+/ & ~"if"                    // intersection and complement of terminals
    other: @sub | %lark { start: "x" }        // another grammar by name, or in place
    once::_: "a" once::set_bit(0) %if bit_clear(0) | ""    // a rule with a parameter (rule_parameters.py)

The idea: none of this is Lark's syntax, so nothing of Lark changes its meaning. Before lark reads the text, each
construct is replaced by one that lark reads: an embedded text by a name that the text declares, `{2,4}` by `~2..4`,
`&`, `~`, `%regex` and parameters by *signs*: regexes that begin with a private character (`Extracted.signs`), which the
readers of rules and terminals know. Options become definitions of terminals (rule_options.py). Places in errors are
mapped back to the original text. The notation is llguidance's (https://github.com/guidance-ai/llguidance,
docs/syntax.md).

Limit: one construct is not looked for inside of another one's JSON.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from constrain.errors import ConstrainError, GrammarError
from constrain.languages.automata.counts import read_count
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.ebnf import Expression, Leaf
from constrain.languages.cfg.readers.embedded import Readers, read_directive, read_nested, read_settings, read_token
from constrain.languages.cfg.readers.rule_options import RuleOptions, read_options
from constrain.languages.cfg.readers.rule_parameters import BITS, Condition, Value, read_condition, read_value
from constrain.limits import tick

Draw = Callable[[int, int], str]  # draws a place: (index, length) in the original text

_STEP = re.compile(
    r"""(?P<plain>//[^\n]*|\#[^\n]*|"(?:\\.|[^"\\\n])*"|/(?!/)(?:\\.|[^/\\\n])+/[imslux]*|~[ \t]*[-+]?\d|->
        |[\s:|()+*?.,!]+)
    |%(?P<directive>json|regex|lark|llguidance|grammar_options)\b
    |(?P<condition>%if\b)
    |(?P<token><(?:\[[^\]\n]*\]|[^\s<>"\[\]][^\s<>"]*)>)
    |(?P<grammar>@[\w-]+)
    |(?P<count>\{[ \t]*(?:-?\d[ \t\d,+-]*|,[ \t\d,+-]*)\})
    |(?P<name>[A-Za-z_]\w*(?:-\w+)*)(?P<parameter>[ \t]*::(?!=|[ \t]*_[ \t]*(?::(?!:)|\[)))?
    |(?P<operator>[&~])
    |.""",
    re.DOTALL | re.VERBOSE,
)
_ANY = re.compile(r'[%<{@&~-]|\[|""|::')  # no extension is without one of these
_OTHERS = re.compile(
    r"\\[uUx]\{(?P<code>[0-9A-Fa-f]{1,8})\}|\\c(?P<control>[A-Za-z])|\\.|(?P<group>\(\?<(?=[A-Za-z_]))", re.DOTALL
)
_JSON = re.compile(r"\\(?:(?P<code>[/b]|u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w)|.)", re.DOTALL)
_CLASS = re.compile(r"\\[wWdDsS]")
_OTHERWISE = re.compile(r"\\[/buwWdDsS]|/[msux]*i")  # what a dialect means otherwise is not without one of these
_COUNT = re.compile(r"\{[ \t]*(-?\d+)?[ \t]*(?:(,)[ \t]*(-?\d+)?[ \t]*)?\}")
_HEAD = re.compile(r"(?:%(?:override|extend)[ \t]+)?[ \t!?]*")


class TextSettings(NamedTuple):
    """The settings of a text, `%llguidance {...}`.

    Attributes:
        initial_ignored: Ignored text may stand before the first lexeme.
        repeated_ignored: Ignored texts may follow each other.
        findings: Sentences about settings without an effect here.
        directive: What sets them: "llguidance", "grammar_options" (XGrammar's), or "", if there are none.
    """

    initial_ignored: bool = True
    repeated_ignored: bool = True
    findings: tuple[str, ...] = ()
    directive: str = ""


@dataclass(frozen=True)
class Parameter:
    """The parameter of a used rule, in terms of the parameter of the rule that uses it. constant: if it is one."""

    value: Value

    @property
    def constant(self) -> int | None:
        """The value if it does not depend on a parameter: each bit of an expression is fixed, kept, or counted."""
        nothing, everything = self.value(0), self.value((1 << BITS) - 1)
        return nothing if nothing == everything else None

    def __str__(self) -> str:
        return "::"


@dataclass(frozen=True)
class If:
    """The condition of an alternative."""

    holds: Condition

    def __str__(self) -> str:
        return "%if"


Sign = str | Leaf | Parameter | If


@dataclass(frozen=True)
class Extracted:
    """A grammar text whose extensions were rewritten.

    Attributes:
        text: A text that lark can read.
        parts: The expressions of the declared names.
        signs: By a regex in the text as written there: "&", "~", the terminal that it stands for, the parameter of the
            rule that follows, or the condition of the alternative.
        parametric: The rules with a parameter.
        options: The options of rules, by the names of the rules in `text`.
        names: The names in `text` of the names with hyphens.
        settings: The settings of the whole text.
        steps: Sorted pairs (index in `text`, index in the original text). Behind each pair the texts run in parallel.
    """

    text: str
    parts: dict[str, Expression] = field(default_factory=dict)
    signs: dict[str, Sign] = field(default_factory=dict)
    parametric: set[str] = field(default_factory=set)
    options: dict[str, RuleOptions] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    settings: TextSettings = field(default_factory=TextSettings)
    steps: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])

    def written(self, index: int) -> int:
        """The index in the original text that corresponds to an index in `text`."""
        at = bisect_right(self.steps, index, key=lambda step: step[0]) - 1
        new, original = self.steps[at]
        limit = self.steps[at + 1][1] if at + 1 < len(self.steps) else original + index - new
        return min(original + index - new, limit)

    def written_name(self, name: str) -> str:
        """A name of `text` as the original text spells it."""
        return next((written for written, changed in self.names.items() if changed == name), name)

    @property
    def in_terminals(self) -> dict[str, str | Node]:
        """The signs as a terminal may contain them: an operator, or a language. Others are shown by their names."""
        return {
            sign: meaning.terminal.node if isinstance(meaning, Leaf) else str(meaning)
            for sign, meaning in self.signs.items()
        }


def extract(text: str, place: Draw, readers: Readers) -> Extracted:
    """Rewrite the extensions of a text. place: draws (index, length) in the original text. Raises ConstrainError."""
    if not _ANY.search(text):
        return Extracted(text)
    made = _Rewriter(text, place, readers).rewrite()
    dialect = made.settings.directive  # it may stand behind what it means otherwise
    return _Rewriter(text, place, readers, dialect).rewrite() if dialect and _OTHERWISE.search(text) else made


def _literal(text: str, dialect: str) -> str:
    r"""A string or regex as Lark writes it.

    A dialect's strings are JSON's: `\/`, `\b`, surrogate pairs. Regexes of Rust have `(?<name>)` and `\u{...}`, those
    of XGrammar `\cA` too; their classes, and the flag i, are those of ASCII.
    """
    if text[0] == '"':
        return _JSON.sub(_code_point, text) if dialect else text
    if text[0] != "/" or text[1] == "/":
        return text
    body, _, flags = _OTHERS.sub(_character, text)[1:].rpartition("/")
    is_ascii = dialect == "grammar_options" and ("i" in flags or _CLASS.search(body))
    return f"/(?a:{body})/{flags}" if is_ascii else f"/{body}/{flags}"


def _code_point(found: re.Match[str]) -> str:
    """The spelling in a string of Lark of what `_JSON` has matched."""
    return f"\\U{ord(json.loads(chr(34) + found[0] + chr(34))):08x}" if found["code"] else found[0]


def _character(found: re.Match[str]) -> str:
    """The spelling in a regex of Python of what `_OTHERS` has matched."""
    if found["group"]:
        return "(?P<"
    code = ord(found["control"]) % 32 if found["control"] else int(found["code"] or "110000", 16)
    if code > 0x10FFFF:
        return found[0]
    sign = chr(code) if chr(code).isalnum() else f"\\{chr(code)}"  # of ASCII, and none of a regex
    return sign if 0x20 < code < 0x7F else f"\\U{code:08x}"


class _Rewriter:
    """One pass over a text."""

    def __init__(self, text: str, place: Draw, readers: Readers, dialect: str = "") -> None:
        self.text, self.place, self.readers, self.dialect = text, place, readers, dialect
        self.letter = next(c for c in "eabcdfghijklmnopqrstuvwxyz" if not re.search(rf"(?i)\b{c}_\d", text))
        self.private = next(chr(c) for c in range(0xE000, 0xF8FF) if chr(c) not in text)
        self.taken = set(re.findall(r"\w+", text))
        self.made = Extracted("")
        self.definitions: list[str] = []  # of terminals that options name
        self.pieces: list[str] = []
        self.copied = self.length = 0  # how far the original is copied; the length of what was made

    def rewrite(self) -> Extracted:
        text, index = self.text, 0
        settings = TextSettings()
        while index < len(text):
            tick()
            step = _STEP.match(text, index)
            assert step is not None
            kind, end = step.lastgroup, step.end()
            if kind == "directive" and step["directive"] in ("llguidance", "grammar_options"):
                end, settings = read_settings(text, index, step["directive"], settings, self.place)
                self.put(index, "", end)
            elif kind in ("name", "parameter"):
                end = self.name(step)
            elif kind == "plain" and (written := _literal(step[0], self.dialect)) != step[0]:
                self.put(index, written, end)
            elif kind in ("directive", "token", "grammar", "count", "condition", "operator"):
                end = getattr(self, kind)(step)
            index = end
        self.pieces.append(text[self.copied :])
        tail = [f"\n%declare {' '.join(self.made.parts)}"] if self.made.parts else []
        tail += [f"\n{definition}" for definition in self.definitions]
        made = self.made
        return Extracted(
            "".join(self.pieces + tail),
            made.parts,
            made.signs,
            made.parametric,
            {name: options.in_dialect(settings.directive) for name, options in made.options.items()},
            made.names,
            settings,
            made.steps,
        )

    def put(self, index: int, new: str, end: int) -> None:
        """Replace the original from `index` to `end`."""
        self.pieces += [self.text[self.copied : index], new]
        self.length += index - self.copied
        self.made.steps.append((self.length, index))
        self.length += len(new)
        self.made.steps.append((self.length, end))
        self.copied = end

    def part(self, index: int, end: int, expression: Expression) -> int:
        """Replace by a name that stands for an expression."""
        name = f"{self.letter}_{len(self.made.parts)}"
        self.made.parts[name] = expression
        self.put(index, f" {name} ", end)
        return end

    def sign(self, index: int, end: int, mark: str, meaning: Sign) -> int:
        """Replace by a sign."""
        sign = f"/{self.private}{mark}/"
        self.made.signs[sign] = meaning
        self.put(index, " ", index)
        self.put(index, f"{sign} ", end)
        return end

    def directive(self, step: re.Match[str]) -> int:
        index = step.start()
        if step["directive"] == "lark":
            begin = re.compile(r"\s*\{").match(self.text, step.end())
            if begin is None:
                raise GrammarError("%lark is not followed by {", place=self.place(index, 5), fix="%lark { start: ... }")
            end = self.closing(begin.end(), index)
            return self.part(index, end + 1, read_nested(self.text, index, begin.end(), end, self.place, self.readers))
        end, expression = read_directive(self.text, index, self.place, self.readers)
        if isinstance(expression, Leaf):
            return self.sign(index, end, str(len(self.made.signs)), expression)
        return self.part(index, end, expression)

    def closing(self, index: int, opened: int) -> int:
        """The index of the brace that closes `%lark {`."""
        depth = 1
        while index < len(self.text):
            step = _STEP.match(self.text, index)
            assert step is not None
            depth += 0 if step["count"] else {"{": 1, "}": -1}.get(step[0], 0)
            if depth == 0:
                return index
            index = step.end()
        raise GrammarError("%lark { is not closed", place=self.place(opened, 5), fix="add }")

    def token(self, step: re.Match[str]) -> int:
        return self.part(step.start(), step.end(), read_token(step[0], step.start(), self.place))

    def grammar(self, step: re.Match[str]) -> int:
        index, end = step.span()
        if "@" not in self.readers:
            where = self.place(index, len(step[0]))
            fix = "read the text with constrain.grammar"
            raise GrammarError(f"{step[0]} has no meaning for this reader", place=where, fix=fix)
        try:
            return self.part(index, end, self.readers["@"](step[0][1:]))
        except ConstrainError as error:
            if error.place is not None:
                raise
            raise type(error)(error.message, place=self.place(index, len(step[0])), fix=error.fix) from None

    def count(self, step: re.Match[str]) -> int:
        index, end = step.span()
        count = _COUNT.fullmatch(step[0])
        low = read_count(count[1] or "0") if count else -1
        high = None if count is None or (count[2] and not count[3]) else read_count(count[3] or count[1] or "0")
        if count is None or low < 0 or (high is not None and high < low):
            fix = "write {n}, {m,}, {,n} or {m,n} with 0 <= m <= n"
            raise GrammarError(f"bad repetition {step[0]}", place=self.place(index, end - index), fix=fix)
        self.put(index, f"~{low}..{UNBOUNDED if high is None else high}", end)
        return end

    def condition(self, step: re.Match[str]) -> int:
        end, holds = read_condition(self.text, step.end(), self.place)
        return self.sign(step.start(), end, str(len(self.made.signs)), If(holds))

    def operator(self, step: re.Match[str]) -> int:
        return self.sign(step.start(), step.end(), step[0], step[0])

    def name(self, step: re.Match[str]) -> int:
        """Read a name; if it begins a line, it is defined, and options may follow."""
        index, end, written = step.start(), step.end("name"), step["name"]
        name = self.made.names.get(written, written)
        if "-" in written and written not in self.made.names:
            name = written.replace("-", "_")
            while name in self.taken:
                name += "_0"
            self.taken.add(name)
            self.made.names[written] = name
        if step["parameter"]:
            after, value = read_value(self.text, step.end(), self.place)
            self.sign(index, index, str(len(self.made.signs)), Parameter(value))
            self.put(index, name, after)
            return after
        head = re.compile(r"(?P<parameter>[ \t]*::[ \t]*_)?(?P<options>[ \t]*\[)?").match(self.text, end)
        if not _HEAD.fullmatch(self.text, self.text.rfind("\n", 0, index) + 1, index) or head is None or not head[0]:
            if name != written:
                self.put(index, name, end)
            return end
        if head["parameter"]:
            self.made.parametric.add(name)
        end = head.end()
        if head["options"]:
            terminal = f"{self.letter.upper()}_{len(self.definitions)}"
            at = head.start("options")
            end, read, definitions = read_options(self.text, head.end() - 1, written, self.place, terminal)
            self.made.options[name] = read
            self.definitions += [f"{name}: {_literal(value, self.dialect)}" for name, value in definitions]
            if head["parameter"] and (definitions or read.lazy):
                fix = "write the end as a symbol of the rule"
                raise GrammarError(
                    "a rule with a parameter has no lazy, suffix or stop", place=self.place(at, 1), fix=fix
                )
        self.put(index, name, end)
        return end


UNBOUNDED = "-0"  # a number that nobody writes: the upper bound of `{m,}`
