"""The names of SQL that are visible: columns, sources, functions; some are put off until FROM is complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from constrain.monitors.monitor import Names
from constrain.monitors.sql.catalogue import Catalogue, Columns
from constrain.monitors.sql.scopes import (
    ROW,
    STAR,
    Paren,
    Query,
    Source,
    calls,
    has_column,
    has_source,
    innermost_query,
    shared_columns,
    sources_in,
    unclear_columns,
    unclear_pending,
    visible_ctes,
    visible_queries,
)
from constrain.monitors.sql.state import NO_WORDS, SqlState
from constrain.monitors.sql.types import CONSTANTS, result_kinds
from constrain.monitors.sql.words import CHANGING, KEYWORDS, OPERAND, RESERVED

_BARE = re.compile(r"[^\W\d][\w$]*")  # needs no quotes


def needs_quotes(name: str) -> bool:
    """True if a name is written in quotes."""
    return name in RESERVED or not _BARE.fullmatch(name)


class SqlNames:
    """The names that a catalogue and the scopes of a state have."""

    catalogue: Catalogue
    ahead: str
    aliases: frozenset[str]
    lacks: frozenset[str]
    tables: dict[str, Columns]
    placed: dict[str, frozenset[str]]
    modules: dict[str, Columns]
    wide: frozenset[str]  # tables with several columns
    indexes: dict[str, frozenset[str]] | None
    functions: dict[str, frozenset[int]] | None
    aggregates: dict[str, frozenset[int]]
    scalars: frozenset[str]  # functions that are more than aggregates
    every_column: frozenset[str]
    _names: Callable[[frozenset[str], frozenset[str]], Names]
    _words: Callable[[frozenset[str]], Names]
    _unfit: Callable[[SqlState], frozenset[str]]  # of `SqlTyped`
    _unfit_columns: Callable[[str, frozenset[str]], frozenset[str]]  # of `SqlTyped`
    suits: Callable[[Query, Source], bool]  # of `SqlTyped`

    @staticmethod
    def _make_names(names: frozenset[str], words: frozenset[str]) -> Names:
        bare = {name for name in names if not needs_quotes(name)}
        return Names(names - {""}, words, bare=bare, keywords=KEYWORDS)

    @staticmethod
    def _make_words(words: frozenset[str]) -> Names:
        made = Names((), words)
        made.is_empty = False  # words are what must stand there
        return made

    def _column_names(self, columns: Columns, words: frozenset[str] = NO_WORDS) -> Names | None:
        return None if columns is None or "" in columns else self._names(columns, words)

    def _operand_names(self, state: SqlState) -> Names | None:
        """The names that may begin an operand: columns, sources and functions; None: any."""
        names: set[str] = set()
        hidden: set[str] = set()  # columns that are not clear in an inner query
        functions = self._functions_at(state)
        if functions is None:
            return None
        unfit = self._unfit(state)
        for query in visible_queries(state.frames):
            if not query.settled:
                if self.ahead == "any":
                    return None
                names |= self.every_column | self.tables.keys() | self.aliases
                for cte, columns in visible_ctes(state.frames).items():
                    if columns is None:
                        return None
                    names |= {cte} | columns
            unclear = shared_columns(query)
            for source in sources_in(query):
                if source.columns is None:
                    return None
                names |= source.columns - unclear - hidden - self._unfit_columns(source.table, unfit)
                if self._clear_columns(query, source.name):
                    names.add(source.name)
            hidden |= unclear
            names |= query.usable if query.clause == "order" else query.usable - unclear
        schemas = self.catalogue.schemas if names else ()
        words = OPERAND | state.extra
        if unfit:
            functions = {name for name in functions if not result_kinds(name) <= unfit}
            words -= {word for word, kinds in CONSTANTS.items() if kinds <= unfit and word not in state.extra}
        return self._names(frozenset({*names, *functions, *schemas}), words)

    def _functions_at(self, state: SqlState) -> Collection[str] | None:
        """The functions that an operand may call; None: any."""
        if self.functions is None:
            return None
        return self.scalars if self._is_without_aggregates(state) else self.functions

    def _takes(self, function: str, count: int, at_least: bool = False) -> bool:
        """True if a function takes so many arguments, or at least so many."""
        numbers = None if self.functions is None else self.functions.get(function)
        if numbers is None:
            return True
        return any((at_least or count >= -1 - n) if n < 0 else count <= n if at_least else count == n for n in numbers)

    def _is_without_aggregates(self, state: SqlState) -> bool:
        """True where no function of aggregates or windows may stand.

        In a query inside another one it may be a function of the outer one, if that stands where it takes them. In the
        arguments of another one it may stand if that has a window, which is none of HAVING, nor in arguments of others.
        """
        query = innermost_query(state.frames)
        if query is None or query.takes_aggregates:
            is_alone = "over" in self.lacks or (query is not None and query.clause == "having")
            return self._aggregates_around(state) > (0 if is_alone else 1)
        return not any(outer.takes_aggregates for outer in visible_queries(state.frames))

    def _aggregates_around(self, state: SqlState) -> int:
        """The number of calls around a place that are of functions of aggregates, whatever their arguments."""
        return sum(call.name in self.aggregates and call.name not in self.scalars for call in calls(state.frames))

    @staticmethod
    def _clear_columns(query: Query, qualifier: str) -> Columns:
        """The columns that may stand after a source of a query; None: any."""
        columns: frozenset[str] = frozenset()
        for source in sources_in(query):
            if source.name == qualifier:
                if source.columns is None:
                    return None
                columns |= source.columns
        return columns - shared_columns(query, qualifier) if qualifier else columns

    def _columns_after_dot(self, state: SqlState) -> Columns:
        """The columns that may stand after a source and a dot; None: any."""
        qualifier = state.held[-1]
        columns: Columns = None
        is_known = False
        for query in visible_queries(state.frames):
            if any(source.name == qualifier for source in sources_in(query)):
                columns, is_known = self._clear_columns(query, qualifier), True
                if columns is None:
                    return None
                break
            if not query.settled:
                return None if self.ahead == "any" else self._known_columns(state, qualifier)
        if len(state.held) == 1 and qualifier in self.catalogue.schemas:
            columns = (columns or frozenset()).union(self.tables)  # the name of a database, then a table
            is_known = True
        return columns if is_known else frozenset()

    def _known_columns(self, state: SqlState, qualifier: str) -> Columns:
        known = {**self.tables, **visible_ctes(state.frames)}
        if qualifier in known and qualifier not in self.aliases:
            return known[qualifier]
        if qualifier in self.catalogue.schemas and len(state.held) == 1:
            return frozenset(self.tables)
        return self.every_column.union(*(columns or () for columns in known.values()))

    def _tables_in(self, schema: str) -> Collection[str]:
        """The tables of a database."""
        return self.placed.get(schema, self.tables.keys())

    def _table_names(self, state: SqlState) -> Names:
        query, ctes = state.query, visible_ctes(state.frames)
        names = {*self.tables, *ctes, *self.catalogue.schemas, *self.modules}
        if self.is_target(state):
            names -= self.catalogue.read_only | (self.modules.keys() - self.tables.keys())
        if state.at == "in":
            names = {name for name in names if self._is_list(state, name)}
        if query.typed:
            names -= {n for n in self.tables.keys() - ctes.keys() if not self.suits(query, Source(n, None, table=n))}
        return self._names(frozenset(names), state.extra)

    @staticmethod
    def is_target(state: SqlState) -> bool:
        """True where the table stands that a statement changes, drops or alters."""
        is_table = state.at in ("table", "theld", "tdot") and isinstance(state.top, Query)
        return is_table and state.query.clause in CHANGING and state.query.target is None

    def _is_list(self, state: SqlState, table: str) -> bool:
        """True if a table may stand behind IN: it has one column, as the operand before IN, or may have one."""
        ctes = visible_ctes(state.frames)
        is_wide = len(ctes[table] or ()) > 1 if table in ctes else table in self.wide
        return (state.item or "").startswith(ROW) or not is_wide

    def _indexes(self, state: SqlState) -> frozenset[str] | None:
        """The indexes of the last table; None: any."""
        return None if self.indexes is None else self.indexes.get(state.query.sources[-1].table, frozenset())

    def _listable_columns(self, state: SqlState) -> Columns:
        """The columns that a list may name; None: any."""
        query = state.query
        if isinstance(state.top, Paren) and state.top.kind == "using":
            *before, last = query.sources
            if last.columns is None or any(source.columns is None for source in before):
                return None
            return last.columns & frozenset().union(*(source.columns or () for source in before))
        return query.target.columns if query.target is not None else None

    def _settle_name(self, state: SqlState, sign: bytes) -> SqlState | None:
        """The state when the next lexeme shows what a held name is."""
        if sign == b"(":
            functions = self._functions_at(state)
            is_known = functions is None or state.held[0] in functions
            return state if len(state.held) == 1 and is_known else None
        if sign == b".":
            return state if len(state.held) < 3 and self._is_qualifier(state) else None
        return self._resolve(state, state.held[-2] if len(state.held) > 1 else "", state.held[-1])

    def _is_qualifier(self, state: SqlState) -> bool:
        if len(state.held) == 1 and state.held[0] in self.catalogue.schemas:
            return True
        columns = self._columns_after_dot(state)
        return columns is None or bool(columns)

    def _resolve(self, state: SqlState, qualifier: str, column: str, beyond: Query | None = None) -> SqlState | None:
        """The state after a column; None: there is none of that name. beyond: A query that has none."""
        after = state.go("operator", item=column if state.item is None else "")
        for query in visible_queries(state.frames):
            if query is beyond:
                continue
            if has_column(query, qualifier, column):
                if unclear_columns(query, qualifier, column):
                    return None
                if query.settled or not has_source(query, qualifier, column):
                    return after
                return after.change_query(query, pending=query.pending | {(qualifier, column)})
            if state.quoted and not qualifier:  # if it is no column, it is a text
                return after if query.settled else after.change_query(query, texts=query.texts | {column})
            if not query.settled:
                if self.ahead == "known" and not self._is_known(state, qualifier, column):
                    continue
                if qualifier and any(source.name == qualifier for source in query.sources):
                    return None
                return after.change_query(query, pending=query.pending | {(qualifier, column)})
            if qualifier and any(source.name == qualifier for source in sources_in(query)):
                return self._resolve_unnamed(query, qualifier, column, after)
        return after if state.quoted and not qualifier else None

    @staticmethod
    def _resolve_unnamed(query: Query, qualifier: str, column: str, after: SqlState) -> SqlState | None:
        """The state after a result that has the text of its expression for a name; None: there is none."""
        odd = any(source.name == qualifier and "" in (source.columns or ()) for source in sources_in(query))
        return after if odd and not column.isidentifier() else None

    def _is_known(self, state: SqlState, qualifier: str, column: str) -> bool:
        """True if a column may be used before FROM under `ahead="known"`."""
        known = {**self.tables, **visible_ctes(state.frames)}
        if qualifier in known:
            columns = known[qualifier]
            return columns is None or column in columns or column == STAR
        return column == STAR or column in self.every_column or any(
            columns is None or column in columns for columns in known.values()
        )  # fmt: skip

    def _settle_from(self, state: SqlState) -> SqlState | None:
        """The state when FROM is complete, with the names that were put off; None: one of them is missing."""
        query = innermost_query(state.frames)
        if query is None or query.settled:
            return state
        if unclear_pending(query):
            return None
        missing = [name for name in query.pending if not has_source(query, *name)]
        state = state.change_query(query, settled=True, pending=frozenset(), texts=frozenset())
        done = state.query
        for qualifier, column in sorted(missing):
            if column == STAR:
                return None
            after = self._resolve(state._replace(quoted=False), qualifier, column, beyond=done)
            if after is None:
                return None
            state = state._replace(frames=after.frames)
        return state
