"""Expressions and results of SQL. A method `_at_x` reads the lexeme after `at="x"` (state.py)."""

from __future__ import annotations

from constrain.monitors.monitor import NUMBER, OTHER, STRING
from constrain.monitors.sql.catalogue import Columns
from constrain.monitors.sql.scopes import (
    STAR,
    Paren,
    Query,
    Source,
    has,
    nearest,
    result_of,
    visible,
)
from constrain.monitors.sql.state import NO_WORDS, OPEN, Sql
from constrain.monitors.sql.statements import Statements
from constrain.monitors.sql.words import (
    FRAME,
    INFIX,
    QUERY,
    RESERVED,
    SORT,
    VALUES,
)

LITERALS = (STRING, NUMBER, OTHER)


class Expressions(Statements):
    """How the lexemes of expressions change a state."""

    def _at_operand(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if kind in LITERALS or (word in VALUES and not self._is_column(here, word)):
            return here.go("operator", item="")
        if sign:
            return self._operand_sign(here, sign)
        if word in here.extra:
            return self._extra(here, word)
        if word in ("not", "case", "cast", "exists"):
            at = {"not": "operand", "case": "operand", "cast": "cast", "exists": "exists"}[word]
            return here.go(at, *(["when"] if word == "case" else []), item="")
        if word == "x" and not self._may_be_name(here, word):
            return None
        return here._replace(at="held", held=(name,)) if name else OPEN

    def _may_be_name(self, here: Sql, name: str) -> bool:
        """Whether a name is one of the language, and not only the beginning of a BLOB."""
        names = self._operands(here)
        return names is None or names.has(name.encode(), quoted=True)

    def _is_column(self, here: Sql, word: str) -> bool:
        return word in ("true", "false") and any(has(query, "", word) for query in visible(here.frames))

    def _operand_sign(self, here: Sql, sign: bytes) -> Sql | None:
        if sign == b"(":
            return here.push(Paren("expr"), "operand", *QUERY)
        if sign == b")":  # of an empty list: f(), IN ()
            return self._closed(here)
        if sign == b"*":
            return self._star(here, "")
        return here._replace(at="operand", item="", extra=NO_WORDS)

    def _star(self, here: Sql, qualifier: str) -> Sql | None:
        """The state after * for all columns, or for all rows in count(*)."""
        if isinstance(here.top, Paren):
            return here.go("operator")
        after = self._resolved(here._replace(quoted=False), qualifier, STAR)
        return None if after is None else after._replace(item=STAR + qualifier)

    def _extra(self, here: Sql, word: str) -> Sql | None:
        """The state after a word that may begin an operand only here."""
        if word in QUERY:
            assert here.frames is not None
            return self._statement(here.go("query", frames=(Query("sub"), here.frames[1])), word)
        if word == "not":
            return here.go("operand", "distinct", item="is")
        if word == "distinct" and here.item == "is":
            return here.go("distinct from", item="")
        return here.go("operand", item=here.item if word in ("distinct", "all") else "")

    def _at_distinct_from(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return here.go("operand", item="")

    def _at_held(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if sign == b".":
            return here._replace(at="dot")
        return here.push(Paren("call", here.held[-1]), "operand", "distinct", "all")  # (

    def _at_dot(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if sign == b"*":
            return self._star(here, here.held[-1])
        return here._replace(at="held", held=(*here.held, name), quoted=False) if name else OPEN

    def _at_exists(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return here.push(Paren("expr"), "operand", *QUERY)

    def _at_cast(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return here.push(Paren("cast"), "operand")

    def _at_type(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if sign == b"(":
            return here.push(Paren("type"), "type")
        if sign == b")" and isinstance(here.top, Paren):
            return here.pop("type") if here.top.kind == "type" else self._closed(here)
        return here

    def _at_operator(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        top = here.top
        if sign:
            return self._operator_sign(here, sign)
        if word in INFIX:
            return here.go("operand", item="")
        if word == "is":
            return here.go("operand", "not", "distinct", item="is")
        if word == "not":
            return here.go("not")
        if word in ("isnull", "notnull", "end"):
            return here.go("operator", item="")
        if word == "collate":
            return here.go("collation")
        if word == "in":
            return here.go("in", item="")
        if word in ("over", "filter"):
            return here.go("over", item="")
        if isinstance(top, Paren):
            return self._operator_in_paren(here, word)
        query = nearest(here.frames)
        assert query is not None
        if query.clause in ("from", "update", "delete", "insert"):
            return self._after_source(here, sign, word)
        if word in SORT:
            return here
        if query.clause in ("select", "returning"):
            return self._after_result(here, word, name)
        if word == "do":
            return here.go("conflict")
        return self._clause(here, word)

    def _operator_in_paren(self, here: Sql, word: str) -> Sql | None:
        top = here.top
        assert isinstance(top, Paren)
        if top.kind == "cast" and word == "as":
            return here.go("type")
        if word == "order":
            return here.go("by")
        if top.kind == "window" and word in FRAME:
            return here.go("frame")
        if top.kind == "from":
            return self._after_source(here, b"", word)
        return here if word in SORT or top.kind in ("window", "conflict") else None

    def _after_result(self, here: Sql, word: str, name: str) -> Sql | None:
        """The state after AS, an alias or the next clause behind a result."""
        if word == "as":
            return here.go("alias", item=here.item)
        after = self._clause(here, word)
        if after is not None or word in RESERVED:
            return after
        return self._aliased(here, name)

    def _at_alias(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return self._aliased(here, name)

    def _aliased(self, here: Sql, name: str) -> Sql:
        """The state after the alias of a result; a text as an alias may be any name."""
        query = nearest(here.frames)
        assert query is not None
        return here.change(aliases=query.aliases | {name}).go("operator", item=name)

    def _operator_sign(self, here: Sql, sign: bytes) -> Sql | None:
        top = here.top
        if sign == b",":
            return self._comma(here)
        if sign == b")":
            return self._closed(here)
        if sign == b"(" and isinstance(top, Query):
            return OPEN
        return here.go("operand", item="")

    def _comma(self, here: Sql) -> Sql | None:
        top = here.top
        if isinstance(top, Paren):
            if top.kind == "from":
                return here.go("table")
            if top.kind == "call" and not self._takes(top.name, top.commas + 2, at_least=True):
                return None
            assert here.frames is not None
            counted = top._replace(commas=top.commas + 1) if top.kind == "call" else top
            return here.go("operand", frames=(counted, here.frames[1]), item="")
        query = nearest(here.frames)
        assert query is not None
        if query.clause in ("select", "returning"):
            return here.change(items=self._items(here, query)).go("operand", item=None)
        if query.clause == "from":
            return here.go("table")
        if query.clause == "set":
            return here.go("column")
        if query.clause == "window":
            return here.go("window name")
        return here.go("operand", item="")

    def _takes(self, function: str, count: int, at_least: bool = False) -> bool:
        """Whether a function takes so many arguments, or at least so many."""
        numbers = None if self.functions is None else self.functions.get(function)
        if numbers is None:
            return True
        return any((at_least or count >= -1 - n) if n < 0 else count <= n if at_least else count == n for n in numbers)

    def _closed(self, here: Sql) -> Sql | None:
        """The state after a closing parenthesis."""
        top = here.top
        if isinstance(top, Paren):
            return self._closed_paren(here, top)
        if top is None or top.role == "top":
            return OPEN
        query = top
        if query.clause == "select":
            here = here.change(items=self._items(here, query))
        settled = self._settled(here)
        if settled is None:
            return None
        done = nearest(settled.frames)
        assert done is not None
        columns = result_of(done)
        if query.role == "from":
            return self._joined(settled.pop("joined"), Source("", columns))
        if query.role == "cte":
            return self._defined(settled.pop("next cte"), columns)
        return settled.pop("operator")._replace(item="")

    @staticmethod
    def _defined(here: Sql, columns: Columns) -> Sql:
        """The state after the body of a table of WITH."""
        query = nearest(here.frames)
        assert query is not None
        name, given = query.cte
        known = given if given is not None else columns
        return here.change(ctes=(*query.ctes, (name, known)), cte=("", None))

    def _closed_paren(self, here: Sql, top: Paren) -> Sql | None:
        if top.kind == "call":
            count = 0 if here.at == "operand" or top.name == "" else top.commas + 1
            if here.item == STAR:
                count = 0
            if not self._takes(top.name, count):
                return None
        after = {"from": "joined", "module": "joined", "row": "row end", "conflict": "conflict", "using": "joined",
                 "columns": "joined"}.get(top.kind, "operator")  # fmt: skip
        popped = here.pop(after)
        return popped if top.kind == "expr" else popped._replace(item="")

    def _at_not(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if word == "null":
            return here.go("operator", item="")
        return here.go("in", item="") if word == "in" else here.go("operand", item="")

    def _at_collation(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        return here.go("operator")

    def _at_in(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if sign == b"(":
            return here.push(Paren("expr"), "operand", *QUERY)
        return here.go("in name")

    def _at_in_name(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        """After the table of IN: its name may go on."""
        if sign == b".":
            return here.go("in")
        if sign == b"(":
            return here.push(Paren("expr"), "operand")
        return self._at_operator(here.go("operator", item=""), kind, sign, word, name)

    def _at_over(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if sign == b"(":
            return here.push(Paren("window"), "over paren")
        return here.go("operator", item="")

    def _at_over_paren(self, here: Sql, kind: int, sign: bytes, word: str, name: str) -> Sql | None:
        if word == "where":
            return here.go("operand")
        return self._at_window(here, kind, sign, word, name)
