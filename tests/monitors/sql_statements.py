"""Random databases and SQL statements, for the tests and measurements of the monitor of SQL.

Names are drawn mostly from the scope that a statement has at the place, sometimes from all names. So SQLite prepares
many of the statements, and refuses others for every kind of undefined name. SQLite is the oracle (`verdict`).
"""

from __future__ import annotations

import random
import re
import sqlite3

WORDS = ["id", "name", "age", "city", "price", "total", "date", "kind", "user_id", "item", "note", "Status", "rank"]
TABLES = ["users", "orders", "items", "cities", "log", "Users2"]
UNDEFINED = ("no such column", "no such table", "no such function", "wrong number of arguments", "cannot join using",
             "has no column named", "no tables specified", "misuse of aggregate",
             "misuse of window", "aggregate functions are not allowed", "ambiguous column name",
             "sub-select returns")  # fmt: skip
AGGREGATES = ["count", "sum", "min", "max", "avg", "total"]
FUNCTIONS = ["abs", "lower", "upper", "length", "substr", "round", "coalesce", "ifnull", "nullif", "instr", "nofun"]


def database(rng: random.Random) -> str:
    """CREATE statements of a random database."""
    made = []
    for table in rng.sample(TABLES, rng.randint(2, 4)):
        columns = rng.sample(WORDS, rng.randint(2, 5))
        if rng.random() < 0.2:
            columns.append('"odd name"')
        if rng.random() < 0.15:
            made.append(f"CREATE TABLE {table} ({columns[0]} PRIMARY KEY, {', '.join(columns[1:])}) WITHOUT ROWID;")
        else:
            made.append(f"CREATE TABLE {table} ({', '.join(columns)});")
    if rng.random() < 0.4:
        made.append(f"CREATE VIEW seen AS SELECT * FROM {made[0].split()[2]};")
    return "\n".join(made)


def connect(text: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.executescript(text)
    return connection


def verdict(connection: sqlite3.Connection, statement: str, tables: str = "") -> bool | None:
    """True if SQLite prepares a statement; None: it refuses it for another reason than an undefined name.

    tables: WITH and its tables. SQLite does not look at tables that the statement does not use, so they are used here.
    """
    names = re.findall(r"(cte[0-9])(?:\([^)]*\))? AS \(", tables)
    for text in [statement, *(f"{tables} SELECT * FROM {name}" for name in names)]:
        try:
            connection.execute("EXPLAIN " + text)
        except sqlite3.Error as error:
            return False if any(word in str(error) for word in UNDEFINED) else None
    return True


class Scope:
    """The names that are visible: (name, columns) of sources, and an outer scope."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.sources: list[tuple[str, list[str]]] = []
        self.outer = outer
        self.extra: list[str] = []


class Statements:
    """Random statements on a database."""

    def __init__(self, connection: sqlite3.Connection, rng: random.Random, stray: float = 0.01) -> None:
        self.rng, self.stray = rng, stray
        rows = connection.execute("SELECT name FROM sqlite_master").fetchall()
        self.tables = {
            row[0]: [column[1] for column in connection.execute(f'PRAGMA table_info("{row[0]}")')]
            for row in rows
            if not row[0].startswith("sqlite_")
        }
        self.names = [*WORDS, *(column for columns in self.tables.values() for column in columns), "nosuch"]
        self.aliases = iter(range(10**9))
        self.ctes: list[tuple[str, list[str]]] = []
        self.with_tables = ""  # of the last statement

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def statement(self) -> str:
        self.aliases, self.ctes, self.with_tables = iter(range(10**9)), [], ""
        kind = self.rng.choices([self.query, self.insert, self.update, self.delete, self.change], [8, 1, 1, 1, 1])[0]
        text = kind()
        if self.chance(0.1):
            text = text.replace(" ", self.rng.choice(["  ", "\n", " /* nosuch.x */ ", " -- it's\n"]), 2)
        return text + (";" if self.chance(0.1) else "")

    def change(self) -> str:
        """DROP or ALTER of a table."""
        table, columns = self.table(Scope())
        table = self.spelled(table)
        if self.chance(0.3):
            return f"DROP TABLE {self.rng.choice(['', 'IF EXISTS ', 'main.'])}{table}"
        column = self.spelled(self.rng.choice(self.names if self.chance(self.stray) or not columns else columns))
        word = self.rng.choice(["COLUMN ", ""])
        changes = [f"DROP {word}{column}", f"RENAME {word}{column} TO novel", f"ADD {word}novel", "RENAME TO novel"]
        return f"ALTER TABLE {table} {self.rng.choice(changes)}"

    # -- names ---------------------------------------------------------------------------------------------------------

    def spelled(self, name: str) -> str:
        if not name.isidentifier() or self.chance(0.05):
            style = self.rng.choice(['"%s"', "[%s]", "`%s`"])
            return style % name
        return self.rng.choice([name, name, name, name.upper(), name.lower()])

    def column(self, scope: Scope) -> str:
        if self.chance(self.stray) or not any((scope.sources, scope.outer)):
            return self.spelled(self.rng.choice(self.names)) if self.chance(0.5) else str(self.rng.randint(0, 99))
        while scope.outer is not None and scope.outer.sources and (not scope.sources or self.chance(0.2)):
            scope = scope.outer
        if not scope.sources:
            return "1"
        name, columns = self.rng.choice(scope.sources)
        column = self.rng.choice(columns or ["1"])
        if column == "1":
            return "1"
        everywhere = sum(column in others for _, others in scope.sources)
        if name and ((everywhere > 1 and not self.chance(self.stray)) or self.chance(0.4)):
            qualifier = self.rng.choice([n for n, _ in scope.sources]) if self.chance(self.stray) else name
            return f"{self.spelled(qualifier)}.{self.spelled(column)}"
        return self.spelled(column)

    # -- expressions ---------------------------------------------------------------------------------------------------

    def expr(self, scope: Scope, depth: int = 0) -> str:
        pick = self.rng.random()
        if depth > 2 or pick < 0.4:
            return self.column(scope)
        down = depth + 1
        if pick < 0.5:
            return self.rng.choice(["1", "'it''s'", "NULL", "2.5", "x'ab'", "CURRENT_DATE", ".5", "-1"])
        if pick < 0.65:
            sign = self.rng.choice(["+", "-", "*", "/", "||", "=", "<>", "<=", "AND", "or", "IS", "is not", "LIKE"])
            return f"{self.expr(scope, down)} {sign} {self.expr(scope, down)}"
        if pick < 0.75:
            function = self.rng.choice(FUNCTIONS)
            count = self.rng.choice([1, 1, 2, 2, 3]) if self.chance(0.1) else {
                "substr": 2, "ifnull": 2, "nullif": 2, "instr": 2, "coalesce": 2
            }.get(function, 1)  # fmt: skip
            return f"{function}({', '.join(self.expr(scope, down) for _ in range(count))})"
        if pick < 0.8:
            return f"({self.expr(scope, down)})"
        if pick < 0.85:
            return f"CASE WHEN {self.expr(scope, down)} THEN {self.expr(scope, down)} ELSE {self.expr(scope, down)} END"
        if pick < 0.89:
            return f"cast({self.expr(scope, down)} AS varchar(9))"
        if pick < 0.92:
            among = f"({self.expr(scope, 9)}, {self.expr(scope, 9)})"
            return f"{self.expr(scope, 9)} {self.rng.choice(['IN', 'NOT IN'])} {among}"
        if pick < 0.94:
            return f"{self.expr(scope, 9)} BETWEEN {self.expr(scope, 9)} AND {self.expr(scope, 9)}"
        query, _ = self.select(scope, depth + 2, one=True)
        return self.rng.choice([f"({query})", f"EXISTS ({query})", f"{self.expr(scope, 9)} IN ({query})"])

    def aggregate(self, scope: Scope) -> str:
        of = f"count({self.column(scope)})" if self.chance(self.stray) else self.column(scope)
        return f"{self.rng.choice(AGGREGATES)}({of})"

    def condition(self, scope: Scope, depth: int = 0) -> str:
        outer = scope.outer
        while outer is not None and not outer.sources:  # else the function may be one of the outer query
            outer = outer.outer
        if outer is None and self.chance(self.stray):
            return f"{self.aggregate(scope)} > {self.expr(scope, 9)}"
        if self.chance(0.05):
            name, columns = self.table(scope)
            if len(columns) == 1:  # SQLite counts them where it makes code, not in what it leaves out
                return f"{self.expr(scope, 9)} {self.rng.choice(['IN', 'NOT IN'])} {self.spelled(name)}"
        return self.expr(scope, depth)

    # -- queries -------------------------------------------------------------------------------------------------------

    def query(self, scope: Scope | None = None) -> str:
        text = ""
        if self.chance(0.25):
            parts = []
            for i in range(self.rng.randint(1, 2)):
                body, columns = self.select(Scope(), 1)
                name = f"cte{i}"
                if self.chance(0.4):
                    columns = [f"c{j}" for j in range(len(columns))]
                    parts.append(f"{name}({', '.join(columns)}) AS ({body})")
                else:
                    parts.append(f"{name} AS ({body})")
                self.ctes.append((name, [c for c in columns if c]))
            self.with_tables = text = f"WITH {', '.join(parts)} "
        body, columns = self.select(Scope(scope), 0)
        return text + body

    def table(self, scope: Scope) -> tuple[str, list[str]]:
        known = [*self.tables.items(), *self.ctes, *self.ctes]
        name, columns = self.rng.choice(known)
        return ("nosuch" if self.chance(self.stray) else name), columns

    def source(self, outer: Scope, depth: int) -> tuple[str, str, list[str]]:
        if depth < 2 and self.chance(0.15):
            body, columns = self.select(Scope(outer.outer), depth + 1)
            alias = f"q{next(self.aliases)}"
            return f"({body}) AS {alias}", alias, [c for c in columns if c]
        name, columns = self.table(outer)
        if self.chance(0.5):
            alias = f"t{next(self.aliases)}"
            return f"{self.spelled(name)} {self.rng.choice(['', 'as '])}{alias}", alias, columns
        return self.spelled(name), name, columns

    def select(self, outer: Scope, depth: int, one: bool = False) -> tuple[str, list[str]]:
        """(a query, the names of its columns; "": it has no plain name)."""
        scope = Scope(outer)
        text, name, columns = self.source(scope, depth)
        joins = [text]
        scope.sources.append((name, columns))
        while self.chance(0.3) and len(joins) < 3:
            text, name, columns = self.source(scope, depth)
            before = {c for _, cs in scope.sources for c in cs}
            shared = [c for c in columns if c in before and sum(c in cs for _, cs in scope.sources) == 1]
            if any(n == name for n, _ in scope.sources) and not self.chance(self.stray):
                continue
            scope.sources.append((name, columns))
            style = self.rng.random()
            if style < 0.05:
                joins.append(f"NATURAL JOIN {text}")
            elif style < 0.3:
                joins.append(f", {text}")
            elif style < 0.5 and shared:
                joins.append(f"{self.rng.choice(['JOIN', 'LEFT JOIN'])} {text} USING ({self.spelled(shared[0])})")
            else:
                joins.append(
                    f"{self.rng.choice(['JOIN', 'LEFT JOIN', 'CROSS JOIN'])} {text} ON {self.condition(scope, 1)}"
                )
        items, names, counted = [], [], []
        for _ in range(1 if one else self.rng.randint(1, 3)):
            if not one and self.chance(0.1):
                items.append("*")
                names += [c for _, cs in scope.sources for c in cs]
            elif self.chance(0.3):
                alias = f"a{next(self.aliases)}"
                items.append(f"{self.expr(scope)} {self.rng.choice(['', 'AS '])}{alias}")
                names.append(alias)
                scope.extra.append(alias)
            else:
                column = self.column(scope)
                items.append(column)
                bare = column.rpartition(".")[2]
                names.append(bare.lower() if bare.isidentifier() else "")
        grouped = self.chance(0.2)
        if grouped:
            items.append(self.aggregate(scope) if not one else "")
            names.append("")
            if not one and self.chance(0.3):
                names[-1] = f"g{next(self.aliases)}"
                items[-1] += f" AS {names[-1]}"
                counted.append(names[-1])
            items = [item for item in items if item]
        elif not one and self.chance(0.1):
            window = f"PARTITION BY {self.column(scope)} ORDER BY {self.column(scope)} ROWS 1 PRECEDING"
            items.append(f"sum({self.column(scope)}) OVER ({window})")
            names.append("")
        text = f"SELECT {self.rng.choice(['', '', 'DISTINCT '])}{', '.join(items)} FROM {' '.join(joins)}"
        if self.chance(0.5):
            text += f" WHERE {self.condition(scope)}"
        if grouped:
            stray = self.rng.choice([self.aggregate(scope), *counted])
            text += f" GROUP BY {stray if self.chance(self.stray) else self.column(scope)}"
            if self.chance(0.5):
                text += f" HAVING count(*) > {self.column(scope)}"
        if one or self.chance(0.15):
            if one:
                return text + (" LIMIT 1" if self.chance(0.3) else ""), names[:1]
            other, _ = self.select(outer, 3)
            text += f" {self.rng.choice(['UNION', 'UNION ALL', 'EXCEPT'])} {other}"
        elif self.chance(0.3) and depth == 0:
            order = self.rng.choice([*scope.extra, self.column(scope)])
            text += f" ORDER BY {order}{self.rng.choice(['', ' DESC', ' COLLATE nocase ASC'])}"
            if self.chance(0.3):
                text += " LIMIT 3 OFFSET 1"
        return text, names

    # -- changes -------------------------------------------------------------------------------------------------------

    def _target(self) -> tuple[str, list[str], Scope]:
        name, columns = self.rng.choice([item for item in self.tables.items() if item[0] != "seen"])
        scope = Scope()
        scope.sources.append((name, columns))
        return self.spelled(name), columns, scope

    def _returning(self, scope: Scope) -> str:
        return f" RETURNING {self.expr(scope)}" if self.chance(0.2) else ""

    def insert(self) -> str:
        table, columns, scope = self._target()
        chosen = self.rng.sample(columns, self.rng.randint(1, len(columns)))
        named = [("nosuch" if self.chance(self.stray) else self.spelled(c)) for c in chosen]
        head = f"INSERT INTO {table} ({', '.join(named)})"
        if self.chance(0.3):
            inner, _ = self.select(Scope(), 3, one=True)
            return f"INSERT INTO {table} ({named[0]}) {inner}"
        values = f"{head} VALUES ({', '.join(self.expr(Scope(), 9) for _ in chosen)})"
        if self.chance(0.2):
            values += f" ON CONFLICT DO UPDATE SET {self.spelled(columns[0])} = excluded.{self.spelled(columns[-1])}"
        return values + self._returning(scope)

    def update(self) -> str:
        table, columns, scope = self._target()
        sets = ", ".join(f"{self.spelled(c)} = {self.expr(scope)}" for c in self.rng.sample(columns, 1))
        where = f" WHERE {self.expr(scope)}" if self.chance(0.7) else ""
        return f"UPDATE {table} SET {sets}{where}{self._returning(scope)}"

    def delete(self) -> str:
        table, _, scope = self._target()
        where = f" WHERE {self.expr(scope)}" if self.chance(0.8) else ""
        return f"DELETE FROM {table}{where}{self._returning(scope)}"
