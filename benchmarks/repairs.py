"""Drafts that copy: the savings where the output repeats most of the prompt, and where it does not.

Question: tokens per forward, and processor time beside `model.generate` of transformers on the same tokens, of each set
of drafters at temperature 0 and 1, for repairs of JSON, SQL and Python functions, and for MaskBench schemas.

    python scripts/train_repair.py --out build/repair --minutes 15
    python benchmarks/repairs.py --model build/repair --items 12 --out benchmarks/record/2026-11-23-repairs

The model of the three sets of repairs learned to repair on texts that are none of these; MaskBench has the embedded
one. Rows and `model.generate` are in random order for each item, so what the machine does meanwhile meets all alike.
Answers are checked: at temperature 0 an output that is not that of plain decoding fails the run, as does a finished one
that jsonschema, SQLite or `ast` refuses. At 1 differences, which rounding makes, are counted. All outputs are in
"tokens per forward"; the column beside has the ended ones, since what was cut is often a loop, which drafts well.
Bias: a forward of 3.7 million parameters takes 4 ms of one core, and of 17 tokens half as long again.
"""

from __future__ import annotations

import argparse
import ast
import copy
import itertools
import json
import random
import re
import sqlite3
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from reference_model.repairs import KINDS, prompt, repairs

import constrain
from composed import loaded
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers import (
    DraftHeads,
    EarlyExit,
    Edit,
    ExitLens,
    Goodput,
    Heads,
    Jacobi,
    PrunedRetrieval,
    Recycling,
    Retrieval,
    SelfDraft,
    Stopping,
    load_heads,
    skip_layers,
)
from constrain.papers.heads import AcceptanceHead, OnlineHeads, StoppedModel
from constrain.speculative import Drafter, Model, Speculation, drafter_named
from evaluation import speculation_report
from evaluation.tasks import read_task
from generate_schemas import data_folder, is_valid
from masks.records import machine, write_run

SETS = (*KINDS, "maskbench")
Make = Callable[[str], "list[Drafter] | Speculation"]


def auto() -> list[Drafter]:
    return [drafter_named("words"), drafter_named("lookup")]


DRAFTS: dict[str, Make] = {  # from the text that is to be repaired, "" where there is none
    "none": lambda source: [],
    "lookup": lambda source: [drafter_named("lookup")],
    "auto": lambda source: auto(),
    "edit": lambda source: [Edit(source or None)],
    "edit, 10 tokens at most": lambda source: [Edit(source or None, reach=10)],
    "auto+edit": lambda source: [*auto(), Edit(source or None)],
    "jacobi": lambda source: [Jacobi()],
    "auto+jacobi": lambda source: [*auto(), Jacobi()],
    "auto+recycling": lambda source: [*auto(), Recycling()],
}


@dataclass
class Item:
    """name: of it. source: the text that is repaired. wanted: what it should become. fault: what is wrong with a
    finished answer"""

    name: str
    prompt: str
    constraint: Any
    fault: Callable[[str], str | None]
    source: str = ""
    wanted: str = ""


def items(kind: str, handle: HFModel, seed: int) -> Iterator[Item]:
    """Those of a set, one after the other."""
    return schemas(handle, seed) if kind == "maskbench" else broken(kind, handle, seed)


def schemas(handle: HFModel, seed: int) -> Iterator[Item]:
    """MaskBench, compact JSON."""
    files = sorted(data_folder().glob("*.json"))
    random.Random(seed).shuffle(files)
    for path in files:
        task = read_task(path, 600, 600)
        try:
            constraint = constrain.compile(constrain.json_schema(task.schema, whitespace="compact"), handle.vocabulary)
        except ConstrainError:
            continue
        yield Item(task.file, task.prompt, constraint, lambda text, schema=task.schema: judge_json(text, schema))


def broken(kind: str, handle: HFModel, seed: int) -> Iterator[Item]:
    """Broken texts of a kind that the model was not trained on."""
    grammars: dict[str, Any] = {"sql": ("sql", {}), "python": ("python", {"start": "function"})}
    compiled = None
    if kind in grammars:
        name, options = grammars[kind]
        compiled = constrain.compile(constrain.collection.load(name, **options), handle.vocabulary)
    faults = {"sql": judge_sql, "python": judge_python}
    own = (each for each in repairs(seed, validation=True) if each.kind == kind)
    for number, repair in enumerate(own):
        if compiled is not None:
            constraint, fault = compiled, faults[kind]
        else:
            schema = json.loads(repair.schema)
            constraint = constrain.compile(constrain.json_schema(schema, whitespace="compact"), handle.vocabulary)
            fault = lambda text, schema=schema: judge_json(text, schema)  # noqa: E731
        yield Item(f"{kind} {number}", prompt(repair), constraint, fault, repair.broken, repair.fixed)


def judge_json(text: str, schema: Any) -> str | None:
    return is_valid(schema, json.loads(text))


def judge_sql(text: str) -> str | None:
    """Syntax only: there is no database."""
    try:
        sqlite3.connect(":memory:").execute("EXPLAIN " + text)
    except (sqlite3.Error, sqlite3.Warning) as error:
        return str(error) if "syntax error" in str(error) or "unrecognized token" in str(error) else None
    return None


def judge_python(text: str) -> str | None:
    try:
        ast.parse(text)
    except SyntaxError as error:
        return str(error.msg)
    return None


@dataclass
class Bench:
    """records: one for each item, row and temperature"""

    options: argparse.Namespace
    records: list[dict[str, Any]] = field(default_factory=list)

    def item(self, kind: str, handle: HFModel, item: Item, drafts: dict[str, Make]) -> bool:
        """All rows of an item, in random order; False if hardly anything is written."""
        given: dict[str, Any] = {"constraint": item.constraint, "max_tokens": self.options.tokens}
        given["seed"] = self.options.seed
        shuffled = random.Random(zlib.crc32(item.name.encode()))
        temperatures = (0.0,) if self.options.greedy else (0.0, 1.0)
        try:
            plains = [
                constrain.generate(handle, item.prompt, temperature=each, draft=False, **given) for each in temperatures
            ]
        except ConstrainError:  # a prompt longer than the model's context, a limit: there is nothing to draft
            return False
        if min(plain.stats.tokens for plain in plains) < 10:
            return False
        for temperature, plain in zip(temperatures, plains, strict=True):
            jobs: list[str] = [*drafts, *([] if self.options.greedy else ["model.generate"])]
            for name in shuffled.sample(jobs, len(jobs)):
                begin, wall = time.thread_time(), time.perf_counter()
                if name == "model.generate":
                    transformers(handle, item.prompt, plain.stats.tokens, temperature)
                    found: dict[str, Any] = {"tokens": plain.stats.tokens, "forwards": plain.stats.tokens}
                else:
                    draft = drafts[name](item.source) or False
                    g = constrain.generate(handle, item.prompt, temperature=temperature, draft=draft, **given)
                    found = outcome(item, g, g.tokens == plain.tokens)
                    if temperature == 0 and not found["same"]:
                        found["gap"] = gap(handle, item, plain.tokens, g.tokens)
                spent = {"seconds": time.thread_time() - begin, "wall": time.perf_counter() - wall}
                self.records.append({"set": kind, "item": item.name, "row": name, "T": temperature, **found, **spent})
        return True


def outcome(item: Item, g: Any, same: bool) -> dict[str, Any]:
    """The record of an output."""
    ended = g.finish_reason == "stop"
    return {
        "tokens": g.stats.tokens, "forwards": g.stats.forwards, "ended": ended, "same": same,
        "right": ended and g.text.rstrip("\n") == item.wanted.rstrip("\n"),
        "invalid": item.fault(g.text) if ended else None,
        "drafts": {name: [c.drafted, c.accepted, c.refused] for name, c in g.stats.drafts.items()},
        "faults": [count.fault for count in g.stats.drafts.values() if count.fault],
    }  # fmt: skip


@torch.inference_mode()
def gap(handle: HFModel, item: Item, plain: list[int], other: list[int]) -> dict[str, Any]:
    """The first place where two outputs differ, and by how much their tokens' logits do: rounding, or a fault."""
    place = next(i for i, (one, two) in enumerate(itertools.zip_longest(plain, other)) if one != two)
    text = handle.tokenizer(item.prompt)["input_ids"] + plain[:place]
    logits = handle.model(input_ids=torch.tensor([text])).logits[0, -1].double()
    tokens = [each[place] if place < len(each) else None for each in (plain, other)]
    apart = None if None in tokens else float(logits[tokens[0]] - logits[tokens[1]])
    return {"place": place, "tokens": tokens, "logits_apart": apart}


def transformers(handle: HFModel, text: str, tokens: int, temperature: float) -> None:
    """As many tokens by `model.generate`, without a constraint."""
    shape: dict[str, Any] = {"do_sample": False}
    if temperature > 0:
        shape = {"do_sample": True, "temperature": temperature, "top_k": 0}
    with torch.inference_mode():
        handle.model.generate(
            **handle.tokenizer(text, return_tensors="pt"), min_new_tokens=tokens, max_new_tokens=tokens,
            pad_token_id=0, **shape,
        )  # fmt: skip


def faults_of(record: dict[str, Any]) -> list[str]:
    """The faults of an output, one line each."""
    if record["row"] == "model.generate":
        return []
    where = f"{record['item']}, temperature {record['T']:g}"
    return speculation_report.faults_of({**record, "file": where, "temperature": record["T"]})


def table(records: list[dict[str, Any]]) -> str:
    """Markdown: a row for each set, temperature and drafter."""
    groups: dict[tuple[str, float, str], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        groups[record["set"], record["T"], record["row"]].append(record)
    total = lambda some, key: sum(each[key] for each in some)  # noqa: E731
    ratio = lambda some: f"{total(some, 'tokens') / total(some, 'forwards'):.2f}" if some else "–"  # noqa: E731
    lines = [
        "| set | T | drafts | outputs | tokens / forward | of those that ended | drafted / taken | CPU, to `model.generate` | wall, to it | as plain |",  # noqa: E501
        "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    kinds, temperatures = (dict.fromkeys(record[key] for record in records) for key in ("set", "T"))
    for kind, temperature in itertools.product(kinds, temperatures):
        plain = groups[kind, temperature, "model.generate"]
        for name in dict.fromkeys(record["row"] for record in sorted(records, key=_order)):
            if name == "model.generate" or not (own := groups[kind, temperature, name]):
                continue
            ended = [each for each in own if each["ended"]]
            drafted, taken = (sum(c[i] for each in own for c in each["drafts"].values()) for i in (0, 1))
            speeds = [
                f"{total(plain, clock) / total(plain, 'tokens') * total(own, 'tokens') / total(own, clock):.2f}"
                if plain
                else ""
                for clock in ("seconds", "wall")
            ]
            lines.append(
                f"| {kind} | {temperature:g} | {name} | {len(own)} ({len(ended)} ended) | {ratio(own)} | "
                f"{ratio(ended)} | "
                f"{f'{drafted} / {taken}' if drafted else ''} | {speeds[0]} | {speeds[1]} | "
                f"{total(own, 'same')} |"
            )  # fmt: skip
        right = total([each for each in groups[kind, temperature, "none"] if kind != "maskbench"], "right")
        if kind != "maskbench":
            lines.append(f"| {kind} | {temperature:g} | *repaired as wanted, without drafts* | {right} | | | | | | |")
    return "\n".join(lines)


def _order(record: dict[str, Any]) -> int:
    """Rows as they stand in DRAFTS, then others."""
    return list(DRAFTS).index(record["row"]) if record["row"] in DRAFTS else len(DRAFTS)


def trained(options: argparse.Namespace, reference: Any) -> dict[str, Make]:
    """Drafters that are made for the embedded model: its draft model, and what the scripts have trained."""
    draft = HFModel(reference.draft, reference.tokenizer)
    found: dict[str, Make] = {
        "model": lambda source: [Model(draft)],
        "model, threshold": lambda source: [Model(draft, width=4, paths=16, least=0.05)],
    }
    # Each learns from its own outputs alone: at temperature 1 the store has that of temperature 0.
    stored = {"retrieval": Retrieval(), "pruned": PrunedRetrieval(draft)}
    beside = {"model+retrieval": Retrieval(), "model+pruned": PrunedRetrieval(draft)}
    for name, each in stored.items():
        found[name] = lambda source, each=each: [each]  # type: ignore[misc]
    for name, each in beside.items():
        found[name] = lambda source, each=each: [Model(draft), each]  # type: ignore[misc]
    for path in options.heads:
        heads = load_heads(path, reference) if path.is_dir() else DraftHeads.load(path, reference)
        found[path.stem] = lambda source, heads=heads: [Heads(heads)]  # type: ignore[misc]
        if options.greedy and heads.reads is not True and "online" not in found:  # one kind, that looks back
            online = OnlineHeads(copy.deepcopy(heads), every=2, rate=1e-2)
            found["online"] = lambda source, online=online: [online]  # type: ignore[misc]
    if options.lens:
        lens = ExitLens.load(options.lens, reference)
        exits = {f"exit {i}": EarlyExit(reference, keep=i, depth=10) for i in range(1, lens.exits + 1)}
        exits |= {
            f"exit {i}, lens": EarlyExit(reference, keep=i, lens=lens, depth=10) for i in range(1, lens.exits + 1)
        }
        own = HFModel.of(skip_layers(reference, range(2)))
        found["2 layers, memory of their own"] = lambda source: [Model(own)]
        exits["exit chosen, lens"] = EarlyExit(reference, lens=lens, again=4)
        for name, each in exits.items():
            found[name] = lambda source, each=each: [each]  # type: ignore[misc]
    if options.acceptance:
        head = AcceptanceHead.load(options.acceptance)
        found["model, head ends it"] = lambda source: [StoppedModel(draft, head)]
    return found


def others(reference: Any) -> dict[str, Make]:
    """The drafters and controllers that have no row of their own above: --greedy asks whether they change anything.

    Drafters that learn are kept from item to item, as they would be in a server.
    """
    kept = {name: drafter_named(name) for name in ("words", "ngram", "prior", "recycling")}
    skipping = SelfDraft(reference, trials=8, again=4)
    found: dict[str, Make] = {name: lambda source, each=each: [each] for name, each in kept.items()}  # type: ignore[misc]
    found["self"] = lambda source: [skipping]
    found["auto, stopping"] = lambda source: Speculation(auto(), controller=Stopping())
    found["auto, goodput"] = lambda source: Speculation(auto(), controller=Goodput())
    found["everything"] = lambda source: [*auto(), *kept.values(), Edit(), Jacobi()]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="folder of a model that repairs; needed but for the set maskbench")
    parser.add_argument(
        "--heads", type=Path, nargs="*", default=[], help="folders or files of scripts/train_draft.py, for maskbench"
    )
    parser.add_argument("--lens", type=Path, help="file of scripts/train_draft.py --kind exit, likewise")
    parser.add_argument("--acceptance", type=Path, help="file of scripts/train_acceptance.py, likewise")
    parser.add_argument("--rows", default="", help="a regular expression: rows whose name it finds, none always")
    parser.add_argument("--items", type=int, default=12, help="of each set")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--tokens", type=int, default=200, help="of an output at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--greedy", action="store_true", help="temperature 0 alone, every drafter, and no `model.generate`"
    )
    parser.add_argument("--out", type=Path, help="folder for raw records and summary.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    reference = constrain.reference.load()
    embedded = HFModel(reference.model, reference.tokenizer)
    repairing = embedded
    if options.model:
        has_own = (options.model / "tokenizer.json").is_file()  # a taught embedded model has the embedded tokenizer
        taught = type(reference.model)
        repairing = (
            loaded(str(options.model)) if has_own
            else HFModel(taught.from_pretrained(options.model).eval(), reference.tokenizer)
        )  # fmt: skip
    elif options.sets != ["maskbench"]:
        parser.error("repairs need --model")
    bench = Bench(options)
    for kind in options.sets:
        handle, done = embedded if kind == "maskbench" else repairing, 0
        drafts = {**DRAFTS, **(trained(options, reference) if kind == "maskbench" else {})}
        drafts |= others(reference) if options.greedy else {}
        drafts = {name: make for name, make in drafts.items() if name == "none" or re.search(options.rows, name)}
        for item in items(kind, handle, options.seed):
            before = len(bench.records)
            done += bench.item(kind, handle, item, drafts)
            if options.out:  # for a run that is stopped
                options.out.mkdir(parents=True, exist_ok=True)
                with (options.out / "records.tmp").open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(each) + "\n" for each in bench.records[before:])
            if done == options.items:
                break
        print(table([record for record in bench.records if record["set"] == kind]), flush=True)
    wrong = [fault for record in bench.records for fault in faults_of(record)]
    print("\n".join(f"WRONG: {fault}" for fault in wrong))
    if options.out:
        command = f"python benchmarks/repairs.py {' '.join(sys.argv[1:])}"
        summary = table(bench.records) + "\n" + "".join(f"\nWRONG: {fault}" for fault in wrong)
        write_run(options.out, {"command": command, **machine()}, bench.records, summary)
        (options.out / "records.tmp").unlink(missing_ok=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
