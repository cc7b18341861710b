"""Function calls in vLLM by a real model, with each backend of structured outputs: what ends, is valid, and is right.

    python benchmarks/real_vllm.py --model build/real/smollm2 --functions BFCL --out DIR

It runs in an environment with vLLM (`make serve-test` makes .venv-vllm). The questions are those of BFCL's
`live_multiple` with different functions; the answer is the arguments of the accepted function, 96 tokens at most, at
temperature 0, in batches of 16. BFCL is the folder `bfcl_eval/data` of the wheel `bfcl-eval`. No schema there says
anything of undeclared properties. Each backend has a process of its own.

Columns: refused requests; outputs that ended; that jsonschema takes, read without undeclared properties; that are right
(`real.accepted`); tokens of all.
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
from real import accepted, json_types

BACKENDS = ("constrain", "xgrammar", "guidance")
TOKENS = 96


class Call(NamedTuple):
    """A question, the schema of the arguments, the accepted values of each argument, and a system message."""

    question: str
    schema: dict[str, Any]
    accepted: dict[str, list[Any]]
    told: str


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
            yield Call(row["question"][0][-1]["content"], schema, gold, told)


def serve(backend: str, options: argparse.Namespace) -> None:
    """Answer the questions with one backend, and print a record for each."""
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    way = {"additional_config": {"constrain": {}}} if backend == "constrain" else {}
    if not way:
        way = {"structured_outputs_config": {"backend": backend}}
    llm = LLM(
        str(options.model), dtype="float32", enforce_eager=True, max_model_len=4096, max_num_seqs=16, seed=0, **way
    )
    asked = list(islice(calls(options.functions), options.count))
    messages = [[{"role": "system", "content": c.told}, {"role": "user", "content": c.question}] for c in asked]
    settings = [
        SamplingParams(temperature=0, max_tokens=TOKENS, structured_outputs=StructuredOutputsParams(json=c.schema))
        for c in asked
    ]
    with options.answers.open("w", encoding="utf-8") as file:
        for output in llm.chat(messages, settings):
            (one,) = output.outputs
            file.write(json.dumps({"text": one.text, "end": one.finish_reason, "tokens": len(one.token_ids)}) + "\n")


def judged(call: Call, answer: dict[str, Any]) -> dict[str, Any]:
    """The record of an answer."""
    declared = constrain.json_schema(call.schema, undeclared="refuse", spelling="any", property_order="any").schema
    ended = answer["end"] == "stop"
    value = json.loads(answer["text"]) if ended else None
    valid = ended and Draft202012Validator(declared).is_valid(value)
    right = valid and all(accepted(value.get(key, ""), each) for key, each in call.accepted.items())
    return {**answer, "ended": ended, "valid": valid, "right": right and value.keys() <= call.accepted.keys()}


def main() -> None:
    """Ask each backend in turn, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="a folder of a model with a chat template")
    parser.add_argument("--functions", type=Path, required=True, help="the folder bfcl_eval/data")
    parser.add_argument("--backends", nargs="+", default=list(BACKENDS), choices=BACKENDS)
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--out", type=Path, required=True, help="where answers and the table go")
    parser.add_argument("--answers", type=Path, help=argparse.SUPPRESS)  # of the process of one backend
    options = parser.parse_args()
    if options.answers:
        serve(options.backends[0], options)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    asked = list(islice(calls(options.functions), options.count))
    lines = ["| backend | n | ended | valid | right | tokens |", "|---|---|---|---|---|---|"]
    for backend in options.backends:
        answers = options.out / f"{backend}.jsonl"
        subprocess.run([sys.executable, *sys.argv, "--backends", backend, "--answers", str(answers)], check=True)
        given = [json.loads(line) for line in answers.read_text(encoding="utf-8").splitlines()]
        rows = [judged(call, answer) for call, answer in zip(asked, given, strict=True)]
        counts = [sum(row[key] for row in rows) for key in ("ended", "valid", "right", "tokens")]
        lines.append(f"| {backend} | {len(rows)} | {' | '.join(map(str, counts))} |")
    print("\n".join(lines))
    (options.out / "summary.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
