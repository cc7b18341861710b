from typing_extensions import assert_type

import constrain
from constrain.speculative import Fixed, Speculation

reference = constrain.reference.load()
g = constrain.generate(reference, "A list: ", type=list[int], draft="auto", max_tokens=20, seed=1)
assert_type(g.stats, constrain.Stats)
assert_type(g.stats.forwards, int)
assert_type(g.stats.tokens_per_forward, float)
assert_type(g.stats.seconds, dict[str, float])
assert_type(g.stats.cuts, str)
assert_type(g.stats.strays, int)
speculation = Speculation(["words", "lookup"], controller=Fixed(4))
again = constrain.generate(reference, "A list: ", type=list[int], draft=speculation, max_tokens=20, seed=1)
assert_type(again, constrain.Generation[list[int]])
models = constrain.generate(reference, "A list: ", regex="a+", draft=["words", reference.draft], max_tokens=5, seed=1)
assert_type(models, constrain.Generation[str])
