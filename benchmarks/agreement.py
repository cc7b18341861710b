"""Agreement: what peers' own tests ask, asked of this library; each difference by its cause.

    python benchmarks/agreement.py --xgrammar DIR --llguidance DIR --llama-cpp DIR --outlines-core DIR --schemastore DIR
        [--differences FILE] [--out DIR]

Each option names a checkout of that peer (`git clone`), whose tests are read in place. XGrammar's tests run, with the
XGrammar that is installed; of the others the arguments are read that are written out. The summary (`--out`:
summary.md) has counts and the commits that were read, no row; `--differences` keeps the rows that differ for whoever
looks into them. Columns:
    same      the same answer: a text is a member or not, may go on, or the source is refused
    only here the source is read here and refused there
    differ    any other
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from peers import written, xgrammar
from peers.rows import Row, judged

READERS = {
    "xgrammar": xgrammar.read,
    "llguidance": written.llguidance,
    "llama-cpp": written.llama_cpp,
    "outlines-core": written.outlines_core,
    "schemastore": written.schemastore,
}
QUOTED = re.compile(r"'.*'|\".*\"|\d+|(?<=rule )\w+(?= has)|(?<=so has )\w+")


class Tally:
    """Counts of rows by tests, and of differences by cause."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        self.same: Counter[str] = Counter()
        self.only_here: Counter[str] = Counter()
        self.causes: Counter[tuple[str, str]] = Counter()
        self.differences: list[str] = []

    def count(self, rows: Iterable[Row]) -> None:
        """Judge rows."""
        for row, here, error in judged(rows):
            self.rows[row.tests] += 1
            if here == row.answer:
                self.same[row.tests] += 1
                continue
            self.differences.append(json.dumps({**row._asdict(), "here": here, "error": error}) + "\n")
            if row.answer == "fault":
                self.only_here[row.tests] += 1
            else:
                self.causes[row.tests, cause(row.answer, here, error)] += 1

    def summary(self) -> str:
        """The tables."""
        lines = ["| tests | rows | same | only here | differ |", "|---|---:|---:|---:|---:|"]
        for tests, count in self.rows.items():
            same, only_here = self.same[tests], self.only_here[tests]
            lines.append(f"| {tests} | {count:,} | {same:,} | {only_here} | {count - same - only_here} |")
        lines += ["", "| differences in | cause | rows |", "|---|---|---:|"]
        lines += [f"| {tests} | {why} | {count} |" for (tests, why), count in sorted(self.causes.items())]
        return "\n".join(lines) + "\n"


def cause(there: str, here: str, error: str) -> str:
    """The cause of a difference; of an error its message without names and numbers."""
    return f"not read: {QUOTED.sub('…', error)}" if here == "fault" else f"{there} there, {here} here"


def commit(checkout: Path) -> str:
    """The commit that a checkout is at."""
    asked = ["git", "-C", str(checkout), "log", "-1", "--format=%H of %cs"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip() or "no commit"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in READERS:
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--differences", type=Path)
    parser.add_argument("--out", type=Path)
    options = vars(parser.parse_args())
    tally, read = Tally(), []
    for name, reader in READERS.items():
        checkout = options[name.replace("-", "_")]
        if checkout is not None:
            tally.count(reader(checkout))
            read.append(f"{name}: {commit(checkout)}")
    summary = tally.summary() + "\n" + "\n".join(read) + "\n"
    print(summary)
    if options["differences"]:
        options["differences"].write_text("".join(tally.differences), encoding="utf-8")
    if options["out"]:
        options["out"].mkdir(parents=True, exist_ok=True)
        (options["out"] / "summary.md").write_text(summary, encoding="utf-8")


if __name__ == "__main__":
    main()
