"""Batch inference with Ray Data and vLLM: a row says which JSON Schema its answer obeys, and all answers are checked.

    pip install 'ray[data]' vllm constrain-lm jsonschema   # tested: Ray 2.60.0, vLLM 0.32.0; CPUs: docs/howto/ray.md
    python examples/ray_vllm.py [MODEL]

Without MODEL it is the small reference model of the package, on any machine.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import jsonschema
import ray
from ray.data.llm import build_processor, vLLMEngineProcessorConfig

from constrain import reference

SCHEMAS = [
    {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer"}},
     "required": ["name", "age"], "additionalProperties": False},
    {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "minItems": 1, "maxItems": 4},
]  # fmt: skip


def asked(row: dict[str, Any]) -> dict[str, Any]:
    """A prompt, and how it is answered."""
    schema = json.dumps(SCHEMAS[row["id"] % len(SCHEMAS)])  # as text: Ray's tables give all objects the same keys
    params = {"max_tokens": 200, "seed": row["id"], "structured_outputs": {"json": schema}}
    return {"prompt": "As JSON: ", "sampling_params": params}


def answered(row: dict[str, Any]) -> dict[str, Any]:
    """What is kept of an answer."""
    return {"id": row["id"], "text": row["generated_text"]}


def main() -> None:
    """Answer eight rows, and check each answer against its schema."""
    ray.init(num_cpus=4, log_to_driver=False)
    config = vLLMEngineProcessorConfig(
        model_source=sys.argv[1] if len(sys.argv) > 1 else str(reference.path()),
        engine_kwargs={"additional_config": {"constrain": {}}, "max_model_len": 512, "enforce_eager": True},
        placement_group_config={"bundles": [{"CPU": 1}]},  # GPUs: leave it out
        chat_template_stage=False,
        log_engine_metrics=False,
        batch_size=4,
        concurrency=1,
    )
    rows = build_processor(config, preprocess=asked, postprocess=answered)(ray.data.range(8)).take_all()
    for row in sorted(rows, key=lambda row: row["id"]):
        jsonschema.validate(json.loads(row["text"]), SCHEMAS[row["id"] % len(SCHEMAS)])
        print(json.dumps(row))
    assert len(rows) == 8


if __name__ == "__main__":
    main()
