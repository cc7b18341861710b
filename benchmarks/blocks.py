"""The cost of an effective answer of each method that weighs, with a real model: forward passes, CPU seconds, evidence.

    python benchmarks/blocks.py --model build/real/smollm2 --functions BFCL --kinds calls extraction --count 10 \
        --seeds 3 --out DIR

Question: what does an answer by weights cost beside one of masked decoding, and what do drafts save: read ahead at
every token, or in blocks (`SMC(boundary="draft")`, methods/smc.py)?

The tasks are those of run_tasks.py, at temperature 1, chat, the same seeds for each arm, arms in turns. The mass of a
question's language is estimated by each answer, unbiased; answers are worth (Σ Z)² / Σ Z² of their number, question by
question (`effective`), since an answer whose estimate misses the mass says little of the law. Costs are divided by that
number: `passes` are forward passes of a batch, `reads` sequences in them, seconds those of the CPU. `evidence` is the
mean over questions of the log of the mean estimate, its half interval the delta method's at 95 %. `none`: answers
without a member.

Bias: one model, few questions. An effective number by few estimates is too great where heavy ones were never drawn.
Particles of one answer count as one answer: what they say together about other questions of the law is left out.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import time
from collections.abc import Callable
from itertools import islice, product
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import constrain
from constrain.models.hf import HFModel
from constrain.papers import Weighed
from constrain.sampling import AWRS, SIR, SMC
from constrain.sampling.core.resampling import effective_size
from constrain.speculative import Fixed, Speculation
from tasks.arms import ARMS as TASK_ARMS
from tasks.arms import constraint_of

LEAST = 0.3  # chance of a node that is read


def _likely() -> Speculation:
    """Drafts as "auto", but only what is likely: many sequences share a forward pass, and a node is dear beside it."""
    return Speculation("auto", controller=Fixed(nodes=32, depth=32, least=LEAST))


def _blocks(count: int, verifier: Any = None) -> dict[str, Any]:
    """verifier: of tokens that the draws of n-grams propose; None: nothing is drawn."""
    drawn = verifier and Speculation(["ngram"], verifier=verifier, controller=Fixed(nodes=4, depth=4))
    return {"method": SMC(particles=count, boundary="draft"), "draft": drawn or _likely()}


ARMS: dict[str, Callable[[], dict[str, Any]]] = {
    "lcd": lambda: {"method": "lcd"},
    "lcd, drafts": lambda: {"method": "lcd", "draft": _likely()},
    "sir 4": lambda: {"method": SIR(samples=4)},
    "sir 4, drafts": lambda: {"method": SIR(samples=4), "draft": _likely()},
    "awrs": lambda: {"method": AWRS()},
    "awrs, drafts": lambda: {"method": AWRS(), "draft": _likely()},
    "smc 4": lambda: {"method": SMC(particles=4)},
    "smc 4, drafts": lambda: {"method": SMC(particles=4), "draft": _likely()},
    "smc 4, blocks": lambda: _blocks(4),
    "smc 4, blocks, block ngram": lambda: _blocks(4, "block"),
    "smc 4, blocks, weighed ngram": lambda: _blocks(4, Weighed()),
    "smc 8": lambda: {"method": SMC(particles=8)},
    "smc 8, blocks": lambda: _blocks(8),
    "smc 16": lambda: {"method": SMC(particles=16)},
    "smc 16, blocks": lambda: _blocks(16),
}

PASSES = [0]  # forward passes of the model so far


def counting(handle: HFModel) -> HFModel:
    """The same, whose forward passes are counted."""
    forward = handle.model.forward

    def counted(*given: Any, **named: Any) -> Any:
        PASSES[0] += 1
        return forward(*given, **named)

    handle.model.forward = counted
    return handle


def answer(handle: Any, task: Any, arm: str, seed: int, complete: bool | None) -> dict[str, Any]:
    """The record of an answer."""
    given = {"draft": False, "complete": complete, **(constraint_of(TASK_ARMS["default"], task) or {}), **ARMS[arm]()}
    before, begun = PASSES[0], time.process_time()
    g = constrain.generate(handle, task.prompt(True), temperature=1.0, max_tokens=task.tokens, seed=seed, **given)
    seconds = time.process_time() - begun
    log = g.log_weight if g.finish_reason == "stop" else -math.inf
    return {
        "arm": arm, "task": task.name, "seed": seed, "log_evidence": None if log == -math.inf else round(log, 4),
        "passes": PASSES[0] - before, "reads": g.stats.forwards, "seconds": round(seconds, 3), "tokens": len(g.tokens),
        "finish": g.finish_reason,
    }  # fmt: skip


def summary(records: list[dict[str, Any]]) -> str:
    """The records as a table of Markdown, an arm a line."""
    heads = ["arm", "answers", "none", "effective", "passes", "reads", "CPU s", "CPU s an answer", "evidence, 95 %"]
    lines = [f"| {' | '.join(heads)} |", "|---|" + "---:|" * (len(heads) - 1)]
    for arm in dict.fromkeys(each["arm"] for each in records):
        own = [each for each in records if each["arm"] == arm]
        logs: dict[str, list[float]] = {}
        for each in own:
            logs.setdefault(each["task"], []).append(
                -math.inf if each["log_evidence"] is None else each["log_evidence"]
            )
        worth = math.fsum(effective_size(each) for each in logs.values())
        total = {key: sum(each[key] for each in own) for key in ("passes", "reads", "seconds")}
        costs = [f"{total[key] / worth:.{digits}f}" for key, digits in (("passes", 1), ("reads", 0), ("seconds", 2))]
        none = sum(each["log_evidence"] is None for each in own)
        cells = [arm, str(len(own)), str(none), f"{worth:.1f}", *costs, f"{total['seconds'] / len(own):.2f}"]
        lines.append(f"| {' | '.join([*cells, _evidence(list(logs.values()))])} |")
    return "\n".join(lines)


def _evidence(logs: list[list[float]]) -> str:
    """The mean of the log of the mean estimate, over the questions that have one, and half its interval."""
    means, variances = [], []
    for each in logs:
        if (top := max(each)) > -math.inf:
            shares = [math.exp(log - top) for log in each]
            mean = sum(shares) / len(shares)
            means.append(top + math.log(mean))
            spread = sum((share - mean) ** 2 for share in shares) / max(1, len(shares) - 1)
            variances.append(spread / len(shares) / mean**2)
    return f"{sum(means) / len(means):.2f} ± {1.96 * math.sqrt(sum(variances)) / len(means):.2f}" if means else "–"


def main() -> None:
    """Write records.jsonl and summary.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--functions", type=Path, help="the folder bfcl_eval/data")
    parser.add_argument("--kinds", nargs="+", default=["extraction"], choices=["calls", "extraction"])
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS), metavar="ARM")
    parser.add_argument("--count", type=int, default=10, help="questions of each kind")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--complete", action="store_true", help="complete=True for every arm")
    parser.add_argument("--dtype", default="float32", help="of the weights: of 16 bits, they depend on the batch")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=options.dtype).eval()
    handle, pages = counting(HFModel(model, AutoTokenizer.from_pretrained(options.model))), []
    for kind in options.kinds:
        folder = [options.functions] if kind == "calls" else []
        tasks = list(islice(importlib.import_module(f"tasks.{kind}").tasks(*folder), options.count))
        records = []
        with (options.out / f"{kind}.jsonl").open("w", encoding="utf-8") as file:
            for task, seed, arm in product(tasks, range(options.seeds), options.arms):
                records.append(answer(handle, task, arm, seed, options.complete or None))
                file.write(json.dumps(records[-1]) + "\n")
                file.flush()
        pages.append(f"## {kind}\n\n{summary(records)}\n")
        (options.out / "summary.md").write_text("\n".join(pages), encoding="utf-8")
    print("\n".join(pages))


if __name__ == "__main__":
    main()
