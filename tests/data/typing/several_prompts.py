from typing_extensions import assert_type

import constrain

model = constrain.reference.load()
prompts = ["One: ", "Two: "]
one_each = constrain.generate(model, prompts, grammar='start: "a" | "b" start', max_tokens=5, seed=1)
assert_type(one_each, list[constrain.Generation[str]])
two_each = constrain.generate(model, prompts, type=bool, n=2, seed=1)
assert_type(two_each, list[constrain.Generations[bool]])
assert_type(two_each[0][1].value, bool | None)
own = constrain.generate(model, prompts, regex=["a+", None], max_tokens=[4, 5], seed=1)
assert_type(own, list[constrain.Generation[str]])
