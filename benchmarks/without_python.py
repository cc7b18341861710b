"""The share of masks and steps that kernels make alone, without Python.

Question: could a program in C fill masks, advance and roll back over the compiled kernels, and how often would it need
what is Python today?

    python benchmarks/without_python.py --data DIR --limit 300

The first valid text of each schema of MaskBench is read token by token (Llama-3 vocabulary), a mask and a step each,
twice: by a fresh automaton, and again. Counted are masks and steps during which nonterminals were expanded (Python
writes their rules into the arena), a guard was asked (keys and items that must differ, and what else only values tell),
an array grew, or none of these. Reading the schema is Python in every case.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from constrain.languages.automata.memory import ArenaMemory
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.guarded import GuardedSteps
from constrain.masks.engine.masks import MaskedSteps
from masks.vocabularies import load

SEEN = Counter[str]()


def counted(owner: Any, name: str, what: str) -> None:
    """Count the calls of a method."""
    original = getattr(owner, name)

    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        SEEN[what] += 1
        return original(self, *arguments, **named)

    setattr(owner, name, method)


def walk(compiled: Any, tokens: list[int], totals: Counter[str]) -> None:
    """Read one text, and note what each mask and each step took."""
    matcher, row = compiled.matcher(), np.zeros(compiled.vocabulary.words, np.uint32)
    for token in tokens:
        for kind in ("mask", "step"):
            SEEN.clear()
            if kind == "mask":
                matcher.fill_mask(row)
            elif not matcher.advance(token):
                return
            totals[f"{kind}s"] += 1
            for what in SEEN:
                totals[f"{kind}: {what}"] += 1
            totals[f"{kind}: kernels alone"] += not SEEN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--undeclared", default="allow", help="as in json_schema; engines: avoid")
    asked = parser.parse_args()
    counted(TokenAutomaton, "expand", "rules expanded")
    counted(MaskedSteps, "narrow", "guard asked")
    counted(GuardedSteps, "is_clear", "guard asked")
    counted(ArenaMemory, "_grow", "arrays grown")
    vocabulary = load("llama3", asked.data)
    shared = constrain.Vocabulary(vocabulary.tokens, eos_ids=[vocabulary.eos_id])
    files = sorted((asked.data / "maskbench-dev").glob("*.json"))
    totals = {"first": Counter[str](), "again": Counter[str]()}
    for path in files[:: max(1, len(files) // asked.limit)]:
        case = json.loads(path.read_text("utf-8"))
        text = next((json.dumps(test["data"]) for test in case["tests"] if test["valid"]), None)
        if text is None:
            continue
        try:
            automaton = constrain.TokenAutomaton(shared)
            compiled = constrain.compile(
                constrain.json_schema(case["schema"], undeclared=asked.undeclared), shared, automaton=automaton
            )
        except constrain.ConstrainError:
            continue
        tokens = vocabulary.encode(text)
        for which in totals.values():
            walk(compiled, tokens, which)
    for name, seen in totals.items():
        print(name, json.dumps(dict(sorted(seen.items()))))


if __name__ == "__main__":
    main()
