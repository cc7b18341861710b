"""The cost of weights and of other methods on vLLM: tokens a second beside plain structured outputs of the same engine.

Question: an engine answers requests under a constraint. How much slower is it when each output comes with its weight,
and when the method goes token by token?

    python benchmarks/serving_weights.py --out benchmarks/record/<date>-vllm-faithful
    python benchmarks/serving_weights.py --width 128256 --outputs 16 --rounds 2 --out ...
    python benchmarks/serving_weights.py --model build/real/smollm2 --outputs 16 --rounds 2 --out ...

It runs in an environment with vLLM (`make serve-test` makes .venv-vllm). One engine, the reference model, or with
`--model` that of a folder, or with `--width` a random model of one layer with so many logits. Each round runs all ways,
in turned order, with seeds of its own; the first round is for loading, and not counted.

| way | |
|---|---|
| plain | requests to vLLM itself, `structured_outputs`, as many as `--outputs`: the yardstick |
| recorded, rescored | `constrain.generate`, `lcd`, with weights by the one and by the other |
| sir | with 4 samples an output; a fourth of the outputs, so that as many sequences are written |
| steps | `lcd` token by token |
| smc | with 4 particles an output, a fourth of the outputs |
| smc in steps | the same, token by token |
| transformers, smc on transformers | the same model in this process, without vLLM (of the reference model) |

Tokens are those of all sequences, particles and samples too. CPU time is that of this process and of the engine's.
Checked: every text that ended is an instance of the schema, by jsonschema; recorded and rescored weights of equal seeds
agree within 0.002 (and 0.0002 a token). Bias: outputs of a method that resamples share their beginnings, which is one
request then; CPUs make a forward of a small model dear where a GPU does not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from masks.summary import table

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z][a-z]{2,8}$"},
        "age": {"type": "integer", "minimum": 10, "maximum": 99},
        "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "minItems": 1, "maxItems": 3},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}
PROMPT = "A person, as JSON: "
MOST = 64  # tokens of an output
PARTICLES = 4
Row = dict[str, Any]


def engine(path: Path, width: int | None, folder: Path) -> Any:
    """An engine that gives out all log-probabilities, of the model of a folder, or of one with so many logits."""
    from vllm import LLM

    load = "auto"
    if width is not None:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
        small = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
        config.update({**small, "head_dim": 32, "num_key_value_heads": 1, "vocab_size": width})
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
            (folder / name).write_bytes((path / name).read_bytes())
        path, load = folder, "dummy"
    return LLM(
        str(path), load_format=load, dtype="float32", enforce_eager=True, max_model_len=256, max_num_seqs=64,
        max_num_batched_tokens=8192, block_size=32, max_logprobs=-1, additional_config={"constrain": {}}, seed=0,
        disable_log_stats=True,
    )  # fmt: skip


def ways(llm: Any, outputs: int, with_transformers: bool) -> dict[str, Callable[[int], list[Any]]]:
    """Name → what writes outputs with a seed. Each output has `tokens`, `text`, `finish_reason`."""
    import constrain
    from constrain.engines.vllm.model import VLLMModel
    from constrain.sampling import SIR, SMC

    rescored, steps = VLLMModel(llm, rescore=True), VLLMModel(llm)
    steps.options = None  # as if it had another backend
    less = max(1, outputs // PARTICLES)

    def by(model: Any, method: Any, count: int) -> Callable[[int], list[Any]]:
        def run(seed: int) -> list[Any]:
            return list(
                constrain.generate(model, PROMPT, schema=SCHEMA, method=method, n=count, seed=seed, max_tokens=MOST)
            )

        return run

    def plain(seed: int) -> list[Any]:
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        asked = StructuredOutputsParams(json=json.dumps(SCHEMA))
        params = [
            SamplingParams(max_tokens=MOST, seed=seed * 1000 + i, structured_outputs=asked, detokenize=True)
            for i in range(outputs)
        ]
        answers = llm.generate([PROMPT] * outputs, params, use_tqdm=False)
        return [each.outputs[0] for each in answers]

    found = {
        "plain": plain,
        "recorded": by(llm, "lcd", outputs),
        "rescored": by(rescored, "lcd", outputs),
        "sir": by(llm, SIR(samples=PARTICLES), less),
        "steps": by(steps, "lcd", outputs),
        "smc": by(llm, SMC(particles=PARTICLES), less),
        "smc in steps": by(steps, SMC(particles=PARTICLES), less),
    }
    if with_transformers:
        reference = constrain.reference.load()
        found["transformers"] = by(reference, "lcd", outputs)
        found["smc on transformers"] = by(reference, SMC(particles=PARTICLES), less)
    return found


def tokens_of(output: Any) -> int:
    """Tokens of an output and of the population that it was chosen from."""
    own = output.token_ids if hasattr(output, "token_ids") else output.tokens
    return sum(map(tokens_of, output.population)) if getattr(output, "population", None) else len(own)


def checked(name: str, outputs: list[Any]) -> None:
    """Every text that ended is an instance."""
    import jsonschema

    for output in outputs:
        if output.finish_reason == "stop":
            jsonschema.validate(json.loads(output.text), SCHEMA)
    if not any(output.finish_reason == "stop" for output in outputs):
        raise SystemExit(f"{name}: no output ended")


def agree(recorded: list[Any], rescored: list[Any]) -> float:
    """The largest difference of two weights of one output; an error where it is more than rounding."""
    worst = 0.0
    for one, other in zip(recorded, rescored, strict=True):
        if one.tokens == other.tokens:  # a tie of float32 may fall otherwise in another batch
            difference = abs(one.log_weight - other.log_weight)
            worst = max(worst, difference)
            if difference > 0.002 + 0.0002 * len(one.tokens):
                raise SystemExit(f"weights differ by {difference}: {one.text!r}")
    return worst


def cpu_seconds() -> float:
    """CPU time of this process and its children."""
    import psutil

    own = psutil.Process()
    return sum(sum(each.cpu_times()[:2]) for each in [own, *own.children(recursive=True)])


def main() -> int:
    """Measure, check, write."""
    import constrain

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="the folder of a model; else the reference model")
    parser.add_argument("--width", type=int, help="a random model with so many logits")
    parser.add_argument("--outputs", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    name = options.model.name if options.model else f"width-{options.width}" if options.width else "reference"
    llm = engine(options.model or constrain.reference.path(), options.width, Path(tempfile.mkdtemp()))
    table = ways(llm, options.outputs, name == "reference")
    rows: list[Row] = []
    for turn in range(options.rounds + 1):
        order = list(table)
        random.Random(turn).shuffle(order)
        written: dict[str, list[Any]] = {}
        for way in order:
            begin, begin_cpu = time.perf_counter(), cpu_seconds()
            written[way] = table[way](turn)
            wall, cpu = time.perf_counter() - begin, cpu_seconds() - begin_cpu
            checked(way, written[way])
            tokens = sum(map(tokens_of, written[way]))
            rows.append({"round": turn, "way": way, "tokens": tokens, "wall_s": wall, "cpu_s": cpu})
        rows.append({"round": turn, "weights differ by": agree(written["recorded"], written["rescored"])})
    with (options.out / f"{name}.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    text = summary(rows)
    (options.out / f"{name}.md").write_text(f"python {' '.join(sys.argv)}\n\n{text}", encoding="utf-8")
    print(text)
    return 0


def summary(rows: list[Row]) -> str:
    """A table: medians over rounds, the first left out."""
    counted = [row for row in rows if row["round"] > 0 and "way" in row]
    costs, speeds = {}, {}
    for way in dict.fromkeys(row["way"] for row in counted):
        some = [row for row in counted if row["way"] == way]
        speeds[way] = statistics.median(row["tokens"] / row["wall_s"] for row in some)
        costs[way] = statistics.median(row["cpu_s"] / row["tokens"] for row in some) * 1e3
    rows_shown = [
        [way, f"{speeds[way]:.0f}", f"{cost:.2f}", f"{cost / costs['plain']:.2f}"]
        for way, cost in sorted(costs.items(), key=lambda each: each[1])
    ]
    text = table(["way", "tokens/s", "CPU ms a token", "beside plain, by CPU time"], rows_shown)
    worst = max(row["weights differ by"] for row in rows if "weights differ by" in row)
    return f"{text}\n\nLargest difference of two log weights of one output, recorded and rescored: {worst:.1e}\n"


if __name__ == "__main__":
    raise SystemExit(main())
