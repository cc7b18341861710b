"""The time that a monitor adds to a mask.

Question: along texts that a monitor accepts, token by token of a real vocabulary, how long do masks take under the
grammar, and under the grammar with the monitor: at places that are new, and again?

    python benchmarks/monitor_masks.py --cases c 'python, any' --out benchmarks/record/<date>-monitor-masks

Monitors and texts are those of monitor_walks.py, and the files of a folder (--files, by the grammar's suffix), as far
as --tokens. CPU time of the thread; grammar and monitor take turns, text by text, and each has an automaton of its own.
"new" is the first pass, "again" the mean of --rounds more: matchers are made anew, states are known. Checked: every
next token is in both masks, and no mask of the monitor allows what the grammar refuses.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from constrain.masks.engine import TokenAutomaton
from constrain.monitors import accepted_beginning, monitored
from masks import vocabularies
from masks.records import data_folder, machine, write_run
from masks.summary import table
from monitor_walks import CASES


def passed(compiled: Any, tokens: list[int]) -> tuple[float, np.ndarray]:
    """(seconds, the masks) along some tokens. Raises AssertionError where one is not allowed."""
    matcher, spent = compiled.matcher(), 0.0
    rows = np.zeros((len(tokens), compiled.vocabulary.words), np.uint32)
    for row, token in zip(rows, tokens, strict=True):
        begin = time.thread_time()
        matcher.fill_mask(row)
        spent += time.thread_time() - begin
        assert row[token >> 5] >> (token & 31) & 1, (matcher.text, token)
        assert matcher.advance(token)
    return spent, rows


def measured(case: str, options: argparse.Namespace, listed: Any) -> list[dict[str, Any]]:
    """A row for each text: masks, and seconds by way and pass."""
    name, monitor, texts = CASES[case]
    folder = constrain.collection.folder(name)
    if options.files:
        files = sorted(options.files.rglob(f"*{folder.settings['suffix']}"))
        texts = [*texts, *(path.read_text(encoding="utf-8") for path in files)]
    vocabulary = constrain.Vocabulary(listed.tokens, eos_ids=[listed.eos_id])
    grammar = constrain.collection.load(name)
    compiled = [
        constrain.compile(each, vocabulary, automaton=TokenAutomaton(vocabulary))
        for each in (grammar, monitored(grammar, monitor))
    ]
    rows = []
    for text in (each for each in texts if accepted_beginning(monitor, each) == each):
        tokens = listed.encode(text)[: options.tokens]
        (free_s, free), (own_s, own) = (passed(each, tokens) for each in compiled)
        assert not (own & ~free).any(), "the monitor allows what the grammar refuses"
        again = [sum(passed(each, tokens)[0] for _ in range(options.rounds)) / options.rounds for each in compiled]
        row = {"case": case, "masks": len(tokens), "grammar new": free_s, "monitor new": own_s}
        row |= {
            "grammar again": again[0],
            "monitor again": again[1],
            "refused": int(np.bitwise_count(free & ~own).sum()),
        }
        rows.append(row)
    return rows


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--vocab", default="llama3", choices=vocabularies.VOCABULARIES)
    parser.add_argument("--tokens", type=int, default=400, help="of a text at most")
    parser.add_argument("--rounds", type=int, default=3, help="passes in which states are known")
    parser.add_argument("--files", type=Path, help="folder of more texts")
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, ../shared/data)")
    parser.add_argument("--out", type=Path, help="folder for the record")
    options = parser.parse_args()
    listed = vocabularies.load(options.vocab, data_folder(options.data))
    rows, lines, keys = [], [], [f"{way} {when}" for when in ("new", "again") for way in ("grammar", "monitor")]
    for case in options.cases:
        rows += (found := measured(case, options, listed))
        masks = sum(row["masks"] for row in found)
        means = [1e6 * sum(row[key] for row in found) / masks for key in keys]
        cells = [*(f"{each:.1f}" for each in means), f"{means[3] / means[2]:.2f}"]
        lines.append([case, str(len(found)), str(masks), *cells, f"{sum(row['refused'] for row in found) / masks:.0f}"])
        print(*lines[-1], flush=True)
    head = ["monitor", "texts", "masks", *(f"{key}, µs" for key in keys), "again, ratio", "tokens refused a mask"]
    summary = table(head, lines)
    print(summary)
    if options.out:
        write_run(options.out, {"command": "monitor_masks", **machine()}, rows, summary)


if __name__ == "__main__":
    main()
