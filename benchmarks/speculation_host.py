"""The host time of a step with drafts, beside the forward and the kernels: µs a tree, by stage.

    python benchmarks/speculation_host.py --nodes 1 16 64 --batch 1 16 64

For nodes a tree, at most × trees a step, of extractions under a schema with the drafts of "auto":
    propose   drafters: what they say, and what they are told afterwards
    build     the builder
    masks     the bitmasks of a step
    emit      verdicts → tokens, their numbers and counts; keeping paths, forced tokens
    session   what the session of the model does beside the model's forward
    step      all of it, and what is between
    verify    `Fused("match")` on trees of --nodes nodes, its kernels stubbed: they are not run
The reference model writes; `Match` chooses its tokens and is not counted, nor is the forward. CPU time of one thread,
the least of --repeat runs by `step`; a run before them warms up.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest import mock

os.environ.setdefault("TRITON_INTERPRET", "1")  # `Fused` asks for a device, and no kernel is run
import numpy as np
import torch

import constrain
from constrain.models.hf.tree import HFTreeSession
from constrain.sampling.fused.batch import ENTRY, NONE
from constrain.speculative import Fixed, Match, Speculation, Verdict
from constrain.speculative.decode import _Loop
from constrain.speculative.drafting import Drafting
from constrain.speculative.fused import Fused
from speculation_gpu import CHAIN, PERSON, TEXTS, problem, tomllib

DEPTH = 32  # of a tree, at most
SEEDS = 4  # outputs of each prompt
STAGES: dict[str, list[tuple[Any, str]]] = {
    "propose": [(Drafting, "_propose"), (Drafting, "tell")],
    "build": [(Drafting, "trees")],
    "masks": [(_Loop, "_masks")],
    "emit": [(_Loop, "_verify"), (_Loop, "_commit"), (_Loop, "_drop")],
    "session": [(_Loop, "_forward"), (HFTreeSession, "commit"), (HFTreeSession, "select")],
    "other": [(_Loop, "advance")],
}
LEFT_OUT = "left out"  # the forward, and the choice of tokens


class Stages:
    """CPU seconds of this thread by stage; what a stage calls is charged to its own stage."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._open: list[str] = []
        self._since = 0.0

    def _switch(self) -> None:
        now = time.thread_time()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def timed(self, stage: str, function: Any) -> Callable[..., Any]:
        """A function that is charged to a stage."""

        def call(*arguments: Any, **options: Any) -> Any:
            self._switch()
            self._open.append(stage)
            try:
                return function(*arguments, **options)
            finally:
                self._switch()
                self._open.pop()

        return call


class Told(Match):
    """`match` with the numbers of each token, as kernels tell them."""

    def verify(self, cases: Any, draw: Any) -> list[Verdict]:
        verdicts = super().verify(cases, draw)
        for case, verdict in zip(cases, verdicts, strict=True):
            places = [0, *(node + 1 for node in verdict.path)]
            tokens = [*(int(case.tree.tokens[node]) for node in verdict.path), verdict.token]
            verdict.numbers = [
                case.rows.numbers(*each) if each[1] != NONE else (0.0, 0.0, 0.0)
                for each in zip(places, tokens, strict=True)
            ]
        return verdicts


def drafted(nodes: int, batch: int, repeat: int) -> dict[str, float]:
    """µs a tree by stage, and their sum."""
    texts = tomllib.loads(TEXTS.read_text(encoding="utf-8"))["Person"]
    prompts = [f"Extract the person from this text as JSON: {texts[i % len(texts)]['text']}\n" for i in range(batch)]
    model, found = constrain.reference.load(), []
    for _ in range(1 + repeat):
        stages, trees = Stages(), 0
        with ExitStack() as patches:
            left_out = {LEFT_OUT: [(type(model.model), "forward"), (Told, "verify")]}
            for stage, places in (STAGES | left_out).items():
                for owner, name in places:
                    timed = stages.timed(stage, getattr(owner, name))
                    patches.enter_context(mock.patch.object(owner, name, lambda *a, timed=timed, **o: timed(*a, **o)))
            for seed in range(SEEDS):
                own = Speculation("auto", verifier=Told(), controller=Fixed(nodes, DEPTH))
                outputs = constrain.generate(model, prompts, schema=PERSON, max_tokens=48, draft=own, seed=seed)
                trees += sum(each.stats.forwards for each in outputs)
        found.append({stage: stages.seconds[stage] / trees * 1e6 for stage in STAGES})
    least = min(found[1:], key=lambda each: sum(each.values()))
    return {**least, "step": sum(least.values())}


def verified(nodes: int, batch: int, repeat: int) -> float:
    """µs a tree of `Fused("match")`, its kernels stubbed by one verdict for all trees."""
    given, depth = problem(256, nodes, batch, torch.device("cpu")), min(CHAIN, nodes)
    out: list[np.ndarray] = []

    def stubbed(logits: Any, step: Any, rule: Any, size: int) -> np.ndarray:
        if not out:
            count, _, places = step.trees.numbers.shape
            out.append(np.zeros((count, 1 + places, ENTRY), np.int32))
            out[0][:, 0, :2] = depth + 1
            out[0][:, 1 : 1 + depth, 0] = np.arange(depth)
            out[0][:, 1 + depth, 0] = NONE
        return out[0]

    def steps() -> Any:
        return stubbed

    times = []
    fused = Fused("match", kernels=True)
    with mock.patch("constrain.speculative.fused.steps_of_thread", steps):
        cases, draw = given.cases(0)
        for _ in range(20 * repeat):
            start = time.thread_time()
            fused.verify(cases, draw)
            times.append(time.thread_time() - start)
    return min(times) / batch * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 16, 64], help="nodes of a tree, at most")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 16, 64], help="trees of a step")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for nodes, batch in itertools.product(options.nodes, options.batch):
        row = {"nodes": nodes, "trees": batch, "verify": verified(nodes, batch, options.repeat)}
        row |= drafted(nodes, batch, options.repeat)
        print(json.dumps({name: round(value, 1) for name, value in row.items()}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
