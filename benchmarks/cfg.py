"""The time of a token under a context-free grammar, in short texts and in long ones.

Question 1: mask and commit per token on JSON (instances of MaskBench), SQL, Python and arithmetic, beside llguidance
and xgrammar in the same run. Question 2: the same on texts of 1 KB, 10 KB, 100 KB and 1 MB. Question 3: JSON whose
lists recur to the right, beside lists that recur to the left, on 1 MB.

    python benchmarks/cfg.py --out benchmarks/record/<date>-cfg
    python benchmarks/cfg.py --limit 20 --sizes 1000,10000 --engines constrain

Grammars and texts are in `languages/cfg.py`: constrain and llguidance read the same Lark text, xgrammar
the same rules in its EBNF, and JSON as it brings it along. Engines alternate text by text; each text is read
twice: the first time pays for what the grammar meets first. Of a long text the second reading is the figure. Times are
the thread's own.

Answers are checked: every text must be accepted to its end. The exit code is 1 if `constrain` refused one, if a token
of its longest text costs more than twice one of the shortest, or right recursion more than twice left recursion. Bias:
SQL and Python are subsets, chosen so that no engine has to tell keywords from names; what the collection's own grammars
cost is asked by `grammars.py`. All engines are used from Python: 1 to 2 µs of each figure are calls and clocks. An
engine has --time-limit seconds of its thread's time to compile, for a long text, and for all texts of a language
together; when they are over, it reads no more of them, and no longer ones.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from languages import cfg, speed
from masks import vocabularies
from masks.interface import CompileError, is_set
from masks.limits import TimeLimitError, time_limit
from masks.records import Record, data_folder, machine, write_run

FLAT, RECURSION = 2.0, 2.0  # what a ratio may be at most
READINGS = 2  # of a long text
NOT_TOLD = "—"
LATE = "over the time limit"
WALL = 20  # of wall time, so many times the limit, for an engine that does not come back


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="cfg", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--engines", default=",".join(speed.ENGINES), help="some of them")
    parser.add_argument("--limit", type=int, default=200, help="texts of a language (default: 200)")
    parser.add_argument("--sizes", default="1000,10000,100000,1000000", help="bytes of the long texts")
    parser.add_argument("--vocab", default="llama3", choices=vocabularies.VOCABULARIES)
    parser.add_argument("--time-limit", type=float, default=30.0, help="an engine's seconds of CPU; see above")
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, else ../shared/data)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder for settings.json, records.jsonl(.gz), summary.md")
    return parser.parse_args(arguments)


class Constrain(speed.Constrain):
    """This library."""

    def compile(self, schema: cfg.Language) -> None:
        self.compiled = self.constrain.compile(self.constrain.grammar(schema.lark, lexer=schema.lexer), self.vocabulary)


class LLGuidance(speed.LLGuidance):
    """llguidance, with the same Lark text."""

    def compile(self, schema: cfg.Language) -> None:
        self.first = self.matcher_type(self.tokenizer, self.matcher_type.grammar_from_lark(schema.lark))
        if self.first.is_error():
            raise CompileError(self.first.get_error())


class XGrammar(speed.XGrammar):
    """xgrammar, with EBNF."""

    def compile(self, schema: cfg.Language) -> None:
        try:
            if schema.ebnf == cfg.BUILT_IN:
                self.compiled = self.compiler.compile_builtin_json_grammar()
            else:
                self.compiled = self.compiler.compile_grammar(schema.ebnf)
        except (RuntimeError, ValueError) as error:
            raise CompileError(str(error)) from None


KINDS: dict[str, Any] = {"constrain": Constrain, "llguidance": LLGuidance, "xgrammar": XGrammar}


def compiled(engine: Any, language: cfg.Language, limit: float) -> tuple[float, str | None]:
    """(µs, why not)."""
    begin = time.thread_time_ns()
    try:
        with time_limit(WALL * limit):
            engine.compile(language)
            engine.start()
    except (CompileError, ValueError) as error:
        return 0.0, " ".join(str(error).split())[:200]
    except TimeLimitError:
        return 0.0, f"over {limit:g} s"
    return (time.thread_time_ns() - begin) / 1000, None


def read(engine: Any, tokens: list[int], limit: float) -> tuple[str, list[float]]:
    """("accepted", "refused" or LATE; µs of each token: fill the mask, look up the bit, commit)."""
    times: list[float] = []
    left = limit * 1e6
    try:
        with time_limit(WALL * limit):
            engine.start()
            for token in tokens:
                begin = time.thread_time_ns()
                engine.mask()
                allowed = is_set(engine.row, token) and engine.advance(token)
                times.append((time.thread_time_ns() - begin) / 1000)
                left -= times[-1]
                if not allowed:
                    return "refused", times
                if left < 0:
                    return LATE, times
            return ("accepted" if engine.at_end() else "refused"), times
    except TimeLimitError:
        return LATE, times
    except (RuntimeError, ValueError):  # an engine that stops is an engine that refuses
        return "refused", times


def masks(engines: dict[str, Any], vocabulary: Any, options: argparse.Namespace) -> list[Record]:
    """Question 1: a record for each language and engine, with the times of both readings, text by text."""
    records = []
    for language in cfg.languages():
        found = {name: {"question": "masks", "language": language.name, "engine": name} for name in engines}
        for name, engine in engines.items():
            found[name]["compile_us"], found[name]["error"] = compiled(engine, language, options.time_limit)
            found[name] |= {"verdicts": [], "first_us": [], "second_us": []}
        left = {name: options.time_limit for name in engines if found[name]["error"] is None}
        for text in language.texts(Random(options.seed), options.limit):
            tokens = vocabulary.encode(text)
            for name, seconds in left.items():
                verdict, first = read(engines[name], tokens, seconds) if seconds > 0 else (LATE, [])
                second = read(engines[name], tokens, options.time_limit)[1] if verdict == "accepted" else []
                left[name] -= (sum(first) + sum(second)) / 1e6
                found[name]["verdicts"].append(verdict)
                found[name]["first_us"].append([round(each, 1) for each in first])
                found[name]["second_us"].append([round(each, 1) for each in second])
        records += list(found.values())
        print(f"masks {language.name}", file=sys.stderr, flush=True)
    return records


def lengths(engines: dict[str, Any], vocabulary: Any, options: argparse.Namespace) -> list[Record]:
    """Questions 2 and 3: a record for each language, engine and size; the mean time of a token in each reading."""
    sizes = [int(size) for size in options.sizes.split(",")]
    work = [("length", language, sizes) for language in cfg.languages()]
    work += [("recursion", language, sizes[-1:]) for language in cfg.recursions().values()]
    records = []
    for question, language, chosen in work:
        for name, engine in engines.items():
            error = compiled(engine, language, options.time_limit)[1]
            for size in chosen if error is None else ():
                text = language.long(size)
                tokens = vocabulary.encode(text)
                record: Record = {"question": question, "language": language.name, "engine": name, "size": size}
                record |= {"bytes": len(text.encode()), "tokens": len(tokens), "mean_us": []}
                for _ in range(READINGS):
                    record["verdict"], times = read(engine, tokens, options.time_limit)
                    record["mean_us"].append(round(float(np.mean(times)), 2) if times else None)
                    if record["verdict"] != "accepted":
                        break
                records.append(record)
                if record["verdict"] == LATE:
                    break
            if error is not None:
                records.append({"question": question, "language": language.name, "engine": name, "error": error})
        print(f"{question} {language.name}", file=sys.stderr, flush=True)
    return records


# --- summary ----------------------------------------------------------------------------------------------------------


def mask_table(records: list[Record]) -> str:
    """Question 1. Ratios are those of the means over the texts that both engines accepted."""
    head = "| language | engine | accepts | tokens | first: p50, p99, mean µs | again | constrain ÷ it, means |"
    lines = [head, "|---|---|---:|---:|---:|---:|---:|"]
    for row in records:
        if row["error"] is not None:
            lines.append(f"| {row['language']} | {row['engine']} | cannot load it: {row['error'][:80]} | | | | |")
            continue
        ours = next((r for r in records if r["language"] == row["language"] and r["engine"] == "constrain"), row)
        done = [verdict for verdict in row["verdicts"] if verdict != LATE]
        pairs = zip(row["verdicts"], ours["verdicts"], strict=True)
        common = [i for i, pair in enumerate(pairs) if {*pair} == {"accepted"}]
        cells, ratios = [], []
        for key in ("first_us", "second_us"):
            mine, its = ([each for i in common for each in side[key][i]] for side in (ours, row))
            cells.append(figures(its))
            ratios += [f"{np.mean(mine) / np.mean(its):.2f}"] if its else []
        tokens = sum(len(row["first_us"][i]) for i in common)
        shown = [row["language"], row["engine"], f"{done.count('accepted')} of {len(done)}", f"{tokens:,}", *cells]
        lines.append(f"| {' | '.join([*shown, NOT_TOLD if row is ours or not ratios else ', '.join(ratios)])} |")
    return "\n".join(lines)


def figures(times: list[float]) -> str:
    """Median, 99th percentile, mean."""
    if not times:
        return NOT_TOLD
    return ", ".join(f"{each:,.1f}" for each in (np.median(times), np.percentile(times, 99), np.mean(times)))


def cell(record: Record) -> str:
    """The time of a token in the last reading, or what kept it from one."""
    if record["verdict"] != "accepted":
        return f"{record['verdict']} ({record['mean_us'][-1]:,.1f})" if record["mean_us"][-1] else record["verdict"]
    return f"{record['mean_us'][-1]:,.2f}"


def length_table(records: list[Record]) -> tuple[str, dict[str, float]]:
    """Question 2, and the ratio of the longest to the shortest of this library, by language."""
    found = [record for record in records if record["question"] == "length"]
    sizes = sorted({record["size"] for record in found if "size" in record})
    names = " | ".join(f"{size // 1000:,} KB" for size in sizes)
    lines = [f"| language | engine | {names} | longest ÷ shortest |", "|---|---|" + "---:|" * (len(sizes) + 1)]
    ratios = {}
    for language, engine in dict.fromkeys((record["language"], record["engine"]) for record in found):
        rows = [row for row in found if (row["language"], row["engine"]) == (language, engine) and "size" in row]
        if not rows:
            lines.append(f"| {language} | {engine} | cannot load it |" + " |" * len(sizes))
            continue
        told = len(rows) == len(sizes) and all(row["verdict"] == "accepted" for row in rows)
        ratio = rows[-1]["mean_us"][-1] / rows[0]["mean_us"][-1] if told else None
        if ratio is not None and engine == "constrain":
            ratios[language] = ratio
        missing = [NOT_TOLD] * (len(sizes) - len(rows))
        cells = [*map(cell, rows), *missing, NOT_TOLD if ratio is None else f"{ratio:.2f}"]
        lines.append(f"| {language} | {engine} | {' | '.join(cells)} |")
    return "\n".join(lines), ratios


def recursion_table(records: list[Record]) -> tuple[str, float | None]:
    """Question 3, and the ratio of this library."""
    found = [record for record in records if record["question"] == "recursion"]
    lines = ["| engine | left: µs a token | right: µs a token | right ÷ left |", "|---|---:|---:|---:|"]
    ours = None
    for engine in dict.fromkeys(record["engine"] for record in found):
        rows = {row["language"]: row for row in found if row["engine"] == engine}
        told = all(row.get("verdict") == "accepted" for row in rows.values())
        ratio = rows["right"]["mean_us"][-1] / rows["left"]["mean_us"][-1] if told else None
        ours = ratio if engine == "constrain" else ours
        cells = [cell(rows[side]) if "verdict" in rows[side] else "cannot load it" for side in ("left", "right")]
        lines.append(f"| {engine} | {' | '.join(cells)} | {NOT_TOLD if ratio is None else f'{ratio:.2f}'} |")
    return "\n".join(lines), ours


def main() -> None:
    """Measure, print, keep, and say whether the answers and the promises hold."""
    options = parse()
    vocabulary = vocabularies.load(options.vocab, data_folder(options.data))
    engines = {name: speed.warmed(KINDS[name], vocabulary) for name in options.engines.split(",")}
    short, long = masks(engines, vocabulary, options), lengths(engines, vocabulary, options)
    by_length, flat = length_table(long)
    by_side, recursion = recursion_table(long)
    versions = ", ".join(f"{name} {engine.version}" for name, engine in engines.items())
    text = f"# Context-free grammars\n\n{versions}.\n\n## Mask and commit of a token\n\n{mask_table(short)}\n\n"
    text += f"## Longer texts, µs a token\n\n{by_length}\n\n## 1 MB of JSON, lists by recursion\n\n{by_side}\n"
    print(text)
    if options.out:
        settings = machine() | {"command": " ".join(["python benchmarks/cfg.py", *sys.argv[1:]]), "engines": versions}
        write_run(options.out, settings, short + long, text)
    ours = [record for record in short if record["engine"] == "constrain"]
    wrong = [record["language"] for record in ours if {*record["verdicts"]} != {"accepted"}]
    wrong += [language for language, ratio in flat.items() if ratio > FLAT]
    wrong += ["right recursion"] if recursion is not None and recursion > RECURSION else []
    missing = "constrain" in engines and (len(flat) < len(cfg.languages()) or recursion is None)
    if wrong or missing:
        print(f"constrain does not keep its promises: {', '.join(wrong) or 'a long text was refused'}", file=sys.stderr)
    sys.exit(bool(wrong) or missing)


if __name__ == "__main__":
    main()
