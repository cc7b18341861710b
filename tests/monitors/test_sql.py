"""The monitor of SQL against SQLite: what it prepares is accepted, and undefined names are refused."""

import random
import sqlite3
from contextlib import closing

import numpy as np
import pytest
import sql_statements
from lexeme_reading import accepts

import constrain
import vocabularies
from constrain.monitors import SqlMonitor, accepted_beginning, monitored, sql
from constrain.monitors.reading import MonitorReading
from tables import table

TABLE = table("monitors_sql")

CATALOGUE = """
CREATE TABLE t (a, b);
CREATE TABLE u (id, name, a, "odd name", "group");
CREATE VIEW v AS SELECT a AS x FROM t;
CREATE TABLE w (k PRIMARY KEY, c) WITHOUT ROWID;
CREATE INDEX by_name ON u (name);
CREATE VIEW open_view AS SELECT b FROM t;
CREATE TRIGGER tr INSTEAD OF INSERT ON open_view BEGIN INSERT INTO t VALUES (1, 2); END;
"""

# (accepted beginning, rest that is refused): SQLite refuses the whole for an undefined name
REFUSED = TABLE["refused"]

ACCEPTED = TABLE["accepted"]


@pytest.fixture(scope="module")
def monitor() -> SqlMonitor:
    return sql(CATALOGUE)


@pytest.mark.parametrize(("before", "rest"), REFUSED)
def test_an_undefined_name_is_refused_where_it_stands(monitor: SqlMonitor, before: str, rest: str) -> None:
    with closing(sql_statements.connect(CATALOGUE)) as connection, pytest.raises(sqlite3.Error):
        connection.executescript(f"EXPLAIN {before}{rest}")
    assert not accepts(monitor, before + rest)
    accepted = accepted_beginning(monitor, before + rest)
    assert accepted.startswith(before)


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_is_defined_is_accepted(monitor: SqlMonitor, text: str) -> None:
    assert accepted_beginning(monitor, text) == text
    assert accepts(monitor, text)


def test_letters_in_either_case_are_one_name(monitor: SqlMonitor) -> None:
    assert accepts(monitor, 'SELECT B, "ID", Name FROM T, U WHERE U.iD = t.B AND SubStr(B, 1) = 2')


@pytest.mark.parametrize("count", [150, pytest.param(1500, marks=pytest.mark.slow)])
def test_verdicts_are_those_of_sqlite(count: int) -> None:
    """Statements that SQLite prepares are accepted at every beginning; undefined names are refused."""
    rng = random.Random(count)
    prepared = undefined = 0
    while prepared < count:
        text = sql_statements.database(rng)
        with closing(sql_statements.connect(text)) as connection:
            reading = MonitorReading(sql(connection))
            statements = sql_statements.Statements(connection, rng)
            for _ in range(60):
                statement = statements.statement()
                verdict = sql_statements.verdict(connection, statement, statements.with_tables)
                if verdict is None:
                    continue
                at = reading.step(reading.start(), statement.encode())  # None from the first refused byte on
                assert (at is not None and reading.may_end(at)) == verdict, (text, statement)
                prepared += verdict
                undefined += not verdict
    assert undefined > count / 10


def test_under_known_no_column_is_used_before_it_is_known() -> None:
    monitor = sql({"users": ["id", "name"], "orders": ["total"]}, ahead="known", aliases=["t1"])
    assert accepted_beginning(monitor, "select ag") == "select a"  # abs, avg, ...
    assert accepts(monitor, "select name, t1.total, upper(name) from users, orders t1")
    assert not accepts(monitor, "select users.total from users, orders")
    assert accepted_beginning(monitor, "select u.name from users u") == "select u"
    assert accepts(monitor, "with c as (select id as zz from users) select zz from c")


def test_functions_may_be_given_or_unknown() -> None:
    given = sql({"t": ["a"]}, functions={"twice": 1, "pick": [2, 3]})
    assert accepts(given, "select twice(a), pick(1, a, 3) from t")
    assert not accepts(given, "select abs(a) from t")
    assert not accepts(given, "select pick(1) from t")


@pytest.mark.parametrize("n", [100_000])
def test_many_names(n: int) -> None:
    monitor = sql({"big": [f"column_{i}" for i in range(n)]})
    assert accepts(monitor, "select column_7 from big where column_99999 = 1")
    assert not accepts(monitor, "select column_7 from big where column_100000 = 1")


def test_an_engine_of_sqlalchemy_is_a_catalogue() -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine("sqlite://")
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE t (a, b)"))
        monitor = sql(connection)
    assert accepts(monitor, "select a from t where b = abs(a)")
    assert not accepts(monitor, "select a from t where c = 1")


@pytest.mark.parametrize("ahead", ["any", "known"])
@pytest.mark.parametrize("dialect", ["sql", "sql-common"])
def test_capitals_make_no_difference(dialect: str, ahead: str) -> None:
    """The grammar, the look-up of names and the masks fold keywords and names alike."""
    query = monitored(constrain.collection.load(dialect), sql({"Users": ["Id", "name"], "t": ["A"]}, ahead=ahead))
    compiled = constrain.compile(query, vocabularies.tiny())
    for text in (
        "select users.name, count(*) from users join t on users.id = t.a where name is not null group by name",
        "with x as (select id as b from users) select case when b between 1 and 2 then b else 0 end from x order by b",
        "update users set name = coalesce(name, 1) where id in (1, 2)",
    ):
        rng = random.Random(text)
        mixed = "".join(map(rng.choice, zip(text, text.upper(), strict=True)))
        for end in range(0, len(text), 3):
            usual, other = compiled.matcher(), compiled.matcher()
            assert usual.advance_bytes(text[:end].encode())
            assert other.advance_bytes(mixed[:end].encode()), mixed[:end]
            assert np.array_equal(usual.mask(), other.mask()), mixed[:end]
