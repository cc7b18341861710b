"""Values of JSON texts that are being written: the time for each piece as the text grows.

Question: texts of growing size are read in pieces of four characters, about what a token has. How long does a piece
take, and how long with a pydantic model that fills? Beside it: parsing all that was written anew at each piece, by
pydantic's partial parser, which is what readers do that have no state.

    python benchmarks/partials.py --out benchmarks/record/<date>-partials

Every value is compared with `json.loads`, every model with `model_validate_json`. Parsing anew is quadratic, so it is
measured on the first `--anew` pieces of a text whose beginning is parsed in one go, at three places, and said for the
average piece. Clock: CPU time of this thread.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import pydantic
from pydantic_core import from_json

from constrain.chat.streaming import JsonValues, TypedValues

PIECE = 4
SIZES = (62_500, 125_000, 250_000, 500_000, 1_000_000)


class Entry(pydantic.BaseModel):
    """A row of the text."""

    name: str
    size: int
    ratio: float
    labels: list[str]
    note: str | None


class Table(pydantic.BaseModel):
    """The text."""

    title: str
    rows: list[Entry]


def text_of(size: int) -> str:
    """A text of about so many characters."""
    rows = []
    length = 0
    while length < size:
        i = len(rows)
        note = None if i % 3 else 'said "no",\n\u00e9t\u00e9 \U0001f600'
        rows.append({"name": f"row {i}", "size": i, "ratio": i / 7, "labels": ["a", "b" * (i % 9)], "note": note})
        length += len(json.dumps(rows[-1])) + 2
    return json.dumps({"title": "Table", "rows": rows})


def measure(text: str, typed: bool) -> float:
    """Microseconds a piece, all pieces read; the result is checked."""
    values, model = JsonValues(), TypedValues(Table)
    begin = time.thread_time()
    for at in range(0, len(text), PIECE):
        changes = values.read(text[at : at + PIECE])
        if typed:
            model.follow(changes)
    seconds = time.thread_time() - begin
    assert values.ended and values.value == json.loads(text)
    assert not typed or model.value == Table.model_validate_json(text)
    return seconds / (len(text) / PIECE) * 1e6


def anew(text: str, pieces: int) -> float:
    """Microseconds a piece, if all that was written is parsed at each."""
    begin, count = time.thread_time(), 0
    for part in (1, 3, 5):
        for at in range(pieces):
            from_json(text[: len(text) * part // 6 + at * PIECE], allow_partial="trailing-strings")
            count += 1
    return (time.thread_time() - begin) / count * 1e6


def main(arguments: list[str] | None = None) -> int:
    """Print the table, keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="characters of the texts")
    parser.add_argument("--anew", type=int, default=20, help="pieces at each place for the comparison (default: 20)")
    parser.add_argument("--out", type=Path, help="folder for the record")
    options = parser.parse_args(arguments)
    lines = ["| characters | values, µs a piece | with a model | parsed anew |", "|---:|---:|---:|---:|"]
    for size in options.sizes:
        text = text_of(size)
        cells = measure(text, False), measure(text, True), anew(text, options.anew)
        lines.append(f"| {len(text):,} | {cells[0]:.2f} | {cells[1]:.2f} | {cells[2]:,.0f} |")
        print(*(lines if len(lines) == 3 else lines[-1:]), sep="\n", flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        command = "python benchmarks/partials.py " + " ".join(sys.argv[1:])
        (options.out / "summary.md").write_text("\n".join([command, "", *lines, ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
