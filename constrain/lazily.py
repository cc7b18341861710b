"""Compute or import at the first use, and remember: attributes of objects, names and packages of a module, values by
key."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")
EACH = 512  # bytes of a key and of what holds it, for a bound in bytes; an estimate
_lock = threading.Lock()


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # the thread that holds it may be the parent's only
    os.register_at_fork(after_in_child=_renew_lock)


class Remembered(dict[K, T]):
    """Values by key that can be made again. Where they are too many, the older half goes. Threads may share it.

    Args:
        limit: the most values; with `weigh`, the most that they weigh, of which a single value may be more.
        weigh: the weight of a key and its value; None: 1.

    Attributes:
        size: What the values weigh, where they are weighed.

    Example:
        >>> from constrain.lazily import Remembered
        >>> squares = Remembered(3)
        >>> [squares.keep(n, n * n) for n in range(4)], list(squares)
        ([0, 1, 4, 9], [2, 3])
    """

    __slots__ = ("limit", "size", "weigh")

    def __init__(self, limit: int, weigh: Callable[[K, T], int] | None = None) -> None:
        super().__init__()
        self.limit, self.weigh, self.size = limit, weigh, 0

    def keep(self, key: K, value: T) -> T:
        """Remember a value as the latest, and return it."""
        if self.weigh is None and key not in self and len(self) < self.limit:  # PERF: most often, and without the lock
            self[key] = value
            return value
        with _lock:
            weigh, total = self.weigh, self.size
            if key in self:
                before = self.pop(key)
                total -= weigh(key, before) if weigh else 0
            self[key] = value
            total = total + weigh(key, value) if weigh else len(self)
            while total > self.limit and len(self) > 1:
                for oldest in list(self)[: len(self) // 2]:
                    del self[oldest]
                total = sum(weigh(*each) for each in self.items()) if weigh else len(self)
            self.size = total  # once: other threads never read more than the limit
        return value

    def clear(self) -> None:
        """Forget all."""
        with _lock:
            super().clear()
            self.size = 0


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
