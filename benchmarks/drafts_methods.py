"""Tokens per forward of every method, without drafts and with them: `python benchmarks/drafts_methods.py --out DIR`.

Each method writes the same outputs in every column, for the same seeds; that is checked, up to rounding of logits.
A forward is counted for each sequence that it reads (a batch of 8 counts 8). Tokens are those of all outputs, by
method; attempts, particles and states that were thrown away count as forwards only, so `rejection` and `cars` have
fewer tokens than forwards. The column "saved" is the share of the forwards that drafts save.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import constrain
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
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    with (options.out / "records.jsonl").open("w", encoding="utf-8") as file:
        for name in options.methods:
            rows.append(measure(name, options.seeds))
            file.write(json.dumps(rows[-1]) + "\n")
            file.flush()
    text = table(rows)
    (options.out / "table.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
