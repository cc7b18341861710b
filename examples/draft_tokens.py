"""Several tokens from one forward: drafts from the schema and the text, and a verifier that keeps the very output.

python examples/draft_tokens.py [MODEL]
"""

from __future__ import annotations

import sys

import constrain

SCHEMA = {
    "type": "object",
    "properties": {
        "first_name": {"type": "string", "maxLength": 12},
        "last_name": {"type": "string", "maxLength": 12},
        "is_member": {"type": "boolean"},
    },
    "required": ["first_name", "last_name", "is_member"],
    "additionalProperties": False,
}


def main(model: object = None) -> tuple[float, float]:
    """Tokens for each forward, without and with drafts."""
    model = model or constrain.reference.load()
    asked = {"schema": SCHEMA, "temperature": 0, "max_tokens": 120, "complete": True}
    plain = constrain.generate(model, "A person as JSON: ", **asked)
    drafted = constrain.generate(model, "A person as JSON: ", draft="auto", **asked)
    assert drafted.text == plain.text and drafted.stats.forwards < plain.stats.forwards
    return plain.stats.tokens_per_forward, drafted.stats.tokens_per_forward


if __name__ == "__main__":
    print("tokens for each forward: {:.2f} without drafts, {:.2f} with".format(*main(*sys.argv[1:])))
