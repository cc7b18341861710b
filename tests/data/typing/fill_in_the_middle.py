from typing import Any

from typing_extensions import assert_type

import constrain

model = constrain.reference.load()
pair = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
prompt = constrain.Prompt("Two numbers: ", prefix="[1", suffix="9]")
length = constrain.Length(20, at_least=2)
g = constrain.generate(model, prompt, schema=pair, max_tokens=length, complete=True, seed=1)
assert_type(g, constrain.Generation[Any])
healed = constrain.Prompt("A word: ", healing=True)
stopped = constrain.generate(model, healed, regex="[a-z ]+", stop=[" ", "e"], max_tokens=9, seed=2)
assert_type(stopped, constrain.Generation[None])
assert_type(stopped.stats.stop, str)
assert_type(constrain.generate(model, [prompt, healed], schema=True, max_tokens=[3, length], seed=1)[0].text, str)
