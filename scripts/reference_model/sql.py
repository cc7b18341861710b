"""SQL statements from templates over random tables, in the common subset of the standard."""

from __future__ import annotations

import random

from . import values as v
from . import words as w

TYPES = {
    "id": "INTEGER",
    "n": "INTEGER",
    "price": "DECIMAL(10, 2)",
    "name": "VARCHAR(100)",
    "day": "DATE",
    "flag": "BOOLEAN",
}
COLUMNS = {
    "id": ["user_id", "order_id", "product_id", "owner_id", "parent_id"],
    "n": ["age", "quantity", "stock", "year", "rank", "visits"],
    "price": ["price", "total", "amount", "salary", "weight"],
    "name": ["name", "email", "city", "country", "title", "status", "color"],
    "day": ["created_at", "birth_date", "due_date", "shipped_on"], "flag": ["active", "verified", "paid"],
}  # fmt: skip


def _table(rng: random.Random) -> tuple[str, dict[str, str]]:
    """A table name and {column: kind}, with a key `id` first."""
    name = rng.choice(w.ENTITIES) + "s" if rng.random() < 0.7 else "_".join(rng.sample(w.generic(), 2))
    columns = {"id": "id"}
    for kind in rng.choices(list(COLUMNS), k=rng.randint(2, 6)):
        columns[rng.choice(COLUMNS[kind])] = kind
    if rng.random() < 0.4:
        columns["_".join(rng.sample(w.generic(), rng.randint(1, 2)))] = rng.choice(list(COLUMNS))
    return name, columns


def _literal(rng: random.Random, kind: str) -> str:
    if kind in ("id", "n"):
        return str(rng.randint(0, rng.choice([10, 100, 5000])))
    if kind == "price":
        return f"{rng.uniform(0, 500):.2f}"
    if kind == "flag":
        return rng.choice(["TRUE", "FALSE"])
    if kind == "day":
        return f"'{v.date(rng)}'"
    return "'" + rng.choice([v.person, v.word, v.product, v.email])(rng) + "'"


def _condition(rng: random.Random, prefix: str, columns: dict[str, str]) -> str:
    def one() -> str:
        name, kind = rng.choice(list(columns.items()))
        name = prefix + name
        if kind == "name" and rng.random() < 0.3:
            return f"{name} LIKE '{v.word(rng)}%'"
        if rng.random() < 0.1:
            return f"{name} IS {rng.choice(['NOT ', ''])}NULL"
        if kind != "flag" and rng.random() < 0.12:
            return f"{name} IN ({', '.join(_literal(rng, kind) for _ in range(rng.randint(2, 4)))})"
        if kind in ("n", "price", "day") and rng.random() < 0.15:
            return f"{name} BETWEEN {_literal(rng, kind)} AND {_literal(rng, kind)}"
        operators = ["="] if kind in ("flag", "name") else ["=", "<", ">", ">=", "<="]
        return f"{name} {rng.choice(operators)} {_literal(rng, kind)}"

    return f" {rng.choice(['AND', 'AND', 'OR'])} ".join(one() for _ in range(rng.choice([1, 1, 2, 3])))


def _create(rng: random.Random) -> str:
    name, columns = _table(rng)
    rows = []
    for column, kind in columns.items():
        extra = (
            " PRIMARY KEY" if column == "id" else rng.choice(["", "", " NOT NULL", " UNIQUE" if kind == "name" else ""])
        )
        rows.append(f"  {column} {TYPES[kind]}{extra}")
    return f"CREATE TABLE {name} (\n" + ",\n".join(rows) + "\n);"


def _insert(rng: random.Random) -> str:
    name, columns = _table(rng)
    rows = [f"({', '.join(_literal(rng, k) for k in columns.values())})" for _ in range(rng.choice([1, 1, 2, 3]))]
    return f"INSERT INTO {name} ({', '.join(columns)}) VALUES {', '.join(rows)};"


def _update(rng: random.Random) -> str:
    name, columns = _table(rng)
    changed = rng.sample(list(columns.items()), rng.randint(1, 2))
    changes = ", ".join(f"{c} = {_literal(rng, k)}" for c, k in changed)
    return f"UPDATE {name} SET {changes} WHERE {_condition(rng, '', columns)};"


def _delete(rng: random.Random) -> str:
    name, columns = _table(rng)
    return f"DELETE FROM {name} WHERE {_condition(rng, '', columns)};"


def _select(rng: random.Random) -> str:
    name, columns = _table(rng)
    picked = rng.choice(["*", ", ".join(rng.sample(list(columns), rng.randint(1, min(4, len(columns)))))])
    gap = rng.choice([" ", "\n"])
    parts = [f"SELECT {rng.choice(['', '', '', 'DISTINCT '])}{picked}", f"FROM {name}"]
    if rng.random() < 0.7:
        parts.append(f"WHERE {_condition(rng, '', columns)}")
    if rng.random() < 0.4:
        parts.append(f"ORDER BY {rng.choice(list(columns))}{rng.choice(['', ' DESC', ' ASC'])}")
    if rng.random() < 0.3:
        parts.append(f"LIMIT {rng.choice([1, 5, 10, 20, 50, 100])}")
    return gap.join(parts) + ";"


def _join(rng: random.Random) -> str:
    (one, columns), (many, others) = _table(rng), _table(rng)
    a, b = one[0], many[0] if many[0] != one[0] else many[0] + "2"
    key = one.rstrip("s") + "_id"
    total = rng.choice(["COUNT(*)", f"SUM({b}.id)", f"AVG({b}.id)", f"MAX({b}.id)"])
    column = rng.choice(list(columns))
    gap = rng.choice([" ", "\n"])
    if rng.random() < 0.5:
        parts = [f"SELECT {a}.{column}, {total} AS {rng.choice(['n', 'total', 'value'])}"]
    else:
        parts = [f"SELECT {a}.{column}, {b}.{rng.choice(list(others))}"]
    parts += [
        f"FROM {one} {a}",
        f"{rng.choice(['JOIN', 'JOIN', 'LEFT JOIN', 'INNER JOIN'])} {many} {b} ON {b}.{key} = {a}.id",
    ]
    if rng.random() < 0.6:
        parts.append(f"WHERE {_condition(rng, a + '.', columns)}")
    if "(" in parts[0]:
        parts.append(f"GROUP BY {a}.{column}")
        if rng.random() < 0.3:
            parts.append(f"HAVING {total} > {rng.randint(1, 50)}")
    return gap.join(parts) + ";"


def document(rng: random.Random) -> str:
    """One to four statements, sometimes after a comment."""
    makers = [_select, _select, _join, _join, _insert, _create, _update, _delete]
    lines = [rng.choice(makers)(rng) for _ in range(rng.choice([1, 1, 2, 3, 4]))]
    head = rng.choice(["", "", "", f"-- {v.sentence(rng)}\n", "SQL: "])
    return head + "\n".join(lines)
