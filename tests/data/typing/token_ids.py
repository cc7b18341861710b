from typing import Any

from typing_extensions import assert_type

import constrain

reference = constrain.reference.load()
ids = [72, 101, 108, 108, 111]
one = constrain.generate(reference.model, ids, tokenizer=reference.tokenizer, schema=True, max_tokens=4, seed=1)
assert_type(one, constrain.Generation[Any])
two = constrain.generate(reference.model, [ids, ids], tokenizer=reference.tokenizer, regex="a+", max_tokens=4, seed=1)
assert_type(two, list[constrain.Generation[str]])
