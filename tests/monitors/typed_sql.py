"""Random expressions of SQL over columns of all types, most of them well typed, for PostgreSQL to judge."""

import random

COLUMNS = {
    "i2": "smallint", "i4": "integer", "i8": "bigint", "n": "numeric(8, 2)", "r": "real", "d": "double precision",
    "s": "text", "v": "varchar(9)", "c": "char(3)", "b": "boolean", "day": "date", "hour": "time",
    "zoned": "timetz", "ts": "timestamp", "tz": "timestamptz", "span": "interval", "j": "jsonb", "u": "uuid",
}  # fmt: skip
CATALOGUE = f"CREATE TABLE t ({', '.join(f'{name} {type_}' for name, type_ in COLUMNS.items())});"
KINDS = {"number": "i2 i4 i8 n r d", "text": "s v c", "bool": "b", "date": "day ts tz", "span": "span", "time": "hour"}
LITERALS = {
    "number": ["1", "2.5", "'7'", "' 8 '", "'1.5'", "'1e3'", "'nan'"], "text": ["'x'", "'it''s'", "'5'", "''"],
    "bool": ["true", "false", "'yes'", "'f'", "'0'", "null"],
    "date": ["current_date", "current_timestamp", "'2020-01-31'", "'today'", "'Jan 5 2020'"],
    "span": ["'1 day'", "'P1D'", "cast('1 hour' as interval)"], "time": ["'04:05'", "current_time"],
}  # fmt: skip
COMPARING = ["=", "<>", "!=", "<", ">", "<=", ">="]


class Expressions:
    """A writer of expressions. stray: How often a part is of another type than it should be."""

    def __init__(self, rng: random.Random, stray: float) -> None:
        self.rng, self.stray = rng, stray

    def of(self, kind: str, depth: int) -> str:
        """An expression of a kind, most often."""
        rng = self.rng
        if rng.random() < self.stray:
            kind = rng.choice([*KINDS])
        if depth <= 0 or rng.random() < 0.2:
            is_column = rng.random() < 0.65
            return rng.choice(KINDS[kind].split() if is_column else LITERALS[kind])
        return str(getattr(self, "_" + kind)(depth - 1))

    def _any(self, depth: int) -> tuple[str, str]:
        kind = self.rng.choice([*KINDS])
        return self.of(kind, depth), self.of(kind, depth)

    def _number(self, depth: int) -> str:
        a, b, text = self.of("number", depth), self.of("number", depth), self.of("text", depth)
        return self.rng.choice([
            f"{a} + {b}", f"{a} - {b}", f"{a} * {b}", f"{a} / {b}", f"{a} % {b}", f"({a})", f"- {a}", f"abs({a})",
            f"length({text})", f"cast({text} as integer)", f"coalesce({a}, {b})", f"{a} | {b}", f"{a} << 2",
            f"{self.of('date', 0)} - {self.of('date', 0)}", f"round({a}, 2)", f"floor({a})", f"strpos({text}, 'x')",
            f"case when {self.of('bool', depth)} then {a} else {b} end", f"(select count(*) from t where {a} = {b})",
            f"date_part('year', {self.of('date', depth)})",
        ])  # fmt: skip

    def _text(self, depth: int) -> str:
        a, b = self.of("text", depth), self.of("text", depth)
        return self.rng.choice([
            f"{a} || {b}", f"lower({a})", f"substr({a}, 1, {self.of('number', depth)})", f"({a})",
            f"{a} || {self.of('number', depth)}", f"trim({a})", f"replace({a}, {b}, 'x')", f"cast({a} as varchar(5))",
            f"coalesce({a}, {b})", f"left({a}, 2)",
        ])  # fmt: skip

    def _bool(self, depth: int) -> str:
        a, b = self._any(depth)
        p, q, n = self.of("bool", depth), self.of("bool", depth), self.of("number", depth)
        compared = f"{a} {self.rng.choice(COMPARING)} {b}"
        return self.rng.choice([
            compared, compared, f"({compared})", f"{p} and {q}", f"({p} or {q})", f"not {p}", f"{a} is null",
            f"{self.of('text', depth)} like {self.of('text', depth)}", f"{n} between {a} and {self.of('number', 0)}",
            f"{a} in ({b}, {b})", f"{a} not in ({b})", f"{self.of('text', depth)} not like 'x%'",
            f"exists (select 1 from t as x where x.i4 = {n})", f"{n} not between 1 and {self.of('number', 0)}",
            f"({a}, {n}) = ({b}, 3)", f"{a} is distinct from {b}", f"({a} is not null)",
        ])  # fmt: skip

    def _date(self, depth: int) -> str:
        a, n = self.of("date", depth), self.of("number", depth)
        return self.rng.choice([
            f"{a} + {self.of('span', depth)}", f"{a} - {self.of('span', 0)}", f"({a})", f"day + {n}",
            f"date_trunc('month', {a})", f"max({a}) over ()",
        ])  # fmt: skip

    def _span(self, depth: int) -> str:
        a, n = self.of("span", depth), self.of("number", depth)
        return self.rng.choice([f"{a} * {n}", f"{a} + {a}", f"ts - {self.of('date', 0)}", f"- {a}", f"({a})"])

    def _time(self, depth: int) -> str:
        return f"{self.of('time', depth)} + {self.of('span', 0)}"

    def statement(self) -> str:
        """A statement with expressions before and behind FROM."""
        first, kind = self.of(self.rng.choice([*KINDS]), 2), self.rng.choice([*KINDS])
        if self.rng.random() < 0.15:
            column = self.rng.choice(KINDS[kind].split())
            return f"update t set {column} = {self.of(kind, 2)} where {self.of('bool', 2)}"
        if self.rng.random() < 0.15:
            kinds = self.rng.sample([*KINDS], 3)
            columns = [self.rng.choice(KINDS[one].split()) for one in kinds]
            strays = [[one if self.rng.random() > self.stray else "text" for one in kinds] for _ in range(2)]
            rows = [f"({', '.join(self.rng.choice(LITERALS[one]) for one in row)})" for row in strays]
            return f"insert into t ({', '.join(columns)}) values {', '.join(rows)}"
        if self.rng.random() < 0.3:
            name = self.rng.choice(["sum", "avg", "min", "max", "count"])
            return f"select {name}({self.of('number', 1)}) from t having {name}({self.of(kind, 1)}) = {first}"
        ordered = f" order by {self.of(kind, 1)}" if self.rng.random() < 0.3 else ""
        return f"select {first} from t where {self.of('bool', 3)}{ordered}"
