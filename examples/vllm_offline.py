"""A batch of requests with vLLM: a schema, a pattern, a grammar, and a request that is refused.

    pip install vllm constrain-lm           # tested: vLLM 0.32.0; for CPUs see docs/howto/vllm.md
    python examples/vllm_offline.py [MODEL]

Without MODEL it is the small reference model of the package, on any machine.
"""

from __future__ import annotations

import json
import sys

from vllm import LLM, SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams as Structured

from constrain import reference

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z][a-z]{1,9}$"},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "uniqueItems": True, "maxItems": 2},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}
ASKED = {
    "A person, as JSON: ": Structured(json=PERSON),
    "A date: ": Structured(regex=r"20[0-9]{2}-(0[1-9]|1[0-2])-[0-3][0-9]"),
    "A sum: ": Structured(grammar='start: NUMBER ("+" NUMBER)~1..3\nNUMBER: /[1-9][0-9]?/'),
}


def main() -> None:
    """Answer them all in one batch."""
    model = sys.argv[1] if len(sys.argv) > 1 else str(reference.path())
    llm = LLM(model, additional_config={"constrain": {}}, enforce_eager=True, max_model_len=512, dtype="float32")
    params = [SamplingParams(max_tokens=200, seed=1, structured_outputs=asked) for asked in ASKED.values()]
    for output in llm.generate(list(ASKED), params, use_tqdm=False):
        print(json.dumps({"prompt": output.prompt, "text": output.outputs[0].text}))
    try:
        faulty = Structured(json={"type": "object", "properties": {"age": {"type": "number", "minimum": "young"}}})
        llm.generate("A person: ", SamplingParams(structured_outputs=faulty))
    except VLLMValidationError as error:
        print(json.dumps({"refused": str(error)}))


if __name__ == "__main__":
    main()
