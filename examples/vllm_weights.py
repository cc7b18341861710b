"""Weighted answers from vLLM: masked decoding with its weights, and particles that are resampled.

    pip install vllm 'constrain-lm[hf]'     # tested: vLLM 0.32.0; for CPUs see docs/howto/vllm.md
    python examples/vllm_weights.py [MODEL]

Without MODEL it is the small reference model of the package, on any machine.
"""

from __future__ import annotations

import json
import sys

from vllm import LLM

import constrain
from constrain import reference

COLOURS = ['red"}', 'green"}', 'blue"}', 'orange"}']
PROMPT = '{"color": "'


def main() -> None:
    """Say how likely each colour is, by two methods."""
    model = sys.argv[1] if len(sys.argv) > 1 else str(reference.path())
    llm = LLM(
        model, additional_config={"constrain": {}}, max_logprobs=-1, enforce_eager=True, max_model_len=512,
        dtype="float32",
    )  # fmt: skip
    for method in ("lcd", "smc"):
        answers = constrain.generate(llm, PROMPT, choices=COLOURS, method=method, n=64, seed=1)
        weighted = dict.fromkeys(COLOURS, 0.0)
        drawn = dict.fromkeys(COLOURS, 0.0)
        for answer, weight in zip(answers, answers.weights, strict=True):
            weighted[answer.text] += weight
            drawn[answer.text] += 1 / len(answers)
        print(json.dumps({"method": method, "weighted": weighted, "as drawn": drawn, "ess": answers.ess}))


if __name__ == "__main__":
    main()
