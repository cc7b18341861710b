"""The values of variables, as far as they are known: an example of the value, or its type.

Jinja's `a.b` is the attribute b of a, or else its item "b". So a mapping has its keys beside its methods, and of an
object whose class has items nothing is known. Names that begin with an underline are left out, as Jinja's sandbox does.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, cast

from constrain.monitors.jinja.words import LOOP
from constrain.monitors.python import values as of_python
from constrain.monitors.python.values import NONE, Holder

Role = Literal["example", "type", "loop"]
TEXTUAL = (str, bytes, bytearray)
WITHOUT_NAMES = (*TEXTUAL, list, tuple, range, memoryview)  # their items have no names


class JinjaValue(NamedTuple):
    """A value of a template, as far as it is known.

    Attributes:
        key: The identity of `what.obj`.
        what: Holds an object.
        role: "example": the value is like the object; "type": it has this type; "loop": it is the variable `loop`.
    """

    key: int
    what: Holder
    role: Role

    @property
    def lasts(self) -> bool:
        """True: a name keeps its value (`Bound`)."""
        return True


def example(obj: Any) -> JinjaValue | None:
    """A value like an object; None: nothing is known of it."""
    return None if obj is None else JinjaValue(id(obj), Holder(obj, True), "example")


@lru_cache(maxsize=4096)
def _holder(hint: Any) -> Holder:
    """One holder for equal types, which may be new objects each time."""
    return Holder(hint, True)


def typed_value(hint: Any) -> JinjaValue | None:
    """A value with a type, which may be a generic one; None: nothing is known of it."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        others = [one for one in typing.get_args(hint) if one is not NONE]
        return typed_value(others[0]) if len(others) == 1 else None
    if origin is typing.Annotated or origin in _QUALIFIERS:
        return typed_value(typing.get_args(hint)[0])
    if hint in (Any, object, NONE) or not isinstance(origin or hint, type):
        return None
    holder = _holder(hint)
    return JinjaValue(id(holder.obj), holder, "type")


_QUALIFIERS = {getattr(typing, name, None) for name in ("Required", "NotRequired", "ReadOnly", "ClassVar", "Final")} - {
    None
}
THE_LOOP = JinjaValue(0, Holder(None), "loop")


def _python_value(value: JinjaValue) -> of_python.PythonValue:
    """A value of a template, as the monitor of Python looks at it."""
    obj = value.what.obj
    if value.role == "type":
        return of_python.instance_of(typing.get_origin(obj) or obj, by_user=True)
    return of_python.value_of(obj, by_user=True)


@lru_cache(maxsize=4096)
def attributes(value: JinjaValue) -> frozenset[str] | None:
    """The names that may stand after `value.`; None: any."""
    if value.role == "loop":
        return LOOP
    obj = value.what.obj
    cls = (typing.get_origin(obj) or obj) if value.role == "type" else type(obj)
    if value.role == "type" and typing.is_typeddict(cls):
        names: Iterable[str] = {*_hints(cast(Hashable, cls)), *dir(dict)}
    elif value.role == "example" and isinstance(obj, Mapping) and not hasattr(cls, "__missing__"):
        names = {*(key for key in obj if isinstance(key, str)), *dir(cls)}
    elif hasattr(cls, "__getitem__") and not issubclass(cls, WITHOUT_NAMES):
        return None
    else:
        python_names = of_python.attributes(_python_value(value))
        if python_names is None:
            return None
        names = python_names
    return frozenset(name for name in names if not name.startswith("_"))


@lru_cache(maxsize=4096)
def attribute(value: JinjaValue, name: str) -> JinjaValue | None:
    """The value of `value.name`; None: nothing is known of it."""
    obj = value.what.obj
    if value.role == "loop":
        return None
    if value.role == "example" and isinstance(obj, Mapping):
        return example(obj[name]) if name in obj and not hasattr(type(obj), name) else None
    if value.role == "type" and name in (hints := _hints(obj)):
        return typed_value(hints[name])
    if value.role == "type" and _is_mapping(obj) and not hasattr(dict, name):
        return item(value)
    member = of_python.attribute(_python_value(value), name)
    if member is None or member.role == "method":
        return None if member is None else JinjaValue(member.key, member.what, "example")
    return typed_value(member.what.obj) if member.role == "instance" else example(member.what.obj)


def _is_mapping(hint: Any) -> bool:
    cls = typing.get_origin(hint) or hint
    return isinstance(cls, type) and issubclass(cls, Mapping) and not typing.is_typeddict(cls)


@lru_cache(maxsize=4096)
def _hints(cls: Hashable) -> dict[str, Any]:
    """The annotations of a class; none if they cannot be read."""
    try:
        return typing.get_type_hints(cast(Any, cls))
    except Exception:  # an annotation may be anything
        return {}


@lru_cache(maxsize=4096)
def element(value: JinjaValue) -> JinjaValue | None:
    """The value of each element, in `for x in value`; None: nothing is known of it."""
    obj = value.what.obj
    if value.role == "example":
        return None if isinstance(obj, TEXTUAL) or not isinstance(obj, Collection) else _common_example(obj)
    return _argument(obj, 0) if value.role == "type" else None


@lru_cache(maxsize=4096)
def item(value: JinjaValue) -> JinjaValue | None:
    """The value of `value[…]`, whatever stands there; None: nothing is known of it."""
    obj = value.what.obj
    if value.role == "example":
        return _common_example(obj.values()) if isinstance(obj, Mapping) else element(value)
    return _argument(obj, -1) if value.role == "type" else None


def _argument(hint: Any, index: int) -> JinjaValue | None:
    """The first or last argument of a generic type, if all elements have it."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if not arguments or not isinstance(origin, type) or not issubclass(origin, Iterable):
        return None
    if origin is tuple:
        arguments = arguments[:1] if arguments[1:] in ((), (...,)) else ()
    elif issubclass(origin, Mapping) != (len(arguments) == 2):
        return None
    return typed_value(arguments[index]) if arguments else None


def _common_example(objects: Iterable[Any]) -> JinjaValue | None:
    """The value that all of some objects are like: the first one, if the others have its shape; else None."""
    known = [*objects]
    if not known or any(_shape(one) != _shape(known[0]) for one in known):
        return None
    return example(known[0])


def _shape(obj: Any) -> Any:
    """The shape of an example: equal shapes make examples alike."""
    if isinstance(obj, Mapping):
        return type(obj), tuple(sorted((str(key), _shape(value)) for key, value in obj.items()))
    if isinstance(obj, Sequence) and not isinstance(obj, TEXTUAL):
        return type(obj), tuple(map(_shape, obj))
    return type(obj)


def call_result(value: JinjaValue) -> JinjaValue | None:
    """The value of the result of a call, by the annotation of a function; None: nothing is known of it."""
    if value.role != "example" or not callable(value.what.obj):
        return None
    try:
        return typed_value(typing.get_type_hints(value.what.obj).get("return", Any))
    except Exception:  # an annotation may be anything
        return None
