"""Python under its grammar: whatever the model writes is a program, or the beginning of one.

python examples/write_python.py [MODEL]
"""

from __future__ import annotations

import ast
import sys

import constrain

PROMPT = "# Python\ndef double(x):\n    return 2 * x\n\n\n"


def main(model: object = None) -> list[str]:
    """Texts of at most 60 tokens: programs, or beginnings of programs."""
    model = model or constrain.reference.load()
    python = constrain.collection.load("python")
    outputs = constrain.generate(model, PROMPT, constraint=python, max_tokens=60, n=4, seed=1)
    for output in outputs:
        if output.finish_reason == "stop":
            ast.parse(output.text)  # SyntaxError if it were not Python
        else:
            assert (
                constrain.compile(python, constrain.Vocabulary.of_bytes()).matcher().advance_bytes(output.text.encode())
            )
    return [output.text for output in outputs]


if __name__ == "__main__":
    print(*main(*sys.argv[1:]), sep="\n# ---\n")
