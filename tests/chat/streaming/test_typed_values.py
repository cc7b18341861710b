"""Instances of Python types that fill: what is there after each beginning, and that nothing final changes."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Annotated, Any, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrain.chat.streaming import JsonValues, TypedValues


class Address(pydantic.BaseModel):
    street: str
    number: Annotated[int, pydantic.Field(gt=0)]


class Person(pydantic.BaseModel):
    name: str = pydantic.Field(alias="fullName")
    born: datetime.date
    balance: Decimal | None = None
    home: Address
    past: list[Address] = []
    kind: Literal["a", "b"] = "a"
    anything: dict[str, list[int]] = {}


class Checked(pydantic.BaseModel):
    code: str
    size: int

    @pydantic.field_validator("code")
    @classmethod
    def upper(cls, code: str) -> str:
        return code.upper()

    @pydantic.model_validator(mode="after")
    def whole(self) -> Checked:
        if self.size > 9:
            raise ValueError("too large")
        return self


class Before(pydantic.BaseModel):
    size: int

    @pydantic.model_validator(mode="before")
    @classmethod
    def renamed(cls, given: Any) -> Any:
        return given


ADDRESSES = st.fixed_dictionaries({"street": st.text(max_size=5), "number": st.integers(1, 99)})
PEOPLE = st.fixed_dictionaries(
    {"fullName": st.text(max_size=5), "born": st.dates().map(str), "home": ADDRESSES},
    optional={
        "balance": st.none() | st.decimals(0, 9, places=2).map(str),
        "past": st.lists(ADDRESSES, max_size=3),
        "kind": st.sampled_from("ab"),
        "anything": st.dictionaries(st.text(max_size=2), st.lists(st.integers()), max_size=2),
    },
)


def filled(given: Any, text: str, size: int = 1) -> tuple[list[Any], Any]:
    """(dumps of the instance after each piece, the last instance)."""
    values, typed = JsonValues(), TypedValues[Any](given)
    seen = []
    for at in range(0, len(text), size):
        typed.follow(values.read(text[at : at + size]))
        seen.append(finals(typed.value))
    typed.follow(values.end())
    return seen, typed.value


def finals(instance: Any) -> Any:
    """The finished part of an instance: name -> value, items."""
    if isinstance(instance, pydantic.BaseModel):
        names = instance.model_fields_set
        return {name: finals(getattr(instance, name)) for name in names}
    return list(map(finals, instance)) if isinstance(instance, list) else instance


def within(part: Any, whole: Any) -> bool:
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and within(one, whole[name]) for name, one in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(within, part, whole))
    return bool(part == whole)


@given(PEOPLE | st.lists(PEOPLE, max_size=3), st.integers(1, 9))
def test_what_is_finished_stays_and_the_whole_is_what_pydantic_reads(value: Any, size: int) -> None:
    given: Any = list[Person] if isinstance(value, list) else Person
    text = json.dumps(value)
    seen, whole = filled(given, text, size)
    assert whole == pydantic.TypeAdapter(given).validate_json(text)
    last = finals(whole)
    for one in seen:
        assert one is None or within(one, last)


def test_fields_come_one_by_one() -> None:
    text = '{"fullName": "Ada", "born": "1815-12-10", "home": {"street": "S", "number": 4}, "past": [{"street": "T"'
    values, typed = JsonValues(), TypedValues(Person)
    fields = []
    for sign in text:
        typed.follow(values.read(sign))
        if typed.value is not None and (now := sorted(typed.value.model_fields_set)) not in fields:
            fields.append(now)
    assert fields == [[], ["name"], ["born", "name"], ["born", "home", "name"]]
    assert typed.value is not None and typed.value.born == datetime.date(1815, 12, 10)
    [begun] = typed.value.past
    assert isinstance(begun, Address) and begun.street == "T" and begun.number is None
    assert typed.value.balance is None and typed.value.home == Address(street="S", number=4)


def test_functions_of_a_class_run_when_its_object_is_finished() -> None:
    seen, whole = filled(Checked, '{"code": "ab", "size": 7}')
    assert {"size": 7} not in seen[:-1] and whole == Checked(code="AB", size=7)
    assert {} in seen and not any("code" in one for one in seen[:-1] if one)
    seen, whole = filled(list[Checked], '[{"code": "ab", "size": 70}, {"code": "x", "size": 1}]')
    assert finals(whole) == [{"size": 70}, {"code": "X", "size": 1}]  # refused: as it was before its end
    seen, whole = filled(Before, '{"size": 7}')
    assert whole == Before(size=7) and set(map(str, seen[:-1])) == {"None"}


@pytest.mark.parametrize(
    "given, text, expected",
    [
        (int, "12", 12),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (set[int], "[1, 1]", {1}),
        (list[datetime.date], '["2020-01-02"]', [datetime.date(2020, 1, 2)]),
        (Annotated[list[int], pydantic.Field(min_length=1)], "[3]", [3]),
        (Person | None, "null", None),
        (pydantic.TypeAdapter(list[int]), "[3]", [3]),
    ],
)
def test_other_types(given: Any, text: str, expected: Any) -> None:
    assert filled(given, text)[1] == expected


def test_a_value_that_the_type_refuses_stays_none() -> None:
    _, whole = filled(Address, '{"street": "S", "number": -1}')
    assert whole.model_fields_set == {"street"} and whole.number is None
