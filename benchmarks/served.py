"""The costs that users meet: compiling and masks as engines and `generate` serve them, beside other engines.

Question: with every default, what does a new schema cost, what does a mask cost, and what do many tools, a batch of new
requests, a limit of tokens and the start of a process add?

    python benchmarks/served.py --out benchmarks/record/<date>-served    # ten minutes on an idle machine; goes on
    python benchmarks/served.py --page benchmarks/record/<date>-served   # README.md, docs/measurements.md, the picture

1. MaskBench's files, new to a fresh process, as `maskbench.py --served` reads them, with several vocabularies.
2. 1 to 1,000 tools beside free text (masks/parts.py): structural tags, `constrain.tools`, and other engines' tags.
3. 64 new requests that begin together, with and without rehearsal.
4. CPU time from the start of a process to its first mask (masks/first.py), with an empty folder of images and again.

Engines have a process each and take turns; times are CPU time of the thread. The answers of each part are checked, and
wrong ones end the run. The record has the figures, the command, digests of the inputs, and of the code that ran
(masks/code.py): `tests/test_headline.py` compares them with the code of today. Where another process runs on the
machine, ratios hold and times do not; the record states the load. Bias: that of maskbench.py; tools are small ones.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import maskbench
from masks import code, served_table
from masks.options import add_files, chosen_engines, chosen_files
from masks.records import Record, data_folder, machine
from masks.served_table import NAMES, numbers, table_of
from masks.summary import ratio_text, table
from masks.usage import refuse
from masks.workers import Worker, WorkerError
from tasks.page import written_into
from tasks.pictures import bars

ROOT = code.ROOT
PICTURE = ROOT / "docs" / "pictures" / "served.svg"
PAGES = {"headline": ROOT / "README.md", "served": ROOT / "docs" / "measurements.md"}
ENGINES = ("served", "generate", "llguidance", "xgrammar-dynamic")
MORE = ("served", "served-rehearsed", "served-complete", "served-whole", "xgrammar")  # of the first vocabulary, apart
TOOLS = {"served": (1, 50, 500, 1000), "generate": (1, 50, 500, 1000), "llguidance": (1, 50, 500, 1000),
         "xgrammar-dynamic": (1, 50, 500, 1000), "xgrammar": (1, 50)}  # fmt: skip
BATCH = ("served", "served-rehearsed", "llguidance", "xgrammar-dynamic")
REQUESTS, STEPS = 64, 40
STALE = "stale.toml"  # in a record whose code has changed
LIMIT = 120.0  # seconds of one answer
Summary = dict[str, Any]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="served", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_files(parser, 100)
    parser.add_argument("--vocab", default="llama3,smollm2,gemma3,qwen3", help="the first one gets all engines")
    parser.add_argument("--eager", type=int, default=12, help="files for an XGrammar that makes all masks at once")
    parser.add_argument("--out", type=Path, help="folder of the record")
    parser.add_argument("--page", type=Path, metavar="RECORD", help="write the pages and the picture of a record")
    return parser.parse_args(arguments)


def worker(name: str, vocab: str, options: argparse.Namespace) -> Worker:
    """A process of one engine, as maskbench.py has it."""
    given = maskbench.parse(["--served", *(["--data", str(options.data)] if options.data else [])])
    return Worker(name, maskbench.worker_command(name, vocab, given))


def files_part(
    options: argparse.Namespace, vocab: str, files: list[Path], full: bool, codes: list[code.Code]
) -> Summary:
    """MaskBench by one vocabulary; of the first one by all engines, and the files whose first valid instance they take.

    Four engines take turns, with every vocabulary: what runs between two files of an engine is in its times.
    """
    limits = ["--eager", str(options.eager), "--limit", str(len(files)), "--time-limit", "30"]
    given = maskbench.parse(["--served", *limits])
    given.data, given.seed = options.data, options.seed
    found: Summary = {}
    for names in (MORE, ENGINES) if full else (ENGINES,):
        given.engines = ",".join(names)
        results, metas = maskbench.measure_vocabulary(files, list(names), vocab, None, given)
        codes += [meta["code"] for meta in metas.values() if "code" in meta]
        more = served_table.figures(results)
        found = {**found, **more, "verdicts": found.get("verdicts", {}) | more["verdicts"]}
        found["versions"] = found.get("versions", {}) | {name: meta["version"] for name, meta in metas.items()}
    found["start"] = start_part(options, vocab, metas["served"])
    if full:
        chosen = [{r["file"]: r for r in results[name]} for name in BATCH if name in results]
        found["taken"] = [path.name for path in files if all(begins(of[path.name], path) for of in chosen)]
    return found


def begins(record: Record, path: Path) -> bool:
    """True if an engine took the file and its first valid instance, and that has some tokens."""
    tests = json.loads(path.read_text(encoding="utf-8"))["tests"]
    first = next((i for i, test in enumerate(tests) if test["valid"]), None)
    return record["error"] is None and first is not None and record["read"][first][1] and record["read"][first][0] > 15


def tools_part(options: argparse.Namespace, vocab: str, codes: list[code.Code]) -> Summary:
    """Tools beside free text: {engine: {N: figures}}. Tools of one N are new to an engine that has met another."""
    workers = {name: worker(name, vocab, options) for name in TOOLS}
    found: Summary = {name: {} for name in TOOLS}
    for count in TOOLS["served"]:
        for name in TOOLS:
            if count not in TOOLS[name]:
                continue
            try:
                answer = workers[name].ask({"tools": [10_000 + count, count]}, LIMIT)
            except WorkerError as error:
                answer = {"error": str(error)}
            if "wrong" in answer and name in maskbench.OURS:
                refuse(f"served: {name}, {count} tools: {answer['wrong']}")
            times = {key: numbers(times) for key, times in answer.items() if isinstance(times, list)}
            found[name][str(count)] = {"compile": round(answer["compile"]), **times} if times else answer
    return ended(workers, found, codes)


def batch_part(options: argparse.Namespace, vocab: str, files: list[Path], codes: list[code.Code]) -> Summary:
    """New requests that begin together: {engine: figures}."""
    workers = {name: worker(name, vocab, options) for name in BATCH}
    asked = {"files": [str(path) for path in files[:REQUESTS]], "steps": STEPS}
    answers = {name: of.ask(asked, LIMIT) for name, of in workers.items()}
    found = {name: {key: numbers(times) for key, times in of.items()} for name, of in answers.items()}
    workers["generate"] = worker("generate", vocab, options)
    threads = workers["generate"].ask({**asked, "threads": True}, LIMIT)
    return ended(workers, {"requests": len(files[:REQUESTS]), "engines": found, "threads": threads}, codes)


def ended(workers: dict[str, Worker], found: Summary, codes: list[code.Code]) -> Summary:
    """End some workers; those of this library say which code they ran."""
    for name, each in workers.items():
        if name in maskbench.OURS:
            codes.append(each.ask(maskbench.CODE, LIMIT))
        each.end()
    return found


def start_part(options: argparse.Namespace, vocab: str, meta: dict[str, Any]) -> Summary:
    """CPU seconds before the first mask: {way: [first process, second process]}, by stage."""
    script = Path(__file__).resolve().parent / "masks" / "first.py"
    found: Summary = {}
    for way in ("engine", "generate"):
        with tempfile.TemporaryDirectory() as cache:
            named = [script, way, vocab, data_folder(options.data), meta["size"], meta["eos_id"]]
            command = [sys.executable, *map(str, named)]
            environment = {**os.environ, "CONSTRAIN_CACHE": cache, "PYTHONPATH": str(ROOT)}
            runs = [
                subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
                for _ in ("with nothing kept", "again")
            ]
        if any(run.returncode for run in runs):
            refuse(f"served: the first mask of {vocab} by {way}\n{runs[0].stderr[-800:]}{runs[1].stderr[-800:]}")
        found[way] = [json.loads(run.stdout) for run in runs]
    return found


def inputs(files: list[Path]) -> str:
    """A digest of the files that were read."""
    whole = hashlib.sha256()
    for path in files:
        whole.update(path.read_bytes())
    return whole.hexdigest()[:16]


def commit() -> str:
    """The commit of the checkout, marked where files of the package differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "--short=10", "HEAD") + " and changes" * bool(git("status", "--porcelain", "constrain"))


def measured(options: argparse.Namespace) -> None:
    """All parts, each written as it comes; none is measured twice."""
    chosen_engines(",".join((*ENGINES, *MORE)), "served")
    files = chosen_files(options, "served")
    command = f"python benchmarks/served.py --vocab {options.vocab} --limit {options.limit} --eager {options.eager}"
    run = {**machine(), "command": command, "tree": commit(), "inputs": inputs(files)}
    found, ran = kept(options.out, {"run": run})
    first, *others = options.vocab.split(",")
    codes: list[code.Code] = []
    for vocab in (first, *others):
        if vocab not in found["vocabularies"]:
            found["vocabularies"][vocab] = files_part(options, vocab, files, vocab == first, codes)
            write(options.out, found, ran := code.merged([ran, *codes]))
    if "tools" not in found:
        found["tools"] = tools_part(options, first, codes)
        write(options.out, found, ran := code.merged([ran, *codes]))
    if "batch" not in found:
        names = found["vocabularies"][first].pop("taken")
        taken = [path for path in files if path.name in names]
        found["batch"] = batch_part(options, first, taken, codes)
    found["run"]["load at the end"] = machine()["machine"].rpartition(" ")[2]
    write(options.out, found, code.merged([ran, *codes]))
    print(tables(found))


def kept(folder: Path, begun: Summary) -> tuple[Summary, code.Code]:
    """(figures, the code that ran) of a run of this command on this tree so far. Ends where there is another run."""
    path = folder / "summary.json"
    if not path.is_file():
        return {**begun, "vocabularies": {}}, {}
    found = json.loads(path.read_text(encoding="utf-8"))
    if any(found["run"][key] != begun["run"][key] for key in ("command", "tree", "inputs")):
        refuse(f"served: {folder} holds another run\n  there: {found['run']}\n  now:   {begun['run']}")
    return found, json.loads((folder / "code.json").read_text(encoding="utf-8"))


def write(folder: Path, found: Summary, ran: code.Code) -> None:
    """The record, as far as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.json").write_text(lines_of(found), encoding="utf-8")
    (folder / "code.json").write_text(lines_of(ran), encoding="utf-8")
    if "batch" in found:
        text = f"# As served\n\n{how(found, folder)}\n\n{tables(found)}\n"
        (folder / "README.md").write_text(text, encoding="utf-8")


def tools_table(found: Summary) -> str:
    """Many tools beside free text."""
    rows = []
    for name, of in found["tools"].items():
        for count, each in of.items():
            title = f"{NAMES[name]}, {int(count):,}" if name != "generate" else f"`constrain.tools`, {int(count):,}"
            if "calls again" not in each:
                rows.append([title, next(iter(each.values())).split("\n")[0], *["–"] * 7])
                continue
            free, calls = each["free first"], each["calls first"]
            cells = [each["compile"] / 1000, free["mean"], free["max"], each["free again"]["mean"]]
            cells += [calls["mean"], calls["p99"], calls["max"], each["calls again"]["mean"]]
            rows.append([title, *(f"{x:,.1f}" for x in cells)])
    head = ["tools", "compile, ms", "free text, first: mean", "worst", "again: mean"]
    return table([*head, "calls, first: mean", "p99", "worst", "again: mean"], rows)


def batch_table(found: Summary) -> str:
    """A batch of new requests."""
    rows = []
    for name, of in found["batch"]["engines"].items():
        each, steps = of["rows"], of["steps"]
        cells = [of["compile"]["mean"] / 1000, of["rehearsal"]["mean"] / 1000, each["p50"], each["mean"], each["p99"]]
        rows.append([NAMES[name], *(f"{x:,.1f}" for x in [*cells, steps["max"] / 1000])])
    head = [f"{found['batch']['requests']} new requests", "compile, ms mean", "rehearsal, ms mean"]
    threads = ", ".join(f"{way} {ms:.0f}" for way, ms in found["batch"]["threads"].items())
    shown = table([*head, "row, µs p50", "mean", "p99", "slowest step, ms"], rows)
    told = f"The same requests by `fill_masks`, the masks of the first steps together, wall ms: {threads}."
    return f"{shown}\n\n{textwrap.fill(told, 120)}"


def start_table(found: Summary) -> str:
    """The start of a process."""
    rows = []
    for vocab, of in found["vocabularies"].items():
        for way, runs in of["start"].items():
            stages = ("import", "start", "first mask")
            cells = [f"{run[stage]:.2f}" for run in runs for stage in stages]
            cells += [f"{sum(run[stage] for stage in stages):.2f}" for run in runs]
            rows.append([f"{vocab}, {way}", *cells])
    head = ["CPU seconds"] + [f"{nth}: {s}" for nth in ("first", "second") for s in ("import", "start", "mask")]
    return table([*head, "first: all", "second: all"], rows)


def tables(found: Summary) -> str:
    """All tables of a record, in Markdown."""
    parts = [table_of(vocab, of) for vocab, of in found["vocabularies"].items()]
    return "\n\n".join([*parts, tools_table(found), batch_table(found), start_table(found)])


def share(found: Summary, what: str, key: str, vocab: str | None = None) -> str:
    """A figure of ours by llguidance's."""
    of = found["vocabularies"][vocab or next(iter(found["vocabularies"]))]["all"]["engines"]
    return ratio_text(of["served"][what][key] / of["llguidance"][what][key])


def picture(found: Summary) -> str:
    """Bars of compiling and of masks, by vocabulary."""
    groups = {}
    for vocab, of in found["vocabularies"].items():
        engines = {"constrain": "served", "llguidance": "llguidance", "xgrammar": "xgrammar-dynamic"}
        shown = {title: of["all"]["engines"][name] for title, name in engines.items()}
        groups[vocab] = {
            title: (each["compile"]["mean"], each["cold"]["mean"], each["cold"]["p99"]) for title, each in shown.items()
        }
    return bars(groups, {"compile, mean µs": None, "mask and commit, mean µs": None, "p99 µs": None})


def headline(found: Summary, folder: Path) -> str:
    """The picture and the sentence of README.md."""
    first = next(iter(found["vocabularies"]))
    of = found["vocabularies"][first]["all"]
    mine, other, third = (of["engines"][name] for name in ("served", "llguidance", "xgrammar-dynamic"))
    said = ", ".join(
        f"{title} {mine[what][key]:,.0f} µs ({other[what][key]:,.0f}, {third[what][key]:,.0f})"
        for title, what, key in (
            ("compiling a new schema takes", "compile", "mean"),
            ("mask and commit of a token", "cold", "mean"),
            ("the slowest in a hundred", "cold", "p99"),
        )
    )
    versions = found["vocabularies"][first]["versions"]
    peers = f"llguidance {versions['llguidance']} and XGrammar {versions['xgrammar-dynamic']}, compiling just in time"
    told = (
        f"New schemas in a fresh process, by the defaults of our engines, beside {peers}: {of['finished']} real-world "
        f"schemas of MaskBench, the same tokens, CPU time, measured on {tree(found, folder)} "
        f"([all figures](docs/measurements.md), record `{folder.name}`)."
    )
    shown = f"![Bars by vocabulary; {first}: {said}; in brackets llguidance, XGrammar](docs/pictures/{PICTURE.name})"
    return f"{shown}\n\n{textwrap.fill(told, 120)}"


def write_pages(folder: Path) -> None:
    """The headline, the tables and the picture of a record."""
    found = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    for mark, text in pages(found, folder).items():
        path = PAGES[mark]
        path.write_text(written_into(path.read_text(encoding="utf-8"), mark, text), encoding="utf-8")
    PICTURE.write_text(picture(found), encoding="utf-8")


def pages(found: Summary, folder: Path) -> dict[str, str]:
    """Mark of a page → what stands there."""
    return {"headline": headline(found, folder), "served": f"{how(found, folder)}\n\n{tables(found)}"}


def tree(found: Summary, folder: Path) -> str:
    """The tree that was measured, and whether the code that ran has changed since."""
    return f"tree {found['run']['tree']}" + ", since changed" * (folder / STALE).is_file()


def how(found: Summary, folder: Path) -> str:
    """The making of a record."""
    run = found["run"]
    told = (
        f"Measured on {tree(found, folder)}, {run['date']}, {run['machine']} (at the end {run['load at the end']}), "
        f"CPU time: ratios hold under load, times do not. Inputs {run['inputs']}. Record: "
        f"`benchmarks/record/{folder.name}/`."
    )
    return f"{textwrap.fill(told, 120)}\n\n    {run['command']}"


def main(arguments: list[str] | None = None) -> int:
    """Measure, or write pages."""
    options = parse(arguments)
    if options.page:
        write_pages(options.page.resolve())
        return 0
    if options.out is None:
        refuse("served: where does the record go?\n  fix: --out benchmarks/record/<date>-served")
    measured(options)
    return 0


def lines_of(found: dict[str, Any]) -> str:
    """JSON with a line for each key."""
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in found.items())
    return f"{{\n{rows}\n}}\n"


if __name__ == "__main__":
    sys.exit(main())
