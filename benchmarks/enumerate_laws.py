"""Is the law of every method under every drafter the one that it states? Every decision of tiny decoders is walked.

For each cell (method × drafter that is allowed), at least 200 random models over languages of a few texts: the joint
law of output, log p, weight, evidence and population must be that without drafts to 1e-10, every member properly
weighted, and exact methods exact. The checks are those of tests/speculative/test_ahead.py, which walks a part of these.

    python benchmarks/enumerate_laws.py --out benchmarks/record/<date>-laws

A cell that fails names the models that fail, and the run ends with 1. Clock: CPU time. Drafters whose own draws
multiply the ways are walked on the four smallest languages.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent / "tests"
SMALLEST = ("two", "forced", "twin ids", "empty too")


def cells(names: list[str] | None) -> Iterator[tuple[str, str]]:
    import test_ahead

    for drafter in test_ahead.DRAFTERS:
        for method in test_ahead.METHODS:
            if names is None or method in names:
                yield method, drafter


def models(drafter: str, least: int) -> list[Any]:
    """At least so many models, of every language that the drafter is walked on."""
    import tiny_cases

    languages = [name for name in tiny_cases.TINY_LANGUAGES if drafter != "drawn" or name in SMALLEST]
    seeds = -(-least // len(languages))
    return [case for case in tiny_cases.tiny_cases(seeds) if case.language in languages]


def main(arguments: list[str] | None = None) -> int:
    """Walk all cells, print the table, keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", type=int, default=200, help="for each cell, at least")
    parser.add_argument("--methods", nargs="*", help="only these")
    parser.add_argument("--out", type=Path, help="folder for the record")
    parser.add_argument("--name", default="enumeration", help="of the record's file")
    options = parser.parse_args(arguments)
    sys.path[:0] = [str(TESTS), str(TESTS / "sampling"), str(TESTS / "speculative")]
    import test_ahead

    lines = ["| method | drafter | models | of these wrong | CPU s |", "|---|---|---:|---:|---:|"]
    print(*lines, sep="\n", flush=True)
    failed = 0
    for method, drafter in cells(options.methods):
        start, wrong = time.process_time(), []
        several = models(drafter, options.models)
        for number, case in enumerate(several):
            try:
                test_ahead.check(case, method, drafter, trees=number % 2 == 0)
            except AssertionError:
                wrong.append(str(case))
        spent = time.process_time() - start
        lines.append(f"| {method} | {drafter} | {len(several)} | {len(wrong)} | {spent:.1f} |")
        print(lines[-1], *wrong, flush=True)
        failed += len(wrong)
        if options.out:
            options.out.mkdir(parents=True, exist_ok=True)
            command = "python benchmarks/enumerate_laws.py " + " ".join(sys.argv[1:])
            (options.out / f"{options.name}.md").write_text("\n".join([command, "", *lines, ""]), encoding="utf-8")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
