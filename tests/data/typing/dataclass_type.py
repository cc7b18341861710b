from dataclasses import dataclass

from typing_extensions import assert_type

import constrain


@dataclass
class Point:
    x: int
    y: int


outputs = constrain.generate(constrain.reference.load(), "A point: ", type=Point, n=2, max_tokens=30, seed=1)
assert_type(outputs, constrain.Generations[Point])
for output in outputs:
    assert_type(output, constrain.Generation[Point])
assert_type(outputs.weights, list[float])
assert_type([output.value.x for output in outputs if output.value is not None], list[int])
