"""Several outputs are a list that knows its weights; one is by itself."""

from typing_extensions import assert_type

import constrain


def texts(n: int) -> list[str]:
    outputs = constrain.generate(constrain.reference.load(), "Answer: ", choices=["yes", "no"], n=n, seed=1)
    assert_type(outputs, constrain.Generations[str])
    return [output.text for output in outputs]


one = constrain.generate(constrain.reference.load(), "Answer: ", choices=["yes", "no"], n=1, seed=1)
assert_type(one, constrain.Generation[str])
assert one.text in ("yes", "no")
assert len(texts(2)) == 2
assert len(texts(3)) == 3
