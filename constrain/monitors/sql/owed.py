"""The texts after which FROM has the columns that were used before it."""

from __future__ import annotations

from collections.abc import Mapping

from constrain.monitors.sql.catalogue import Columns
from constrain.monitors.sql.names import SqlNames, needs_quotes
from constrain.monitors.sql.scopes import STAR, Query, has_column, visible_ctes
from constrain.monitors.sql.state import SqlState

BEHIND = frozenset({"operator", "called", "named"})  # `at`: an operand is whole
SOURCES = frozenset({"joined", "renamed"})  # `at`: a table is whole
Tables = Mapping[str, Columns]


def owed(names: SqlNames, state: SqlState) -> list[str]:
    """Give texts that begin FROM, or go on with it, so that it has all columns that were put off.

    Args:
        names: The monitor.
        state: Its state after the text.

    Returns:
        One text or none: of tables that have the columns of each name before a dot, and of others that have the columns
        without one.
    """
    if state.at == "held":
        state = names._settle_name(state, b"") or state
    query = state.top
    if not isinstance(query, Query) or query.settled:
        return []
    before: str | None
    if state.at == "table":
        before = ""
    elif query.clause == "from":
        before = "," if state.at in SOURCES | BEHIND else None
    else:
        before = " FROM " if query.clause in ("select", "set") and state.at in BEHIND else None
    missing = {name for name in query.pending if not has_column(query, *name)}
    if before is None or not missing:
        return []
    return [before + ",".join(_sources(missing, {**names.tables, **visible_ctes(state.frames)}))]


def _sources(missing: set[tuple[str, str]], tables: Tables) -> list[str]:
    """Entries of FROM that have some columns (name before the dot or "", column), of queries where no table has one."""
    found: list[str] = []
    covered: set[str] = set()
    for qualifier in sorted({qualifier for qualifier, _ in missing} - {""}):
        wanted = {column for before, column in missing if before == qualifier}
        is_table = qualifier in tables and _has(tables[qualifier], wanted)
        table = qualifier if is_table else _table(wanted, tables)
        covered |= wanted if table is None else tables[table] or set()
        source = _query(wanted) if table is None else _spelled(table)
        found.append(source if is_table else f"{source} AS {_spelled(qualifier)}")
    left = {column for before, column in missing if not before} - covered
    left -= {STAR} if found else set()
    while left:
        table = _table(left, tables) or next(
            (one for column in sorted(left) if (one := _table({column}, tables))), None
        )
        found.append(_query(left) if table is None else _spelled(table))
        left = set() if table is None or tables[table] is None else left - (tables[table] or set()) - {STAR}
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
