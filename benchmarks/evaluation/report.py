"""From records to a report: coverage, efficiency, quality, by engine.

Coverage, in the words of Geng et al. 2025, "JSONSchemaBench" (arXiv:2501.10868):
    declared    the engine took the schema and the model could write to an end, a limit or a dead end, without a fault;
                where it was not asked to write, the instances could be judged
    empirical   the output was finished and validates under `jsonschema`, formats checked; of the schemas asked
    true        no counterexample known: declared, and every instance of the MaskBench file judged right by the masks;
                an upper bound, since equality of languages cannot be sampled
    compliance  the share of valid outputs, of the schemas that the engine took and the model was asked to write for
Efficiency is counted over the files that every engine finished writing on, so that all wrote for the same prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from masks.summary import causes, table

Record = dict[str, Any]
COVERAGES = ("declared", "empirical", "true")
MADE = ("Handwritten", "Synthesized")  # schemas that try keywords, not schemas from use
NONE = "none"


def declared(record: Record) -> bool:
    """True if the engine took the schema, and the model wrote (or else judged the instances) without a fault."""
    return record["outcome"] is not None if record["asked"] else record["error"] is None


def empirical(record: Record) -> bool:
    """True if the output was finished and valid."""
    return declared(record) and bool(record["valid"])


def true(record: Record) -> bool:
    """True if no instance is known that the engine misjudges."""
    return declared(record) and record["wrong"] == 0


_TESTS: dict[str, Callable[[Record], bool]] = {"declared": declared, "empirical": empirical, "true": true}


def coverage(records: list[Record]) -> dict[str, float]:
    """Share of schemas by kind of coverage; empirical: of those for which the model was asked to write."""
    asked = [record for record in records if record["asked"]]
    of = {"declared": records, "empirical": asked, "true": records}
    return {kind: sum(map(test, of[kind])) / max(len(of[kind]), 1) for kind, test in _TESTS.items()}


def compliance(records: list[Record]) -> float:
    """Share of valid outputs, of the schemas that the engine took and the model was asked to write for."""
    taken = [record for record in records if record["asked"] and declared(record)]
    return sum(map(empirical, taken)) / max(len(taken), 1)


def coverage_table(results: dict[str, list[Record]]) -> str:
    """Coverage of each engine, and what became of its outputs."""
    columns = {}
    for name, records in results.items():
        shares = coverage(records)
        true_share = "–" if name == NONE else _percent(shares["true"])
        outcomes = {kind: sum(r["outcome"] == kind for r in records) for kind in ("stop", "length", "dead_end")}
        columns[name] = {
            "declared": _percent(shares["declared"]),
            "empirical": _percent(shares["empirical"]),
            "true (no counterexample)": true_share,
            "compliance": _percent(compliance(records)),
            "outputs finished": f"{outcomes['stop']:,}",
            "of these, invalid": f"{sum(r['outcome'] == 'stop' and not r['valid'] for r in records):,}",
            "cut at the limit": f"{outcomes['length']:,}",
            "dead ends": f"{outcomes['dead_end']:,}",
            "thrown away by the engine's own check, always": f"{sum(r['outcome'] == 'discarded' for r in records):,}",
            "…, and sampled again (outputs)": f"{sum(r['retries'] for r in records):,}",
            "schema refused": f"{sum(r['error'] == 'compile' for r in records):,}",
            "failed (time, memory, fault, crash)": f"{sum(r['error'] not in (None, 'compile') for r in records):,}",
        }
    return _columns(columns)


def dataset_table(results: dict[str, list[Record]]) -> str:
    """declared / empirical / true by data set, in %, and their means over the real ones, as engines may have
    different numbers of schemas."""
    rows, real = [], {name: [] for name in results}
    for dataset, of in by_dataset(results).items():
        found = {name: shares(records) if records else [None] * 3 for name, records in of.items()}
        rows.append([dataset, f"{max(map(len, of.values())):,}", *(_parts(name, each) for name, each in found.items())])
        if dataset not in MADE:
            real = {name: [*real[name], each] for name, each in found.items()}
    means = {name: [_mean(each) for each in zip(*of, strict=True)] for name, of in real.items()}
    rows.append([f"mean, without {' and '.join(MADE)}", "", *(_parts(name, each) for name, each in means.items())])
    return table(["dataset", "schemas", *results], rows)


def _parts(name: str, found: list[float | None]) -> str:
    """Shares in one cell; the model alone has no masks, and so no true coverage."""
    return " / ".join("–" if share is None else f"{share:.0f}" for share in (found[:2] if name == NONE else found))


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def by_dataset(results: dict[str, list[Record]]) -> dict[str, dict[str, list[Record]]]:
    """Data set → engine → its records."""
    names = sorted({record["dataset"] for records in results.values() for record in records})
    return {
        name: {engine: [r for r in records if r["dataset"] == name] for engine, records in results.items()}
        for name in names
    }


def shares(records: list[Record]) -> list[float | None]:
    """Declared, empirical and true coverage in %; empirical: None where the model was not asked to write."""
    asked = any(record["asked"] for record in records)
    return [100 * share if asked or kind != "empirical" else None for kind, share in coverage(records).items()]


def dataset_tables(results: dict[str, list[Record]]) -> str:
    """An overview, and for each data set a table of engines: coverage, outputs, and medians of times.

    Times are of the schemas that every engine took which takes at least half of them.
    """
    head = ["engine", "schemas", "declared, %", "true, %", "asked to write", "finished", "of these, invalid"]
    head += ["empirical, %", "compliance, %", "compile, ms", "first mask, ms", "a token, µs"]
    parts = ["Declared / empirical / true, in %:", dataset_table(results)]
    for dataset, of in by_dataset(results).items():
        half = [{r["file"] for r in each if declared(r)} for each in of.values() if 2 * coverage(each)["declared"] >= 1]
        same = set.intersection(*half) if half else set()
        rows = [[name, *engine_row(records, same)] for name, records in of.items() if records]
        parts += [f"#### {dataset}", table(head, rows)]
    return "\n\n".join(parts)


def engine_row(records: list[Record], timed: set[str]) -> list[str]:
    """The cells of an engine in the table of a data set. timed: the files whose times count."""
    asked, took = [r for r in records if r["asked"]], [r for r in records if declared(r) and r["file"] in timed]
    ended = [r for r in asked if r["outcome"] == "stop"]
    percent = ["–" if share is None else f"{share:.0f}" for share in shares(records)]
    times = [
        [scale * r[key] for r in took if r[key] is not None]
        for key, scale in (("compile_s", 1e3), ("first_mask_us", 1e-3), ("token_us", 1))
    ]
    return [
        f"{len(records):,}", percent[0], percent[2], str(len(asked)), str(len(ended)),
        str(sum(not r["valid"] for r in ended)), percent[1],
        f"{100 * compliance(records):.0f}" if any(map(declared, asked)) else "–",
        *(f"{np.median(each):,.{digits}f}" if each else "–" for each, digits in zip(times, (2, 3, 1), strict=True)),
    ]  # fmt: skip


def finished_by_all(results: dict[str, list[Record]]) -> dict[str, list[Record]]:
    """The records of the files on which every engine wrote."""
    files = set.intersection(*({r["file"] for r in records if declared(r)} for records in results.values()))
    return {name: [record for record in records if record["file"] in files] for name, records in results.items()}


def times_ms(records: list[Record]) -> dict[str, np.ndarray]:
    """Milliseconds, one a file: compiling, first token (without compiling), mean of each later token; masks, one a
    token."""
    done = [record for record in records if declared(record)]
    return {
        "compile": 1e3 * np.array([r["compile_s"] for r in done]),
        "first token": 1e3 * np.array([r["first_s"] for r in done if r["tokens"]]),
        "per output token": 1e3 * np.array([np.mean(r["steps_s"]) for r in done if r["steps_s"]]),
        "of which masks": 1e3 * np.array([s for r in done for s in r["masks_s"]]),
    }


def slowdown(records: list[Record]) -> float:
    """Time per output token ÷ the same without the masks: same model, same tokens, same moment. NaN: no tokens."""
    steps = sum(sum(record["steps_s"]) for record in records)
    masks = sum(sum(record["masks_s"][1:]) for record in records)
    return steps / (steps - masks) if steps > masks else float("nan")


def efficiency_table(results: dict[str, list[Record]]) -> str:
    """Times of the files that every engine wrote on."""
    matched = finished_by_all(results)
    columns = {}
    for name, records in matched.items():
        cells = {"files": f"{len(records):,}"}
        for what, values in times_ms(records).items():
            for label, reduce in (("p50", np.median), ("mean", np.mean), ("p99", _p99)):
                cells[f"{what}, {label} (ms)"] = f"{reduce(values):,.3f}" if values.size else "–"
        cells["time per output token ÷ without masks"] = f"{slowdown(records):.3f}" if name != NONE else "–"
        columns[name] = cells
    return _columns(columns)


def _p99(values: np.ndarray) -> float:
    return float(np.percentile(values, 99))


def quality_table(results: dict[str, list[Record]]) -> str:
    """Scores where an instance is known, over the files on which every engine wrote."""
    columns = {}
    for name, records in finished_by_all(results).items():
        known = [record for record in records if record["exact"] is not None]
        scored = [record for record in known if record["log_q"] is not None]
        tokens = sum(record["known_tokens"] for record in scored)
        cells = {
            "known instances": f"{len(known):,}",
            "exact": _percent(float(np.mean([r["exact"] for r in known]))) if known else "–",
            "leaf F1": f"{np.mean([r['leaf_f1'] for r in known]):.3f}" if known else "–",
        }
        judged = [record for record in known if record["log_p"] is not None]
        cells["known instance refused by a mask"] = "–" if name == NONE else f"{len(judged) - len(scored):,}"
        for label, key in (("nats per token of the instance, model", "log_p"), ("…, under the masks", "log_q")):
            cells[label] = f"{-sum(r[key] for r in scored) / tokens:.3f}" if tokens else "–"
        columns[name] = cells
    return _columns(columns)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _columns(columns: dict[str, dict[str, str]]) -> str:
    """A table with a column for each engine. columns: engine → row → cell."""
    rows = next(iter(columns.values()))
    return table(["", *columns], [[row, *(cells[row] for cells in columns.values())] for row in rows])


def report(results: dict[str, list[Record]], settings: dict[str, Any]) -> str:
    """The whole report in Markdown."""
    parts = [
        f"# A model through {', '.join(results)}",
        "\n".join(f"* {key}: {value}" for key, value in settings.items()),
        "Words are explained in [benchmarks/README.md](../../README.md#jsonschemabenchpy).",
        "## Coverage",
        coverage_table(results),
        "By dataset, declared / empirical / true in %:",
        dataset_table(results),
        "## Efficiency",
        efficiency_table(results),
        "## Quality",
        quality_table(results),
    ]
    for name, records in results.items():
        rows = [[f"{count:,}", cause.replace("|", "\\|"), file] for count, cause, file in causes(records)]
        if rows:
            parts += [f"## {name}: what went wrong", table(["schemas", "cause", "for example"], rows, "---")]
        wrong = [r for r in records if r["outcome"] == "stop" and not r["valid"] and name != NONE]
        if wrong:
            lines = [f"* {r['file']}: {r['fault']}" for r in wrong[:20]]
            parts += [f"## {name}: finished and invalid, {len(wrong):,}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"
