"""The rows of tests/data/python_types.toml: types of Python, by expressions in the names of this module."""

from __future__ import annotations

import enum
import json
import re  # noqa: F401  names of this module stand in the rows
from collections import Counter, OrderedDict, defaultdict, deque  # noqa: F401
from collections.abc import Hashable  # noqa: F401
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone  # noqa: F401
from decimal import Decimal
from fractions import Fraction  # noqa: F401
from ipaddress import *  # noqa: F403
from pathlib import Path, PurePosixPath  # noqa: F401
from re import Pattern  # noqa: F401
from typing import Annotated, Any, Literal
from uuid import UUID  # noqa: F401
from zoneinfo import ZoneInfo  # noqa: F401

import pydantic
from annotated_types import *  # noqa: F403
from annotated_types import IsAscii, Not  # noqa: F401
from pydantic import *  # noqa: F403
from pydantic import AliasChoices, AliasPath, ConfigDict, Field
from pydantic.networks import *  # noqa: F403
from pydantic.types import *  # noqa: F403
from pydantic_core import core_schema
from test_schema_walks import EOS, TOKENS
from typing_extensions import NotRequired, TypedDict, Unpack

from constrain.languages.vocab import Vocabulary
from tables import table

WHOLE = {b"\xc3": "É".encode(), b"\xa9": "1²".encode()}  # walks must not begin a character that they cannot end
VOCABULARY = Vocabulary([WHOLE.get(token or b"", token) for token in TOKENS], eos_ids=[EOS])
INDIA = timezone(timedelta(hours=5, minutes=30))
ROWS = table("python_types")["row"]


class Number(enum.IntEnum):
    """Numbers with names."""

    ONE = 1
    TWO = 2


def checked(value: Any) -> Any:
    """A validator, or a predicate."""
    return value


class Rot:
    """An encoder that is not pydantic's."""

    @classmethod
    def decode(cls, data: bytes) -> bytes:
        return data

    encode = decode

    @classmethod
    def get_json_format(cls) -> str:
        return "rot"


class Validated(pydantic.BaseModel):
    """A model with a validator."""

    a: int

    @pydantic.model_validator(mode="after")
    def refuse(self) -> Validated:
        return self


@dataclass
class Made:
    """A dataclass with a method of its own."""

    a: int

    def __post_init__(self) -> None:
        pass


class Nested(pydantic.BaseModel):
    """JSON in a string of JSON."""

    inner: pydantic.Json[Nested] | None = None
    n: int


class Letter(enum.Enum):
    """Members of which JSON has the first two: `to_json` writes the others, and pydantic does not read that."""

    A = "a"
    TRUE = True
    BYTES = b"b"
    PAIR = (1, 2)
    DAY = date(2020, 1, 1)
    HUGE = 1e30


class Price(enum.Enum):
    """Decimals, which pydantic writes as texts and reads as numbers."""

    LOW = Decimal("1.5")
    HIGH = Decimal(20)


class Ratio(enum.Enum):
    """Numbers, of which JSON has the first."""

    HALF = 0.5
    ALL = float("inf")


class Twice(pydantic.BaseModel):
    """Two fields of one key."""

    a: int = Field(alias="x")
    b: int | None = Field(default=None, alias="x")


class Day(enum.Enum):
    """Members of which JSON has none."""

    FIRST = date(2020, 1, 1)


class Holiday(pydantic.BaseModel):
    """A field that may be left out, and must be."""

    day: Day | None = None
    n: int


class Cat(pydantic.BaseModel):
    """A model with a tag that has a default, as most tags."""

    kind: Literal["cat", "lion"] = "cat"
    n: int = 0


class Dog(pydantic.BaseModel):
    """Another one, whose tag has another name in JSON."""

    kind: Literal["dog"] = "dog"


@dataclass
class Ant:
    """A dataclass with such a tag."""

    kind: Literal["ant"] = "ant"


class Bee(TypedDict):
    """A dict with a tag that may be missing."""

    kind: NotRequired[Literal["bee"]]


def size(value: Any) -> str:
    """The tag of a number."""
    return "small"


class Placed(pydantic.BaseModel):
    """Fields that stand inside the values of other keys, and of one key."""

    a: int = Field(validation_alias=AliasPath("p", "q", 1))
    b: bool = Field(validation_alias=AliasPath("p", "r"), default=False)
    c: int = Field(validation_alias=AliasChoices(AliasPath("s", 0), "c"))


class Last(pydantic.BaseModel):
    """A field at the end of a list."""

    a: int = Field(validation_alias=AliasPath("p", -1))


@pydantic.dataclasses.dataclass(config=ConfigDict(extra="forbid"))
class Held:
    """A dataclass with a field that nobody may give."""

    a: int
    b: int = field(default=2, init=False)


def named(**options: Unpack[Bee]) -> None:
    """A function whose arguments are the keys of a dict."""


class Encoded(pydantic.BaseModel):
    """Bytes in base64 and of a length."""

    model_config = ConfigDict(val_json_bytes="base64", ser_json_bytes="base64")
    b: Annotated[bytes, Field(min_length=1, max_length=5)]


class Hexadecimal(pydantic.BaseModel):
    """Bytes as digits."""

    model_config = ConfigDict(val_json_bytes="hex", ser_json_bytes="hex")
    b: Annotated[bytes, Field(min_length=1, max_length=2)]


class Chained:
    """A text of digits, and then a number."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        steps = [core_schema.str_schema(pattern="^[0-9]{1,3}$"), core_schema.int_schema(le=50)]
        return core_schema.chain_schema(steps)


class JsonText(str):
    """The text that is read as a value of a type; raw: with its quotes, if it has any."""

    def __new__(cls, text: str, raw: bool = False) -> JsonText:
        return super().__new__(cls, text if raw else json.dumps(text))


def evaluated(expression: str) -> Any:
    """The value of an expression of a row."""
    return eval(expression, globals())


def written(adapter: pydantic.TypeAdapter[Any], value: Any) -> str:
    """The text that pydantic writes of a value, or of what it reads as one."""
    if isinstance(value, JsonText):
        return str(value)
    return adapter.dump_json(adapter.validate_python(value)).decode()


def refusal(adapter: pydantic.TypeAdapter[Any], text: str) -> str | None:
    """The error of pydantic about a text of JSON; None: it takes it."""
    try:
        adapter.validate_json(text)
    except pydantic.ValidationError as error:
        return str(error)
    return None
