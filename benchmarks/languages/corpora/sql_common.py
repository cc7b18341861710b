"""SQL for SQLite and PostgreSQL: statements written at random, in the part that both read.

The writer knows the two manuals' syntax and nothing of the grammar that is measured. It spells keywords in either case,
leaves out optional parts, and spreads white space and comments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

NAMES = ["a", "b", "x1", "users", "order_id", '"two words"', "key", "Äpfel", "left_", "name", "date", "value"]
VALUES = ["1", "2.5", ".5", "1e3", "'text'", "'it''s'", "null", "true", "current_timestamp", "$1", "a", "u.b", "'é'"]
GAPS = [" "] * 30 + ["\n", "\t", "  ", " /* c */ ", " -- c\n", "\r\n"]
TYPES = ["integer", "varchar( 20 )", "decimal( 10 , 2 )", "text", "double precision", "timestamp", "boolean"]


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """Yield twice as many texts as are wanted, since an oracle refuses some."""
    writer = Writer(random)
    for index in range(2 * limit):
        yield f"written:{index}", writer.text().encode()


class Writer:
    """Statements; `depth` keeps them small."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def text(self) -> str:
        """One statement or two, spaced out."""
        kinds = [self.select] * 4 + [self.insert, self.update, self.delete, self.create_table, self.create_other]
        one = self.random.choice([*kinds, self.small])
        made = " ; ".join(one() for _ in range(self.random.choice((1, 1, 1, 2))))
        words = [word.upper() if word.isalpha() and self.random.random() < 0.5 else word for word in made.split(" ")]
        return "".join(part for word in words for part in (word, self.random.choice(GAPS)))

    def one(self, *texts: str) -> str:
        """Any of them."""
        return self.random.choice(texts)

    def maybe(self, text: str, share: float = 0.4) -> str:
        """The text with a space before it, or nothing."""
        return f" {text}" if self.random.random() < share else ""

    def some(self, make: Callable[[], str], most: int = 3) -> str:
        """One or more, with commas."""
        return " , ".join(make() for _ in range(self.random.randint(1, most)))

    def name(self) -> str:
        """A name."""
        return self.random.choice(NAMES)

    def table(self) -> str:
        """A table, perhaps with its schema and an alias."""
        return self.name() + self.maybe(f". {self.name()}", 0.2) + self.maybe(f"as {self.name()}", 0.3)

    def value(self) -> str:
        """A number, a text, a name, a parameter."""
        return self.random.choice(VALUES)

    def expr(self, depth: int = 2) -> str:
        """An expression; parts are in parentheses where one of the two needs them."""
        if depth == 0:
            return self.value()
        a, b, x = self.expr(depth - 1), self.expr(depth - 1), self.value()
        forms = (f"( {a} )", f"not {a}", f"{x} {self.one('+', '-', '*', '/', '%', '||')} ( {a} )", f"- {x}")
        forms += (f"( {a} ) {self.one('=', '<>', '!=', '<', '>=')} {x}", f"{x} is{self.maybe('not')} null")
        forms += (f"{x}{self.maybe('not')} between {x} and ( {a} )", f"{x}{self.maybe('not')} in ( {a} , {b} )")
        forms += (f"{x} like 'x%'{self.maybe(chr(39).join(('escape ', '!', '')))}", f"( {a} ) and ( {b} ) or {x} < 3")
        forms += (
            f"case{self.maybe(x)} when {a} then {x}{self.maybe(f'else {b}')} end",
            f"cast( {a} as {self.type()} )",
        )
        forms += (f"exists ( {self.select(0)} )", f"{x} in ( {self.select(0)} )", f"coalesce( {a} , {b} )")
        forms += (f"count( {self.one('*', 'distinct ' + a, a)} ){self.maybe(f'over {self.window()}')}", f"lower( {a} )")
        forms += (f"sum( {a} ) filter ( where {b} )", f"{x} is distinct from {self.value()}", f"( {self.select(0)} )")
        return self.random.choice((x, *forms))

    def type(self) -> str:
        """A type."""
        return self.random.choice(TYPES)

    def window(self) -> str:
        """Write the window after OVER."""
        frame = self.one("rows between 1 preceding and current row", "range unbounded preceding")
        ordered = self.maybe("partition by a") + self.maybe("order by b desc nulls last") + self.maybe(frame, 0.3)
        return self.one("w", f"({ordered} )")

    def select(self, depth: int = 2) -> str:
        """A query."""
        column = lambda: self.one("*", f"{self.name()} . *", self.expr(depth), f"{self.expr(depth)} as {self.name()}")  # noqa: E731
        made = f"select{self.maybe('distinct', 0.1)} {self.some(column)}{self.maybe(f'from {self.joined(depth)}', 0.8)}"
        made += self.maybe(f"where {self.expr(depth)}") + self.maybe(
            f"group by {self.some(self.name)} having a > 1", 0.2
        )
        if depth and self.random.random() < 0.2:
            made += (
                f" {self.one('union', 'union all', 'except', 'intersect')} {self.one(self.select(0), 'values ( 1 )')}"
            )
            return made
        made += self.maybe("order by a desc , 2", 0.2) + self.maybe("limit 10 offset 5", 0.2)
        return self.maybe(f"with {self.name()} as ( {self.select(0)} )", 0.1).strip() + " " + made if depth else made

    def joined(self, depth: int) -> str:
        """A table or several."""
        first = self.table() if depth == 0 else self.one(self.table(), f"( {self.select(depth - 1)} ) as sub")
        side = self.one("", "left ", "inner ", "full outer ")
        joins = (f" {side}join {self.table()} on a = b", f" {side}join {self.table()} using ( a , b )")
        return first + self.maybe(self.one(*joins, f"cross join {self.table()}", f", {self.table()}").strip())

    def insert(self) -> str:
        """INSERT."""
        rows = self.some(lambda: f"( {self.some(self.expr)} )")
        conflict = self.one("on conflict do nothing", "on conflict ( a , b ) do update set x = 1 where a > 2")
        what = self.one(f"values {rows}{self.maybe(conflict)}", self.select(1).strip(), "default values")
        head = f"insert into {self.name()}" + ("" if what == "default values" else self.maybe(f"( {self.name()} )"))
        return f"{head} {what}{self.maybe('returning *', 0.2)}" if "values" in what else f"{head} {what}"

    def update(self) -> str:
        """UPDATE."""
        sets = self.some(lambda: f"{self.name()} = {self.expr()}")
        made = f"update {self.table()} set {sets}{self.maybe(f'from {self.table()}', 0.2)}"
        return made + self.maybe(f"where {self.expr()}", 0.7) + self.maybe("returning a , b as c", 0.2)

    def delete(self) -> str:
        """DELETE."""
        return f"delete from {self.table()}{self.maybe(f'where {self.expr()}', 0.7)}"

    def create_table(self) -> str:
        """CREATE TABLE."""
        head = f"create{self.maybe('temp', 0.2)} table{self.maybe('if not exists', 0.3)} new_table"
        constraints = (
            "primary key",
            "not null",
            "unique",
            f"default {self.one('1', '-2.5', 'null')}",
            "check ( a > 1 )",
        )
        constraints += ("references t2 ( a ) on delete cascade", "generated always as ( a + 1 ) stored")
        columns = self.some(lambda: f"{self.name()} {self.type()}{self.maybe(self.random.choice(constraints))}")
        last = self.maybe(", primary key ( a , b )", 0.2) + self.maybe(", foreign key ( a ) references t3", 0.1)
        return self.one(f"{head} ( {columns}{last} )", f"{head} as {self.select(1).strip()}")

    def create_other(self) -> str:
        """CREATE INDEX or VIEW."""
        index = (
            f"create{self.maybe('unique')} index i1 on t ( {self.name()} desc , ( a + 1 ) ){self.maybe('where a > 1')}"
        )
        return self.one(index, f"create view v1{self.maybe('( a , b )')} as {self.select(1).strip()}")

    def small(self) -> str:
        """Other statements."""
        others = ("begin", "commit transaction", "rollback to s1", "savepoint s1", "release savepoint s1")
        drop = f"drop {self.one('table', 'view', 'index')}{self.maybe('if exists')} {self.name()}"
        kinds = ("rename to b", "add column c text", "drop column c", "rename column a to b")
        return self.one(*others, drop, f"alter table {self.name()} {self.one(*kinds)}")
