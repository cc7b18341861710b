"""SQL: files found on this machine, statement by statement, and statements written at random.

The writer knows SQLite's syntax diagrams (https://sqlite.org/lang.html) and nothing of the grammar that is measured.
It spells keywords in either case, leaves out optional parts, and spreads white space and comments.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from languages.corpora import files

NAMES = ["a", "b", "x1", "users", "order_id", '"two words"', "[bracket]", "`tick`", "key", "Äpfel", "left_", "rowid"]
VALUES = ["1", "0x1F", "2.5", ".5", "1e3", "'text'", "'it''s'", "x'00ff'", "NULL", "?", "?12", ":p", "@q", "$r"]
VALUES += ["current_timestamp", "true"]
BINARY = ["+", "-", "*", "/", "%", "||", "<<", ">>", "&", "|", "<", "<=", ">", ">=", "=", "==", "<>", "!=", "->", "->>"]
BINARY += ["is", "is not", "and", "or", "like", "not like", "glob", "is distinct from"]
GAPS = [" "] * 30 + ["\n", "\t", "  ", " /* c */ ", " -- c\n"]


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """Statements of the files found, then as many as are wanted from the writer."""
    for path in files("*.sql", random)[: limit // 3]:
        for index, statement in enumerate(path.read_text(errors="replace").split(";\n")[:20]):
            yield f"{path.name}:{index}", statement.strip().encode()
    writer = Writer(random)
    for index in range(2 * limit):
        yield f"written:{index}", writer.text().encode()


class Writer:
    """Statements; `depth` keeps them small."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def text(self) -> str:
        """One statement or two, spaced out."""
        made = "; ".join(self.statement() for _ in range(self.random.choice((1, 1, 1, 2))))
        words = [self._case(word) for word in made.split(" ")]
        return "".join(part for word in words for part in (word, self.random.choice(GAPS)))

    def _case(self, word: str) -> str:
        plain = word.isascii() and word.isalpha()
        return word.upper() if plain and self.random.random() < 0.5 else word

    def maybe(self, text: str, share: float = 0.5) -> str:
        """The text with a space before it, or nothing."""
        return f" {text}" if self.random.random() < share else ""

    def some(self, make: object, most: int = 3) -> str:
        """One or more, with commas."""
        return " , ".join(make() for _ in range(self.random.randint(1, most)))  # type: ignore[operator]

    def name(self) -> str:
        """A name."""
        return self.random.choice(NAMES)

    def table(self) -> str:
        """A name, sometimes with its schema."""
        return self.name() + (f".{self.name()}" if self.random.random() < 0.2 else "")

    def statement(self) -> str:
        """Any statement."""
        kinds = [self.select] * 4 + [self.insert, self.update, self.delete, self.create_table, self.create_other]
        return self.maybe("explain query plan", 0.05).strip() + " " + self.random.choice([*kinds, self.small])(2)

    def expr(self, depth: int = 2) -> str:
        """An expression."""
        if depth == 0:
            return self.random.choice([*VALUES, self.name(), f"{self.name()}.{self.name()}"])
        low = depth - 1
        kinds = [
            lambda: f"{self.expr(low)} {self.random.choice(BINARY)} {self.expr(low)}",
            lambda: f"( {self.expr(low)} )",
            lambda: f"{self.random.choice(('not ', '-', '~ ', '+'))}{self.expr(low)}",
            lambda: f"{self.name()}( {self.random.choice(('*', '', 'distinct ' + self.expr(low), self.expr(low)))} )",
            lambda: f"cast( {self.expr(low)} as varchar(10) )",
            lambda: f"case{self.maybe(self.expr(low))} when {self.expr(low)} then 1{self.maybe('else 2')} end",
            lambda: f"{self.expr(0)}{self.maybe('not')} between {self.expr(0)} and {self.expr(0)}",
            lambda: f"{self.expr(0)}{self.maybe('not')} in ( {self.random.choice((self.expr(low), self.select(0)))} )",
            lambda: f"exists ( {self.select(0)} )",
            lambda: f"{self.expr(low)} {self.random.choice(('isnull', 'not null', 'collate nocase'))}",
            lambda: f"{self.expr(0)} like {self.expr(0)} escape '!'",
            lambda: f"sum( {self.expr(0)} ){self.maybe('filter ( where x )')} over {self.window()}",
        ]
        return self.random.choice([lambda: self.expr(0), *kinds])()

    def window(self) -> str:
        """Write the window after OVER."""
        frame = "rows between 1 preceding and current row exclude ties"
        parts = self.maybe("partition by a") + self.maybe("order by b desc nulls last") + self.maybe(frame)
        return self.random.choice(("w", f"({parts} )"))

    def column(self) -> str:
        """A column of a result."""
        given = self.expr()
        return self.random.choice(("*", f"{self.name()}.*", given, f"{given} as {self.name()}"))

    def joined(self, depth: int) -> str:
        """A table or several."""
        one = self.table() + self.maybe(f"as {self.name()}", 0.3)
        if depth and self.random.random() < 0.3:
            one = f"( {self.select(depth - 1)} ) as sub"
        kinds = (" , ", " join ", " left outer join ", " natural join ", " cross join ")
        rest = f"{self.random.choice(kinds)}{self.table()}{self.maybe('on ' + self.expr(1), 0.3)}"
        return one + (rest if self.random.random() < 0.4 else "")

    def select(self, depth: int = 2) -> str:
        """A query."""
        made = f"select{self.maybe('distinct', 0.1)} {self.some(self.column)}"
        made += self.maybe(f"from {self.joined(depth)}", 0.8) + self.maybe(f"where {self.expr(depth)}")
        made += self.maybe(f"group by {self.some(self.name)} having {self.expr(1)}", 0.2)
        if depth and self.random.random() < 0.2:
            made += f" {self.random.choice(('union', 'union all', 'except'))} {self.select(0)}"
        else:
            made += self.maybe("order by a desc , 2", 0.2) + self.maybe("limit 10 offset 5", 0.2)
        return self.maybe(f"with {self.name()} as ( {self.select(0)} )", 0.1).strip() + " " + made if depth else made

    def insert(self, depth: int = 2) -> str:
        """INSERT or REPLACE."""
        what = self.random.choice(("insert into", "insert or ignore into", "replace into"))
        rows = self.some(lambda: f"( {self.some(self.expr)} )")
        made = f"{what} {self.table()}{self.maybe(f'( {self.some(self.name)} )')} values {rows}"
        conflict = self.random.choice(("nothing", f"update set {self.name()} = {self.expr(1)}"))
        return made + self.maybe(f"on conflict ( a ) do {conflict}", 0.2) + self.maybe("returning *", 0.2)

    def update(self, depth: int = 2) -> str:
        """UPDATE."""
        sets = self.some(lambda: f"{self.name()} = {self.expr()}")
        return f"update {self.table()} set {sets}{self.maybe(f'where {self.expr()}', 0.7)}"

    def delete(self, depth: int = 2) -> str:
        """DELETE."""
        return f"delete from {self.table()}{self.maybe(f'where {self.expr()}', 0.7)}"

    def create_table(self, depth: int = 2) -> str:
        """CREATE TABLE."""
        head = f"create{self.maybe('temp', 0.2)} table{self.maybe('if not exists', 0.3)} {self.name()}"
        constraint = ("primary key", "not null", "unique", f"default {self.expr(0)}", f"check ( {self.expr(1)} )")
        constraint += ("references t2 ( a ) on delete cascade", "collate nocase", "as ( a + 1 ) stored")
        kinds = ("integer", "varchar( 20 )", "decimal( 10 , 2 )", "text", "")
        columns = self.some(
            lambda: f"{self.name()} {self.random.choice(kinds)}{self.maybe(self.random.choice(constraint))}"
        )
        last = self.maybe(", primary key ( a , b desc )", 0.2) + self.maybe(", foreign key ( a ) references t3", 0.1)
        return f"{head} ( {columns}{last} ){self.maybe('without rowid', 0.1)}"

    def create_other(self, depth: int = 2) -> str:
        """CREATE INDEX, VIEW or TRIGGER."""
        event = self.random.choice(("insert", "delete", "update of a , b"))
        body = " ; ".join(make() for make in self.random.sample([self.update, self.delete, self.insert], 2))
        return self.random.choice(
            (
                f"create{self.maybe('unique')} index i1 on {self.name()} ( {self.expr(1)} desc ) where a > 1",
                f"create view v1 as {self.select()}",
                f"create trigger t1 after {event} on {self.name()} for each row begin {body} ; end",
            )
        )

    def small(self, depth: int = 2) -> str:
        """Other statements."""
        pragma = f"pragma {self.name()}{self.maybe('= 1')}"
        others = ("begin immediate", "commit", "rollback to s1", "vacuum", "analyze", "release s1", "reindex a", pragma)
        drop = f"drop {self.random.choice(('table', 'view', 'index'))}{self.maybe('if exists')} {self.table()}"
        alter = f"alter table {self.name()} {self.random.choice(('rename to b', 'add column c text', 'drop c'))}"
        return self.random.choice([*others, drop, alter, f"attach {self.expr(0)} as {self.name()}"])
