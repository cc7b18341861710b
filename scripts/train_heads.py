"""Train draft heads for a model on what the model itself writes, and measure what they save.

    python scripts/train_heads.py --out build/heads.safetensors                    # the reference model, MaskBench
    python scripts/train_heads.py --out build/heads.safetensors --kind independent --depth 3

1. The model writes under schemas of MaskBench (`CONSTRAIN_DATA`), by masked decoding.
2. One forward over each prompt and output gives hidden states, and the model's own distribution at every place; the
   heads learn to have that distribution some tokens earlier: cross-entropy at 1 … depth tokens ahead (on-policy
   distillation, as in Zhou et al. 2023, "DistillSpec", arXiv 2310.08461). The model's weights stay as they are.
3. On schemas that were not trained on: forwards with `draft=[Heads(...)]`, with "auto", with both, and without drafts,
   at temperature 0 and 1. Outputs with and without drafts are compared; a difference at temperature 0 ends the run.

Prints one JSON line a report. Cost: a few minutes of one core for the reference model.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import constrain
from constrain.errors import ConstrainError
from constrain.hf import DraftHeads, HFModel
from constrain.speculative import Heads
from evaluation.tasks import read_task

DATA = Path(os.environ.get("CONSTRAIN_DATA", Path(__file__).resolve().parents[1] / ".." / "shared" / "data"))
LEAST = 10  # tokens of an output that is worth anything


def outputs(
    handle: HFModel, files: list[Path], count: int, tokens: int, temperature: float
) -> Iterator[tuple[str, Any, Any]]:
    """(prompt, constraint, generation) for the first `count` files that compile and give some tokens."""
    found = 0
    for path in files:
        task = read_task(path, 600, 600)
        try:
            constraint = constrain.compile(constrain.json_schema(task.schema, whitespace="compact"), handle.vocabulary)
            given = {"constraint": constraint, "temperature": temperature, "seed": found, "max_tokens": tokens}
            written = constrain.generate(handle, task.prompt, draft="auto", **given)
        except ConstrainError:
            continue
        if written.stats.tokens >= LEAST:
            yield task.prompt, constraint, written
            found += 1
        if found == count:
            return


@torch.no_grad()
def states(handle: HFModel, tokens: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """What the model's head is given at every place, float[N, H], and its probabilities there, float[N, W]."""
    seen: list[torch.Tensor] = []
    hook = handle.model.get_output_embeddings().register_forward_pre_hook(lambda _, given: seen.append(given[0][0]))
    try:
        logits = handle.model(input_ids=torch.tensor([tokens])).logits[0]
    finally:
        hook.remove()
    return seen[0], logits.softmax(-1)


def loss_of(heads: DraftHeads, hidden: torch.Tensor, probs: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
    """Cross-entropy at each number of tokens ahead: what the heads say at place t of the model's place t + i."""
    losses = []
    state: Any = heads.begin(hidden)
    for ahead in range(1, heads.depth + 1):
        state = heads.move(state._replace(hidden=state.hidden[: len(tokens) - ahead]), tokens[ahead:])
        guess = heads.logits(state).log_softmax(-1)
        losses.append(-(probs[ahead:] * guess).sum(-1).mean())
    return losses


def train(handle: HFModel, heads: DraftHeads, texts: list[list[int]], options: argparse.Namespace) -> None:
    """Adam with a rate that falls to nothing, one text a step."""
    trained = torch.optim.Adam(heads.parameters(), lr=options.rate)
    steps = options.epochs * len(texts)
    falling = torch.optim.lr_scheduler.LambdaLR(trained, lambda step: 1 - step / steps)
    order = random.Random(options.seed)
    for epoch in range(options.epochs):
        sums = torch.zeros(heads.depth)
        for place in order.sample(range(len(texts)), len(texts)):
            losses = loss_of(heads, *states(handle, texts[place]), torch.tensor(texts[place]))
            trained.zero_grad()
            torch.stack(losses).mean().backward()
            trained.step()
            falling.step()
            sums += torch.stack(losses).detach()
        report(epoch=epoch, loss=[round(float(each), 3) for each in sums / len(texts)])


def measure(handle: HFModel, heads: DraftHeads, files: list[Path], options: argparse.Namespace) -> None:
    """Tokens a forward by drafters, over schemas that the heads have not seen."""
    drafts = {"none": lambda: None, "heads": lambda: [Heads(heads)], "auto": lambda: "auto",
              "auto+heads": lambda: ["auto", Heads(heads)]}  # fmt: skip
    for temperature in (0.0, 1.0):
        total = {name: [0, 0, 0] for name in drafts}  # tokens, forwards, outputs that are those without drafts
        written = list(outputs(handle, files, options.measured, options.tokens, temperature))
        for seed, (prompt, constraint, plain) in enumerate(written):
            given = {"constraint": constraint, "temperature": temperature, "seed": seed, "max_tokens": options.tokens}
            for name, draft in drafts.items():
                found = constrain.generate(handle, prompt, draft=draft(), **given)
                assert not any(count.fault for count in found.stats.drafts.values()), found.stats.drafts
                assert temperature or found.tokens == plain.tokens, f"{name}: another output than with other drafts"
                for i, value in enumerate((found.stats.tokens, found.stats.forwards, found.tokens == plain.tokens)):
                    total[name][i] += value
        for name, (tokens, forwards, same) in total.items():
            report(temperature=temperature, drafts=name, outputs=len(written), tokens=tokens, forwards=forwards,
                   tokens_per_forward=round(tokens / forwards, 3), same=same)  # fmt: skip


def report(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="file for the heads")
    parser.add_argument("--kind", choices=["sequential", "independent"], default="sequential")
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--schemas", type=int, default=200, help="to train on")
    parser.add_argument("--measured", type=int, default=20, help="schemas to measure with")
    parser.add_argument("--tokens", type=int, default=100, help="of an output at most")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    reference = constrain.reference.load()
    handle = HFModel(reference.model, reference.tokenizer)
    files = sorted((DATA / "maskbench-dev").glob("*.json"))
    random.Random(options.seed).shuffle(files)
    half = len(files) // 2
    start = time.thread_time()
    texts = []
    for prompt, _, written in outputs(handle, files[half:], options.schemas, options.tokens, 1.0):
        texts.append([*handle.tokenizer(prompt)["input_ids"][-300:], *written.tokens])
    report(texts=len(texts), tokens=sum(map(len, texts)), seconds=round(time.thread_time() - start, 1))
    heads = DraftHeads(handle, kind=options.kind, depth=options.depth)
    train(handle, heads, texts, options)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    heads.save(options.out)
    report(parameters=sum(each.numel() for each in heads.parameters()), seconds=round(time.thread_time() - start, 1))
    measure(handle, DraftHeads.load(options.out, handle), files[:half], options)


if __name__ == "__main__":
    main()
