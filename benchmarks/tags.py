"""Tagged texts: the cost of masks of free text with tool calls, beside XGrammar's structural tags.

Question: with 16 tools whose arguments are schemas from the real world, what does it cost to compile one structural tag
and to fill the mask before each token of a text with calls of all of them?

    python benchmarks/tags.py --vocab llama3 --rounds 12 --out benchmarks/out/tags

A round is 16 tools of MaskBench, chosen by lot, whose first valid instances both engines take as JSON; a triggered tag
for each, in the form `<tool_call>{"name": …, "arguments": …}</tool_call>`; and a text with sentences and a call of each
tool. Both engines run in this process on one thread, in turns, over the same tokens. Times are the thread's own. The
text is read twice: at first, when masks are made, and again.

Answers are checked: every token of the text must be in both masks and the text must be allowed to end; a call of a
tool that is not there, and one whose arguments are cut short, must be refused by both. What is not counted: reading the
vocabulary and loading kernels. Bias: XGrammar closes objects that a schema leaves open (its default here), so
instances with other properties were left out; texts are `json.dumps`'s.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from masks.interface import is_set
from masks.records import data_folder, machine, write_run
from masks.vocabularies import VOCABULARIES, BenchVocabulary, load

TOOLS = 16
SEED = 18
LONGEST = 2000  # characters of an instance
SENTENCES = [
    "Let me look at that for you. ",
    "\nThat was the first part; now the next: ",
    " I will also need this.\n",
    "\n",
]
Clock = Callable[[], int]


class Constrain:
    """This library."""

    def __init__(self, vocabulary: BenchVocabulary) -> None:
        self.vocabulary = constrain.Vocabulary(vocabulary.tokens, [vocabulary.eos_id])
        self.row = np.zeros(self.vocabulary.words, np.uint32)
        self.eos_id = vocabulary.eos_id
        self.version = constrain.__version__

    def compile(self, tag: Any) -> None:
        self.compiled = constrain.compile(constrain.tags.structural_tag(tag), self.vocabulary)

    def start(self) -> None:
        self.matcher = self.compiled.matcher()

    def mask(self) -> None:
        self.matcher.fill_mask(self.row)

    def advance(self, token: int) -> bool:
        return self.matcher.advance(token)


class XGrammar:
    """mlc-ai/xgrammar, one thread, its defaults for structural tags."""

    def __init__(self, vocabulary: BenchVocabulary) -> None:
        import xgrammar

        self.xgrammar, self.eos_id, self.version = xgrammar, vocabulary.eos_id, version("xgrammar")
        size = len(vocabulary.tokens)
        info = xgrammar.TokenizerInfo(
            [token or b"" for token in vocabulary.tokens],
            vocab_type=xgrammar.VocabType.RAW,
            vocab_size=size,
            stop_token_ids=[vocabulary.eos_id],
        )
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_limit_bytes=512 * 1024 * 1024)
        self.bitmask = xgrammar.allocate_token_bitmask(1, size)
        self.row = self.bitmask.numpy()[0].view(np.uint32)

    def compile(self, tag: Any) -> None:
        self.compiled = self.compiler.compile_structural_tag(json.dumps(tag))

    def start(self) -> None:
        self.matcher = self.xgrammar.GrammarMatcher(self.compiled)

    def mask(self) -> None:
        if not self.matcher.fill_next_token_bitmask(self.bitmask):
            self.bitmask.fill_(-1)  # all tokens: it says so instead of writing

    def advance(self, token: int) -> bool:
        return self.matcher.accept_token(token)


Engine = Constrain | XGrammar


def reads(engine: Engine, tokens: list[int], clock: Clock, times: list[float] | None = None) -> bool:
    """True if an engine lets the tokens pass and the text end. times: receives the µs of each mask."""
    engine.start()
    for token in tokens:
        begin = clock()
        engine.mask()
        if times is not None:
            times.append((clock() - begin) / 1000)
        if not is_set(engine.row, token) or not engine.advance(token):
            return False
    engine.mask()
    return is_set(engine.row, engine.eos_id)


def tag_of(tools: list[tuple[str, Any]]) -> dict[str, Any]:
    """The structural tag of some tools."""
    tags = [
        {
            "type": "tag",
            "begin": f'<tool_call>{{"name": "{name}", "arguments": ',
            "content": {"type": "json_schema", "json_schema": schema},
            "end": "}</tool_call>",
        }
        for name, schema in tools
    ]
    return {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": tags}}


def call(name: str, arguments: str) -> str:
    """The text of a call."""
    return f'<tool_call>{{"name": "{name}", "arguments": {arguments}}}</tool_call>'


def candidates(folder: Path, engines: list[Engine], vocabulary: BenchVocabulary, count: int) -> list[tuple[Any, str]]:
    """(schema, instance) of files of MaskBench whose first valid instance both engines take."""
    found: list[tuple[Any, str]] = []
    paths = sorted(folder.glob("*.json"))
    random.Random(SEED).shuffle(paths)  # neighbours are of one source
    for path in paths:
        case = json.loads(path.read_text(encoding="utf-8"))
        valid = [test["data"] for test in case["tests"] if test["valid"]]
        if not valid or not isinstance(case["schema"], dict) or case["schema"].get("type") != "object":
            continue
        text = json.dumps(valid[0], ensure_ascii=False)
        if len(text) > LONGEST:
            continue
        tag = {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": case["schema"]}}
        try:
            for engine in engines:
                engine.compile(tag)
            taken = all(reads(engine, vocabulary.encode(text), time.perf_counter_ns) for engine in engines)
        except (RuntimeError, ValueError):
            continue
        if taken:
            found.append((case["schema"], text))
        if len(found) == count:
            break
    return found


def measured(engine: Engine, tag: Any, tokens: list[int], wrong: list[list[int]], clock: Clock) -> dict[str, Any]:
    """The record of one engine in one round."""
    begin = clock()
    engine.compile(tag)
    compiled = (clock() - begin) / 1000
    first: list[float] = []
    again: list[float] = []
    if not reads(engine, tokens, clock, first) or not reads(engine, tokens, clock, again):
        raise SystemExit(f"{type(engine).__name__} refuses a text of the round")
    if any(reads(engine, one, clock) for one in wrong):
        raise SystemExit(f"{type(engine).__name__} takes a wrong text")
    return {
        "engine": type(engine).__name__,
        "compile_us": round(compiled, 1),
        "mask_us": [round(each, 1) for each in first],
        "again_us": [round(each, 1) for each in again],
    }


def summary_of(records: list[dict[str, Any]]) -> str:
    """The table of a run."""
    lines = [
        "| engine | compile ms, mean | masks | p50 µs | mean µs | p99 µs | again: p50 | mean | p99 |",
        "|---" * 9 + "|",
    ]
    for engine in dict.fromkeys(record["engine"] for record in records):
        mine = [record for record in records if record["engine"] == engine]
        cells = [f"{np.mean([record['compile_us'] for record in mine]) / 1000:.2f}"]
        for name in ("mask_us", "again_us"):
            times = np.concatenate([record[name] for record in mine])
            cells += [str(len(times))] if name == "mask_us" else []
            cells += [f"{np.percentile(times, 50):.1f}", f"{times.mean():.1f}", f"{np.percentile(times, 99):.1f}"]
        lines.append(f"| {engine} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run and write the records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--vocab", default="llama3", choices=VOCABULARIES)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--data", type=Path, help="default: $CONSTRAIN_DATA, else ../shared/data")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    data = data_folder(options.data)
    vocabulary = load(options.vocab, data)
    engines: list[Engine] = [Constrain(vocabulary), XGrammar(vocabulary)]
    pairs = candidates(data / "maskbench-dev", engines, vocabulary, TOOLS * options.rounds)
    engines = [Constrain(vocabulary), XGrammar(vocabulary)]  # without what the choice of files has compiled
    records: list[dict[str, Any]] = []
    for number in range(-1, len(pairs) // TOOLS):  # round -1 warms up: it loads what is loaded once
        chosen = pairs[max(number, 0) * TOOLS : (max(number, 0) + 1) * TOOLS]
        chosen = chosen if number >= 0 else [({"type": "object"}, "{}")] * TOOLS
        tools = [(f"tool_{i}", schema) for i, (schema, _) in enumerate(chosen)]
        calls = [SENTENCES[i % len(SENTENCES)] + call(f"tool_{i}", text) for i, (_, text) in enumerate(chosen)]
        last = call("tool_0", chosen[0][1])
        wrong = [vocabulary.encode(one) for one in ("a " + call("tool_x", "{}"), last[: -len("}</tool_call>") - 1])]
        tokens = vocabulary.encode("".join(calls) + " Done.")
        for engine in engines if number % 2 else engines[::-1]:
            record = measured(engine, tag_of(tools), tokens, wrong, time.thread_time_ns)
            if number >= 0:
                records.append({"round": number, **record})
    summary = summary_of(records)
    sys.stdout.write(summary)
    if options.out:
        versions = {type(engine).__name__: engine.version for engine in engines}
        settings = {"command": " ".join(sys.argv), "rounds": len(pairs) // TOOLS, "versions": versions, **machine()}
        write_run(options.out, settings, records, summary)


if __name__ == "__main__":
    main()
