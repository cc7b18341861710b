"""Tokens per forward of every method, without drafts and with them: `python benchmarks/drafts_methods.py --out DIR`.

Each method writes the same outputs in every column, for the same seeds; that is checked, up to rounding of logits.
A forward is counted for each sequence that it reads (a batch of 8 counts 8). Tokens are those of all outputs, by
method; attempts, particles and states that were thrown away count as forwards only, so `rejection` and `cars` have
fewer tokens than forwards. The column "saved" is the share of the forwards that drafts save.

With `--model FOLDER`, a model of transformers with a chat template: forward passes (of batches) and CPU seconds for
each effective sample of methods that weigh, over four extractions with defaults at temperature 1.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import torch

import constrain
from constrain.models.hf import HFModel
from constrain.sampling import AWRS, CARS, MCMC, SIR, SMC, Argmax, ASAp, Beam, Rejection

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "size": {"enum": ["small", "medium", "large"]},
        "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "maxItems": 4},
    },
    "required": ["name", "size", "tags"],
    "additionalProperties": False,
}
LINES = '[{"name": "Ada", "size": "small", "tags": ["red"]},\n{"name": "Bob", "size": "large", "tags": []},\n'
SCHEMA: dict[str, Any] = {"prompt": LINES, "schema": PERSON, "max_tokens": 60}
LIKELY: dict[str, Any] = {
    "prompt": LINES + '{"name": "',
    "regex": '[A-Z][a-z]{1,9}", "size": "(small|large)"',
    "max_tokens": 24,
}
METHODS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "lcd": (lambda: "lcd", SCHEMA),
    "sir, 4 samples": (lambda: SIR(samples=4), SCHEMA),
    "smc, 4 particles": (lambda: SMC(particles=4), SCHEMA),
    "awrs": (AWRS, SCHEMA),
    "mcmc, 3 steps, uniform": (lambda: MCMC(steps=3, proposal="uniform"), SCHEMA),
    "asap, warm-up of 3": (lambda: ASAp(warmup=3), SCHEMA),
    "cars": (lambda: CARS(attempts=60), LIKELY),
    "rejection": (lambda: Rejection(attempts=60), LIKELY),
    "beam, width 4": (lambda: Beam(width=4), SCHEMA),
    "argmax": (lambda: Argmax(limit=300), LIKELY),
}
ABOUT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 24},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "born": {"type": "string", "pattern": "^[0-9]{4}$"},
        "job": {"enum": ["mathematician", "engineer", "poet", "farmer"]},
    },
    "required": ["name", "age", "born", "job"],
    "additionalProperties": False,
}
TEXTS = (
    "Ada Lovelace, born 1815, a mathematician, died at 36.",
    "Karl Benz was an engineer. He was born in 1844 and died when he was 84.",
    "Emily Dickinson (1830) was a poet who lived 55 years.",
    "Cato, a farmer born in 1934, is 85 years old.",
)
WEIGHED: dict[str, tuple[Callable[[], Any], int]] = {  # and how many outputs
    "smc, 4 particles": (lambda: SMC(particles=4), 1),
    "smc, 16 particles": (lambda: SMC(particles=16), 1),
    "sir, 4 samples": (lambda: SIR(samples=4), 1),
    "awrs, 4 outputs": (AWRS, 4),
    "asap, 4 outputs": (ASAp, 4),
}
DRAFTS: dict[str, Any] = {"none": None, "auto": "auto", "auto, recycling": ["auto", "recycling"]}


def measure(name: str, seeds: int) -> dict[str, Any]:
    """Tokens, forwards and processor time of a method, by drafts; how many outputs differ from those without."""
    make, given = METHODS[name]
    model = constrain.reference.load()
    row: dict[str, Any] = {"method": name}
    plain: list[list[int]] = []
    for label, draft in DRAFTS.items():
        start = time.process_time()
        outputs = [constrain.generate(model, method=make(), seed=seed, draft=draft, **given) for seed in range(seeds)]
        tokens = [output.tokens for output in outputs]
        plain = plain or tokens
        row[label] = {
            "tokens": sum(map(len, tokens)),
            "forwards": sum(output.stats.forwards for output in outputs),
            "seconds": round(time.process_time() - start, 3),
            "complete": sum(output.finish_reason == "stop" for output in outputs),
            "other outputs": sum(one != other for one, other in zip(tokens, plain, strict=True)),
            "drafted": sum(count.drafted for output in outputs for count in output.stats.drafts.values()),
            "accepted": sum(count.accepted for output in outputs for count in output.stats.drafts.values()),
        }
    return row


def weigh(handle: Any, name: str, seeds: int) -> dict[str, Any]:
    """Forward passes, CPU seconds and effective samples of a method, over all texts and seeds."""
    make, n = WEIGHED[name]
    passes, forward = [0], handle.model.forward

    def counted(*given: Any, **named: Any) -> Any:
        passes[0] += 1
        return forward(*given, **named)

    handle.model.forward = counted
    start, effective, evidence = time.process_time(), 0.0, []
    for seed, text in product(range(seeds), TEXTS):
        asked = [{"role": "user", "content": f"Write the person as JSON with name, age, born, job. {text}"}]
        g = constrain.generate(
            handle, asked, schema=ABOUT, method=make(), n=n, temperature=1.0, max_tokens=64, seed=seed
        )
        weights = g.weights
        effective += sum(weights) ** 2 / sum(w * w for w in weights) if sum(weights) else 0.0
        evidence.append((g[0] if n > 1 else g).log_evidence)
    seconds = time.process_time() - start
    handle.model.forward = forward
    return {"method": name, "passes": passes[0], "seconds": seconds, "effective": effective, "evidence": evidence}


def weighed_table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = ["| method | effective samples | forward passes each | CPU s each |", "|---|---:|---:|---:|"]
    for row in rows:
        each = f"{row['passes'] / row['effective']:.1f} | {row['seconds'] / row['effective']:.2f}"
        lines.append(f"| {row['method']} | {row['effective']:.1f} | {each} |")
    return "\n".join(lines)


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = [
        "| method | complete | "
        + " | ".join(f"{label}: forwards | tokens per forward" for label in DRAFTS)
        + " | saved | other outputs |",
        "|---" * (2 + 2 * len(DRAFTS) + 2) + "|",
    ]
    for row in rows:
        cells = [f"{row[label]['forwards']} | {row[label]['tokens'] / row[label]['forwards']:.2f}" for label in DRAFTS]
        saved = 1 - min(row[label]["forwards"] for label in DRAFTS) / row["none"]["forwards"]
        others = sum(row[label]["other outputs"] for label in DRAFTS)
        lines.append(f"| {row['method']} | {row['none']['complete']} | {' | '.join(cells)} | {saved:.0%} | {others} |")
    return "\n".join(lines)


def main() -> None:
    """Write records.jsonl and table.md."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--methods", nargs="*", help="some of the methods; default: all")
    parser.add_argument("--model", help="the folder of a model")
    options = parser.parse_args()
    known = WEIGHED if options.model else METHODS
    names = options.methods or list(known)
    if unknown := set(names) - set(known):
        parser.error(f"--methods: {', '.join(sorted(unknown))} is none of {', '.join(known)}")
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    handle, rows = HFModel.of(options.model) if options.model else None, []
    with (options.out / "records.jsonl").open("w", encoding="utf-8") as file:
        for name in names:
            rows.append(weigh(handle, name, options.seeds) if handle else measure(name, options.seeds))
            file.write(json.dumps(rows[-1]) + "\n")
            file.flush()
    text = weighed_table(rows) if handle else table(rows)
    (options.out / "table.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
