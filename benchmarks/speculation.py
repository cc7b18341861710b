"""Speculation: how many tokens does a forward give, with which drafts and rules, and what does it cost?

Question: the reference model writes JSON for MaskBench schemas (compact, properties in order), with several drafters
and verifiers. How many tokens does a forward of the target give, what share of drafts is taken, and how much time of a
thread does a token take, beside the same model without drafts, and without a constraint?

    python benchmarks/speculation.py --limit 100 --temperature 0
    python benchmarks/speculation.py --limit 100 --temperature 1 --out benchmarks/out/speculation-t1

All setups write for a schema before the next schema comes, so noise of the machine falls on all. Answers are checked:
the exit code is 1 if an output differs from that without drafts where the verifier promises the same tokens (`match`),
if a finished output is no member of its schema's language, or if a drafter failed. A forward of several tokens rounds
differently, which may tip a draw: outputs that differ are written again in float64, and then must be the same.
Bias: the reference model is tiny, so drafting costs much beside it, and its draft model is a fifth of it; prompts hold
the schema, as they would for a larger model, and outputs are cut at `--max-tokens`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import torch
from rich.progress import track

import constrain
from constrain.errors import ConstrainError
from constrain.hf import HFModel
from constrain.speculative import Fixed, Model, Speculation
from masks.records import Record, Records, data_folder, machine, open_folder

PLAIN, FREE = "no drafts", "no constraint"
LONGEST = 3000  # characters of a schema


def setups(model: Any, temperature: float) -> dict[str, Any]:
    """`draft=` by name. At temperature 0 all rules are the same, so only `match` is run."""
    small = HFModel(model.draft, model.tokenizer)
    found: dict[str, Any] = {
        PLAIN: None,
        FREE: None,
        "forced, match": "forced",
        "lookup, match": "lookup",
        "forced + lookup, match": "auto",
        "model, match": Speculation([Model(small)], controller=Fixed(5, 5)),
        "forced + lookup + model, match": Speculation(["forced", "lookup", Model(small)], controller=Fixed(16, 5)),
    }
    if temperature > 0:
        chain, pairs = Model(small), Model(small, width=2)
        for rule, drafter in (
            ("token", chain), ("block", chain), ("recursive-without", pairs), ("traversal", pairs), ("match", pairs)
        ):  # fmt: skip
            name = f"model{' in pairs' if drafter is pairs else ''}, {rule}"
            found[name] = Speculation([drafter], verifier=rule, controller=Fixed(10, 5))
    return found


def write(model: Any, source: Any, prompt: str, setup: str, draft: Any, options: argparse.Namespace) -> Record:
    """One output, and what it cost."""
    start = time.thread_time()
    g = constrain.generate(
        model, prompt, constraint=None if setup == FREE else source, draft=draft, seed=options.seed,
        temperature=options.temperature, max_tokens=options.max_tokens,
    )  # fmt: skip
    seconds = time.thread_time() - start
    counts = g.stats.drafts.values()
    record: Record = {"tokens": g.tokens, "forwards": g.stats.forwards, "seconds": seconds, "end": g.finish_reason}
    record["drafted"], record["accepted"] = sum(c.drafted for c in counts), sum(c.accepted for c in counts)
    record["faults"] = [count.fault for count in counts if count.fault]
    record["member"] = None
    if g.finish_reason == "stop" and setup != FREE:
        compiled = constrain.compile(source, constrain.Vocabulary.from_huggingface(model.tokenizer))
        matcher = compiled.matcher()
        record["member"] = matcher.advance_bytes(g.text.encode()) and matcher.is_accepting()
    return record


def attempt(model: Any, path: Path, drafts: dict[str, Any], options: argparse.Namespace) -> Record | None:
    """All setups on one schema; None where it is too long for the prompt, or refused."""
    schema = json.loads(path.read_text(encoding="utf-8"))["schema"]
    text = json.dumps(schema)
    if len(text) > LONGEST:
        return None
    prompt = f"Schema: {text[:600]}\nAn example, as JSON: "
    try:
        source = constrain.json_schema(schema, whitespace="compact")
        write(model, source, prompt, "warm-up", None, options)  # compiled, and its first masks filled
        written = {name: write(model, source, prompt, name, draft, options) for name, draft in drafts.items()}
    except ConstrainError:
        return None
    for name, each in written.items():
        if promises_the_same(name) and each["tokens"] != written[PLAIN]["tokens"]:
            exact = constrain.reference.load(torch.float64)
            pair = [write(exact, source, prompt, name, draft, options) for draft in (None, drafts[name])]
            each["same in float64"] = pair[0]["tokens"] == pair[1]["tokens"]
    return {"file": path.name, **written}


def promises_the_same(setup: str) -> bool:
    """The tokens of this setup are those without drafts."""
    return setup.endswith("match")


def faults(record: Record) -> list[str]:
    """What is wrong with the answers."""
    found = []
    for name, each in record.items():
        if name in ("file", FREE):
            continue
        tipped = each.get("same in float64", False)
        if promises_the_same(name) and each["tokens"] != record[PLAIN]["tokens"] and not tipped:
            found.append(f"{record['file']}: {name}: another output than without drafts")
        if each["member"] is False:
            found.append(f"{record['file']}: {name}: a finished output is no member")
        found += [f"{record['file']}: {name}: {fault}" for fault in each["faults"]]
    return found


def table(records: list[Record]) -> str:
    """The summary, in Markdown."""
    names = [name for name in records[0] if name != "file"]
    cost = {}
    lines = [
        "| drafts, verifier | tokens | forwards | tokens per forward | drafts taken | ms per token | ÷ no constraint |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name in names:
        rows = [record[name] for record in records]
        tokens, forwards = sum(len(row["tokens"]) for row in rows), sum(row["forwards"] for row in rows)
        cost[name] = 1000 * sum(row["seconds"] for row in rows) / tokens
        drafted, taken = sum(row["drafted"] for row in rows), sum(row["accepted"] for row in rows)
        share = f"{taken / drafted:.0%} of {drafted}" if drafted else ""
        per_forward = f"{tokens / forwards:.2f}"
        lines.append(f"| {name} | {tokens} | {forwards} | {per_forward} | {share} | {cost[name]:.2f} | {{{name}}} |")
    return "\n".join(lines).format(**{name: f"{cost[name] / cost[FREE]:.2f}" for name in names}) + "\n"


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, else ../shared/data)")
    parser.add_argument("--limit", type=int, default=100, help="schemas (default: 100)")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder for the raw records")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    files = sorted(data_folder(options.data, "maskbench-dev").glob("*.json"))
    random.Random(options.seed).shuffle(files)
    kept = ("limit", "temperature", "max_tokens", "seed")
    given = {name: value for name, value in vars(options).items() if name in kept}
    open_folder(options.out, {"command": json.dumps(given), **machine()}, options.resume)
    records = Records(options.out, "speculation")
    model = constrain.reference.load()
    drafts = setups(model, options.temperature)
    for path in track(files, description="schemas", disable=not sys.stderr.isatty()):
        if len(records.done) >= options.limit:
            break
        if path.name not in records.done and (record := attempt(model, path, drafts, options)) is not None:
            records.add(record)
    summary = table(records.all())
    wrong = [fault for record in records.all() for fault in faults(record)]
    print(summary, *wrong, sep="\n")
    if options.out:
        (options.out / "summary.md").write_text(summary, encoding="utf-8")
        records.pack()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
