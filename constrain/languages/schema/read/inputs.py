"""Python types as schemas: pydantic models, dataclasses, TypedDict, Enum, Literal, Union, and signatures of callables.

pydantic makes the schema (`TypeAdapter.json_schema`), and turns a generated text into an instance of the type
(`TypeAdapter.validate_json`); `types.py` adds what pydantic leaves out. The schema of a callable is the object of its
arguments; its texts become validated keyword arguments. pydantic is imported when first needed.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import partial
from traceback import walk_tb
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from constrain.errors import SchemaError
from constrain.languages.schema.read.types import generator
from constrain.languages.schema.sets.json_types import Json

FIX = (
    "pass a dict, JSON text, a pydantic model, a dataclass, a TypedDict, an Enum, a Literal, a Union, "
    "or a function with annotations"
)


def schema_of_type(given: Any) -> tuple[Json, Callable[[str], Any]]:
    """The schema of a Python type, and the function that turns a text into an instance. Raises SchemaError."""
    try:
        import pydantic  # noqa: F401
    except ImportError:
        raise SchemaError(
            f"{given!r} is a Python type, which needs the package pydantic", fix="pip install pydantic"
        ) from None
    if given is None or isinstance(given, (int, float, list, tuple, set)):
        raise SchemaError(f"a schema is not a {type(given).__name__}: {given!r}", fix=FIX)
    adapter = _adapter_of(given)
    if not inspect.isroutine(given):
        return _schema(adapter, given), partial(_instance, adapter)

    def parse(text: str) -> dict[str, Any]:
        instance = _instance(adapter, text)
        return {name: getattr(instance, name) for name in type(instance).model_fields}

    return _schema(adapter, given), parse


def _instance(adapter: Any, text: str) -> Any:
    """The value of a text. Raises ValueError, and what a function of the user raises.

    Types of pydantic refuse some texts by other errors: a path with a long name, a pattern with a great count.
    """
    try:
        return adapter.validate_json(text)
    except ValueError:
        raise
    except Exception as error:
        frames = (frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in walk_tb(error.__traceback__))
        *_, last = (package for package in frames if package not in sys.stdlib_module_names)
        if last == "pydantic":
            raise ValueError(f"{type(error).__name__}: {error}") from None
        raise


def published_schema(given: Any) -> Json:
    """The schema of a Python type as pydantic publishes it, and as services get it. Raises SchemaError."""
    return _schema(_adapter_of(given), given, as_published=True)


def _adapter_of(given: Any) -> Any:
    """The adapter of a Python type; of a function, that of its arguments."""
    import pydantic

    if isinstance(given, pydantic.TypeAdapter):
        return given
    return _adapter(_arguments(given) if inspect.isroutine(given) else _for_pydantic(given), given)


def _for_pydantic(given: Any) -> Any:
    """The type with each TypedDict in it as one of `typing_extensions`, which pydantic requires before Python 3.12."""
    import typing_extensions

    if is_typeddict(given):
        if isinstance(given, typing_extensions._TypedDictMeta):  # type: ignore[attr-defined]
            return given
        hints = get_type_hints(given, include_extras=True)
        fields = {
            name: _for_pydantic(annotation)
            if name in given.__required_keys__
            else typing_extensions.NotRequired[_for_pydantic(annotation)]
            for name, annotation in hints.items()
        }
        return typing_extensions.TypedDict(given.__name__, fields)  # type: ignore[operator]
    origin, parts = get_origin(given), get_args(given)
    if origin in (typing_extensions.Required, typing_extensions.NotRequired):
        return _for_pydantic(parts[0])
    if origin is Annotated:
        return Annotated[(_for_pydantic(parts[0]), *parts[1:])]
    changed = tuple(map(_for_pydantic, parts)) if origin not in (None, Literal, Callable) else parts
    if changed == parts:
        return given
    return Union[changed] if origin in (Union, UnionType) else origin[changed]  # noqa: UP007


def _adapter(annotation: Any, given: Any) -> Any:
    import pydantic

    try:
        return pydantic.TypeAdapter(annotation)
    except (pydantic.errors.PydanticUserError, TypeError, NameError, AttributeError) as error:
        raise SchemaError(f"{given!r:.200} has no schema: {str(error).splitlines()[0]}", fix=FIX) from error


def _schema(adapter: Any, given: Any, as_published: bool = False) -> Json:
    import pydantic

    try:
        return adapter.json_schema() if as_published else adapter.json_schema(schema_generator=generator())
    except (pydantic.errors.PydanticUserError, TypeError, ValueError) as error:
        raise SchemaError(f"{given!r} has no schema: {str(error).splitlines()[0]}", fix=FIX) from error


def _arguments(function: Callable[..., Any]) -> Any:
    """A pydantic model of the arguments of a function."""
    import pydantic

    fields: dict[str, Any] = {}
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise SchemaError(
            f"the annotations of {function!r} cannot be read: {error}", fix="annotate with known types"
        ) from error
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise SchemaError(f"{function!r} takes *{name}, which is no named argument", fix="name every argument")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[name] = (hints.get(name, Any), default)
    return pydantic.create_model(function.__name__, __config__=pydantic.ConfigDict(extra="forbid"), **fields)
