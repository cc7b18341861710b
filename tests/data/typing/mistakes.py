"""Mistakes that a checker finds: each line has an error to be ignored, and an ignored line without one is an error."""

from pydantic import BaseModel

import constrain


class Person(BaseModel):
    name: str


def mistakes(model: constrain.reference.Reference) -> None:
    constrain.generate(model, "x", regex="a", temprature=0.5)  # type: ignore[call-overload]
    constrain.generate(model, "x", type=Person, regex="a")  # type: ignore[arg-type]
    constrain.generate(model, ["x", "y"], regex="a", stream=True)  # type: ignore[call-overload]
    constrain.generate(model, "x", choices=[1])  # type: ignore[list-item]
    constrain.generate(model, "x", choices=Person)  # type: ignore[call-overload]
    constrain.generate(model, "x", type=Person).value.name  # type: ignore[union-attr]
    constrain.generate(model, "x", regex="a", max_tokens="9")  # type: ignore[arg-type]
    constrain.generate(model, "x", regex="a", canonical="yes")  # type: ignore[call-overload]
    constrain.generate(model, "x", regex="a", min_tokens=3)  # type: ignore[call-overload]
    constrain.generat(model, "x")  # type: ignore[attr-defined]
    constrain.generate(model, "x", regex="a", n=2).text  # type: ignore[attr-defined]
