"""A small masked-diffusion model without and with a constraint: how many texts parse, in how many steps, at what cost?

    python scripts/train_diffusion.py FOLDER
    python benchmarks/diffusion.py FOLDER [--texts 20] [--kinds json arithmetic sql] [--record DIR]

The model writes JSON, arithmetic and SQL of at most 32 characters; a letter before the text says which. For each kind,
policy and number of steps, the same seeds without and with the grammar of the collection, at temperature 0.7. Answers
are checked by other parsers: `json.loads`, Python's for arithmetic, SQLite's for SQL. Every text counts.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

import constrain
from constrain.diffusion import denoise
from languages import oracles

ROOT = Path(__file__).resolve().parent.parent
LENGTH = 32
RUNS = [("confidence", 32), ("confidence", 8), ("entropy", 8), ("margin", 8), ("threshold", 32), ("shuffled", 32)]


class Trained:
    """The model that scripts/train_diffusion.py made."""

    def __init__(self, folder: Path) -> None:
        spec = importlib.util.spec_from_file_location("train_diffusion", ROOT / "scripts" / "train_diffusion.py")
        assert spec is not None and spec.loader is not None
        script = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(script)
        saved = torch.load(folder / "model.pt", weights_only=True)
        self.network = script.Denoiser(**saved["settings"])
        self.network.load_state_dict(saved["weights"])
        self.network.eval()
        self.vocabulary = constrain.Vocabulary(
            [*(bytes([i]) for i in range(32, 127)), None, None], eos_ids=[script.EOS]
        )
        self.mask_id = script.MASK

    def logits(self, tokens: list[int]) -> np.ndarray:
        """See `MaskedDiffusion`."""
        with torch.inference_mode():
            return self.network(torch.tensor([tokens]))[0].numpy()


def run(model: Trained, kind: str, name: str, policy: str, steps: int, count: int, free: bool) -> dict[str, Any]:
    """The row of a kind, a policy and a number of steps."""
    folder = constrain.collection.folder(name)
    oracle, constraint = oracles.find(folder.settings["oracle"]), None if free else folder.constraint()
    outs, parse, faults = [], 0, []
    for seed in range(count):
        out = denoise(
            model, constraint, prompt=[ord(kind) - 32], length=LENGTH, policy=policy, steps=steps, temperature=0.7,
            seed=seed,
        )  # fmt: skip
        verdict = oracle(out.text.encode())
        parse += verdict is not False and out.fault is None
        if verdict is False or out.fault:
            faults.append({"text": out.text, "fault": out.fault})
        outs.append(out)
    total = sum(out.steps for out in outs)
    return {
        "texts": count,
        "parse": parse,
        "steps, mean": round(total / count, 1),
        "refused proposals a text": round(sum(out.refused for out in outs) / count, 2),
        "masks a text": round(sum(out.masks for out in outs) / count, 2),
        "constraint ms a step": round(1e3 * sum(out.constraint_seconds for out in outs) / total, 2),
        "model ms a step": round(1e3 * sum(out.model_seconds for out in outs) / total, 2),
        "examples": [out.text for out in outs[:3]],
        "faults": faults[:5],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--texts", type=int, default=20)
    parser.add_argument("--kinds", nargs="+", default=["json", "arithmetic", "sql"])
    parser.add_argument("--record", type=Path, help="write the table as JSON into this folder")
    options = parser.parse_args()
    model = Trained(options.folder)
    table: dict[str, Any] = {"training": json.loads((options.folder / "training.json").read_text(encoding="utf-8"))}
    for name in options.kinds:
        kind = name[0]
        for policy, steps in RUNS:
            for free in (True, False):
                row = run(model, kind, name, policy, steps, options.texts, free)
                key = f"{name}, {policy}, {steps} steps, {'free' if free else 'constrained'}"
                table[key] = row
                print(key, json.dumps({k: v for k, v in row.items() if k not in ("faults", "examples")}), flush=True)
    if options.record:
        options.record.mkdir(parents=True, exist_ok=True)
        text = json.dumps(table, indent=1, ensure_ascii=False)
        (options.record / "table.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
