"""An engine of vLLM that starts again: the first token of a request with many tools, with an image and without.

Question: how long does the first request with 10, 100 or 500 tools wait for its first token in a new process of vLLM,
if the process before has kept what it served (`keep_served`), and if not?

    python benchmarks/restart_vllm.py --model build/real/smollm2 --out benchmarks/record/<date>-restart-vllm

It runs in an environment with vLLM (`make serve-test` makes .venv-vllm). A round is three processes, in turns: one that
has no images, one that has an empty folder of them and serves two requests of each constraint, and one that starts with
what that one wrote. Each has the engine inside; tools and texts are those of `restart.py`, with two calls each; a
processor of logits (`serving_push.py`) pushes the model towards them. Each process first answers requests without a
constraint: what the same prompt waits for anyway. Where the engine only waits for a constraint, a millisecond is slept,
as vLLM's own loop does in a server. Texts are compared, token by token: those with images must be those without.

The front end reads a constraint, too; here it is in the same process, and what it has read is hidden from the engine
(`benchmarks/serving.py` does so). Times of a busy machine's clock have its noise, so the least of all rounds is shown;
CPU time is of the whole process, with the thread that compiles beside.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path
from typing import Any

from masks import code
from masks.records import machine, write_page
from masks.summary import table
from masks.usage import refuse
from restart import COUNTS, texts_of

NO_IMAGES, EMPTY, FROM_DISK = WAYS = ("no images", "an empty folder", "from disk")
CALLS = 2  # of a text
END = "</tool_call>"
Summary = dict[str, Any]


def short(text: str) -> str:
    """A text up to its first calls."""
    return END.join(text.split(END)[:CALLS]) + END


def ask(llm: Any, name: str, ids: list[int], tag: str | None) -> Summary:
    """The figures of one request, whose first token is waited for: ms of the clock and of CPU time, and its tokens."""
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    params = SamplingParams(
        max_tokens=len(ids) + 1, temperature=0.0, extra_args={"push": ids},
        structured_outputs=None if tag is None else StructuredOutputsParams(structural_tag=tag),
    )  # fmt: skip
    engine, first, tokens = llm.llm_engine, None, list[int]()
    begin = time.perf_counter(), time.process_time()
    engine.add_request(name, "Some tools are at hand. ", params)
    while engine.has_unfinished_requests():
        outputs = engine.step()
        if outputs and first is None:
            first = time.perf_counter() - begin[0], time.process_time() - begin[1]
        elif not outputs:
            time.sleep(0.001)
        tokens = [*outputs[-1].outputs[0].token_ids] if outputs else tokens
    assert first is not None
    return {"first": first[0] * 1000, "cpu": first[1] * 1000, "tokens": tokens}


def work(options: argparse.Namespace) -> None:
    """One process: its figures, as JSON in the file `out`."""
    from vllm import LLM

    import constrain.engines.requests.compiler as engine_side
    from constrain.engines.requests.image import ImageCursor
    from constrain.engines.requests.images import Resumed
    from constrain.engines.vllm.backend import VLLMBackend
    from serving_push import Pushing

    engine_side.constraint_of = engine_side.constraint_of.__wrapped__  # type: ignore[assignment]
    grammars: list[Any] = []
    compile_grammar = VLLMBackend.compile_grammar

    def noted(*arguments: Any, **named: Any) -> Any:
        grammars.append(compile_grammar(*arguments, **named))
        return grammars[-1]

    VLLMBackend.compile_grammar = noted  # type: ignore[method-assign]
    asked = {"images": 0} if options.way == NO_IMAGES else {"keep_served": True}
    llm = LLM(
        str(options.model), dtype="float32", enforce_eager=True, max_model_len=1024, enable_prefix_caching=False,
        logits_processors=[Pushing], async_scheduling=False, additional_config={"constrain": asked},
    )  # fmt: skip
    end = llm.get_tokenizer().eos_token_id
    bare = [ask(llm, f"bare {number}", [end], None) for number in range(4)][1:]  # the first one loads what it needs
    found: Summary = {"bare": min(each["first"] for each in bare), "tools": {}}
    for count in COUNTS:
        tag, texts = texts_of(count)
        served, other = ([*llm.get_tokenizer().encode(short(text), add_special_tokens=False), end] for text in texts)
        ways = []
        for number, ids in enumerate((served, other, *[served] * (options.way == EMPTY))):
            ways.append(ask(llm, f"{count} {number}", ids, tag))
            resumed = isinstance(grammars[-1].compiled, Resumed)
            ways[-1] |= {"image": resumed, "to the end": isinstance(grammars[-1].here, ImageCursor)}
        found["tools"][count] = ways
    backend = llm.llm_engine.engine_core.engine_core.scheduler.structured_output_manager.backend
    backend._beside.shutdown()  # what is written is written
    options.out.write_text(json.dumps(found))


def measured(options: argparse.Namespace) -> Summary:
    """The figures of all rounds."""
    found: Summary = {"run": machine(), "rounds": []}
    for _ in range(options.rounds):
        one: Summary = {}
        with tempfile.TemporaryDirectory() as cache:
            environment = {
                **os.environ, "CONSTRAIN_CACHE": cache, "PYTHONPATH": str(code.ROOT), "VLLM_LOGGING_LEVEL": "ERROR",
                "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1",
                "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false",
            }  # fmt: skip
            for way in WAYS:
                file = Path(cache, "figures.json")
                command = [sys.executable, __file__, "--model", str(options.model), "--way", way, "--out", str(file)]
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
                if done.returncode:
                    refuse(f"restart_vllm: {way!r} ended:\n{(done.stdout + done.stderr)[-4000:]}")
                one[way] = json.loads(file.read_text())
        for count in map(str, COUNTS):
            texts = [[each["tokens"] for each in one[way]["tools"][count][:2]] for way in WAYS]
            if texts[0] != texts[1] or texts[0] != texts[2]:
                refuse(f"restart_vllm: texts of {count} tools differ")
        for way in WAYS:
            for each in chain.from_iterable(one[way]["tools"].values()):
                each["tokens"] = len(each["tokens"])
        found["rounds"].append(one)
    return found


def tables(found: Summary) -> str:
    """The figures in Markdown: the least of the rounds."""
    rows = []
    for count in map(str, COUNTS):
        for way in WAYS:
            served, other = ([each[way]["tools"][count][number] for each in found["rounds"]] for number in (0, 1))
            cells = [min(each[name] for each in of) for of in (served, other) for name in ("first", "cpu")]
            known = ["yes" if all(each["to the end"] for each in of) else "no" for of in (served, other)]
            rows.append([f"{count} tools, {way}", *(f"{cell:,.1f}" for cell in cells), ", ".join(known)])
    head = ["", "served text: first token, ms", "CPU, ms", "then another text: first token, ms", "CPU, ms",
            "image to the end"]  # fmt: skip
    bare = min(each[way]["bare"] for each in found["rounds"] for way in WAYS)
    told = f"Least of {len(found['rounds'])} rounds. Without a constraint the first token comes after {bare:.1f} ms."
    return f"{table(head, rows)}\n\n{told}"


def main() -> None:
    """Read the options, and measure."""
    parser = argparse.ArgumentParser(
        prog="restart_vllm", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="folder of a model")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path, help="folder of the record")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        work(options)
        return
    found = measured(options)
    print(tables(found))
    write_page(options.out, found, "vLLM, started again", "python benchmarks/restart_vllm.py", tables(found))


if __name__ == "__main__":
    main()
