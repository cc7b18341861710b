"""A model of onnxruntime-genai that answers by a JSON Schema: with `constrain.generate`, and in its own loop.

pip install 'constrain-lm[onnx]'        # tested: onnxruntime-genai 0.18.0
python examples/onnx_json.py FOLDER     # of `python -m onnxruntime_genai.models.builder`, see docs/howto/onnx.md
"""

from __future__ import annotations

import json
import sys

import onnxruntime_genai as og
from transformers import AutoTokenizer

import constrain
from constrain.engines.onnx import ONNXMask, ONNXModel

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
    model, tokenizer = og.Model(sys.argv[1]), AutoTokenizer.from_pretrained(sys.argv[1])
    for answer in constrain.generate(model, PROMPT, tokenizer=tokenizer, schema=PERSON, n=2, seed=1, method="smc"):
        print(json.dumps({"by": "generate", "value": answer.value, "log_weight": answer.log_weight}))
    mask = ONNXMask(constrain.compile(constrain.json_schema(PERSON), ONNXModel(model, tokenizer).vocabulary))
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=200)
    generator, prompt = og.Generator(model, params), tokenizer(PROMPT)["input_ids"]
    generator.append_tokens(prompt)
    while not generator.is_done():
        mask(generator)
        generator.generate_next_token()
    text = tokenizer.decode(generator.get_sequence(0)[len(prompt) :], skip_special_tokens=True)
    print(json.dumps({"by": "onnxruntime-genai", "value": json.loads(text)}))


if __name__ == "__main__":
    main()
