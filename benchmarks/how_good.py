"""The tables and pictures of docs/how-good.md, from the records that are kept.

    python benchmarks/how_good.py                # writes them; tests/benchmarks/test_how_good.py compares

How the records were made: their README.md.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

from evaluation.report import by_dataset, dataset_tables, shares
from masks.records import Records
from tasks import page
from tasks.pictures import bars, curves
from tasks.served import table_of

ROOT = Path(__file__).resolve().parents[1]
RECORD, PAGE, PICTURES = ROOT / "benchmarks" / "record", ROOT / "docs" / "how-good.md", ROOT / "docs" / "pictures"
TASKS, GEMMA, COVERAGE = "2026-11-26-tasks", "2026-11-27-gemma", "2026-11-27-coverage"
ENGINES = ("constrain", "llguidance", "xgrammar", "outlines-core")
LOWEST = -40.0  # log mass: what bends more is drawn there


def answers(name: str) -> list[dict[str, Any]]:
    """The answers of a record."""
    return Records(RECORD / name, "answers", "id").all()


def served() -> list[dict[str, Any]]:
    """The counts of vLLM's runs."""
    found: list[dict[str, Any]] = json.loads((RECORD / TASKS / "served.json").read_text(encoding="utf-8"))
    return found


def covered() -> dict[str, list[dict[str, Any]]]:
    """The records of each engine over the schemas."""
    return {name: Records(RECORD / COVERAGE, name).all() for name in ENGINES}


def parts() -> dict[str, str]:
    """Mark of the page → its tables."""
    return {
        "tasks": page.tables(answers(TASKS)),
        "served": table_of(served()),
        "gemma": page.short_tables(answers(GEMMA)),
        "coverage": dataset_tables(covered()),
    }


def pictures() -> dict[str, str]:
    """Name of a file → its text."""
    records = answers(TASKS)
    right, mass = {}, {}
    for kind in page.kinds(records):
        arms = {arm: each for arm, each in page.by_arm(records, kind).items() if arm in page.MAIN}
        right[page.TITLES[kind]] = {
            arm: (100 * fmean(r["right"] for r in arms[arm]), fmean(r["tokens"] for r in arms[arm]))
            for arm in page.MAIN if arm in arms
        }  # fmt: skip
        masses = {arm: [r["log_mass"] for r in each if r["log_mass"] is not None] for arm, each in arms.items()}
        mass[page.TITLES[kind]] = {arm: masses[arm] for arm in page.MAIN if masses.get(arm)}
    covers = {
        dataset: {name: shares(each) for name, each in of.items() if each}
        for dataset, of in by_dataset(covered()).items()
    }
    return {
        "right-and-tokens.svg": bars(right, {"right, %": 100, "tokens": None}),
        "mass-bent.svg": curves(mass, LOWEST),
        "coverage.svg": bars(covers, {"declared, %": 100, "empirical, %": 100, "true, %": 100}),
    }


def main() -> int:
    """Write the page and the pictures."""
    text = PAGE.read_text(encoding="utf-8")
    for mark, tables in parts().items():
        text = page.written_into(text, mark, tables)
    PAGE.write_text(text, encoding="utf-8")
    for name, drawn in pictures().items():
        (PICTURES / name).write_text(drawn, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
