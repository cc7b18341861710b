"""The table of speculation.py from its records, and what is wrong with them."""

from __future__ import annotations

import os
import platform
import time
from collections import defaultdict
from typing import Any

Record = dict[str, Any]
BASES = ("unconstrained", "unconstrained, transformers")  # what speed is measured against
GOAL_TOKENS, GOAL_SPEED, GOAL_OVERHEAD = 2.0, 1.4, 0.03  # what the project wants

ABOUT = """One row a line: all tokens ÷ all forwards of the target (the prompt's included), and the same over outputs
that ended: those that were cut are often repetitive; accepted ÷ drafted; at places with drawn drafts, how
often the text went on through one of them, and how often the best rule for a single place could (rules for
whole paths may do better); processor time per token: how many times as fast as plain unconstrained decoding
of as many tokens by this library, and by `model.generate` of transformers; time spent on masks, and on
everything beside the target's forwards (a draft model too), as a share of these forwards (processor time, of
the same runs); outputs that are those of plain constrained decoding with the same seed."""


def report(records: list[Record], options: dict[str, Any]) -> tuple[str, list[str]]:
    """Markdown, and a line for every wrong answer."""
    by_row: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_row[record["row"]].append(record)
    wrong = [fault for record in records for fault in faults_of(record)]
    files = len({record["file"] for record in records})
    kept = ("limit", "rows", "seed", "max_tokens", "least")
    lines = [
        "# Drafts on MaskBench schemas, compact JSON, reference pair",
        "",
        f"{time.strftime('%Y-%m-%d')}, {platform.machine()}, {os.cpu_count()} cores, one thread; {files} schemas; "
        + ", ".join(f"{name} {options[name]!r}" for name in kept),
        "",
        ABOUT,
        "",
        "| drafters | verifier | T | tokens / forward | of finished | accepted | achieved / optimum | speed | to transformers | masks | beside | same |",  # noqa: E501
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    plain = {name: _per_token(rows) for name, rows in by_row.items() if name.startswith("unconstrained")}
    order = sorted((rows[0]["temperature"], rows[0]["verifier"] != "match", name) for name, rows in by_row.items()
                   if not name.startswith("unconstrained"))  # fmt: skip
    for temperature, _, name in order:
        lines.append(_line(by_row[name], *(plain.get(f"{base}/{temperature:g}") for base in BASES)))
    lines += ["", *_verdicts(by_row, plain), ""]
    lines += [f"WRONG: {fault}" for fault in wrong]
    return "\n".join(lines).rstrip() + "\n", wrong


def faults_of(record: Record) -> list[str]:
    """The faults of an output, one line each."""
    if record["row"].startswith("unconstrained"):
        return []
    where = f"{record['file']}, {record['row']}"
    found = [f"{where}: a drafter failed: {fault}" for fault in record["faults"]]
    if record["invalid"]:
        found.append(f"{where}: finished and invalid: {record['invalid']}")
    if record["temperature"] == 0 and not record["same"]:
        found.append(f"{where}: another output than without drafts")
    return found


def _total(rows: list[Record], key: str) -> float:
    return float(sum(record[key] for record in rows))


def _per_token(rows: list[Record]) -> float:
    return _total(rows, "seconds") / _total(rows, "tokens")


def _ratio(rows: list[Record]) -> str:
    """Tokens per forward."""
    return f"{_total(rows, 'tokens') / _total(rows, 'forwards'):.2f}" if rows else ""


def _stage(rows: list[Record], *names: str) -> float:
    return sum(record["stages"][name] for record in rows for name in names)


def _line(rows: list[Record], *plain: float | None) -> str:
    first, model = rows[0], _stage(rows, "model")
    drafted, accepted = (sum(count[i] for record in rows for count in record["drafts"].values()) for i in (0, 1))
    places = _total(rows, "drawn places")
    cells = [
        first["drafters"],
        first["verifier"],
        f"{first['temperature']:g}",
        _ratio(rows),
        _ratio([record for record in rows if record["finished"] == "stop"]),
        f"{accepted / drafted:.0%}" if drafted else "",
        f"{_total(rows, 'achieved') / places:.2f} / {_total(rows, 'optimum') / places:.2f}" if places else "",
        *("" if each is None else f"{each / _per_token(rows):.2f}" for each in plain),
        f"{_stage(rows, 'mask') / model:.1%}",
        f"{_stage(rows, 'mask', 'draft', 'sample') / model:.1%}",
        f"{sum(record['same'] for record in rows)} of {len(rows)}" if first["verifier"] == "match" else "",
    ]
    return f"| {' | '.join(cells)} |"


def _verdicts(by_row: dict[str, list[Record]], plain: dict[str, float]) -> list[str]:
    """The goals, and what comes nearest."""
    drafting = {n: r for n, r in by_row.items() if not n.startswith(("unconstrained", "none"))}
    if not drafting:
        return []
    tokens = {n: _total(r, "tokens") / _total(r, "forwards") for n, r in drafting.items()}
    speed = {n: plain[f"{BASES[0]}/{r[0]['temperature']:g}"] / _per_token(r) for n, r in drafting.items()}
    masks = {n: _stage(r, "mask") / _stage(r, "model") for n, r in drafting.items()}
    most, fastest, dearest = max(tokens, key=tokens.__getitem__), max(speed, key=speed.__getitem__), max(masks.values())
    found = [
        f"- tokens per forward, goal {GOAL_TOKENS}: at most {tokens[most]:.2f} ({most})",
        f"- speed against unconstrained plain decoding, goal {GOAL_SPEED}: at most {speed[fastest]:.2f} ({fastest})",
        f"- masks as a share of the forwards, goal {GOAL_OVERHEAD:.0%}: at most {dearest:.1%}",
    ]
    for name in ("auto", "auto+recycling", "auto+ngram"):
        files = {f"{name}/match/{t}": t for t in ("0", "1") if f"{name}/match/{t}" in tokens}
        found += [f"- {key}: {tokens[key]:.2f} tokens per forward, speed {speed[key]:.2f}" for key in files]
    return found
