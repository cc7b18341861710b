"""Compute or import at the first use: attributes of objects, names and packages of a module."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pathlib import Path
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


class later:
    """A package whose names are loaded when they are asked for: `later("constrain.reports").vote`."""

    def __init__(self, home: str) -> None:
        self._home = home

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._home), name)


def names_of_stub(init: str) -> dict[str, str]:
    """The names that a package offers, and the module of each: the lines `from … import … as …` of its stub.

    Args:
        init: the `__file__` of the package, beside which its `__init__.pyi` stands.
    """
    stub = Path(init).with_suffix(".pyi").read_text(encoding="utf-8")
    return {name: module for module, name in re.findall(r"^from ([\w.]+) import \w+ as (\w+)", stub, re.MULTILINE)}


def loader(package: str, homes: Mapping[str, str], packages: Collection[str] = ()) -> Callable[[str], Any]:
    """Make the `__getattr__` of a package that loads each of its names when it is first used.

    Args:
        package: its name.
        homes: the module of each name, as `names_of_stub` gives them, or a package that offers it.
        packages: names of packages inside it.

    Returns:
        The function. It raises AttributeError for a name that is not offered.
    """

    def find(name: str) -> Any:
        if name in packages:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
