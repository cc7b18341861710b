"""Forms that are no class, and so have no type that a checker can follow; a `TypeAdapter` names it."""

from typing import Any, Literal

from pydantic import TypeAdapter
from typing_extensions import assert_type

import constrain

model = constrain.reference.load()
g = constrain.generate(model, "A number or a flag: ", type=int | bool, max_tokens=8, complete=True, seed=1)
assert_type(g, constrain.Generation[Any])
adapter: TypeAdapter[Literal["a", "b"]] = TypeAdapter(Literal["a", "b"])
letter = constrain.generate(model, "A letter: ", type=adapter, seed=1)
assert_type(letter.value, Literal["a", "b"] | None)
several = constrain.generate(model, ["A letter: "], type=Literal["a", "b"], n=2, seed=1)
answers = constrain.map(model, ["A number or a flag: "], type=int | bool, max_tokens=8, progress=False)
print(answers.errors)


async def later() -> None:
    assert_type(await constrain.agenerate(model, "A flag: ", type=bool), constrain.Generation[bool])
    assert (await constrain.agenerate(model, "A number or a flag: ", type=int | bool)).text
