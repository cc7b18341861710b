"""Text to SQL: questions about five databases, whose accepted queries are run on generated rows beside the answer.

A query is valid if SQLite prepares it against the catalogue, and right if on each of three databases it has the rows
(in any order) of one accepted query. Questions are left out whose accepted queries SQLite does not run (they are
written for PostgreSQL), or which find nothing in all three. Texts of the rows are taken from the accepted queries.
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from tasks.task import Score, Task

QUERIES = {each: Path(__file__).with_name(f"queries.{each}").read_text("utf-8") for each in ("lark", "ebnf")}
"""A subset of SQL, whose keywords are no names, as two texts: for this library and llguidance, and for XGrammar."""
SHOTS, ROWS, DATABASES = 2, 24, 3
STEPS = 2_000_000  # of SQLite's machine, which a query may take
BEGINS = re.compile(r"(?i)\b(select|with)\b")
LITERAL = re.compile(r"'((?:[^']|'')*)'")
TOLD = "Answer with one SQL query for SQLite, and nothing else. The tables:\n"


class Catalogue(NamedTuple):
    """tables: name → (column, type of PostgreSQL). texts: what text columns have."""

    tables: dict[str, list[tuple[str, str]]]
    texts: tuple[str, ...]

    @property
    def ddl(self) -> str:
        """CREATE TABLE statements."""
        lines = (
            f"CREATE TABLE {table} ({', '.join(f'{name} {sqlite_type(kind)}' for name, kind in columns)});"
            for table, columns in self.tables.items()
        )
        return "\n".join(lines)

    def database(self, seed: int) -> sqlite3.Connection:
        """A database with rows; the first number of a table counts up, so that tables join."""
        rng, connection = random.Random(seed), sqlite3.connect(":memory:", isolation_level=None)
        connection.executescript(self.ddl)
        for table, columns in self.tables.items():
            numbers = [name for name, kind in columns if sqlite_type(kind) == "INTEGER"]
            for place in range(ROWS):
                row = [place + 1 if [name] == numbers[:1] else self.value(kind, rng) for name, kind in columns]
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        connection.execute("PRAGMA query_only = ON")
        connection.set_progress_handler(lambda: 1, STEPS)
        return connection

    def value(self, kind: str, rng: random.Random) -> Any:
        """A value of a column."""
        made = sqlite_type(kind)
        if made == "TEXT":
            day = f"20{rng.randint(19, 24)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
            return day if "date" in kind or "time" in kind else rng.choice(self.texts)
        return rng.randint(1, ROWS) if made == "INTEGER" else round(rng.uniform(1, 1000), 1)


def sqlite_type(kind: str) -> str:
    """The type in SQLite."""
    if re.match(r"(big|small)?int|serial|bool", kind):
        return "INTEGER"
    return "REAL" if re.match(r"real|float|double|numeric|decimal", kind) else "TEXT"


@dataclass(frozen=True)
class SqlTask(Task):
    """The answer is a query. catalogue: CREATE TABLE statements."""

    catalogue: str = ""
    form: ClassVar[str] = "sql"
    again: ClassVar[str] = "Answer again, with the query only."

    def read(self, text: str, free: bool) -> Any:
        begin = BEGINS.search(text)
        if free and begin is None:
            return None
        text = text[begin.start() :] if free and begin else text
        text = text.partition("```")[0]
        ends = (found.end() for found in re.finditer(";", text) if sqlite3.complete_statement(text[: found.end()]))
        return text[: next(ends, len(text))].strip() or None

    def fault(self, value: Any) -> str | None:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(self.catalogue)
            try:
                connection.execute(f"EXPLAIN {value}")
            except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
                return str(error)
        return None


def rows_of(connection: sqlite3.Connection, query: str) -> Counter[Any] | None:
    """The rows of a query; None: it does not run, or takes too long."""
    try:
        return Counter(connection.execute(query).fetchmany(5_000))
    except (sqlite3.Error, sqlite3.Warning, ValueError):  # ValueError: a NUL in the text
        return None


def results(catalogue: Catalogue, query: str) -> list[Counter[Any] | None]:
    """The rows on each database."""
    found = []
    for seed in range(DATABASES):
        with closing(catalogue.database(seed)) as connection:
            found.append(rows_of(connection, query))
    return found


def tasks(folder: Path) -> Iterator[SqlTask]:
    """The questions, the databases in turn, behind two of the same database."""
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for place, row in enumerate(map(json.loads, lines)):
        rows.setdefault(row["database"], []).append((place, row))
    of_each = [asked(folder, name, found) for name, found in rows.items()]
    yield from (task for turn in zip_longest(*of_each) for task in turn if task is not None)


def asked(folder: Path, name: str, rows: Sequence[tuple[int, dict[str, Any]]]) -> Iterator[SqlTask]:
    """The questions about a database that can be judged."""
    described = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["table_metadata"]
    tables = {
        table: [(column["column_name"], column["data_type"].lower()) for column in columns]
        for table, columns in described.items()
    }
    queries = " ".join(query for _, row in rows for query in row["accepted"])
    texts = dict.fromkeys(found.replace("''", "'").strip("%") for found in LITERAL.findall(queries))
    catalogue = Catalogue(tables, tuple(texts) or ("a", "b"))
    fit = []
    for place, row in rows:
        accepted = [query.replace("ILIKE", "LIKE") for query in row["accepted"]]
        wanted = [found for found in (results(catalogue, query) for query in accepted) if tells(found)]
        if wanted:
            fit.append((place, row["question"], accepted[0], wanted))
    short = sorted(fit, key=lambda each: len(each[2]))[len(fit) // 4 :][:SHOTS]
    shots = tuple((question, query) for _, question, query, _ in short)
    for place, question, _, wanted in (each for each in fit if each not in short):

        def judge(value: Any, wanted: Any = wanted) -> Score:
            right = results(catalogue, value) in wanted
            return Score(right, "" if right else "other rows")

        told = f"{TOLD}{catalogue.ddl}"
        yield SqlTask(f"sql {name}-{place}", told, question, judge, shots, catalogue=catalogue.ddl)


def tells(found: Sequence[Counter[Any] | None]) -> bool:
    """Some row has a value that a query does not get of nothing."""
    return any(value not in (None, 0) for rows in found for row in rows or () for value in row)
