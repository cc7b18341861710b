"""Real schemas, a real model: is every finished output valid?

Question: over MaskBench schemas, drawn at random, does `constrain.generate` with the reference model end, and does
every output that ends validate under the `jsonschema` package, formats checked?

    python benchmarks/generate_schemas.py --limit 300 --out benchmarks/record/generate_schemas

Answers are checked: one invalid finished output makes the run fail. Counted: finished ("stop"), truncated ("length"),
dead ends, and schemas refused at compile time with their error. Bias: the reference model is tiny
(docs/reference-model.md) and follows a schema badly, so it wanders into parts of a language where a good model does
not go; that is meant. `jsonschema` checks the formats for which its optional packages are installed (extra `test`).
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import platform
import random
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
from jsonschema.validators import validator_for
from rich.progress import track

import constrain
from constrain.errors import ConstrainError


def data_folder() -> Path:
    """Where the MaskBench files are."""
    root = Path(os.environ.get("CONSTRAIN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    folder = root / "maskbench-dev"
    if not folder.is_dir():
        sys.exit(f"no MaskBench files at {folder}; set CONSTRAIN_DATA")
    return folder


def is_valid(schema: Any, value: Any) -> str | None:
    """None, or what the `jsonschema` package says is wrong with the value."""
    kind = validator_for(schema, default=jsonschema.Draft202012Validator)
    error = next(kind(schema, format_checker=kind.FORMAT_CHECKER).iter_errors(value), None)
    return None if error is None else f"{error.json_path}: {error.message[:200]}"


def attempt(model: Any, path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One schema: compile, generate, validate."""
    schema = json.loads(path.read_text())["schema"]
    record: dict[str, Any] = {"file": path.name}
    started = time.perf_counter()
    try:
        source = constrain.json_schema(schema, whitespace=options.whitespace)
        prompt = f"Schema: {json.dumps(schema)[:600]}\nJSON: "
        g = constrain.generate(
            model, prompt, constraint=source, max_tokens=options.max_tokens, temperature=1.0, seed=options.seed
        )
    except ConstrainError as error:
        return record | {"outcome": "refused", "error": type(error).__name__, "message": error.message}
    record |= {"outcome": g.finish_reason, "tokens": len(g.tokens), "text": g.text, "log_weight": g.log_weight}
    record["seconds"] = round(time.perf_counter() - started, 3)
    if g.finish_reason == "stop":
        record["fault"] = is_valid(schema, json.loads(g.text))
    return record


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--whitespace", default="bounded", choices=["bounded", "compact", "any"])
    parser.add_argument("--out", type=Path, help="folder for the raw records")
    options = parser.parse_args()
    files = sorted(data_folder().glob("*.json"))
    random.Random(options.seed).shuffle(files)
    model = constrain.reference.load()
    records: list[dict[str, Any]] = []
    compiled = 0
    for path in track(files, total=len(files), description="schemas", disable=not sys.stderr.isatty()):
        record = attempt(model, path, options)
        records.append(record)
        compiled += record["outcome"] != "refused"
        if compiled == options.limit:
            break
    outcomes = collections.Counter(record["outcome"] for record in records)
    invalid = [record for record in records if record.get("fault")]
    summary = {
        "date": time.strftime("%Y-%m-%d"),
        "schemas": len(records),
        "compiled": compiled,
        "finished": outcomes["stop"],
        "truncated": outcomes["length"],
        "dead ends": outcomes["dead_end"],
        "refused": outcomes["refused"],
        "finished and invalid": len(invalid),
        "whitespace": options.whitespace,
        "max_tokens": options.max_tokens,
        "seed": options.seed,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }
    print(json.dumps(summary, indent=2))
    for record in invalid:
        print(f"INVALID {record['file']}: {record['fault']}\n  {record['text'][:300]}")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        (options.out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    return 1 if invalid else 0


if __name__ == "__main__":
    sys.exit(main())
