"""Tokens per forward of every method, without drafts and with them: `python benchmarks/drafts_methods.py --out DIR`.

Each method writes the same outputs in every column, for the same seeds; that is checked, up to rounding of logits.
A forward is counted for each sequence that it reads (a batch of 8 counts 8). Tokens are those of all outputs, by
method; attempts, particles and states that were thrown away count as forwards only, so `rejection` and `cars` have
fewer tokens than forwards. The column "saved" is the share of the forwards that drafts save.

With `--model FOLDER`, a model of transformers: forward passes (of batches) and CPU seconds for each effective sample of
methods that weigh, over four questions of a `--task` with defaults at temperature 1, behind `--shots` answered ones: a
small model hardly writes JSON that nobody showed it, and few particles miss a mass of e⁻²⁵. The log-evidence is the
mean over the questions of log Z, Z the mean of all estimates of a question's mass; its 95 % interval is by their
spread, which few heavy-tailed weights make too short. Methods agree where intervals meet.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

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
CALL = {  # a call of one of three functions
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "name": {"const": name},
                "arguments": {"type": "object", "properties": given, "required": [*given]},
            },
            "required": ["name", "arguments"],
        }
        for name, given in {
            "set_timer": {"minutes": {"type": "integer", "minimum": 1, "maximum": 600}},
            "get_weather": {
                "city": {"type": "string", "maxLength": 24}, "unit": {"enum": ["celsius", "fahrenheit"]},
            },
            "send_message": {
                "to": {"type": "string", "maxLength": 24}, "text": {"type": "string", "maxLength": 40},
            },
        }.items()
    ]
}  # fmt: skip
REQUESTS = (
    "Set a timer for twelve minutes.",
    "How warm is it in Oslo, in celsius?",
    "Tell Mary: I am late.",
    "Is it raining in Lima? I use fahrenheit.",
)
SHOWN_TEXTS = (
    ("Grace Hopper, an engineer, was born in 1906 and died at 85.", "Grace Hopper", 85, "1906", "engineer"),
    ("John Keats, a poet, lived from 1795 and died when he was 25.", "John Keats", 25, "1795", "poet"),
    ("Emmy Noether (1882) was a mathematician who lived 53 years.", "Emmy Noether", 53, "1882", "mathematician"),
)
SHOWN_REQUESTS = (
    ("Remind Bob to buy milk.", "send_message", {"to": "Bob", "text": "Buy milk."}),
    ("Set a timer for five minutes.", "set_timer", {"minutes": 5}),
    ("How cold is it in Rome, in fahrenheit?", "get_weather", {"city": "Rome", "unit": "fahrenheit"}),
)


class Task(NamedTuple):
    """A task: what is asked, the schema of the answer, the questions, and answered ones that may be shown before."""

    said: str
    schema: dict[str, Any]
    questions: tuple[str, ...]
    shown: list[tuple[str, str]]

    def turns(self, question: str, shots: int) -> list[dict[str, str]]:
        """A chat that ends with a question, behind so many answered ones."""
        turns = [
            {"role": role, "content": text}
            for pair in self.shown[:shots]
            for role, text in zip(("user", "assistant"), pair, strict=True)
        ]
        turns.append({"role": "user", "content": question})
        turns[0]["content"] = f"{self.said} {turns[0]['content']}"
        return turns


TASKS = {
    "extraction": Task(
        "Write the person as JSON with name, age, born, job.", ABOUT, TEXTS,
        [(text, json.dumps(dict(zip(ABOUT["required"], said, strict=True)))) for text, *said in SHOWN_TEXTS],
    ),
    "calls": Task(
        "Answer with one call as JSON: set_timer(minutes), get_weather(city, unit) or send_message(to, text).", CALL,
        REQUESTS, [(text, json.dumps({"name": name, "arguments": given})) for text, name, given in SHOWN_REQUESTS],
    ),
}  # fmt: skip
# Of models without a template, which never learnt to take turns: an answer ends as their texts do. A template loses its
# own last newline.
PLAIN = (
    "{{ bos_token }}{% for turn in messages %}{{ turn.role }}:\n{{ turn.content }}"
    "{{ eos_token if turn.role == 'assistant' }}\n{% endfor %}assistant:{{ '\n' }}"
)
WEIGHED: dict[str, tuple[Callable[[], Any], int]] = {  # and how many outputs
    "smc, 4 particles": (lambda: SMC(particles=4), 1),
    "smc, 16 particles": (lambda: SMC(particles=16), 1),
    "sir, 4 samples": (lambda: SIR(samples=4), 1),
    "awrs, 4 outputs": (AWRS, 4),
    "awrs, 16 outputs": (AWRS, 16),
    "asap, 4 outputs": (ASAp, 4),
    "asap, 16 outputs": (ASAp, 16),
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


def weigh(handle: Any, name: str, seeds: int, task: Task, shots: int) -> dict[str, Any]:
    """Forward passes, CPU seconds and effective samples of a method, over all questions and seeds.

    evidence: of each question, the log of every estimate of the mass of its language; None where one had to be redone
    """
    make, n = WEIGHED[name]
    passes, forward = [0], handle.model.forward

    def counted(*given: Any, **named: Any) -> Any:
        passes[0] += 1
        return forward(*given, **named)

    handle.model.forward = counted
    start, effective = time.process_time(), 0.0
    evidence: list[list[float | None]] = [[] for _ in task.questions]
    for seed, (place, question) in product(range(seeds), enumerate(task.questions)):
        g = constrain.generate(
            handle, task.turns(question, shots), schema=task.schema, method=make(), n=n, temperature=1.0,
            max_tokens=64, seed=seed,
        )  # fmt: skip
        weights = g.weights
        effective += sum(weights) ** 2 / sum(w * w for w in weights) if sum(weights) else 0.0
        evidence[place] += [each.log_evidence for each in (g if n > 1 else [g])]
    seconds = time.process_time() - start
    handle.model.forward = forward
    return {"method": name, "passes": passes[0], "seconds": seconds, "effective": effective, "evidence": evidence}


def log_evidence(evidence: list[list[float | None]]) -> tuple[float, float]:
    """The mean over questions of the log of the mean estimate, and half its 95 % interval; nan without any."""
    logs, variances = [], []
    for each in evidence:
        known = [log for log in each if log is not None]
        top = max(known, default=-math.inf)
        if top == -math.inf:
            return math.nan, math.nan
        shares = [math.exp(log - top) for log in known]
        mean = statistics.fmean(shares)
        logs.append(top + math.log(mean))
        variances.append(statistics.variance(shares) / len(shares) / mean**2 if len(shares) > 1 else math.nan)
    return statistics.fmean(logs), 1.96 * math.sqrt(math.fsum(variances)) / len(logs)


def weighed_table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = [
        "| method | effective samples | forward passes each | CPU s each | log-evidence, 95 % |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        count = row["effective"] or math.nan
        each = f"{row['passes'] / count:.1f} | {row['seconds'] / count:.2f}"
        mean, half = log_evidence(row["evidence"])
        lines.append(f"| {row['method']} | {row['effective']:.1f} | {each} | {mean:.2f} ± {half:.2f} |")
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
    parser.add_argument("--task", choices=TASKS, default="extraction", help="what that model is asked")
    parser.add_argument("--shots", type=int, default=0, help="answered questions before; without, answers are unlikely")
    options = parser.parse_args()
    known = WEIGHED if options.model else METHODS
    names = options.methods or list(known)
    if unknown := set(names) - set(known):
        parser.error(f"--methods: {', '.join(sorted(unknown))} is none of {', '.join(known)}")
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    handle, rows = HFModel.of(options.model) if options.model else None, []
    if handle and handle.tokenizer.chat_template is None:
        handle.tokenizer.chat_template = PLAIN
    with (options.out / "records.jsonl").open("w", encoding="utf-8") as file:
        for name in names:
            asked = TASKS[options.task], options.shots
            rows.append(weigh(handle, name, options.seeds, *asked) if handle else measure(name, options.seeds))
            file.write(json.dumps(rows[-1]) + "\n")
            file.flush()
    text = weighed_table(rows) if handle else table(rows)
    (options.out / "table.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
