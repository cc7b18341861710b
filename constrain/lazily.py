"""Compute or import at the first use: attributes of objects, names and packages of a module."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class lazily(Generic[T]):
    """A decorator like `functools.cached_property` of Python 3.12, which takes no lock.

    PERF: older versions take a lock: 0.7 instead of 0.15 µs, several times for each schema that is compiled.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, owner: Any, kind: type[Any]) -> T:
        value: T = self.compute(owner)
        owner.__dict__[self.compute.__name__] = value  # found before this descriptor from now on
        return value


def names_from(home: str, names: Iterable[str], package: str) -> Callable[[str], object]:
    """Make the `__getattr__` of a package that offers names of another one, which is imported when one is asked for.

    Args:
        home: the package that has them, such as "constrain.papers".
        names: what is offered.
        package: the package that offers them, for the message of an unknown name.

    Returns:
        The function. It raises AttributeError for a name that is not offered.
    """
    offered = frozenset(names)

    def find(name: str) -> object:
        if name not in offered:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home), name)

    return find
