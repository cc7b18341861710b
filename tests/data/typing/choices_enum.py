from enum import Enum

from typing_extensions import assert_type

import constrain


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Answer(str, Enum):
    YES = "yes"
    NO = "no"


model = constrain.reference.load()
g = constrain.generate(model, "A colour: ", choices=Colour, seed=1)
assert_type(g, constrain.Generation[Colour])
assert_type(g.value, Colour | None)
assert g.value is not None and g.value.value == g.text
assert_type(constrain.generate(model, "Answer: ", choices=Answer, n=2, seed=1), constrain.Generations[Answer])
assert_type(constrain.generate(model, "Answer: ", choices=Answer, stream=True, seed=1), constrain.Stream[Answer])
for each in constrain.generate(model, ["A colour: ", "Another: "], choices=Colour, seed=1):
    assert_type(each, constrain.Generation[Colour])
for several in constrain.generate(model, ["A colour: ", "Another: "], choices=Colour, n=2, seed=1):
    assert_type(several, constrain.Generations[Colour])
