"""SQL that a model writes on a database: the share that SQLite prepares.

Question: of the first statements that a model writes after the CREATE statements of a random database, how many does
SQLite prepare, and how many use a name that is not defined: unconstrained, under the grammar, under the grammar with a
monitor (`constrain.monitors.sql`: any name before FROM, or known ones), and with AWRS and SMC under it? And what do
masks cost with and without the monitor?

    python benchmarks/code_sql.py --databases 25 --out benchmarks/record/code-sql

Answers are checked by SQLite itself, on the database of the prompt. Outputs are cut behind their first statement; one
without an end within --tokens is "cut off". A complete statement with an undefined name under a monitor makes the run
fail. Masks are timed on the tokens of all outputs, one matcher after the other, the first round apart: "first" visits
places that are new, "again" is the mean of three rounds more. Bias: the reference model is tiny
(docs/reference-model.md) and copies names badly, so there is much to refuse; a good model errs less. Databases have the
words of its training texts.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from masks.records import machine, open_folder

TABLES = ["users", "orders", "products", "invoices", "books", "events"]
COLUMNS = ["name", "age", "city", "price", "total", "status", "created_at", "quantity", "email", "title", "user_id"]
UNDEFINED = ("no such column", "no such table", "no such function", "wrong number of arguments", "no column named",
             "cannot join using", "no tables specified")  # fmt: skip
ARMS = ("unconstrained", "grammar", "monitor, any", "monitor, known", "monitor, known, awrs", "monitor, known, smc")
TIMED = ARMS[:4]  # the others have the constraint of the fourth
ROUNDS = 3


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--databases", type=int, default=25, help="databases to ask about (default: 25)")
    parser.add_argument("--batch", type=int, default=8, help="outputs for each (default: 8)")
    parser.add_argument("--tokens", type=int, default=60, help="limit of tokens of one (default: 60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder for a record of each output")
    return parser.parse_args()


def database(rng: random.Random) -> str:
    """CREATE statements of two tables."""
    made = []
    for table in rng.sample(TABLES, 2):
        columns = ["id INTEGER PRIMARY KEY", *(f"{c} VARCHAR(100)" for c in rng.sample(COLUMNS, rng.randint(2, 4)))]
        made.append(f"CREATE TABLE {table} (\n  " + ",\n  ".join(columns) + "\n);")
    return "\n".join(made)


def first_statement(text: str, is_whole: bool) -> str | None:
    """The text up to the end of its first statement; None: it does not end."""
    at = text.find(";")
    while at >= 0:
        if sqlite3.complete_statement(text[: at + 1]):
            return text[: at + 1]
        at = text.find(";", at + 1)
    return text if is_whole else None


def judge(connection: sqlite3.Connection, statement: str | None) -> str:
    """Classify a statement by SQLite's answer to it; None is "cut off"."""
    if statement is None:
        return "cut off"
    try:
        connection.execute("EXPLAIN " + statement)
    except (sqlite3.Error, sqlite3.Warning) as error:
        message = str(error)
        if any(word in message for word in UNDEFINED):
            return "undefined"
        return "syntax" if "syntax error" in message or "unrecognized token" in message else "other fault"
    try:
        connection.execute("SAVEPOINT before")
        connection.execute(statement).fetchmany(5)
        connection.execute("ROLLBACK TO before")
    except sqlite3.Error:
        return "prepares, fails"
    return "executes"


def arms(text: str) -> dict[str, tuple[constrain.Constraint, str]]:
    """(constraint on statements about a database, method) by the name of the arm."""
    grammar = constrain.collection.load("sql")
    one, two = (constrain.monitors.sql(text, ahead=ahead, aliases=["u", "o", "p", "i", "b", "e"])
                for ahead in ("any", "known"))  # fmt: skip
    made = [constrain.regex("(?s:.*)"), grammar, *(constrain.monitors.monitored(grammar, each) for each in (one, two))]
    methods = ("lcd", "lcd", "lcd", "lcd", "awrs", "smc")
    return dict(zip(ARMS, zip([*made, made[-1], made[-1]], methods, strict=True), strict=True))


def timed(compiled: constrain.CompiledConstraint, outputs: list[list[int]], row: Any) -> tuple[float, int]:
    """(seconds, masks) of the masks along some outputs, as far as they are allowed."""
    spent, masks = 0.0, 0
    for tokens in outputs:
        matcher = compiled.matcher()
        for token in tokens:
            begin = time.thread_time()
            matcher.fill_mask(row)
            spent += time.thread_time() - begin
            masks += 1
            if not matcher.advance(token):
                break
    return spent, masks


def main() -> int:
    """Run; 1 if a complete statement under a monitor has an undefined name."""
    options = parse()
    model = constrain.reference.load()
    vocabulary = constrain.Vocabulary.from_huggingface(model.tokenizer)
    row = np.zeros(vocabulary.words, np.uint32)
    counts: dict[str, collections.Counter[str]] = {arm: collections.Counter() for arm in ARMS}
    times: dict[str, list[float]] = {arm: [0.0, 0.0, 0.0] for arm in ARMS}  # first, again, masks of one round
    records = []
    for i in range(options.databases):
        text = database(random.Random(options.seed + i))
        constraints = arms(text)
        written: list[list[int]] = []
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(text)
            for arm, (constraint, method) in constraints.items():
                outputs = constrain.generate(
                    model, text + "\n", constraint=constraint, n=options.batch, max_tokens=options.tokens,
                    temperature=1.0, seed=options.seed + i, method=method,
                )  # fmt: skip
                print(f"database {i}: {arm}, {time.process_time():.0f} s", file=sys.stderr, flush=True)
                for output in outputs:
                    verdict = judge(connection, first_statement(output.text, output.finish_reason == "stop"))
                    counts[arm][output.finish_reason if output.finish_reason == "dead_end" else verdict] += 1
                    records.append({"database": i, "arm": arm, "verdict": verdict, "text": output.text})
                    if arm == "monitor, known":
                        written.append(list(output.tokens))
        for arm in TIMED:
            constraint, _ = constraints[arm]
            compiled = constrain.compile(constraint, vocabulary)
            first, masks = timed(compiled, written, row)
            again = sum(timed(compiled, written, row)[0] for _ in range(ROUNDS)) / ROUNDS
            times[arm] = [a + b for a, b in zip(times[arm], (first, again, masks), strict=True)]
    report(counts, times, options, records)
    return int(any(counts[arm]["undefined"] for arm in ARMS if arm.startswith("monitor")))


def report(counts: Any, times: Any, options: argparse.Namespace, records: list[dict[str, Any]]) -> None:
    """Print the table, and write the records."""
    summary = {}
    for arm in ARMS:
        first, again, masks = times[arm]
        summary[arm] = dict(counts[arm])
        if masks:
            summary[arm] |= {
                "mask_us_first": round(first / masks * 1e6, 1), "mask_us_again": round(again / masks * 1e6, 2)
            }  # fmt: skip
        print(arm, summary[arm])
    if options.out:
        command = f"python benchmarks/code_sql.py {' '.join(sys.argv[1:])}"
        open_folder(options.out, {"command": command, **machine()}, resume=False)
        lines = (json.dumps(record, ensure_ascii=False) for record in records)
        (options.out / "outputs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (options.out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
