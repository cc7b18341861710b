"""A server of Ray Serve with vLLM inside: requests of OpenAI's client obey their schema, faulty ones are HTTP 400.

    pip install 'ray[data,serve]' vllm constrain-lm openai # tested: Ray 2.60.0, vLLM 0.32.0; CPUs: docs/howto/ray.md
    python examples/ray_serve.py [MODEL]

Without MODEL it is the small reference model of the package, on any machine.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import openai
import ray
from ray import serve
from ray.serve.llm import LLMConfig, build_openai_app

from constrain import reference

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def ask(client: openai.OpenAI, schema: dict[str, Any]) -> str:
    """The answer to one request."""
    answer = client.completions.create(
        model="it", prompt="A person: ", max_tokens=100, seed=1, extra_body={"structured_outputs": {"json": schema}}
    )
    return answer.choices[0].text


def main() -> None:
    """Serve, ask twice, and end."""
    ray.init(num_cpus=4, log_to_driver=False)
    model = sys.argv[1] if len(sys.argv) > 1 else str(reference.path())
    config = LLMConfig(
        model_loading_config={"model_id": "it", "model_source": model},
        engine_kwargs={"additional_config": {"constrain": {}}, "max_model_len": 512, "enforce_eager": True},
        placement_group_config={"bundles": [{"CPU": 1}]},  # GPUs: leave it out
        log_engine_metrics=False,
    )
    serve.run(build_openai_app({"llm_configs": [config]}))
    client = openai.OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="none", max_retries=0)
    print(json.dumps({"value": json.loads(ask(client, PERSON))}))
    try:
        ask(client, {"properties": {"age": {"minimum": "young"}}})
    except openai.BadRequestError as error:
        print(json.dumps({"status": error.status_code, "refused": error.message}))
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
