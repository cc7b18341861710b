"""Questions about a database that a model answers in SQL: the share of right answers.

Question: of the queries that a model writes for a question, how many does SQLite run, and how many have the answer:
unconstrained, under the grammar, with a monitor, and with AWRS and SMC under the monitor? pass@k: the probability that
of k outputs one is right (the estimate of Chen et al., "Evaluating large language models trained on code", 2021).

    python benchmarks/code_questions.py --databases 10 --out benchmarks/record/code-questions

A prompt is the CREATE statements of two tables, five questions about the second one with their queries, and one
question about the first. An answer is right if its rows are those of our query, in any order; of empty answers nothing
is asked. Every output counts: one without an end within --tokens, or in a dead end, is wrong. A query that
SQLite does not run for an undefined name under a monitor makes the run fail. Bias: the reference model is tiny
(docs/reference-model.md) and reads no questions: what is right was copied from the examples with other names.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import re
import sqlite3
import sys
import time
from contextlib import closing
from math import comb
from pathlib import Path
from typing import Any

import constrain
from code_sql import ARMS, UNDEFINED, arms, database, first_statement
from masks.records import machine, open_folder

VALUES = ["Bern", "Oslo", "Lima", "open", "closed", "new"]
KINDS = {
    "How many rows has {t}?": "SELECT count(*) FROM {t};",
    "All values of {a} in {t}": "SELECT {a} FROM {t};",
    "The different values of {b} in {t}": "SELECT DISTINCT {b} FROM {t};",
    "The {a} of {t} where {b} is '{v}'": "SELECT {a} FROM {t} WHERE {b} = '{v}';",
    "How many rows of {t} for each {a}?": "SELECT {a}, count(*) FROM {t} GROUP BY {a};",
}


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--databases", type=int, default=10, help="of five questions each (default: 10)")
    parser.add_argument("--batch", type=int, default=8, help="outputs for each question (default: 8)")
    parser.add_argument("--tokens", type=int, default=40, help="limit of tokens of one (default: 40)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder for a record of each output")
    return parser.parse_args()


def tables(text: str) -> dict[str, list[str]]:
    """The columns of each table of CREATE statements, without the key."""
    made = re.findall(r"CREATE TABLE (\w+) \((.*?)\n\);", text, re.DOTALL)
    return {name: re.findall(r"(\w+) VARCHAR", columns) for name, columns in made}


def fill(connection: sqlite3.Connection, columns: dict[str, list[str]], rng: random.Random) -> None:
    """Twelve rows for each table."""
    for table, names in columns.items():
        for _ in range(12):
            row = [rng.choice(VALUES) for _ in names]
            marks = ", ".join("?" * len(names))
            connection.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", row)


def questions(columns: dict[str, list[str]], rng: random.Random) -> list[tuple[str, str]]:
    """(prompt without the CREATE statements, query of its last question): examples of the second table come first."""
    one, other = columns
    said: dict[str, list[tuple[str, str]]] = {}
    for table in (one, other):
        said[table] = []
        for question, query in KINDS.items():
            a, b = rng.sample(columns[table], 2)
            names = {"t": table, "a": a, "b": b, "v": rng.choice(VALUES)}
            said[table].append((question.format(**names), query.format(**names)))
    before = "".join(f"-- {question}\n{query}\n" for question, query in said[other])
    return [(f"{before}-- {question}\n", query) for question, query in said[one]]


def rows(connection: sqlite3.Connection, query: str) -> collections.Counter[tuple[Any, ...]]:
    """The rows of a query, whose order does not count. Nothing that it changes stays."""
    connection.execute("SAVEPOINT before")
    try:
        return collections.Counter(connection.execute(query).fetchmany(1000))
    finally:
        connection.execute("ROLLBACK TO before")


def judge(connection: sqlite3.Connection, statement: str | None, answer: collections.Counter[Any]) -> str:
    """Classify a statement by its result: "right", "wrong answer", "undefined", "fault" or "no end"."""
    if statement is None:
        return "no end"
    try:
        return "right" if rows(connection, statement) == answer else "wrong answer"
    except (sqlite3.Error, sqlite3.Warning) as error:
        return "undefined" if any(word in str(error) for word in UNDEFINED) else "fault"


def pass_at(k: int, right: int, n: int) -> float:
    """The probability that of k of n outputs one is right."""
    return 1 - comb(n - right, k) / comb(n, k)


def main() -> int:
    """Run; 1 if a query under a monitor has an undefined name."""
    options = parse()
    model = constrain.reference.load()
    counts: dict[str, collections.Counter[str]] = {arm: collections.Counter() for arm in ARMS}
    passes: dict[str, list[int]] = {arm: [] for arm in ARMS}
    seconds = dict.fromkeys(ARMS, 0.0)
    records = []
    for i in range(options.databases):
        rng = random.Random(options.seed + i)
        text = database(rng)
        constraints = arms(text)
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.executescript(text)
            columns = tables(text)
            fill(connection, columns, rng)
            for j, (prompt, query) in enumerate(questions(columns, rng)):
                answer = rows(connection, query)
                if not answer:
                    continue
                for arm, (constraint, method) in constraints.items():
                    begin = time.process_time()
                    outputs = constrain.generate(
                        model, f"{text}\n{prompt}", constraint=constraint, n=options.batch, method=method,
                        max_tokens=options.tokens, temperature=1.0, seed=options.seed + 100 * i + j,
                    )  # fmt: skip
                    seconds[arm] += time.process_time() - begin
                    verdicts = []
                    for output in outputs:
                        statement = first_statement(output.text, output.finish_reason == "stop")
                        verdicts.append(judge(connection, statement, answer))
                        records.append({"database": i, "question": j, "arm": arm, "verdict": verdicts[-1],
                                        "query": query, "text": output.text})  # fmt: skip
                    counts[arm].update(verdicts)
                    passes[arm].append(verdicts.count("right"))
        print(f"database {i}: {time.process_time():.0f} s", file=sys.stderr, flush=True)
    summary = {}
    for arm in ARMS:
        pass_k = {
            f"pass@{k}": round(sum(pass_at(k, right, options.batch) for right in passes[arm]) / len(passes[arm]), 4)
            for k in (1, 4, options.batch)
        }
        summary[arm] = {**counts[arm], "questions": len(passes[arm]), **pass_k, "seconds": round(seconds[arm], 1)}
        print(arm, summary[arm])
    if options.out:
        command = f"python benchmarks/code_questions.py {' '.join(sys.argv[1:])}"
        open_folder(options.out, {"command": command, **machine()}, resume=False)
        lines = (json.dumps(record, ensure_ascii=False) for record in records)
        (options.out / "outputs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (options.out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    return int(any(counts[arm]["undefined"] for arm in ARMS if arm.startswith("monitor")))


if __name__ == "__main__":
    sys.exit(main())
