from typing import TypeVar

from typing_extensions import assert_type

import constrain

T = TypeVar("T")


def likeliest(outputs: constrain.Generations[T]) -> T | None:
    return max(outputs, key=lambda output: output.logprob).value


def show(output: constrain.Generation) -> str:  # a bare Generation is a Generation[Any]
    return f"{output.finish_reason}: {output.text}"


model = constrain.reference.load()
outputs = constrain.generate(model, "A flag: ", type=bool, n=3, seed=1)
assert_type(likeliest(outputs), bool | None)
assert_type(show(outputs[0]), str)
