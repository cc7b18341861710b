"""Expressions of SQL with the types of their operands, as PostgreSQL's analyser reads them (types.py).

The idea: each query and parenthesis keeps the expression that is read in it (`Expression`): operands that wait for the
right side of their operator, and the last operand. An operand may stand if operators that bind more strongly can lead
from it to a kind that all that waits before it takes. A column that is used before FROM has any kind; what it must be
is kept (`Query.typed`), and a table that has it with another type is refused.
"""

from __future__ import annotations

from collections.abc import Callable

from constrain.monitors.monitor import NUMBER, Names
from constrain.monitors.sql import types
from constrain.monitors.sql.names import SqlNames
from constrain.monitors.sql.scopes import (
    Expression,
    Frames,
    Paren,
    Query,
    Source,
    Waiting,
    innermost_query,
    sources_in,
    visible_queries,
)
from constrain.monitors.sql.state import SqlState
from constrain.monitors.sql.types import ANY, BOOL, CONSTANTS, LEVEL, Kinds, applied
from constrain.monitors.stacks import elements

OPERANDS = frozenset({"operator", "called", "windowed", "in name", "not"})  # `at`: an operand is whole
CONDITIONS = frozenset({"where", "having", "from"})
CONDITION = BOOL | {"other"}
GOING_ON = frozenset({"over", "filter", "collate"})  # words that are no operator, and end no expression
KEEPING = OPERANDS | {"over", "collation"}  # `at`: the operand may go on


class SqlTyped(SqlNames):
    """The types of the expressions of a state. Nothing of it is asked where types do not count."""

    kinds: dict[str, dict[str, Kinds]] | None  # table -> column -> kinds; None: types do not count
    _literals: Callable[[frozenset[Kinds]], Names]

    # -- what may stand ------------------------------------------------------------------------------------------------

    def fits(self, frames: Frames, kinds: Kinds) -> bool:
        """True if an operand of some kinds may stand: operators behind it can lead to what is wanted."""
        if frames is None:
            return True
        for left, operator, _ in reversed(frames[0].expression.pending):
            led = types.reached(kinds, LEVEL[operator])
            kinds = applied(operator, left, kinds) | applied(operator, left, led)
            if not kinds:
                return False
        return self._is_wanted(frames, kinds) or self._is_wanted(frames, types.reached(kinds, -1))

    def _is_wanted(self, frames: Frames, kinds: Kinds, more: bool = False) -> bool:
        """True if the innermost expression may have one of some kinds. more: another one of a list follows it."""
        assert frames is not None
        frame, outer = frames
        if isinstance(frame, Query) or frame.kind == "from":
            is_condition = isinstance(frame, Paren) or frame.clause in CONDITIONS
            return bool(kinds & CONDITION) if is_condition else bool(kinds)
        if frame.kind == "call" and frame.commas:
            return bool(kinds & types.argument_kinds(frame.name, frame.commas))
        if frame.kind == "call":
            results = (types.result_kinds(frame.name, frozenset({kind}), more) for kind in kinds)
            return any(result and self.fits(outer, result) for result in results)
        if frame.kind == "row":
            return bool(applied(":=", self._inserted(outer, frame.commas), kinds))
        if frame.kind != "expr" or outer is None or frame.expression.result is not None:
            return bool(kinds)
        if (before := self._listed(frames)) is not None:
            return bool(applied("in", before, kinds))
        pending = outer[0].expression.pending
        return bool(kinds) if pending and pending[-1][1] == "exists_" else self.fits(outer, kinds)

    @staticmethod
    def _listed(frames: Frames) -> Kinds | None:
        """The kinds of the operand before IN, where the innermost part is the list behind it; None: it is none."""
        assert frames is not None
        frame, outer = frames
        if outer is None or not isinstance(frame, Paren) or frame.kind != "expr":
            return None
        pending = outer[0].expression.pending
        return pending[-1][0] if pending and pending[-1][1] == "in" else None

    def _inserted(self, frames: Frames, place: int) -> Kinds:
        """The kinds of the column of INSERT that a place of a row of VALUES is for; all for another VALUES."""
        query = innermost_query(frames)
        kinds = {} if query is None or query.target is None else self._kinds_in(query.target)
        names = [item.name for item in query.items] if query is not None and query.items else [*kinds]
        return kinds.get(names[place], ANY) if place < len(names) else ANY

    def _unfit(self, state: SqlState) -> Kinds:
        """The kinds of which no operand may stand."""
        if self.kinds is None:
            return types.NONE
        return frozenset(kind for kind in types.KNOWN if not self.fits(state.frames, frozenset({kind})))

    def _unfit_columns(self, table: str, unfit: Kinds) -> frozenset[str]:
        """The columns of a table that are of some kinds."""
        columns = self.kinds.get(table, {}) if self.kinds and unfit else {}
        return frozenset(column for column, kinds in columns.items() if kinds <= unfit)

    def literals(self, state: SqlState) -> Names | None:
        """The texts in quotes that may be an operand; None: any, and nothing depends on their content."""
        allowed = frozenset(kinds for kinds in types.LITERAL_KINDS if self.fits(state.frames, kinds))
        pending = () if state.top is None else state.top.expression.pending
        is_free = not pending or "other" in pending[-1][0] or pending[-1][0] == types.TEXT
        return None if is_free and allowed == types.LITERAL_KINDS else self._literals(allowed)

    def _kinds_in(self, source: Source) -> dict[str, Kinds]:
        return (self.kinds or {}).get(source.table, {})

    def column_kinds(self, state: SqlState, qualifier: str, column: str) -> Kinds:
        """The kinds of a column; all where they are not known."""
        for query in visible_queries(state.frames):
            if not qualifier and column in query.usable:
                return ANY
            found = [  # USING makes one column of several
                self._kinds_in(source).get(column, ANY)
                for source in sources_in(query)
                if qualifier in ("", source.name) and (source.columns is None or column in source.columns)
            ]
            if found:
                return types.NONE.union(*found)
            if not query.settled:
                return ANY
        return ANY

    def suits(self, query: Query, source: Source) -> bool:
        """True if a source has no column of a kind that it must not be, as it was used before FROM."""
        known = self._kinds_in(source)
        return all(
            kinds & known.get(column, ANY) for qualifier, column, kinds in query.typed if qualifier in ("", source.name)
        )

    # -- steps ---------------------------------------------------------------------------------------------------------

    def with_operand(self, state: SqlState, kinds: Kinds, column: tuple[str, str] | None = None) -> SqlState | None:
        """The state after an operand of some kinds; None: it may not stand."""
        frame = state.top
        if frame is None:
            return state
        pending = _certain(frame.expression.pending)
        expression = frame.expression._replace(pending=pending, value=kinds, column=column)
        return state.swap(frame._replace(expression=expression)) if self.fits(state.frames, kinds) else None

    def with_name(self, state: SqlState, settled: SqlState) -> SqlState | None:
        """The state when it shows what a held name is: a column is an operand, of a function the result is one."""
        qualifier, column = state.held[-2] if len(state.held) > 1 else "", state.held[-1]
        if settled.at != "operator":
            is_call = settled.at == "held" and len(state.held) == 1
            return settled if not is_call or self.fits(state.frames, types.result_kinds(column)) else None
        kinds = self.column_kinds(state, qualifier, column)
        is_put_off = any((qualifier, column) in query.pending for query in visible_queries(settled.frames))
        return self.with_operand(settled, kinds, (qualifier, column) if is_put_off and kinds == ANY else None)

    def before_lexeme(self, state: SqlState, sign: bytes, word: str) -> SqlState | None:
        """The state when a lexeme follows an operand: it is an operator, or the expression ends."""
        frame = state.top
        if self.kinds is None or state.at not in OPERANDS or frame is None or word in GOING_ON:
            return state
        if state.at == "in name":
            frame = frame._replace(expression=frame.expression._replace(value=ANY))
            state = state.swap(frame)
        if frame.expression.value is None:
            return state
        if word == "not" and state.at != "not":
            return None if self.before_lexeme(state, b"", "in") is None else state
        operator = sign.decode() or word
        if operator in ("isnull", "notnull", "null"):
            reduced = self._reduced(state, LEVEL["is"])
            return None if reduced is None else self.with_operand(reduced, BOOL)
        if operator == "and" and any(waiting[1] == "between" for waiting in frame.expression.pending):
            return self._between(state)
        if operator not in LEVEL:
            return self._ended(state, more=sign == b",")
        uncertain = f"{operator}?" if f"{operator}?" in LEVEL else operator
        # comparisons do not chain in PostgreSQL: behind `a = b` a sign < begins <<
        reduced = self._reduced(state, LEVEL[operator] + (uncertain in ("<?", ">?")))
        return None if reduced is None else self._waiting(reduced, uncertain)

    def _waiting(self, state: SqlState, operator: str) -> SqlState | None:
        """The state after an operator."""
        frame = state.frame
        kinds, column = frame.expression.value or ANY, frame.expression.column
        pending = (*_certain(frame.expression.pending), (kinds, operator, column))
        state = state.swap(
            frame._replace(expression=frame.expression._replace(pending=pending, value=None, column=None))
        )
        return state if self.fits(state.frames, ANY) else None

    def _between(self, state: SqlState) -> SqlState | None:
        """The state after the AND of BETWEEN."""
        reduced = self._reduced(state, LEVEL["between"] + 1)
        if reduced is None:
            return None
        expression = reduced.frame.expression
        *before, (left, _, column) = expression.pending
        if not applied("between", left, expression.value or ANY):
            return None
        expression = expression._replace(pending=(*before, (left, "to", column)), value=None, column=None)
        return reduced.swap(reduced.frame._replace(expression=expression))

    def _reduced(self, state: SqlState, level: int) -> SqlState | None:
        """The state after all operators that bind at least as strongly as a level have their operands."""
        frame = state.frame
        pending, value, column = frame.expression.pending, frame.expression.value or ANY, frame.expression.column
        while pending and LEVEL[pending[-1][1]] >= level:
            *before, (left, operator, left_column) = pending
            state = self._note(state, left_column, {k for k in ANY if applied(operator, frozenset({k}), value)})
            state = self._note(state, column, {k for k in ANY if applied(operator, left, frozenset({k}))})
            value, column, pending = applied(operator, left, value), None, tuple(before)
            if not value:
                return None
        expression = frame.expression._replace(pending=pending, value=value, column=column)
        return state.swap(state.frame._replace(expression=expression))

    def _ended(self, state: SqlState, more: bool) -> SqlState | None:
        """The state after the whole expression. more: another one of a list follows it."""
        reduced = self._reduced(state, -1)
        if reduced is None:
            return None
        frames, expression = reduced.frames, reduced.frame.expression
        value = expression.value or ANY
        wanted = {kind for kind in ANY if self._is_wanted(frames, frozenset({kind}), more)}
        state = self._note(reduced, expression.column, wanted)
        if not self._is_wanted(frames, value, more):
            return None
        return state.swap(state.frame._replace(expression=Expression(value=value, result=expression.result)))

    @staticmethod
    def _note(state: SqlState, column: tuple[str, str] | None, kinds: set[str]) -> SqlState:
        """The state after a column that was put off must be of some kinds."""
        if column is None or kinds == ANY:
            return state
        for query in visible_queries(state.frames):
            if column in query.pending:
                return state.change_query(query, typed=query.typed | {(*column, frozenset(kinds))})
        return state

    def after_lexeme(
        self, before: SqlState, after: SqlState, kind: int, sign: bytes, word: str, name: str
    ) -> SqlState | None:
        """The state after a lexeme, with the operand or prefix that it is."""
        top = after.top
        if top is None or after.at == "open":
            return after
        change = _depth(after.frames) - _depth(before.frames)
        if change < 0:
            return self._closed(before, after)
        if change > 0:
            return after
        if before.at == "literal":
            return self.with_operand(after, types.literal_kinds(name))
        if before.at == "operand":
            if after.at in OPERANDS:
                return self._constant(after, kind, word)
            if sign and (joined := self._joined(after, sign)) is not None:
                return joined if self.fits(joined.frames, ANY) else None
            prefix = sign.decode() or (word if word == "exists" or "not" not in before.extra else "")
            return self._prefixed(after, f"{prefix}_") if f"{prefix}_" in LEVEL else after
        expression = top.expression
        if before.at == "distinct from" and expression.pending:
            *others, (left, _, column) = expression.pending
            pending = (*others, (left, "is from", column))
            return after.swap(top._replace(expression=expression._replace(pending=pending)))
        if before.at == "column" and name and isinstance(top, Query) and top.clause == "set" and top.target is not None:
            kinds = self._kinds_in(top.target).get(name, ANY)
            return after.swap(top._replace(expression=Expression(((kinds, ":=", None),))))
        if before.at == "type" and word and expression.value is None and isinstance(top, Paren) and top.kind == "cast":
            return after.swap(top._replace(expression=Expression(value=types.kinds_of(word))))
        if expression.value is None or after.at in KEEPING:
            return after
        return after.swap(top._replace(expression=Expression(result=self._first_result(before))))

    def _first_result(self, before: SqlState) -> Kinds | None:
        """The kinds of a result as the first of several arguments tells them; of a row all."""
        top = before.top
        if not isinstance(top, Paren) or top.kind not in ("call", "expr") or self._listed(before.frames):
            return None
        if top.kind == "expr" or top.commas:
            return top.expression.result or ANY
        return types.result_kinds(top.name, top.expression.value or ANY, more=True)

    def _constant(self, state: SqlState, kind: int, word: str) -> SqlState | None:
        """The state after an operand that is one lexeme. A keyword that does not fit stays open, where any name may be
        a function: the grammar may have no other word that begins with it."""
        kinds = types.NUMERALS if kind == NUMBER else CONSTANTS.get(word, ANY)
        return self.with_operand(state, kinds if self.fits(state.frames, kinds) else ANY)

    @staticmethod
    def _joined(state: SqlState, sign: bytes) -> SqlState | None:
        """The state after a sign that makes another operator of the one before it; None: it does not."""
        frame = state.frame
        *before, (left, operator, column) = frame.expression.pending or [(ANY, "", None)]
        joined = operator.rstrip("?") + sign.decode()
        if not operator or joined not in LEVEL:
            return None
        pending = (*before, (left, joined, column))
        return state.swap(frame._replace(expression=frame.expression._replace(pending=pending)))

    def _prefixed(self, state: SqlState, operator: str) -> SqlState | None:
        """The state after a prefix; a word that does not fit stays open."""
        return self._waiting(state, operator) or (state if operator in ("not_", "exists_") else None)

    def _closed(self, before: SqlState, after: SqlState) -> SqlState | None:
        """The state after a closing parenthesis, or the END of CASE."""
        inner = before.top
        if after.at not in OPERANDS or inner is None or (isinstance(inner, Paren) and inner.kind == "window"):
            return after
        value = inner.expression.value or ANY
        if isinstance(inner, Paren) and inner.kind == "call":
            value = inner.expression.result or types.result_kinds(inner.name, value)
        elif isinstance(inner, Query) or inner.kind == "case" or inner.expression.result:
            value = ANY
        return self.with_operand(after, value if self.fits(after.frames, value) else ANY)


def _certain(pending: tuple[Waiting, ...]) -> tuple[Waiting, ...]:
    """The operands that wait when no sign follows the last operator."""
    if pending and pending[-1][1][-1] == "?":
        left, operator, column = pending[-1]
        return *pending[:-1], (left, operator[0], column)
    return pending


def _depth(frames: Frames) -> int:
    return sum(1 for _ in elements(frames))
