"""`n` that is given gives a list, whatever its value: the type of the result follows."""

from typing_extensions import assert_type

import constrain


def texts(n: int) -> list[str]:
    outputs = constrain.generate(constrain.reference.load(), "Answer: ", choices=["yes", "no"], n=n, seed=1)
    assert_type(outputs, constrain.Generations[None])
    return [output.text for output in outputs]


assert len(texts(1)) == 1
assert len(texts(3)) == 3
