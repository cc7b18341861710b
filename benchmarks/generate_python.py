"""Python functions that a real model writes under the grammar: every finished one has to parse.

Question: does `constrain.generate` with the reference model at temperature 1, under the `function` rule of
`grammars/python`, give functions that `ast.parse` reads?

    python benchmarks/generate_python.py --functions 500 --out benchmarks/record/generate_python

Answers are checked: one finished output that does not parse, or is not one function, makes the run fail, and so does a
dead end. The model seldom ends a text by itself; so of an output that is cut at --tokens, the longest beginning of
which the matcher says that it is complete is judged too. Counted: outputs by how they ended, functions judged. Bias:
the reference model is tiny (docs/reference-model.md) and knows little Python, so it wanders into corners of the
grammar where a good model does not go; that is meant. What this interpreter refuses as newer than itself is counted
apart (NEWER, `is_newer`).
"""

from __future__ import annotations

import argparse
import ast
import collections
import json
import re
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import constrain
from masks.records import machine, open_folder

PROMPTS = [
    "import os\n\n\n",
    "class Stack:\n    pass\n\n\n# The sum of a list\n",
    '"""Helpers."""\n\nimport re\n\n',
    "# Reads a file, line by line\n",
    "def add(a, b):\n    return a + b\n\n\n",
    "# asynchronous\nimport asyncio\n\n",
]
NEWER = (  # syntax of the grammar that an interpreter before 3.12 or 3.14 does not know, by what it says
    "f-string",
    "multiple exception types must be parenthesized",
    "expected '('",  # type parameters of a function
)


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--functions", type=int, default=500, help="functions to make (default: 500)")
    parser.add_argument("--tokens", type=int, default=120, help="limit of tokens of one (default: 120)")
    parser.add_argument("--batch", type=int, default=16, help="outputs of one call (default: 16)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder for a record of each output")
    return parser.parse_args()


def judge(text: str) -> str | None:
    """None if the text is one function, else what is wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        return str(error.msg)
    one = len(tree.body) == 1 and isinstance(tree.body[0], ast.FunctionDef | ast.AsyncFunctionDef)
    return None if one else "not one function"


def is_newer(fault: str, function: str | None) -> bool:
    """True if a fault is syntax that this interpreter does not know yet; strings with the prefix t are such."""
    return fault.startswith(NEWER) or re.search(r"(?i)\b(t|tr|rt)['\"]", function or "") is not None


def complete(compiled: constrain.CompiledConstraint, output: Any) -> str | None:
    """The longest beginning of an output that is complete, if there is one."""
    matcher, found = compiled.matcher(), None
    for token in output.tokens:
        if not matcher.advance(token):
            break
        if matcher.is_accepting():
            found = matcher.text.decode()
    return found


def main() -> int:
    """Run; 1 if a finished output is wrong."""
    options = parse()
    model = constrain.reference.load()
    constraint = constrain.collection.load("python", start="function")
    compiled = constrain.compile(constraint, constrain.Vocabulary.from_huggingface(model.tokenizer))
    counts: collections.Counter[str] = collections.Counter()
    records, begin, call = [], time.thread_time(), 0
    while counts["functions"] < options.functions:
        prompt = PROMPTS[call % len(PROMPTS)]
        seed = options.seed + call
        outputs = constrain.generate(
            model, prompt, constraint=constraint, n=options.batch, max_tokens=options.tokens, temperature=1.0, seed=seed
        )
        call += 1
        for output in outputs:
            counts[output.finish_reason] += 1
            if output.finish_reason == "dead_end":
                print(f"DEAD END: {output.text!r}", flush=True)
            function = output.text if output.finish_reason == "stop" else complete(compiled, output)
            counts["functions"] += function is not None
            fault = judge(function) if function is not None else None
            newer = fault is not None and is_newer(fault, function) and sys.version_info < (3, 14)
            counts["newer syntax"] += newer
            counts["wrong"] += fault is not None and not newer
            if fault:
                print(f"{'newer' if newer else 'WRONG'}: {fault}\n{function}\n", flush=True)
            records.append({"seed": seed, "finish": output.finish_reason, "fault": fault, "text": output.text})
        print(dict(counts), f"{time.thread_time() - begin:.0f} s", flush=True)
    if options.out:
        command = f"python benchmarks/generate_python.py {' '.join(sys.argv[1:])}"
        open_folder(options.out, {"command": command, **machine()}, resume=False)
        lines = (json.dumps(record, ensure_ascii=False) for record in records)
        (options.out / "outputs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (options.out / "summary.json").write_text(json.dumps(counts, indent=1) + "\n")
    return 1 if counts["wrong"] or counts["dead_end"] else 0


if __name__ == "__main__":
    sys.exit(main())
