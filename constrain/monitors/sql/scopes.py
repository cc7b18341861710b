"""Scopes of SQL: queries with their sources, and the names that they make visible.

The idea: the frames of a state are a list, the innermost first: queries, and parentheses between them. A name is sought
in the innermost query and then outwards. A query in FROM, or of WITH, does not see the other sources of the query that
it stands in. While a query is *open*, its FROM is still to come or not complete: a name that is not found is put off
(`Query.pending`), and must be found when FROM is complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Union

from constrain.monitors.sql.catalogue import Columns

Frames = Union[tuple["SqlFrame", "Frames"], None]  # noqa: UP007
STAR = "*"


class Source(NamedTuple):
    """An entry of FROM: the name that its columns go by ("": none), and its columns."""

    name: str
    columns: Columns


class SqlResult(NamedTuple):
    """An item of a result list: its name ("": none, "*": all columns), and the source that "*" is of."""

    name: str
    qualifier: str = ""


class Query(NamedTuple):
    """A statement or query that is being read.

    Attributes:
        role: "top", "sub" (in an expression), "from" or "cte".
        clause: The clause that is being read: "with", "select", "from", "where", "set", ...
        settled: Whether FROM is complete.
        sources: The entries of FROM.
        earlier: Sources of the other parts of a compound, which ORDER BY may use.
        pending: (qualifier or "", column) that were used before FROM was complete.
        items: The result list so far.
        aliases: The names of results, which other clauses may use.
        result: The columns of the first part of a compound; None: not known. `has_result`: it is complete.
        ctes: (name, columns) of WITH.
        target: The table that a statement changes.
        cte: (name, columns or None) of the table of WITH that is being read.
    """

    role: str
    clause: str = "start"
    settled: bool = False
    sources: tuple[Source, ...] = ()
    earlier: tuple[Source, ...] = ()
    pending: frozenset[tuple[str, str]] = frozenset()
    items: tuple[SqlResult, ...] = ()
    aliases: frozenset[str] = frozenset()
    result: Columns = None
    has_result: bool = False
    ctes: tuple[tuple[str, Columns], ...] = ()
    target: Source | None = None
    cte: tuple[str, Columns] = ("", None)


class Paren(NamedTuple):
    """An open parenthesis: its kind, the function that it belongs to, and the arguments so far."""

    kind: str
    name: str = ""
    commas: int = 0
    is_empty: bool = True


SqlFrame = Query | Paren


def innermost_query(frames: Frames) -> Query | None:
    """The innermost query."""
    while frames is not None:
        if isinstance(frames[0], Query):
            return frames[0]
        frames = frames[1]
    return None


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
    """True if a query's sources have a column."""
    if not qualifier and column in query.aliases and query.clause != "select":
        return True
    for source in sources_in(query):
        if qualifier and source.name != qualifier:
            continue
        if source.columns is None or column in source.columns or (qualifier and column == STAR):
            return True
    return not qualifier and column == STAR and bool(query.sources)


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
