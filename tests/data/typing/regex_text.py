from typing import Literal

from typing_extensions import assert_type

import constrain

g = constrain.generate(constrain.reference.load(), "A date: ", regex=r"\d{4}-\d{2}", temperature=0.5, top_k=10, seed=1)
assert_type(g, constrain.Generation[str])
assert_type(g.value, str | None)
assert_type(g.text, str)
assert_type(g.tokens, list[int])
assert_type(g.logprob, float)
assert_type(g.finish_reason, Literal["stop", "length", "dead_end", "budget"])
assert_type(g.log_evidence, float | None)
