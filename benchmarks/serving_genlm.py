"""Weighted texts from an engine, beside genlm-control: tokens a second and the error, at equal numbers of particles.

    python benchmarks/serving_genlm.py --out benchmarks/record/<date>-genlm [--cases month,version] [--calls 20]
        [--particles 4,16,64] [--model FOLDER]

Question: a call asks for P weighted particles of a language. How many tokens does a second of processor time give, and
how far is what all calls say together from the model's exact conditional law?

| way | |
|---|---|
| genlm, transformers | genlm-control: AWRS inside SMC, ESS threshold 0.5, its HF backend (faithful_genlm.py) |
| smc, transformers | `constrain.generate` with SMC on the same model object |
| smc, vLLM | the same on an engine, token by token |
| sir, vLLM | whole outputs of the engine, with weights recorded where the mask is applied |

genlm-control's own backend for vLLM takes part where it starts. It runs vLLM's model runner V2, which needs Triton and
so a GPU; where it does not start, the reason is written down instead.

Needs genlm-control and psutil; `--genlm FOLDER` adds a folder of packages behind all others. Ways on vLLM are left out
where it is not installed, or with `--no-engine`.
Ways take turns, and the first call of each is not counted. Tokens are those of all particles, ends included. CPU time
is that of this process and of the engine's. Checked: every text is in the language, by `re`; the law is exact, from
forwards over the trie of all prefixes; `null` is the TV of as many perfect draws. Bias: the reference model is small,
and what surrounds it weighs more than on a large one (`--model`); genlm-control waits for its batches, which CPU time
does not count.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from constrain import reference
from faithful import distances
from faithful_cases import CASES, Case
from masks.summary import table
from serving_weights import cpu_seconds, engine

Atoms = list[tuple[bytes, float]]
Way = Callable[[int], tuple[Atoms, int]]  # seed -> weighted texts, tokens


def main() -> int:
    """Measure, check, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="month,version,colours")
    parser.add_argument("--particles", default="8", help="their numbers, in turn")
    parser.add_argument("--model", default="", help="the folder of a model of transformers; default: the reference")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--no-engine", action="store_true", help="leave out the ways on vLLM")
    parser.add_argument("--genlm", type=Path, help="a folder of packages that has genlm-control")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.genlm is not None:
        sys.path.append(str(options.genlm))
    options.out.mkdir(parents=True, exist_ok=True)
    import torch

    torch.set_num_threads(1)
    has_engine = not options.no_engine and importlib.util.find_spec("vllm") is not None
    llm = engine(reference.path(), None, Path()) if has_engine else None
    cases = [replace(CASES[name], model=options.model) for name in options.cases.split(",")]
    counts = list(map(int, options.particles.split(",")))
    rows = [row for case in cases for count in counts for row in measured(case, llm, count, options.calls)]
    with (options.out / "genlm.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    words = ["FOLDER" if word in (str(options.genlm), options.model) else word for word in sys.argv]
    said = f"python {' '.join(words)}\n\n{shown(rows)}\n"
    if has_engine:
        said += f"\ngenlm-control's backend for vLLM: {their_engine()}\n"
    (options.out / "genlm.md").write_text(said, encoding="utf-8")
    print(said)
    return 0


def ways(case: Case, llm: Any, particles: int) -> dict[str, Way]:
    """The methods that are compared, by name."""
    import constrain
    from constrain.sampling import SIR, SMC
    from faithful_genlm import Genlm

    model = case.model or constrain.reference.load()

    def ours(model: Any, method: Any) -> Way:
        def run(seed: int) -> tuple[Atoms, int]:
            output = constrain.generate(
                model, case.prompt, constraint=case.constraint, method=method, seed=seed, max_tokens=case.max_tokens
            )
            members = output.population
            atoms = [(case.text(one.tokens), one.log_weight) for one in members if one.log_weight > -math.inf]
            return atoms, sum(len(one.tokens) for one in members)

        return run

    theirs = Genlm(case, 0, particles)
    found = {
        "genlm, transformers": lambda seed: theirs()[0],
        "smc, transformers": ours(model, SMC(particles=particles)),
    }
    if llm is None:
        return found
    on_engine = {"smc, vLLM": ours(llm, SMC(particles=particles)), "sir, vLLM": ours(llm, SIR(samples=particles))}
    return {**found, **on_engine}


def measured(case: Case, llm: Any, particles: int, calls: int) -> list[dict[str, Any]]:
    """A row for each way."""
    law, log_z, _ = case.truth
    table = ways(case, llm, particles)
    cpu, wall, tokens = Counter[str](), Counter[str](), Counter[str]()
    said: dict[str, Counter[bytes]] = {name: Counter() for name in table}
    draws: dict[str, int] = dict.fromkeys(table, 0)
    for call in range(-1, calls):
        order = list(table)
        random.Random(call).shuffle(order)
        for name in order:
            begin, begin_cpu = time.perf_counter(), cpu_seconds()
            atoms, written = table[name](call + 1)
            spent, spent_cpu = time.perf_counter() - begin, cpu_seconds() - begin_cpu
            for text, log_weight in atoms:
                if not re.fullmatch(case.pattern or "", text.decode()):
                    raise SystemExit(f"{name}: {text!r} is not in the language {case.pattern!r}")
                if call >= 0:
                    said[name][text] += math.exp(log_weight - log_z)
            if call >= 0:
                cpu[name] += spent_cpu
                wall[name] += spent
                tokens[name] += written
                draws[name] += len(atoms)
    return [
        {
            "case": case.name, "way": name, "particles": particles, "calls": calls,
            "tokens": tokens[name], "cpu_s": cpu[name], "wall_s": wall[name], "texts": draws[name],
            "tv": distances(said[name], law)[0], "null": perfect(law, draws[name]),
            "evidence": sum(said[name].values()) / (particles * calls),
        }
        for name in table
    ]  # fmt: skip


def perfect(law: dict[bytes, float], draws: int, repeats: int = 50) -> float:
    """The mean total variation of so many perfect draws."""
    chance, texts = random.Random(0), list(law)
    found = [Counter(chance.choices(texts, list(law.values()), k=max(1, draws))) for _ in range(repeats)]
    return sum(distances(each, law)[0] for each in found) / repeats


def their_engine() -> str:
    """True if genlm-control's own backend for vLLM starts here, or why not."""
    try:
        from genlm.backend.llm.vllm import AsyncVirtualLM

        AsyncVirtualLM.from_name(str(reference.path()), engine_opts={"max_model_len": 256, "enforce_eager": True})
    except Exception as error:
        return f"does not start here: {' '.join(str(error).split())[:200]}"
    return "starts here, and is not measured"


def shown(rows: list[dict[str, Any]]) -> str:
    """The table."""
    cells = [
        [
            *(str(row[key]) for key in ("case", "particles", "way")),
            *(f"{row['tokens'] / row[key]:.0f}" for key in ("cpu_s", "wall_s")),
            *(f"{row[key]:.3f}" for key in ("tv", "null", "evidence")),
        ]
        for row in rows
    ]
    return table(["language", "particles", "way", "tokens / CPU s", "tokens / s", "TV", "null", "evidence"], cells)


if __name__ == "__main__":
    raise SystemExit(main())
