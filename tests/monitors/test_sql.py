"""The monitor of SQL against SQLite: what it prepares is accepted, and undefined names are refused."""

from __future__ import annotations

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
REFUSED = [
    ("select a from temp.", "t"),
    ("select a from '", "nosuch'"),
    ("delete from '", "nosuch where 'a' = 'b'"),
    ("insert into t ('", "name') values (1)"),
    ("select x.a from t 'x' where ", "y.a = 1"),
    ("select a from t where t.'", "nosuch' = 1"),
    ("select nosuch from t ''", ""),
    ("select nosuch % $a() from t", ""),
    ("select a from ", "with"),
    ("select a from ", "select"),
    ("select a from ", "fts5"),
    ("select key from json_each where ", "product_id = 1"),
    ("select a from ", "nosuch"),
    ("select a from t where ", "nosuch = 1"),
    ("select a from t where a = 1 and b < ", "id"),
    ("select z.a from t as z where z.", "id = 1"),
    ("select nosuch from t", ";"),
    ("select nosuch from t", " where 1"),
    ("select t.a from t as z", " where 1"),
    ("select * ", "where 1"),
    ("select z.* from t", " order by 1"),
    ("select substr(a", ") from t"),
    ("select substr(a, 1, 2", ", 3) from t"),
    ("select nofun", "(1)"),
    ("select abs(", ")"),
    ("select coalesce(a", ") from t"),
    ("select a from t where abs", " > 1"),
    ("select a from t where co", "unt > 1"),
    ("select a from t where ", "sum(a) > 1"),
    ("select a from t where abs(", "count(*)) > 1"),
    ("select a from t where ", "row_number() over () > 1"),
    ("select a from t where max(a", ") > 1"),
    ("select b from t join u on t.b = ", "avg(id)"),
    ("select a from t group by ", "total(b)"),
    ("select a from t limit ", "count(*)"),
    ("insert into t values (1, 2) returning ", "sum(a)"),
    ("select a from (select id as a from u where ", "sum(id) > 1)"),
    ("select a from t where b in (select id from u where ", "sum(b) > 1)"),
    ("select count(*) as n from t where ", "n > 1"),
    ("select b, 1 + max(a) as n from t group by b, ", "n"),
    ("select row_number() over () as n from t where ", "n"),
    ("select sum(b) as b, n as n from t", ""),
    ("select t.a, sum(n) as n from t", " where a = 1"),
    ("select sum(count(*)) ", "from t"),
    ("select sum(max(sum(", "count(*))) over ()) from t"),
    ("select sum(max(a) ", "over ()) from t"),
    ("insert into t values (", "sum(1), 2)"),
    ("select zeroblob(", "*) from t"),
    ("select sum(", "*) from t"),
    ("select sum(1 + abs(max(b))) ", ", 1 from t"),
    ("select a from t having sum(", "count(*)) over ()"),
    ("select a from t having sum(max(b", "))"),
    ("select a from t having max(count(*)", ") > 1"),
    ("select a from t, u", " where b = 1"),
    ('select "a" from t, u', " where b = 1"),
    ("select b from t, u where ", "a = 1"),
    ("select t.a from t join u on b = id group by ", "a"),
    ("select id as a from t join u on b = id where ", "a = 1"),
    ("select b from t, u where t.a in (select k from w where k = ", "a)"),
    ("select c from w where c = (select a from t join u", ")"),
    ("select t.a from t join t", ""),
    ("select t.a from t join t using (b", ") where 1"),
    ("select z.b from t z join t z", " on z.a = 1"),
    ("select * from t join t", " where 1"),
    ("select t.* from t, t", ""),
    ("select b from t join t x using (a", ")"),
    ("select 1 from t join t where ", "t.a = 1"),
    ("select id from u join u x using (id) join t using (", "id)"),
    ("select name from t join u on t.a = id join u x", " on 1"),
    ("with c as (select a from t) select a from c, t", ""),
    ("select a from t where a in ", "nosuch"),
    ("select a from t where a in ", "u"),
    ("with c as (select a, b from t) select a from t where 1 + abs(a) not in ", "c"),
    ("select a from t where a in (select a", ", b from t)"),
    ("select a from t where a not in (select id from u union select a", ", b from t)"),
    ("select a from t where (a, b) = (1, 2", ", 3)"),
    ("select a from t where (a, b, 1) <> (1, 2", ")"),
    ("select a from t where ((a, b)) <= ((1, 2, 3)", ")"),
    ("select a from t where (a, b) < ", "1"),
    ("select a from t where (a, b) = ", "a"),
    ("select a from t where 1 in (2, 3) and (a, b) > ", "- 1"),
    ("select a from t ", "indexed by by_name"),
    ("select id from u as x indexed by by_", "id"),
    ("delete from u indexed by ", "u"),
    ("delete from ", "v"),
    ("insert into ", "v values (1)"),
    ("update ", "v set x = 1"),
    ("delete from main.", "v"),
    ("delete from ", "sqlite_schema"),
    ("delete from ", "dbstat"),
    ("select a from t where a not in temp.", "t"),
    ("with t as (select a from u) select a from t where a in t and a in ", "u"),
    ("select a from t where a in v", ".id"),
    ("select a from t join u using (", "b)"),
    ("select a from t where a in (select id from u where ", "x = 1)"),
    ("select (select name from u where u.id = t.zz) from t", ""),
    ("select a from (select a as x from t)", ""),
    ("with c(z) as (select a from t) select a from c", ""),
    ("select a from t union select id from u order by ", "zz"),
    ("select rowid from w", ""),
    ("select [nosuch] from t", ""),
    ("select t.\"no\" from t", ""),
    ("select x", " from t"),
    ("insert into t(a, ", "c) values (1, 2)"),
    ("insert into u(id) values (1) returning ", "zz"),
    ("insert into w values (1, 2) on conflict (k) do update set c = excluded.", "zz"),
    ("update t set ", "c = 1"),
    ("update t set a = c", ""),
    ("delete from t where ", "zz = 1"),
    ("select sum(a) over (partition by zz) from t", ""),
    ("select a from t where exists (select 1 from u group by ", "t.b)"),
    ("select a from t limit ", "a"),
    ("select a as k from t limit 1 offset ", "k"),
    ("select (select id from u limit ", "t.a) from t"),
    ("select a from t limit (select ", "t.a)"),
]  # fmt: skip

ACCEPTED = """
select main.t.a from main.t, temp.sqlite_temp_master, temp.sqlite_master
select t.a, 'nosuch' from 't' where a = 'nosuch'
insert into 't' ('a') values ('b')
update 't' set 'a' = 'x' where b = 'y'
select t.'a', 't'.b, $a(b), @b::c, ?1 from t where t.'a' = 1 group by a
select a from t ''
select x.a from t 'x' join 'u' as 'y' on y.id = x.a
select a from t where (a, b) = (1, 2) and ((a, b)) >= ((1, 2)) or (a, b) <> (select 1, 2)
select a from t where a in (1, 2) = 1 or a in (1) = (2) or (a, b) between (1, 2) and (3, 4)
select a from t where case (1, 2) when (1, 2) then 1 end or (a, b) is (1, 2) or (select a, b from t) = (1, 2)
select a from t where (a, b) == ((select 1, 2)) and (a, b) != (select * from t) and (a = 1) = (b = 2)
select a from t; select id, "odd name", [group] from u where u."odd name" = 'x' -- zz
select x.a from t x where x.b = 'zz' or x.rowid = 3
select a /* nosuch */, b as y from t where y > 1 group by y having count(*) > 1 order by y desc nulls last limit 3
select (select name from u where u.id = t.a) as n from t where n is not distinct from 'a' and a not in (1, 2)
select q.x from (select a as x from t) as q join u on q.x = u.id left outer join t using (a)
with c(z) as (select a from t), d as (select z + 1 as y from c) select d.y, c.* from c, d
with recursive c(n) as (select 1 union all select n + 1 from c where n < 10) select n from c
select s.b, s.c from (select t.*, u.id as c from t, u) s
select value from json_each('[1]') where key = 1
select sum(a) filter (where b > 1) over (partition by b order by a rows 1 preceding) from t
select case a when 1 then b else x'ab' end, cast(a as varchar(10)), iif(a, b, .5), true, :v from t
insert into w values (1, 2) on conflict (k) do update set c = excluded.c where c > 1 returning k
insert into t select id, name from u where id > 2
insert into open_view values (1)
update t set a = 1 from v where x = a
update t set (a, b) = (1, 2) where a = 1 returning rowid
with c as (select a from t) delete from t where a in (select a from c)
select a from main.t where main.t.b = 1 and "nosuch" = 'a text, as SQLite reads it'
select a from t as t1, (t as t2 join u as t3 on t2.a = t3.id) where t1.b = t2.b
create table n (x); select nosuch from n
select a from t limit max(1, 2) offset (select id from u where id > 3)
select a from t limit "nosuch"
select count(*) from t where max(a, b) > 1 group by a having sum(b) > 1 order by avg(b), max(a)
select a from t where b = (select max(id) from u) limit (select count(*) from u)
select (select 1 from u where max(t.a) > id) from t
select count(*) as n, max(a, b) as m, (select max(id) from u) as k from t where m and k group by b having n order by n
select sum(a) as a from t where a = 1 group by a
values (sum(1))
select random(*), count(*), count(a * b) from t
select sum(1 + abs(count(*))) over (order by max(a)) as n, sum(max(a, b)), max(count(*), 1) from t order by n
select count(*) as n from t group by b having exists (select 1 from u where n > id) and sum((select count(*) from u))
select a, b from t join u using (a) where a = 1 group by a order by a
select a from t natural join u
select t.a as a from t join u on b = id order by a
select x.a, y.a from t x join t y on x.a = y.a
select * from t join t x, u left join t y using (a)
select t.a from t join t using (a)
select * from t join t using (a, b)
select a from u where exists (select 1 from t where a = 1)
select id from (t join u using (a)) where a = 1
select count(*) from t, t
select "no text of both" from t, u
update t set a = b
select a from t where a in v and b not in main.v or 'x' in 'v'
with c as (select a from t) select a from t where a in c
select a from t where (a, b) in t and (a, b) not in (select id, name from u) and ((a, b)) in main.t and (a) in v
select a from t where (select a, b from t) in t and a in (select v.* from v) and (a, b) in (values (1, 2), (3, 4))
select id from u indexed by by_name where name = 'x'
select x.a from t as x not indexed join u indexed by "by_name" on name = 'x'
select a from t where ?collate nocase = a and b = ?and a in (?1, ?) and a = $b::c(d)
update u indexed by by_name set id = 1 where name = 2
""".strip().splitlines()


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
