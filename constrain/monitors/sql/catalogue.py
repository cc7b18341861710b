"""The catalogue of a database: tables with columns, and functions with the numbers of arguments that they take.

A catalogue is read from CREATE statements, the file of a database, a connection of sqlite3, an engine or connection of
SQLAlchemy, or a dict.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from constrain.errors import ConstrainError

Columns = frozenset[str] | None  # None: they are not known
Functions = tuple[tuple[str, frozenset[int]], ...]  # their numbers of arguments; -1 - n: n or more
MOST_TRIED = 4  # arguments, to find out how many a function takes at least
OWN = frozenset({"sqlite_master", "sqlite_schema"})  # tables that every database has
OWN_TEMP = frozenset({"sqlite_temp_master", "sqlite_temp_schema"})
ROWID = frozenset({"rowid", "oid", "_rowid_"})
_IS_FILE = re.compile(r"[^\s;(]+\.(?:db|db3|sqlite|sqlite3|s3db|sl3)", re.IGNORECASE)
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def fold(name: str) -> str:
    """A name in lower case, as SQLite compares names: ASCII letters only."""
    return name.translate(_LOWER)


@dataclass(frozen=True)
class Catalogue:
    """The tables and functions of a database. Names are in lower case.

    Attributes:
        tables: (table, its columns in their order, whether it has a rowid).
        functions: (function, the numbers of arguments that it takes); None: they are not known.
        schemas: The names of databases, which may stand before a table.
        modules: (function that gives a table, its columns), as `json_each`.
        placed: (database, its tables). Where a database is not named, any table may be there.
        aggregates: (function, the numbers of arguments with which it is one of aggregates or windows).
        declared: (table, the types of its columns as they are declared; "": none).
        indexes: (table, its indexes); None: they are not known.
        virtual: The tables that may have hidden columns.
        read_only: The tables that no INSERT, UPDATE or DELETE may name: views without triggers, and SQLite's own.
    """

    tables: tuple[tuple[str, tuple[str, ...], bool], ...]
    functions: Functions | None
    schemas: tuple[str, ...] = ("main", "temp")
    modules: tuple[tuple[str, tuple[str, ...]], ...] = ()
    placed: tuple[tuple[str, frozenset[str]], ...] = ()
    aggregates: Functions = ()
    declared: tuple[tuple[str, tuple[str, ...]], ...] = ()
    indexes: tuple[tuple[str, frozenset[str]], ...] | None = None
    virtual: frozenset[str] = frozenset()
    read_only: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"Catalogue({len(self.tables)} tables)"


def read_catalogue(source: Any, functions: Iterable[str] | Mapping[str, Any] | None = None) -> Catalogue:
    """Read a catalogue from any source that `constrain.monitors.sql` takes.

    Raises:
        ConstrainError: The source has another type, or its text is not SQL that SQLite reads.
    """
    if isinstance(source, Catalogue):
        return source
    if isinstance(source, os.PathLike) or (isinstance(source, str) and _IS_FILE.fullmatch(source.strip())):
        return _read_file(Path(source), functions)
    if isinstance(source, str):
        return _read_text(source, functions)
    if isinstance(source, sqlite3.Connection):
        return _read_connection(source, functions)
    if isinstance(source, Mapping):
        return _read_mapping(source, functions)
    if hasattr(source, "dialect"):
        return _read_sqlalchemy(source, functions)
    raise ConstrainError(
        f"sql() takes CREATE statements, a database's file, a connection or a dict, not {type(source).__name__}",
        fix='sql({"users": ["id", "name"]})',
    )


def _read_file(path: Path, functions: Any) -> Catalogue:
    """Of a database in a file, or of a file of CREATE statements (`.sql`). Nothing is written."""
    if not path.is_file():
        raise ConstrainError(f"there is no database {str(path)!r}", place="catalogue", fix="check the path")
    if path.suffix.lower() == ".sql":
        return _read_text(path.read_text(encoding="utf-8-sig"), functions)
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return _read_connection(connection, functions)
    except sqlite3.Error as error:
        raise ConstrainError(
            f"{str(path)!r} is no database that SQLite reads: {error}",
            place="catalogue",
            fix="pass the file of a database, or CREATE statements in a file that ends with .sql",
        ) from None


def _read_text(text: str, functions: Any) -> Catalogue:
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.executescript(text)
        except sqlite3.Error as error:
            raise ConstrainError(
                f"the catalogue is not SQL that SQLite reads: {error}",
                place=text.strip()[:60],
                fix='pass CREATE TABLE statements, or a dict: {"users": ["id", "name"]}',
            ) from None
        return _read_connection(connection, functions)


def _read_connection(connection: sqlite3.Connection, functions: Any) -> Catalogue:
    tables, declared, virtual, writable, views = [], [], set(), set(), set[str]()
    indexes: dict[str, frozenset[str]] = {}
    placed = {"temp": OWN | OWN_TEMP}
    schemas = [row[1] for row in connection.execute("PRAGMA database_list")]
    for schema in dict.fromkeys([*schemas, "main"]):
        quoted = schema.replace('"', '""')
        entries = [*connection.execute(f'SELECT type, name, tbl_name, sql FROM "{quoted}".sqlite_master')]
        views |= {fold(name) for kind, name, *_ in entries if kind == "view"}
        writable |= {fold(of if kind == "trigger" else name) for kind, name, of, _ in entries if kind != "view"}
        listed = [(name, sql) for kind, name, _, sql in entries if kind in ("table", "view")]
        for name, sql in [*listed, *((own, "") for own in sorted(OWN))]:
            columns = _columns(connection, quoted, name)
            tables.append((fold(name), tuple(columns), _has_rowid(sql)))
            declared.append((fold(name), tuple(columns.values())))
            listed_indexes = connection.execute(f'PRAGMA "{quoted}".index_list("{name.replace(chr(34), chr(34) * 2)}")')
            indexes[fold(name)] = indexes.get(fold(name), frozenset()).union(fold(row[1]) for row in listed_indexes)
            virtual |= {fold(name)} if (sql or "")[:14].lower() == "create virtual" else set()
            placed[fold(schema)] = placed.get(fold(schema), OWN) | {fold(name)}
    tables += [(name, tuple(_columns(connection, "main", "sqlite_master")), True) for name in sorted(OWN_TEMP)]
    listed_functions, aggregates = _list_functions(connection)
    known = listed_functions if functions is None else _read_functions(functions)
    modules = {fold(row[0]) for row in connection.execute("PRAGMA module_list")}
    modules |= {f"pragma_{fold(row[0])}" for row in connection.execute("PRAGMA pragma_list")}
    giving = [name for name in sorted(modules) if _is_table(connection, name)]
    table_modules = tuple((name, tuple(_columns(connection, "main", name))) for name in giving)
    schemas = [*dict.fromkeys(fold(name) for name in [*schemas, "main", "temp"])]
    databases = tuple(sorted(placed.items()))
    tables = [*dict.fromkeys(tables)]
    return Catalogue(
        tuple(tables),
        known,
        tuple(schemas),
        table_modules,
        databases,
        aggregates,
        tuple(dict.fromkeys(declared)),
        tuple(sorted(indexes.items())),
        frozenset(virtual),
        frozenset((views - writable) | OWN | OWN_TEMP),
    )


def _columns(connection: sqlite3.Connection, schema: str, table: str) -> dict[str, str]:
    """The columns of a table or a module, those too that virtual tables hide, and their types. schema: with its quotes
    doubled."""
    rows = connection.execute(f'PRAGMA "{schema}".table_xinfo("{table.replace(chr(34), chr(34) * 2)}")')
    return {fold(row[1]): row[2] for row in rows}


def _is_table(connection: sqlite3.Connection, module: str) -> bool:
    """True if FROM takes the name of a module (`json_each`); others only name one in CREATE VIRTUAL TABLE (`fts5`)."""
    try:
        connection.execute(f'EXPLAIN SELECT 1 FROM "{module}"')
    except sqlite3.Error:
        return False
    return True


def _has_rowid(sql: str | None) -> bool:
    return "without" not in (sql or "").lower().rpartition(")")[2]


def _read_mapping(source: Mapping[str, Any], functions: Any) -> Catalogue:
    for table, columns in source.items():
        if not isinstance(table, str) or isinstance(columns, str) or not isinstance(columns, Iterable):
            raise ConstrainError(
                f"a catalogue has lists of columns by table, not {table!r:.40}: {columns!r:.40}",
                fix='{"users": ["id", "name"]}',
            )
    tables = tuple((fold(table), tuple(fold(str(one)) for one in columns), True) for table, columns in source.items())
    known, aggregates = sqlite_functions() if functions is None else (_read_functions(functions), ())
    declared = tuple(
        (fold(table), tuple(map(str, columns.values())))
        for table, columns in source.items()
        if isinstance(columns, Mapping)
    )
    return Catalogue(tables, known, aggregates=aggregates, declared=declared)


def _read_sqlalchemy(source: Any, functions: Any) -> Catalogue:
    inspector = import_module("sqlalchemy").inspect(source)
    names = [*inspector.get_table_names(), *inspector.get_view_names()]
    columns = {fold(name): inspector.get_columns(name) for name in names}
    tables = tuple((name, tuple(fold(one["name"]) for one in listed), True) for name, listed in columns.items())
    declared = tuple(
        (name, tuple(getattr(one["type"], "__visit_name__", "").replace("_", " ") for one in listed))
        for name, listed in columns.items()
    )
    known = None if functions is None else _read_functions(functions)
    aggregates: Functions = ()
    if functions is None and source.dialect.name == "sqlite":
        known, aggregates = sqlite_functions()
    schemas = tuple(fold(name) for name in inspector.get_schema_names())
    return Catalogue(tables, known, schemas or ("main", "temp"), aggregates=aggregates, declared=declared)


def _read_functions(functions: Any) -> Functions:
    """Read functions as a user names them: names, or names with their numbers of arguments."""
    if isinstance(functions, Mapping):
        pairs = {fold(name): frozenset([n] if isinstance(n, int) else n) for name, n in functions.items()}
    else:
        pairs = dict.fromkeys(map(fold, functions), frozenset({-1}))
    return tuple(sorted(pairs.items()))


def _list_functions(connection: sqlite3.Connection) -> tuple[Functions, Functions]:
    """All functions, and those of aggregates and windows."""
    counts: dict[str, set[int]] = {}
    aggregates: dict[str, set[int]] = {}
    for function, _, kind, _, count, *_ in connection.execute("PRAGMA function_list"):
        counts.setdefault(fold(function), set()).add(count)
        if kind in ("a", "w"):
            aggregates.setdefault(fold(function), set()).add(count)
    known = ((name, frozenset(_argument_counts(connection, name, counts[name]))) for name in sorted(counts))
    return tuple(known), tuple((name, frozenset(aggregates[name])) for name in sorted(aggregates))


def _argument_counts(connection: sqlite3.Connection, function: str, numbers: set[int]) -> set[int]:
    """The numbers of arguments of a function, of which "any number" may have a least one."""
    if min(numbers) >= 0:
        return numbers
    for n in range(MOST_TRIED):
        try:
            connection.execute(f"EXPLAIN SELECT {function}({', '.join(['NULL'] * n)})")
        except sqlite3.Error as error:
            if "wrong number of arguments" in str(error):
                continue
        return {-1 - n}
    return {-1}


@lru_cache(maxsize=1)
def sqlite_functions() -> tuple[Functions, Functions]:
    """The functions of the SQLite that Python has: all, and those of aggregates and windows."""
    with closing(sqlite3.connect(":memory:")) as connection:
        return _list_functions(connection)
