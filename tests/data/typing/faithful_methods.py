from typing_extensions import assert_type

import constrain
from constrain.sampling import CARS, Memory

memory = Memory(max_nodes=1000)
model = constrain.reference.load()
outputs = constrain.generate(model, '{"color": "', regex="red|green", method=CARS(memory=memory), n=2, seed=1)
assert_type(outputs, constrain.Generations[str])
g = constrain.generate(model, '{"color": "', regex="red|green", method="faithful", seed=1)
assert_type(g.population, list[constrain.Generation[str]])
assert_type(g.tv_bound, float | None)
