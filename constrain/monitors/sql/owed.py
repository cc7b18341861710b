"""The texts after which FROM has the columns that were used before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from constrain.monitors.sql.catalogue import Columns
from constrain.monitors.sql.names import SqlNames, needs_quotes
from constrain.monitors.sql.scopes import ROW, STAR, Paren, Source, has_source, unclear_pending, visible_ctes
from constrain.monitors.sql.state import SqlState

BEHIND = frozenset({"operator", "called", "named"})  # `at`: an operand is whole
SOURCES = frozenset({"joined", "renamed"})  # `at`: a table is whole
Tables = Mapping[str, Columns]


def owed(names: SqlNames, state: SqlState) -> list[str]:
    """Give texts that begin FROM, or go on with it, so that it has all columns that were put off, each of them once.

    Args:
        names: The monitor.
        state: Its state after the text.

    Returns:
        One text or none: the window or argument that a call needs; the rest of a row; USING for what is not clear;
        tables that have the columns of each name before a dot, and others that have the columns without one.
    """
    if state.at == "windowed":
        return [" OVER()"]
    if state.at == "row operand" and state.item:
        return [f"({','.join('0' * int(state.item[1:]))})"]
    if state.at == "held":
        state = names._settle_name(state, b"") or state
    query = state.top
    if isinstance(query, Paren):
        is_row = query.name.startswith(ROW)
        is_short = is_row and query.commas + 1 < int(query.name[1:])
        is_short = is_short or (query.kind == "call" and not names._takes(query.name, query.commas + 1))
        if is_short and state.at in BEHIND:
            return [",0"]
        return _listed(state) if query.kind == "using" else []
    if query is None or query.settled:
        return []
    before: str | None
    if state.at == "table":
        before = ""
    elif query.clause == "from":
        before = "," if state.at in SOURCES | BEHIND else None
    else:
        before = " FROM " if query.clause in ("select", "set") and state.at in BEHIND else None
    if before is None:
        return []
    text = ""
    if state.at in SOURCES and (unclear := unclear_pending(query)):
        text, query = _using(unclear), query.merge(unclear)
    missing = {name for name in query.pending if not has_source(query, *name)}
    tables = {**names.tables, **visible_ctes(state.frames)}
    if query.typed:
        tables = {
            table: columns for table, columns in tables.items() if names.suits(query, Source(table, None, table=table))
        }
    for source in _sources(missing, tables) if missing else ():
        query = query._replace(sources=(*query.sources, Source(source.name, source.columns)))
        unclear = unclear_pending(query)
        text += before + source.text + (_using(unclear) if unclear else "")
        query, before = query.merge(unclear), ","
    return [text] if text else []


def _using(columns: set[str]) -> str:
    return f" USING({','.join(map(_spelled, sorted(columns)))})"


def _listed(state: SqlState) -> list[str]:
    """The rest of a list of USING that has all that is not clear."""
    columns = [_spelled(column) for column in sorted(unclear_pending(state.query))]
    if state.at == "column end":
        return [f"{','.join(['', *columns])})"]
    return [f"{','.join(columns)})"] if columns else []


class _Entry(NamedTuple):
    """An entry of FROM, and the source that it is."""

    text: str
    name: str
    columns: Columns


def _sources(missing: set[tuple[str, str]], tables: Tables) -> list[_Entry]:
    """Entries of FROM that have some columns (name before the dot or "", column), of queries where no table has one."""
    found: list[_Entry] = []
    covered: set[str] = set()
    for qualifier in sorted({qualifier for qualifier, _ in missing} - {""}):
        wanted = {column for before, column in missing if before == qualifier}
        is_table = qualifier in tables and _has(tables[qualifier], wanted)
        table = qualifier if is_table else _table(wanted, tables)
        columns = frozenset(wanted) if table is None else tables[table]
        covered |= columns or set()
        source = _query(wanted) if table is None else _spelled(table)
        found.append(_Entry(source if is_table else f"{source} AS {_spelled(qualifier)}", qualifier, columns))
    left = {column for before, column in missing if not before} - covered
    left -= {STAR} if found else set()
    while left:
        table = _table(left, tables) or next(
            (one for column in sorted(left) if (one := _table({column}, tables))), None
        )
        if table is None:
            found.append(_Entry(_query(left), "", frozenset(left)))
            break
        found.append(_Entry(_spelled(table), table, tables[table]))
        columns = tables[table]
        left = set() if columns is None else left - columns - {STAR}
    return found


def _query(columns: set[str]) -> str:
    """A query with some columns."""
    return f"(SELECT {','.join(f'0 AS {_spelled(column)}' for column in sorted(columns - {STAR}) or ['a'])})"


def _table(wanted: set[str], tables: Tables) -> str | None:
    """The table of the shortest name that has some columns."""
    having = [table for table, columns in tables.items() if _has(columns, wanted)]
    return min(having, key=lambda table: (tables[table] is None, len(table), table), default=None)


def _has(columns: Columns, wanted: set[str]) -> bool:
    return columns is None or wanted <= columns | {STAR}


def _spelled(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""')) if needs_quotes(name) else name
