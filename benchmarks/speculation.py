"""Drafts: tokens per forward pass, and the time of constrained decoding beside unconstrained.

Question: for each set of drafters, verifier and temperature, over MaskBench schemas with the reference pair: tokens per
forward of the target, the share of drafted tokens that is accepted (beside the optimum that any rule could reach, where
drafts are drawn), processor time per token against plain unconstrained decoding of as many tokens, by this library and
by transformers, and what the constraint costs beside the forwards.

    python benchmarks/speculation.py --limit 100 --out benchmarks/record/2026-11-21-speculation
    python benchmarks/speculation.py --limit 10 --rows 'match/0'

Answers are checked: with `match` every output is compared with that of plain constrained decoding of the same seed (at
temperature 0 one difference fails the run; at 1 they are counted, since rounding may tip a draw), and every finished
output must be valid under the `jsonschema` package. One core (set OMP_NUM_THREADS=1), batch 1, processor time.
Bias: the target is tiny, so a forward of several tokens costs more than that of one, as it would not on a GPU, and what
surrounds forwards weighs as it never would beside a large model. The task is to copy a record into a schema
(evaluation/tasks.py), which the model often fails at; what it writes instead is repetitive or hard to guess.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers import (
    Goodput,
    NGramDrafter,
    Prior,
    Recycling,
    Retrieval,
    Stopping,
    optimal_acceptance,
    skip_layers,
)
from constrain.sampling import Job, Settings, TorchDraw, lcd
from constrain.sampling.core import job
from constrain.sampling.core.draw import Draw
from constrain.sampling.core.sampler import drive
from constrain.speculative import (
    NONE,
    Case,
    Controller,
    Drafter,
    Fixed,
    Model,
    Speculation,
    Verdict,
    Verifier,
    drafter_named,
    masks,
    verifier_named,
)
from evaluation.speculation_report import report
from evaluation.tasks import Task, read_task
from generate_schemas import data_folder, is_valid

Make = Callable[[], list[Drafter]]


@dataclass(frozen=True)
class Row:
    """One configuration. drafters: made anew for every output. taught: how many outputs the drafters see before"""

    drafters: str
    verifier: str
    temperature: float
    make: Make
    controller: Callable[[], Controller] = Fixed
    taught: int = 0

    @property
    def name(self) -> str:
        return f"{self.drafters}/{self.verifier}/{self.temperature:g}"


class Watched(Verifier):
    """A rule, and beside it how often any rule could go on at the places that were visited.

    places, optimum, achieved: places with drawn children; sums over them of α* and of going on through one of these
    seconds: processor time spent here and not by the rule
    """

    def __init__(self, name: str) -> None:
        self.rule = verifier_named(name)
        self.name, self.draws, self.lossless = self.rule.name, self.rule.draws, self.rule.lossless
        self.places, self.optimum, self.achieved = 0, 0.0, 0
        self.seconds = 0.0

    def verify(self, cases: list[Case], draw: Draw) -> list[Verdict]:  # type: ignore[override]
        verdicts = self.rule.verify(cases, draw)
        start = time.thread_time()
        for case, verdict in zip(cases, verdicts, strict=True):
            if case.tree.drawn:
                self._watch(case, verdict)
        self.seconds += time.thread_time() - start
        return verdicts

    def _watch(self, case: Case, verdict: Verdict) -> None:
        tree, children = case.tree, case.tree.children()
        tokens = [*(int(tree.tokens[node]) for node in verdict.path), verdict.token]
        for place, token in zip([0, *(node + 1 for node in verdict.path)], tokens, strict=True):
            drawn = [node for node in children[place] if tree.draft_rows[node] != NONE]
            target = case.rows.probabilities(place)
            if not drawn or target is None or case.rows.forced(place) != NONE or tree.draft_probs is None:
                continue
            drafted = tree.draft_probs[int(tree.draft_rows[drawn[0]])].double()
            drafted = torch.nn.functional.pad(drafted, (0, len(target) - len(drafted)))
            self.places += 1
            self.optimum += optimal_acceptance(target, drafted, len(drawn), tree.replacement)
            self.achieved += any(int(tree.tokens[node]) == token for node in drawn)


class ThreadTime:
    """In place of the wall clock of stages: the machine may have other work to do."""

    perf_counter = staticmethod(time.thread_time)


def rows_of(draft: HFModel, skipping: HFModel) -> list[Row]:
    """The table: sets of drafters under `match`, then drafters that draw under each rule that draws.

    draft: the draft model. skipping: the target without half of its layers
    """
    auto = lambda: [drafter_named("words"), drafter_named("lookup")]  # noqa: E731
    model = lambda width=1, paths=1: [Model(draft, width=width, paths=paths)]  # noqa: E731
    sets: dict[str, Make] = {
        "none": list,
        "words": lambda: [drafter_named("words")],
        "lookup": lambda: [drafter_named("lookup")],
        "recycling": lambda: [Recycling()],
        "ngram": lambda: [NGramDrafter()],
        "auto": auto,
        "auto+recycling": lambda: [*auto(), Recycling()],
        "auto+ngram": lambda: [*auto(), NGramDrafter()],
        "model": model,
        "model, tree": lambda: model(4, 4),
        "half the layers": lambda: [Model(skipping)],
        "model+auto": lambda: [*model(), *auto()],
        "model+auto+recycling": lambda: [*model(), *auto(), Recycling()],
    }
    rows = []
    for temperature in (0.0, 1.0):
        rows += [Row(name, "match", temperature, make) for name, make in sets.items()]
        prior: dict[str, Make] = {
            "prior (2 before)": lambda: [Prior(shared=False)],
            "auto+prior (2 before)": lambda: [*auto(), Prior(shared=False)],
            "retrieval (2 before)": lambda: [Retrieval()],
            "auto+retrieval (2 before)": lambda: [*auto(), Retrieval()],
            "auto+recycling (2 before)": lambda: [*auto(), Recycling()],
        }
        rows += [Row(name, "match", temperature, make, taught=2) for name, make in prior.items()]
        for each in (Stopping, Goodput):
            rows.append(Row(f"auto+recycling, {each.name}", "match", temperature, sets["auto+recycling"], each))
    for rule in ("recursive-without", "k-seq", "traversal"):
        rows.append(Row("model ×2, 4 paths", rule, 1.0, lambda: model(2, 4)))
    for rule in ("token", "block", "recursive", "recursive-without", "k-seq", "traversal"):
        width = 2 if rule in ("recursive-without", "traversal") else 1
        rows.append(Row(f"model ×{width}", rule, 1.0, lambda width=width: model(width)))  # type: ignore[misc]
        rows.append(Row("ngram, drawn", rule, 1.0, lambda: [NGramDrafter()]))
        rows.append(Row(f"model ×{width}+auto", rule, 1.0, lambda width=width: [*model(width), *auto()]))  # type: ignore[misc]
    return rows


@dataclass
class Bench:
    """Models and options. records: one for each schema and row"""

    handle: HFModel
    options: argparse.Namespace
    records: list[dict[str, Any]] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)

    def schema(self, task: Task, rows: list[Row]) -> bool:
        """All rows of a schema, in random order; False if it is refused or hardly anything is written."""
        try:
            constraint = constrain.json_schema(task.schema, whitespace="compact")
            constraint = constrain.compile(constraint, self.handle.vocabulary)
            plain = {t: self.generate(task.prompt, constraint, t, None) for t in {row.temperature for row in rows}}
        except ConstrainError as error:
            print(f"refused: {task.file}: {error.message}", file=sys.stderr)
            return False
        if min(g.stats.tokens for g in plain.values()) < self.options.least:
            return False
        for row in random.Random(zlib.crc32(task.file.encode())).sample(rows, len(rows)):
            self.records.append(self.run(task, constraint, row, plain[row.temperature]))
        for temperature, g in plain.items():
            self.records.append(self.unconstrained(task, temperature, len(g.tokens)))
            self.records.append(self.transformers(task, temperature, len(g.tokens)))
        return True

    def generate(self, prompt: str, constraint: Any, temperature: float, draft: Any, seed: int = 0) -> Any:
        return constrain.generate(
            self.handle, prompt, constraint=constraint, temperature=temperature, draft=draft,
            seed=self.options.seed + seed, max_tokens=self.options.max_tokens,
        )  # fmt: skip

    def run(self, task: Task, constraint: Any, row: Row, plain: Any) -> dict[str, Any]:
        """One output, measured and checked. What came before it is not measured."""
        drafters = row.make()
        for seed in range(1, row.taught + 1):  # other outputs of the schema, not of this record
            shown = task.prompt.split("\nRecord:")[0] + "\nJSON: "
            self.generate(shown, constraint, 1.0, Speculation(drafters), seed)
        watched = Watched(row.verifier)
        draft = Speculation(drafters, verifier=watched, controller=row.controller()) if drafters else None
        start = time.thread_time()
        g = self.generate(task.prompt, constraint, row.temperature, draft)
        seconds = time.thread_time() - start - watched.seconds
        stages = {**g.stats.seconds, "sample": g.stats.seconds.get("sample", 0.0) - watched.seconds}
        return {
            "file": task.file, "row": row.name, "drafters": row.drafters, "verifier": row.verifier,
            "temperature": row.temperature, "tokens": g.stats.tokens, "forwards": g.stats.forwards,
            "masks": g.stats.masks, "forced": g.stats.forced, "seconds": seconds,
            "stages": {name: stages.get(name, 0.0) for name in ("model", "mask", "draft", "sample")},
            "drafts": {name: [c.drafted, c.accepted, c.refused] for name, c in g.stats.drafts.items()},
            "faults": [count.fault for count in g.stats.drafts.values() if count.fault],
            "drawn places": watched.places, "optimum": watched.optimum, "achieved": watched.achieved,
            "finished": g.finish_reason, "same": g.tokens == plain.tokens,
            "invalid": is_valid(task.schema, json.loads(g.text)) if g.finish_reason == "stop" else None,
        }  # fmt: skip

    def unconstrained(self, task: Task, temperature: float, tokens: int) -> dict[str, Any]:
        """As many tokens by plain decoding, whatever they are: no constraint, no draft, no end."""
        prompt = self.handle.tokenizer(task.prompt)["input_ids"]
        settings = Settings(max_tokens=tokens, temperature=temperature)
        plain = Job(self.handle, [prompt], None, self.handle.vocabulary.size, (), settings, TorchDraw(0), [0])
        start = time.thread_time()
        (sample,) = drive(lcd, plain)
        seconds = time.thread_time() - start
        assert len(sample.tokens) == sample.forwards == tokens
        return {
            "file": task.file, "row": f"unconstrained/{temperature:g}", "temperature": temperature, "tokens": tokens,
            "forwards": sample.forwards, "seconds": seconds,
        }  # fmt: skip

    def transformers(self, task: Task, temperature: float, tokens: int) -> dict[str, Any]:
        """The same by `model.generate` of transformers."""
        prompt = self.handle.tokenizer(task.prompt, return_tensors="pt")
        shape: dict[str, Any] = {"do_sample": False}
        if temperature > 0:
            shape = {"do_sample": True, "temperature": temperature, "top_k": 0}
        start = time.thread_time()
        with torch.inference_mode():
            found = self.handle.model.generate(
                **prompt, min_new_tokens=tokens, max_new_tokens=tokens, pad_token_id=0, **shape
            )
        seconds = time.thread_time() - start
        assert found.shape[1] - prompt["input_ids"].shape[1] == tokens
        return {
            "file": task.file, "row": f"unconstrained, transformers/{temperature:g}", "temperature": temperature,
            "tokens": tokens, "forwards": tokens, "seconds": seconds,
        }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--limit", type=int, default=20, help="schemas that compile and are written (default: 20)")
    parser.add_argument("--rows", default="", help="a regular expression: rows whose name it finds, with none/… always")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-tokens", type=int, default=200)
    parser.add_argument("--least", type=int, default=10, help="tokens that an output has at least (default: 10)")
    parser.add_argument("--out", type=Path, help="folder for the raw records and summary.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for module in (job, masks):
        module.time = ThreadTime  # type: ignore[attr-defined]
    reference = constrain.reference.load()
    bench = Bench(HFModel(reference.model, reference.tokenizer), options)
    rows = rows_of(HFModel(reference.draft, reference.tokenizer), skip_layers(bench.handle))
    rows = [row for row in rows if row.drafters == "none" or re.search(options.rows, row.name)]
    files = sorted(data_folder().glob("*.json"))
    random.Random(options.seed).shuffle(files)
    done = 0
    for path in files:
        done += bench.schema(read_task(path, 600, 600), rows)
        if done == options.limit:
            break
    text, faults = report(bench.records, vars(options))
    print(text)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(record) + "\n" for record in bench.records)
        (options.out / "records.jsonl").write_text(lines)
        (options.out / "summary.md").write_text(text)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
