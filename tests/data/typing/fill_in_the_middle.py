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
assert_type(stopped, constrain.Generation[str])
assert_type(stopped.stats.stop, str)
both = constrain.generate(model, [prompt, constrain.Prompt("[1]")], schema=pair, max_tokens=[length, 8], seed=1)
assert_type(both, list[constrain.Generation[Any]])
