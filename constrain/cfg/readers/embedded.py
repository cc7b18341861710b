"""Extracts other languages from Lark texts: `%json { ... }` and `%regex { ... }` in the place of a symbol, and tokens.

    start: "Answer: " %json {"type": "object"} | "Quote: " %regex {"substring_words": "to be or not to be"}
    call: <|tool_call|> NAME <[128010]>       // one token: by name, <[1,5-7]> by ids, <[^1,5-7]> any other, <[*]> any

The idea: before lark reads the text, each directive becomes a name that the text declares (`%declare`). Afterwards the
name is bound to an expression. The argument is JSON, so its end is known; places in errors are mapped back to the
original text. The notation is llguidance's (https://github.com/guidance-ai/llguidance, docs/syntax.md).

The caller passes the meaning of each kind of directive (`Readers`).

Limits: in rules, not in terminals; `lexer="dynamic"`. Ignored text may stand around an embedded text, not inside.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from constrain.automata.syntax import Tokens
from constrain.cfg.ebnf import Expression, Leaf
from constrain.cfg.rules import Terminal
from constrain.errors import ConstrainError, GrammarError

Readers = Mapping[str, Callable[[str], Expression]]
"""By kind ("json", "regex"): reads the JSON text after `%kind`. A reader may raise ConstrainError."""

NO_READERS: Readers = {}

_DIRECTIVE = re.compile(r"%(json|regex)(?=[\s{\[\"tf])\s*")
_STEP = re.compile(
    r'//[^\n]*|\#[^\n]*|"(?:\\.|[^"\\\n])*"|/(?!/)(?:\\.|[^/\\\n])+/|(?P<embedded>%(?:json|regex)\b)'
    r'|(?P<token><(?:\[[^\]\n]*\]|[^\s<>"\[\]][^\s<>"]*)>)|.',
    re.DOTALL,
)
_MEMBER = re.compile(r"(\d+)(?:-(\d+))?|(<[^\s<>]+>)")


@dataclass(frozen=True)
class Extracted:
    """A grammar text whose directives were replaced by names.

    Attributes:
        text: A text that lark can read.
        parts: The expressions of the names.
        steps: Sorted pairs (index in `text`, index in the original text). Behind each pair the texts run in parallel.
    """

    text: str
    parts: dict[str, Expression]
    steps: list[tuple[int, int]]

    def written(self, index: int) -> int:
        """The index in the original text that corresponds to an index in `text`."""
        at = bisect_right(self.steps, index, key=lambda step: step[0]) - 1
        new, original = self.steps[at]
        limit = self.steps[at + 1][1] if at + 1 < len(self.steps) else original + index - new
        return min(original + index - new, limit)


def extract(text: str, place: Callable[[int, int], str], readers: Readers) -> Extracted:
    """Replace the directives of a text. place: draws (index, length) in the original text. Raises ConstrainError."""
    parts: dict[str, Expression] = {}
    steps = [(0, 0)]
    if "%json" not in text and "%regex" not in text and "<" not in text:
        return Extracted(text, parts, steps)
    letter = next(c for c in "eabcdfghijklmnopqrstuvwxyz" if not re.search(rf"\b{c}_\d", text))
    pieces: list[str] = []
    copied = length = 0
    index = 0
    while index < len(text):
        step = _STEP.match(text, index)
        assert step is not None
        if step["embedded"] is None and step["token"] is None:
            index = step.end()
            continue
        if step["token"] is not None:
            end, part = step.end(), _token(step["token"], index, place)
        else:
            end, part = _read(text, index, place, readers)
        name = f"{letter}_{len(parts)}"
        parts[name] = part
        pieces += [text[copied:index], f" {name} "]
        length += index - copied
        steps.append((length, index))
        length += len(name) + 2
        steps.append((length, end))
        copied = index = end
    pieces += [text[copied:], f"\n%declare {' '.join(parts)}" if parts else ""]
    return Extracted("".join(pieces), parts, steps)


def _token(written: str, index: int, place: Callable[[int, int], str]) -> Expression:
    """The terminal of a token, as it is written at an index: `<name>` or `<[ids]>`."""
    if not written.startswith("<["):
        return Leaf(Terminal(Tokens((written,), False), written))
    inner = written[2:-2].replace(" ", "")
    negated = inner.startswith("^")
    if inner == "*":
        return Leaf(Terminal(Tokens((), True), written))
    members: list[str | tuple[int, int]] = []
    for member in inner.removeprefix("^").split(","):
        found = _MEMBER.fullmatch(member)
        low, high = (int(found[1]), int(found[2] or found[1])) if found and found[1] else (0, 0)
        if found is None or high < low:
            fix = "write ids, ranges or names: <[5]>, <[5,8-10]>, <[^<|a|>]>, <[*]>"
            raise GrammarError(f"{member!r} is no token id", place=place(index, len(written)), fix=fix)
        members.append(found[3] or (low, high))
    return Leaf(Terminal(Tokens(tuple(members), negated), written))


def _read(text: str, index: int, place: Callable[[int, int], str], readers: Readers) -> tuple[int, Expression]:
    """(end, expression) of the directive at an index."""
    kind = "json" if text.startswith("%json", index) else "regex"
    if kind not in readers:
        fix = "read the text with constrain.grammar, or write the rule out"
        raise GrammarError(f"%{kind} has no meaning for this reader", place=place(index, len(kind) + 1), fix=fix)
    directive = _DIRECTIVE.match(text, index)
    begin = directive.end() if directive else index + len(kind) + 1
    try:
        _, end = json.JSONDecoder().raw_decode(text, begin)
    except json.JSONDecodeError as error:
        at = min(error.pos, len(text) - 1)
        fix = "write a JSON value after it, as in %json {...}"
        raise GrammarError(f"%{kind} is not followed by JSON: {error.msg}", place=place(at, 1), fix=fix) from None
    except RecursionError:
        raise GrammarError(
            f"the JSON after %{kind} is nested too deeply", place=place(index, 5), fix="make it flatter"
        ) from None
    try:
        return end, readers[kind](text[begin:end])
    except ConstrainError as error:
        where = place(index, len(kind) + 1)
        inside = "" if error.place is None else "\nin it, " + error.place
        raise type(error)(error.message, place=where + inside, fix=error.fix or "correct what is embedded") from error
