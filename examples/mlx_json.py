"""A model of mlx-lm that answers by a JSON Schema: with `constrain.generate`, and in the loop of mlx-lm.

    pip install 'constrain-lm[mlx]'         # tested: mlx-lm 0.32.2, mlx 0.32.4; not on a Mac: and 'mlx[cpu]'
    python examples/mlx_json.py [MODEL]

Without MODEL it is the small reference model of the package, on any machine.
"""

from __future__ import annotations

import json
import sys

import mlx_lm

import constrain
from constrain import reference
from constrain.engines.mlx import MLXModel, MLXProcessor

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
    model, tokenizer = mlx_lm.load(sys.argv[1] if len(sys.argv) > 1 else str(reference.path()))
    for answer in constrain.generate(model, PROMPT, tokenizer=tokenizer, schema=PERSON, n=2, seed=1, method="smc"):
        print(json.dumps({"by": "generate", "value": answer.value, "log_weight": answer.log_weight}))
    compiled = constrain.compile(constrain.json_schema(PERSON), MLXModel(model, tokenizer).vocabulary)
    processor = MLXProcessor(compiled)
    text = mlx_lm.generate(model, tokenizer, PROMPT, max_tokens=100, logits_processors=[processor])
    print(json.dumps({"by": "mlx-lm", "value": json.loads(text)}))


if __name__ == "__main__":
    main()
