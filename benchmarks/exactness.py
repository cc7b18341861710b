"""Exactness of masks: tokens that an engine allows or refuses in error, each with a proof.

Question: a mask is exact if a token is allowed if and only if some completion is valid. At how many places of texts
does an engine's mask provably deviate, under which keyword, in how many schemas?

    python benchmarks/exactness.py --vocab smollm2 --limit 100 --out DIR
    python benchmarks/exactness.py --replay benchmarks/record/2026-12-01-exactness/witnesses.json:0

Texts are valid instances as the tokenizer cuts them, and adverse walks, a seeded one by each engine's own masks. At
each place the masks of all engines that are still there are compared. Of each group of tokens that the same engines
allow, up to five are drawn (one where all agree), and the end of the text is always asked. A drawn token is judged by a second reader
(exact/reader.py), which is no constrained decoder: "dead" where a rule and two validators prove that no completion is
valid, "live" where both call an exhibited completion valid, else "undecided". Conventions are named and counted apart
(exact/places.py). An engine has a process with limits; what it does not compile is counted.

Bias: few tokens of a place are drawn, so that counts are of places with a proof, and lower bounds. Proofs "dead" are
of what is closed or begun at that place: an engine that errs is caught at the last token that could still be right.
"""

from __future__ import annotations

import argparse
import base64
import collections
import gzip
import json
import random
import re
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from masks.engines import ENGINE_NAMES
from masks.interface import CompileError, NothingFulfilsError, Settings, is_set
from masks.limits import TimeLimitError, limit_memory, time_limit
from masks.options import add_files, chosen_engines, chosen_files
from masks.records import data_folder, machine
from masks.summary import table
from masks.vocabularies import VOCABULARIES, BenchVocabulary, load
from masks.workers import Worker, WorkerError, claim_stdout, serve

HERE = Path(__file__).resolve().parent
DEFAULT = "constrain,llguidance,xgrammar-dynamic"
FINISHES = 12  # open tokens of a file that engines are asked to finish
LONGEST = 120  # tokens of such an end
UNCALM = re.compile(rb"[\x00-\x1f\x7f]|  | $|^ [^ -~]")  # blanks, mostly: a convention where no string is open
CLOSING = (b"}", b"]", b'"', b":", b"e", b"l", b"u", b",")
STRUCTURE = frozenset(b'{}[]",:-0123456789 ')
NOT_COMPILED = ("compile", "empty", "timeout", "memory", "fault", "crash")
Mask = np.ndarray


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


# the process of an engine


class Walker:
    """An engine, and what it is asked."""

    def __init__(self, name: str, vocabulary: BenchVocabulary) -> None:
        from masks import engines

        self.engine: Any = engines.make(name, vocabulary, Settings())
        self.tokens, self.eos_id = vocabulary.tokens, vocabulary.eos_id
        self.plain = np.array([i for i, t in enumerate(self.tokens) if t and t.strip()])  # not blank
        of_structure = np.array([t is not None and STRUCTURE.issuperset(t) for t in self.tokens])
        self.structure = self.plain[of_structure[self.plain]]
        single = {t: i for i, t in reversed(list(enumerate(self.tokens))) if t and len(t) == 1}
        self.closing = [single[each] for each in CLOSING]
        self.single = [i for t, i in single.items() if t.strip()]

    def answer(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        """What was asked, with CPU seconds, or an error."""
        begin = time.process_time()
        kind, given = next(iter(request.items()))
        try:
            with time_limit(limit):
                found = getattr(self, kind)(given)
        except CompileError as error:
            found = {"error": "empty" if isinstance(error, NothingFulfilsError) else "compile", "message": str(error)}
        except TimeLimitError:
            found = {"error": "timeout", "message": f"over {limit:g} s"}
        except MemoryError:
            found = {"error": "memory", "message": "more memory than it may have"}
        except Exception as error:  # whatever an engine raises is a finding, not the end of the run
            found = {"error": "fault", "message": f"{type(error).__name__}: {error}"}
        return {**found, "seconds": time.process_time() - begin}

    def schema(self, schema: Any) -> dict[str, Any]:
        """Compile."""
        self.engine.compile(schema)
        self.engine.start()
        self.engine.mask()
        return {}

    def walks(self, walks: list[list[int]]) -> dict[str, Any]:
        """The masks before each token, as far as the engine goes, and the one behind them."""
        found = []
        for walk in walks:
            masks: list[str] = []
            self.engine.start()
            for token in [*walk, None]:
                self.engine.mask()
                masks.append(base64.b64encode(zlib.compress(self.engine.row.tobytes(), 1)).decode())
                if token is None or not is_set(self.engine.row, token):
                    break
                if not self.engine.advance(token):
                    raise RuntimeError(f"the mask allows token {token}, but committing it fails")
            found.append(masks)
        return {"masks": found}

    def _allowed(self, some: Any) -> Any:
        bits = np.unpackbits(self.engine.row.view(np.uint8), bitorder="little")
        return some[bits[some] == 1]

    def adverse(self, given: list[Any]) -> dict[str, Any]:
        """A walk by the engine's own masks, drawn without a model."""
        seed, count = given
        rng, walk = random.Random(seed), list[int]()
        self.engine.start()
        for _ in range(count):
            self.engine.mask()
            every, structure = self._allowed(self.plain), self._allowed(self.structure)
            some = structure if len(structure) and rng.random() < 0.6 else every
            if not len(some):
                break
            walk.append(int(some[rng.randrange(len(some))]))
            if not self.engine.advance(walk[-1]):
                raise RuntimeError(f"the mask allows token {walk[-1]}, but committing it fails")
        return {"walk": walk}

    def finish(self, walk: list[int]) -> dict[str, Any]:
        """A text that begins so and ends soon: {"walk": its tokens}; None, where none was found."""
        rng = random.Random(len(walk))
        self.engine.start()
        for token in walk:
            self.engine.mask()
            if not is_set(self.engine.row, token) or not self.engine.advance(token):
                return {"walk": None}
        found = list(walk)
        while len(found) < len(walk) + LONGEST:
            self.engine.mask()
            if is_set(self.engine.row, self.eos_id):
                return {"walk": found}
            some = [i for i in self.closing if is_set(self.engine.row, i)][:1]
            some = some or [i for i in self.single if is_set(self.engine.row, i)] or self._allowed(self.plain).tolist()
            if not some or not self.engine.advance(token := int(rng.choice(some))):
                break
            found.append(token)
        return {"walk": None}


def work(options: argparse.Namespace) -> None:
    """A worker."""
    answers = claim_stdout()
    limit_memory(options.memory_limit)
    walker = Walker(options.worker, load(options.vocab, data_folder(options.data)))
    serve(answers, {"version": walker.engine.version}, lambda asked: walker.answer(asked, options.time_limit))


# one file


class File:
    """One schema, all engines."""

    def __init__(self, path: Path, run: Run) -> None:
        from exact.places import Judge

        self.run, self.name = run, path.stem
        case = json.loads(path.read_text(encoding="utf-8"))
        self.schema = case["schema"]
        self.judge = Judge(self.schema, [each["data"] for each in case["tests"] if each["valid"]])
        self.met = set[tuple[int, ...]]()  # places that were compared
        self.rng = random.Random(f"{run.options.seed} {self.name}")
        self.report: dict[str, Any] = {"file": self.name, "engines": {}, "rows": [], "named": {}, "open": [], "disputed": 0, "undecided": 0}
        self.report["tokens"] = self.report["places"] = 0

    def ask(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        """An engine's answer, which may be an error."""
        mine = self.report["engines"].setdefault(name, {"error": None, "seconds": 0.0, "places": 0})
        try:
            found = self.run.workers[name].ask(request, self.run.options.time_limit)
        except WorkerError as error:
            found = {"error": error.kind, "message": str(error), "seconds": 0.0}
        mine["seconds"] = round(mine["seconds"] + found["seconds"], 3)
        if "error" in found:
            mine |= {"error": found["error"], "message": found["message"][:200]}
        return found

    def score(self) -> dict[str, Any]:
        """The report of this file."""
        options, vocabulary = self.run.options, self.run.vocabulary
        ready = [name for name in self.run.workers if "error" not in self.ask(name, {"schema": self.schema})]
        for name, mine in self.report["engines"].items():
            if mine["error"] == "empty" and self.judge.valid:
                text = json.dumps(self.judge.valid[0], ensure_ascii=False)
                self.row(name, "refused", "the schema", [], None, text, None)
        texts = [json.dumps(each, ensure_ascii=False) for each in self.judge.valid[: options.instances]]
        walks = [vocabulary.encode(text)[: options.tokens] for text in texts]
        for name in ready if options.adverse else ():
            walk = self.ask(name, {"adverse": [f"{options.seed} {self.name}", options.adverse]}).get("walk")
            walks += [walk] if walk and walk not in walks else []
        masks = {name: found for name in ready if (found := self.ask(name, {"walks": walks}).get("masks"))}
        left = [each for i, walk in enumerate(walks) for each in self.walk(walk, {n: m[i] for n, m in masks.items()})]
        self.finish(left)
        return self.report

    def walk(self, walk: list[int], masks: dict[str, list[str]]) -> list[Any]:
        """Compare the masks along a text; what stays open."""
        left, prefix = [], b""
        for at in range(len(walk) + 1):
            here = {name: self.run.bits(of[at]) for name, of in masks.items() if at < len(of)}
            if not here:
                break
            if (key := tuple(walk[:at])) not in self.met:
                self.met.add(key)
                self.report["places"] += 1
                for name in here:
                    self.report["engines"][name]["places"] += 1
                left += self.place(walk[:at], prefix, here, walk[at] if at < len(walk) else None)
            if at < len(walk):
                prefix += self.run.vocabulary.tokens[walk[at]] or b""
                if self.judge.dead(prefix).state == "dead":
                    break
        return left

    def place(self, walk: list[int], prefix: bytes, here: dict[str, Mask], following: int | None) -> list[Any]:
        """Judge tokens of one place; what stays open."""
        found: dict[tuple[str, str, str | None], tuple[Any, ...]] = {}
        left = []
        for token, differ in self.drawn(here, following):
            allow = [name for name, bits in here.items() if bits[token]]
            refuse = [name for name in here if name not in allow]
            verdict = self.verdict(prefix, token, bool(refuse))
            self.report["tokens"] += 1
            self.report["disputed"] += differ
            if verdict.state == "open" and differ:
                left.append((walk, prefix, token, allow, {name: here[name] for name in refuse}))
            wrong = allow if verdict.state == "dead" else refuse if verdict.state == "live" else []
            kind = "allowed" if verdict.state == "dead" else "refused"
            for name in wrong:
                named = verdict.named or (self.forced(here[name], prefix, verdict.witness) if kind == "refused" else None)
                found.setdefault((name, kind, named), (verdict, token))
        self.note(walk, found)
        return left

    def forced(self, bits: Mask, prefix: bytes, witness: str) -> str | None:
        """ "forced cut" where an engine allows one token, and the text that it refused goes on with that one."""
        only = np.flatnonzero(bits)
        if len(only) != 1 or not witness.encode().startswith(prefix + (self.run.vocabulary.tokens[only[0]] or b"?")):
            return None
        return "forced cut"

    def note(self, walk: list[int], found: dict[tuple[str, str, str | None], tuple[Any, ...]]) -> None:
        """Rows of a place: of an engine one of a kind, errors before conventions."""
        for (name, kind, named), (verdict, token) in found.items():
            if named is None or (name, kind, None) not in found:
                self.row(name, kind, verdict.why, walk, token, verdict.witness, named)

    def drawn(self, here: dict[str, Mask], following: int | None) -> list[tuple[int, bool]]:
        """Tokens to judge, and whether engines differ on them."""
        signs = np.zeros(len(self.run.vocabulary.tokens), np.uint8)
        for i, bits in enumerate(here.values()):
            signs |= bits.view(np.uint8) << i
        chosen: dict[int, bool] = {}
        every = (1 << len(here)) - 1
        for token in (self.run.vocabulary.eos_id, following):
            if token is not None:
                chosen[token] = 0 < int(signs[token]) < every
        for sign in np.flatnonzero(np.bincount(signs[self.run.real])).tolist():
            differ = 0 < sign < every
            some = self.run.real[signs[self.run.real] == sign]
            short = some[self.run.lengths[some] == self.run.lengths[some].min()]
            calm, shaped = (self.run.calm[some], self.run.structure[some]) if differ else (some < 0, some < 0)
            draws = [short, some[shaped], some[calm], some[calm], some] if differ else [some]
            chosen |= {int(each[self.rng.randrange(len(each))]): differ for each in draws if len(each)}
        return list(chosen.items())

    def verdict(self, prefix: bytes, token: int, refused: bool) -> Any:
        """What is proved of a token, as far as it matters."""
        if token == self.run.vocabulary.eos_id:
            return self.judge.whole(prefix)
        data = prefix + (self.run.vocabulary.tokens[token] or b"")
        found = self.judge.dead(data)
        return found if found.state == "dead" or not refused else self.judge.live(data)

    def finish(self, left: list[Any]) -> None:
        """Ask engines that allow an open token for a valid end."""
        self.rng.shuffle(left)
        for number, (walk, prefix, token, allow, refuse) in enumerate(left):
            shown = None
            data = prefix + (self.run.vocabulary.tokens[token] or b"")
            for name in allow[:2] if number < FINISHES and token != self.run.vocabulary.eos_id else ():
                if self.report["engines"][name]["error"] is None:
                    whole = self.ask(name, {"finish": [*walk, token]}).get("walk")
                    text = b"".join(self.run.vocabulary.tokens[i] or b"" for i in whole or ())
                    judged = self.judge.whole(text, len(data))
                    shown = judged if whole and judged.state == "live" else shown
                    if shown and shown.named is None:
                        break
            self.report["undecided"] += shown is None
            if shown is None and len(self.report["open"]) < 3:
                self.report["open"].append([prefix.decode(errors="replace"), self.run.shown(token), allow])
            for name, bits in refuse.items() if shown else ():
                named = shown.named or self.forced(bits, prefix, shown.witness)
                self.row(name, "refused", shown.why, walk, token, shown.witness, named)

    def row(
        self, name: str, kind: str, why: str, walk: list[int], token: int | None, witness: str, named: str | None
    ) -> None:
        """Note a finding; of what a convention names, the first and how many."""
        if named is not None:
            counts = self.report["named"].setdefault(name, {})
            counts[named] = counts.get(named, 0) + 1
            if counts[named] > 1:
                return
        texts = [(self.run.vocabulary.tokens[i] or b"").decode(errors="backslashreplace") for i in walk]
        last = None if token is None else self.run.shown(token)
        row = {"file": self.name, "engine": name, "kind": kind, "keyword": why, "named": named, "walk": walk}
        self.report["rows"].append({**row, "token": token, "prefix": "".join(texts), "last": last, "witness": witness})


class Run:
    """All files."""

    def __init__(self, options: argparse.Namespace, names: list[str]) -> None:
        self.options = options
        self.vocabulary = load(options.vocab, data_folder(options.data))
        self.lengths = np.array([len(token or b"") for token in self.vocabulary.tokens])
        self.real = np.flatnonzero(self.lengths)
        texts = [token or b" " for token in self.vocabulary.tokens]
        self.calm = np.array([not UNCALM.search(text) for text in texts])
        self.structure = np.array([STRUCTURE.issuperset(text) for text in texts]) & self.calm
        given = ["--vocab", options.vocab, "--time-limit", options.time_limit, "--memory-limit", options.memory_limit]
        command = [sys.executable, __file__, *map(str, given), "--data", str(data_folder(options.data))]
        self.workers = {name: Worker(name, [*command, "--worker", name]) for name in names}

    def bits(self, packed: str) -> Mask:
        """The mask that a worker packed."""
        row = np.frombuffer(zlib.decompress(base64.b64decode(packed)), np.uint8)
        return np.unpackbits(row, bitorder="little")[: len(self.vocabulary.tokens)].astype(np.bool_)

    def shown(self, token: int) -> str:
        """A token as text."""
        is_end = token == self.vocabulary.eos_id
        return "<end>" if is_end else (self.vocabulary.tokens[token] or b"").decode(errors="backslashreplace")

    def files(self, paths: list[Path]) -> list[dict[str, Any]]:
        """The reports."""
        found, end = [], time.monotonic() + 60 * self.options.minutes
        for number, path in enumerate(paths):
            if time.monotonic() > end:
                break
            found.append(File(path, self).score())
            if number % 20 == 19:
                print(number + 1, tables(summary(found)).splitlines()[2:], file=sys.stderr, flush=True)
        for worker in self.workers.values():
            worker.end()
        return found


# the record


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


def smallest(reports: list[dict[str, Any]], schemas: dict[str, Any]) -> list[dict[str, Any]]:
    """The smallest witness of each engine, kind and keyword, with its schema."""
    best: dict[tuple[str, ...], tuple[int, dict[str, Any]]] = {}
    for row in (row for each in reports for row in each["rows"] if row["named"] is None):
        size = len(json.dumps(schemas[row["file"]])) + 3 * len(row["prefix"]) + len(row["witness"])
        key = (row["engine"], row["kind"], row["keyword"])
        if key not in best or size < best[key][0]:
            best[key] = (size, {**row, "schema": schemas[row["file"]]})
    return [row for _, (_, row) in sorted(best.items())]


def replay(options: argparse.Namespace) -> int:
    """Judge a row again: what its engine's mask says, and what is proved. 1: the error is gone."""
    from exact.places import Judge

    name, _, number = options.replay.rpartition(":")
    text = Path(name).read_text(encoding="utf-8")
    rows = json.loads(text) if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]
    row = rows[int(number)]
    vocabulary = load(row.get("vocab", options.vocab), data_folder(options.data))
    judge = Judge(row["schema"], [json.loads(row["witness"])] if row["kind"] == "refused" else [])
    prefix = b"".join(vocabulary.tokens[i] or b"" for i in row["walk"])
    is_end, data = row["token"] == vocabulary.eos_id, prefix + (vocabulary.tokens[row["token"] or 0] or b"")
    verdict = judge.whole(prefix) if is_end else judge.dead(data)
    verdict = verdict if verdict.state == "dead" or is_end else judge.live(data)
    print(json.dumps({key: row[key] for key in ("file", "kind", "keyword", "prefix", "last", "witness", "schema")}))
    print("second reader:", verdict.state, verdict.why, verdict.witness)
    wrong = False
    for engine in [row["engine"]] if options.engines == DEFAULT else options.engines.split(","):
        walker = Walker(engine, vocabulary)
        answer = walker.answer({"schema": row["schema"]}, 600)
        if "error" not in answer:
            answer = walker.answer({"walks": [[*row["walk"], row["token"]]]}, 600)
        masks = answer.get("masks", [[]])[0]
        said = answer.get("message") or ("allows" if len(masks) == len(row["walk"]) + 2 else "refuses")
        if is_end and masks:
            bits = np.frombuffer(zlib.decompress(base64.b64decode(masks[len(row["walk"])])), np.uint32)
            said = "allows" if is_set(bits, row["token"]) else "refuses"
        print(f"{engine} {walker.engine.version}: {said}")
        wrong |= (said, verdict.state) in (("allows", "dead"), ("refuses", "live"))
    return int(not wrong)


def write(folder: Path, found: dict[str, Any], reports: list[dict[str, Any]], schemas: dict[str, Any]) -> None:
    """The record."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    lines = "".join(json.dumps(each) + "\n" for each in reports)
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
    witnesses = [{**row, "vocab": found["run"]["vocab"]} for row in smallest(reports, schemas)]
    text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in witnesses)
    (folder / "witnesses.json").write_text(f"[\n{text}\n]\n", encoding="utf-8")


def main() -> int:
    """Run, write, print. 1: an error of this library was proved."""
    options = parse()
    if options.worker:
        work(options)
        return 0
    if options.replay:
        return replay(options)
    names = chosen_engines(options.engines, "exactness")
    paths = chosen_files(options, "exactness")
    run = Run(options, names)
    given = {key: getattr(options, key.replace("-", "_")) for key in ("limit", "seed", "tokens", "instances", "adverse")}
    command = " ".join(f"--{key} {value}" for key, value in given.items())
    versions = {name: worker.meta["version"] for name, worker in run.workers.items()}
    told = {**machine(), "command": f"exactness.py --engines {options.engines} --vocab {options.vocab} {command}"}
    reports = run.files(paths)
    found = {"run": {**told, "vocab": options.vocab, "versions": versions}, **summary(reports)}
    if options.out:
        by_name = {path.stem: path for path in paths}
        touched = {row["file"] for each in reports for row in each["rows"]}
        schemas = {name: json.loads(by_name[name].read_text(encoding="utf-8"))["schema"] for name in touched}
        write(options.out, found, reports, schemas)
    print(tables(found))
    print(json.dumps(found["engines"], indent=1))
    disputed = max(found["disputed"], 1)
    print(f"{found['places']:,} places, {found['tokens']:,} tokens judged, engines differ on {found['disputed']:,}; "
          f"of these {found['undecided'] / disputed:.1%} undecided")  # fmt: skip
    return int(any(of["allowed"] + of["refused"] for name, of in found["engines"].items() if name == "constrain"))


if __name__ == "__main__":
    sys.exit(main())
