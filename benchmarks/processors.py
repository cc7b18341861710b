"""Processors on the reference model: the effect of each on loops, on surprise, and on the time of a token.

Question: a small model writes lists of records under a schema, greedily and at temperature 0.7, and runs into loops.
How many outputs end within their budget, what share of token 4-grams was there before, how surprising are the tokens
that are drawn (bits under the mask, before any rule), and what does a token cost?

    python benchmarks/processors.py --out benchmarks/record/<date>-processors

Every finished output is checked against the schema. Surprise is measured by a processor that stands first and changes
nothing. Clock: CPU time of this thread, the model's forwards included. Bias: one small model, four prompts.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import torch

import constrain
from constrain.sampling.processors import (
    Counts,
    GrammarRepetition,
    MinP,
    Mirostat,
    Momentum,
    Processor,
    Repetition,
    StepContext,
    Typical,
)

SCHEMA = {
    "type": "array",
    "minItems": 2,
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
        "required": ["name", "size"],
        "additionalProperties": False,
    },
}
PROMPTS = [
    '[{"name": "a", "size": 1}, {"name": "b", "size": 2}]\n',
    "A list of files as JSON: ",
    '{"name": "report", "size": 12}\n{"name": "image", "size": 40}\n',
    "The users and their sizes:\n",
]


class Surprise(Processor):
    """Changes nothing, and keeps −log₂ of the masked model's probability of every token that was drawn."""

    name = "surprise"
    reads_scores = True

    def __init__(self) -> None:
        self.bits: list[float] = []

    def __call__(self, scores: torch.Tensor, context: StepContext) -> torch.Tensor:
        return scores

    def advance(self, state: Any, token: int, scores: torch.Tensor | None, context: StepContext) -> None:
        if scores is not None:
            self.bits.append(-float(scores.log_softmax(-1)[token]) / math.log(2))


def rules() -> dict[str, list[Any]]:
    """The rows of the table."""
    from transformers import RepetitionPenaltyLogitsProcessor

    return {
        "none": [],
        "Repetition(1.3)": [Repetition(1.3)],
        "Repetition(1.3, structural=True)": [Repetition(1.3, structural=True)],
        "RepetitionPenaltyLogitsProcessor(1.3) of transformers": [RepetitionPenaltyLogitsProcessor(1.3)],
        "Counts(frequency=0.5)": [Counts(frequency=0.5)],
        "GrammarRepetition(0.9)": [GrammarRepetition(0.9)],
        "GrammarRepetition(0.5)": [GrammarRepetition(0.5)],
        "MinP(0.1)": [MinP(0.1)],
        "Typical(0.9)": [Typical(0.9)],
        "Mirostat(0.5)": [Mirostat(0.5)],
        "Mirostat(2.0)": [Mirostat(2.0)],
        "Momentum(0.2)": [Momentum(0.2)],
        "Momentum(0.2, structural=True)": [Momentum(0.2, structural=True)],
    }


def repeated(tokens: list[int]) -> float:
    """Share of 4-grams that stood in the output before."""
    grams = [tuple(tokens[i : i + 4]) for i in range(len(tokens) - 3)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def measure(model: Any, given: list[Any], temperature: float, n: int, tokens: int) -> list[Any]:
    """ended, repeated 4-grams, bits a token, CPU ms a token, tokens an output."""
    watch = Surprise()
    begin = time.thread_time()
    found = constrain.generate(
        model, PROMPTS, n=1 if temperature == 0 else n, schema=SCHEMA, temperature=temperature, max_tokens=tokens,
        seed=1, processors=[watch, *given],
    )  # fmt: skip
    seconds = time.thread_time() - begin
    outputs = [each for group in found for each in (group if isinstance(group, list) else [group])]
    for each in outputs:
        if each.finish_reason == "stop":
            records = json.loads(each.text)
            assert len(records) >= 2
            assert all(set(record) == {"name", "size"} for record in records)
    total = sum(len(each.tokens) for each in outputs)
    return [
        sum(each.finish_reason == "stop" for each in outputs) / len(outputs),
        sum(repeated(each.tokens) for each in outputs) / len(outputs),
        sum(watch.bits) / len(watch.bits),
        seconds / total * 1000,
        total / len(outputs),
    ]


def main(arguments: list[str] | None = None) -> int:
    """Print the table, keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--n", type=int, default=2, help="outputs of a prompt at temperature 0.7 (default: 2)")
    parser.add_argument("--tokens", type=int, default=96, help="budget of an output (default: 96)")
    parser.add_argument("--only", default="", help="rows whose name has this text")
    parser.add_argument("--out", type=Path, help="folder for the record")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    model = constrain.reference.load()
    lines = [
        "| rule | temperature | ended | repeated 4-grams | bits a token | tokens an output | CPU ms a token |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    print(*lines, sep="\n", flush=True)
    measure(model, [], 0, 1, 16)  # what is loaded and compiled at first use
    for name, given in rules().items():
        if options.only not in name:
            continue
        for temperature in (0, 0.7):
            ended, again, bits, cost, length = measure(model, given, temperature, options.n, options.tokens)
            lines.append(
                f"| {name} | {temperature} | {ended:.2f} | {again:.3f} | {bits:.2f} | {length:.0f} | {cost:.1f} |"
            )
            print(lines[-1], flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        command = "python benchmarks/processors.py " + " ".join(sys.argv[1:])
        (options.out / "summary.md").write_text("\n".join([command, "", *lines, ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
