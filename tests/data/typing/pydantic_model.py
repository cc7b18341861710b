from pydantic import BaseModel
from typing_extensions import assert_type

import constrain


class Person(BaseModel):
    name: str
    age: int


model = constrain.reference.load()
g = constrain.generate(model, "A person, as JSON: ", type=Person, max_tokens=60, complete=True, seed=1)
assert_type(g, constrain.Generation[Person])
assert_type(g.value, Person | None)
if g.value is not None:
    assert_type(g.value.age, int)
