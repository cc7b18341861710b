"""Extraction into model classes: 60 short texts with the fields that a careful reader finds (`extraction.toml`).

An answer is right if every field is: texts but for capitals, outer punctuation, "the" before and "s" behind them.
"""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from tasks.task import JsonTask, Score

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXTS = Path(__file__).parent / "extraction.toml"


class Person(BaseModel):
    """A person who is mentioned in a text."""

    name: str = Field(description="first and last name, without titles")
    age: int = Field(description="age in years")
    city: str = Field(description="where the person is or lives")


class Event(BaseModel):
    """An event that is announced."""

    title: str = Field(description="name of the event")
    date: datetime.date = Field(description="day of the event")
    place: str = Field(description="city")
    online: bool = Field(description="true if people take part by video")


class Order(BaseModel):
    """A customer's order."""

    product: str = Field(description="what is ordered, in the singular")
    quantity: int = Field(description="how many")
    color: Literal["red", "green", "blue", "black", "white"]
    price: float = Field(description="price of one")


SHOTS: dict[str, tuple[str, BaseModel]] = {
    "Person": ("Ines Duarte runs the ferry in Lagos. She is 44.", Person(name="Ines Duarte", age=44, city="Lagos")),
    "Event": (
        "The Chess Open of Utrecht begins on 2023-10-09, in the old mint.",
        Event(title="Chess Open", date=datetime.date(2023, 10, 9), place="Utrecht", online=False),
    ),
    "Order": (
        "I would like 9 green bottles, they are 4.50 each.",
        Order(product="bottle", quantity=9, color="green", price=4.5),
    ),
}
MODELS: dict[str, type[BaseModel]] = {"Person": Person, "Event": Event, "Order": Order}


def answers() -> dict[str, dict[str, Any]]:
    """The fields of each text."""
    rows = [row for each in tomllib.loads(TEXTS.read_text(encoding="utf-8")).values() for row in each]
    return {row["text"]: row["gold"] for row in rows}


def tasks() -> Iterator[JsonTask]:
    """The texts, the classes in turn, each behind one worked example of its class."""
    table = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    for place in range(max(map(len, table.values()))):
        for kind, rows in table.items():
            if place < len(rows):
                gold = rows[place]["gold"]

                def judge(value: Any, gold: dict[str, Any] = gold) -> Score:
                    wrong = [key for key, each in gold.items() if not same(value.get(key), each)]
                    said = "; ".join(f"{key} is {gold[key]!r}" for key in wrong)
                    return Score(not wrong, said, (len(gold) - len(wrong), len(gold)))

                told = f"Extract the {kind.lower()} from the text, as JSON with {', '.join(MODELS[kind].model_fields)}."
                text, answer = SHOTS[kind]
                shots = ((text, json.dumps(answer.model_dump(mode="json"))),)
                name = f"extraction {kind}-{place}"
                yield JsonTask(name, told, rows[place]["text"], judge, shots, wanted=MODELS[kind])


def same(value: Any, answer: Any) -> bool:
    """Texts but for capitals, outer punctuation, a first "the" and a last "s", other values by value."""
    if isinstance(value, str) and isinstance(answer, str):
        said, known = (each.lower().strip(" .,'\"").removeprefix("the ") for each in (value, answer))
        return said in (known, f"{known}s")
    return isinstance(value, bool) == isinstance(answer, bool) and value == answer
