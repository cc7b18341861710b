from typing_extensions import assert_type

import constrain


def last(stream: constrain.Stream[int]) -> int | None:
    return stream.result.value


stream = constrain.generate(constrain.reference.load(), "A number: ", type=int, stream=True, max_tokens=9, seed=1)
assert_type(stream, constrain.Stream[int])
assert_type(last(stream), int | None)
