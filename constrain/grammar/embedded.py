"""Other languages inside grammar texts: `%json { ... }` and `%regex { ... }` where a rule may have a symbol.

    start: "Answer: " %json {"type": "object"} | "Quote: " %regex {"substring_words": "to be or not to be"}

The idea: before lark reads the text, each of them becomes a name that the text declares (`%declare`) and that is bound
to a source afterwards. What is inside is JSON, so its end is known; places are mapped back to the text as it was
written. The notation is llguidance's (https://github.com/guidance-ai/llguidance, docs/syntax.md).

    %json {...}                               texts of a JSON Schema; the options are `json_schema`'s defaults
    %regex {"substring_words": "..."}         any span of whole words of a text; also substring_chars, and
    %regex {"substring_chunks": ["..."]}      spans of a list; these are `constrain.substring`, and may be empty
    %regex {"pattern": "..."}                 a Python regex, as `constrain.regex` reads it

Limits: in rules, not in terminals; `lexer="dynamic"`. Ignored text may stand around an embedded text, not inside.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constrain.errors import ConstrainError, GrammarError

if TYPE_CHECKING:
    from constrain.grammar.source import Source

_KINDS: dict[str, Callable[[str], Source]] = {}
_DIRECTIVE = re.compile(r"%(json|regex)(?=[\s{\[\"tf])\s*")
_STEP = re.compile(
    r'//[^\n]*|\#[^\n]*|"(?:\\.|[^"\\\n])*"|/(?!/)(?:\\.|[^/\\\n])+/|(?P<embedded>%(?:json|regex)\b)|.', re.DOTALL
)
_SUBSTRINGS = {"substring_words": "word", "substring_chars": "char", "substring_chunks": "chunk"}


def register(kind: str, read: Callable[[str], Source]) -> None:
    """Say what `%kind ...` stands for. read: from the JSON text; may raise ConstrainError.

    The front door registers what lies in rooms below this one.
    """
    _KINDS[kind] = read


@dataclass(frozen=True)
class Extracted:
    """A grammar text without what was embedded in it.

    text: as lark can read it. sources: name -> what it stands for. steps: (index in text, index in what was written),
    sorted: from there on they run in parallel.
    """

    text: str
    sources: dict[str, Source]
    steps: list[tuple[int, int]]

    def written(self, index: int) -> int:
        """The index in the text as it was written."""
        at = bisect_right(self.steps, index, key=lambda step: step[0]) - 1
        here, there = self.steps[at]
        limit = self.steps[at + 1][1] if at + 1 < len(self.steps) else there + index - here
        return min(there + index - here, limit)


def extract(text: str, place: Callable[[int, int], str]) -> Extracted:
    """Take the embedded texts out. place: draws (index, length) in the text as written. Raises ConstrainError."""
    sources: dict[str, Source] = {}
    steps = [(0, 0)]
    if "%json" not in text and "%regex" not in text:
        return Extracted(text, sources, steps)
    letter = next(c for c in "eabcdfghijklmnopqrstuvwxyz" if not re.search(rf"\b{c}_\d", text))
    pieces: list[str] = []
    copied = length = 0
    index = 0
    while index < len(text):
        step = _STEP.match(text, index)
        assert step is not None
        if step["embedded"] is None:
            index = step.end()
            continue
        end, source = _read(text, index, place)
        name = f"{letter}_{len(sources)}"
        sources[name] = source
        pieces += [text[copied:index], f" {name} "]
        length += index - copied
        steps.append((length, index))
        length += len(name) + 2
        steps.append((length, end))
        copied = index = end
    pieces += [text[copied:], f"\n%declare {' '.join(sources)}" if sources else ""]
    return Extracted("".join(pieces), sources, steps)


def _read(text: str, index: int, place: Callable[[int, int], str]) -> tuple[int, Source]:
    """(where it ends, the source) of an embedded text."""
    kind = "json" if text.startswith("%json", index) else "regex"
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
        return end, _KINDS[kind](text[begin:end])
    except ConstrainError as error:
        where = place(index, len(kind) + 1)
        inside = "" if error.place is None else "\nin it, " + error.place
        raise type(error)(error.message, place=where + inside, fix=error.fix or "correct what is embedded") from error


def _regex(text: str) -> Source:
    from constrain.grammar.combine import optional
    from constrain.grammar.source import regex
    from constrain.grammar.substring import substring

    value: Any = json.loads(text)
    if not isinstance(value, dict) or len(value) != 1 or not (value.keys() & {"pattern", *_SUBSTRINGS}):
        known = ", ".join(["pattern", *_SUBSTRINGS])
        raise GrammarError(f"%regex needs an object with one of {known}", fix='write %regex {"pattern": "..."}')
    [(name, argument)] = value.items()
    return regex(argument) if name == "pattern" else optional(substring(argument, _SUBSTRINGS[name]))  # type: ignore[arg-type]


register("regex", _regex)
