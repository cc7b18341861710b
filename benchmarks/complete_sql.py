"""Queries that a model writes under a monitor with `complete=True`: the share that ends in time, and that prepares.

Question: does each output of at most N tokens end as a statement that SQLite prepares, and what does it cost?

    python benchmarks/complete_sql.py --model build/real/smollm2 --questions $CONSTRAIN_DATA/real/sql --out FOLDER

Each question is asked after the CREATE statements of its database, which the monitor knows, and two examples; `ahead`
is "any". SQLite judges, on an empty database. Without `complete` (`--complete 0`) outputs are cut off at N.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer

import constrain
from masks.records import machine, write_run


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of a model of transformers")
    parser.add_argument("--questions", type=Path, required=True, help="folder with questions.jsonl and databases")
    parser.add_argument("--outputs", type=int, default=60, help="questions (default: 60)")
    parser.add_argument("--tokens", type=int, nargs="+", default=[32, 64], help="limits (default: 32 64)")
    parser.add_argument("--complete", type=int, nargs="+", default=[0, 1], help="0: without, 1: with (default: both)")
    parser.add_argument("--out", type=Path, help="folder for a record of each output")
    return parser.parse_args()


def create_statements(path: Path) -> str:
    """CREATE statements of the tables of a database."""
    tables = json.loads(path.read_text())["table_metadata"]
    spelled = lambda name: '"{}"'.format(name.replace('"', '""'))  # noqa: E731
    return "\n".join(
        f"CREATE TABLE {spelled(table)} ({', '.join(spelled(column['column_name']) for column in columns)});"
        for table, columns in tables.items()
    )


def fault(created: str, text: str) -> str:
    """SQLite's objection to statements; "" if there is none."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(created)
        try:
            database.executescript(text)
        except sqlite3.Error as error:
            return str(error)
    return ""


def main() -> None:
    """Run."""
    options = parse()
    asked = [json.loads(line) for line in (options.questions / "questions.jsonl").read_text().splitlines()]
    asked = asked[:: max(1, len(asked) // options.outputs)][: options.outputs]
    model = AutoModelForCausalLM.from_pretrained(options.model).eval()
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    rows: list[dict[str, Any]] = []
    for limit in options.tokens:
        for complete in options.complete:
            for number, each in enumerate(asked):
                created = create_statements(options.questions / f"{each['database']}.json")
                monitor = constrain.monitors.sql(created)
                query = constrain.monitors.monitored(constrain.collection.load("sql"), monitor)
                first = json.loads((options.questions / f"{each['database']}.json").read_text())["table_metadata"]
                shown = "".join(f"-- Show {table}.\nSELECT * FROM {table};\n" for table in [*first][:2])
                prompt = f"{created}\n\n{shown}-- {each['question']}\n"
                begun = time.process_time()
                output = constrain.generate(
                    model,
                    prompt,
                    tokenizer=tokenizer,
                    constraint=query,
                    max_tokens=limit,
                    complete=bool(complete),
                    temperature=0,
                    seed=number,
                )
                seconds = time.process_time() - begun
                wrong = fault(created, output.text) if output.finish_reason == "stop" else ""
                row = {"limit": limit, "complete": complete, "finish": output.finish_reason, "fault": wrong,
                       "tokens": len(output.tokens), "mask_s": round(output.stats.seconds.get("mask", 0), 2),
                       "cpu_s": round(seconds, 2), "text": output.text}  # fmt: skip
                rows.append(row)
                print(json.dumps(row), flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        settings = {"outputs": options.outputs, "tokens": options.tokens, "machine": machine()}
        write_run(options.out, settings, rows, summary(rows))


def summary(rows: list[dict[str, Any]]) -> str:
    """A table: a row for each limit, without and with `complete`."""
    lines = ["| tokens | complete | outputs | end | prepare | CPU s an output, median | most |", "|" + "---|" * 7]
    for limit, complete in dict.fromkeys((row["limit"], row["complete"]) for row in rows):
        mine = [row for row in rows if (row["limit"], row["complete"]) == (limit, complete)]
        ended = [row for row in mine if row["finish"] == "stop"]
        seconds = sorted(row["cpu_s"] for row in mine)
        figures = len(mine), len(ended), sum(not row["fault"] for row in ended), seconds[len(mine) // 2], seconds[-1]
        lines.append(f"| {limit} | {'yes' if complete else 'no'} | " + " | ".join(map(str, figures)) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
