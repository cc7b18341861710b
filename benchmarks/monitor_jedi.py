"""The names that jedi would add to the monitor of Python, and its wrong refusals.

Question: at attributes in real files whose value the monitor does not know (any name may follow the dot), does jedi's
analysis of the text so far name the attribute that stands there?

    pip install jedi
    python benchmarks/monitor_jedi.py --places 300 --out benchmarks/record/<date>-monitor-jedi

Files are drawn by a seed from CPython's standard library, and of each one place: a name after a dot, outside of
imports. jedi gets the text up to the dot, as in generation, and is asked for completions, and for the types of the
value before the dot. A monitor could restrict the name to its completions wherever there are some ("completions"), or
only where jedi finds one type ("one type"). A restriction without the name that stands there is a wrong refusal.
Checked: where the monitor knows names the one that stands there is among them. Files that it refuses are left out; they
use names that nothing binds, as the record of monitor_python.py says of each.
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import sys
import sysconfig
import time
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from constrain.errors import ConstrainError
from constrain.monitors import names_at, python
from masks.records import machine, write_run
from masks.summary import table

LONGEST = 40_000  # bytes of a file
WAYS = ("completions", "one type")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="monitor_jedi", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--places", type=int, default=300, help="places that are open to the monitor (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--out", type=Path, help="folder for a record")
    return parser.parse_args(arguments)


def files(seed: int) -> Iterator[tuple[str, str]]:
    """(name, text) of files of the standard library, in an order drawn by the seed."""
    library = Path(sysconfig.get_path("stdlib"))
    found = sorted(path for path in library.rglob("*.py") if "site-packages" not in path.parts)
    random.Random(seed).shuffle(found)
    for path in found:
        if path.stat().st_size > LONGEST:
            continue
        try:
            text = path.read_text(encoding="utf-8")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        yield str(path.relative_to(library)), text


def attributes(text: str) -> list[tuple[int, int, str]]:
    """(line, column, name) of the names after a dot in a text; lines count from 1. Imports are left out."""
    found, before, line = [], "", ""
    for each in tokenize.generate_tokens(io.StringIO(text).readline):
        if each.type == tokenize.NAME and before == "." and line not in ("import", "from"):
            found.append((*each.start, each.string))
        if before in ("", "\n") and each.type not in (tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT):
            line = each.string  # the first word of a statement
        if each.type == tokenize.NEWLINE:
            before = ""
        elif each.type not in (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT):
            before = each.string
    return found


def place_in(name: str, text: str, draw: random.Random, monitor: Any) -> dict[str, Any] | None:
    """A row for one attribute of a file; None: it has none, or the monitor knows the names there."""
    places = attributes(text)
    if not places:
        return None
    line, column, wanted = draw.choice(places)
    lines = text.splitlines(keepends=True)
    beginning = "".join(lines[: line - 1]) + lines[line - 1][:column]
    try:
        known = names_at(monitor, beginning)
    except ConstrainError:  # a name that nothing binds, see monitor_python.py
        return None
    assert known is None or wanted in known, (name, line, wanted)
    if known is not None:
        return None
    return {"file": name, "line": line, "name": wanted, **asked(beginning, line, column, wanted)}


def asked(beginning: str, line: int, column: int, wanted: str) -> dict[str, Any]:
    """Ask jedi at the end of a text: the number of names, whether the wanted one is there, the number of types."""
    import jedi

    begin = time.thread_time()
    try:
        script = jedi.Script(beginning)
        names = {each.name for each in script.complete(line, column)}
        types = {each.full_name for each in script.infer(line, max(column - 2, 0))}
        fault = ""
    except Exception as error:  # jedi's own faults are a finding
        names, types, fault = set(), set(), type(error).__name__
    spent = time.thread_time() - begin
    return {"names": len(names), "named": wanted in names, "types": len(types), "fault": fault, "seconds": spent}


def summary(rows: list[dict[str, Any]], met: int) -> str:
    """The table."""
    lines = []
    for way in WAYS:
        used = [row for row in rows if row["names"] and (way == "completions" or row["types"] == 1)]
        wrong = sum(not row["named"] for row in used)
        lines.append([way, str(len(rows)), str(len(used)), str(wrong), f"{wrong / max(len(used), 1):.0%}"])
    times = sorted(row["seconds"] * 1000 for row in rows)
    faults = sum(bool(row["fault"]) for row in rows)
    heads = ["restricted to", "open places", "restricted", "wrong refusals", "of these"]
    return (
        table(heads, lines) + f"\n\n{met} places met, {len(rows)} of them open to the monitor. jedi takes "
        f"{times[len(times) // 2]:.0f} ms at the median, {times[len(times) * 9 // 10]:.0f} at p90; "
        f"{faults} errors of its own.\n"
    )


def main(arguments: list[str] | None = None) -> int:
    """Ask, print, keep."""
    options = parse(arguments)
    draw, monitor, rows, met = random.Random(options.seed), python(), [], 0
    for name, text in files(options.seed):
        met += bool(attributes(text))
        row = place_in(name, text, draw, monitor)
        if row is not None:
            rows.append(row)
        if len(rows) == options.places:
            break
    found = summary(rows, met)
    print(found)
    if options.out is not None:
        import jedi

        described = {"command": "python benchmarks/monitor_jedi.py " + " ".join(sys.argv[1:]), **machine()}
        write_run(options.out, {**described, "jedi": jedi.__version__}, rows, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
