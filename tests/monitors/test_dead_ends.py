"""Monitors never lead into a dead end: random walks, with a vocabulary of lexemes and bytes."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from walks import dead_end, vocabulary_of

import constrain
from constrain.monitors import SqlMonitor, monitored, sql

CATALOGUE = {"country": ["name", "code"], "lake": ["name", "country_code", "depth"], "pub": ["pid", "title", "year"]}
WORDS = """
SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT JOIN ON AS AND OR NOT IN IS NULL LIKE BETWEEN UNION ALL INTERSECT EXCEPT
DISTINCT CASE WHEN THEN ELSE END INSERT INTO VALUES UPDATE SET DELETE WITH EXISTS ASC DESC LEFT INNER USING CAST
INTEGER OFFSET COUNT SUM MAX MIN COALESCE ABS ROUND SUBSTR REPLACE IFNULL OVER PARTITION FILTER
""".split()
NAMES = [*CATALOGUE, *dict.fromkeys(column for columns in CATALOGUE.values() for column in columns), "zz", "t1"]
SIGNS = ",().=<>+-*; \n1"
LEXEMES = [*(f" {word}" for word in [*WORDS, *NAMES]), *NAMES, " (", " =", ", ", " 1", " 'x'", "'x'"]
CLOSING = [")", " END", " FROM", " lake", " 1", " 'x'", " BY"]


@cache
def compiled(dialect: str, ahead: str) -> Any:
    code = monitored(constrain.collection.load(dialect), sql(CATALOGUE, ahead=ahead))
    return constrain.compile(code, vocabulary_of(LEXEMES))


@pytest.mark.parametrize("ahead", ["any", "known"])
@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 1500), marks=pytest.mark.slow)], ids=len)
def test_walks_of_sql_reach_no_dead_end(ahead: str, seeds: range) -> None:
    found = [dead_end(compiled("sql", ahead), seed, closing=CLOSING, signs=SIGNS) for seed in seeds]
    assert [text for text in found if text is not None] == []


# (text, what must be refused behind it): a dead end of old lay behind each
DEAD_ENDS = [
    ("sql", "any", "SELECT SUM(lake.depth", ","),
    ("sql", "any", "SELECT SUBSTR(name", ")"),
    ("sql", "any", "SELECT code zz", " GROUP"),
    ("sql", "any", "SELECT lake.depth FROM country JOIN lake ON depth = pub.pid", " GROUP"),
    ("sql", "any", "SELECT *", " GROUP"),
    ("sql", "any", "SELECT *", " IN"),
    ("sql", "any", "SELECT name zz FROM lake t1", " t1"),
    ("sql-common", "any", "SELECT zz", " EXCEPT"),
    ("sql-common", "any", "UPDATE", " OR"),
]
# (text, what must be allowed behind it)
OPEN = [
    ("sql", "any", "SELECT SUBSTR(name", ","),
    ("sql", "any", "SELECT SUM(depth", ")"),
    ("sql", "any", "SELECT code DESC", " FROM"),
    ("sql", "any", "SELECT code END", " FROM"),
    ("sql", "any", "SELECT CASE WHEN 1 THEN 1", " END"),
    ("sql", "any", "SELECT CASE WHEN 1 THEN 1 END", " END"),
    ("sql", "any", "SELECT name FROM lake t1", " ORDER"),
    ("sql", "any", "SELECT SUM(1) FILTER (WHERE 1)", " OVER"),
    ("sql", "known", "SELECT name IS", " DISTINCT"),
    ("sql-common", "any", "SELECT zz", " FROM"),
]


@pytest.mark.parametrize("dialect, ahead, text, behind", [*DEAD_ENDS, *OPEN])
def test_what_may_stand_behind(dialect: str, ahead: str, text: str, behind: str) -> None:
    matcher = compiled(dialect, ahead).matcher()
    assert matcher.advance_bytes(text.encode())
    assert matcher.advance_bytes(behind.encode()) is ((dialect, ahead, text, behind) in OPEN)


def test_a_monitor_is_fitted_to_a_dialect() -> None:
    fitted = [monitored(constrain.collection.load(name), sql(CATALOGUE)).monitor for name in ("sql", "sql-common")]
    assert all(isinstance(each, SqlMonitor) for each in fitted)
    assert [each.lacks for each in fitted] == [frozenset(), {"bare alias", "or", "all"}]
    assert fitted[0] == sql(CATALOGUE) != fitted[1]
