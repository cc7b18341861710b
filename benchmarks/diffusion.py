"""A small masked-diffusion model without and with a constraint: texts that parse, steps, and cost.

    python scripts/train_diffusion.py FOLDER
    python benchmarks/diffusion.py FOLDER [--texts 20] [--kinds json schema arithmetic sql] [--record DIR]

The model writes JSON, arithmetic and SQL of at most 32 characters; a letter before the text says which. For each kind,
policy and number of steps, the same seeds without and with the constraint, at temperature 0.7: the grammar of the
collection, or a JSON Schema. Every text counts. Answers are checked by other programs:
    syntax   `json.loads`, Python's parser for arithmetic, SQLite's for SQL
    task     JSON and schema: `jsonschema` finds it valid under the schema; arithmetic: Python computes a number; SQL:
             SQLite runs it on a database with the tables and columns that the model was trained on
The grammars do not know the schema, zeros or the columns: there the constraint may help with the task, and need not.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import constrain
from constrain.languages.constraints.base import Constraint
from constrain.papers.diffusion import denoise
from languages import oracles

ROOT = Path(__file__).resolve().parent.parent
LENGTH = 32
RUNS = [
    ("confidence", 32), ("confidence", 8), ("entropy", 8), ("margin", 8), ("threshold", 32), ("shuffled", 32),
    ("leftmost", 32), ("top-k", 32), ("local-leap", 32), ("prophet", 32), ("credit", 32),
]  # fmt: skip
DRAFTED = [("confidence", 32), ("confidence", 8), ("entropy", 32), ("margin", 32), ("leftmost", 32), ("threshold", 32)]
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "b": {"type": "array", "items": {"type": ["integer", "boolean", "null"]}},
        "id": {"enum": ["x", "yes", "Bern"]},
    },
    "minProperties": 1,
    "additionalProperties": False,
}


class Kind(NamedTuple):
    """A kind of text: the letter for the model, the constraint, and two checks by other programs."""

    letter: str
    constraint: Constraint
    syntax: Callable[[bytes], bool | None]
    task: Callable[[str], bool]


def fits_schema(text: str) -> bool:
    """True if `jsonschema` accepts a text."""
    import jsonschema

    try:
        jsonschema.validate(json.loads(text), SCHEMA)
    except (ValueError, jsonschema.ValidationError):
        return False
    return True


def has_value(text: str) -> bool:
    """True if Python computes a number; only texts of digits and signs are asked about, and no powers."""
    if not set(text) <= set("0123456789.+-*/()% ") or "**" in text:
        return False
    try:
        return isinstance(eval(text, {}), int | float)
    except (SyntaxError, ArithmeticError, TypeError):
        return False


def runs(text: str) -> bool:
    """True if SQLite runs a statement."""
    database = sqlite3.connect(":memory:")
    for table in ("t", "u", "users"):
        database.execute(f"CREATE TABLE {table} (a, b, id)")
    try:
        database.execute(text).fetchall()
    except (sqlite3.Error, sqlite3.Warning):
        return False
    finally:
        database.close()
    return bool(text.strip())


def kind_of(name: str) -> Kind:
    """Make the `Kind` of a name: its letter, constraint and checks."""
    if name == "schema":
        return Kind("j", constrain.json_schema(SCHEMA, whitespace="compact"), oracles.find("json"), fits_schema)
    folder = constrain.collection.folder(name)
    task = {"json": fits_schema, "arithmetic": has_value, "sql": runs}[name]
    return Kind(name[0], folder.constraint(), oracles.find(folder.settings["oracle"]), task)


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
        return self.logits_many([tokens])[0]

    def logits_many(self, texts: list[list[int]]) -> np.ndarray:
        with torch.inference_mode():
            return self.network(torch.tensor(texts)).numpy()

    def logits_at(self, tokens: list[int], places: list[int], memory: dict[int, torch.Tensor]) -> np.ndarray:
        with torch.inference_mode():
            return self.network.at(torch.tensor(tokens), torch.tensor(places), memory).numpy()


def drafted(model: Trained, name: str, policy: str, steps: int, count: int, free: bool) -> dict[str, Any]:
    """Calls of the model by number of drafts, at temperature 0; texts are those without drafts, or counted."""
    kind = kind_of(name)
    calls: dict[str, float] = {}
    changed, alone = 0, []
    for drafts in (0, 1, 3, 7):
        outs = [
            denoise(
                model, None if free else kind.constraint, prompt=[ord(kind.letter) - 32], length=length, policy=policy,
                steps=steps, drafts=drafts,
            )
            for length in range(LENGTH - count + 1, LENGTH + 1)
        ]  # fmt: skip
        alone = alone or [out.tokens for out in outs]
        changed += sum(out.tokens != tokens for out, tokens in zip(outs, alone, strict=True))
        calls[f"calls with {drafts} drafts"] = round(sum(out.calls for out in outs) / count, 1)
    refused = sum(out.refused for out in outs) / count
    return {"texts": count, **calls, "texts changed": changed, "refused proposals a text": round(refused, 2)}


def run(model: Trained, name: str, policy: str, steps: int, count: int, free: bool) -> dict[str, Any]:
    """The row of a kind, a policy and a number of steps."""
    kind = kind_of(name)
    outs, parse, done, faults = [], 0, 0, []
    for seed in range(count):
        out = denoise(
            model, None if free else kind.constraint, prompt=[ord(kind.letter) - 32], length=LENGTH, policy=policy,
            steps=steps, temperature=0.7, seed=seed,
        )  # fmt: skip
        verdict = kind.syntax(out.text.encode())
        parse += verdict is not False and out.fault is None
        done += kind.task(out.text)
        if verdict is False or out.fault:
            faults.append({"text": out.text, "fault": out.fault})
        outs.append(out)
    total = sum(out.steps for out in outs)
    return {
        "texts": count,
        "syntax": parse,
        "task": done,
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
    parser.add_argument("--kinds", nargs="+", default=["json", "schema", "arithmetic", "sql"])
    parser.add_argument("--drafts", action="store_true", help="only calls of the model, by number of drafts")
    parser.add_argument("--record", type=Path, help="write the table as JSON into this folder")
    options = parser.parse_args()
    model = Trained(options.folder)
    table: dict[str, Any] = {"training": json.loads((options.folder / "training.json").read_text(encoding="utf-8"))}
    for name in options.kinds:
        for policy, steps in DRAFTED if options.drafts else RUNS:
            for free in (True, False):
                key = f"{name}, {policy}, {steps} steps, {'free' if free else 'constrained'}"
                if options.drafts:
                    row = drafted(model, name, policy, steps, options.texts, free)
                else:
                    row = run(model, name, policy, steps, options.texts, free)
                table[key] = row
                print(key, json.dumps({k: v for k, v in row.items() if k not in ("faults", "examples")}), flush=True)
                if options.record:
                    options.record.mkdir(parents=True, exist_ok=True)
                    text = json.dumps(table, indent=1, ensure_ascii=False)
                    (options.record / "table.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
