"""From reports of files to figures, a table, and the smallest witnesses."""

from __future__ import annotations

import collections
import gzip
import itertools
import json
from pathlib import Path
from typing import Any

from masks.summary import table

LARGE = 16_000  # bytes of witnesses: the larger ones are left out


def summary(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures by engine."""
    names = list(dict.fromkeys(name for each in reports for name in each["engines"]))
    sums = {key: sum(each[key] for each in reports) for key in ("places", "tokens", "disputed", "undecided")}
    found: dict[str, Any] = {"files": len(reports), **sums, "engines": {}}
    for name in names:
        mine = [each["engines"][name] for each in reports if name in each["engines"]]
        errors = [row for r in reports for row in r["rows"] if row["engine"] == name and row["named"] is None]
        kinds = {kind: distinct(row for row in errors if row["kind"] == kind) for kind in ("allowed", "refused")}
        found["engines"][name] = {
            "places": sum(each["places"] for each in mine),
            "not read": dict(collections.Counter(each["error"] for each in mine if each["error"])),
            "seconds": round(sum(each["seconds"] for each in mine), 1),
            **{kind: len(rows) for kind, rows in kinds.items()},
            "schemas": len({row["file"] for row in errors}),
            "keywords": {
                kind: dict(collections.Counter(row["keyword"] for row in of).most_common(12))
                for kind, of in kinds.items()
            },
            "named": dict(sum((collections.Counter(r["named"].get(name)) for r in reports), collections.Counter())),
        }
    return found


def distinct(rows: Any) -> list[dict[str, Any]]:
    """One row of a place."""
    return list({(row["file"], row["kind"], tuple(row["walk"])): row for row in rows}.values())


def tables(found: dict[str, Any]) -> str:
    """The table of a summary."""
    rows = []
    for name, of in found["engines"].items():
        rate = [f"{of[kind] * 1e6 / max(of['places'], 1):,.0f}" for kind in ("allowed", "refused")]
        left = ", ".join(f"{count} {kind}" for kind, count in of["not read"].items()) or "–"
        cells = [f"{of['places']:,}", f"{of['allowed']:,}", f"{of['refused']:,}", *rate, str(of["schemas"]), left]
        rows.append([name, *cells, f"{sum(of['named'].values()):,}", f"{of['seconds']:,.0f}"])
    head = ["engine", "places", "allowed in error", "refused in error", "allowed, per million", "refused, per million"]
    return table([*head, "schemas", "schemas not read", "conventions", "CPU s"], rows)


def page_table(record: Path) -> str:
    """The table of a page, from a record with a folder for each run."""
    rows = []
    for path in sorted(record.glob("*/summary.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        share = f"{found['undecided'] / max(found['disputed'], 1):.0%} undecided"
        rows.append([f"**{path.parent.name}**: {found['files']} schemas, {share}", *[""] * 7])
        for name, of in found["engines"].items():
            rates = [f"{of[kind]:,} ({of[kind] * 1e6 / max(of['places'], 1):,.0f})" for kind in ("allowed", "refused")]
            left = ", ".join(f"{count} {kind}" for kind, count in of["not read"].items()) or "–"
            counts = [f"{of['schemas']:,}", left, f"{sum(of['named'].values()):,}", f"{of['seconds']:,.0f}"]
            rows.append([f"{name} {found['run']['versions'][name]}", f"{of['places']:,}", *rates, *counts])
    head = ["engine", "places", "allowed in error (per million)", "refused in error (per million)"]
    return table([*head, "schemas with errors", "schemas not read", "conventions", "CPU s"], rows)


def smallest(reports: list[dict[str, Any]], schemas: dict[str, Any]) -> list[dict[str, Any]]:
    """The smallest witness of each engine, kind and keyword, with its schema."""
    best: dict[tuple[str, ...], tuple[int, dict[str, Any]]] = {}
    for row in (row for each in reports for row in each["rows"] if row["named"] is None):
        size = len(json.dumps(schemas[row["file"]])) + 3 * len(row["prefix"]) + len(row["witness"])
        key = (row["engine"], row["kind"], row["keyword"])
        if key not in best or size < best[key][0]:
            best[key] = (size, {**row, "schema": schemas[row["file"]]})
    return [row for _, (_, row) in sorted(best.items())]


def write(folder: Path, found: dict[str, Any], reports: list[dict[str, Any]], schemas: dict[str, Any]) -> None:
    """The record."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    lines = "".join(json.dumps(each) + "\n" for each in reports)
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
    witnesses = [{**row, "vocab": found["run"]["vocab"]} for row in smallest(reports, schemas)]
    lines_of = sorted((json.dumps(row, ensure_ascii=False) for row in witnesses), key=len)
    sizes = itertools.accumulate(len(line.encode()) + 2 for line in lines_of)
    text = ",\n".join(line for line, size in zip(lines_of, sizes, strict=True) if size < LARGE)
    (folder / "witnesses.json").write_text(f"[\n{text}\n]\n", encoding="utf-8")
