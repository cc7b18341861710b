from typing import Any

from typing_extensions import assert_type

import constrain

model = constrain.reference.load()
pair = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
g = constrain.generate(
    model, "Two numbers: ", schema=pair, prefix="[1", suffix="9]", max_tokens=20, complete=True, min_tokens=2, seed=1
)
assert_type(g, constrain.Generation[Any])
stopped = constrain.generate(model, "A word: ", regex="[a-z ]+", stop=[" ", "e"], healing=False, max_tokens=9, seed=2)
assert_type(stopped.stats.stop, str)
