"""Forms of types that are no class: unions, `Literal`, `Annotated`, adapters; and the types of many answers."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import assert_type

import constrain


class Pair(BaseModel):
    low: int
    high: int


model = constrain.reference.load()
g = constrain.generate(model, "A number or a flag: ", type=int | bool, max_tokens=8, complete=True, seed=1)
assert_type(g, constrain.Generation[int | bool])
maybe = constrain.generate(model, "A flag: ", type=bool | None, max_tokens=8, complete=True, seed=1)
assert_type(maybe.value, bool | None)
small = constrain.generate(model, "A number: ", type=Annotated[int, Field(ge=0, le=9)], seed=1)
assert_type(small, constrain.Generation[int])
letter = constrain.generate(model, "A letter: ", type=TypeAdapter(list[bool]), max_tokens=8, complete=True, seed=1)
assert_type(letter.value, list[bool] | None)
several = constrain.generate(model, ["A letter: "], type=Literal["a", "b"], n=2, seed=1)
assert_type(several, list[constrain.Generations[Literal["a", "b"]]])
answers = constrain.map(model, ["A number or a flag: "], type=int | bool, max_tokens=8, progress=False)
assert_type(answers.values, list[int | bool | None])
assert_type(constrain.json_schema(Pair).parse('{"low": 1, "high": 2}'), Pair)
assert_type(constrain.json_schema({"type": "integer"}).parse("3"), Any)


async def later() -> None:
    assert_type(await constrain.agenerate(model, "A flag: ", type=bool), constrain.Generation[bool])
    assert_type(await constrain.agenerate(model, "A flag: ", type=int | bool, n=2), constrain.Generations[int | bool])
    assert_type(constrain.astream(model, "A pair: ", type=Pair).partials(), AsyncIterator[Pair])
