"""One batch, a constraint for each prompt: a date, a choice, a JSON object and a free line.

python examples/mix_constraints.py [MODEL]
"""

from __future__ import annotations

import re
import sys

import constrain

ASKED = {
    "The date: ": constrain.regex(r"20[0-9]{2}-(0[1-9]|1[0-2])-[0-3][0-9]"),
    "The colour: ": constrain.choices(["red", "green", "blue"]),
    "The point: ": constrain.json_schema({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}),
    "The line: ": constrain.regex(r"[^\n]{1,40}"),
}


def main(model: object = None) -> list[str]:
    """The answers, in the order of the prompts."""
    model = model or constrain.reference.load()
    outputs = constrain.generate(
        model, list(ASKED), constraint=list(ASKED.values()), max_tokens=40, complete=True, seed=1
    )
    texts = [output.text for output in outputs]
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", texts[0]) and texts[1] in ("red", "green", "blue")
    assert len(outputs[2].value) == 2 and "\n" not in texts[3]
    return texts


if __name__ == "__main__":
    for prompt, text in zip(ASKED, main(*sys.argv[1:]), strict=True):
        print(prompt + text)
