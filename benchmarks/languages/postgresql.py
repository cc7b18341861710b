"""PostgreSQL's own parser as an oracle (libpg_query, by the package pglast), alone and together with SQLite's.

`raw_parser` reads syntax only: names, types and the number of columns are looked at later, and not here.
"""

from __future__ import annotations

from pglast.parser import ParseError, parse_sql_json

from languages.oracles import of_text
from languages.sqlite import sqlite


@of_text
def postgresql(shown: str) -> bool:
    """Statements as PostgreSQL reads them."""
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
