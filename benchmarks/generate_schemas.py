"""Outputs that a real model writes under schemas: every finished one has to be valid.

Question: does `constrain.generate` with the reference model end, and does every output that ends validate under the
`jsonschema` package (formats checked) — over MaskBench schemas drawn at random, or, with `--keywords`, over small
schemas of all drafts that use the hard keywords (keyword_schemas.py), there also under `jsonschema-rs`?

    python benchmarks/generate_schemas.py --limit 300 --out benchmarks/record/generate_schemas
    python benchmarks/generate_schemas.py --keywords --limit 1000 --out benchmarks/record/generate_keywords
    python benchmarks/generate_schemas.py --limit 300 --spelling any --out DIR

Answers are checked: one invalid finished output makes the run fail, and so does a dead end. Counted: finished ("stop"),
truncated ("length"), dead ends, and schemas refused at compile time with their error; and what is legal though no
serializer writes it: the longest run of whitespace, escapes that JSON does not need, the longest run of digits. Bias:
the reference model is tiny (docs/reference-model.md) and follows a schema badly, so it wanders into parts of a language
where a good model does not go; that is meant. `jsonschema` checks the formats for which its optional
packages are installed (extra `test`).
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import platform
import random
import re
import statistics
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
from jsonschema.validators import validator_for
from rich.progress import track

import constrain
from constrain.errors import ConstrainError
from keyword_schemas import REGISTRY, REMOTE, keyword_schemas


def data_folder() -> Path:
    """The folder of the MaskBench files."""
    root = Path(os.environ.get("CONSTRAIN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    folder = root / "maskbench-dev"
    if not folder.is_dir():
        sys.exit(f"no MaskBench files at {folder}; set CONSTRAIN_DATA")
    return folder


def _multiple_of(validator: Any, step: Any, value: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
    """Exact, where `jsonschema` divides floats (and finds that 19.99 is no multiple of 0.01)."""
    if validator.is_type(value, "number") and Fraction(str(value)) % Fraction(str(step)):
        yield jsonschema.ValidationError(f"{value} is not a multiple of {step}")


def is_valid(schema: Any, value: Any) -> str | None:
    """None, or what the `jsonschema` package says is wrong with the value."""
    base = validator_for(schema, default=jsonschema.Draft202012Validator)
    kind = jsonschema.validators.extend(base, {"multipleOf": _multiple_of})
    checker = kind(schema, format_checker=base.FORMAT_CHECKER, registry=REGISTRY)
    error = next(checker.iter_errors(value), None)
    return None if error is None else f"{error.json_path}: {error.message[:200]}"


def is_valid_in_rust(schema: Any, value: Any) -> str | None:
    """None, or what the `jsonschema-rs` package says."""
    import jsonschema_rs

    registry = jsonschema_rs.Registry(list(REMOTE.items()))
    checker = jsonschema_rs.validator_for(schema, registry=registry, validate_formats=True)
    error = next(checker.iter_errors(value), None)
    return None if error is None else f"jsonschema-rs: {error.message[:200]}"


def attempt(model: Any, name: str, schema: Any, options: argparse.Namespace) -> dict[str, Any]:
    """One schema: compile, generate, validate."""
    record: dict[str, Any] = {"file": name} | ({"schema": schema} if options.keywords else {})
    registry = REGISTRY if options.keywords else None
    started = time.perf_counter()
    try:
        constraint = constrain.json_schema(
            schema, spelling=options.spelling, whitespace=options.whitespace, registry=registry
        )
        prompt = f"Schema: {json.dumps(schema)[:600]}\nJSON: "
        g = constrain.generate(
            model, prompt, constraint=constraint, max_tokens=options.max_tokens, temperature=1.0, seed=options.seed
        )
    except ConstrainError as error:
        return record | {"outcome": "refused", "error": type(error).__name__, "message": error.message}
    record |= {"outcome": g.finish_reason, "tokens": len(g.tokens), "text": g.text, "log_weight": g.log_weight}
    record |= {"seconds": round(time.perf_counter() - started, 3), "forced": g.stats.forced, "masks": g.stats.masks}
    record |= {"mask_seconds": round(g.stats.seconds["mask"], 5), **oddities(g.text)}
    record["fault"] = ""
    if g.finish_reason == "stop":
        value = json.loads(g.text)
        record["fault"] = is_valid(schema, value)
        if options.keywords and record["fault"] is None:
            record["fault"] = is_valid_in_rust(schema, value)
    return record


STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
NEEDLESS = re.compile(r"\\/|\\u00(?:[2-6][0-9a-f]|7[0-9a-e])", re.IGNORECASE)  # printable ASCII by its number, and `\/`


def oddities(text: str) -> dict[str, int]:
    """Measure legal JSON that no serializer writes: the longest whitespace, needless escapes, the longest digits."""
    outside = STRING.sub('""', text)
    escapes = sum(len(NEEDLESS.findall(part.replace("\\\\", ""))) for part in STRING.findall(text))
    return {
        "whitespace": max(map(len, re.findall(r"\s+", outside)), default=0),
        "escapes": escapes,
        "digits": max(map(len, re.findall(r"[0-9.]+", outside)), default=0),
    }


def maskbench_schemas(options: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """MaskBench schemas with their file names, in random order."""
    files = sorted(data_folder().glob("*.json"))
    random.Random(options.seed).shuffle(files)
    for path in files:
        yield path.name, json.loads(path.read_text())["schema"]


def summary_of(records: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    """Everything that was counted."""
    outcomes = collections.Counter(record["outcome"] for record in records)
    summary: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "schemas": len(records),
        "compiled": len(records) - outcomes["refused"],
        "finished": outcomes["stop"],
        "truncated": outcomes["length"],
        "dead ends": outcomes["dead_end"],
        "refused": outcomes["refused"],
        "finished and invalid": sum(bool(record.get("fault")) for record in records),
        "spelling": options.spelling,
        "whitespace": options.whitespace or "default",
        "max_tokens": options.max_tokens,
        "seed": options.seed,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }
    texts = [record for record in records if "tokens" in record]
    if texts:
        tokens = sum(record["tokens"] for record in texts)
        summary |= {
            "tokens per output": round(tokens / len(texts), 1),
            "tokens per finished output": round(statistics.mean([r["tokens"] for r in texts if r["fault"] is None]), 1),
            "forced tokens": round(sum(record["forced"] for record in texts) / tokens, 3),
            "mask, mean µs": round(1e6 * sum(r["mask_seconds"] for r in texts) / sum(r["masks"] for r in texts), 1),
            "longest whitespace": max(record["whitespace"] for record in texts),
            "outputs with whitespace above 20": sum(record["whitespace"] > 20 for record in texts),
            "needless escapes": sum(record["escapes"] for record in texts),
            "longest digits": max(record["digits"] for record in texts),
        }
    if options.keywords:
        names = [record["file"].split(" #")[0] for record in records if record["outcome"] == "stop"]
        summary["finished by template"] = dict(collections.Counter(names))
    return summary


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--limit", type=int, default=300, help="schemas that compile (default: 300)")
    parser.add_argument("--keywords", action="store_true", help="small schemas of all keywords, not MaskBench")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--spelling", choices=["plain", "any"], default="plain")
    policies = ["consistent", "bounded", "compact", "any"]
    parser.add_argument("--whitespace", choices=policies, help="default: that of the spelling; compact with --keywords")
    parser.add_argument("--out", type=Path, help="folder for the raw records")
    options = parser.parse_args()
    options.whitespace = options.whitespace or ("compact" if options.keywords else None)
    schemas = keyword_schemas(options.limit, options.seed) if options.keywords else maskbench_schemas(options)
    model = constrain.reference.load()
    records: list[dict[str, Any]] = []
    compiled = 0
    for name, schema in track(schemas, total=options.limit, description="schemas", disable=not sys.stderr.isatty()):
        record = attempt(model, name, schema, options)
        records.append(record)
        compiled += record["outcome"] != "refused"
        if compiled == options.limit:
            break
    summary = summary_of(records, options)
    print(json.dumps(summary, indent=2))
    bad = [record for record in records if record.get("fault") or record["outcome"] == "dead_end"]
    for record in bad:
        print(f"{record.get('fault') or 'DEAD END'}: {record['file']}\n  {record['text'][:300]}")
    for record in records:
        if record["outcome"] == "refused" and options.keywords:
            print(f"refused: {record['file']}: {record['message']}")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        (options.out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
