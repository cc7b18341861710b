"""Expressions and results of SQL. A method `_at_x` reads the lexeme after `at="x"` (state.py)."""

from __future__ import annotations

from constrain.monitors.monitor import NUMBER, OTHER, STRING
from constrain.monitors.sql.catalogue import Columns
from constrain.monitors.sql.scopes import (
    ROW,
    STAR,
    Paren,
    Query,
    Source,
    has_column,
    note_aggregate,
    result_columns,
    visible_queries,
)
from constrain.monitors.sql.state import NO_WORDS, OPEN, SqlState
from constrain.monitors.sql.statements import SqlStatements
from constrain.monitors.sql.words import FRAME, INFIX, QUERY, RESERVED, SORT, VALUES

LITERALS = (STRING, NUMBER, OTHER)
COMPARING = (b"=", b"<", b">", b"!")


class SqlExpressions(SqlStatements):
    """The steps of a state over the lexemes of expressions."""

    def _at_operand(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if kind in LITERALS or (word in VALUES and not self._is_column(state, word)):
            return state.go("operator", item="")
        if sign:
            return self._operand_sign(state, sign)
        if word in state.extra:
            return self._read_extra(state, word)
        if word == "case":
            return state.push(Paren("case"), "operand", "when", item="")
        if word in ("not", "cast", "exists"):
            return state.go({"not": "operand"}.get(word, word), item="")
        if word == "x" and not self._may_be_name(state, word):
            return None
        return state._replace(at="held", held=(name,)) if name else OPEN

    def _at_literal(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.go("operator", item="")

    def _may_be_name(self, state: SqlState, name: str) -> bool:
        """True if a name is one of the language, and not only the beginning of a BLOB."""
        names = self._operand_names(state)
        return names is None or names.has(name.encode(), quoted=True)

    def _is_column(self, state: SqlState, word: str) -> bool:
        return word in ("true", "false") and any(has_column(query, "", word) for query in visible_queries(state.frames))

    def _operand_sign(self, state: SqlState, sign: bytes) -> SqlState | None:
        if sign == b"(":
            return state.push(Paren("expr"), "operand", *QUERY)
        if sign == b")":  # of an empty list: f(), IN ()
            return None if isinstance(state.top, Paren) and state.top.kind == "case" else self._close(state)
        if sign == b"*":
            return self._read_star(state, "")
        return state._replace(at="operand", item="", extra=NO_WORDS)

    def _read_star(self, state: SqlState, qualifier: str) -> SqlState | None:
        """The state after * for all columns, or for no argument as in count(*)."""
        if isinstance(state.top, Paren):
            is_taken = state.top.kind != "call" or self._takes(state.top.name, 0)
            return state.go("operator", item=STAR) if is_taken else None
        after = self._resolve(state._replace(quoted=False), qualifier, STAR)
        return None if after is None else after._replace(at="named", item=STAR + qualifier)

    def _read_extra(self, state: SqlState, word: str) -> SqlState | None:
        """The state after a word that may begin an operand only here."""
        if word in QUERY:
            top = state.top
            role = "one" if isinstance(top, Paren) and top.name == "one" else "sub"
            return self._begin_statement(state.swap(Query(role)).go("query"), word)
        if word == "not":
            return state.go("operand", "distinct", item="is")
        if word == "distinct" and state.item == "is":
            return state.go("distinct from", item="")
        return state.go("operand", item=state.item if word in ("distinct", "all") else "")

    def _at_distinct_from(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.go("operand", item="")

    def _at_held(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if sign == b".":
            return state._replace(at="dot")
        extra = {"distinct", "all"} - self.lacks
        return state.push(Paren("call", state.held[-1]), "operand", *extra, item="")  # (

    def _at_dot(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if sign == b"*":
            return self._read_star(state, state.held[-1])
        return state._replace(at="held", held=(*state.held, name), quoted=False) if name else OPEN

    def _at_exists(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.push(Paren("expr"), "operand", *QUERY)

    def _at_cast(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.push(Paren("cast"), "operand")

    def _at_type(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if sign == b"(":
            return state.push(Paren("type"), "type")
        if sign == b")" and isinstance(state.top, Paren):
            return state.pop("type") if state.top.kind == "type" else self._close(state)
        return state

    def _at_operator(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        top = state.top
        if sign:
            return self._operator_sign(state, sign)
        if word in INFIX:
            return state.go("operand", item="")
        if word == "is":
            return state.go("operand", "not", "distinct", item="is")
        if word == "not":
            return state.go("not", item=state.item)
        if word in ("isnull", "notnull"):
            return state.go("operator", item="")
        if word == "end" and isinstance(top, Paren) and top.kind == "case":
            return state.pop("operator")._replace(item="")
        if word == "collate":
            return state.go("collation")
        if word == "in":
            return state.go("in", item=state.item)
        if isinstance(top, Paren):
            return self._operator_in_paren(state, word)
        query = state.query
        if query.clause in ("from", "update", "delete", "insert"):
            return self._follow_source(state, sign, word)
        if query.clause in ("select", "returning"):
            return self._follow_result(state, word, name)
        if word in SORT:
            return state
        if word == "do":
            return state.go("conflict")
        return self._begin_clause(state, word)

    def _at_called(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if word in ("over", "filter"):
            is_inside = word == "over" and self._aggregates_around(state) > 0
            return None if is_inside else state.go("over", item="")
        return self._at_operator(state._replace(at="operator"), kind, sign, word, name)

    def _operator_in_paren(self, state: SqlState, word: str) -> SqlState | None:
        top = state.top
        assert isinstance(top, Paren)
        if top.kind == "cast" and word == "as":
            return state.go("type")
        if word == "order":
            return state.go("by")
        if top.kind == "window" and word in FRAME:
            return state.go("frame")
        if top.kind == "from":
            return self._follow_source(state, b"", word)
        return state if word in SORT or top.kind in ("window", "conflict") else None

    def _follow_result(self, state: SqlState, word: str, name: str) -> SqlState | None:
        """The state after AS, an alias or the next clause behind a result."""
        if word == "as":
            return state.go("alias", item=state.item)
        after = self._begin_clause(state, word)
        if after is not None or word in RESERVED or "bare alias" in self.lacks:
            return after
        return self._name_result(state, name)

    def _at_alias(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return self._name_result(state, name)

    def _name_result(self, state: SqlState, name: str) -> SqlState:
        """The state after the alias of a result; a text as an alias may be any name."""
        query = state.query
        aggregated = query.aggregated | {name} if query.has_aggregate else query.aggregated - {name}
        return state.change(aliases=query.aliases | {name}, aggregated=aggregated).go("named", item=name)

    def _at_named(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if sign:
            return self._operator_sign(state, sign)
        return self._begin_clause(state, word)

    def _operator_sign(self, state: SqlState, sign: bytes) -> SqlState | None:
        top = state.top
        if sign == b",":
            return self._comma(state)
        if sign == b")":
            return self._close(state)
        if sign == b"(" and isinstance(top, Query):
            return OPEN
        if sign in COMPARING and (state.item or "")[:1] == ROW != state.item:  # its length is known
            return state.go("row operand", item=state.item)
        return state.go("operand", item="")

    def _at_row_operand(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        """Read what a row is compared with: another one, which `_comma` and `_close_paren` count. `=` ends a sign."""
        if sign == b"(":
            return state.push(Paren("expr", state.item or ""), "operand", *QUERY, item="")
        return state if sign in COMPARING else None

    def _comma(self, state: SqlState) -> SqlState | None:
        top = state.top
        if isinstance(top, Paren):
            if top.kind == "from":
                return state.go("table")
            if top.kind == "call" and not self._takes(top.name, top.commas + 2, at_least=True):
                return None
            if top.name.startswith(ROW) and top.commas + 2 > int(top.name[1:]):
                return None
            counted = top._replace(commas=top.commas + 1) if top.kind in ("call", "expr", "row") else top
            return state.swap(counted).go("operand", item="")
        query = state.query
        if query.clause == "select" and query.role == "one":
            return None
        if query.clause in ("select", "returning"):
            return state.change(items=self._results(state, query), has_aggregate=False).go("operand", item=None)
        if query.clause == "from":
            return state.go("table")
        if query.clause == "set":
            return state.go("column")
        if query.clause == "window":
            return state.go("window name")
        return state.go("operand", item="")

    def _close(self, state: SqlState) -> SqlState | None:
        """The state after a closing parenthesis."""
        top = state.top
        if isinstance(top, Paren):
            return self._close_paren(state, top)
        if top is None or top.role == "top":
            return OPEN
        query = top
        if query.clause == "select":
            state = state.change(items=self._results(state, query))
        settled = self._settle_from(state)
        if settled is None:
            return None
        columns = result_columns(settled.query)
        if query.role == "from":
            return self._add_source(settled.pop("joined"), Source("", columns))
        if query.role == "cte":
            return self._define_cte(settled.pop("next cte"), columns)
        return settled.pop("operator")._replace(item=ROW)

    @staticmethod
    def _define_cte(state: SqlState, columns: Columns) -> SqlState:
        """The state after the body of a table of WITH."""
        query = state.query
        name, listed = query.cte
        known = listed if listed is not None else columns
        return state.change(ctes=(*query.ctes, (name, known)), cte=("", None))

    def _close_paren(self, state: SqlState, top: Paren) -> SqlState | None:
        if top.kind == "call":
            count = 0 if state.at == "operand" or top.name == "" else top.commas + 1
            if state.item == STAR:
                count = 0
            if not self._takes(top.name, count):
                return None
            if count in self.aggregates.get(top.name, ()):  # max(a), which with more arguments is none of them
                return self._close_aggregate(state, top)
        after = {"from": "joined", "module": "joined", "row": "row end", "conflict": "conflict", "using": "renamed",
                 "columns": "joined", "call": "called", "window": "called"}.get(top.kind, "operator")  # fmt: skip
        popped = state.pop(after)
        if top.kind == "expr":
            item = f"{ROW}{top.commas + 1}" if top.commas else state.item
            if top.name.startswith(ROW):
                return popped._replace(item="") if item in (top.name, ROW) else None
            return popped._replace(item="" if top.commas and top.name else item)
        return popped._replace(item="")

    def _close_aggregate(self, state: SqlState, top: Paren) -> SqlState | None:
        """The state after a call of a function of aggregates, which has a window if there is one in its arguments."""
        popped = state.pop("windowed" if top.has_aggregate else "called")
        if self._is_without_aggregates(popped) or (top.has_aggregate and state.query.clause == "having"):
            return None
        return popped._replace(item="", frames=note_aggregate(popped.frames))

    def _at_windowed(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.go("over", item="") if word == "over" else None

    def _at_not(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if word == "null":
            return state.go("operator", item="")
        return state.go("in", item=state.item) if word == "in" else state.go("operand", item="")

    def _at_collation(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        return state.go("operator")

    def _at_in(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if sign == b"(":
            is_row = (state.item or "").startswith(ROW)
            return state.push(Paren("expr", "list" if is_row else "one"), "operand", *QUERY)
        return state._replace(at="in name", held=(*state.held, name)) if name else OPEN

    _at_in_dot = _at_in

    def _at_in_name(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        """Read what follows the table of IN: its name may go on."""
        if sign == b".":
            return state._replace(at="in dot")
        if sign == b"(":
            return state.push(Paren("expr", "list"), "operand")
        return self._at_operator(state.go("operator", item=""), kind, sign, word, name)

    def _at_over(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if sign == b"(":
            return state.push(Paren("window"), "over paren")
        return state.go("operator", item="")

    def _at_over_paren(self, state: SqlState, kind: int, sign: bytes, word: str, name: str) -> SqlState | None:
        if word == "where":
            return state.go("operand")
        return self._at_window(state, kind, sign, word, name)
