"""The monitor of SQL.

The idea: a statement is read with a stack of queries and parentheses (scopes.py). `at` says what may come next. A name
in an expression is held until the next lexeme shows what it is: a column, a function before `(`, a source before `.`.
In definitions, in PRAGMA, and for the columns of a function that gives a table nothing is refused: they stay open.

    at           what comes next
    start        a statement
    literal      a text in quotes as an operand, whose content counts
    operand      an operand; `extra` are words that may begin it state beside the usual ones
    operator     what follows an operand
    called       the same after a call, which may have a window
    windowed     the window that a call must have
    named        what follows a result that takes no alias: it has one, or is *
    held, theld  what shows the meaning of a held name; in an expression, or where a table stands
    dot, tdot    the name after a dot, likewise
    table        a table
    in, in dot   a list, a query or a table behind IN; the name after a dot, likewise
    in name      what shows that a held name is such a table
    joined       what follows a table
    renamed      what follows a table that takes no alias any more
    column       a column of a list: of INSERT, SET or USING
    ...          names that are new (any), words (left to the grammar)
    open         anything, to the end of the text
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from constrain.errors import ConstrainError
from constrain.monitors.monitor import END, NAME, NUMBER, QUOTED, SIGN, Names
from constrain.monitors.sql.catalogue import ROWID, Catalogue, Columns, fold, read_catalogue
from constrain.monitors.sql.expressions import COMPARING, SqlExpressions
from constrain.monitors.sql.lexicon import LEXICON
from constrain.monitors.sql.owed import owed
from constrain.monitors.sql.scopes import Paren, visible_queries
from constrain.monitors.sql.state import NO_WORDS, SqlState
from constrain.monitors.sql.types import NONE, NUMERALS, Kinds, QuotedTexts, kinds_of
from constrain.monitors.sql.words import AFTER, DIALECT, KEYWORDS, OPERAND

NAMED = frozenset(  # see `resume`
    {"dot", "table", "theld", "tdot", "joined", "table alias", "column", "in", "in dot", "altering"}
)
NAMELESS = "\0"  # the name of two quotes with nothing between them


class SqlMonitor(SqlExpressions):
    """A `Monitor` of SQL. Made by `sql`.

    Args:
        catalogue: The tables and functions of the database.
        ahead: The columns that may be used before FROM tells their tables: "any" or "known".
        aliases: Names that tables may have under `ahead="known"` before FROM gives them.
        texts: Whether a name in double quotes that is no column is a text, as in SQLite.
        types: The database whose types count: "none" or "postgresql".
        lacks: The parts of SQL that the dialect does not have (`DIALECT`).
    """

    lexicon = LEXICON

    def __init__(
        self,
        catalogue: Catalogue,
        ahead: str,
        aliases: frozenset[str],
        texts: bool,
        types: str = "none",
        lacks: frozenset[str] = NO_WORDS,
    ) -> None:
        self.catalogue, self.ahead, self.aliases, self.texts, self.lacks = catalogue, ahead, aliases, texts, lacks
        self.types, self.kinds = types, None if types == "none" else self._kinds_of_columns()
        self.tables: dict[str, Columns] = {}
        for name, columns, has_rowid in catalogue.tables:
            known = self.tables.get(name) or frozenset()  # the same name in two databases
            self.tables[name] = known | frozenset(columns) | (ROWID if has_rowid else frozenset())
        narrow = {name for name, columns, _ in catalogue.tables if len(columns) < 2}
        self.wide = frozenset(self.tables) - narrow - catalogue.virtual
        self.indexes = None if catalogue.indexes is None else dict(catalogue.indexes)
        self.placed = dict(catalogue.placed)
        self.functions = None if catalogue.functions is None else dict(catalogue.functions)
        self.aggregates = dict(catalogue.aggregates)
        self.scalars = frozenset(
            name for name, counts in catalogue.functions or () if counts != self.aggregates.get(name)
        )
        self.modules: dict[str, Columns] = {name: frozenset(columns) | ROWID for name, columns in catalogue.modules}
        self.every_column = frozenset().union(*(columns or () for columns in self.tables.values()))
        self._names = lru_cache(maxsize=4096)(self._make_names)
        self._words = lru_cache(maxsize=4096)(self._make_words)
        self._literals = lru_cache(maxsize=64)(QuotedTexts)

    def _kinds_of_columns(self) -> dict[str, dict[str, Kinds]]:
        """Table -> column -> the kinds of its type; a column of two databases may be of both."""
        kinds: dict[str, dict[str, Kinds]] = {}
        columns = {name: listed for name, listed, _ in self.catalogue.tables}
        for table, declared in self.catalogue.declared:
            for column, type_ in zip(columns[table], declared, strict=False):
                known = kinds.setdefault(table, {})
                known[column] = known.get(column, NONE) | kinds_of(type_)
        return kinds

    def _identity(self) -> tuple[Any, ...]:
        return self.catalogue, self.ahead, self.aliases, self.texts, self.types, self.lacks

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SqlMonitor) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        return SqlMonitor, self._identity()

    def __repr__(self) -> str:
        return f"sql({self.catalogue!r})"

    def fitted(self, begins: Callable[[str], bool]) -> SqlMonitor:
        """The monitor of the dialect of a grammar. begins: Tells if a text of the grammar begins with a text."""
        lacks = frozenset(part for part, text in DIALECT.items() if not begins(text))
        return SqlMonitor(self.catalogue, self.ahead, self.aliases, self.texts, self.types, lacks)

    def start(self) -> SqlState:
        """The state before the first lexeme."""
        return SqlState()

    def resume(self, state: SqlState) -> tuple[int, bytes] | None:
        """The empty name that goes on with a single quote, where a name of a table or column must stand, or an operand
        whose content counts."""
        if state.at == "operand" and self.kinds is not None:
            return (QUOTED, b"") if self.literals(state) is not None else None
        return (QUOTED, b"") if state.at in NAMED else None

    def begin(self, state: SqlState, kind: int, first: bytes) -> SqlState | None:
        """The state when a lexeme begins; None: none of its kind may."""
        sign = first if kind == SIGN else b""
        if state.at in ("held", "theld", "in name"):
            settle = self._settle_name if state.at == "held" else self._settle_table
            settled = settle(state, sign)
            if settled is not None and self.kinds is not None and state.at == "held":
                settled = self.with_name(state, settled)
            if settled is None:
                return None
            state = settled
        if state.at in ("exists", "cast") and sign != b"(":
            return None
        if (state.at == "windowed" and kind != NAME) or (state.at == "row operand" and sign not in (b"(", *COMPARING)):
            return None
        if sign == b"." and state.at == "operator" and not self._may_be_qualifier(state):
            return None
        if kind == END or sign == b";":
            ended = self.before_lexeme(state, b";", "")
            return self._finish(ended) if ended is not None and ended.at != "open" else ended
        if state.at == "operand" and self.kinds is not None:
            if kind == NUMBER or sign == b".":
                return state if self.fits(state.frames, NUMERALS) else None
            if kind == QUOTED and first == b"'":
                return state._replace(at="literal")
        if kind == QUOTED and first == b'"' and self.texts and state.at == "operand":
            return state._replace(quoted=True)
        return state

    def _may_be_qualifier(self, state: SqlState) -> bool:
        """True if a text in quotes may stand before a dot, as SQLite reads it: there are, or come, tables."""
        visible = visible_queries(state.frames)
        return self.kinds is None and any(query.sources or not query.settled for query in visible)

    @property
    def known_names(self) -> frozenset[str]:
        """All names of the catalogue: tables, columns and functions."""
        return self.every_column | self.tables.keys() | (self.functions or {}).keys()

    @property
    def words(self) -> frozenset[str]:
        """The words that mean something by themselves."""
        return self.known_names | self.modules.keys() | self.placed.keys() | KEYWORDS | AFTER | OPERAND

    def may_end(self, state: SqlState) -> bool:
        """True: `begin` has decided."""
        return True

    def owed(self, state: SqlState) -> list[str]:
        """Texts after which FROM has the columns that were used before it."""
        return owed(self, state)

    def language(self, state: SqlState) -> Names | None:
        """The names that the lexeme which has begun may be; None: any."""
        if state.at == "operand":
            return None if state.quoted else self._operand_names(state)
        if state.at == "literal":
            return self.literals(state)
        if state.at == "dot":
            return self._column_names(self._columns_after_dot(state))
        if state.at in ("table", "in"):
            return self._table_names(state)
        if state.at in ("tdot", "in dot"):
            refused = self.catalogue.read_only if self.is_target(state) else NO_WORDS
            return self._names(frozenset(self._tables_in(state.held[-1])) - refused, NO_WORDS)
        if state.at == "index" and state.extra:
            return self._column_names(self._indexes(state))
        if state.at == "column":
            return self._column_names(self._listable_columns(state))
        if state.at == "altering":
            return self._column_names(self._listable_columns(state), state.extra)
        return self._words_after(state)

    def _words_after(self, state: SqlState) -> Names | None:
        """The words that may follow an operand or a table where no alias may; None: any, or no word follows one.

        With them a word that may not stand is refused at its first letter that no other word has, not at its end.
        """
        if state.at in ("operator", "called", "in name"):
            top = state.top
            aliased = () if "bare alias" in self.lacks else ("select", "returning")
            open_kinds = ("window", "conflict", "frame") if isinstance(top, Paren) else aliased
            if top is None or (top.kind if isinstance(top, Paren) else top.clause) in open_kinds:
                return None
        elif state.at == "joined":
            if state.query.clause not in ("insert", "update", "delete") or "target alias" not in self.lacks:
                return None
        elif state.at not in ("named", "renamed", "windowed") and (state.at != "not" or self.kinds is None):
            return None
        words = {*AFTER, "null"} if state.at == "not" else AFTER
        return self._words(frozenset(word for word in words if self.advance(state, NAME, word.encode()) is not None))

    def advance(self, state: SqlState, kind: int, text: bytes) -> SqlState | None:
        """The state after a lexeme; None: it may not stand there."""
        if state.at == "open":
            return state
        sign = text if kind == SIGN else b""
        if sign == b";" and not isinstance(state.top, Paren):
            return SqlState()
        name = self.lexicon.folded(kind, text).decode(errors="replace") if kind in (NAME, QUOTED) else ""
        word = name if kind == NAME else ""
        name = NAMELESS if kind == QUOTED and not name else name
        before = self.before_lexeme(state, sign, word)
        if before is None:
            return None
        read = getattr(self, "_at_" + state.at.replace(" ", "_"))
        after: SqlState | None = read(before, kind, sign, word, name)
        return (
            after if after is None or self.kinds is None else self.after_lexeme(before, after, kind, sign, word, name)
        )


def sql(
    catalogue: Any,
    *,
    ahead: str = "any",
    aliases: Iterable[str] = (),
    functions: Any = None,
    texts: bool = True,
    types: str = "none",
) -> SqlMonitor:
    """A monitor of SQL: tables of a catalogue, columns of the tables in FROM, functions with so many arguments.

    Args:
        catalogue: CREATE statements as a str; the file of a database, or of CREATE statements (`.sql`), as a Path or a
            name; a connection of sqlite3; an engine or connection of SQLAlchemy; or a dict of lists of columns by
            table.
        ahead: Which columns may be used before FROM says where they come from. "any": every name, and then FROM must
            provide it, maybe by a query. "known": columns, tables and tables of WITH that are known.
        aliases: Names that tables may have under `ahead="known"` before FROM gives them, such as "t1".
        functions: Names, or a dict of numbers of arguments by name (an int or several); by default those of SQLite, or
            of the connection; of another dialect any.
        texts: Whether a name in double quotes that is no column is a text, as SQLite reads it.
        types: "postgresql": what PostgreSQL refuses for the types of columns, texts in quotes and functions is refused,
            a name in double quotes is never a text, and any function may be called that `functions` does not name. A
            dict gives columns with their types: {"users": {"id": "integer", "name": "text"}}. "none": types do not
            count, as in SQLite.

    Returns:
        The monitor, for `monitored`.

    Raises:
        ConstrainError: The catalogue cannot be read, or an argument has the wrong type.

    Source:
        https://sqlite.org/lang_select.html, https://sqlite.org/lang_with.html; SQL:1999 section 7.12.

    Example:
        >>> import constrain
        >>> users = constrain.monitors.sql({"users": ["id", "name"]})
        >>> constrain.monitors.accepted_beginning(users, "select name, age from users where x = 1")
        'select name, age from users where'
    """
    if ahead not in ("any", "known"):
        raise ConstrainError(f"ahead= is 'any' or 'known', not {ahead!r:.40}", fix='leave it out: "any"')
    if types not in ("none", "postgresql"):
        raise ConstrainError(f"types= is 'none' or 'postgresql', not {types!r:.40}", fix='leave it out: "none"')
    read = read_catalogue(catalogue, functions)
    if types != "none":
        texts = False
        read = read if functions is not None else replace(read, functions=None, aggregates=())
    return SqlMonitor(read, ahead, frozenset(map(fold, aliases)), texts, types)
