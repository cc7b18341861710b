"""The cost of a constraint in a step of a masked-diffusion model of a billion parameters, with 128,000 tokens.

    python benchmarks/diffusion_overhead.py --vocabulary tokenizer.model [--lengths 32 64 128] [--record DIR]

Forward: a decoder of Llama's shape (16 layers of width 2,048, 32 heads with 8 for keys and values, 128,256 tokens: 1.24
billion parameters) with random weights, in which all positions see all others; a text of 128 tokens; CPU seconds and
seconds, the median of three, float32, all cores that torch takes.
Constraint: `denoise` with logits drawn at random for all tokens, so that most proposals are refused: the worst case.
Each finished text has to be a member, else the benchmark fails. CPU milliseconds a step, policies and draws counted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from constrain.masks.derived.members import is_member
from constrain.papers.diffusion import denoise

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "active": {"type": "boolean"},
    },
    "required": ["name", "age", "tags", "active"],
    "additionalProperties": False,
}


class Random:
    """Logits that are drawn anew for each text."""

    def __init__(self, path: Path) -> None:
        special = {"<|end|>": 128000, "<|mask|>": 128001}
        self.vocabulary = constrain.Vocabulary.from_tiktoken(path, special_tokens=special, eos_ids=[128000])
        self.mask_id, self.rng = 128001, np.random.default_rng(0)

    def logits(self, tokens: list[int]) -> np.ndarray:
        return self.rng.standard_normal((len(tokens), len(self.vocabulary)), np.float32)


def steps_row(model: Random, constraint: Any, length: int, steps: int, texts: int) -> dict[str, Any]:
    """Milliseconds of the constraint in a step."""
    denoise(model, constraint, length=length, steps=1)  # the tables of the grammar
    outs = [denoise(model, constraint, length=length, steps=steps, seed=seed) for seed in range(texts)]
    free = [denoise(model, None, length=length, steps=steps, seed=seed) for seed in range(texts)]
    for out in outs:
        assert out.fault is None and is_member(constraint, out.text), out.text
    total, free_total = sum(out.steps for out in outs), sum(out.steps for out in free)
    spent = 1e3 * sum(out.constraint_seconds for out in outs) / total
    spent_free = 1e3 * sum(out.constraint_seconds for out in free) / free_total
    return {
        "texts": texts,
        "steps a text": round(total / texts, 1),
        "refused a text": round(sum(out.refused for out in outs) / texts, 1),
        "ms a step, with draws and policy": round(spent, 1),
        "ms a step without a constraint": round(spent_free, 1),
        "ms a step of the constraint": round(spent - spent_free, 1),
    }


def forward_row(length: int) -> dict[str, Any]:
    """Seconds of a forward."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=128_256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
        num_key_value_heads=8, tie_word_embeddings=True,
    )  # fmt: skip
    with torch.device("meta"):
        network = LlamaForCausalLM(config)
    network = network.to_empty(device="cpu").eval()
    rows: list[tuple[float, float]] = []
    with torch.inference_mode():
        for parameter in network.parameters():
            parameter.normal_(std=0.02)
        network.model.rotary_emb = type(network.model.rotary_emb)(config)  # its frequencies are no parameters
        ids = torch.randint(0, 128_000, (1, length))
        every = torch.ones(1, 1, length, length, dtype=torch.bool)
        for _ in range(4):
            begin, cpu = time.perf_counter(), time.process_time()
            logits = network(ids, attention_mask=every, use_cache=False).logits
            rows.append((time.perf_counter() - begin, time.process_time() - cpu))
            assert logits.shape == (1, length, 128_256) and bool(torch.isfinite(logits).all())
    wall, cpu = (statistics.median(row[i] for row in rows[1:]) for i in range(2))
    return {
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "tokens": length,
        "threads": torch.get_num_threads(),
        "seconds": round(wall, 3),
        "CPU seconds": round(cpu, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", type=Path, required=True, help="a file of tiktoken's form")
    parser.add_argument("--lengths", type=int, nargs="+", default=[32, 64, 128])
    parser.add_argument("--texts", type=int, default=3)
    parser.add_argument("--record", type=Path, help="write the table as JSON into this folder")
    options = parser.parse_args()
    forward = forward_row(128)
    table: dict[str, Any] = {"a forward": forward}
    print(json.dumps(forward), flush=True)
    model = Random(options.vocabulary)
    constraints = {
        "schema": constrain.json_schema(SCHEMA, whitespace="compact"),
        "json": constrain.collection.load("json"),
    }
    for name, constraint in constraints.items():
        for length in options.lengths:
            try:
                row = steps_row(model, constraint, length, max(1, length // 2), options.texts)
                share = row["ms a step of the constraint"] / (1e3 * forward["CPU seconds"])
                row["of a forward's CPU time, %"] = round(100 * share, 2)
            except constrain.LimitError as error:
                row = {"LimitError": error.message}
            table[f"{name}, {length} open positions"] = row
            print(name, length, json.dumps(row), flush=True)
            if options.record:
                options.record.mkdir(parents=True, exist_ok=True)
                (options.record / "overhead.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
