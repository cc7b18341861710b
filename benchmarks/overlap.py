"""Drafting while the target verifies (PEARL): the possible gain, and the gain with threads on one CPU.

Question: PEARL (Liu et al. 2024, arXiv 2408.11850) lets the draft model go on while the target reads its last draft, so
that a step takes as long as the slower of both. What a step costs one after the other, and with a thread for each?

    python benchmarks/overlap.py --out benchmarks/record/2026-11-23-overlap

Three figures of the reference pair, for drafts of several lengths:
    processor time of the target's forward over a draft, and of the draft model's forwards that make one: what a perfect
        overlap leaves out is the smaller of both, in the steps where the draft that was made meanwhile can be used;
    how often it can: the whole draft before was taken and the token after it was the draft model's too (outputs of
        MaskBench schemas at temperature 0, the same as without drafts);
    wall-clock time of both one after the other and in two threads, in turn; the least of all repeats, since other
        programs may use the cores.
Bias: models of 3.7 and 0.7 million parameters spend much of a forward in Python, where threads wait for each other.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.speculative import Fixed, Model, Speculation
from constrain.speculative.drafters.model import shaped_probs
from evaluation.tasks import read_task
from generate_schemas import data_folder
from masks.records import machine, write_run

PROMPT = 200  # tokens before the draft


@torch.inference_mode()
def parts(target: HFModel, draft: HFModel, depth: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """The two things that a step does: the target reads a draft, the draft model makes one."""
    text = [7 + i % 900 for i in range(PROMPT)]
    begun, drafting = (handle.start([text], [1])[0] for handle in (target, draft))

    def verify() -> None:
        begun.fork([0]).feed([text[: depth + 1]], [depth + 1])

    def make() -> None:
        session = drafting.fork([0])
        for token in text[:depth]:
            session.feed([[token]], [1])

    return verify, make


def clocked(job: Callable[[], None], clock: Callable[[], float], repeats: int) -> list[float]:
    """Milliseconds of each repeat."""
    found = []
    for _ in range(repeats):
        begin = clock()
        job()
        found.append(1000 * (clock() - begin))
    return found


def in_turn(one: Callable[[], None], other: Callable[[], None]) -> Callable[[], None]:
    """One after the other."""

    def run() -> None:
        one()
        other()

    return run


def together(one: Callable[[], None], other: Callable[[], None]) -> Callable[[], None]:
    """Both at once, each in a thread; it ends when both have."""

    def run() -> None:
        thread = threading.Thread(target=one)
        thread.start()
        other()
        thread.join()

    return run


def context_length(outcome: Any) -> int:
    """Tokens of the text up to the last that the verifier gave."""
    start: int = outcome.context.memo["length"]
    return start + len(outcome.tokens)


def taken(target: HFModel, draft: HFModel, depth: int, count: int, tokens: int) -> dict[str, float]:
    """Over some outputs: the share of steps whose whole draft was taken, and of those after which the draft model would
    have gone on with the token that the target chose."""
    steps = whole = used = 0

    class Watching(Model):
        def propose(self, contexts: Any, budgets: Any) -> Any:
            for context in contexts:
                context.memo["length"] = len(context.tokens)
            return super().propose(contexts, budgets)

        def observe(self, outcomes: Any) -> None:
            nonlocal steps, whole, used
            for outcome in outcomes:
                if not len(outcome.tree):
                    continue
                steps += 1
                if len(outcome.path) == len(outcome.tree) and not outcome.ended:
                    whole += 1
                    text = list(outcome.context.tokens)  # what is forced behind the new tokens is there too
                    begin = context_length(outcome)
                    logits = draft.model(input_ids=torch.tensor([text[: begin - 1]])).logits[0, -1]
                    last = outcome.path[-1] + 1
                    probs = shaped_probs(outcome.context.setting, outcome.tree.matchers[last], logits)
                    used += probs is not None and int(probs.argmax()) == text[begin - 1]

    for path in sorted(data_folder().glob("*.json")):
        task = read_task(path, 600, 600)
        try:
            constraint = constrain.compile(constrain.json_schema(task.schema, whitespace="compact"), target.vocabulary)
            given = {"constraint": constraint, "temperature": 0, "max_tokens": tokens}
            speculation = Speculation([Watching(draft)], controller=Fixed(depth, depth, 0.0))
            found = constrain.generate(target, task.prompt, draft=speculation, **given)
            assert found.tokens == constrain.generate(target, task.prompt, **given).tokens, "another output"
        except ConstrainError:
            continue
        count -= 1
        if not count:
            break
    return {"steps": steps, "whole": whole / max(1, steps), "used": used / max(1, steps)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--outputs", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    reference = constrain.reference.load()
    target, draft = (HFModel(each, reference.tokenizer) for each in (reference.model, reference.draft))
    records, lines = [], [
        "| depth | target reads, CPU ms | draft is made, CPU ms | whole draft taken | draft made meanwhile is used | "
        "least step left by a perfect overlap | in turn, wall ms | two threads, wall ms |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    for depth in options.depths:
        verify, make = parts(target, draft, depth)
        reads, makes = (statistics.median(clocked(each, time.thread_time, options.repeats)) for each in (verify, make))
        use = taken(target, draft, depth, options.outputs, options.tokens)
        turn: list[float] = []
        both: list[float] = []
        for _ in range(options.repeats):
            turn += clocked(in_turn(verify, make), time.perf_counter, 1)
            both += clocked(together(verify, make), time.perf_counter, 1)
        # Of a step in which the draft made meanwhile is used, the shorter part costs nothing.
        left = 1 - use["used"] * min(reads, makes) / (reads + makes)
        record = {"depth": depth, "reads": reads, "makes": makes, **use, "left": left, "in_turn": min(turn),
                  "threads": min(both)}  # fmt: skip
        records.append(record)
        print(json.dumps(record), flush=True)
        lines.append(
            f"| {depth} | {reads:.2f} | {makes:.2f} | {use['whole']:.0%} | {use['used']:.0%} | {left:.0%} | "
            f"{min(turn):.2f} | {min(both):.2f} |"
        )
    summary = "\n".join(lines) + "\n"
    print(summary)
    if options.out:
        command = f"python benchmarks/overlap.py {' '.join(sys.argv[1:])}"
        write_run(options.out, {"command": command, **machine()}, records, summary)


if __name__ == "__main__":
    main()
