"""Trains a small masked-diffusion model on JSON, arithmetic and SQL: the reference of `constrain.diffusion`.

    python scripts/train_diffusion.py FOLDER [--seconds 100] [--width 128] [--layers 4] [--length 32]

The model is a bidirectional transformer over characters (printable ASCII, EOS, mask). The loss is LLaDA's (Nie et al.,
arXiv 2502.09992): a rate t is drawn uniformly, each token is masked with probability t, and the cross-entropy at masked
positions is divided by t. Texts are generated: sums, small JSON objects, SELECT statements, each behind one letter that
says which kind it is. Everything is seeded but the number of steps, which the time decides; the record says how many.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path

import torch
from torch import nn

ASCII = 95  # printable characters, from 32 on
EOS, MASK = 95, 96
KINDS = {"j": "json", "a": "arithmetic", "s": "sql"}


class Denoiser(nn.Module):
    """A bidirectional transformer: ids [n, length] -> logits [n, length, 97]."""

    def __init__(self, width: int = 128, layers: int = 4, length: int = 33) -> None:
        super().__init__()
        self.settings = {"width": width, "layers": layers, "length": length}
        self.embed, self.place = nn.Embedding(97, width), nn.Embedding(length, width)
        block = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, 97)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """The logits at every position."""
        return self.head(self.blocks(self.embed(ids) + self.place.weight[: ids.shape[1]]))


def sum_of(rng: random.Random, depth: int = 2) -> str:
    """An arithmetic expression."""
    if depth == 0 or rng.random() < 0.3:
        return str(rng.randrange(100))
    inner = f"{sum_of(rng, depth - 1)}{rng.choice('+-*/')}{sum_of(rng, depth - 1)}"
    return f"({inner})" if rng.random() < 0.5 else inner


def value_of(rng: random.Random, depth: int = 2) -> object:
    """A JSON value."""
    kind = rng.randrange(6 if depth else 4)
    if kind == 4:
        return [value_of(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 5:
        return {rng.choice(["a", "b", "id", "name"]): value_of(rng, depth - 1) for _ in range(rng.randrange(1, 3))}
    return [rng.randrange(1000), rng.choice([True, False, None]), rng.choice(["x", "yes", "Bern"]), -1.5][kind]


def text_of(rng: random.Random, kind: str) -> str:
    """A text of a kind."""
    if kind == "a":
        return sum_of(rng)
    if kind == "j":
        return json.dumps({rng.choice(["a", "b", "id"]): value_of(rng)}, separators=(",", ":"))
    column, table = rng.choice(["a", "b", "*", "id"]), rng.choice(["t", "u", "users"])
    where = f" WHERE {rng.choice(['a', 'b'])}{rng.choice('<>=')}{rng.randrange(100)}" if rng.random() < 0.6 else ""
    return f"SELECT {column} FROM {table}{where}"


def batch_of(rng: random.Random, rows: int, length: int) -> torch.Tensor:
    """int64[rows, 1 + length]: the letter of a kind, a text, EOS to the end."""
    made = []
    while len(made) < rows:
        kind = rng.choice("jas")
        text = text_of(rng, kind)
        if len(text) < length:
            made.append([ord(c) - 32 for c in kind + text] + [EOS] * (length - len(text)))
    return torch.tensor(made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--rows", type=int, default=32)
    options = parser.parse_args()
    torch.manual_seed(0)
    rng = random.Random(0)
    model = Denoiser(options.width, options.layers, options.length + 1)
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    begin, losses = time.process_time(), []
    while (used := (time.process_time() - begin) / options.seconds) < 1:
        for group in optimiser.param_groups:
            group["lr"] = 2e-3 * min(1.0, (len(losses) + 1) / 50) * (1 - 0.95 * used)
        ids = batch_of(rng, options.rows, options.length)
        rate = 0.02 + 0.98 * torch.rand(options.rows, 1)
        masked = torch.rand(ids.shape) < rate
        masked[:, 0] = False
        logits = model(torch.where(masked, MASK, ids))
        each = nn.functional.cross_entropy(logits.transpose(1, 2), ids, reduction="none")
        loss = (each * masked / rate).sum() / ids.numel()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
    options.folder.mkdir(parents=True, exist_ok=True)
    torch.save({"settings": model.settings, "weights": model.state_dict()}, options.folder / "model.pt")
    record = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps": len(losses),
        "loss, last 50": round(sum(losses[-50:]) / len(losses[-50:]), 4),
        "CPU seconds": round(time.process_time() - begin, 1),
        "settings": model.settings,
    }
    (options.folder / "training.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(record))


if __name__ == "__main__":
    main()
