"""Composed models: the effect of each on an answer, and the cost of a token.

Question: a fact that stands in the prompt and may contradict what the model would write without it. What share has the
answer of the document among two options, given the model, context-aware decoding, guidance, and prompts mixed?

    python benchmarks/composed.py --out benchmarks/record/<date>-processors

Beside it: how far the probability of a text, read byte by byte, is from the sum over all of its cuts, by how many
covers are kept, and what a byte costs in forwards; and what two models say when they are fused byte by byte.

Model: the embedded one and its draft model, or `--model` and `--other`. Shares are exact (`method="exact"`): no draw is
involved. Clock: CPU time of this thread. Bias: eight facts; it shows what a composition does, not that it answers
better.
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
from constrain.models.hf import HFModel
from constrain.models.hf.loading import load_named
from constrain.papers.composed import ByteFusion, ByteModel, ContextAware, Guided, MixtureOfPrompts, SelectiveContrast

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
    assert first.log_evidence <= both.log_evidence + 1e-3  # differences of float32 shares, where models are contrasted
    return math.exp(min(0.0, first.log_evidence - both.log_evidence))


def loaded(folder: str) -> HFModel:
    """A model of transformers, in float32."""
    model, tokenizer = load_named(folder)
    return HFModel(model.float(), tokenizer)


class Counting:
    """A model that counts what it is asked: forwards of a handle and of its sessions."""

    def __init__(self, handle: Any) -> None:
        self.handle, self.forwards, self.rows = handle, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.handle, name)

    def start(self, prefixes: Any, keep: Any) -> Any:
        session, logits = self.handle.start(prefixes, keep)
        return CountingSession(self, session), logits


class CountingSession:
    def __init__(self, owner: Counting, session: Any) -> None:
        self.owner, self.session = owner, session

    def feed(self, chunks: Any, keep: Any) -> Any:
        self.owner.forwards += 1
        self.owner.rows += len(chunks)
        return self.session.feed(chunks, keep)

    def fork(self, rows: Any) -> CountingSession:
        return CountingSession(self.owner, self.session.fork(rows))


def bytewise(model: Any) -> list[str]:
    """log p of texts by covers: the mean and greatest distance from all covers, and forwards and tokens read a byte."""
    texts = ["yes", "green", "Karl", "Sunday", '{"a": 1}', "2026-11"]
    handle = HFModel.of(model)
    exactly = [_log_p(ByteModel(handle, covers=None), text) for text in texts]
    lines = [
        "| covers | mean distance in nats | greatest | forwards a byte | tokens read a byte |",
        "|---|---:|---:|---:|---:|",
    ]
    count = sum(map(len, texts))
    for covers in (1, 2, 4, 8, None):
        counting = Counting(handle)
        logs = [_log_p(ByteModel(counting, covers=covers), text) for text in texts]
        apart = [abs(one - two) for one, two in zip(logs, exactly, strict=True)]
        lines.append(
            f"| {covers or 'all'} | {sum(apart) / len(apart):.2g} | {max(apart):.2g} | "
            f"{counting.forwards / count:.1f} | {counting.rows / count:.1f} |"
        )
    return lines


def _log_p(model: Any, text: str) -> float:
    """log p of a text and its end, after one prompt."""
    prompt = model.tokenizer("A text: ")["input_ids"]
    session, first = model.start([prompt], [1])
    (fed,) = session.feed([list(text.encode())], [len(text.encode())])
    rows = torch.cat([first[0], fed]).log_softmax(-1)
    return float(rows[range(len(rows)), [*text.encode(), 256]].sum())


def main(arguments: list[str] | None = None) -> int:
    """Print the table, keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", help="a folder of transformers (default: the embedded model)")
    parser.add_argument("--other", help="another one, for ByteFusion (default: the embedded draft model)")
    parser.add_argument("--facts", type=int, default=len(FACTS), help="how many of the facts")
    parser.add_argument("--out", type=Path, help="folder for the record")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    model = loaded(options.model) if options.model else HFModel.of(constrain.reference.load())
    facts = [(f"{text}\n{question}", question, one, two) for text, question, one, two in FACTS[: options.facts]]
    known = {prompt: question for prompt, question, _, _ in facts}
    mixed = {prompt: [f"Note: {prompt}"] for prompt in known}
    models: dict[str, Any] = {
        "the model": model,
        "ContextAware(0.5)": ContextAware(model, known, alpha=0.5),
        "ContextAware(1.0)": ContextAware(model, known, alpha=1.0),
        "Guided(3.0)": Guided(model, known, scale=3.0),
        "SelectiveContrast(0.5, threshold=0.01)": SelectiveContrast(model, known, weight=0.5, threshold=0.01),
        "MixtureOfPrompts, average": MixtureOfPrompts(model, mixed),
        "MixtureOfPrompts, mixture": MixtureOfPrompts(model, mixed, how="mixture"),
    }
    lines = ["| model | mean share of the document's answer | above one half | CPU s |", "|---|---:|---:|---:|"]
    lines += [_row("the model, without the document", model, [(q, one, two) for _, q, one, two in facts])]
    lines += [_row(name, each, [(p, one, two) for p, _, one, two in facts]) for name, each in models.items()]
    byte_facts = [(p, one, two) for p, _, one, two in facts[:2]]
    if options.other:
        other = loaded(options.other)
    else:
        other = HFModel.of(constrain.reference.load().draft, constrain.reference.load().tokenizer)
    several: dict[str, Any] = {"ByteModel": ByteModel(model), "ByteModel of the other model": ByteModel(other)}
    several |= {f"ByteFusion, {how}": ByteFusion([model, other], how=how) for how in ("product", "average", "mixture")}
    lines += [_row(f"{name} (two facts)", each, byte_facts) for name, each in several.items()]
    lines += ["", *bytewise(model)]
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
