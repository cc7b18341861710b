"""Every lossless drafter on a real model, greedy: outputs compared with those without drafts, and the cost of each.

    python benchmarks/lossless.py --out DIR
    python benchmarks/lossless.py --count 10 --batch 1 --groups copying --rows 'auto|lookup'

Model: SmolLM2 (`make real`), float32. Task: calls of three functions as JSON for made-up requests, which name what the
call repeats (a city, a message) or says in other words (a number). Requests go in batches, and each batch is asked of
every drafter before the next one, so a run that is ended has whole batches of all. A drafter is made once for all
outputs, as a server would keep it: tables and heads that learn go on learning. Heads are as they are before training:
nobody trained any for this model, so they tell costs and not what a trained one brings.

Answers are checked: an output that differs is asked for the gap of the two logits where it parts; the table has the
greatest. Float32 sums in another order differ by some 1e-4, so a gap below `TIE` is rounding, any other ends the run as
failed. Clock: CPU time of this thread, one core; a batch reads the weights once for all its outputs, so drafts save
less in it than `--batch 1` says. Bias: few, short outputs of a small model.
"""

from __future__ import annotations

import argparse
import copy
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import constrain
from constrain.models.hf import HFModel
from constrain.papers import (
    EarlyExit,
    Goodput,
    Heads,
    LexicalUnits,
    NGramDrafter,
    PrunedRetrieval,
    SelfDraft,
    Shortened,
    Stopping,
    heads,
    skip_layers,
)
from constrain.papers.drafting.beam import StochasticBeam
from constrain.papers.drafting.superposed import Superposed
from constrain.papers.layers.kangaroo import Kangaroo
from constrain.papers.layers.nested import Nested
from constrain.speculative import Fixed, Model, Speculation, Translated
from real_models import real_model

TIE = 1e-3  # nats: logits that are nearer are one number, but for rounding
CALL = {  # a call of one of three functions
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "name": {"const": name},
                "arguments": {"type": "object", "properties": given, "required": [*given]},
            },
            "required": ["name", "arguments"],
        }
        for name, given in {
            "set_timer": {"minutes": {"type": "integer", "minimum": 1, "maximum": 600}},
            "get_weather": {
                "city": {"type": "string", "maxLength": 24}, "unit": {"enum": ["celsius", "fahrenheit"]},
            },
            "send_message": {
                "to": {"type": "string", "maxLength": 24}, "text": {"type": "string", "maxLength": 40},
            },
        }.items()
    ]
}  # fmt: skip
NAMES = "Mary Tom Aisha Chen Olga Pedro Ines Kofi Lena Raj".split()
CITIES = "Oslo Lima Cairo Quito Delhi Paris Hanoi Accra Seoul Turin".split()
NUMBERS = "two three five eight ten twelve twenty thirty forty ninety".split()
TIMERS = ("Set a timer for", "Wake me in", "Start a countdown of", "Remind me in", "I want to be called after")
MESSAGES = ("I am late", "dinner is at seven", "the train is full", "call me", "happy birthday")


def requests(count: int) -> list[str]:
    """Prompts, no two the same, of the three functions; 120 at most."""
    every = [f"{timer} {number} minutes." for timer, number in product(TIMERS, NUMBERS)]
    every += [f"How warm is it in {city}, in {unit}?" for city, unit in product(CITIES, ("celsius", "fahrenheit"))]
    every += [f"Tell {name}: {message}." for name, message in product(NAMES, MESSAGES)]
    random.Random(0).shuffle(every)
    return [f"{text}\n" for text in every[:count]]


def copying(handle: HFModel) -> dict[str, Callable[[], Any]]:
    """Drafters of texts and tables, which read no model (one asks half of the layers)."""
    named = ("words", "lookup", "auto", "edit", "jacobi", "ngram", "prior", "recycling", "retrieval")
    sets: dict[str, Callable[[], Any]] = {name: lambda name=name: [name] for name in named}
    every = ["auto", "recycling", "ngram"]
    return sets | {
        "ngram, 32 walks (ADED)": lambda: [NGramDrafter(walks=32)],
        "pruned retrieval": lambda: [PrunedRetrieval(skip_layers(handle))],
        "auto, recycling, ngram": lambda: Speculation(every),
        "these, goodput": lambda: Speculation(every, controller=Goodput()),
        "these, stopping": lambda: Speculation(every, controller=Stopping()),
    }


def modelled(handle: HFModel) -> dict[str, Callable[[], Any]]:
    """Drafters that read a model: the target, half of its layers, or the embedded one, of another vocabulary."""
    reference, small = constrain.reference.load(), skip_layers(handle)
    other = HFModel(reference.draft, reference.tokenizer)
    deep = lambda drafter: Speculation([drafter], controller=Fixed(8, 8, 0.0))  # noqa: E731
    other_bytes = constrain.compile(constrain.regex("a"), other.vocabulary).vocabulary.tokens
    encode = lambda text: other.tokenizer(text.decode("utf-8", "replace"))["input_ids"]  # noqa: E731
    return {
        "half of the layers": lambda: [Model(small)],
        "layers by search (SWIFT)": lambda: [SelfDraft(handle, trials=8)],
        "first layers (LayerSkip, DEL)": lambda: [EarlyExit(handle)],
        "nested exits (S2D)": lambda: deep(Nested(handle, [10, 20])),
        "shortened (RAPID)": lambda: [Shortened(handle, most=16, piece=8, end=8)],
        "superposed": lambda: [Superposed(small)],
        "tree of half of the layers (RSD)": lambda: [StochasticBeam(small, width=2)],
        "another vocabulary": lambda: [Translated(other, other_bytes, encode)],
        "learns (OSD)": lambda: [heads.OnlineModel(HFModel(copy.deepcopy(small.model), small.tokenizer))],
        "stopped (SpecDec++)": lambda: [heads.StoppedModel(small, heads.AcceptanceHead(576))],
        "units (LUD)": lambda: [LexicalUnits(handle, blank=0, sure=0.5)],
    }


def with_heads(handle: HFModel) -> dict[str, Callable[[], Any]]:
    """Heads before training; those inside the target's forward pass last."""
    kinds: dict[str, Callable[[], Any]] = {
        "sequential": lambda: heads.DraftHeads(handle),
        "independent": lambda: heads.DraftHeads(handle, kind="independent"),
        "Medusa": lambda: heads.Medusa(handle),
        "Hydra": lambda: heads.Hydra(handle),
        "EAGLE": lambda: heads.Eagle(handle),
        "EAGLE-3": lambda: heads.Eagle3(handle),
        "FSPAD": lambda: heads.FSPAD(handle),
        "Falcon": lambda: heads.Falcon(handle),
        "Clover-2": lambda: heads.Clover(handle),
        "Chimera": lambda: heads.Chimera(handle),
        "prompt tokens (PPD)": lambda: heads.PromptTokens(handle),
        "Hidden Transfer": lambda: heads.HiddenTransfer(handle, layer=24),
    }
    sets: dict[str, Callable[[], Any]] = {name: lambda make=make: [Heads(make())] for name, make in kinds.items()}
    return sets | {
        "sequential, learns": lambda: [heads.OnlineHeads(heads.DraftHeads(handle))],
        "Kangaroo": lambda: [Kangaroo(handle, heads.KangarooAdapter(handle), least=0.3)],
    }


GROUPS = {"copying": copying, "modelled": modelled, "heads": with_heads}


def rows_of(handle: HFModel, groups: list[str], pattern: str) -> dict[str, Callable[[], Any]]:
    """The rows that are asked for, and first the one without drafts."""
    sets = {name: make for group in groups for name, make in GROUPS[group](handle).items() if re.search(pattern, name)}
    return {"none": lambda: False, **sets}


class Bench:
    """The model, and figures of each row. gaps: of outputs that differ, in nats"""

    def __init__(self, handle: HFModel, sets: dict[str, Callable[[], Any]], most: int) -> None:
        self.handle, self.most = handle, most
        self.drafts = {name: make() for name, make in sets.items()}
        self.compiled = constrain.compile(constrain.json_schema(CALL, whitespace="compact"), handle.vocabulary)
        self.rows: dict[str, dict[str, Any]] = {
            name: {"outputs": 0, "tokens": 0, "forwards": 0, "seconds": 0.0, "same": 0, "drafted": 0, "accepted": 0,
                   "gaps": [], "faults": []}
            for name in sets
        }  # fmt: skip

    def batch(self, prompts: list[str]) -> Iterator[str]:
        """Ask every drafter for these outputs; yields its name when it is done."""
        given: dict[str, Any] = {"constraint": self.compiled, "max_tokens": self.most, "temperature": 0}
        asked = list(map(constrain.Prompt, prompts))
        constrain.generate(self.handle, asked, draft=False, **given)  # new masks are of no drafter
        plain: list[list[int]] = []
        for name, draft in self.drafts.items():
            row, begun = self.rows[name], time.thread_time()
            found = constrain.generate(self.handle, asked, draft=draft, **given)
            row["seconds"] += time.thread_time() - begun
            plain = plain or [each.tokens for each in found]
            for prompt, one, each in zip(prompts, plain, found, strict=True):
                row["outputs"] += 1
                row["tokens"] += each.stats.tokens
                row["forwards"] += each.stats.forwards
                row["drafted"] += sum(count.drafted for count in each.stats.drafts.values())
                row["accepted"] += sum(count.accepted for count in each.stats.drafts.values())
                row["faults"] += [count.fault for count in each.stats.drafts.values() if count.fault]
                row["same"] += one == each.tokens
                if one != each.tokens:
                    row["gaps"].append(self.gap(prompt, one, each.tokens))
            yield name

    def gap(self, prompt: str, one: list[int], other: list[int]) -> float:
        """The difference of the two logits where two outputs part, by one forward pass over what they share."""
        place = next(i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
        ids = [*self.handle.tokenizer(prompt)["input_ids"], *one[:place]]
        logits = self.handle.start([ids], [1])[1][0][-1]
        return abs(float(logits[one[place]] - logits[other[place]]))

    def table(self) -> list[str]:
        """The rows as Markdown."""
        lines = ["| drafts | same | gap, most | tokens a forward | accepted of drafted | CPU s an output |"]
        lines.append("|---|---:|---:|---:|---:|---:|")
        for name, row in self.rows.items():
            if not row["outputs"]:
                continue
            taken = f"{row['accepted'] / row['drafted']:.0%} of {row['drafted']}" if row["drafted"] else ""
            gap = f"{max(row['gaps']):.0e}" if row["gaps"] else ""
            figures = f"{row['same']} of {row['outputs']} | {gap} | {row['tokens'] / row['forwards']:.2f} | {taken}"
            lines.append(f"| {name} | {figures} | {row['seconds'] / row['outputs']:.2f} |")
        return lines

    def wrong(self) -> list[str]:
        """Rows with an output that rounding does not explain, or a drafter that failed."""
        return [name for name, row in self.rows.items() if row["faults"] or max(row["gaps"], default=0.0) > TIE]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="outputs of each row (default: 100)")
    parser.add_argument("--batch", type=int, default=20, help="outputs at once (default: 20)")
    parser.add_argument("--tokens", type=int, default=24, help="of an output, at most (default: 24)")
    parser.add_argument("--groups", nargs="*", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--rows", default="", help="a regular expression: rows whose name it finds, with none always")
    parser.add_argument("--out", type=Path, help="folder for table.md, written after each row")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    folder = str(real_model("smollm2"))
    handle = HFModel(AutoModelForCausalLM.from_pretrained(folder).float(), AutoTokenizer.from_pretrained(folder))
    bench = Bench(handle, rows_of(handle, options.groups, options.rows), options.tokens)
    prompts = requests(options.count)
    for begin in range(0, len(prompts), options.batch):
        for name in bench.batch(prompts[begin : begin + options.batch]):
            print(begin + options.batch, name, file=sys.stderr, flush=True)
            if options.out:
                options.out.mkdir(parents=True, exist_ok=True)
                (options.out / "table.md").write_text("\n".join(bench.table()) + "\n", encoding="utf-8")
    print("\n".join(bench.table()))
    if wrong := bench.wrong():
        print("not the outputs without drafts, or a fault:", ", ".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
