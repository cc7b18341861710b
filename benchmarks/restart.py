"""The first masks of an engine that starts again: compiling, beside images of what it served before.

Question: what do the constraint of many tools and its first masks cost in a new process, without images, with images,
and in a second process beside it?

    python benchmarks/restart.py --out benchmarks/record/<date>-restart    # three minutes on an idle machine

A process each, in turns: one that has an empty folder of images, serves two requests of each constraint and so writes
its images; one that starts with them; one that starts while that one is alive. Tools are those of `served.py`
(masks/parts.py) as a structural tag, the vocabulary is SmolLM2's, every default of an engine. Each process follows the
text that was served and another one, of other free text and other values, by `RequestMatcher`. Times are CPU time of
the engine's thread; the compiling beside it is told apart. Masks are compared: a digest of all rows of a text must be
that of the process without images, or the run ends.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np

from masks import code, parts
from masks.records import machine, write_page
from masks.summary import table
from masks.usage import refuse
from masks.vocabularies import tokenizer_of

COUNTS = (10, 100, 500)
WAYS = ("cold", "from disk", "a second process")
Summary = dict[str, Any]


def texts_of(count: int) -> tuple[str, list[str]]:
    """(structural tag of so many tools, the text that is served and another one)."""
    tools = [parts.tool(10_000 + count + number) for number in range(count)]
    calls = [(name, arguments) for name, _, arguments in tools[:: max(1, count // parts.CALLS)][: parts.CALLS]]
    others = [(name, {key: other(value) for key, value in arguments.items()}) for name, arguments in calls]
    said = "\n".join(parts.call(*each) for each in calls), "\n".join(parts.call(*each) for each in others)
    return json.dumps(parts.form(tools).text), [parts.FREE + said[0], "All right, I will see to it now.\n" + said[1]]


def other(value: Any) -> Any:
    """A free text of other words; any other value as it is."""
    return (
        value.replace("the ", "some other ").replace(" of ", ", a little more than ") if " of " in str(value) else value
    )


def work(options: argparse.Namespace) -> None:
    """One process: the figures of each number of tools, as JSON. It ends when its input does."""
    from constrain.engines.requests.compiler import RequestCompiler
    from constrain.engines.requests.image import ImageCursor
    from constrain.engines.requests.options import EngineOptions
    from constrain.engines.requests.request import RequestMatcher

    tokenizer = tokenizer_of("smollm2", options.data)
    begin = time.process_time()
    compiler = RequestCompiler(tokenizer, 49152, EngineOptions(keep_served=True), [2])
    found: Summary = {"start": time.process_time() - begin, "tools": {}}
    row = np.zeros(compiler.vocabulary.words, np.uint32)
    for count in COUNTS:
        text, said = texts_of(count)
        begin = time.thread_time_ns()
        compiled = compiler.compiled("structural_tag", text)
        figures: Summary = {"compile": (time.thread_time_ns() - begin) / 1e6, "texts": []}
        for each in said if options.way != WAYS[0] else [*said, said[0], said[0]]:
            request = RequestMatcher(compiled, (), logging.getLogger("restart"))
            digest, times = hashlib.sha256(), []
            tokens = [*tokenizer.encode(each, add_special_tokens=False).ids, 2]
            for token in tokens:
                begin = time.thread_time_ns()
                request.fill(row)
                taken = request.read(token)
                times.append((time.thread_time_ns() - begin) / 1000)
                digest.update(row.tobytes())
                if not taken:
                    refuse(f"restart: token {token} of {each!r} was refused: {request.fault}")
            said_of = {"first": times[0], "mean": float(np.mean(times)), "worst": max(times), "tokens": len(times)}
            known = isinstance(request.here, ImageCursor)
            figures["texts"].append({**said_of, "by image": known, "rows": digest.hexdigest()})
        found["tools"][count] = figures
    compiler._beside.shutdown()
    compiler.close()
    print(json.dumps(found), flush=True)
    sys.stdin.read()


def measured(options: argparse.Namespace) -> Summary:
    """The figures of the three processes."""
    found: Summary = {"run": machine(), "ways": {}}
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "CONSTRAIN_CACHE": cache, "PYTHONPATH": str(code.ROOT)}
        alive = []
        for way in WAYS:
            command = [sys.executable, __file__, "--way", way, *(["--data", str(options.data)] if options.data else [])]
            process = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                refuse(f"restart: the process {way!r} ended")
            found["ways"][way] = json.loads(line)
            if way == WAYS[0]:
                process.communicate("")
                found["bytes"] = sum(path.stat().st_size for path in Path(cache).glob("states-*.bin"))
                found["images"] = len(list(Path(cache).glob("states-*.bin")))
            else:
                alive.append(process)
        for process in alive:
            process.communicate("")
    for count in map(str, COUNTS):
        rows = [[each["rows"] for each in found["ways"][way]["tools"][count]["texts"][:2]] for way in WAYS]
        if rows[0] != rows[1] or rows[0] != rows[2]:
            refuse(f"restart: masks of {count} tools differ")
    return found


def tables(found: Summary) -> str:
    """The figures in Markdown."""
    rows = []
    for count in map(str, COUNTS):
        for way in WAYS:
            of = found["ways"][way]["tools"][count]
            served, new = of["texts"][:2]
            cells = [of["compile"], served["first"] / 1000, served["mean"], served["worst"] / 1000]
            cells += [new["first"] / 1000, new["mean"], new["worst"] / 1000]
            known = f"{'yes' if served['by image'] else 'no'}, {'yes' if new['by image'] else 'no'}"
            rows.append([f"{count} tools, {way}", *(f"{x:,.2f}" for x in cells), known])
    head = ["", "compile, ms", "served text: first mask, ms", "mean, µs", "worst, ms",
            "new text: first mask, ms", "mean, µs", "worst, ms", "image to the end"]  # fmt: skip
    starts = ", ".join(f"{way} {found['ways'][way]['start']:.2f}" for way in WAYS)
    told = f"""{found["images"]} images, {found["bytes"]:,} bytes. Start of the engine, CPU seconds: {starts}
(the first process also reads the tokenizer into the cache). Means are of a mask and a token. A process
that has images compiles the same constraint in a thread beside, for about the CPU time of the cold one;
that is not in the table, nor is what it takes from the loop meanwhile. Texts end in the image, or not; all
masks of a text have the same digest in the three processes."""
    return f"{table(head, rows)}\n\n{textwrap.fill(' '.join(told.split()), 120)}"


def main() -> None:
    """Read the options, and measure."""
    parser = argparse.ArgumentParser(prog="restart", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of data; default: as for served.py")
    parser.add_argument("--out", type=Path, help="folder of the record")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        work(options)
        return
    found = measured(options)
    print(tables(found))
    write_page(options.out, found, "An engine that starts again", "python benchmarks/restart.py", tables(found))


if __name__ == "__main__":
    main()
