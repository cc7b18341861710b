"""Statements of SQL: WITH, sources, clauses. A method `_at_x` reads the lexeme after `at="x"` (state.py)."""

from __future__ import annotations

from constrain.monitors.monitor import STRING
from constrain.monitors.sql.names import Scoped
from constrain.monitors.sql.scopes import (
    STAR,
    Item,
    Paren,
    Query,
    Source,
    ctes,
    nearest,
    result_of,
)
from constrain.monitors.sql.state import OPEN, Sql
from constrain.monitors.sql.words import (
    CLAUSES,
    COMPOUND,
    FRAME,
    JOINS,
    QUERY,
    RESERVED,
)


class Statements(Scoped):
    """How the lexemes of statements change a state, except of expressions."""

    @staticmethod
    def _items(here: Sql, query: Query) -> tuple[Item, ...]:
        """The results, with the last one."""
        item = here.item or ""
        if item.startswith(STAR):
            return (*query.items, Item(STAR, item[1:]))
        return (*query.items, Item(item))

    def _closed(self, here: Sql) -> Sql | None:
        """The state after a closing parenthesis."""
        raise NotImplementedError

    def _may_finish(self, here: Sql) -> Sql | None:
        """The state at the end of a statement; None: a name is not resolved."""
        if here.frames is None or isinstance(here.top, Paren):
            return here
        return self._settled(here)

    def _at_start(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if word in ("explain", "query", "plan") or sign == b";":
            return here
        return self._statement(here.push(Query("top"), "start"), word) or OPEN

    def _statement(self, here: Sql, word: str) -> Sql | None:
        """The state after the first word of a statement; the innermost frame is its query."""
        if word == "select":
            return here.change(clause="select").go("operand", "distinct", "all", item=None)
        if word == "values":
            return here.change(clause="values", settled=True).go("row")
        if word == "with":
            return here.change(clause="with").go("cte")
        if word in ("insert", "replace"):
            return here.change(clause="insert", settled=True).go("into")
        if word == "update":
            return here.change(clause="update").go("table", "or")
        if word == "delete":
            return here.change(clause="delete").go("into")
        return None

    def _at_cte(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        query = nearest(here.frames)
        if word == "recursive" and query is not None and not query.ctes:
            return here
        return here.change(cte=(name, None)).go("cte as") if name else OPEN

    def _at_cte_as(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        query = nearest(here.frames)
        assert query is not None
        if sign == b"(" and not here.extra:
            return here.push(Paren("cte columns"), "cte column")
        if word == "as":
            return here.go("cte as", "as")
        return here.push(Query("cte"), "query") if sign == b"(" else here

    def _at_cte_column(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if sign == b")":
            return here.pop("cte as")
        query = nearest(here.frames)
        assert query is not None
        if name:
            return here.change(cte=(query.cte[0], (query.cte[1] or frozenset()) | {name}))
        return here

    def _at_query(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return self._statement(here, word) or OPEN

    def _at_next_cte(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if sign == b",":
            return here.go("cte")
        return self._statement(here, word) or OPEN

    def _at_into(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return here.go("table") if word in ("into", "from") else here

    def _at_table(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if word == "or" and "or" in here.extra:
            return here.go("or")
        if word in QUERY and word in here.extra:
            assert here.frames is not None
            return self._statement(here.go("query", frames=(Query("from"), here.frames[1])), word)
        if sign == b"(":
            return here.push(Paren("from"), "table", *QUERY)
        if name:
            return here.go("theld", held=(name,))
        return self._joined(here, Source("", None)) if kind == STRING else here

    def _at_or(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return here.go("table")

    def _table_held(self, here: Sql, sign: bytes) -> Sql | None:
        """The state when the next lexeme shows whether a name is that of a table."""
        name = here.held[-1]
        query = nearest(here.frames)
        assert query is not None
        if sign == b".":
            return here if len(here.held) == 1 and name in self.catalogue.schemas else None
        if sign == b"(" and query.clause == "from":
            return here if name in self.modules else None
        found = ctes(here.frames) if len(here.held) == 1 else {}
        if len(here.held) > 1 and name in self.tables and name not in self._tables_of(here.held[-2]):
            return None
        if name in found or name in self.tables:
            return self._joined(here, Source(name, found[name] if name in found else self.tables[name]))
        return self._joined(here, Source(name, self.modules[name])) if name in self.modules else None

    def _at_theld(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if sign == b".":
            return here._replace(at="tdot")
        table = self._joined(here, Source(here.held[-1], None))
        return table.push(Paren("module"), "operand")

    def _at_tdot(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return here.go("theld", held=(*here.held, name)) if name else OPEN

    def _joined(self, here: Sql, source: Source) -> Sql:
        """The state after a source."""
        query = nearest(here.frames)
        assert query is not None
        here = here.change(sources=(*query.sources, source))
        if query.clause in ("insert", "update", "delete"):
            here = here.change(target=source, settled=query.clause != "update")
        return here.go("joined")

    def _renamed(self, here: Sql, alias: str) -> Sql:
        """The state after an alias of the last source."""
        query = nearest(here.frames)
        assert query is not None
        last = query.sources[-1]._replace(name=alias)
        here = here.change(sources=(*query.sources[:-1], last))
        return here if query.target is None or query.clause == "from" else here.change(target=last)

    def _at_joined(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        query = nearest(here.frames)
        assert query is not None
        if word == "as":
            return here.go("table alias")
        if word in ("indexed", "not"):
            return here.go("index")
        if word == "using":
            return here.go("using")
        if sign == b"(" and query.clause == "insert":
            return here.push(Paren("columns"), "column")
        after = self._after_source(here, sign, word)
        if after is not None or word in RESERVED or sign:
            return after
        if kind == STRING:
            return self._renamed(here, "").go("joined")
        return self._renamed(here, name).go("joined") if name else OPEN

    def _at_table_alias(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return self._renamed(here, name).go("joined")

    def _at_index(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if word == "indexed" and not here.extra:
            return here.go("joined")
        return here.go("index", "by") if word == "by" and not here.extra else here.go("joined")

    def _at_using(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return here.push(Paren("using"), "column")

    def _after_source(self, here: Sql, sign: bytes, word: str) -> Sql | None:
        """The state after what follows a source or its condition."""
        if sign == b",":
            return here.go("table")
        if sign == b")":
            return self._closed(here)
        if word in JOINS:
            return here.go("join")
        if word == "join":
            return here.go("table")
        if word == "on":
            query = nearest(here.frames)
            assert query is not None
            return here.go("conflict") if query.clause in ("insert", "values") else here.go("operand")
        return self._clause(here, word)

    def _at_join(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return here.go("table") if word == "join" else here

    def _at_column(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if name:
            columns = self._listed(here)
            if columns is not None and name not in columns:
                return None
            return here.go("column end")
        if sign == b"(":
            return here.push(Paren("columns"), "column")
        return here if kind != STRING else here.go("column end")

    def _at_column_end(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if sign == b",":
            return here.go("column")
        if sign == b"=":
            return here.go("operand")
        if sign == b")" and isinstance(here.top, Paren):
            query = nearest(here.frames)
            assert query is not None
            inside_set = here.top.kind == "columns" and query.clause == "set"
            return here.pop("column end" if inside_set else "joined")
        return OPEN

    def _clause(self, here: Sql, word: str) -> Sql | None:
        """The state after the word that begins a clause of the innermost query; None: it begins none."""
        query = nearest(here.frames)
        if query is None or here.top is not query:
            return None
        if word == "from" and not query.settled:
            return here.change(clause="from", items=self._items(here, query)).go("table")
        if word == "set" and query.clause == "update":
            return here.change(clause="set").go("column")
        known = {*CLAUSES, *COMPOUND, *QUERY, "group", "order", "window", "returning", "default", "on"}
        if word not in known:
            return None
        if query.clause == "select":
            here = here.change(items=self._items(here, query))
        settled = self._settled(here)
        return None if settled is None else self._settled_clause(settled, word)

    def _settled_clause(self, here: Sql, word: str) -> Sql | None:
        query = nearest(here.frames)
        assert query is not None
        if word in CLAUSES:
            return here.change(clause=CLAUSES[word]).go("operand")
        if word in ("group", "order"):
            return here.change(clause=word).go("by")
        if word == "window":
            return here.change(clause="window").go("window name")
        if word in COMPOUND:
            return self._next_part(here)
        if word in QUERY:  # of INSERT
            return self._statement(here.change(sources=(), settled=False, clause="start"), word)
        if word == "returning":
            sources = (query.target,) if query.target is not None else query.sources
            return here.change(clause="returning", sources=sources).go("operand", item=None)
        if word == "on":
            return here.go("conflict")
        return here.go("default")

    def _next_part(self, here: Sql) -> Sql:
        """The state before the next part of a compound."""
        query = nearest(here.frames)
        assert query is not None
        return here.change(
            result=result_of(query), has_result=True, earlier=query.earlier + query.sources, sources=(), items=(),
            settled=False, clause="start",
        ).go("part")  # fmt: skip

    def _at_part(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return here if word == "all" else self._statement(here, word) or OPEN

    def _at_default(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return here.go("row end")

    def _at_conflict(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        """ON CONFLICT of INSERT: its columns, and the row that was not inserted, are in scope."""
        query = nearest(here.frames)
        if query is None or query.target is None:
            return OPEN
        target = query.target
        if word == "conflict":
            sources = (target, Source("excluded", target.columns))
            return here.change(sources=sources, clause="conflict", settled=True).go("conflict")
        if sign == b"(":
            return here.push(Paren("conflict"), "operand")
        if word == "set":
            return here.change(clause="set").go("column")
        if word == "returning":
            return self._settled_clause(here, word)
        return here.go("operand") if word == "where" else here

    def _at_by(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return here.go("operand")

    def _at_window_name(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return here.push(Paren("window"), "window") if sign == b"(" else here

    def _at_window(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if sign == b")":
            return self._closed(here)
        if word in ("partition", "order"):
            return here.go("by")
        return here.go("frame") if word in FRAME else here

    def _at_frame(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        """The frame of a window, whose expressions are constants."""
        if sign == b"(":
            return here.push(Paren("frame"), "frame")
        if sign == b")" and isinstance(here.top, Paren):
            return here.pop("frame") if here.top.kind == "frame" else self._closed(here)
        return here

    def _at_row(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return here.push(Paren("row"), "operand") if sign == b"(" else OPEN

    def _at_row_end(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        """After a row of VALUES, or DEFAULT VALUES."""
        if sign == b",":
            return here.go("row")
        if sign == b")":
            return self._closed(here)
        if word == "values":
            return here
        return self._clause(here, word) or OPEN
