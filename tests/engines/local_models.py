"""Data of the tests of local engines: a prompt, a schema, and settings whose texts are those of transformers."""

from typing import Any

import numpy as np

PROMPT = '[{"name": "Ada", "age": 36},\n'
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 99},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0},
    "several": {"n": 3, "seed": 3},
    "sir": {"method": "sir", "seed": 1},
    "smc": {"method": "smc", "n": 3, "seed": 2},
    "prompts": {"seed": 5, "prompt": [PROMPT, "A person: "]},
}


def texts(outputs: Any) -> list[Any]:
    """The texts of a result, each with why it ended."""
    return [texts(each) for each in outputs] if isinstance(outputs, list) else [outputs.text, outputs.finish_reason]


def check_logits(model: Any, reference: Any) -> None:
    """The logits of rows that fork, go back and grow by different lengths are those of transformers."""
    from constrain.models.hf import HFModel

    ids = reference.tokenizer(PROMPT)["input_ids"]
    sessions = []
    for each in (model, HFModel.of(reference)):
        session, logits = each.start([ids[:5], ids[:9]], [1, 3])
        logits += session.feed([ids[5:7], ids[9:12]], [2, 1])
        fork = session.fork([1, 0, 1])
        logits += fork.feed([ids[12:], ids[7:9], ids[3:4]], [1, 1, 1])
        session.select([0])
        logits += session.feed([ids[7:]], [4])
        sessions.append(logits)
    for one, other in zip(*sessions, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=2e-3)
