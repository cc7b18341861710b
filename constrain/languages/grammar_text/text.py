"""`constrain.grammar`: the text of a context-free grammar as a constraint.

The idea: `GrammarText` keeps the text as it is. Its rules are read when `reading` is first used, which `grammar` does
at once to raise errors early.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from constrain.errors import GrammarError
from constrain.languages.automata.syntax import Node
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
from constrain.languages.cfg.build import GrammarReading
from constrain.languages.cfg.layout import Layout, columns_of, read_layout
from constrain.languages.cfg.rules import Grammar, KeywordCase, Lexer, check_case
from constrain.languages.cfg.transform.regular import inline_ignored_after, regular_language
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.composite import Composite
from constrain.languages.constraints.report import ReportLine
from constrain.lazily import lazily
from constrain.limits import default_limits, limits_at

Format = Literal["lark", "gbnf", "ebnf"]
_IS_GBNF = re.compile(r"(?:\s|#.*)*[A-Za-z_][\w.-]*(?:\[[^\]\n]*\])?\s*::=")
_QUOTED = re.compile(r'"(?:\\.|[^"\\\n])*"|(?<![\w.-])\[(?:\\.|[^\]\\\n])*\]|#.*')  # literals, classes and comments
_IS_FILE = re.compile(r"[^\n:|]+\.(?:lark|gbnf|ebnf)")
_RELATIVE_IMPORT = re.compile(r"%import\s+\.")


@lru_cache(maxsize=64)
def _read_text(
    text: str,
    kind: Format,
    start: str,
    lexer: Lexer,
    base: str | None,
    layout: Layout | None,
    grammars: tuple[tuple[str, Constraint], ...],
    keywords: KeywordCase,
) -> GrammarReading:
    """The rules of a text. Cached, so that equal texts have the same nonterminals and share the engine's states."""
    if kind == "gbnf":
        from constrain.languages.cfg.readers.gbnf import read_gbnf

        return read_gbnf(text, start=start)
    from constrain.languages.grammar_text.embedded import readers, spans_of

    if kind == "ebnf":
        from constrain.languages.cfg.readers.ebnf_reader import read_ebnf

        return read_ebnf(text, start=start, substring=spans_of)
    from constrain.languages.cfg.readers.lark_reader import read_lark

    parts = readers(dict(grammars))
    return read_lark(text, start=start, lexer=lexer, base=base, layout=layout, embedded=parts, keywords=keywords)


@dataclass(frozen=True)
class GrammarText(Composite):
    """A grammar text; make one with `grammar`."""

    text: str
    format: Format
    start: str
    lexer: Lexer
    base: str | None = None
    layout: Layout | None = None
    grammars: tuple[tuple[str, Constraint], ...] = ()
    keywords: KeywordCase = "any"

    @lazily
    def reading(self) -> GrammarReading:
        """The rules as read. Raises GrammarError, UnsatisfiableError, LimitError, OSError."""
        read = (
            _read_text.__wrapped__ if _RELATIVE_IMPORT.search(self.text) else _read_text
        )  # an imported file may have changed
        with limits_at(self._shown), default_limits().reading("the grammar"):
            rest = self.base, self.layout, self.grammars, self.keywords
            return read(self.text, self.format, self.start, self.lexer, *rest)

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences about rules that were dropped or are out of reach, and terminals that can never meet."""
        return self.reading.findings

    def as_dynamic(self) -> Grammar:
        if self.layout is None or self.layout.columns is None:
            return super().as_dynamic()
        return inline_ignored_after(self.to_grammar())

    def laid_out_like(self, texts: Sequence[str]) -> GrammarText:
        if self.layout is None or self.layout.columns is not None:
            return self
        return replace(self, layout=replace(self.layout, columns=columns_of(texts, self.layout.tab)))

    @property
    def report(self) -> list[Any]:
        """The entries of embedded parts, and the columns of blocks, if they are given."""
        entries = list(super().report)
        if self.layout is None or self.layout.columns is None:
            return entries
        shown = ", ".join(str(column.column) for column in self.layout.columns)
        return [*entries, ReportLine("(layout)", "$", "enforced", f"blocks begin at the columns {shown} only")]

    @lazily
    def node(self) -> Node | None:
        """The language as one regular language; None: too large, or a rule is recursive, captured or followed."""
        return None if self.reading.captures or self.reading.followed else regular_language(self.reading)

    def __repr__(self) -> str:
        first = next((line.strip() for line in self.text.splitlines() if line.strip()), "")
        return f"grammar({first!r}, format={self.format!r})"


def grammar(
    text: str | os.PathLike[str],
    *,
    format: Format | None = None,  # noqa: A002
    start: str | None = None,
    lexer: Lexer | None = None,
    base: str | os.PathLike[str] | None = None,
    layout: Layout | Mapping[str, Any] | None = None,
    grammars: Mapping[str, Constraint] | None = None,
    keywords: KeywordCase = "any",
) -> GrammarText:
    """Texts of a context-free grammar.

    Args:
        text: The grammar, or the path of a file that holds it (a `Path`, not a str).
        format: "lark" (Lark's EBNF with imports), "gbnf" (llama.cpp) or "ebnf" (XGrammar); by default what the name of
            the file ends with; else, where the first rule is written with `::=`, "gbnf", or "ebnf" if it has what GBNF
            lacks (options in brackets, macros, `(=`); else "lark".
        start: The rule to start from; by default "start" in Lark, "root" in the others.
        lexer: "dynamic": every way to cut a text into terminals counts; "greedy": the longest terminal that fits wins,
            as in programming languages. By default "dynamic", with a layout "greedy". GBNF and EBNF have no terminals
            and are always "dynamic".
        base: The folder that relative imports of Lark (`%import .name.rule`) start from; by default the folder of the
            file. Without either no file is read.
        layout: The meaning of lines, columns and brackets (Lark with lexer="greedy" only), as a `Layout` or a mapping
            of its fields; None: they have none.
        grammars: What `@name` stands for in a Lark text, by name.
        keywords: The case of strings under the flag `i` (`"select"i`, Lark with lexer="dynamic" only; for greedy
            grammars it is an option of the collection): "any" mixture, as the grammar says; "one": each keyword
            is wholly upper or wholly lower; "upper"; "lower".

    Returns:
        A constraint; its `findings` are warnings about the grammar.

    Raises:
        GrammarError: The grammar cannot be read, with line, column and caret; or options do not go together.
        UnsatisfiableError: The start rule derives no text.
        LimitError: Reading takes more than 2 s of CPU time or 1 GB (others inside `with constrain.Limits(...)`).
        OSError: The file cannot be read.

    Example:
        >>> import constrain
        >>> constrain.grammar('start: "(" start ")" | "x"')
        grammar('start: "(" start ")" | "x"', format='lark')
    """
    name = ""
    if isinstance(text, os.PathLike):
        name = os.fspath(text)
        base = os.path.dirname(name) or "." if base is None else base
        text = _file(text)
    if not isinstance(text, str):
        raise GrammarError(
            f"a grammar is a str, not {type(text).__name__}: {text!r:.60}", fix="pass the grammar's text, or a Path"
        )
    if _IS_FILE.fullmatch(text):
        raise GrammarError(f"{text!r:.60} is the name of a file, no grammar", fix=f"pass pathlib.Path({text!r:.60})")
    if format is None:
        format = format_of(text, name)  # noqa: A001
    if not isinstance(format, str) or format not in get_args(Format):
        raise GrammarError(f"unknown grammar format {format!r:.60}", fix="use format='lark', 'gbnf' or 'ebnf'")
    lines = None if layout is None else read_layout(layout)
    if lexer is None:
        lexer = "greedy" if lines is not None else "dynamic"
    if not isinstance(lexer, str) or lexer not in get_args(Lexer):
        raise GrammarError(f"unknown lexer {lexer!r:.60}", fix="use lexer='dynamic' or lexer='greedy'")
    if format != "lark" and lexer == "greedy":
        raise GrammarError(f"{format.upper()} has no lexer: lexer='greedy' has no meaning", fix="use lexer='dynamic'")
    if lines is not None and (format != "lark" or lexer == "dynamic"):
        raise GrammarError("a layout needs a Lark grammar and lexer='greedy'", fix="leave out format= and lexer=")
    check_case(keywords)
    if keywords != "any" and (format != "lark" or lexer == "greedy"):
        raise GrammarError(
            f"keywords={keywords!r} needs a Lark grammar and lexer='dynamic'",
            fix="put a greedy grammar into a folder whose settings have words (constrain.collection.read_folder)",
        )
    if not isinstance(grammars, Mapping | None):
        raise GrammarError(f"grammars= is a dict, not {grammars!r:.40}", fix='grammars={"name": constrain.regex(...)}')
    for name, part in (grammars or {}).items():
        if not isinstance(name, str) or not isinstance(part, Constraint):
            message = f"grammars= takes names and constraints, not {name!r:.40}: {part!r:.40}"
            raise GrammarError(message, fix='grammars={"name": constrain.json_schema(...)}')
    start = start if start is not None else "start" if format == "lark" else "root"
    if not isinstance(start, str):
        raise GrammarError(f"start= is the name of a rule, not {start!r:.60}", fix='start="expression"')
    folder = os.fspath(base) if isinstance(base, str | os.PathLike) else base
    if folder is not None and (not isinstance(folder, str) or "\0" in folder or has_lone_surrogate(folder)):
        raise GrammarError(f"base= is a folder, not {base!r:.60}", fix='pass a Path, or a str such as "grammars"')
    folder = "." if folder == "" else folder
    constraint = GrammarText(text, format, start, lexer, folder, lines, tuple((grammars or {}).items()), keywords)
    constraint.to_grammar()  # reads the text: errors are raised here, not at the first use
    return constraint


def format_of(text: str, name: str = "") -> Format:
    """The format of a grammar, by the ending of its file's name, else by its text."""
    suffix = os.path.splitext(name)[1][1:]
    for known in get_args(Format):
        if suffix == known:
            return known
    if not _IS_GBNF.match(text):
        return "lark"
    from constrain.languages.cfg.readers.ebnf_macros import MACROS

    rules = _QUOTED.sub('""', text)
    is_ebnf = re.search(rf"^[\w.-]+\[|\b(?:{'|'.join(MACROS)})\(|\(=", rules, re.MULTILINE)
    return "ebnf" if is_ebnf else "gbnf"


def as_generated(text: str | os.PathLike[str]) -> GrammarText:
    """Make `grammar(text)`, its keywords in one case each as people write them. Raises as `grammar`."""
    name = os.fspath(text) if isinstance(text, os.PathLike) else ""
    read = _file(text) if isinstance(text, os.PathLike) else text
    is_lark = isinstance(read, str) and format_of(read, name) == "lark"
    return grammar(text, keywords="one" if is_lark else "any")


def _file(path: os.PathLike[str]) -> str:
    """The text of a file. Raises OSError, GrammarError."""
    try:
        with open(path, "rb") as file:
            return file.read().decode()
    except UnicodeDecodeError as error:
        message = f"{os.fspath(path)} is not UTF-8: {error.reason} at byte {error.start}"
        raise GrammarError(message, fix="encode it as UTF-8") from None
    except ValueError as error:  # of what no file is named
        raise GrammarError(f"{os.fspath(path)!r:.60} names no file: {error}", fix="correct the path") from None
