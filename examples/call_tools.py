"""Calls of Python functions in a model's own format, with validated arguments.

python examples/call_tools.py [MODEL]
"""

from __future__ import annotations

import sys
from typing import Literal

import constrain


def weather(city: Literal["Paris", "Rome", "Lima"], days: int = 1) -> str:
    """The weather of the next days."""
    return f"{city}: sun for {days} days"


def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


def main(model: object = None) -> list[object]:
    """What the called functions return."""
    model = model or constrain.reference.load()
    functions = {"weather": weather, "add": add}
    turn = constrain.tools([weather, add], format="qwen3", choice="required", parallel=False, thinking="none")
    output = constrain.generate(model, "User: the weather in Rome?\n", constraint=turn, max_tokens=120, seed=2)
    assert output.finish_reason == "stop" and len(output.tool_calls) == 1
    return [functions[call.name](**call.arguments) for call in output.tool_calls]


if __name__ == "__main__":
    print(*main(*sys.argv[1:]), sep="\n")
