"""Random schemas and values: our verdicts compared with those of two other validators.

Question: over schemas of drafts 4 to 2020-12 that mix every validation keyword, and values that aim at them, is the
verdict of the grammar (and of the check of the finished text) that of `jsonschema` and of `jsonschema-rs`?

    python benchmarks/differential.py --pairs 50000 --seed 1 --out benchmarks/record/differential
    python benchmarks/differential.py --seed 1 --only 4711        # one schema again, with its values and verdicts

Each pair is one schema and one text (`property_order="any"`, `formats="annotate"`). Outcomes:

    agree       all three say the same
    refused     we refuse the schema by name, at compile time: counted, not a disagreement
    validator   a validator is wrong or breaks down for a known fault (schema_oracle_bugs.py of the tests), and all
                three agree about an equivalent schema that steers clear of it
    WRONG       anything else; also: a crash of ours, or more than --time-limit seconds for one schema or text

A disagreement is made small and written to `disagreements.jsonl`; one makes the run fail. Limits: schemas are small
(about 20 subschemas) and made of a few names, patterns and numbers; texts are those of `json.dumps` without white
space, so other spellings of strings and numbers are for other tests (tests/languages/schema/).
Needs the packages of the extra `test`. Several hundred pairs a second.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn

from masks.limits import TimeLimitError, time_limit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "languages" / "schema"))
from schema_instances import Aim
from schema_oracles import Ours, Outcome, Python, Refused, Rust, compare, is_wrong, keywords, ours, write
from schema_shrink import shrink
from schema_strategies import ANNOTATIONS, DRAFTS, NAMES, PATTERNS, SchemaMaker, Seeded

NO_KEYWORDS = {*NAMES, *PATTERNS, *dict(ANNOTATIONS), "leaf", "node", "named", "tree", "inner"}

SHOWN = ("number", "draft", "small_schema", "small_text", "ours", "python", "rust")


class Case(NamedTuple):
    """A schema with its texts. number: with the seed, it makes them again."""

    number: int
    draft: str
    schema: dict[str, Any]
    texts: list[str]


def make_case(number: int, options: argparse.Namespace) -> Case:
    """The case of a number."""
    drafts = options.drafts.split(",")
    draft = drafts[number % len(drafts)]
    chooser = Seeded(f"{options.seed}:{number}")
    schema = SchemaMaker(chooser, DRAFTS[draft], options.size).document()
    values = Aim(chooser, schema).values(options.values)
    return Case(number, draft, schema, list(dict.fromkeys(map(write, values))))


class Run:
    """The counts of one run."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.valid = 0
        self.refusals: collections.Counter[str] = collections.Counter()
        self.bugs: collections.Counter[str] = collections.Counter()
        self.by_keyword: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.disagreements: list[dict[str, Any]] = []
        self.schemas = 0
        self.slowest = 0.0

    def one(self, case: Case) -> int:
        """Judge all texts of a case; how many there were."""
        self.schemas += 1
        python, rust = Python(case.schema), Rust(case.schema)
        began = time.perf_counter()
        try:
            with time_limit(self.options.time_limit):
                judge = ours(case.schema)
        except (TimeLimitError, Exception) as error:
            self.note(case, "", Outcome("WRONG", None, None, False), repr(error))
            return 1
        self.slowest = max(self.slowest, time.perf_counter() - began)
        if isinstance(judge, Refused):
            self.refusals[f"{judge.error}: {judge.message[:90]}"] += 1
        found = keywords(case.schema) - NO_KEYWORDS
        for text in case.texts:
            self.judge(case, text, judge, python, rust, found)
        return len(case.texts)

    def judge(self, case: Case, text: str, judge: Ours | Refused, python: Python, rust: Rust, found: set[str]) -> None:
        """One pair."""
        fault = None
        try:
            with time_limit(self.options.time_limit):
                outcome = compare(case.schema, text, judge, python, rust)
        except (TimeLimitError, Exception) as error:
            outcome, fault = Outcome("WRONG", None, None, False), repr(error)
        self.outcomes[outcome.kind] += 1
        self.valid += outcome.rust
        if outcome.bug is not None:
            self.bugs[outcome.bug] += 1
        for keyword in found:
            self.by_keyword[keyword][outcome.kind] += 1
        if outcome.kind == "WRONG":
            self.note(case, text, outcome, fault)

    def note(self, case: Case, text: str, outcome: Outcome, fault: str | None) -> None:
        """Record a disagreement; the first of a schema is made small."""
        record = {"seed": self.options.seed, "number": case.number, "draft": case.draft, "fault": fault}
        record |= {"ours": outcome.ours, "python": outcome.python, "rust": outcome.rust}
        if text and fault is None and all(case.number != other["number"] for other in self.disagreements):
            schema, value = shrink(case.schema, json.loads(text), is_wrong)
            record |= {"small_schema": schema, "small_text": write(value)}
        self.disagreements.append(record | {"schema": case.schema, "text": text})
        if not text:
            self.outcomes["WRONG"] += 1

    def summary(self) -> dict[str, Any]:
        """Everything that was counted."""
        pairs = sum(self.outcomes.values())
        return {
            "date": time.strftime("%Y-%m-%d"),
            "seed": self.options.seed,
            "drafts": self.options.drafts,
            "schemas": self.schemas,
            "pairs": pairs,
            **{kind: self.outcomes[kind] for kind in ("agree", "refused", "validator", "WRONG")},
            "valid": self.valid,
            "slowest schema, seconds": round(self.slowest, 2),
            "schemas refused, by reason": dict(self.refusals.most_common()),
            "faults of validators, pairs": dict(self.bugs.most_common()),
            "jsonschema": version("jsonschema"),
            "jsonschema-rs": version("jsonschema-rs"),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        }

    def table(self) -> str:
        """Pairs by keyword, as a Markdown table."""
        rows = ["| keyword | pairs | agree | refused | validator wrong | WRONG |", "|---|---:|---:|---:|---:|---:|"]
        for keyword in sorted(self.by_keyword, key=str.lower):
            counts = self.by_keyword[keyword]
            cells = [sum(counts.values()), counts["agree"], counts["refused"], counts["validator"], counts["WRONG"]]
            rows.append(f"| `{keyword}` | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
        return "\n".join(rows) + "\n"


def warm_up() -> None:
    """Have kernels compiled (once a machine, about a minute) before anything is timed."""
    options = argparse.Namespace(drafts=",".join(DRAFTS), seed="warm up", size=10, values=4)
    for number in range(60):
        case = make_case(number, options)
        judge = ours(case.schema)
        if not isinstance(judge, Refused):
            for text in case.texts:
                judge(text)


def show(case: Case) -> None:
    """One case in full."""
    print(json.dumps(case.schema, ensure_ascii=False))
    judge = ours(case.schema)
    if isinstance(judge, Refused):
        print(judge)
    for text in case.texts:
        print(text, compare(case.schema, text, judge, Python(case.schema), Rust(case.schema)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", type=int, default=50_000)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--values", type=int, default=8, help="texts a schema (default: 8, less what repeats)")
    parser.add_argument("--size", type=int, default=10, help="about how many subschemas the root has (default: 10)")
    parser.add_argument("--drafts", default=",".join(DRAFTS))
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for one schema or text (default: 20)")
    parser.add_argument("--only", type=int, help="show this schema of the seed, and nothing else")
    parser.add_argument("--out", type=Path, help="folder for the summary and the disagreements")
    options = parser.parse_args()
    if options.only is not None:
        show(make_case(options.only, options))
        return 0
    warm_up()
    run = Run(options)
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("pairs", total=options.pairs)
        while sum(run.outcomes.values()) < options.pairs:
            progress.advance(task, run.one(make_case(run.schemas, options)))
    summary = run.summary()
    print(json.dumps(summary, indent=2, ensure_ascii=False))
    for record in run.disagreements:
        if "small_schema" in record:
            print("WRONG", json.dumps({key: record[key] for key in SHOWN}, ensure_ascii=False))
        elif record["fault"]:
            print("WRONG", record["number"], record["draft"], record["fault"], record["text"])
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in run.disagreements)
        (options.out / "disagreements.jsonl").write_text(lines)
        (options.out / "summary.json").write_text(json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
        (options.out / "keywords.md").write_text(run.table())
    return 1 if run.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
