"""`constrain.grammar`: the text of a context-free grammar as a constraint.

The idea: the text is kept as it is, and read when its rules are first asked for (`GrammarText.reading`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

from constrain.automata.syntax import Node
from constrain.cfg.build import Reading
from constrain.cfg.layout import Layout, read_layout
from constrain.cfg.readers.ebnf_reader import read_ebnf
from constrain.cfg.readers.gbnf import read_gbnf
from constrain.cfg.readers.lark_reader import read_lark
from constrain.cfg.rules import Lexer
from constrain.cfg.transform.regular import regular_language
from constrain.constraints.composite import Composite
from constrain.errors import GrammarError
from constrain.grammar_text.embedded import READERS
from constrain.lazily import lazily

Format = Literal["lark", "gbnf", "ebnf"]
_RELATIVE_IMPORT = re.compile(r"%import\s+\.")


@lru_cache(maxsize=64)
def _read(text: str, kind: Format, start: str, lexer: Lexer, base: str | None, layout: Layout | None) -> Reading:
    """Remembered, so that equal texts have the same nonterminals and share the engine's states."""
    if kind != "lark":
        return (read_gbnf if kind == "gbnf" else read_ebnf)(text, start=start)
    return read_lark(text, start=start, lexer=lexer, base=base, layout=layout, embedded=READERS)


@dataclass(frozen=True)
class GrammarText(Composite):
    """A grammar text; make one with `grammar`."""

    text: str
    format: Format
    start: str
    lexer: Lexer
    base: str | None = None
    layout: Layout | None = None

    @lazily
    def reading(self) -> Reading:
        """The rules as read. Raises what `read_lark` and `read_gbnf` raise."""
        read = _read.__wrapped__ if _RELATIVE_IMPORT.search(self.text) else _read  # a file may change
        return read(self.text, self.format, self.start, self.lexer, self.base, self.layout)

    @property
    def findings(self) -> tuple[str, ...]:
        """What the analysis found: rules that were dropped or are out of reach, terminals that can never meet."""
        return self.reading.findings

    @lazily
    def node(self) -> Node | None:
        """The language as one regular language, if no rule of it is recursive and it is not too large."""
        return regular_language(self.reading)

    def __repr__(self) -> str:
        first = next((line.strip() for line in self.text.splitlines() if line.strip()), "")
        return f"grammar({first!r}, format={self.format!r})"


def grammar(
    text: str | os.PathLike[str],
    *,
    format: Format = "lark",  # noqa: A002
    start: str | None = None,
    lexer: Lexer | None = None,
    base: str | os.PathLike[str] | None = None,
    layout: Layout | Mapping[str, Any] | None = None,
) -> GrammarText:
    """Texts of a context-free grammar.

    text: the grammar, or the path of a file that holds it (a `Path`, not a str).
    format: "lark" (Lark's EBNF, imports included), "gbnf" (llama.cpp) or "ebnf" (XGrammar).
    start: the rule to start from; by default "start" in Lark, "root" otherwise.
    lexer: "dynamic" — every way to cut a text into terminals counts; "greedy" — the longest terminal that fits, as
      programming languages are lexed. By default "dynamic", with a layout "greedy"; GBNF and EBNF have no terminals and
      are always "dynamic".
    layout: what lines, columns and brackets mean (Lark); None: nothing. A mapping of a `Layout`'s fields is taken too.
    base: the folder that relative imports of Lark start from (`%import .name.rule`); by default that of the file, else
      the working directory.
    Raises GrammarError with line, column and caret; UnsatisfiableError if the start rule derives no text; OSError if
    the file cannot be read.
    """
    if isinstance(text, os.PathLike):
        base = os.path.dirname(text) if base is None else base
        text = _file(text)
    if not isinstance(text, str):
        raise GrammarError(
            f"a grammar is a str, not {type(text).__name__}: {text!r:.60}", fix="pass the grammar's text, or a Path"
        )
    if format not in get_args(Format):
        raise GrammarError(f"unknown grammar format {format!r}", fix="use format='lark', 'gbnf' or 'ebnf'")
    lines = None if layout is None else read_layout(layout)
    if lexer is None:
        lexer = "greedy" if lines is not None else "dynamic"
    if lexer not in get_args(Lexer):
        raise GrammarError(f"unknown lexer {lexer!r}", fix="use lexer='dynamic' or lexer='greedy'")
    if format != "lark" and lexer == "greedy":
        raise GrammarError(f"{format.upper()} has no lexer: lexer='greedy' has no meaning", fix="use lexer='dynamic'")
    if lines is not None and (format != "lark" or lexer == "dynamic"):
        raise GrammarError("a layout needs a Lark grammar and lexer='greedy'", fix="leave out format= and lexer=")
    start = start if start is not None else "start" if format == "lark" else "root"
    constraint = GrammarText(text, format, start, lexer, None if base is None else os.fspath(base), lines)
    constraint.to_grammar()  # read now: a fault belongs to this line, not to a later one
    return constraint


def _file(path: os.PathLike[str]) -> str:
    with open(path, "rb") as file:
        raw = file.read()
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        message = f"{os.fspath(path)} is not UTF-8: {error.reason} at byte {error.start}"
        raise GrammarError(message, fix="encode it as UTF-8") from None
