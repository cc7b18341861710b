"""Exactness of masks: tokens that an engine allows or refuses in error, each with a proof.

Question: a mask is exact if a token is allowed if and only if some completion is valid. At how many places of texts
does an engine's mask provably deviate, under which keyword, in how many schemas?

    python benchmarks/exactness.py --vocab smollm2 --limit 100 --out DIR
    python benchmarks/exactness.py --replay benchmarks/record/2026-12-01-exactness/witnesses.json:0

Texts are valid instances as the tokenizer cuts them, and adverse walks, a seeded one by each engine's own masks. At
each place the masks of all engines that are still there are compared. Of each group of tokens that the same engines
allow, up to five are drawn (one where all agree), and the end of the text is always asked. A drawn token is judged by a
second reader (exact/reader.py), which is no constrained decoder: "dead" where rules and two validators prove that no
completion is valid, "live" where both call an exhibited completion valid, else "undecided". Conventions are named and
counted apart (exact/places.py). An engine has a process with limits; what it does not compile is counted.

Bias: few tokens of a place are drawn, so that counts are of places with a proof, and lower bounds. Proofs "dead" are
of what is closed or begun at that place: an engine that errs is caught at the last token that could still be right.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from masks import engines
from masks.engines import ENGINE_NAMES
from masks.limits import limit_memory
from masks.options import add_files, chosen_engines, chosen_files
from masks.records import data_folder, machine
from masks.vocabularies import VOCABULARIES, load
from masks.workers import Worker, claim_stdout, serve

DEFAULT = "constrain,llguidance,xgrammar-dynamic"
Report = dict[str, Any]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="exactness", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_files(parser, 100)
    parser.add_argument("--engines", default=DEFAULT, help=f"some of {','.join(ENGINE_NAMES)}")
    parser.add_argument("--vocab", default="smollm2", help=f"one of {', '.join(VOCABULARIES)}, reference, bytes")
    parser.add_argument("--tokens", type=int, default=60, help="of an instance")
    parser.add_argument("--instances", type=int, default=2, help="valid ones of a file")
    parser.add_argument("--adverse", type=int, default=24, help="tokens of an adverse walk; 0: none")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for one request")
    parser.add_argument("--memory-limit", type=float, default=12.0, help="GB of address space for an engine")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no file after so many")
    parser.add_argument("--out", type=Path, help="folder of the record: rows.jsonl.gz, summary.json, witnesses.json")
    parser.add_argument("--replay", metavar="FILE:N", help="judge one row again; with --engines, by these")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def work(options: argparse.Namespace) -> None:
    """A worker."""
    answers = claim_stdout()
    from exact.walker import Walker

    limit_memory(options.memory_limit)
    vocabulary = load(options.vocab, data_folder(options.data))
    walker = Walker(engines.make(options.worker, vocabulary), vocabulary)
    serve(answers, {"version": walker.engine.version}, lambda asked: walker.answer(asked, options.time_limit))


def started(options: argparse.Namespace) -> dict[str, Worker]:
    """A process for each engine."""
    given = ["--vocab", options.vocab, "--time-limit", options.time_limit, "--memory-limit", options.memory_limit]
    command = [sys.executable, __file__, *map(str, given), "--data", str(data_folder(options.data))]
    return {name: Worker(name, [*command, "--worker", name]) for name in chosen_engines(options.engines, "exactness")}


def reports(options: argparse.Namespace, paths: list[Path], workers: dict[str, Worker]) -> list[Report]:
    """The findings in each file, until the time is over."""
    from exact.files import File, Tokens
    from exact.record import summary, tables

    found, end = list[Report](), time.monotonic() + 60 * options.minutes
    tokens = Tokens(load(options.vocab, data_folder(options.data)))
    for path in paths:
        if time.monotonic() > end:
            break
        case = json.loads(path.read_text(encoding="utf-8"))
        instances = [each["data"] for each in case["tests"] if each["valid"]]
        found.append(File(path.stem, case["schema"], instances, tokens, workers, options).score())
        if len(found) % 20 == 0:
            print(f"{len(found)} files\n{tables(summary(found))}", file=sys.stderr, flush=True)
    for worker in workers.values():
        worker.end()
    return found


def replay(options: argparse.Namespace) -> int:
    """Judge a row again: what its engine's mask says, and what is proved. 1: the error is gone."""
    from exact.files import Tokens
    from exact.places import Judge
    from exact.walker import Walker, unpacked

    name, _, number = options.replay.rpartition(":")
    text = Path(name).read_text(encoding="utf-8")
    rows = json.loads(text) if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]
    row = rows[int(number)]
    vocabulary = load(row.get("vocab", options.vocab), data_folder(options.data))
    judge = Judge(row["schema"], [json.loads(row["witness"])] if row["kind"] == "refused" else [])
    prefix, is_end = Tokens(vocabulary).bytes(row["walk"]), row["token"] == vocabulary.eos_id
    data = prefix + (vocabulary.tokens[row["token"]] or b"")
    verdict = judge.whole(prefix) if is_end else judge.dead(data)
    verdict = verdict if verdict.state == "dead" or is_end else judge.live(data)
    print(json.dumps({key: row[key] for key in ("file", "kind", "keyword", "prefix", "last", "witness", "schema")}))
    print("second reader:", verdict.state, verdict.why, verdict.witness)
    wrong = False
    for engine in [row["engine"]] if options.engines == DEFAULT else options.engines.split(","):
        walker = Walker(engines.make(engine, vocabulary), vocabulary)
        answer = walker.answer({"schema": row["schema"]}, 600)
        answer = answer if "error" in answer else walker.answer({"walks": [row["walk"]]}, 600)
        masks = answer.get("masks", [[]])[0]
        if len(masks) == len(row["walk"]) + 1:
            said = "allows" if unpacked(masks[-1], len(vocabulary.tokens))[row["token"]] else "refuses"
        else:
            said = answer.get("message", "does not come to this place")
        print(f"{engine} {walker.engine.version}: {said}")
        wrong |= (said, verdict.state) in (("allows", "dead"), ("refuses", "live"))
    return int(not wrong)


def main() -> int:
    """Run, write, print. 1: an error of this library was proved."""
    options = parse()
    if options.worker:
        work(options)
        return 0
    if options.replay:
        return replay(options)
    from exact.record import summary, tables, write

    paths = chosen_files(options, "exactness")
    workers = started(options)
    given = {key: getattr(options, key) for key in ("seed", "tokens", "instances", "adverse")}
    command = f"exactness.py --engines {options.engines} --vocab {options.vocab} "
    command += " ".join(f"--{key} {value}" for key, value in given.items())
    versions = {name: worker.meta["version"] for name, worker in workers.items()}
    done = reports(options, paths, workers)
    told = {**machine(), "command": f"{command} --limit {len(done)}", "vocab": options.vocab, "versions": versions}
    found = {"run": told, **summary(done)}
    if options.out:
        by_name = {path.stem: path for path in paths}
        touched = {row["file"] for each in done for row in each["rows"]}
        schemas = {name: json.loads(by_name[name].read_text(encoding="utf-8"))["schema"] for name in touched}
        write(options.out, found, done, schemas)
    print(tables(found))
    share = found["undecided"] / max(found["disputed"], 1)
    print(f"{found['places']:,} places, {found['tokens']:,} tokens judged; engines differ on {found['disputed']:,}, "
          f"of which {share:.1%} undecided")  # fmt: skip
    return int(any(of["allowed"] + of["refused"] for name, of in found["engines"].items() if name == "constrain"))


if __name__ == "__main__":
    sys.exit(main())
