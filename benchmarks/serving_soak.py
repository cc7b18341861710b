"""vLLM with the backend "constrain" under many clients: hangs, wrong answers, and the growth of memory.

Question: `clients` clients ask one engine for minutes, with random schemas (good, bad, huge) and random cancellations.
How many requests hang, how many answers are wrong, how does memory go, and why was the slowest request slow?

    python benchmarks/serving_soak.py --minutes 6 --out benchmarks/record/<date>-vllm-soak

It runs in an environment with vLLM, as serving.py, whose model and requests it takes. Front end and engine are two
processes (`AsyncLLM`), as in a server. A request draws its kind:

| kind | share | |
|---|---|---|
| replayed | 45 % | a MaskBench schema; a processor of logits pushes the text towards the file's valid instance |
| free | 20 % | a MaskBench schema; the random model writes what it may, mostly until its tokens are used up |
| bad | 15 % | faulty schemas, regexes, grammars, kinds: they must be refused |
| huge | 10 % | thousands of properties or texts, deep, overlapping patterns: to be answered or refused |
| plain | 10 % | no constraint |

15 % are cancelled after some tokens. A finished text of a schema is wrong if jsonschema refuses it; a text that is cut
is wrong if it is no beginning of a member (decided by a matcher over bytes). A request hangs if it gives no token, and
no end, for `--patience` seconds. What the grammar costs between two tokens is asked by serving.py. Bias: the model is
tiny, so that a step is short and the grammar's share large.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from masks.records import data_folder
from masks.summary import table
from serving import SLACK, keep, requests, verdict, write_model

KINDS = {"replayed": 45, "free": 20, "bad": 15, "huge": 10, "plain": 10}
CANCELLED = 0.15
FREE_TOKENS = 48
SAMPLE = 5.0  # seconds between two looks at the memory
Row = dict[str, Any]


@dataclass
class Asked:
    """One request, and what became of it. Times in seconds."""

    kind: str
    what: str
    size: int = 0
    outcome: str = ""
    tokens: int = 0
    check: float = 0.0
    first: float = 0.0
    whole: float = 0.0
    gaps: list[float] = field(default_factory=list)
    wrong: str = ""


# --- what is asked ----------------------------------------------------------------------------------------------------

BAD: list[tuple[str, dict[str, Any]]] = [
    ("no schema", {"json": '{"type": 5}'}),
    ("no JSON", {"json": '{"type": '}),
    ("nothing fulfils it", {"json": '{"type": "string", "minLength": 3, "maxLength": 2}'}),
    ("a reference to nothing", {"json": '{"$ref": "#/$defs/a"}'}),
    ("a loop", {"json": '{"allOf": [{"$ref": "#"}]}'}),
    ("no regex", {"regex": "(a"}),
    ("a back-reference", {"regex": r"(a)\1"}),
    ("no grammar", {"grammar": "start: b"}),
    ("an endless grammar", {"grammar": 'start: "a" start'}),
    ("no choices", {"choice": []}),
    ("no tag", {"structural_tag": '{"format": {"type": "nothing"}}'}),
]


def _many(n: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(n)}, "required": ["p0"]}


def _deep(n: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "boolean"}
    for _ in range(n):
        schema = {"type": "array", "items": schema, "maxItems": 2}
    return schema


HUGE: list[tuple[str, Callable[[int], Any]]] = [
    ("3,000 properties", lambda i: _many(3000 + i)),
    ("20,000 texts", lambda i: {"enum": [f"v{i}-{k}" for k in range(20_000)]}),
    ("60 levels", lambda i: _deep(60 + i % 5)),
    ("500 levels", lambda i: _deep(500)),
    ("patterns that overlap", lambda i: {"patternProperties": {f"^.*{c}{i}.*$": {"const": c} for c in "abcdefghij"}}),
    ("needs met by name", lambda i: {
        "properties": {f"a{k}": {"type": "string"} for k in range(40)}, "additionalProperties": False,
        "allOf": [{"not": {"additionalProperties": {"pattern": f"^{c}{i}"}}} for c in "abcd"]}),
    ("anyOf of 400", lambda i: {"anyOf": [_many(2) | {"properties": {"k": {"const": [i, k]}}} for k in range(400)]}),
    ("a long string", lambda i: {"type": "string", "minLength": 20_000 + i}),
]  # fmt: skip


# --- the clients ------------------------------------------------------------------------------------------------------


class Soak:
    """One engine and its clients."""

    def __init__(self, engine: Any, rows: list[Row], options: argparse.Namespace) -> None:
        self.engine, self.rows, self.options = engine, rows, options
        self.random = random.Random(options.seed)
        self.end_id = int(engine.get_tokenizer().eos_token_id)
        self.done: list[Asked] = []
        self.checks: dict[int, float] = {}  # seconds, by the identity of a request's parameters
        self.number = 0

    def watch_checks(self) -> None:
        """Note how long the front end looks at each request; it looks at one at a time."""
        processor = self.engine.input_processor
        check = processor._validate_params

        def timed(params: Any, *arguments: Any, **named: Any) -> Any:
            begin = time.perf_counter()
            try:
                return check(params, *arguments, **named)
            finally:
                self.checks[id(params)] = time.perf_counter() - begin

        processor._validate_params = timed

    async def phase(self, seconds: float, kind: str | None = None) -> list[Asked]:
        """All clients for some seconds; kind: of all requests, or None for a mixture. Returns what was asked."""
        before = len(self.done)
        end = time.perf_counter() + seconds
        await asyncio.gather(*(self.client(end, kind) for _ in range(self.options.clients)))
        return self.done[before:]

    async def client(self, end: float, kind: str | None) -> None:
        """One client: a request after the other."""
        while time.perf_counter() < end:
            drawn = kind or self.random.choices([*KINDS], [*KINDS.values()])[0]
            asked, params, row, schema = self.draw(drawn)
            await self.ask(asked, params, row, schema, cancels=kind is None)
            self.done.append(asked)
            await asyncio.sleep(0)

    def draw(self, kind: str) -> tuple[Asked, Any, Row | None, Any]:
        """A request of a kind: its note, its parameters, the row that it replays, the schema of its text."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        self.number += 1
        common = {"temperature": 1.0, "seed": self.number, "output_kind": RequestOutputKind.DELTA}
        row = self.random.choice(self.rows)
        push = {"push": [*row["ids"], self.end_id]}
        if kind == "bad":
            what, constraint = self.random.choice(BAD)
            params = SamplingParams(max_tokens=8, structured_outputs=StructuredOutputsParams(**constraint), **common)
            return Asked(kind, what, len(str(constraint))), params, None, None
        if kind == "huge":
            what, make = self.random.choice(HUGE)
            schema = make(self.random.randrange(1000))
            text = json.dumps(schema)
            structured = StructuredOutputsParams(json=text)
            params = SamplingParams(max_tokens=16, structured_outputs=structured, **common)
            return Asked(kind, what, len(text)), params, None, schema
        if kind == "plain":
            params = SamplingParams(max_tokens=len(row["ids"]) + SLACK, extra_args=push, **common)
            return Asked(kind, row["file"]), params, None, None
        text = json.dumps(row["schema"])
        free = {"max_tokens": FREE_TOKENS}
        replayed = {"max_tokens": len(row["ids"]) + SLACK, "extra_args": push}
        chosen = free if kind == "free" else replayed
        params = SamplingParams(structured_outputs=StructuredOutputsParams(json=text), **chosen, **common)
        return Asked(kind, row["file"], len(text)), params, row, row["schema"]

    async def ask(self, asked: Asked, params: Any, row: Row | None, schema: Any, cancels: bool) -> None:
        """Ask, read the answer as it comes, and judge it."""
        stop_after = self.random.randrange(1, 30) if cancels and self.random.random() < CANCELLED else None
        begin = last = time.perf_counter()
        pieces: list[str] = []
        reason = None
        stream = self.engine.generate("JSON: ", params, request_id=f"{asked.kind}-{self.number}-{id(asked)}")
        try:
            while True:
                output = await asyncio.wait_for(anext(stream, None), self.options.patience)
                if not asked.first:
                    asked.first = time.perf_counter() - begin
                if output is None:
                    break
                [part] = output.outputs
                now = time.perf_counter()
                if asked.tokens:
                    asked.gaps.append(now - last)
                last = now
                asked.tokens += len(part.token_ids)
                pieces.append(part.text)
                reason = part.finish_reason or reason
                if stop_after is not None and asked.tokens >= stop_after:
                    await stream.aclose()
                    reason = "cancelled"
                    break
        except asyncio.TimeoutError:
            reason = "hang"
        except Exception as error:
            reason = f"refused: {str(error).splitlines()[0][:160]}"
        asked.check = self.checks.pop(id(params), 0.0)
        asked.whole = time.perf_counter() - begin
        asked.outcome = reason or "nothing"
        asked.wrong = self.judge(asked, "".join(pieces), row, schema)

    def judge(self, asked: Asked, text: str, row: Row | None, schema: Any) -> str:
        """The fault of an answer, or ""."""
        refused = asked.outcome.startswith("refused")
        if asked.kind == "bad":
            return "" if refused else f"a bad request was not refused: {asked.outcome}"
        if asked.outcome in ("hang", "nothing", "error", "abort"):
            return asked.outcome
        if refused:
            located = "LimitError" in asked.outcome
            return "" if asked.kind == "huge" and located else asked.outcome
        if schema is None or asked.outcome == "cancelled":
            return ""
        if asked.outcome == "stop":
            found = verdict({"schema": schema, "text": row["text"] if row else ""}, text, "stop")
            return found if found.startswith("invalid") else ""
        return "" if self.begins_a_member(schema, text) else f"no beginning of a member: {text[:80]!r}"

    def begins_a_member(self, schema: Any, text: str) -> bool:
        """True if a text that was cut may be completed; a character may be cut, too."""
        import constrain

        if not hasattr(self, "bytes"):
            self.bytes = constrain.Vocabulary.of_bytes()
        if len(json.dumps(schema)) > 20_000:  # the clients share a process with the front end
            return True
        matcher = constrain.compile(constrain.json_schema(json.dumps(schema)), self.bytes).matcher()
        return matcher.advance_bytes(text.rstrip("\ufffd").encode())


# --- the run ----------------------------------------------------------------------------------------------------------


async def watch_memory(samples: list[Row], begin: float) -> None:
    """Note the resident memory of this process and its descendants, in MB."""
    import psutil

    own = psutil.Process()
    while True:
        sizes = {}
        for process in (own, *own.children(recursive=True)):
            with suppress(psutil.Error):
                sizes[f"{process.name()} {process.pid}"] = round(process.memory_info().rss / 1e6)
        samples.append({"s": round(time.perf_counter() - begin, 1), **sizes})
        await asyncio.sleep(SAMPLE)


async def run(options: argparse.Namespace, model: Path) -> tuple[str, Row]:
    """Start the engine, run all phases, report."""
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    engine = AsyncLLM.from_engine_args(
        AsyncEngineArgs(
            model=str(model),
            load_format="dummy",
            dtype="float32",
            enforce_eager=True,
            max_model_len=512,
            max_num_seqs=64,
            max_num_batched_tokens=8192,
            enable_prefix_caching=False,
            seed=0,
            disable_log_stats=True,
            logits_processors=["serving_push:Pushing"],
            additional_config={"constrain": {}},
        )
    )
    try:
        tokenizer = engine.get_tokenizer()
        soak = Soak(engine, requests(options.data, tokenizer, options.seed, options.requests), options)
        soak.watch_checks()
        begin = time.perf_counter()
        samples: list[Row] = []
        memory = asyncio.create_task(watch_memory(samples, begin))
        await soak.phase(options.warm, "replayed")  # everything is met once
        soaked_from = time.perf_counter() - begin
        asked = await soak.phase(options.minutes * 60)
        soaked_to = time.perf_counter() - begin
        await asyncio.sleep(SAMPLE)
        memory.cancel()
    finally:
        engine.shutdown()
    within = [sample for sample in samples if soaked_from <= sample["s"] <= soaked_to + SAMPLE]
    return report(asked, within), {
        "memory": within,
        "asked": [{**asdict(each), "gaps": len(each.gaps)} for each in asked],
    }


def report(asked: list[Asked], memory: list[Row]) -> str:
    """The tables."""
    outcomes = ("stop", "length", "cancelled", "refused", "hang")
    rows = []
    for kind in KINDS:
        of = [each for each in asked if each.kind == kind]
        counts = Counter(each.outcome.partition(":")[0] for each in of)
        longest = [f"{1e3 * max((each.check for each in of), default=0.0):.0f}"]
        longest.append(f"{max((each.whole for each in of), default=0.0):.1f}")
        cells = [len(of), *(counts[name] for name in outcomes), sum(bool(each.wrong) for each in of)]
        rows.append([kind, *map(str, cells), *longest])
    parts = [table(["kind", "requests", *outcomes, "wrong", "longest check ms", "longest s"], rows)]
    parts += [f"* {each.kind}, {each.what}: {each.wrong}" for each in asked if each.wrong][:20]
    parts.append("Slowest requests:")
    parts += [
        f"* {each.kind}, {each.what} ({each.size:,} characters): {each.whole:.2f} s; checked in {each.check:.2f} s, "
        f"first token after {each.first:.2f} s, longest gap {max(each.gaps, default=0.0):.2f} s; {each.outcome[:60]}"
        for each in sorted(asked, key=lambda each: -each.whole)[:8]
    ]
    rows = []
    for name in memory[0].keys() - {"s"} if memory else ():
        sizes = [sample[name] for sample in memory if name in sample]
        rows.append([name, *(str(sizes[(len(sizes) - 1) * part // 4]) for part in range(5)), str(max(sizes))])
    parts.append("Resident memory in MB:\n")
    parts.append(table(["process", "begin", "quarter", "half", "three quarters", "end", "most"], rows))
    return "\n".join(parts)


def main(arguments: list[str] | None = None) -> int:
    """Run the soak, print the tables, keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0, help="of the soak (default: 20)")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--patience", type=float, default=60.0, help="seconds without a token: a hang (default: 60)")
    parser.add_argument("--warm", type=float, default=15.0, help="seconds before it, of replayed schemas (default: 15)")
    parser.add_argument("--requests", type=int, default=300, help="MaskBench files that are drawn from (default: 300)")
    parser.add_argument("--vocab", default="llama3", choices=("llama3", "reference"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, ../shared/data)")
    parser.add_argument("--out", type=Path, help="folder for the record")
    options = parser.parse_args(arguments)
    options.data = data_folder(options.data)
    os.environ |= {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    os.environ |= {"VLLM_LOGGING_LEVEL": "ERROR", "TOKENIZERS_PARALLELISM": "false"}
    here = str(Path(__file__).parent)
    os.environ["PYTHONPATH"] = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])  # for `Pushing`
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        write_model(model, options.vocab, options.data)
        shown, record = asyncio.run(run(options, model))
    print(shown)
    if options.out:
        keep(options.out, shown, {"memory": record["memory"]})
    return int(any(each["wrong"] for each in record["asked"]))


if __name__ == "__main__":
    sys.exit(main())
