"""Types under the monitor of SQL against PostgreSQL's analyser: nothing that it takes is refused.

PostgreSQL is asked where it is installed; rows that say what it answers are tested everywhere.
"""

import random
import re
import sqlite3
from contextlib import closing
from itertools import product

import postgresql_types
import pytest
import typed_sql
from lexeme_reading import accepts

import constrain
from constrain.monitors import accepted_beginning, names_at, sql
from constrain.monitors.reading import MonitorReading
from constrain.monitors.sql.types import FUNCTIONS, LITERAL_KINDS, QuotedTexts, literal_kinds
from tables import table

TABLE = table("monitors_sql")

WITH_POSTGRESQL = pytest.mark.usefixtures("postgresql")
CATALOGUE = """
CREATE TABLE users (id integer, name text, born date, score double precision, active boolean, seen timestamp,
                    fee numeric(10, 2));
CREATE TABLE orders (user_id integer, note varchar(20), paid boolean, placed date, took interval, data jsonb);
"""


@pytest.fixture(scope="module")
def postgresql() -> None:
    """Skips where PostgreSQL does not run."""
    if not postgresql_types.is_there():
        pytest.skip("needs PostgreSQL (initdb, postgres)")


# (accepted beginning, rest that is refused)
REFUSED = TABLE["refused_values"]

ACCEPTED = TABLE["accepted_values"]
OTHER = re.compile(r"\b[ju]\b")  # columns of types that the monitor does not know
TYPES = {"42883", "42804", "22P02", "22007"}  # no such function or operator; datatype mismatch; invalid texts


def monitor(**given: object) -> constrain.monitors.SqlMonitor:
    return sql(CATALOGUE, types="postgresql", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(("before", "rest"), REFUSED)
def test_types_that_do_not_fit_are_refused_where_they_stand(before: str, rest: str) -> None:
    assert not accepts(monitor(), before + rest)
    assert accepted_beginning(monitor(), before + rest).startswith(before)
    untyped = sql(CATALOGUE, functions=[*FUNCTIONS])
    assert accepts(untyped, before + rest)


@pytest.mark.parametrize("text", ACCEPTED)
def test_types_that_fit_are_accepted(text: str) -> None:
    assert accepted_beginning(monitor(), text) == text
    assert accepts(monitor(), text)


@WITH_POSTGRESQL
def test_rows_are_as_postgresql_says() -> None:
    answers = postgresql_types.verdicts(CATALOGUE, [before + rest for before, rest in REFUSED])
    assert [answer for answer in answers if answer[:5] not in TYPES] == []
    known = [text for text in ACCEPTED if "data" not in text]
    assert [answer for answer in postgresql_types.verdicts(CATALOGUE, known) if answer != "ok"] == []


@WITH_POSTGRESQL
def test_every_operator_and_function_takes_what_postgresql_says() -> None:
    """Every pair of types is asked: what PostgreSQL takes is accepted, and most of what it does not take is refused."""
    columns = [*typed_sql.COLUMNS, "null", "'x'", "'7'"]
    signs = ["+", "-", "*", "/", "%", "=", "<", "||", "|", "&", "<<", "like", "and", "is distinct from", "in"]
    operands = [f"{a} {sign} {'(' * (sign == 'in')}{b}{')' * (sign == 'in')}"
                for sign, a, b in product(signs, columns, columns)]  # fmt: skip
    operands += [f"{sign} {a}" for sign, a in product(["-", "+", "not"], columns)]
    operands += [f"{name}({a})" for name, a in product(FUNCTIONS, columns)]
    operands += [f"{name}({a}, {b})" for name, a, b in product(FUNCTIONS, columns, ["i4", "s", "d", "day"])]
    statements = [f"select 1 from t order by ({operand})" for operand in operands]
    answers = postgresql_types.verdicts(typed_sql.CATALOGUE, statements)
    reading = MonitorReading(sql(typed_sql.CATALOGUE, types="postgresql"))
    wrong, refused, taken = [], 0, 0
    for statement, answer in zip(statements, answers, strict=True):
        end = reading.step(reading.start(), statement.encode())
        is_taken = end is not None and reading.may_end(end)
        if answer == "ok" and not is_taken:
            wrong.append(statement)
        if answer[:5] in TYPES and not OTHER.search(statement):
            refused, taken = refused + (not is_taken), taken + is_taken
    assert not wrong
    assert refused > 5 * taken


@WITH_POSTGRESQL
@pytest.mark.parametrize("count", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_statements_that_postgresql_takes_are_accepted(count: int) -> None:
    rng = random.Random(count)
    expressions = typed_sql.Expressions(rng, stray=0.02)
    statements = list(dict.fromkeys(expressions.statement() for _ in range(count)))
    reading = MonitorReading(sql(typed_sql.CATALOGUE, types="postgresql"))
    refused, open_ones = 0, 0
    for statement, answer in zip(statements, postgresql_types.verdicts(typed_sql.CATALOGUE, statements), strict=True):
        end = reading.step(reading.start(), statement.encode())
        is_taken = end is not None and reading.may_end(end)
        assert is_taken or answer != "ok", statement
        refused += answer[:5] in TYPES and not is_taken
        open_ones += answer[:5] in TYPES and is_taken
    assert refused > open_ones


def test_names_of_a_type_that_does_not_fit_are_not_offered() -> None:
    known = monitor(functions=["count", "length", "replace", "sum"])
    offered = names_at(known, "select id from users where id = ")
    assert {"born", "fee", "id", "length", "score", "current_date"} <= {*offered}  # `born - '2020-01-01'` is a number
    assert not {"active", "name", "seen", "replace", "true", "not"} & {*offered}
    assert "users" not in names_at(known, "select sum(name) from ")


@pytest.mark.parametrize(
    "given", [{"columns": {"id": "integer", "name": "text"}}, "CREATE TABLE columns (id int, name text)"]
)
def test_a_dict_and_create_statements_declare_types(given: object) -> None:
    read = sql(given, types="postgresql")
    assert not accepts(read, "select id from columns where id = name")
    assert accepts(read, "select id from columns where name = 'x' and now() > to_date(name)")
    assert accepts(sql(given), "select id from columns where id = name")


def test_of_a_table_in_two_databases_a_column_has_both_types() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript("CREATE TABLE t (a int, b text); CREATE TEMP TABLE t (a text, b text)")
        read = sql(connection, types="postgresql")
    assert accepts(read, "select b from t where a = 1 and a like 'x'")
    assert not accepts(read, "select b from t where b = 1")


@pytest.mark.parametrize("kind", ["text", "int", "num", "bool", "date"])
def test_beginnings_of_texts_in_quotes_are_those_that_go_on(kind: str) -> None:
    members = QuotedTexts(frozenset(kinds for kinds in LITERAL_KINDS if kind in kinds))
    rng = random.Random(kind)
    found = 0
    for _ in range(3000):
        text = "".join(rng.choices("0123456789.-+e xtruefalsonjadyinty:", k=rng.randrange(7)))
        assert literal_kinds(text) in LITERAL_KINDS, text
        if members.has(text.encode(), quoted=True):
            found += 1
            assert all(members.begins(text[:n].encode(), quoted=True) for n in range(len(text) + 1)), text
    assert found > 20
