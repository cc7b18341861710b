"""Figures of a run as served: times of each engine over the same tokens, and ratios of them.

Times are of the files that this library, llguidance and an XGrammar that compiles just in time all finished, and of the
tokens that all engines of the table read: a text is left where the first one refuses it. Rehearsed requests, `complete`
and an eager XGrammar are compared with ours alone, over the files and tokens of the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from masks.records import Record
from masks.summary import matched, ratio_text, table

OURS, COMPLETE = "served", "served-complete"
REHEARSED, EAGER = "served-rehearsed", "xgrammar"
BESIDE = (REHEARSED, COMPLETE, EAGER)  # each compared with ours alone
OTHERS = (REHEARSED, "generate", COMPLETE)  # of this library: the same language as `OURS`
WHOLE = "served-whole"
COLUMNS = (("compile", "p50 mean p99"), ("cold", "p50 mean p95 p99"), ("warm", "p50 mean p99"))
NAMES = {
    "served": "`constrain`, an engine's requests",
    "served-rehearsed": "a request, rehearsed before",
    "served-complete": "a request, `complete`",
    "generate": "`constrain`, `generate`",
    "llguidance": "llguidance",
    "xgrammar-dynamic": "XGrammar, just in time",
    "xgrammar": "XGrammar",
}
Times = dict[str, np.ndarray]
Figures = dict[str, Any]


def same_tokens(results: dict[str, list[Record]]) -> dict[str, Times]:
    """µs of compiling, of masks and commits at first and again, by engine, over what all of them read."""
    chosen = {name: {r["file"]: r for r in records} for name, records in matched(results).items()}
    found: dict[str, dict[str, list[float]]] = {name: {"compile": [], "cold": [], "warm": []} for name in results}
    for file in next(iter(chosen.values())):
        least = [min(read) for read in zip(*([n for n, _ in of[file]["read"]] for of in chosen.values()), strict=True)]
        for name, of in chosen.items():
            record, begin = of[file], 0
            found[name]["compile"].append(record["compile_us"])
            for (n_tokens, _), take in zip(record["read"], least, strict=True):
                found[name]["cold"] += record["tbm_us"][begin : begin + take]
                found[name]["warm"] += record["again_us"][begin : begin + take]
                begin += n_tokens
    return {name: {what: np.array(values) for what, values in of.items()} for name, of in found.items()}


def figures_of(times: dict[str, Times]) -> dict[str, dict[str, dict[str, float]]]:
    """{engine: {"compile", "cold", "warm": {"mean", "p50", …}}}, µs."""
    return {name: {what: numbers(of[what]) for what, _ in COLUMNS} for name, of in times.items() if of["cold"].size}


def numbers(values: Any, *more: float) -> dict[str, float]:
    """The mean and percentiles of times, µs."""
    array = np.asarray(values, dtype=np.float64)
    shares = {f"p{p}": float(np.percentile(array, p)) for p in (50, 95, 99)}
    found = {"mean": float(array.mean()), **shares, "max": float(array.max())}
    return {key: round(x, 2) if x < 100 else round(x) for key, x in found.items()}


def figures(results: dict[str, list[Record]]) -> Figures:
    """The figures of one vocabulary."""
    found: Figures = {"files": len(next(iter(results.values()))), "verdicts": verdicts(results)}
    sets = {"all": {name: of for name, of in results.items() if name not in (WHOLE, *BESIDE)}}
    sets |= {name: {OURS: results[OURS], name: results[name]} for name in BESIDE if name in results}
    for name, part in sets.items():
        times = same_tokens(part)
        of = next(iter(times.values()))
        found[name] = {"finished": of["compile"].size, "tokens": of["cold"].size, "engines": figures_of(times)}
    return found


def verdicts(results: dict[str, list[Record]]) -> dict[str, list[int]]:
    """[files not taken, valid instances refused, invalid ones accepted] of each engine, of the files that it got."""
    return {
        name: [
            sum(r["error"] is not None for r in got),
            sum(r["valid_refused"] for r in got),
            sum(r["invalid_accepted"] for r in got),
        ]
        for name, got in ((name, [r for r in all_ if not skipped(r)]) for name, all_ in results.items())
    }


def skipped(record: Record) -> bool:
    """True if the engine was not asked."""
    return record["error"] == "timeout" and "first files only" in record["message"]


def faults(results: dict[str, list[Record]]) -> list[str]:
    """The wrong answers of this library.

    All that a schema allows must be accepted and nothing else, in the reading that asks for it. As served nothing
    invalid is accepted, and the ways of serving say the same.
    """
    found = []
    by_file = {name: {r["file"]: r for r in results[name]} for name in (OURS, *OTHERS, WHOLE) if name in results}
    for name, records in by_file.items():
        for file, r in records.items():
            if r["error"] in ("fault", "crash") or r["invalid_accepted"] or (name == WHOLE and r["valid_refused"]):
                found.append(f"{name}, {file}: {r['error']} {r['message']}, {r['invalid_accepted']} invalid accepted")
            ours = by_file[OURS][file] if OURS in by_file else r
            if name in OTHERS and "read" in r and "read" in ours and r["read"] != ours["read"]:
                found.append(f"{name}, {file}: reads {r['read']}, {OURS} {ours['read']}")
    return found


def cells(of: dict[str, dict[str, float]], by: dict[str, dict[str, float]] | None = None) -> list[str]:
    """A row: µs, or ratios to another engine's."""
    keys = [(what, key) for what, names in COLUMNS for key in names.split()]
    if by is None:
        return [f"{of[what][key]:,.1f}" if of[what][key] < 1000 else f"{of[what][key]:,.0f}" for what, key in keys]
    return [ratio_text(of[what][key] / max(by[what][key], 1e-9)) for what, key in keys]


TITLES = {"compile": "compile", "cold": "mask", "warm": "again"}
HEAD = [f"{TITLES[what]} {key}" for what, keys in COLUMNS for key in keys.split()]


def table_of(vocab: str, found: Figures) -> str:
    """The table of one vocabulary, in Markdown."""
    every = found["all"]["engines"]
    rows = [[NAMES[name], *cells(of)] for name, of in every.items()]
    for name in ("llguidance", "xgrammar-dynamic"):
        mine = [each for each in (OURS, "generate") if each in every and name in every]
        rows += [[f"{NAMES[each]} ÷ {NAMES[name]}", *cells(every[each], every[name])] for each in mine]
    for name in [each for each in BESIDE if each in found]:
        of, finished = found[name]["engines"], f"{found[name]['finished']} files"
        by, other = (OURS, name) if name == EAGER else (name, OURS)
        rows.append([f"{NAMES[by]} ÷ {NAMES[other]}, {finished}", *cells(of[by], of[other])])
    head = f"{vocab}, µs: {found['all']['finished']} of {found['files']} files, {found['all']['tokens']:,} tokens"
    return table([head, *HEAD], rows)
