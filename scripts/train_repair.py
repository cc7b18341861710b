"""Teach the reference model to repair texts, for measuring drafts that copy.

    python scripts/train_repair.py --out build/repair --minutes 12

The embedded model goes on learning on `reference_model/repairs.py`: broken JSON, SQL and Python functions, each with
what it should be; the loss is that of the answers alone. The folder is in the format of transformers. It is not part of
the package: an embedded model that repairs well would need to be larger.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent))

from reference_model import corpus, learn
from reference_model.repairs import prompt, repairs

import constrain

LENGTH = 320  # tokens of a row; longer texts are left out
ASSISTANT, IGNORED = 4, -100


def rows(tokenizer: Any, seed: int) -> Iterator[np.ndarray]:
    """Prompts with their answers, int64[LENGTH], padded."""
    for repair in repairs(seed):
        ids = [*tokenizer(prompt(repair))["input_ids"], *tokenizer(repair.fixed)["input_ids"], corpus.EOS]
        if len(ids) <= LENGTH:
            yield np.array(ids + [corpus.PAD] * (LENGTH - len(ids)), np.int64)


def answer_loss(model: Any, batch: torch.Tensor) -> torch.Tensor:
    """Cross entropy in nats per token of the answers. batch: int64[rows, length]"""
    batch = batch[:, : int((batch != corpus.PAD).sum(1).max())]
    answered = (batch == ASSISTANT).cumsum(1)[:, :-1] > 0
    wanted = batch[:, 1:].masked_fill(~answered | (batch[:, 1:] == corpus.PAD), IGNORED)
    logits = model(input_ids=batch[:, :-1], use_cache=False).logits
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=IGNORED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the model")
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--steps", type=int)
    length.add_argument("--minutes", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=8, help="texts per step")
    parser.add_argument("--rate", type=float, default=1.5e-3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    reference = constrain.reference.load()
    model = reference.model.train()

    adam = torch.optim.AdamW(model.parameters(), lr=options.rate, betas=(0.9, 0.98), weight_decay=0.0)
    budget = learn.Budget(steps=options.steps, minutes=options.minutes)
    source, step, smooth = rows(reference.tokenizer, options.seed), 0, 0.0
    while (progress := budget.progress(step)) < 1:
        for group in adam.param_groups:
            group["lr"] = options.rate * learn.schedule(progress)
        loss = answer_loss(model, torch.from_numpy(np.stack([next(source) for _ in range(options.batch)])))
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        step += 1
        smooth = loss.item() if step == 1 else 0.97 * smooth + 0.03 * loss.item()
        if step % 50 == 0:
            print(json.dumps({"step": step, "seconds": round(budget.elapsed()), "loss": round(smooth, 3)}), flush=True)
            model.save_pretrained(options.out)
            reference.tokenizer.save_pretrained(options.out)
    model.save_pretrained(options.out)
    reference.tokenizer.save_pretrained(options.out)


if __name__ == "__main__":
    main()
