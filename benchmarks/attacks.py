"""Time, memory and outcome of constraints that were made to take long.

Question: for each case of attack_cases.py, what does an engine do (an answer, a located error, a crash), in how much
CPU time, with how much memory, and how long does the slowest mask take?

    python benchmarks/attacks.py --out benchmarks/record/<date>-attacks

One process for each case, forked from one that has loaded the vocabulary and is warm, with a limit of CPU time. The
text is read token by token: a mask, the token looked up in it, the token. An answer is wrong where the engine refuses
the text, or says something else about its end than the case does. What an engine has no options for is "no form". A
case ends in time if it takes at most 2 s, and `A_TOKEN` for each token that was read; to a tenth, since a limit of 2 s
is noticed at the next look at the clock.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attack_cases import CASES, Case
from masks import vocabularies
from masks.interface import Settings, is_set
from masks.records import data_folder, machine, write_run
from masks.summary import table

ENGINES = ("constrain", "llguidance", "xgrammar")
GOAL = 2.0  # CPU seconds to an answer or an error
A_TOKEN = 1e-4  # CPU seconds for a token of a long text, all in all
GIGABYTE = 10**9


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="attacks", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--engines", nargs="+", default=["constrain"], choices=ENGINES)
    parser.add_argument("--vocab", default="llama3", choices=[*vocabularies.VOCABULARIES, "bytes"])
    parser.add_argument("--limit", type=int, default=30, help="CPU seconds for a case (default: 30)")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, ../shared/data)")
    parser.add_argument("--out", type=Path, help="folder for the record and the summary")
    return parser.parse_args(arguments)


class Refused(Exception):
    """The engine refuses a constraint with a message."""


class NoForm(Exception):
    """The engine cannot be asked for this kind of constraint."""


class Constrain:
    """This library."""

    def __init__(self, vocabulary: vocabularies.BenchVocabulary) -> None:
        import constrain

        self.constrain = constrain
        self.vocabulary = constrain.Vocabulary(vocabulary.tokens, eos_ids=[vocabulary.eos_id])
        self.row = np.zeros(vocabulary.words, np.uint32)

    def compile(self, kind: str, language: Any, options: dict[str, Any]) -> None:
        """Make a matcher. Raises Refused."""
        make = {"json": self.constrain.json_schema, "regex": self.constrain.regex, "lark": self.constrain.grammar}[kind]
        try:
            self.matcher = self.constrain.compile(make(language, **options), self.vocabulary).matcher()
        except self.constrain.ConstrainError as error:
            raise Refused(f"{type(error).__name__}: {error}") from None

    def mask(self) -> None:
        """Fill `row`."""
        try:
            self.matcher.fill_mask(self.row)
        except self.constrain.ConstrainError as error:
            raise Refused(f"{type(error).__name__}: {error}") from None

    def advance(self, token: int) -> bool:
        """Read a token."""
        return self.matcher.advance(token)

    def accepting(self) -> bool:
        """True if the text may end."""
        return self.matcher.is_accepting()


class LLGuidance:
    """guidance-ai/llguidance, with its limits as they are."""

    def __init__(self, vocabulary: vocabularies.BenchVocabulary) -> None:
        from masks.engines import LLGuidance as Adapter

        self.make = Adapter(vocabulary, Settings())
        self.row = self.make.row

    def compile(self, kind: str, language: Any, options: dict[str, Any]) -> None:
        """Make a matcher. Raises Refused, NoForm."""
        if options:
            raise NoForm
        matcher = self.make.matcher_type
        makers = {"json": "grammar_from_json_schema", "regex": "grammar_from_regex", "lark": "grammar_from_lark"}
        try:
            self.matcher = matcher(self.make.tokenizer, getattr(matcher, makers[kind])(language))
        except ValueError as error:
            raise Refused(str(error)) from None
        if self.matcher.is_error():
            raise Refused(self.matcher.get_error())

    def mask(self) -> None:
        """Fill `row`."""
        self.matcher.unsafe_compute_mask_ptr(self.row.ctypes.data, self.row.nbytes)
        if self.matcher.is_error():
            raise Refused(self.matcher.get_error())

    def advance(self, token: int) -> bool:
        """Read a token."""
        return self.matcher.consume_token(token)

    def accepting(self) -> bool:
        """True if the text may end."""
        return self.matcher.is_accepting()


class XGrammar:
    """mlc-ai/xgrammar."""

    def __init__(self, vocabulary: vocabularies.BenchVocabulary) -> None:
        from masks.peers import XGrammar as Adapter

        self.make = Adapter(vocabulary, Settings())
        self.row, self.eos = self.make.row, vocabulary.eos_id

    def compile(self, kind: str, language: Any, options: dict[str, Any]) -> None:
        """Make a matcher. Raises Refused, NoForm."""
        compiler = self.make.compiler
        try:
            if kind == "json":
                any_order = options.get("property_order") == "any"
                text = json.dumps(language)
                compiled = compiler.compile_json_schema(text, strict_mode=False, any_order=any_order)
            elif kind == "regex":
                compiled = compiler.compile_regex(language)
            else:
                raise NoForm
        except (RuntimeError, ValueError, TypeError) as error:
            raise Refused(str(error)) from None
        self.make.matcher = self.make.matcher_type(compiled)

    def mask(self) -> None:
        """Fill `row`."""
        self.make.mask()

    def advance(self, token: int) -> bool:
        """Read a token."""
        return self.make.advance(token)

    def accepting(self) -> bool:
        """True if the text may end."""
        self.mask()
        return is_set(self.row, self.eos)


def attack(engine: Any, attempt: Case, vocabulary: vocabularies.BenchVocabulary) -> dict[str, Any]:
    """Run one case. Returns its outcome: "answer", "error", "wrong", "no form" or "raw", with times in CPU seconds."""
    kind, language = attempt.make()
    tokens = vocabulary.encode(attempt.text())
    found: dict[str, Any] = {"tokens": len(tokens), "read": 0}
    begin = time.process_time()
    slowest = 0.0
    try:
        engine.compile(kind, language, attempt.options)
        found["compile"] = time.process_time() - begin
        outcome = "answer"
        for token in tokens:
            before = time.process_time()
            engine.mask()
            slowest = max(slowest, time.process_time() - before)
            if not is_set(engine.row, token) or not engine.advance(token):
                outcome = "wrong"
                break
            found["read"] += 1
        if outcome == "answer" and attempt.ends is not None and engine.accepting() != attempt.ends:
            outcome = "wrong"
    except Refused as refused:
        outcome, found["message"] = "error", str(refused)[:200]
    except NoForm:
        outcome = "no form"
    except Exception as error:
        outcome, found["message"] = "raw", f"{type(error).__name__}: {error}"[:200]
    return {**found, "outcome": outcome, "seconds": time.process_time() - begin, "slowest": slowest}


def resident(key: str) -> int:
    """A line of /proc/self/status in bytes: VmRSS, or VmHWM, the most since the marks were cleared."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024


def in_child(engine: Any, attempt: Case, vocabulary: vocabularies.BenchVocabulary, limit: int) -> dict[str, Any]:
    """`attack` in a process of its own, which ends when it has used `limit` CPU seconds."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        used = int(sum(os.times()[:2]))
        resource.setrlimit(resource.RLIMIT_CPU, (used + limit, used + limit + 1))
        resource.setrlimit(resource.RLIMIT_AS, (12 * GIGABYTE, 12 * GIGABYTE))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        Path("/proc/self/clear_refs").write_text("5")
        before = resident("VmRSS")
        found = attack(engine, attempt, vocabulary)
        found["memory"] = resident("VmHWM") - before
        os.write(writer, json.dumps(found).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answers:
        line = answers.read()
    _, status = os.waitpid(child, 0)
    if line:
        return json.loads(line)
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    over = ended in (signal.SIGXCPU, signal.SIGKILL)
    return {"outcome": "hang" if over else "crash", "seconds": float(limit), "signal": ended}


def shown(row: dict[str, Any]) -> list[str]:
    """A line of the table."""
    memory = f"{row['memory'] / 1e6:.0f}" if "memory" in row else ""
    compiled, slowest = (f"{row[key]:.3f}" if key in row else "" for key in ("compile", "slowest"))
    text = [
        row["group"],
        row["name"],
        row["engine"],
        row["outcome"],
        f"{row['seconds']:.2f}",
        compiled,
        slowest,
        memory,
    ]
    return [*text, row.get("message", "")[:90].replace("|", "/").replace("\n", " ")]


def within(row: dict[str, Any]) -> bool:
    """True if a case ends as it should: an answer or a located error, in time and memory."""
    ends = row["outcome"] in ("answer", "error")
    in_time = round(row["seconds"] - A_TOKEN * row.get("read", 0), 1) <= GOAL
    return ends and in_time and row.get("memory", 0) <= GIGABYTE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all cases and print the table."""
    options = parse(list(arguments) if arguments is not None else None)
    vocabulary = vocabularies.load(options.vocab, data_folder(options.data))
    for name in options.engines:
        importlib.import_module(name)  # a package that is missing, or not whole, ends the run before it begins
    rows = []
    for name in options.engines:
        engine = {"constrain": Constrain, "llguidance": LLGuidance, "xgrammar": XGrammar}[name](vocabulary)
        warm = Case("", "", lambda: ("json", {"type": "object"}), lambda: '{"a":[1,"b"]}')
        attack(engine, warm, vocabulary)
        for attempt in CASES:
            if options.only in attempt.name:
                found = in_child(engine, attempt, vocabulary, options.limit)
                rows.append({"engine": name, "group": attempt.group, "name": attempt.name, **found})
                print(" ".join(shown(rows[-1])), file=sys.stderr, flush=True)
    head = ["group", "case", "engine", "outcome", "CPU s", "compile s", "slowest mask s", "MB", "message"]
    counts = [
        f"{name}: {sum(map(within, own))} of {len(own)} within {GOAL:g} s and 1 GB"
        for name in options.engines
        if (own := [row for row in rows if row["engine"] == name and row["outcome"] != "no form"])
    ]
    text = "\n".join([table(head, [shown(row) for row in rows]), "", *counts])
    print(text)
    if options.out:
        write_run(options.out, {"command": "attacks", **machine()}, rows, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
