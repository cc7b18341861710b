"""The keywords of JSON Schema that engines obey: the official suite, keyword by keyword, for several engines.

Question: fed the text of each instance of JSON-Schema-Test-Suite token by token, does an engine that was given the
schema accept exactly the valid ones?

    python benchmarks/keywords.py                                  # all drafts and engines; writes docs/keywords.md
    python benchmarks/keywords.py --only not --drafts draft7 --engines constrain --out '' --page ''

Counted: one required test is one (schema, instance) pair. An instance is written by `json.dumps`, with characters as
they are; a schema that states no draft gets the `$schema` of its draft. Each engine runs in a process of its own, with
a time limit for each schema, over a vocabulary of single bytes (`--vocab` for another). Properties may come in any
order where an engine offers that (constrain, xgrammar), since the suite does not know of order. `format` is an
annotation, as the suite assumes, where an engine offers that (constrain), and constrain takes the suite's remote
schemas and every spelling of JSON (one instance of four drafts is `1.0` for an integer, which is not plain). Bias:
instances of the suite are small, and have one spelling each; the other engines never claimed to be complete.
About 20 minutes, nearly all of them outlines-core's.

Answers are checked: the exit code is 1 if constrain gave a wrong verdict or failed. A refused schema is no wrong one.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path
from typing import Any

from masks.engines import ENGINE_NAMES
from masks.options import chosen_engines
from masks.records import Record, data_folder, machine, open_folder, write_settings
from masks.runner import run
from masks.suite import DRAFTS, Group, groups
from masks.usage import refuse
from masks.workers import Worker, WorkerError, claim_stdout, serve

HERE = Path(__file__).resolve().parent
DEFAULT_ENGINES = ("constrain", "llguidance", "xgrammar", "outlines-core")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    today = time.strftime("%Y-%m-%d")
    parser = argparse.ArgumentParser(
        prog="keywords", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, else ../shared/data)")
    parser.add_argument("--engines", default=",".join(DEFAULT_ENGINES), help=f"some of {','.join(ENGINE_NAMES)}")
    parser.add_argument("--drafts", default=",".join(DRAFTS), help="the first has the table by keyword")
    parser.add_argument("--only", help="only the keyword of this name")
    parser.add_argument("--vocab", default="bytes", choices=["bytes", "llama3", "tekken", "spm32k"])
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds for one schema (default: 30)")
    parser.add_argument("--memory-limit", type=float, default=8.0, help="GB of address space for an engine")
    parser.add_argument("--out", default=str(HERE / "record" / f"{today}-keywords"), help="folder of raw records")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out")
    parser.add_argument("--page", default=str(HERE.parent / "docs" / "keywords.md"), help="the page to write")
    parser.add_argument("--worker", choices=ENGINE_NAMES, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def work(options: argparse.Namespace) -> None:
    """A worker: one engine; a request is a schema and texts, the answer what `judge` says."""
    answers = claim_stdout()
    from masks import engines, limits, suite, verdicts, vocabularies
    from masks.interface import Settings

    limits.limit_memory(options.memory_limit)
    vocabulary = vocabularies.load(options.vocab, data_folder(options.data))
    settings = Settings(any_order=True, formats="annotate", spelling="any")
    engine = engines.make(options.worker, vocabulary, settings)
    engines.warm_up(engine, vocabulary.encode('{"a": "b"}'))
    folder = data_folder(options.data, "json-schema-test-suite")

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        settings.registry = suite.registry(folder, request["draft"])
        return verdicts.judge(engine, vocabulary, request["schema"], request["texts"], options.time_limit)

    serve(answers, {"version": engine.version}, answer)


def ask(worker: Worker, group: Group, limit: float) -> dict[str, Any]:
    """The record of one group."""
    from masks.verdicts import verdicts

    try:
        answer = worker.ask({"draft": group.draft, "schema": group.schema, "texts": group.texts}, limit)
    except WorkerError as error:
        answer = {"accepted": [None] * len(group.texts), "error": "failed", "message": str(error)}
    described = {"draft": group.draft, "keyword": group.keyword, "description": group.description}
    return {"id": group.id, **described, "verdicts": verdicts(answer, group.valid), "message": answer["message"]}


def worker_command(name: str, options: argparse.Namespace) -> list[str | Path]:
    """The command line of a worker."""
    given = ["--worker", name, "--vocab", options.vocab, "--data", str(data_folder(options.data))]
    limits = ["--time-limit", str(options.time_limit), "--memory-limit", str(options.memory_limit)]
    return [sys.executable, HERE / "keywords.py", *given, *limits]


def page(results: dict[str, list[Record]], metas: dict[str, Any], settings: dict[str, Any]) -> str:
    """The whole page in Markdown."""
    from masks.verdicts import LEGEND, draft_table, keyword_table

    main = settings["drafts"].split(",")[0]
    versions = ", ".join(f"{name} {meta['version']}" for name, meta in metas.items())
    of_main = {name: [r for r in records if r["draft"] == main] for name, records in results.items()}
    parts = [
        "# Keywords of JSON Schema, engine by engine",
        f"Written by\n`{settings['command']}`\non {settings['date']}; do not edit.",
        _wrapped(
            "The required tests of "
            f"[JSON-Schema-Test-Suite](https://github.com/json-schema-org/JSON-Schema-Test-Suite); {versions}. "
            "A test is one schema and one instance, whose JSON text is fed to the engine token by token and must be "
            "allowed to end. How each engine is used, and what that favours: "
            "[benchmarks/README.md](../benchmarks/README.md)."
        ),
        _wrapped(LEGEND),
        f"## {main}, by keyword",
        keyword_table(of_main),
        "## All drafts",
        draft_table(results),
        *_failings(results.get("constrain", [])),
    ]
    return "\n\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    """A paragraph in lines of at most 120 columns."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def _failings(records: list[Record]) -> list[str]:
    """The tests on which constrain was wrong, as a table; empty if there are none."""
    from masks.summary import table

    rows = []
    for record in records:
        counts = Counter(verdict for verdict in record["verdicts"] if verdict != "right")
        if counts:
            what = ", ".join(f"{n} {kind}" for kind, n in counts.items())
            message = str(record["message"] or "").split("\n")[0].replace("|", "\\|")
            rows.append([record["id"], record["description"].replace("|", "\\|"), what, message])
    return ["## What constrain does not get right", table(["test", "what", "verdicts", "message"], rows, "---")] * bool(
        rows
    )


def main() -> int:
    """Run, write, print."""
    options = parse()
    if options.worker:
        work(options)
        return 0
    drafts = options.drafts.split(",")
    if unknown := set(drafts) - set(DRAFTS):
        refuse(f"keywords: no draft {', '.join(sorted(unknown))}; there are {', '.join(DRAFTS)}")
    names = chosen_engines(options.engines, "keywords")
    suite = data_folder(options.data, "json-schema-test-suite")
    wanted = [g for draft in drafts for g in groups(suite, draft) if options.only in (None, g.keyword)]
    command = f"python benchmarks/keywords.py --engines {options.engines} --drafts {options.drafts}"
    command += f" --only {options.only}" if options.only else ""
    command += f" --vocab {options.vocab} --time-limit {options.time_limit:g}"
    settings = {**machine(), "command": command, "drafts": options.drafts, "schemas": len(wanted)}
    out = Path(options.out) if options.out else None
    open_folder(out, settings, options.resume)
    try:
        results, metas = run(
            names,
            wanted,
            key=lambda group: group.id,
            key_name="id",
            start=lambda name: Worker(name, worker_command(name, options)),
            ask=lambda worker, group: ask(worker, group, options.time_limit),
            folder=out,
        )
    except WorkerError as error:
        refuse(f"keywords: {error}")
    text = page(results, metas, settings)
    if out is not None:
        write_settings(out, settings, metas)
    if options.page:
        Path(options.page).write_text(text, encoding="utf-8")
    print(text)
    ours = Counter(verdict for record in results.get("constrain", []) for verdict in record["verdicts"])
    return int(any(ours[kind] for kind in ("accepted", "refused", "failed")))


if __name__ == "__main__":
    sys.exit(main())
