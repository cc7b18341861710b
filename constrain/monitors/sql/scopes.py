"""Scopes of SQL: queries with their sources, and the names that they make visible.

The idea: the frames of a state are a list, the innermost first: queries, and parentheses between them. A name is sought
in the innermost query and then outwards. A query in FROM, or of WITH, does not see the other sources of the query that
it stands in. While a query is *open*, its FROM is still to come or not complete: a name that is not found is put off
(`Query.pending`), and must be found when FROM is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Union

from constrain.monitors.sql.catalogue import ROWID, Columns
from constrain.monitors.sql.words import NO_AGGREGATES

Frames = Union[tuple["SqlFrame", "Frames"], None]  # noqa: UP007
STAR = "*"
# What begins items that are rows, with their number of columns; alone: a query that may have several. In no name: it is
# half of a character.
ROW = "\udfff"


class Source(NamedTuple):
    """An entry of FROM.

    Attributes:
        name: The name that its columns go by; "": none.
        columns: Its columns.
        merged: Those that USING or NATURAL makes one with columns before it.
        table: The table of the catalogue that it is; "": none.
    """

    name: str
    columns: Columns
    merged: frozenset[str] = frozenset()
    table: str = ""


Waiting = tuple[frozenset[str], str, tuple[str, str] | None]


class Expression(NamedTuple):
    """The types of an expression that is being read (typed.py); an empty one where they do not count.

    Attributes:
        pending: (kinds of the left operand, operator, a column as in `column`) whose right operand is being read.
        value: The kinds of the last operand; None: it is still to come.
        column: (qualifier or "", column), if that operand is a column that was used before FROM was complete.
        result: What arguments before it tell of the result of a call; all kinds: it is part of a row.
    """

    pending: tuple[Waiting, ...] = ()
    value: frozenset[str] | None = None
    column: tuple[str, str] | None = None
    result: frozenset[str] | None = None


class SqlResult(NamedTuple):
    """An item of a result list: its name ("": none, "*": all columns), and the source that "*" is of."""

    name: str
    qualifier: str = ""


class Query(NamedTuple):
    """A statement or query that is being read.

    Attributes:
        role: "top", "sub" (in an expression), "one" (likewise, with one column), "from" or "cte".
        clause: The clause that is being read: "with", "select", "from", "where", "set", ...
        settled: Whether FROM is complete.
        sources: The entries of FROM.
        is_open: It is not known which columns are made one (joins in parentheses).
        is_natural: The next source is joined by NATURAL.
        earlier: Sources of the other parts of a compound, which ORDER BY may use.
        pending: (qualifier or "", column) that were used before FROM was complete, in ON too.
        typed: (qualifier or "", column, kinds): what such columns must be, where types count.
        texts: Names in double quotes that were used before FROM was complete: texts, if they are no columns.
        items: The result list so far; of INSERT the columns that it names.
        aliases: The names of results, which other clauses may use.
        has_aggregate: The result that is being read has a function of aggregates or windows.
        aggregated: The names of such results.
        result: The columns of the first part of a compound; None: not known. `has_result`: it is complete.
        ctes: (name, columns) of WITH.
        target: The table that a statement changes.
        cte: (name, columns or None) of the table of WITH that is being read.
        expression: The expression that is being read.
    """

    role: str
    clause: str = "start"
    settled: bool = False
    sources: tuple[Source, ...] = ()
    is_open: bool = False
    is_natural: bool = False
    earlier: tuple[Source, ...] = ()
    pending: frozenset[tuple[str, str]] = frozenset()
    typed: frozenset[tuple[str, str, frozenset[str]]] = frozenset()
    texts: frozenset[str] = frozenset()
    items: tuple[SqlResult, ...] = ()
    aliases: frozenset[str] = frozenset()
    has_aggregate: bool = False
    aggregated: frozenset[str] = frozenset()
    result: Columns = None
    has_result: bool = False
    ctes: tuple[tuple[str, Columns], ...] = ()
    target: Source | None = None
    cte: tuple[str, Columns] = ("", None)
    expression: Expression = Expression()

    @property
    def takes_aggregates(self) -> bool:
        """True if the clause takes functions of aggregates and windows (sqlite/src/resolve.c, `NC_AllowAgg`)."""
        return self.clause not in NO_AGGREGATES and (self.clause != "values" or self.target is None)

    @property
    def usable(self) -> frozenset[str]:
        """The names of results that the clause may use."""
        if self.clause == "select":
            return frozenset()
        return self.aliases if self.takes_aggregates else self.aliases - self.aggregated

    @property
    def has_star(self) -> bool:
        """True if the result list has all columns: ORDER BY finds each of them there first."""
        return any(item.name == STAR for item in self.items)

    def merge(self, columns: Iterable[str]) -> Query:
        """The query after USING or NATURAL has made columns of the last source one with those before it."""
        last = self.sources[-1]
        return self._replace(sources=(*self.sources[:-1], last._replace(merged=last.merged.union(columns))))


class Paren(NamedTuple):
    """An open parenthesis.

    Attributes:
        kind: Its kind.
        name: The function that it belongs to. Of an expression: "one" and "list" of what stands behind IN, and the row
            that it is compared with.
        commas: How many arguments, or elements of a list or row, have ended.
        has_aggregate: An argument has a function of aggregates.
        expression: The expression that is being read.
    """

    kind: str
    name: str = ""
    commas: int = 0
    has_aggregate: bool = False
    expression: Expression = Expression()


SqlFrame = Query | Paren


def innermost_query(frames: Frames) -> Query | None:
    """The innermost query."""
    while frames is not None:
        if isinstance(frames[0], Query):
            return frames[0]
        frames = frames[1]
    return None


def calls(frames: Frames) -> Iterator[Paren]:
    """The calls around a place, in its query."""
    while frames is not None and isinstance(frames[0], Paren):
        if frames[0].kind == "call":
            yield frames[0]
        frames = frames[1]


def note_aggregate(frames: Frames) -> Frames:
    """The frames after a function of aggregates: each call around it has one, and the result that is being read."""
    assert frames is not None
    frame, outer = frames
    return (frame._replace(has_aggregate=True), note_aggregate(outer) if isinstance(frame, Paren) else outer)


def replace_query(frames: Frames, old: Query, new: Query) -> Frames:
    """The frames with one query exchanged."""
    if frames is None:
        return None
    return (new, frames[1]) if frames[0] is old else (frames[0], replace_query(frames[1], old, new))


def visible_queries(frames: Frames) -> Iterator[Query]:
    """The queries whose sources can be seen, from the innermost outwards."""
    hidden = False
    while frames is not None:
        frame = frames[0]
        if isinstance(frame, Query):
            if frame.clause == "limit":  # no column counts there, nor does one of an outer query
                return
            if not hidden:
                yield frame
                if frame.clause in ("group", "order"):  # they do not refer to outer queries (sqlite/src/resolve.c)
                    return
            hidden = frame.role in ("from", "cte")
        frames = frames[1]


def visible_ctes(frames: Frames) -> dict[str, Columns]:
    """The tables of WITH that can be seen."""
    tables: dict[str, Columns] = {}
    while frames is not None:
        frame = frames[0]
        if isinstance(frame, Query):
            for name, columns in (*reversed(frame.ctes), *([frame.cte] if frame.cte[0] else [])):
                tables.setdefault(name, columns)
        frames = frames[1]
    return tables


def sources_in(query: Query) -> tuple[Source, ...]:
    """The sources of a query that a name may be of."""
    return query.sources + query.earlier if query.clause == "order" else query.sources


def has_column(query: Query, qualifier: str, column: str) -> bool:
    """True if a query has a column, or, without a qualifier, a result of that name."""
    return (not qualifier and column in query.usable) or has_source(query, qualifier, column)


def has_source(query: Query, qualifier: str, column: str) -> bool:
    """True if a source of a query has a column."""
    for source in sources_in(query):
        if qualifier and source.name != qualifier:
            continue
        if source.columns is None or column in source.columns or (qualifier and column == STAR):
            return True
    return not qualifier and column == STAR and bool(query.sources)


def shared_columns(query: Query, qualifier: str = "") -> set[str]:
    """Columns that several sources have, so that a name alone, or with a qualifier, does not tell them apart.

    Source: sqlite/src/resolve.c, `lookupName`. Columns of sources that are not known are not among them.
    """
    seen: set[str] = set()
    twice: set[str] = set()
    is_result = query.clause == "order" and not qualifier and query.has_star
    if len(query.sources) < 2 or query.is_open or is_result:
        return twice
    for source in query.sources:
        if source.columns is not None and qualifier in ("", source.name):
            columns = source.columns - source.merged if qualifier else source.columns - source.merged - ROWID
            twice |= columns & seen
            seen |= columns
    return twice


def unclear_columns(query: Query, qualifier: str, column: str) -> set[str]:
    """The columns that keep a name from being clear: itself, or for * all that two sources of one name share."""
    if column != STAR:
        is_result = query.clause == "order" and not qualifier and column in query.aliases
        return set() if is_result else shared_columns(query, qualifier) & {column}
    names = [source.name for source in query.sources if source.name and qualifier in ("", source.name)]
    repeated = {name for name in names if names.count(name) > 1}
    return set().union(*(shared_columns(query, name) for name in repeated)) - ROWID


def unclear_pending(query: Query) -> set[str]:
    """The columns that USING has to name, so that all that was used before FROM is clear."""
    names = {*query.pending, *(("", text) for text in query.texts)}
    return set().union(*(unclear_columns(query, *name) for name in names))


def result_columns(query: Query) -> Columns:
    """The columns of a query's result list; None: not known."""
    if query.has_result:
        return query.result
    columns: set[str] = set()
    for item in query.items:
        if item.name != STAR:
            columns.add(item.name)
            continue
        for source in query.sources:
            if item.qualifier in ("", source.name):
                if source.columns is None:
                    return None
                columns |= source.columns
    return frozenset(columns)
