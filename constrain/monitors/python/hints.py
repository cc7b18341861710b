"""Types that annotations declare, as values: `list[str]`, `X | None`, `"Later"`.

The idea: an annotation is a tree, and a function finds what its names stand for: in the text, in a module that is
looked at, in a stub. What is found becomes the value of an object with that type. A part that is not known makes the
whole unknown (None), so that nothing is refused for it. `X | None` has what X has: whether None was ruled out is for a
type checker.
"""

from __future__ import annotations

import ast
import collections.abc
import types
import typing
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from constrain.monitors.python.definitions import Class, Instance, Self
from constrain.monitors.python.values import NONE, PythonValue, instance_of, value_of

LONGEST = 400  # characters of an annotation that is read
# Forms whose first argument is the type, and forms that say nothing of attributes.
FIRST = frozenset({"Annotated", "ClassVar", "Final", "InitVar", "NotRequired", "ReadOnly", "Required"})
ANYTHING: tuple[Any, ...] = (object, collections.abc.Callable)
GUARDS = frozenset({"TypeGuard", "TypeIs"})
CONTAINERS = frozenset(
    "list set frozenset dict deque defaultdict OrderedDict Iterable Iterator Generator Collection Container Reversible"
    " Sequence MutableSequence Set MutableSet Mapping MutableMapping KeysView ValuesView AsyncIterator AsyncIterable"
    " AsyncGenerator".split()
)  # classes whose first type argument is what `for` gets
CONTAINER_MODULES = frozenset({"builtins", "collections", "collections.abc", "typing"})
Things = Callable[[str], Any]  # a dotted name -> the class, module or `Alias` that it stands for; None: it is not known


class TypeUnion(NamedTuple):
    """An object of one of some types. It is taken to have the attributes of each of them."""

    options: tuple[Any, ...]
    lasts: bool = False


class Later(NamedTuple):
    """An object of the class of the text that has this name, where the object is used."""

    name: str
    is_class: bool = False
    lasts: bool = False


class Alias(NamedTuple):
    """A name for a type. of: The value of an object with it; None: it is not known.

    As a value of a name, `NOTHING_KNOWN` says that it has got another value than its declared type tells.
    """

    of: Any
    lasts: bool = True


class Declared(NamedTuple):
    """The type that a name keeps. of: The value of an object with it; None: any. is_stated: whether an annotation
    says so; else it is that of all values that the name was bound to."""

    of: Any
    is_stated: bool


NOTHING_KNOWN = Alias(None)
ITSELF = Later("Self")  # an object of the class of the method that is called
ABSENT = instance_of(NONE, by_user=True)


def one_of(*values: Any) -> Any:
    """The value that is one of some values; None: one of them is not known."""
    options: dict[Any, Any] = {}  # one for each class: what their arguments differ in is not known
    for value in values:
        if value is None:
            return None
        for each in value.options if isinstance(value, TypeUnion) else (value,):
            is_instance = isinstance(each, PythonValue) and each.role == "instance"
            key = (each.key, "instance") if is_instance else each
            before = options.setdefault(key, each)
            if before != each:
                pairs = zip(before.args, each.args, strict=False)
                options[key] = before._replace(args=tuple(a if a == b else one_of(a, b) for a, b in pairs))
    kept = tuple(options.values())
    return kept[0] if len(kept) == 1 else TypeUnion(kept) if kept else None


def is_object(value: Any) -> bool:
    """True if a value is one of an object whose class is known, and not the class or a function."""
    if isinstance(value, PythonValue):
        return value.role == "instance"
    return isinstance(value, TypeUnion | Instance) or (isinstance(value, Later | Self) and not value.is_class)


def only(value: Any) -> Any:
    """A value, or its only option that is not None."""
    options = present(value)
    return options[0] if len(options) == 1 else value


def present(value: Any) -> tuple[Any, ...]:
    """The values that a value may be, without None."""
    options = value.options if isinstance(value, TypeUnion) else (value,)
    return tuple(option for option in options if option != ABSENT)


@lru_cache(maxsize=4096)
def parsed(text: str) -> ast.expr | None:
    """The tree of an annotation; None: it is none, or it is too long."""
    if len(text) > LONGEST:
        return None
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


def dotted(node: ast.AST) -> str:
    """The dotted name that an expression is; "": it is none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def declared(node: ast.expr | None, things: Things) -> Any:
    """The value of an object with an annotation; None: nothing is known of it."""
    match node:
        case ast.Constant(value=None):
            return ABSENT
        case ast.Constant(value=str(text)):
            return declared(parsed(text), things)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return one_of(declared(left, things), declared(right, things))
        case ast.Name() | ast.Attribute():
            return object_of(things(dotted(node)))
        case ast.Subscript(value=form, slice=inner):
            return _subscripted(things(dotted(form)), inner, things)
    return None


def object_of(thing: Any, args: tuple[Any, ...] = ()) -> Any:
    """The value of an object with a type, which is given as the value of a name."""
    match thing:
        case Alias():
            return thing.of
        case Class():
            return Instance(thing)
        case Self(is_class=True):
            return Self(thing.depth, False)
        case Later():
            return thing._replace(is_class=False)
        case PythonValue(role="object"):
            return _object_of(thing.what.obj, args)
    return None


def class_of(value: Any) -> Any:
    """The value of the class of an object; None: it is not known."""
    match value:
        case Instance():
            return value.of
        case Self(is_class=False):
            return Self(value.depth, True)
        case Later():
            return value._replace(is_class=True)
        case PythonValue(role="instance"):
            return value_of(value.what.obj)
    return None


def _object_of(hint: Any, args: tuple[Any, ...] = ()) -> Any:
    """The value of an object with a type that Python has as an object: a class, `list[str]`, `Optional[int]`."""
    origin = typing.get_origin(hint)
    if hint is None or hint is NONE:
        return ABSENT
    if getattr(hint, "__name__", "") == "Self" and getattr(hint, "__module__", "") in ("typing", "typing_extensions"):
        return ITSELF
    if getattr(hint, "_name", "") == "LiteralString":
        return instance_of(str, by_user=True)
    if isinstance(hint, type) and origin is None:
        name = hint.__name__ if hint.__module__ in ("typing", "typing_extensions") else ""
        is_any = hint in ANYTHING or name == "Any"
        return None if is_any else instance_of(hint, by_user=True, args=args)
    if origin is typing.Union or origin is types.UnionType:
        return one_of(*map(_object_of, typing.get_args(hint)))
    if origin is typing.Annotated:
        return _object_of(typing.get_args(hint)[0])
    if origin is typing.Literal:
        return one_of(*(instance_of(type(each), by_user=True) for each in typing.get_args(hint)))
    if origin is type:
        return None
    if isinstance(origin, type) and origin not in ANYTHING:
        given = args or tuple(each if each is ... else _object_of(each) for each in typing.get_args(hint))
        return instance_of(origin, by_user=True, args=given)
    return None


def _subscripted(thing: Any, inner: ast.expr, things: Things) -> Any:
    """The value of an object with a type that has arguments."""
    arguments = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    obj = thing.what.obj if isinstance(thing, PythonValue) and thing.role == "object" else None
    name = getattr(obj, "__name__", None) or getattr(obj, "_name", None) or ""
    is_form = getattr(obj, "__module__", "") in ("typing", "typing_extensions", "dataclasses", "builtins")
    if not is_form or name == "Callable" or not arguments:
        pass
    elif name == "Optional":
        return one_of(declared(arguments[0], things), ABSENT)
    elif name == "Union":
        return one_of(*(declared(each, things) for each in arguments))
    elif name in FIRST:
        return declared(arguments[0], things)
    elif name in GUARDS:
        return instance_of(bool, by_user=True)
    elif name in ("type", "Type"):
        return class_of(declared(arguments[0], things))
    elif name == "Literal":
        kinds = [type(each.value) if isinstance(each, ast.Constant) else None for each in arguments]
        return one_of(*(None if kind is None else instance_of(kind, by_user=True) for kind in kinds))
    if name == "Callable":
        return None
    if isinstance(thing, Class | Self | Later):
        return object_of(thing)
    given = tuple(
        ... if isinstance(each, ast.Constant) and each.value is ... else declared(each, things) for each in arguments
    )
    return None if obj is None else object_of(thing, given)


def element(value: Any) -> Any:
    """The value of what a container gives to `for`, if its type's arguments say it."""
    if not isinstance(value, PythonValue) or value.role != "instance":
        return None
    cls, args = value.what.obj, value.args
    if cls is tuple:
        return args[0] if args[1:] == (...,) else one_of(*args) if args else None
    if cls in (str, bytes):
        return instance_of(str if cls is str else int, by_user=True)
    return args[0] if args and cls.__name__ in CONTAINERS and cls.__module__ in CONTAINER_MODULES else None
