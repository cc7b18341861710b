r"""Layout: the meaning of lines, columns and brackets in an indentation-sensitive language such as Python.

The idea (note 0006): the grammar's rules name three declared terminals, as for lark's `Indenter`: the end of a line,
the beginning of a block and its end. `Layout` names them, and the brackets. transform/indentation.py writes the columns
into the rules; this module makes the terminals that it needs.

* The end of a line is a line break and all lines after it that hold nothing but ignored text. A last line without a
  line break counts as having one.
* A line of a block begins with exactly the columns of the block's first line, which has more than the block around.
* Between brackets line breaks are ignored, like the terminals that the grammar ignores.

Columns are counted twice, as in CPython's tokenizer (Python language reference, section 2.1.8): a tab counts up to the
next multiple of `tab`, and it counts as one character. Lines of one block agree in both, so the meaning of a text does
not depend on the width of a tab. A form feed restarts the count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, NamedTuple

from constrain.errors import GrammarError
from constrain.languages.automata import syntax
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.rules import Terminal

_EOL = syntax.alternate(syntax.literal("\n"), syntax.literal("\r"), syntax.literal("\r\n"))
EOL = Terminal(_EOL, "end of line")


class Column(NamedTuple):
    """The indentation of a line: in columns, with tab stops, and in characters."""

    column: int = 0
    characters: int = 0

    def after_space(self) -> Column:
        """The column after a space."""
        return Column(self.column + 1, self.characters + 1)

    def after_tab(self, tab: int) -> Column:
        """The column after a tab."""
        return Column(self.column - self.column % tab + tab, self.characters + 1)

    def is_inside(self, other: Column) -> bool:
        """True if a line at this column can begin a block inside a block at the other, for any width of a tab."""
        return self.column > other.column and self.characters > other.characters


@dataclass(frozen=True)
class Layout:
    r"""The meaning of lines, columns and brackets, for `constrain.grammar(..., layout=...)`.

    Attributes:
        newline: The declared terminal (`%declare`) for the end of a line. Default `_NEWLINE`.
        indent: The declared terminal for the beginning of a block. Default `_INDENT`. A block begins and ends in one
            alternative of a rule.
        dedent: The declared terminal for the end of a block. Default `_DEDENT`.
        open: Opening brackets, by the names of their terminals or by their texts. Default `(`, `[`, `{`. A bracket
            opens and closes in one alternative of a rule.
        close: Closing brackets, likewise. Default `)`, `]`, `}`.
        verbatim: The names of terminals after which nothing is ignored, such as the opening quote of an f-string.
            Default none.
        tab: A tab advances to the next multiple of this many columns, 1 to 100. Default 8; None: no tabs in
            indentation.
        columns: The columns at which blocks may begin, as numbers of spaces, or as `Column`s where tabs count too.
            Default None: any. Texts with holes, and diffusion, need columns: then the grammar is finite.

    Raises:
        GrammarError: A field has a value that it cannot have.

    Source:
        Python language reference, section 2.1 (line structure); the terminals are those of lark's `Indenter`.

    Example:
        >>> import constrain
        >>> block = '''
        ... start: line+
        ... line: "pass" _NEWLINE | "if x:" _NEWLINE _INDENT line+ _DEDENT
        ... %declare _NEWLINE _INDENT _DEDENT
        ... '''
        >>> python_like = constrain.grammar(block, layout=constrain.Layout(tab=None))
        >>> vocabulary = constrain.Vocabulary([bytes([i]) for i in range(256)] + [None], eos_ids=[256])
        >>> matcher = constrain.compile(python_like, vocabulary).matcher()
        >>> matcher.advance_bytes(b"if x:\n  pass\n") and matcher.is_accepting()
        True
    """

    newline: str = "_NEWLINE"
    indent: str = "_INDENT"
    dedent: str = "_DEDENT"
    open: tuple[str, ...] = ("(", "[", "{")
    close: tuple[str, ...] = (")", "]", "}")
    verbatim: tuple[str, ...] = ()
    tab: int | None = 8
    columns: tuple[Column, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("open", "close", "verbatim"):
            value = getattr(self, name)
            if isinstance(value, str) or not all(isinstance(text, str) for text in value):
                raise GrammarError(f"layout: {name} is a list of names, not {value!r:.60}", fix=f'{name}=("(", "[")')
            object.__setattr__(self, name, tuple(value))
        if len({self.newline, self.indent, self.dedent}) < 3:
            raise GrammarError(
                f"layout: newline, indent and dedent are three terminals, not {self.newline}, {self.indent}, "
                f"{self.dedent}",
                fix="%declare one for each",
            )
        if self.tab is not None and not (isinstance(self.tab, int) and 1 <= self.tab <= 100):
            raise GrammarError(
                f"layout: tab is a number of columns from 1 to 100, or None, not {self.tab!r}", fix="tab=8"
            )
        if self.columns is not None:
            object.__setattr__(self, "columns", tuple(sorted({_column(value) for value in self.columns})))

    @property
    def declared(self) -> tuple[str, str, str]:
        """The three declared terminals."""
        return self.newline, self.indent, self.dedent


def read_layout(given: Layout | Mapping[str, Any]) -> Layout:
    """The layout; a mapping of its fields, as read from a file, is converted. Raises GrammarError if it is neither."""
    if isinstance(given, Layout):
        return given
    if not isinstance(given, Mapping):
        raise GrammarError(f"a layout is a Layout, not {type(given).__name__}", fix="pass constrain.Layout(...)")
    names = [field.name for field in fields(Layout)]
    for name in given:
        if name not in names:
            raise GrammarError(f"layout: there is no {name!r}", fix=f"the fields are {', '.join(names)}")
    return Layout(**given)


def _column(given: Any) -> Column:
    """A column that was given as a number of spaces, or as a pair. Raises GrammarError."""
    column = Column(given, given) if isinstance(given, int) and not isinstance(given, bool) else given
    if not (isinstance(column, tuple | list) and len(column) == 2 and 0 <= column[1] <= column[0]):
        raise GrammarError(f"layout: a column is a number of spaces, not {given!r:.60}", fix="columns=(4, 8)")
    return Column(*column)


def column_of(blank: str, tab: int | None) -> Column:
    """The column that the blanks at the beginning of a line lead to."""
    column = Column()
    for character in blank:
        if character == "\f":
            column = Column()
        elif character == " ":
            column = column.after_space()
        elif character == "\t" and tab is not None:
            column = column.after_tab(tab)
        else:
            break
    return column


def columns_of(texts: Sequence[str], tab: int | None) -> tuple[Column, ...]:
    """The columns at which lines of some texts begin, and for each of them one that is a step deeper.

    The step is the least indentation of a line; 4 spaces if there is none.
    """
    lines: list[str] = []
    for number, text in enumerate(texts):
        begun = re.split("\r\n|\r|\n", text)[bool(number) :]  # behind a hole the first line is the rest of one
        lines += [line for line in begun[:-1] if line.strip()] + begun[-1:]
    columns = {column_of(line, tab) for line in lines} - {Column()}
    step = min(columns, default=Column(4, 4))
    deeper = {Column(c.column + step.column, c.characters + step.characters) for c in {Column(), *columns}}
    return tuple(sorted(columns | deeper))


def line_end(ignored: tuple[Terminal, ...], name: str) -> Terminal:
    """The terminal of a line break with the empty lines after it. Nothing is ignored after it."""
    return Terminal(syntax.concat(_EOL, syntax.repeat(_empty_line(ignored), 0)), name, ignored_after=())


def empty_lines(ignored: tuple[Terminal, ...]) -> Terminal:
    """The terminal of the empty lines before the first line of a text."""
    return Terminal(syntax.repeat(_empty_line(ignored), 1), "empty lines", ignored_after=())


def _empty_line(ignored: tuple[Terminal, ...]) -> Node:
    return syntax.concat(syntax.repeat(syntax.alternate(*(terminal.node for terminal in ignored)), 0), _EOL)


@cache
def indentation(column: Column, tab: int | None) -> Terminal:
    """The terminal of all texts that indent to a column. For column 0 it contains the empty text."""
    reset = syntax.literal("\f") if tab is None else syntax.chars([(9, 9), (12, 12), (32, 32)])
    blank = syntax.literal(" ") if tab is None else syntax.chars([(9, 9), (32, 32)])
    started_over = syntax.concat(syntax.repeat(syntax.alternate(reset, blank), 0), syntax.literal("\f"))
    node = syntax.concat(syntax.optional(started_over), _spelled(column, tab))
    return Terminal(node, f"indentation to column {column.column}", ignored_after=())


@cache
def _spelled(column: Column, tab: int | None) -> Node:
    """The texts of spaces and tabs that lead from column 0 to a column.

    PERF: an automaton with a state for each column on the way. As nested alternatives, which share their parts, the
    texts of one deep column took a minute to search (`completion.shortest`).
    """
    if tab is None:
        return syntax.literal(" " * column.column)
    if column == Column():
        return syntax.EPSILON
    reached = [{Column()}]
    for _ in range(column.characters):
        reached.append(
            {after for here in reached[-1] for after in _next_columns(here, tab) if after.column <= column.column}
        )
    kept = {column} & reached[-1]  # those from which the column is reached
    for level in reversed(reached[:-1]):
        kept |= {here for here in level if not kept.isdisjoint(_next_columns(here, tab))}
    if not kept:
        return syntax.EMPTY
    states = sorted(kept, key=lambda state: (state.characters, state.column))
    number = {state: i for i, state in enumerate(states)}
    edges = tuple(
        tuple((label, number[after]) for label, after in enumerate(_next_columns(state, tab)) if after in number)
        for state in states
    )
    return syntax.Acyclic((" ", "\t"), edges, tuple(state == column for state in states))


def _next_columns(column: Column, tab: int) -> tuple[Column, Column]:
    """The columns after a space and after a tab."""
    return column.after_space(), column.after_tab(tab)
