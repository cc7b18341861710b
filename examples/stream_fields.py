"""A JSON object while it is written: each field as soon as it is final.

python examples/stream_fields.py [MODEL]
"""

from __future__ import annotations

import sys

import constrain

SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "maxLength": 30},
        "stars": {"type": "integer", "minimum": 1, "maximum": 5},
        "tags": {"type": "array", "items": {"enum": ["new", "sale", "rare"]}, "uniqueItems": True, "minItems": 1},
    },
    "required": ["title", "stars", "tags"],
    "additionalProperties": False,
}


def main(model: object = None) -> dict[str, object]:
    """The whole object; its fields are printed on the way."""
    model = model or constrain.reference.load()
    stream = constrain.generate(
        model, "A book as JSON: ", schema=SCHEMA, stream=True, max_tokens=90, complete=True, seed=3
    )
    finished = {}
    for change in stream.changes():
        if change.final and len(change.path) == 1:
            print(f"{change.path[0]}: {change.value!r}", flush=True)
            finished[change.path[0]] = change.value
    assert finished == stream.result.value
    return finished


if __name__ == "__main__":
    main(*sys.argv[1:])
