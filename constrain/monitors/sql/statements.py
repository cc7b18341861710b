"""Statements of SQL: WITH, sources, clauses. A method `_at_x` reads the lexeme after `at="x"` (state.py)."""

from __future__ import annotations

from collections.abc import Callable

from constrain.monitors.monitor import NAME, STRING
from constrain.monitors.sql.scopes import (
    ROW,
    STAR,
    Paren,
    Query,
    Source,
    SqlResult,
    innermost_query,
    result_columns,
    unclear_pending,
    visible_ctes,
)
from constrain.monitors.sql.state import OPEN, SqlState
from constrain.monitors.sql.typed import SqlTyped
from constrain.monitors.sql.words import ALTERED, CLAUSES, COMPOUND, FRAME, JOINS, QUERY, RESERVED


class SqlStatements(SqlTyped):
    """The steps of a state over the lexemes of statements, but for expressions."""

    _close: Callable[[SqlState], SqlState | None]  # of `SqlExpressions`

    @staticmethod
    def _results(state: SqlState, query: Query) -> tuple[SqlResult, ...]:
        """The results, with the last one."""
        item = "" if state.item is None or state.item.startswith(ROW) else state.item
        if item.startswith(STAR):
            return (*query.items, SqlResult(STAR, item[1:]))
        return (*query.items, SqlResult(item))

    def _finish(self, state: SqlState) -> SqlState | None:
        """The state at the end of a statement; None: a name is not resolved."""
        if state.frames is None or isinstance(state.top, Paren):
            return state
        return self._settle_from(state)

    def _at_start(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if word in ("explain", "query", "plan") or sign == b";":
            return state
        state = state.push(Query("top"), "start")
        if word in ("drop", "alter"):
            return state.change(clause=word, settled=True).go("changed")
        return self._begin_statement(state, word) or OPEN

    def _at_changed(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.go("table", "if", "only") if word == "table" else OPEN

    def _at_altered(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.go("altering", *ALTERED) if word in ("drop", "rename", "alter") else OPEN

    def _at_altering(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if word == "column" and word in state.extra:
            return state.go("altering", "if")
        columns = self._listable_columns(state)
        return OPEN if word in state.extra or columns is None or {name, ""} & columns else None

    def _begin_statement(self, state: SqlState, word: str) -> SqlState | None:
        """The state after the first word of a statement; the innermost frame is its query."""
        if word == "select":
            return state.change(clause="select", items=()).go("operand", "distinct", "all", item=None)
        if word == "values":
            return state.change(clause="values", settled=True).go("row")
        if word == "with":
            return state.change(clause="with").go("cte")
        if word in ("insert", "replace"):
            return state.change(clause="insert", settled=True).go("into")
        if word == "update":
            return state.change(clause="update").go("table", *{"or"} - self.lacks)
        if word == "delete":
            return state.change(clause="delete").go("into")
        return None

    def _at_cte(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        query = innermost_query(state.frames)
        if word == "recursive" and query is not None and not query.ctes:
            return state
        return state.change(cte=(name, None)).go("cte as") if name else OPEN

    def _at_cte_as(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if sign == b"(" and not state.extra:
            return state.push(Paren("cte columns"), "cte column")
        if word == "as":
            return state.go("cte as", "as")
        return state.push(Query("cte"), "query") if sign == b"(" else state

    def _at_cte_column(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if sign == b")":
            return state.pop("cte as")
        query = state.query
        if name:
            return state.change(cte=(query.cte[0], (query.cte[1] or frozenset()) | {name}))
        return state

    def _at_query(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return self._begin_statement(state, word) or OPEN

    def _at_next_cte(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if sign == b",":
            return state.go("cte")
        return self._begin_statement(state, word) or OPEN

    def _at_into(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.go("table") if word in ("into", "from") else state

    def _at_table(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if word == "or" and "or" in state.extra:
            return state.go("or")
        if word in ("if", "only") and word in state.extra:
            return OPEN if word == "if" else state.go("table")
        if word in QUERY and word in state.extra:
            return self._begin_statement(state.swap(Query("from")).go("query"), word)
        if sign == b"(":
            return state.push(Paren("from"), "table", *QUERY)
        if name:
            return state.go("theld", held=(name,))
        return self._add_source(state, Source("", None)) if kind == STRING else state

    def _at_or(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.go("table")

    def _settle_table(self, state: SqlState, sign: bytes) -> SqlState | None:
        """The state when the next lexeme shows whether a name is a table; None: it is none."""
        name = state.held[-1]
        if sign == b".":
            return state if len(state.held) == 1 and name in self.catalogue.schemas else None
        if sign == b"(" and (state.at == "in name" or state.query.clause == "from"):
            return state if name in self.modules else None
        known = self._held_table(state)
        if state.at == "in name":
            return state if known is not None and (len(state.held) > 1 or self._is_list(state, name)) else None
        return None if known is None or not self.suits(state.query, known) else self._add_source(state, known)

    def _held_table(self, state: SqlState) -> Source | None:
        """The table that a held name is of; None: there is none."""
        name = state.held[-1]
        if self.is_target(state) and (name in self.catalogue.read_only or name not in self.tables):
            return None
        if len(state.held) == 1:
            tables = visible_ctes(state.frames)
            if name in tables:
                return Source(name, tables[name])
        elif name in self.tables and name not in self._tables_in(state.held[-2]):
            return None
        if name in self.tables:
            return Source(name, self.tables[name], table=name)
        return Source(name, self.modules[name]) if name in self.modules else None

    def _at_theld(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if sign == b".":
            return state._replace(at="tdot")
        table = self._add_source(state, Source(state.held[-1], None))
        return table.push(Paren("module"), "operand")

    def _at_tdot(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.go("theld", held=(*state.held, name)) if name else OPEN

    def _add_source(self, state: SqlState, source: Source) -> SqlState:
        """The state after a source."""
        query = state.query
        if query.clause in ("drop", "alter"):
            return OPEN if query.clause == "drop" else state.change(target=source).go("altered")
        if query.is_natural and source.columns is not None:
            source = source._replace(
                merged=source.columns & frozenset().union(*(each.columns or () for each in query.sources))
            )
        is_open = isinstance(state.top, Paren) or len(state.held) > 1  # USING may follow `)`; two databases have a name
        state = state.change(sources=(*query.sources, source), is_open=query.is_open or is_open, is_natural=False)
        if query.clause in ("insert", "update", "delete"):
            state = state.change(target=source, settled=query.clause != "update")
        return state.go("joined")

    def _rename_source(self, state: SqlState, alias: str) -> SqlState | None:
        """The state after an alias of the last source; None: its columns have other types."""
        query = state.query
        last = query.sources[-1]._replace(name=alias)
        if not self.suits(query, last):
            return None
        state = state.change(sources=(*query.sources[:-1], last))
        is_source = query.target is None or query.clause == "from"
        return (state if is_source else state.change(target=last)).go("renamed")

    def _at_joined(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        query = state.query
        if word == "as":
            return state.go("table alias")
        if word in ("indexed", "not"):
            indexes = self._indexes(state) if word == "indexed" else None
            return None if indexes is not None and not indexes else state.go("index")
        if word == "using":
            return state.go("using")
        if sign == b"(" and query.clause == "insert":
            return state.push(Paren("columns"), "column")
        after = self._follow_source(state, sign, word)
        if after is not None or word in RESERVED or word in JOINS or sign:
            return after
        if state.at == "renamed":
            return None
        if kind == STRING:
            return self._rename_source(state, "")
        return self._rename_source(state, name) if name else OPEN

    _at_renamed = _at_joined

    def _at_table_alias(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return self._rename_source(state, name)

    def _at_index(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if word == "indexed" and not state.extra:
            return state.go("renamed")
        return state.go("index", "by") if word == "by" and not state.extra else state.go("renamed")

    def _at_using(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.push(Paren("using"), "column")

    def _follow_source(self, state: SqlState, sign: bytes, word: str) -> SqlState | None:
        """The state after what follows a source or its condition."""
        if (sign == b"," or word in JOINS or word in ("join", "on")) and unclear_pending(state.query):
            return None  # only USING makes clear what was used before
        if sign == b",":
            return state.go("table")
        if sign == b")":
            return self._close(state)
        if word in JOINS:
            return self._at_join(state.go("join"), NAME, sign, word, word)
        if word == "join":
            return state.go("table")
        if word == "on":
            query = state.query
            return state.go("conflict") if query.clause in ("insert", "values") else state.go("operand")
        return self._begin_clause(state, word)

    def _at_join(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if word == "natural":
            return state.change(is_natural=True)
        return state.go("table") if word == "join" else state

    def _at_column(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if name:
            columns = self._listable_columns(state)
            if columns is not None and name not in columns:
                return None
            if isinstance(state.top, Paren) and state.top.kind == "using":
                state = state.change(sources=state.query.merge((name,)).sources)
            if state.query.clause == "insert":
                state = state.change(items=(*state.query.items, SqlResult(name)))
            return state.go("column end")
        if sign == b"(":
            return state.push(Paren("columns"), "column")
        return state if kind != STRING else state.go("column end")

    def _at_column_end(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if sign == b",":
            return state.go("column")
        if sign == b"=":
            return state.go("operand")
        if sign == b")" and isinstance(state.top, Paren):
            query = state.query
            if state.top.kind == "using" and unclear_pending(query):
                return None
            inside_set = state.top.kind == "columns" and query.clause == "set"
            return state.pop("column end" if inside_set else "renamed")
        return OPEN

    def _begin_clause(self, state: SqlState, word: str) -> SqlState | None:
        """The state after the word that begins a clause of the innermost query; None: it begins none."""
        query = innermost_query(state.frames)
        if query is None or state.top is not query:
            return None
        if word == "from" and not query.settled:
            is_open = query.clause == "set"  # no USING makes the first table behind UPDATE clear
            return state.change(clause="from", items=self._results(state, query), is_open=is_open).go("table")
        if word == "set" and query.clause == "update":
            return state.change(clause="set").go("column")
        known = {*CLAUSES, *COMPOUND, *QUERY, "group", "order", "window", "returning", "default", "on"}
        if word not in known:
            return None
        if query.clause == "select":
            state = state.change(items=self._results(state, query))
        settled = self._settle_from(state)
        return None if settled is None else self._begin_settled_clause(settled, word)

    def _begin_settled_clause(self, state: SqlState, word: str) -> SqlState | None:
        query = state.query
        if word in CLAUSES:
            return state.change(clause=CLAUSES[word]).go("operand")
        if word in ("group", "order"):
            return state.change(clause=word).go("by")
        if word == "window":
            return state.change(clause="window").go("window name")
        if word in COMPOUND:
            return self._begin_part(state)
        if word in QUERY:  # of INSERT
            return self._begin_statement(state.change(sources=(), settled=False, clause="start"), word)
        if word == "returning":
            sources = (query.target,) if query.target is not None else query.sources
            return state.change(clause="returning", sources=sources).go("operand", item=None)
        if word == "on":
            return state.go("conflict")
        return state.go("default")

    def _begin_part(self, state: SqlState) -> SqlState:
        """The state before the next part of a compound."""
        query = state.query
        return state.change(
            result=result_columns(query), has_result=True, earlier=query.earlier + query.sources, sources=(), items=(),
            settled=False, clause="start", is_open=False, has_aggregate=False,
        ).go("part")  # fmt: skip

    def _at_part(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state if word == "all" else self._begin_statement(state, word) or OPEN

    def _at_default(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.go("row end")

    def _at_conflict(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        """Read ON CONFLICT of INSERT: its columns, and the row that was not inserted, are in scope."""
        query = innermost_query(state.frames)
        if query is None or query.target is None:
            return OPEN
        target = query.target
        if word == "conflict":
            sources = (target, Source("excluded", target.columns))
            return state.change(sources=sources, clause="conflict", settled=True, is_open=True).go("conflict")
        if sign == b"(":
            return state.push(Paren("conflict"), "operand")
        if word == "set":
            return state.change(clause="set").go("column")
        if word == "returning":
            return self._begin_settled_clause(state, word)
        return state.go("operand") if word == "where" else state

    def _at_by(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.go("operand")

    def _at_window_name(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.push(Paren("window"), "window") if sign == b"(" else state

    def _at_window(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if sign == b")":
            return self._close(state)
        if word in ("partition", "order"):
            return state.go("by")
        return state.go("frame") if word in FRAME else state

    def _at_frame(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        """Read the frame of a window, whose expressions are constants."""
        if sign == b"(":
            return state.push(Paren("frame"), "frame")
        if sign == b")" and isinstance(state.top, Paren):
            return state.pop("frame") if state.top.kind == "frame" else self._close(state)
        return state

    def _at_row(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.push(Paren("row"), "operand") if sign == b"(" else OPEN

    def _at_row_end(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        """Read what follows a row of VALUES, or DEFAULT VALUES."""
        if sign == b",":
            return state.go("row")
        if sign == b")":
            return self._close(state)
        if word == "values":
            return state
        return self._begin_clause(state, word) or OPEN
