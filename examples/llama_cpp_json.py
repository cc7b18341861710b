"""A model of llama-cpp-python that answers by a JSON Schema: with `constrain.generate`, and in its own loop.

    pip install 'constrain-lm[llama-cpp]'   # tested: llama-cpp-python 0.3.36
    python examples/llama_cpp_json.py MODEL.gguf

The reference model of the package as a file: pip install gguf; python scripts/write_gguf.py reference.gguf
"""

from __future__ import annotations

import json
import sys

from llama_cpp import Llama, LogitsProcessorList, StoppingCriteriaList

import constrain
from constrain.engines.llama import LlamaProcessor, vocabulary_of

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
PROMPT = '[{"name": "Ada", "age": 36, "tags": ["red"]},\n'


def main() -> None:
    """Answer with both."""
    llama = Llama(sys.argv[1], n_ctx=1024, verbose=False)
    for answer in constrain.generate(llama, PROMPT, schema=PERSON, n=2, seed=1, method="smc"):
        print(json.dumps({"by": "generate", "value": answer.value, "log_weight": answer.log_weight}))
    processor = LlamaProcessor(llama, constrain.compile(constrain.json_schema(PERSON), vocabulary_of(llama)))
    answer = llama(
        PROMPT, max_tokens=100, logits_processor=LogitsProcessorList([processor]),
        stopping_criteria=StoppingCriteriaList([processor.stop]),
    )  # fmt: skip
    print(json.dumps({"by": "llama-cpp-python", "value": json.loads(answer["choices"][0]["text"])}))


if __name__ == "__main__":
    main()
