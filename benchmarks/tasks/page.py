"""From records to the tables of docs/how-good.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from masks.summary import table
from tasks.measures import paired, wilson

Record = dict[str, Any]
TITLES = {
    "calls": "Function calls (BFCL simple, multiple, live)",
    "extraction": "Extraction into model classes",
    "gsm8k": "GSM8K: working and number as JSON",
    "bbh": "BIG-Bench Hard, five tasks",
    "tools": "Choice of a function among several",
    "sql": "SQL on generated rows",
    "humaneval": "HumanEval",
}
MAIN = ("free", "default", "xgrammar", "llguidance")
HEAD = (
    "arm", "n", "finished", "parsed", "valid", "right", "right, % (95 %)", "tokens", "forwards", "CPU s",
    "CPU s a right one", "log mass",
)  # fmt: skip
BEGIN, END = "<!-- measured: {} -->", "<!-- end of what is measured -->"
SHOWN = 150  # characters of an example


def by_arm(records: Sequence[Record], kind: str) -> dict[str, list[Record]]:
    """The records of a kind by their arms."""
    found: dict[str, list[Record]] = {}
    for each in records:
        if each["task"] == kind:
            found.setdefault(each["arm"], []).append(each)
    return found


def kinds(records: Sequence[Record]) -> list[str]:
    """The kinds of a record, in the order of the page."""
    there = {each["task"] for each in records}
    return [kind for kind in TITLES if kind in there]


def share(records: Sequence[Record]) -> str:
    """The share of right answers with its interval, in %."""
    n, right = len(records), sum(each["right"] for each in records)
    low, high = wilson(right, n)
    return f"{100 * right / n:.0f} ({100 * low:.0f}–{100 * high:.0f})"


def row(arm: str, records: Sequence[Record]) -> list[str]:
    """A row of the table of a kind."""
    right = sum(each["right"] for each in records)
    counts = [len(records), sum(each["finish"] == "stop" for each in records)]
    counts += [sum(each[key] for each in records) for key in ("parsed", "valid", "right")]
    masses = [each["log_mass"] for each in records if each["log_mass"] is not None]
    means = [f"{fmean(each[key] for each in records):.1f}" for key in ("tokens", "forwards", "seconds")]
    each_right = f"{sum(each['seconds'] for each in records) / right:.1f}" if right else "–"
    mass = f"{fmean(masses):.1f}" if masses else "–"
    return [arm, *map(str, counts), share(records), *means, each_right, mass]


def compared(records: Sequence[Record], kind: str, one: str, other: str) -> list[str] | None:
    """A row of the table of pairs: the same items by two arms; None: they share none."""
    rights, tokens, seconds = (
        [{r["item"]: r[key] for r in records if (r["task"], r["arm"]) == (kind, arm)} for arm in (one, other)]
        for key in ("right", "tokens", "seconds")
    )
    both = [item for item in rights[0] if item in rights[1]]
    if not both:
        return None
    better, worse, p = paired([rights[0][item] for item in both], [rights[1][item] for item in both])
    ratios = [sum(each[0][i] for i in both) / sum(each[1][i] for i in both) for each in (tokens, seconds)]
    return [
        f"{kind}: {one} – {other}",
        str(len(both)),
        str(better),
        str(worse),
        f"{p:.3f}",
        *(f"{r:.2f}" for r in ratios),
    ]


def overview(records: Sequence[Record]) -> str:
    """Right answers of the main arms, a row a kind, over the items that all of these arms answered."""
    rows = []
    for kind in kinds(records):
        arms = {arm: {r["item"]: r for r in found} for arm, found in by_arm(records, kind).items() if arm in MAIN}
        if not arms:
            continue
        items = set.intersection(*(set(found) for found in arms.values()))
        cells = []
        for arm in MAIN:
            found = [arms[arm][item] for item in items] if arm in arms else []
            cells.append(f"{sum(r['right'] for r in found)} ({sum(r['valid'] for r in found)})" if found else "–")
        rows.append([TITLES[kind], str(len(items)), *cells])
    return table(["right (valid) of n", "n", *MAIN], rows)


def outcome(record: Record) -> str:
    """The fate of an answer, in words."""
    if record["right"]:
        return "right"
    if record["finish"] == "refused":
        return "constraint refused"
    if record["valid"]:
        return "valid, wrong"
    if record["parsed"]:
        return "not valid"
    return {"length": "cut at the limit", "dead_end": "dead end"}.get(record["finish"], "no answer in the text")


def failures(records: Sequence[Record]) -> str:
    """Outcomes of each main arm, over all kinds."""
    counts = {arm: Counter(outcome(r) for r in records if r["arm"] == arm) for arm in MAIN}
    names = list(dict.fromkeys(outcome(r) for r in records if r["arm"] in MAIN))
    order = sorted(names, key=lambda name: -sum(each[name] for each in counts.values()))
    return table(["outcome", *MAIN], [[name, *(str(counts[arm][name]) for arm in MAIN)] for name in order])


def examples(records: Sequence[Record]) -> str:
    """For each kind and other arm, the first item that only one of `default` and that arm has right."""
    rows = []
    for kind in kinds(records):
        found = {arm: {r["item"]: r for r in each} for arm, each in by_arm(records, kind).items()}
        for other in (arm for arm in MAIN if arm != "default" and arm in found):
            ours, theirs = found.get("default", {}), found[other]
            lost = [item for item in ours if item in theirs and theirs[item]["right"] and not ours[item]["right"]]
            rows += [
                [kind, item, f"default: {shown(ours[item])}", f"{other}: {shown(theirs[item])}"] for item in lost[:1]
            ]
    return table(["task", "item", "what the default wrote", "what another arm wrote, rightly"], rows, "---")


def shown(record: Record) -> str:
    """The text of an output in a cell."""
    text = " ".join(record["text"].split()).replace("|", "\\|").replace("`", "'").replace("<", "&lt;")
    if len(text) > SHOWN:
        text = f"{text[: SHOWN // 2]} … {text[-SHOWN // 2 :]}"
    return f"{text} ({outcome(record)})"


def pairs(records: Sequence[Record]) -> str:
    """`default` beside each other arm, over the items of both."""
    found = [
        compared(records, kind, "default", other)
        for kind in kinds(records) for other in by_arm(records, kind) if other != "default"
    ]  # fmt: skip
    head = ["pair", "n", "only the first right", "only the second", "p", "tokens, ratio", "CPU, ratio"]
    return table(head, [each for each in found if each])


def tables(records: Sequence[Record]) -> str:
    """All that is measured, in Markdown."""
    parts = ["### Right answers", overview(records), "### By task"]
    for kind in kinds(records):
        rows = [row(arm, found) for arm, found in by_arm(records, kind).items()]
        parts += [f"#### {TITLES[kind]}", table(list(HEAD), rows)]
    parts += ["### Pairs", pairs(records)]
    parts += ["### What went wrong", failures(records), "### Where the default loses", examples(records)]
    return "\n\n".join(parts)


def short_tables(records: Sequence[Record]) -> str:
    """The same of a small run: one table of all kinds and arms, and the pairs."""
    rows = [row(f"{kind}: {arm}", each) for kind in kinds(records) for arm, each in by_arm(records, kind).items()]
    return "\n\n".join([table(list(HEAD), rows), pairs(records)])


def written_into(page: str, mark: str, text: str) -> str:
    """A page with a text between the two marks of a name. Raises ValueError: it has no such marks."""
    begin = BEGIN.format(mark)
    before, found, rest = page.partition(begin)
    _, end, after = rest.partition(END)
    if not found or not end:
        raise ValueError(f"the page has no {begin} and {END}")
    return f"{before}{begin}\n\n{text}\n\n{END}{after}"
