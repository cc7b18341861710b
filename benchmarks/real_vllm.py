"""Function calls in vLLM by a real model, with each backend of structured outputs: what is right, and what it takes.

    python benchmarks/real_vllm.py --model build/real/smollm2 --functions BFCL --out DIR

It runs in an environment with vLLM (`make serve-test` makes .venv-vllm). The questions are those of BFCL's
`live_multiple` with different functions; the answer is the arguments of the accepted function, 96 tokens at most, at
temperature 0, in batches of 16. BFCL is the folder `bfcl_eval/data` of the wheel `bfcl-eval`. No schema there says
anything of undeclared properties. Each arm has a process of its own: `plain` decodes without a constraint, `constrain`
writes canonical tokens and `all` any; with `drafts` in its name an arm has constrain's drafter.

Columns: outputs that ended; that jsonschema takes, read without undeclared properties; that are right
(`tasks.calls.fits`); tokens of all; rows that the model read for a text (tokens that no draft gave); steps of the
engine for all; drafted and accepted tokens; CPU seconds of the worker, and of the engine, which waits in a loop.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

import constrain
from tasks.calls import fits, json_types

ARMS = ("plain", "all", "constrain", "all-drafts", "constrain-drafts", "xgrammar", "guidance")
COUNTED = ("ended", "valid", "right", "tokens")
TOKENS = 96
CHECKED = ("draft", "accepted")
DRAFTER = "constrain.models.serve.vllm.drafter.ConstraintDrafter"


class Call(NamedTuple):
    """A question, the schema of the arguments, the accepted values of each, a system message, parameters as in BFCL."""

    question: str
    schema: dict[str, Any]
    accepted: dict[str, list[Any]]
    told: str
    parameters: dict[str, Any]


def calls(folder: Path) -> Iterator[Call]:
    """Questions with a function that none before has."""
    asked, answers = (
        [json.loads(line) for line in (folder / place / "BFCL_v4_live_multiple.json").read_text("utf-8").splitlines()]
        for place in (".", "possible_answer")
    )
    seen = set()
    for row, answer in zip(asked, answers, strict=True):
        ((name, gold),) = answer["ground_truth"][0].items()
        (function,) = [each for each in row["function"] if each["name"] == name]
        schema = json_types(function["parameters"])
        if name not in seen and schema.get("properties"):
            seen.add(name)
            shown = json.dumps({**function, "parameters": schema}, ensure_ascii=False)
            told = f"Answer with the arguments of the function as JSON. {shown}"
            yield Call(row["question"][0][-1]["content"], schema, gold, told, function["parameters"]["properties"])


def engine_settings(arm: str) -> dict[str, Any]:
    """The arguments of vLLM's `LLM` for an arm."""
    name, _, drafts = arm.partition("-")
    if name == "plain":
        return {}
    if name in ("xgrammar", "guidance"):
        return {"structured_outputs_config": {"backend": name}}
    given: dict[str, Any] = {"additional_config": {"constrain": {} if name == "constrain" else {"canonical": False}}}
    if drafts:
        given["speculative_config"] = {"method": "custom_class", "model": DRAFTER, "num_speculative_tokens": 8}
    return given


def serve(arm: str, options: argparse.Namespace) -> None:
    """Answer the questions in one arm, and write a record for each, and one of all."""
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    llm = LLM(
        str(options.model), dtype="float32", enforce_eager=True, max_model_len=4096, max_num_seqs=16, seed=0,
        disable_log_stats=False, gpu_memory_utilization=0.3, **engine_settings(arm),
    )  # fmt: skip  # the share of memory: others may use the machine
    asked = list(islice(calls(options.functions), options.count))
    messages = [[{"role": "system", "content": c.told}, {"role": "user", "content": c.question}] for c in asked]
    constraints = [None if arm == "plain" else StructuredOutputsParams(json=c.schema) for c in asked]
    settings = [SamplingParams(temperature=0, max_tokens=TOKENS, structured_outputs=each) for each in constraints]
    before = cpu_seconds()
    outputs = [output.outputs[0] for output in llm.chat(messages, settings)]
    after = cpu_seconds()
    metrics = {metric.name: metric for metric in llm.get_metrics()}
    drafted, taken = (getattr(metrics.get(f"vllm:spec_decode_num_{each}_tokens"), "value", 0) for each in CHECKED)
    whole = {
        "steps": metrics["vllm:iteration_tokens_total"].count,
        "drafted": drafted,
        "accepted": taken,
        **{name: round(after[name] - before.get(name, 0.0), 2) for name in sorted(after)},
    }
    rows = [{"text": one.text, "end": one.finish_reason, "ids": list(one.token_ids)} for one in outputs]
    options.answers.write_text("".join(json.dumps(each) + "\n" for each in [*rows, whole]), encoding="utf-8")


def cpu_seconds() -> dict[str, float]:
    """CPU seconds of this process and of those below it, by their names."""
    import psutil

    spent = {"front": sum(psutil.Process().cpu_times()[:2])}
    for child in psutil.Process().children(recursive=True):
        name = " ".join(child.cmdline()).lower()
        kind = "worker" if "worker" in name else "engine" if "engine" in name else ""
        if kind:
            spent[kind] = spent.get(kind, 0.0) + sum(child.cpu_times()[:2])
    return spent


def judged(call: Call, answer: dict[str, Any]) -> dict[str, Any]:
    """The record of an answer."""
    declared = constrain.json_schema(call.schema, undeclared="refuse", spelling="any", property_order="any").schema
    ended = answer["end"] == "stop"
    try:
        value = json.loads(answer["text"]) if ended else None
    except json.JSONDecodeError:  # without a constraint
        value = None
    valid = isinstance(value, dict) and Draft202012Validator(declared).is_valid(value)
    right = valid and value.keys() <= call.accepted.keys()
    right = right and all(
        fits(value[key], call.parameters[key], each) if key in value else "" in each
        for key, each in call.accepted.items()
    )
    return {**answer, "ended": ended, "valid": valid, "right": right, "tokens": len(answer["ids"])}


def main() -> None:
    """Ask each backend in turn, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="a folder of a model with a chat template")
    parser.add_argument("--functions", type=Path, required=True, help="the folder bfcl_eval/data")
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=ARMS)
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--out", type=Path, required=True, help="where answers and the table go")
    parser.add_argument("--answers", type=Path, help=argparse.SUPPRESS)  # of the process of one arm
    options = parser.parse_args()
    if options.answers:
        serve(options.arms[0], options)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    asked = list(islice(calls(options.functions), options.count))
    head = ["arm", "n", *COUNTED, "rows a text", "steps", "drafted", "accepted", "worker s", "engine s"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for arm in options.arms:
        answers = options.out / f"{arm}.jsonl"
        if not answers.exists():
            subprocess.run([sys.executable, *sys.argv, "--arms", arm, "--answers", str(answers)], check=True)
        *given, whole = [json.loads(line) for line in answers.read_text(encoding="utf-8").splitlines()]
        rows = [judged(call, answer) for call, answer in zip(asked, given, strict=True)]
        counts = [sum(row[key] for row in rows) for key in COUNTED]
        read = round((counts[-1] - whole["accepted"]) / len(rows), 1)
        cells = [len(rows), *counts, read, whole["steps"], whole["drafted"], whole["accepted"]]
        cells += [whole.get("worker", ""), whole.get("engine", "")]
        lines.append(f"| {arm} | {' | '.join(map(str, cells))} |")
    print("\n".join(lines))
    (options.out / "summary.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
