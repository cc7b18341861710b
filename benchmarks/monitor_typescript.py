"""The monitor of TypeScript beside the compiler: programs, changed programs, and walks that look for dead ends.

Question: is each program that `tsc --strict` accepts accepted at every prefix; how many of its changes that break a
type are refused at or before the place; and which share of what grammar and monitor allow compiles?

    NODE_PATH=…/node_modules python benchmarks/monitor_typescript.py --programs 1200 --changes 500 --walks 500 \
        --out benchmarks/record/<date>-typescript

Programs are drawn by languages/typescript_programs.py; what the compiler refuses is left out. A change is one lexeme;
if the compiler then finds a fault, the place is the end of the line of the change or of the fault, whichever comes
later; if it finds none, the monitor must accept the changed program too. A walk begins in the middle of such a program,
or with nothing, and draws lexemes, keywords and signs as often as names; behind `--steps` draws it takes lexemes that
close what is open. What ends is compiled.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from constrain.monitors import monitored, typescript
from constrain.monitors.reading import MonitorReading
from languages import tsc
from languages.typescript_programs import changes, program
from masks.records import machine, write_run
from masks.summary import table

WORDS = """
const let function if else while for of return throw break continue switch case default try catch finally interface type
class extends implements constructor new this null undefined true false typeof instanceof number string boolean void any
unknown never private readonly static super export x y foo bar A B T key value console log Math max length toFixed trim
push map name JSON parse stringify Map Set Error get set has message String Number
""".split()
SIGNS = "( ) { } [ ] ; , . = => === !== == < > <= >= && || ?? ++ -- += -= * % + - ! ? : |".split()
OPENING = frozenset({"(", "[", "{", "`${", "?", "!", "-", "+", "<"})
CLOSING = ["}`", "}", ";", ")", "]", ":", "=", "=>", "JSON", "1", "number", "{", "throw", "super", "constructor", ",",
           '"a"', "?", "===", "(", "x", ".", "parse", "length", "toString", "+", "["]  # fmt: skip
AFTER = {"JSON": ".", "JSON.": "parse", "JSON.parse": "(", "JSON.parse(": '"a"'}  # a value that fits everywhere


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="monitor_typescript", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=800)
    parser.add_argument("--changes", type=int, default=500, help="changed programs that the compiler refuses")
    parser.add_argument("--walks", type=int, default=500)
    parser.add_argument("--steps", type=int, default=8, help="draws of a walk before it closes what is open")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--out", type=Path, help="folder for the record")
    return parser.parse_args(arguments)


class Judge:
    """The grammar and the monitor together, byte by byte."""

    def __init__(self) -> None:
        self.monitor = typescript()
        grammar = constrain.collection.load("typescript")
        self.grammar = constrain.compile(grammar, constrain.Vocabulary.of_bytes())
        self.reading = MonitorReading(self.monitor)

    def refusal(self, text: str) -> int | None:
        """The index of the first byte that one of them refuses; the length: the end; None: none."""
        matcher, at = self.grammar.matcher(), self.reading.start()
        raw = text.encode()
        for index in range(len(raw)):
            after = self.reading.step(at, raw[index : index + 1])
            if after is None or not matcher.advance_bytes(raw[index : index + 1]):
                return index
            at = after
        return None if self.reading.may_end(at) and matcher.is_accepting() else len(raw)


def programs(options: argparse.Namespace, judge: Judge) -> tuple[list[str], list[dict[str, Any]]]:
    """The programs that the compiler accepts, and a row for each."""
    seeds = range(options.first, options.first + options.programs * 5 // 4)
    drawn = [program(seed) for seed in seeds]
    faults = tsc.faults(drawn)
    good = [text for text, found in zip(drawn, faults, strict=True) if not found][: options.programs]
    rows = [{"kind": "program", "bytes": len(text), "refused": judge.refusal(text), "text": text} for text in good]
    print(f"{len(good)} programs of {len(drawn)} compile", flush=True)
    return good, rows


def changed(options: argparse.Namespace, judge: Judge, good: list[str]) -> list[dict[str, Any]]:
    """A row for each changed program."""
    made = []
    for number, text in enumerate(good):
        drawn = changes(text, options.first + number)
        made += [next(drawn) for _ in range(3)]
    rows, broken = [], 0
    for (text, at), found in zip(made, tsc.faults([text for text, _ in made]), strict=True):
        if broken == options.changes:
            break
        row: dict[str, Any] = {"kind": "change", "text": text, "at": at, "refused": judge.refusal(text)}
        row["code"] = found[0].code if found else 0
        if found:
            broken += 1
            last = max(each.start for each in found if each.code == found[0].code)
            end = text.find("\n", max(at, last))
            row["in time"] = row["refused"] is not None and row["refused"] <= end
        rows.append(row)
    return rows


def vocabulary() -> constrain.Vocabulary:
    """All bytes, then lexemes, as they are and behind a blank, then an EOS."""
    lexemes = [*WORDS, *SIGNS, "'a'", '"on"', '"a"', "`t`", "`${", "}`", "/ ", "10", "2.5"]
    whole = dict.fromkeys([*(text for text in lexemes if len(text) > 1), *(f" {text}" for text in lexemes)])
    tokens = [*(bytes([byte]) for byte in range(256)), *(text.encode() for text in whole), None]
    return constrain.Vocabulary(tokens, eos_ids=[len(tokens) - 1])


class Walker:
    """Walks under a compiled constraint."""

    def __init__(self, compiled: Any, good: list[str], steps: int) -> None:
        self.compiled, self.good, self.steps = compiled, good, steps
        tokens = compiled.vocabulary.tokens
        self.shown = ["" if text is None else text.decode("latin-1").strip() for text in tokens]
        single = {ord(each) for each in "(){}[];,.=<>*%+-!?:|1"}
        self.lexemes = [token for token in range(len(tokens) - 1) if token > 255 or token in single]
        ranks = {text: rank for rank, text in enumerate(CLOSING)}
        self.rank = [ranks.get(text, 99) for text in self.shown]

    def walk(self, seed: int) -> tuple[str, str]:
        """("ended", "dead" or "long", the text)."""
        rng, matcher = random.Random(seed), self.compiled.matcher()
        if rng.random() < 0.7:
            text = rng.choice(self.good)
            cuts = [match.end() for match in re.finditer(r"\n" if rng.random() < 0.7 else r"\w\b|[^\w\s]", text[:500])]
            assert matcher.advance_bytes(text[: rng.choice(cuts)].encode())
        semicolons = 0
        for step in range(self.steps * 12):
            if step >= self.steps and matcher.is_accepting():
                return "ended", matcher.text.decode(errors="replace")
            if step < self.steps:
                order = self.drawn(rng)
            else:
                order = self.closing(rng, semicolons, matcher.text.decode(errors="replace").replace(" ", ""))
            token = next((token for token in order if matcher.advance(token)), None)
            if token is None and not matcher.is_accepting():
                row = np.zeros(self.compiled.vocabulary.words, np.uint32)
                matcher.fill_mask(row)
                return ("long" if row.any() else "dead"), matcher.text.decode(errors="replace")
            if token is None:
                return "ended", matcher.text.decode(errors="replace")
            semicolons = semicolons + 1 if self.shown[token] == ";" else 0
        return "long", matcher.text.decode(errors="replace")

    def drawn(self, rng: random.Random) -> list[int]:
        """All lexemes in a random order: those of one kind first, and openings seldom."""
        is_word, is_rare = rng.random() < 0.5, rng.random() < 0.7
        order = rng.sample(self.lexemes, len(self.lexemes))
        order.sort(key=lambda token: (
            self.shown[token].isidentifier() != is_word, is_rare and self.shown[token] in OPENING
        ))  # fmt: skip
        return order

    def closing(self, rng: random.Random, semicolons: int, text: str) -> list[int]:
        """All lexemes, those first that close what is open."""
        in_template = text.count("`${") > text.count("}`")
        wanted = next((wanted for end, wanted in AFTER.items() if text.endswith(end)), None)

        def rank(token: int) -> float:
            shown = self.shown[token]
            joins = shown[:1].isalnum() and text[-1:].isalnum() and self.compiled.vocabulary.tokens[token][:1] != b" "
            if shown == "}`" and not in_template:
                return 99
            return (shown != wanted) * (
                self.rank[token] + 50 * (joins or (shown == ";" and semicolons > 0))
            ) + rng.random()

        return sorted(self.lexemes, key=rank)


def walks(options: argparse.Namespace, good: list[str]) -> list[dict[str, Any]]:
    """A row for each walk that was compiled or ran into a dead end."""
    compiled = constrain.compile(monitored(constrain.collection.load("typescript"), typescript()), vocabulary())
    walker, rows, began, seed = Walker(compiled, good, options.steps), [], time.process_time(), options.first
    while sum(row["end"] == "ended" for row in rows) < options.walks and seed < options.first + 20 * options.walks:
        end, text = walker.walk(seed)
        rows.append({"kind": "walk", "seed": seed, "end": end, "text": text})
        seed += 1
        if seed % 500 == 0:
            print(seed, Counter(row["end"] for row in rows), f"{time.process_time() - began:.0f} s", flush=True)
    ended = [row for row in rows if row["end"] == "ended"]
    for row, found in zip(ended, tsc.faults([row["text"] for row in ended]), strict=True):
        row["code"] = found[0].code if found else 0
        row["message"] = (
            f"{found[0].message[:120]} | {row['text'][max(0, found[0].start - 50) : found[0].start + 50]}"
            if found
            else ""
        )
    return rows


def summary(rows: list[dict[str, Any]]) -> str:
    """The figures."""
    kinds = {kind: [row for row in rows if row["kind"] == kind] for kind in ("program", "change", "walk")}
    broken = [row for row in kinds["change"] if row["code"]]
    kept = [row for row in kinds["change"] if not row["code"]]
    ended = [row for row in kinds["walk"] if row["end"] == "ended"]
    compile_ = [row for row in ended if not row["code"]]
    faults = Counter(row["code"] for row in ended if row["code"])
    lines = [
        ["programs that the compiler accepts, accepted at every prefix",
         f"{sum(row['refused'] is None for row in kinds['program'])} of {len(kinds['program'])}"],
        ["changes that break a type, refused at or before the place",
         f"{sum(row['in time'] for row in broken)} of {len(broken)}"],
        ["other such changes: refused later, accepted",
         f"{sum(row['refused'] is not None and not row['in time'] for row in broken)},"
         f" {sum(row['refused'] is None for row in broken)}"],
        ["changes that the compiler accepts, accepted",
         f"{sum(row['refused'] is None for row in kept)} of {len(kept)}"],
        ["walks", str(len(kinds["walk"]))],
        ["dead ends", str(sum(row["end"] == "dead" for row in kinds["walk"]))],
        ["walks that ended", str(len(ended))],
        ["of these compile", f"{len(compile_)} ({len(compile_) / max(1, len(ended)):.1%})"],
        ["faults by the compiler's number", ", ".join(f"{code}: {many}" for code, many in faults.most_common())],
    ]  # fmt: skip
    return table(["", ""], lines)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, keep."""
    options = parse(arguments)
    judge = Judge()
    good, rows = programs(options, judge)
    rows += changed(options, judge, good)
    print(summary(rows), flush=True)
    rows += walks(options, good)
    for row in rows:
        if row["kind"] == "walk" and row["end"] != "long" and row.get("message", row["end"]):
            print(row["seed"], row["end"], row.get("code"), row.get("message", row["text"][-120:]))
    shown = summary(rows)
    print(shown)
    if options.out:
        settings = {"command": "monitor_typescript", "compiler": tsc.version(), **machine()}
        write_run(options.out, settings, rows, shown)


if __name__ == "__main__":
    main()
