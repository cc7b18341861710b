"""Members that pydantic reads, tags and paths of fields: schemas of types where pydantic's own are wrong.

The idea: pydantic itself says which members of a `Literal` or an `Enum` it reads from JSON. `Literal[b"a"]`, an enum of
dates, and a `Literal` of members of a plain enum are values of Python only, and their schemas name texts that nothing
reads. Tags and paths stand in the core schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any

_Schema = dict[str, Any]
_Path = list[str | int]


def reader(core: Any) -> Callable[[str], bool]:
    """Make the function that says whether pydantic reads a JSON text as a value of a core schema."""
    from pydantic_core import SchemaValidator, ValidationError

    validator = SchemaValidator(core)

    def reads(text: str) -> bool:
        try:
            validator.validate_json(text)
        except ValidationError:
            return False
        return True

    return reads


def members_read(core: Any, made: _Schema) -> _Schema:
    """The schema of a Literal or an Enum with the members that pydantic reads; none if it reads none."""
    from pydantic_core import to_json

    reads = reader(core)
    given = made["enum"] if "enum" in made else [made["const"]]
    if core["type"] == "enum":  # pydantic writes a decimal member as a text, and reads the number
        given = [_number(each, member.value) for each, member in zip(given, core["members"], strict=True)]
    given = [each for each in given if not isinstance(each, float) or isfinite(each)]
    kept = [each for each in given if all(map(reads, _spellings(to_json(each).decode(), each)))]
    if kept == made.get("enum", [made.get("const")]):
        return made
    rest = {name: value for name, value in made.items() if name not in ("const", "enum", "type")}
    return {**rest, "enum": kept} if kept else {**made, "not": {}}


def _number(written: Any, value: Any) -> Any:
    """Give what pydantic writes of a member; of a decimal that is a double, the number."""
    return float(value) if isinstance(value, Decimal) and Decimal(repr(float(value))) == value else written


def _spellings(text: str, value: Any) -> set[str]:
    """The texts that masks write of a member: integral numbers also as integers."""
    whole = isinstance(value, float) and value.is_integer()
    return {text, f"{Decimal(text):f}"} if whole else {text}


def keys_read(core: Any) -> _Schema:
    """The schema of the texts that are keys of a dict by members of a Literal or an Enum."""
    from pydantic_core import from_json, to_json

    members = core["expected"] if core["type"] == "literal" else core["members"]
    reads = reader({"type": "dict", "keys_schema": core})
    written: dict[str, None] = {}
    for member in members:
        value = member.value if isinstance(member, Enum) else member
        if isinstance(value, (str, int, float, bool, bytes, type(None))):
            written.update(from_json(to_json({value: None})))
    return {"enum": [key for key in written if reads(to_json({key: None}).decode())]}


def tagged(core: Any, made: _Schema, required: Callable[[_Schema, str], bool]) -> tuple[_Schema, list[str]]:
    """The schema of a union with its tag, which pydantic asks for where a field has a default too; what to tell.

    required: whether a choice has a name among its required ones.
    """
    asked = core["discriminator"]
    if callable(asked):
        return made, [f"the function {getattr(asked, '__qualname__', type(asked).__qualname__)}"]
    name = made.get("discriminator", {}).get("propertyName")
    if name is None:
        return made, ["its tag"]
    if all(required(choice, name) for choice in made["oneOf"]):
        return made, []
    return {**made, "type": "object", "required": [name]}, []


def path_of(field: Any) -> _Path | None:
    """The path of a field that stands inside the value of another key; None: it has a name."""
    alias = field.get("validation_alias")
    if not isinstance(alias, list) or not alias:
        return None
    paths = alias if isinstance(alias[0], list) else [alias]
    return None if any(len(path) == 1 for path in paths) else paths[0]


def nested(path: Iterable[str | int], made: _Schema, required: bool) -> _Schema:
    """The schema of the value that has another one at a path."""
    for step in reversed(list(path)):
        if isinstance(step, str):
            made = {"type": "object", "properties": {step: made}, **({"required": [step]} if required else {})}
        else:
            made = {
                "type": "array",
                "prefixItems": [{}] * step + [made],
                **({"minItems": max(step, 0) + 1} if required else {}),
            }
    return made
