"""From records to the table: one row a grammar, and the disagreements below it."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import Any

import numpy as np

SHOWN = 12  # disagreements of a grammar that the summary lists; all are in the records

LEGEND = """\
* **accepted**: texts of the corpus, all of them members by the oracle, that are members of the grammar.
* **cut anywhere**: texts every beginning of which, cut at any byte, is allowed.
* **agreement**: of texts with one byte changed, those on which grammar and oracle say the same; in brackets how many
  were compared. **beyond**: changed texts that the oracle refuses for a reason that is beyond a grammar, as the
  grammar's README says; they are not compared.
* **µs/token**: fill a mask and commit the token, mean thread time: the first time that the texts are read, and the
  second. "n of m": of the texts that the other engine read in the time limit, those it accepts; "—": it cannot load
  the grammar, or read no text to its end in the time limit."""

Row = dict[str, Any]


def row(name: str, oracle: str | None, texts: list[Row], refused: int, engines: list[Row]) -> Row:
    """The figures of one grammar. refused: texts of the corpus that the oracle refuses."""
    compared = sum(r["mutants"] - r["beyond"] for r in texts)
    return {
        "grammar": name,
        "oracle": oracle,
        "texts": len(texts),
        "left_out": refused,
        "bytes": sum(r["bytes"] for r in texts),
        "accepted": sum(r["accepted"] for r in texts),
        "cut_anywhere": sum(r["allowed"] == r["bytes"] for r in texts),
        "compared": compared,
        "agree": sum(r["agree"] for r in texts),
        "beyond": sum(r["beyond"] for r in texts),
        "engines": [engine_row(e) for e in engines],
    }


def engine_row(record: Row) -> Row:
    """The figures of one engine on one grammar."""
    kept = {key: record[key] for key in ("engine", "version", "error", "compile_us", "accepted")}
    figures = {key: _mean(record[key]) for key in ("first_us", "second_us")}
    refused = {"refused": len(record["refused"]), "tokens": len(record["first_us"])}
    return kept | figures | refused | {"p50_first_us": _median(record["first_us"])}


def _mean(times: list[float]) -> float | None:
    return round(float(np.mean(times)), 1) if times else None


def _median(times: list[float]) -> float | None:
    return round(float(np.median(times)), 1) if times else None


def table(rows: list[Row], engines: list[str]) -> str:
    """The table in Markdown."""
    others = [name for name in engines if name != "constrain"]
    head = ["grammar", "oracle", "texts", "KB", "accepted", "cut anywhere", "agreement", "beyond"]
    head += ["µs/token", *(f"{name}: reads, µs/token" for name in others)]
    lines = [f"| {' | '.join(head)} |", "|---|---|" + "---:|" * (len(head) - 2)]
    lines += [f"| {' | '.join([*_figures(each), *_speeds(each, others)])} |" for each in rows]
    return "\n".join(lines)


def _figures(row: Row) -> list[str]:
    agreement = f"{row['agree'] / row['compared']:.2%} ({row['compared']:,})" if row["compared"] else "—"
    return [
        f"`{row['grammar']}`",
        row["oracle"] or "none",
        f"{row['texts']:,}",
        f"{row['bytes'] / 1000:,.0f}",
        _share(row["accepted"], row["texts"]),
        _share(row["cut_anywhere"], row["texts"]),
        agreement,
        f"{row['beyond']:,}",
    ]


def _share(part: int, whole: int) -> str:
    return "all" if part == whole else f"{part:,} ({part / whole:.2%})"


def _speeds(row: Row, others: list[str]) -> list[str]:
    found = {each["engine"]: each for each in row["engines"]}
    ours = found.get("constrain")
    cells = [_times(ours) if ours else "—"]
    for name in others:
        each = found.get(name)
        loaded = each is not None and each["error"] is None
        total = each["accepted"] + each["refused"] if each else 0
        cells.append(f"{each['accepted']} of {total}, {_times(each)}" if each and loaded else "—")
    return cells


def _times(engine: Row) -> str:
    if engine["first_us"] is None:
        return "—"
    return ", ".join("—" if engine[key] is None else f"{engine[key]:,.1f}" for key in ("first_us", "second_us"))


def failings(name: str, texts: list[Row], engines: list[Row]) -> str:
    """Texts that are refused, disagreements, and why an engine cannot load the grammar; empty where there are none."""
    lines = [
        f"* refused: `{r['name']}` at byte {r['allowed'] + 1} of {r['bytes']}" for r in texts if not r["accepted"]
    ][:SHOWN]
    found = [(r["name"], each) for r in texts for each in r["disagreements"]]
    kinds = Counter("we accept" if each["ours"] else "we refuse" for _, each in found)
    if found:
        lines.append(f"* disagreements: {', '.join(f'{count} that {kind}' for kind, count in kinds.items())}")
    for text, each in found[:SHOWN]:
        verdict = "accepted, oracle refuses" if each["ours"] else "refused, oracle accepts"
        shown = each["around"].replace("`", "ˋ")
        lines.append(f"    * `{text}`, {each['change'].replace('`', 'ˋ')}: {verdict}: `{shown!r}`")
    lines += [f"* {e['engine']} cannot load it: {_one_line(e['error'])}" for e in engines if e["error"]]
    return "\n".join([f"### {name}", "", *lines]) if lines else ""


def _one_line(text: str, length: int = 160) -> str:
    shown = " ".join(text.split())
    return shown if len(shown) <= length else shown[: length - 1] + "…"


PAGE = """\
# The collection of grammars, measured

Written by
`{command}`
on {date}; do not edit.

What a grammar's folder holds, and how to use one: [grammars/](../grammars/README.md). Texts, oracles, bias:
[benchmarks/README.md](../benchmarks/README.md). Known gaps, and what disagreements are: each grammar's README.

{table}

{legend}
* "none": there is no parser of the language in a package; texts are those that the corpus knows to be members.

{diagrams}

Versions: {versions}. {machine}, Python {python}.
"""


def page(rows: list[Row], engines: list[str], settings: Row) -> str:
    """The table as a page of the documentation. settings: of the run."""
    versions = {each["engine"]: each["version"] for row in rows for each in row["engines"]}
    shown = ", ".join(f"{name} {version}" for name, version in versions.items()) or "no engine was timed"
    links = ", ".join(f"[{row['grammar']}](diagrams/{row['grammar']}.html)" for row in rows)
    diagrams = f"Railroad diagrams, in the built documentation: {links}."
    diagrams = textwrap.fill(diagrams, 120, break_long_words=False, break_on_hyphens=False)
    return PAGE.format(table=table(rows, engines), legend=LEGEND, versions=shown, diagrams=diagrams, **settings)
