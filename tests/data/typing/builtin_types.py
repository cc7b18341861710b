from typing_extensions import assert_type

import constrain

model = constrain.reference.load()
number = constrain.generate(model, "A number: ", type=int, max_tokens=8, complete=True, seed=1)
assert_type(number.value, int | None)
names = constrain.generate(model, "Names: ", type=list[str], max_tokens=20, complete=True, seed=1)
assert_type(names.value, list[str] | None)
