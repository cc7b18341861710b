from typing_extensions import TypedDict, assert_type

import constrain


class Pair(TypedDict):
    left: bool
    right: bool


model = constrain.reference.load()
g = constrain.generate(model, "A pair: ", type=Pair, max_tokens=30, complete=True, seed=1)
assert_type(g.value, Pair | None)
assert g.value is not None
assert_type(g.value["left"], bool)
