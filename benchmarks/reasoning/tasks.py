"""Questions with answer schemas: generated, so that no model has read them, and each with its known answer.

    arithmetic   a sum and a product of small numbers; the working comes before the answer
    table        which item of a table costs most, and whether it is in stock
    date         a day so many days after another, and its day of the week
    sql          a query over a table of people; it is right if its rows are those of our query

A prompt has two examples of the same kind with their answers, then the question.
"""

from __future__ import annotations

import datetime
import json
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, NamedTuple

DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
ITEMS = ["lamp", "chair", "desk", "clock", "shelf", "rug", "vase", "stool"]
NAMES = ["Ada", "Emmy", "Alan", "Grace", "Kurt", "Sofia", "Niels", "Lise", "Paul", "Marie"]
CITIES = ["Bern", "Oslo", "Lima"]
STEPS = 2_000_000  # of SQLite's machine, which a query may take
EXAMPLES = 2


class Question(NamedTuple):
    """A question.

    Attributes:
        kind: One of `KINDS`, or the name of a file (files.py).
        text: The question alone.
        schema: Of its answer.
        answer: A right answer, as the examples show it.
        right: Whether a value that obeys the schema is right.
    """

    kind: str
    text: str
    schema: dict[str, Any]
    answer: dict[str, Any]
    right: Callable[[dict[str, Any]], bool]


def object_of(**properties: Any) -> dict[str, Any]:
    """The schema of an object with just these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def arithmetic(rng: random.Random) -> Question:
    """a + b · c, with the product as the working."""
    a, b, c = rng.randint(2, 30), rng.randint(2, 9), rng.randint(2, 9)
    answer = {"working": f"{b} * {c} = {b * c}", "answer": a + b * c}
    schema = object_of(working={"type": "string", "maxLength": 30}, answer={"type": "integer"})
    return Question(
        "arithmetic", f"What is {a} + {b} * {c}?", schema, answer, lambda value: value["answer"] == answer["answer"]
    )


def table(rng: random.Random) -> Question:
    """The dearest of four items."""
    items, prices = rng.sample(ITEMS, 4), rng.sample(range(5, 90), 4)
    stock = [rng.choice(["yes", "no"]) for _ in items]
    rows = "\n".join(f"{item}, {price}, {there}" for item, price, there in zip(items, prices, stock, strict=True))
    best = prices.index(max(prices))
    answer = {"item": items[best], "in_stock": stock[best] == "yes"}
    schema = object_of(item={"enum": items}, in_stock={"type": "boolean"})
    text = f"item, price, in stock\n{rows}\nWhich item costs most, and is it in stock?"
    return Question("table", text, schema, answer, lambda value: value == answer)


def date(rng: random.Random) -> Question:
    """A day some days later."""
    day = datetime.date(2020, 1, 1) + datetime.timedelta(rng.randrange(3000))
    after = rng.randint(2, 40)
    then = day + datetime.timedelta(after)
    answer = {"date": then.isoformat(), "weekday": DAYS[then.weekday()]}
    schema = object_of(date={"type": "string", "format": "date"}, weekday={"enum": DAYS})
    text = f"{day.isoformat()} is a {DAYS[day.weekday()]}. Which day is {after} days later?"
    return Question("date", text, schema, answer, lambda value: value == answer)


def sql(rng: random.Random) -> Question:
    """A query over ten people."""
    people = [(name, rng.choice(CITIES), rng.randint(20, 80)) for name in NAMES]
    city, age = rng.choice(people)[1], sorted(row[2] for row in people)[rng.randint(3, 6)]
    asked = {
        f"How many people live in {city}?": f"SELECT count(*) FROM people WHERE city = '{city}'",
        f"The names of all who are older than {age}": f"SELECT name FROM people WHERE age > {age}",
        "The age of the oldest": "SELECT max(age) FROM people",
        f"The names of those in {city}": f"SELECT name FROM people WHERE city = '{city}'",
    }
    text, query = rng.choice(list(asked.items()))
    schema = object_of(query={"type": "string", "pattern": "^SELECT ", "maxLength": 80})
    expected = rows_of(query, people)
    return Question(
        "sql",
        f"Table people(name, city, age). {text}",
        schema,
        {"query": query},
        lambda value: rows_of(value["query"], people) == expected,
    )


def rows_of(query: str, people: list[tuple[str, str, int]]) -> Counter[tuple[Any, ...]] | None:
    """The rows of a query, whose order does not count; None: it does not run, changes something, or takes too long."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE people (name TEXT, city TEXT, age INTEGER)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", people)
        connection.execute("PRAGMA query_only = ON")
        connection.set_progress_handler(lambda: 1, STEPS)
        try:
            return Counter(connection.execute(query).fetchmany(1000))
        except (sqlite3.Error, sqlite3.Warning, ValueError):  # ValueError: a NUL in the text
            return None


KINDS = {"arithmetic": arithmetic, "table": table, "date": date, "sql": sql}


def questions(kind: str, count: int, seed: int) -> list[tuple[Question, str]]:
    """Questions of a kind with their prompts.

    Args:
        kind: A key of `KINDS`.
        count: How many.
        seed: Gives the same questions again.
    """
    rng = random.Random(f"{kind} {seed}")
    asked = []
    for _ in range(count):
        shown = [KINDS[kind](rng) for _ in range(EXAMPLES)]
        question = KINDS[kind](rng)
        asked.append((question, prompt_of(question, shown)))
    return asked


def prompt_of(question: Question, shown: Sequence[Question]) -> str:
    """The prompt of a question. shown: the examples before it, with their answers."""
    before = "".join(f"Question: {each.text}\nJSON: {json.dumps(each.answer)}\n\n" for each in shown)
    return f"{before}Question: {question.text}\nJSON: "
