"""Train a head that tells when the draft model should stop (SpecDec++), and measure it beside the other ways to stop.

    python scripts/train_acceptance.py --out build/acceptance.safetensors

1. The draft model writes under schemas of MaskBench, by masked decoding at temperature 1. Target p and draft q read the
   text once, masked as in decoding; token x was right to draft with chance min(1, p(x) / q(x)), whatever came before.
2. The head learns that chance from the draft model's hidden state after x: cross-entropy with these chances as labels
   (their loss, without weights for rejections, so that the bound of `StoppedModel` means what it says).
3. On schemas that were not trained on, rule `token` at temperature 1 and `match` at 0: drafted, accepted and tokens per
   forward with a fixed length, the running estimate (`Stopping`), and the head; and how far its chances are from what
   was accepted (Brier score beside that of the mean).

Prints one JSON line a report. Cost: some minutes of one core.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F
from train_draft import DATA, Text, minutes, outputs, report, text_of, told

import constrain
from constrain.models.hf import HFModel
from constrain.models.hf.hidden import watched
from constrain.papers import Stopping
from constrain.papers.heads import AcceptanceHead, StoppedModel
from constrain.speculative import Fixed, Model, Speculation

DEPTH = 10


@torch.no_grad()
def lesson(target: HFModel, draft: HFModel, text: Text) -> tuple[torch.Tensor, torch.Tensor]:
    """The draft model's hidden states after each token of the output that had a choice, float[n, H]; its chances."""
    probs = told(target, text, True).probs[text.prompt :]
    with watched(draft, True) as seen:
        logits = draft.model(input_ids=text.tokens[None]).logits[0]
    drafted = logits[text.prompt - 1 : -1].masked_fill(~text.allowed, -torch.inf).softmax(-1)
    tokens = text.tokens[text.prompt :, None]
    chances = (probs.gather(1, tokens) / drafted.gather(1, tokens)).clamp(max=1).squeeze(1)
    kept = (text.allowed.sum(-1) > 1) & torch.isfinite(chances)
    return seen[0][0][text.prompt :][kept], chances[kept]


def train(head: AcceptanceHead, hidden: torch.Tensor, chances: torch.Tensor, options: argparse.Namespace) -> None:
    """Adam over shuffled batches."""
    adam = torch.optim.Adam(head.parameters(), lr=options.rate)
    for epoch in range(options.epochs):
        order, total = torch.randperm(len(hidden)), 0.0
        for batch in order.split(256):
            loss = F.binary_cross_entropy_with_logits(head(hidden[batch]), chances[batch])
            adam.zero_grad()
            loss.backward()
            adam.step()
            total += loss.item() * len(batch)
        report(epoch=epoch, loss=round(total / len(hidden), 4))
    head.eval()


def measure(target: HFModel, draft: HFModel, head: AcceptanceHead, files: list[Path], options: Any) -> None:
    """The ways to stop, over the same outputs."""
    made = {
        f"fixed, {DEPTH}": lambda: (Model(draft), Fixed(DEPTH, DEPTH, 0.0)),
        "fixed, 4": lambda: (Model(draft), Fixed(4, 4, 0.0)),
        "running estimate": lambda: (Model(draft), Stopping(DEPTH, DEPTH)),
        "confidence of the draft": lambda: (Model(draft, least=0.3), Fixed(DEPTH, DEPTH, 0.0)),
        "head": lambda: (StoppedModel(draft, head), Fixed(DEPTH, DEPTH, 0.0)),
    }
    for temperature, rule in ((0.0, "match"), (1.0, "token")):
        written = list(outputs(target, target, files, options.measured, options.tokens, temperature))
        for name, make in made.items():
            sums = [0, 0, 0, 0, 0]
            begin = time.thread_time()
            for seed, (prompt, constraint, plain) in enumerate(written):
                drafter, controller = make()
                found = constrain.generate(
                    target, prompt, constraint=constraint, temperature=temperature, seed=seed,
                    max_tokens=options.tokens, draft=Speculation([drafter], verifier=rule, controller=controller),
                )  # fmt: skip
                count = found.stats.drafts["model"]
                assert not count.fault, count.fault
                assert temperature or found.tokens == plain.tokens, "another output than without drafts"
                figures = (found.stats.tokens, found.stats.forwards, count.drafted, count.accepted, 1)
                sums = [a + b for a, b in zip(sums, figures, strict=True)]
            tokens, forwards, drafted, accepted, outputs_ = sums
            report(temperature=temperature, rule=rule, stop=name, outputs=outputs_,
                   tokens_per_forward=round(tokens / forwards, 3), drafted_per_forward=round(drafted / forwards, 2),
                   accepted=round(accepted / max(1, drafted), 3),
                   ms_per_token=round(1000 * (time.thread_time() - begin) / tokens, 2))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="file for the head")
    parser.add_argument("--schemas", type=int, default=200, help="to train on")
    parser.add_argument("--measured", type=int, default=20, help="schemas to measure with")
    parser.add_argument("--tokens", type=int, default=100, help="of an output at most")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    reference = constrain.reference.load()
    target, draft = (HFModel(each, reference.tokenizer) for each in (reference.model, reference.draft))
    files = sorted((DATA / "maskbench-dev").glob("*.json"))
    random.Random(options.seed).shuffle(files)
    half = len(files) // 2
    start = time.thread_time()
    written = outputs(target, draft, files[half:], options.schemas, options.tokens, 1.0)
    lessons = [lesson(target, draft, text_of(target, *each)) for each in written]
    report(texts=len(lessons), minutes=minutes(start))
    held = len(lessons) // 5
    hidden, chances = (torch.cat(column) for column in zip(*lessons[held:], strict=True))
    tested, known = (torch.cat(column) for column in zip(*lessons[:held], strict=True))
    start = time.thread_time()
    head = AcceptanceHead(hidden.shape[1])
    train(head, hidden, chances, options)
    with torch.no_grad():
        said = head(tested).sigmoid()
    report(minutes_of_training=minutes(start), tokens=len(hidden), held_out=len(tested),
           mean_chance=round(float(known.mean()), 3), mean_said=round(float(said.mean()), 3),
           brier=round(float(((said - known) ** 2).mean()), 4),
           brier_of_the_mean=round(float(known.var()), 4))  # fmt: skip
    options.out.parent.mkdir(parents=True, exist_ok=True)
    head.save(options.out)
    measure(target, draft, AcceptanceHead.load(options.out), files[:half], options)


if __name__ == "__main__":
    main()
