from typing_extensions import assert_type

import constrain


def share(outputs: constrain.Generations[str], text: str) -> float:
    return sum(weight for output, weight in zip(outputs, outputs.weights, strict=True) if output.text == text)


outputs = constrain.generate(constrain.reference.load(), "Answer: ", choices=["yes", "no"], n=4, seed=1)
assert_type(outputs, constrain.Generations[str])
assert_type(outputs[0], constrain.Generation[str])
assert_type(share(outputs, "yes"), float)
assert_type(outputs.ess, float)
