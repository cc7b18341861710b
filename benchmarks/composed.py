"""Composed models on the reference model: what does each do to an answer, and what does a token cost?

Question: a fact that stands in the prompt and may contradict what the model would write without it. What share has the
answer of the document among two options, given the model, context-aware decoding, guidance, and prompts mixed?

    python benchmarks/composed.py --out benchmarks/record/<date>-processors

Shares are exact (`method="exact"`): no draw is involved. Clock: CPU time of this thread. Bias: one small model, eight
facts; it shows what a composition does, not that it answers better.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

import torch

import constrain
from constrain.composed import ContextAware, Guided, MixtureOfPrompts

FACTS = [  # (document, question, the document's answer, another)
    ("The sky is green.", "The colour of the sky is ", "green", "blue"),
    ("The name of the user is Karl.", "The name of the user is ", "Karl", "John"),
    ("The size of the file is 73.", "The size of the file is ", "73", "10"),
    ("The capital of the country is Oldenburg.", "The capital of the country is ", "Oldenburg", "Paris"),
    ("The status of the order is lost.", "The status of the order is ", "lost", "open"),
    ("The price of the apple is 9.", "The price of the apple is ", "9", "1"),
    ("The day of the meeting is Sunday.", "The day of the meeting is ", "Sunday", "Monday"),
    ("The type of the value is float.", "The type of the value is ", "float", "string"),
]


def share(model: Any, prompt: str, answer: str, other: str) -> float:
    """p(answer | one of the two), exactly."""
    first = constrain.generate(model, prompt, choices=[answer], method="exact", seed=1, max_tokens=20)
    both = constrain.generate(model, prompt, choices=[answer, other], method="exact", seed=1, max_tokens=20)
    assert first.log_evidence is not None
    assert both.log_evidence is not None
    assert first.log_evidence <= both.log_evidence + 1e-6
    return math.exp(min(0.0, first.log_evidence - both.log_evidence))


def main(arguments: list[str] | None = None) -> int:
    """Print the table, keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--facts", type=int, default=len(FACTS), help="how many of the facts")
    parser.add_argument("--out", type=Path, help="folder for the record")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    model = constrain.reference.load()
    facts = [(f"{text}\n{question}", question, one, two) for text, question, one, two in FACTS[: options.facts]]
    known = {prompt: question for prompt, question, _, _ in facts}
    mixed = {prompt: [f"Note: {prompt}"] for prompt in known}
    models: dict[str, Any] = {
        "the model": model,
        "ContextAware(0.5)": ContextAware(model, known, alpha=0.5),
        "ContextAware(1.0)": ContextAware(model, known, alpha=1.0),
        "Guided(3.0)": Guided(model, known, scale=3.0),
        "MixtureOfPrompts, average": MixtureOfPrompts(model, mixed),
        "MixtureOfPrompts, mixture": MixtureOfPrompts(model, mixed, how="mixture"),
    }
    lines = ["| model | mean share of the document's answer | above one half | CPU s |", "|---|---:|---:|---:|"]
    lines += [_row("the model, without the document", model, [(q, one, two) for _, q, one, two in facts])]
    lines += [_row(name, each, [(p, one, two) for p, _, one, two in facts]) for name, each in models.items()]
    print(*lines, sep="\n")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        command = "python benchmarks/composed.py " + " ".join(sys.argv[1:])
        (options.out / "composed.md").write_text("\n".join([command, "", *lines, ""]))
    return 0


def _row(name: str, model: Any, facts: list[tuple[str, str, str]]) -> str:
    begin = time.thread_time()
    shares = [share(model, *fact) for fact in facts]
    seconds = time.thread_time() - begin
    above = sum(each > 0.5 for each in shares)
    return f"| {name} | {sum(shares) / len(shares):.3f} | {above} of {len(shares)} | {seconds:.1f} |"


if __name__ == "__main__":
    sys.exit(main())
