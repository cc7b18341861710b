"""The cost of attention over a shared prompt for n samples, together and apart (Hydragen).

    python benchmarks/shared_prefix.py [--real]

Question: a step of n samples of one prompt reads the prompt's keys and values n times (`SharedLayer` puts them together
for each attention). Hydragen reads them once for all samples, as one matrix product, and joins both parts by their
log-sum-exp (`constrain/papers/layers/hydragen.py`). Columns: a step of n samples by the length of the prompt, both
ways, and the greatest difference of logits; then whole outputs of SMC. The embedded model; SmolLM2 with --real.
Clock: CPU time of this thread; medians of 20 steps.
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import Any

import torch

import constrain
from constrain.models.hf import HFModel
from constrain.papers import Hydragen
from papers import smollm2, station_prompt


def steps(handle: HFModel, length: int, samples: int, times: int = 20) -> tuple[float, torch.Tensor]:
    """Milliseconds of a step of all samples after a prompt, and the logits of the last one."""
    session = handle.start([[5 + i % 99 for i in range(length)]], [1])[0].fork([0] * samples)
    found, logits = [], torch.empty(0)
    for _ in range(times):
        begun = time.thread_time()
        rows = session.feed([[9 + row] for row in range(samples)], [1] * samples)
        found.append(time.thread_time() - begun)
        logits = torch.cat(rows)
    return 1000 * median(found), logits


def outputs(handle: HFModel, samples: int) -> tuple[str, float, int]:
    """A text of SMC with so many particles, CPU seconds, and tokens of the prompt."""
    prompt = station_prompt(0)
    pattern = constrain.compile(constrain.regex("[A-Za-z0-9 ,.]{60,120}"), handle.vocabulary)
    begun = time.thread_time()
    method = constrain.sampling.SMC(particles=samples)
    given: dict[str, Any] = {"constraint": pattern, "method": method, "max_tokens": 32, "draft": False}
    g = constrain.generate(handle, constrain.Prompt(prompt), seed=1, **given)
    return g.text, time.thread_time() - begun, len(handle.tokenizer(prompt)["input_ids"])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--real", action="store_true", help="SmolLM2 in place of the embedded model")
    options = parser.parse_args()
    torch.set_num_threads(1)
    plain: Any = smollm2() if options.real else HFModel.of(constrain.reference.load())
    apart = Hydragen(plain, least=1)
    print("| prompt, tokens | samples | a step, ms | apart, ms | greatest difference |\n|---:|---:|---:|---:|---:|")
    for length in (64, 512, 1900) if options.real else (8, 64, 128, 512, 900):
        for samples in (4, 16) if options.real else (2, 4, 16, 64):
            (one, expected), (other, found) = (steps(each, length, samples) for each in (plain, apart))
            difference = float((expected - found).abs().max())
            print(f"| {length} | {samples} | {one:.1f} | {other:.1f} | {difference:.1e} |", flush=True)
    if not options.real:
        return
    print("\n| SMC, particles | prompt, tokens | CPU s | apart, CPU s | same text |\n|---:|---:|---:|---:|---|")
    for samples in (8, 32):
        (text, one, length), (other_text, other, _) = (outputs(each, samples) for each in (plain, apart))
        print(f"| {samples} | {length} | {one:.1f} | {other:.1f} | {text == other_text} |", flush=True)


if __name__ == "__main__":
    main()
