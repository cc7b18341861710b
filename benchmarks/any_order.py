"""Properties in any order beside the order of the schema: the cost of a mask, and the growth of reading with the text.

Question: what do compiling, masks and commits take under `property_order="any"`, divided by what they take under
`"schema"`; and how do they grow with the number of properties?

    python benchmarks/any_order.py --limit 500 --sizes 100,1000,20000 --out DIR

* MaskBench: both orders in one process, file by file in turn, each with states of its own; which is first alternates,
  too. Times are compared over the files in which both read the same tokens; where an instance is not in the order of
  the schema, one of them refuses it. Instances are written by `json.dumps`.
* Growth: objects of n integer properties, closed, optional or required, one text of all of them for each way to read:
  forwards, backwards, drawn at random (not under "schema"). Each mask must allow the next token, and the text must be
  allowed to end there and not before. `µs a token` of n properties near that of a tenth of n says that reading is
  linear; `first` is the first mask, `most` the slowest of the others.

Times are of the thread's clock. Bias: MaskBench's keys come in the order of the schema, which suits either; a model
that is free to choose may write other orders.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from typing import Any

import numpy as np

from masks import engines, vocabularies
from masks.interface import Settings, is_set
from masks.measure import VERDICTS, measure
from masks.options import add_files, add_records, chosen_files
from masks.records import data_folder, machine
from masks.usage import refuse
from masks.vocabularies import BenchVocabulary

ORDERS = ("schema", "any")
READINGS = {"schema": ("forwards",), "any": ("forwards", "backwards", "at random")}
WARM_UP_TEXT = '{"a": "b", "b": [1, 2.5]}'


def compare(options: argparse.Namespace, vocabulary: BenchVocabulary) -> dict[str, Any]:
    """MaskBench under both orders: times, and those of "any" divided by those of "schema"."""
    made = {order: engines.make("constrain", vocabulary, Settings(order == "any")) for order in ORDERS}
    for engine in made.values():
        engines.warm_up(engine, vocabulary.encode(WARM_UP_TEXT))
    records: dict[str, list[dict[str, Any]]] = {order: [] for order in ORDERS}
    alone = {"schema": 0, "any": 0}  # files in which this order alone accepts what is valid
    apart = 0  # files in which the two read other tokens
    for number, path in enumerate(chosen_files(options, "any_order")):
        rows = {}
        for order in ORDERS[:: 1 if number % 2 else -1]:
            rows[order] = measure(made[order], vocabulary, path, time.thread_time_ns, options.time_limit)
        refused = {order: rows[order]["valid_refused"] + (rows[order]["error"] is not None) for order in ORDERS}
        alone["any"] += refused["any"] < refused["schema"]
        alone["schema"] += refused["schema"] < refused["any"]
        same = all(rows["any"][name] == rows["schema"][name] for name in (*VERDICTS, "error"))
        if not same or len(rows["any"]["mask_us"]) != len(rows["schema"]["mask_us"]):
            apart += 1
            continue
        for order in ORDERS:
            records[order].append(rows[order])
    found: dict[str, Any] = {order: _times(rows) for order, rows in records.items()}
    ratios = {key: round(found["any"][key] / found["schema"][key], 3) for key in found["any"] if key.endswith("µs")}
    counts = {"files compared": len(records["any"]), "files that read other tokens": apart, "passes alone": alone}
    return counts | found | {"any / schema": ratios}


def _times(rows: list[dict[str, Any]]) -> dict[str, Any]:
    masks = np.concatenate([row["mask_us"] for row in rows])
    both = np.concatenate([row["tbm_us"] for row in rows])
    compiled = np.array([row["compile_us"] for row in rows if row["compile_us"] is not None])
    found: dict[str, Any] = {"masks": len(masks)}
    for name, times in (("mask", masks), ("mask + commit", both), ("compile", compiled)):
        found[f"{name} mean, µs"] = round(float(times.mean()), 2)
        for share in (50, 90, 99, 99.9):
            found[f"{name} p{share}, µs"] = round(float(np.percentile(times, share)), 2)
    return found


def grow(options: argparse.Namespace, vocabulary: BenchVocabulary) -> list[dict[str, Any]]:
    """A row for each size, order, way of reading, and optional or required."""
    import constrain

    ours = constrain.Vocabulary(vocabulary.tokens, eos_ids=[vocabulary.eos_id])
    for order in ORDERS:  # what the first object of a process pays for
        constrain.compile(constrain.json_schema({"properties": {"a": {}}}, property_order=order), ours).matcher()
    rows = []
    for n in map(int, options.sizes.split(",")):
        for order in ORDERS:
            for reading in READINGS[order]:
                for required in (False, True):
                    rows.append(_read(n, order, reading, required, vocabulary, ours))
                    print(_line(rows[-1]), flush=True)
    return rows


def _read(n: int, order: str, reading: str, required: bool, vocabulary: BenchVocabulary, ours: Any) -> dict[str, Any]:
    import constrain

    names = [f"p{i}" for i in range(n)]
    schema = {
        "type": "object",
        "properties": {key: {"type": "integer"} for key in names},
        "required": names if required else [],
        "additionalProperties": False,
    }
    written = {"forwards": names, "backwards": names[::-1], "at random": random.Random(n).sample(names, n)}[reading]
    tokens = vocabulary.encode(json.dumps(dict.fromkeys(written, 1)))
    automaton = constrain.TokenAutomaton(ours)
    begin = time.thread_time()
    constraint = constrain.json_schema(schema, property_order=order)
    matcher = constrain.compile(constraint, ours, automaton=automaton).matcher()
    compiled = time.thread_time() - begin
    row = np.zeros(vocabulary.words, np.uint32)
    masks = []
    begin = time.thread_time()
    for token in tokens:
        start = time.thread_time()
        matcher.fill_mask(row)
        masks.append(time.thread_time() - start)
        if not is_set(row, token) or matcher.is_accepting() or not matcher.advance(token):
            refuse(f"any_order: {order}, n={n}, {reading}: a mask is wrong after {matcher.text[-40:]!r}")
    seconds = time.thread_time() - begin
    if not matcher.is_accepting():
        refuse(f"any_order: {order}, n={n}, {reading}: the text is not a member")
    return {
        "n": n,
        "order": order,
        "reading": reading,
        "required": required,
        "compile_ms": round(1e3 * compiled, 1),
        "text_s": round(seconds, 3),
        "tokens": len(tokens),
        "us_a_token": round(1e6 * seconds / len(tokens), 1),
        "first_mask_ms": round(1e3 * masks[0], 2),
        "most_ms": round(1e3 * max(masks[1:]), 2),
        "p99_ms": round(1e3 * float(np.percentile(masks, 99)), 3),
        "arena_mb": round(4e-6 * int(automaton.memory.A[0]), 1),
        "flushes": automaton.epoch,
    }


def _line(row: dict[str, Any]) -> str:
    kind = "required" if row["required"] else "optional"
    named = f"{row['n']:>6} {row['order']:<7} {row['reading']:<10} {kind}"
    times = f"compile {row['compile_ms']:>7} ms   text {row['text_s']:>8} s   {row['us_a_token']:>7} µs a token"
    return f"{named}   {times}   first {row['first_mask_ms']:>6}, most {row['most_ms']:>6}, p99 {row['p99_ms']:>6} ms"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_files(parser, 500)
    add_records(parser, "summary")
    parser.add_argument("--vocab", default="llama3", help="one vocabulary (default: llama3)")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for one file (default: 60)")
    parser.add_argument("--sizes", default="100,1000,20000", help="numbers of properties (default: 100,1000,20000)")
    options = parser.parse_args()
    vocabulary = vocabularies.load(options.vocab, data_folder(options.data))
    summary: dict[str, Any] = {**machine(), "vocabulary": options.vocab}
    if options.limit != 0:
        summary["MaskBench"] = compare(options, vocabulary)
        print(json.dumps(summary, indent=1, ensure_ascii=False))
    if options.sizes:
        summary["growth"] = grow(options, vocabulary)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(summary, indent=1, ensure_ascii=False) + "\n"
        (options.out / "summary.json").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
