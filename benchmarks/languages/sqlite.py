"""SQLite as an oracle: a text is valid if its parser reads it to the end; and PostgreSQL (libpg_query, by pglast).

The library is called through ctypes, since the standard module prepares one statement only. Preparing runs nothing,
so most names are unknown, and SQLite says so at the end of a statement, or (CREATE, ALTER) as soon as it has read a
name; the database has a few tables for that. Only messages about syntax make a text no member. Where another fault
stopped the parser before the end of the text there is no verdict: what follows was not read.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import lru_cache
from typing import Any

from languages.oracles import of_text

SCHEMA = b"create table t (a, b, c, d, e); create table u (a, b); create view v as select * from t"
SYNTAX = ("syntax error", "incomplete input", "unrecognized token", "unknown join type", "a JOIN clause is required")


@lru_cache
def _library() -> tuple[Any, ctypes.c_void_p]:
    """The library, and a database in memory. Raises ImportError where there is no library."""
    name = ctypes.util.find_library("sqlite3")
    if name is None:
        raise ImportError("libsqlite3")
    library = ctypes.CDLL(name)
    pointer = ctypes.c_void_p
    library.sqlite3_prepare_v2.argtypes = [pointer, pointer, ctypes.c_int, pointer, pointer]
    library.sqlite3_finalize.argtypes = [pointer]
    library.sqlite3_exec.argtypes = [pointer, ctypes.c_char_p, pointer, pointer, pointer]
    library.sqlite3_errmsg.argtypes = [pointer]
    library.sqlite3_errmsg.restype = ctypes.c_char_p
    database = pointer()
    library.sqlite3_open(b":memory:", ctypes.byref(database))
    library.sqlite3_exec(database, SCHEMA, None, None, None)
    return library, database


@of_text
def sqlite(shown: str) -> bool | None:
    """Statements as SQLite reads them, at least one."""
    text = shown.encode()
    if b"\0" in text:
        return False
    library, database = _library()
    buffer = ctypes.create_string_buffer(text)
    at = ctypes.addressof(buffer)
    end, statements = at + len(text), 0
    while at < end:
        statement, tail = ctypes.c_void_p(), ctypes.c_void_p()
        code = library.sqlite3_prepare_v2(database, at, -1, ctypes.byref(statement), ctypes.byref(tail))
        if code:
            message = library.sqlite3_errmsg(database).decode(errors="replace")
            if any(each in message for each in SYNTAX):
                return False
            return True if tail.value is None or tail.value >= end else None
        statements += statement.value is not None
        library.sqlite3_finalize(statement)
        at = tail.value or end
    return statements > 0


@of_text
def postgresql(shown: str) -> bool:
    """Statements as PostgreSQL's own parser reads them: names, types and the number of columns are not looked at."""
    from pglast.parser import ParseError, parse_sql_json

    if "\0" in shown:
        return False
    try:
        parse_sql_json(shown)
    except ParseError:
        return False
    return True


def both(text: bytes) -> bool | None:
    """Statements that SQLite and PostgreSQL read. None: what SQLite's parser did not read to its end."""
    return sqlite(text) if postgresql(text) else False
