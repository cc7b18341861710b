"""`Function`: a tool that may be called, from a pydantic model, a callable, or the JSON of a protocol.

    functions_of([get_weather, SearchArguments, {"type": "function", "function": {"name": ..., "parameters": ...}}])

The idea: a name, the JSON Schema of the arguments, and what turns arguments into Python objects: pydantic, for models
and for signatures (schema/read/inputs.py). Which others there are besides the declared arguments, `undeclared` says
(language.py). `"strict": true` asks that the schema is of OpenAI's strict subset.

Sources: OpenAI's chat completions and responses ("tools"); Model Context Protocol, "Tools" (`inputSchema`).
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from constrain.errors import ConstrainError, SchemaError
from constrain.languages.schema.openai_strict import check as check_strict
from constrain.languages.schema.openai_strict import is_strict
from constrain.languages.schema.read.inputs import schema_of_type
from constrain.languages.schema.read.types import without_types

FIX = 'pass a function, a pydantic model, {"type": "function", "function": {"name": ..., "parameters": ...}}'


@dataclass(frozen=True, eq=False)
class Function:
    """A tool that may be called.

    Attributes:
        name: Its name.
        parameters: The JSON Schema of its arguments, an object.
        description: What it does; "" if nothing says it.
        parse: The function that turns the JSON text of arguments into Python objects; None: they stay as they are.
        target: The callable or the model that it was made from; None if there is none.
    """

    name: str
    parameters: Mapping[str, Any]
    description: str = ""
    parse: Callable[[str], Any] | None = None
    target: Callable[..., Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """By the callable or the model: what validates its arguments is made again."""
        if self.target is None:
            return Function, (self.name, self.parameters, self.description)
        return _function, (self.target, "tools")

    def validated(self, arguments: dict[str, Any]) -> Any:
        """The arguments as Python objects: a model, or the arguments of the callable. Raises ValueError."""
        return arguments if self.parse is None else self.parse(json.dumps(arguments))

    @property
    def json(self) -> dict[str, Any]:
        """The tool as OpenAI's JSON, for chat templates and requests."""
        described = {"description": self.description} if self.description else {}
        parameters = without_types(dict(self.parameters))
        return {"type": "function", "function": {"name": self.name, **described, "parameters": parameters}}


def functions_of(given: Any) -> tuple[Function, ...]:
    """The functions of a list of tools.

    Args:
        given: A list of pydantic models, callables, dicts or `Function`s.

    Returns:
        The functions, in order.

    Raises:
        ConstrainError: It is no list, is empty, has what is no tool, or two tools have one name; with the place.
        SchemaError: A schema of arguments is not that of an object.

    Example:
        >>> def weather(city: str, days: int = 1) -> str:
        ...     '''Tell the weather.'''
        >>> [function] = functions_of([weather])
        >>> function.name, function.description, list(function.parameters["properties"])
        ('weather', 'Tell the weather.', ['city', 'days'])
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise ConstrainError(f"tools are a list, not {type(given).__name__}", fix="put it into a list")
    found = tuple(_function(one, f"tools[{i}]") for i, one in enumerate(given))
    if not found:
        raise ConstrainError("there is no tool", fix=FIX)
    places: dict[str, int] = {}
    for i, function in enumerate(found):
        if function.name in places:
            raise ConstrainError(
                f"two tools have the name {function.name!r}",
                place=f"tools[{places[function.name]}] and tools[{i}]",
                fix="give each its own",
            )
        places[function.name] = i
    return found


def _function(given: Any, place: str) -> Function:
    if isinstance(given, Function):
        return given
    if isinstance(given, Mapping):
        return _of_json(given, place)
    if inspect.isclass(given) and hasattr(given, "model_json_schema"):
        schema, parse = schema_of_type(given)
        return Function(given.__name__, _checked(schema, given.__name__, place), _about(given), parse, given)
    if callable(given) and not inspect.isclass(given):
        routine = given if inspect.isroutine(given) else given.__call__
        name = getattr(given, "__name__", type(given).__name__)
        schema, parse = schema_of_type(routine)
        return Function(name, _checked(schema, name, place), _about(given), parse, given)
    raise ConstrainError(f"{given!r:.60} is no tool", place=place, fix=FIX)


def _of_json(given: Mapping[str, Any], place: str) -> Function:
    """A tool of OpenAI's or the Model Context Protocol's JSON."""
    kind = given.get("type", "function")
    if kind != "function":
        raise ConstrainError(f"a tool of the type {kind!r} has no arguments to constrain", place=place, fix=FIX)
    inner = given.get("function", given)
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str) or not inner["name"]:
        raise ConstrainError("a tool has no name", place=f"{place}.name", fix=FIX)
    key = "inputSchema" if "inputSchema" in inner else "parameters"
    schema = inner.get(key)
    if is_strict(inner, place) and schema is not None:
        try:
            check_strict(schema)
        except SchemaError as error:
            raise SchemaError(error.message, place=f"{place}.{key}", fix=error.fix) from None
    if schema is None:
        schema = {"type": "object", "properties": {}}
    description = inner.get("description")
    parameters = _checked(schema, inner["name"], f"{place}.{key}")
    return Function(inner["name"], parameters, description if isinstance(description, str) else "")


def _checked(schema: Any, name: str, place: str) -> dict[str, Any]:
    """The schema of arguments: without `type`, or with several, it is an object's. Raises SchemaError for another."""
    if isinstance(schema, Mapping) and isinstance(schema.get("type"), list) and "object" in schema["type"]:
        schema = {**schema, "type": "object"}
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        shown = schema.get("type") if isinstance(schema, Mapping) else schema
        raise SchemaError(
            f"the arguments of {name!r} are {shown!r:.60}, not an object",
            place=place,
            fix='{"type": "object", "properties": {...}}',
        )
    return {"type": "object", **schema} if "$ref" not in schema else dict(schema)


def _about(given: Any) -> str:
    """The first paragraph of a docstring of its own."""
    text = vars(given).get("__doc__") if inspect.isclass(given) else getattr(given, "__doc__", None)
    return " ".join(inspect.cleandoc(text or "").split("\n\n")[0].split())
