"""Typed records from several documents: one prompt each, one pydantic model, everything validated.

    python examples/extract_records.py [MODEL]

MODEL is a name or a folder of transformers; without it the small reference model of the package.
"""

from __future__ import annotations

import datetime
import sys

import pydantic

import constrain

DOCUMENTS = (
    "Ada Lovelace was born on 10 December 1815 and spoke English and French.",
    "Emmy Noether, born 23 March 1882, taught in German.",
    "Srinivasa Ramanujan was born on 22 December 1887. He wrote in English.",
)


class Person(pydantic.BaseModel):
    """What is extracted."""

    name: str = pydantic.Field(max_length=40)
    born: datetime.date
    languages: list[str] = pydantic.Field(max_length=3)


def main(model: object = None) -> list[Person]:
    """The records of all documents."""
    model = model or constrain.reference.load()
    prompts = [f"{document}\nAs JSON: " for document in DOCUMENTS]
    outputs = constrain.generate(model, prompts, type=Person, max_tokens=120, complete=True, seed=1)
    people = [output.value for output in outputs]
    assert all(isinstance(person, Person) for person in people)
    return people


if __name__ == "__main__":
    for each in main(*sys.argv[1:]):
        print(each)
