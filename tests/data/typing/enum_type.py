from enum import Enum

from typing_extensions import assert_type

import constrain


class Color(Enum):
    RED = "red"
    GREEN = "green"


g = constrain.generate(constrain.reference.load(), "A colour: ", type=Color, seed=1)
assert_type(g, constrain.Generation[Color])
assert_type(g.value, Color | None)
