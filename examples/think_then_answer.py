"""Free thoughts within a budget of tokens, then an answer by a schema.

python examples/think_then_answer.py [MODEL]
"""

from __future__ import annotations

import sys

import constrain

ANSWER = {"type": "object", "properties": {"answer": {"enum": ["yes", "no"]}}, "required": ["answer"]}
ANSWER["additionalProperties"] = False


def main(model: object = None) -> dict[str, str]:
    """The answer."""
    model = model or constrain.reference.load()
    turn = constrain.after("</think>", constrain.json_schema(ANSWER), max_tokens=30)
    output = constrain.generate(model, "Is 7 a prime number?\n<think>", constraint=turn, max_tokens=80, seed=1)
    thoughts, _, answer = output.text.partition("</think>")
    assert answer.strip().startswith("{") and output.finish_reason == "stop"
    print(f"thoughts of {len(thoughts)} characters, then {answer.strip()}")
    return output.value


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
