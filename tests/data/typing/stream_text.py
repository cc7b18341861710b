from typing_extensions import assert_type

import constrain

stream = constrain.generate(constrain.reference.load(), "A word: ", regex="[a-z]{3}", stream=True, seed=1)
assert_type(stream, constrain.Stream[str])
for piece in stream:
    assert_type(piece, str)
assert_type(stream.result, constrain.Generation[str])
