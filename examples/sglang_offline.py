"""A batch of requests with SGLang: a schema, a pattern and a grammar. Not run so far: SGLang needs a GPU.

pip install sglang constrain-lm         # written for SGLang 0.5.23; see docs/howto/sglang.md for what is tested
python examples/sglang_offline.py MODEL
"""

from __future__ import annotations

import json
import sys
from typing import Any

import sglang

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
ASKED: dict[str, dict[str, Any]] = {
    "A person, as JSON: ": {"json_schema": json.dumps(PERSON)},
    "A date: ": {"regex": r"20[0-9]{2}-(0[1-9]|1[0-2])-[0-3][0-9]"},
    "A sum: ": {"ebnf": 'root ::= number ("+" number){1,3}\nnumber ::= [1-9] [0-9]?'},
}


def main() -> None:
    """Answer them all in one batch."""
    engine = sglang.Engine(model_path=sys.argv[1], grammar_backend="constrain")
    params = [{"max_new_tokens": 200, "temperature": 1.0, **asked} for asked in ASKED.values()]
    for prompt, output in zip(ASKED, engine.generate(list(ASKED), params), strict=True):
        print(json.dumps({"prompt": prompt, "text": output["text"]}))
    engine.shutdown()


if __name__ == "__main__":
    main()
