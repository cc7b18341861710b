"""The time that a monitor adds to a mask, of Python, of C, of SQL and of TypeScript.

Question: along texts that the monitor accepts, token by token of a real vocabulary, how long do masks take under the
grammar, and under the grammar with the monitor: at places that are new, and again?

    python benchmarks/monitor_masks.py --out benchmarks/record/<date>-monitor-masks

The texts: short files of Python's own library, the examples of the grammars of C and TypeScript, queries on a small
catalogue, and the files of a folder (--files), if the monitor accepts them to their ends, as far as --tokens, and
--texts at most. CPU time of the thread, and of it the part of the garbage collector at new places under the monitor;
grammar and monitor take turns, text by text, and each has an automaton of its own. "new" is the first pass, "again"
the mean of --rounds more: matchers are made anew, states are known. --parts: also where the code is a part, in a fence
and in a string of JSON, per mask of the longer text.
Checked: every next token is in both masks, and no mask of the monitor allows what the grammar refuses.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from constrain.masks.engine import TokenAutomaton
from constrain.monitors import accepted_beginning, c, monitored, python, sql, typescript
from masks import vocabularies
from masks.records import data_folder, machine, write_run
from masks.summary import table

SUFFIXES = {"python": ".py", "c": ".c", "sql": ".sql", "typescript": ".ts"}
GRAMMARS = Path(__file__).parents[1] / "grammars"
LONGEST = 6_000  # bytes of a file
CATALOGUE = {"users": ["id", "name", "age"], "orders": ["id", "user_id", "total"], "t": ["a", "b", "c"]}
QUERIES = [
    "SELECT name, age FROM users WHERE age > 3 ORDER BY name;",
    "SELECT u.name, count(*) AS many FROM users AS u JOIN orders AS o ON o.user_id = u.id GROUP BY u.name;",
    "WITH old(n) AS (SELECT name FROM users WHERE age > 60) SELECT n FROM old;",
    "SELECT t.a, (SELECT max(total) FROM orders WHERE user_id = t.b) FROM t WHERE t.c IN (1, 2);",
    "INSERT INTO orders (id, user_id, total) VALUES (1, 2, 3); UPDATE t SET a = b + c WHERE b = 1;",
    "SELECT CASE WHEN age >= 18 THEN 'adult' ELSE upper(name) END FROM users WHERE name LIKE 'A%' AND age IS NOT NULL;",
    "DELETE FROM orders WHERE total < (SELECT avg(total) FROM orders) OR user_id NOT IN (SELECT id FROM users);",
    "SELECT a FROM t WHERE b BETWEEN 1 AND 9 UNION SELECT id FROM users GROUP BY id HAVING count(*) > 1 LIMIT 3;",
]
MONITORS = {
    "python": python(),
    "c": c(),
    "sql": sql(CATALOGUE, ahead="known", aliases=["u", "o"]),
    "typescript": typescript(),
}


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="monitor_masks", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--languages", nargs="+", default=list(MONITORS), choices=list(MONITORS))
    parser.add_argument("--vocab", default="llama3", choices=vocabularies.VOCABULARIES)
    parser.add_argument("--tokens", type=int, default=400, help="of a text at most")
    parser.add_argument("--texts", type=int, default=1000, help="of a language at most")
    parser.add_argument("--rounds", type=int, default=3, help="passes in which states are known")
    parser.add_argument("--parts", action="store_true", help="code in a fence and in a string of JSON, too")
    parser.add_argument("--files", type=Path, help="folder of more texts: .py, .c, .sql, .ts")
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, ../shared/data)")
    parser.add_argument("--out", type=Path, help="folder for the record")
    return parser.parse_args(arguments)


def is_short(path: Path) -> bool:
    """True if a file has a suffix that is read and is not too long."""
    return path.suffix in (".py", ".txt", ".lines", ".c", ".ts") and path.stat().st_size < LONGEST


def texts_of(language: str, files: Path | None) -> Iterator[tuple[str, str]]:
    """(name, text) of the texts of a language whose monitor accepts them."""
    if language == "sql":
        found = [(f"query {i}", text) for i, text in enumerate(QUERIES)]
    else:
        folder = Path(argparse.__file__).parent if language == "python" else GRAMMARS / language / "accept"
        found = [(path.name, path.read_text()) for path in sorted(folder.glob("*")) if is_short(path)]
    if files:
        found += [(path.name, path.read_text()) for path in sorted(files.rglob("*" + SUFFIXES[language]))]
    yield from ((name, text) for name, text in found if accepted_beginning(MONITORS[language], text) == text)


@contextmanager
def collecting() -> Iterator[list[float]]:
    """The seconds of each run of the garbage collector."""
    spent, begun = [], [0.0]

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            begun[0] = time.thread_time()
        else:
            spent.append(time.thread_time() - begun[0])

    gc.callbacks.append(note)
    yield spent
    gc.callbacks.remove(note)


def passed(compiled: Any, tokens: list[int], keep: bool = False) -> tuple[float, list[Any]]:
    """(seconds, the masks if they are kept) along some tokens. Raises AssertionError where one is not allowed."""
    matcher, masks, spent = compiled.matcher(), [], 0.0
    row = np.zeros(compiled.vocabulary.words, np.uint32)
    for token in tokens:
        begin = time.thread_time()
        matcher.fill_mask(row)
        spent += time.thread_time() - begin
        if keep:
            masks.append(row.copy())
        assert row[token >> 5] >> (token & 31) & 1, (matcher.text, token)
        assert matcher.advance(token)
    return spent, masks


def measured(language: str, options: argparse.Namespace, listed: Any, vocabulary: Any) -> list[dict[str, Any]]:
    """A row for each text: seconds of masks by way and pass."""
    grammar = constrain.collection.load(language)
    code = monitored(grammar, MONITORS[language])
    ways = {"grammar": grammar, "monitor": code}
    if options.parts:
        ways |= {
            "fence": constrain.seq(constrain.tags.free_text(["```"]), "```code\n", code, "\n```"),
            "string": constrain.seq('{"code": ', constrain.json_string(code), "}"),
        }
    automata = {way: TokenAutomaton(vocabulary) for way in ways}
    compiled = {way: constrain.compile(ways[way], vocabulary, automaton=automata[way]) for way in ways}
    rows = []
    for name, text in islice(texts_of(language, options.files), options.texts):
        around = {"fence": f"See:\n```code\n{text}\n```", "string": json.dumps({"code": text})}
        tokens = {way: listed.encode(around.get(way, text))[: options.tokens] for way in ways}
        row: dict[str, Any] = {"language": language, "text": name}
        row |= {f"{way} masks": len(tokens[way]) for way in ways}
        new = {}
        for way in ways:
            with collecting() as spent:
                new[way] = passed(compiled[way], tokens[way], keep=way in ("grammar", "monitor"))
            if way == "monitor":
                row["collector"] = sum(spent)
        free, narrow = (np.array(new[way][1]) for way in ("grammar", "monitor"))
        assert not (narrow & ~free).any(), "the monitor allows what the grammar refuses"
        row |= {f"{way} new": new[way][0] for way in ways}
        row |= {f"{way} again": 0.0 for way in ways}
        for _ in range(options.rounds):
            for way in ways:
                row[f"{way} again"] += passed(compiled[way], tokens[way])[0] / options.rounds
        row["refused"] = int(np.bitwise_count(free & ~narrow).sum())
        rows.append(row)
    return rows


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, keep."""
    options = parse(arguments)
    listed = vocabularies.load(options.vocab, data_folder(options.data))
    vocabulary = constrain.Vocabulary(listed.tokens, eos_ids=[listed.eos_id])
    rows, lines = [], []
    for language in options.languages:
        found = measured(language, options, listed, vocabulary)
        counts = {key.split()[0]: sum(row[key] for row in found) for key in found[0] if key.endswith("masks")}
        timed = [key for key in found[0] if key.endswith(("new", "again"))]
        mean = {key: 1e6 * sum(row[key] for row in found) / counts[key.split()[0]] for key in timed}
        masks = counts["monitor"]
        lines.append([
            language, str(len(found)), str(masks), *(f"{each:.1f}" for each in mean.values()),
            f"{mean['monitor again'] / mean['grammar again']:.2f}",
            f"{1e6 * sum(row['collector'] for row in found) / masks:.1f}",
            f"{sum(row['refused'] for row in found) / masks:.0f}",
        ])  # fmt: skip
        rows += found
        print(lines[-1], flush=True)
    head = [
        "language",
        "texts",
        "masks",
        *(f"{key}, µs" for key in mean),
        "again, ratio",
        "collector, µs",
        "tokens refused a mask",
    ]
    summary = table(head, lines)
    print(summary)
    if options.out:
        write_run(options.out, {"command": "monitor_masks", **machine()}, rows, summary)


if __name__ == "__main__":
    main()
