"""Tables of names, for what users choose by a string: methods, drafters, verifiers.

A row may name a module of another package, which is then loaded only for those who ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import TypeVar

from constrain.errors import ConstrainError, did_you_mean

Value = TypeVar("Value")


class Registry(MutableMapping[str, Value]):
    """A dict of named values whose errors name the kind of the value and the names that exist.

    Attributes:
        kind: the noun for messages, such as "method".
        rows: name → value, or "module:attribute", which is imported when the name is first asked for.
    """

    def __init__(self, kind: str, rows: Mapping[str, Value | str]) -> None:
        self.kind = kind
        self.rows = dict(rows)

    def __getitem__(self, name: str) -> Value:
        row = self.rows[name]
        if not isinstance(row, str):
            return row
        module, _, attribute = row.partition(":")
        value: Value = getattr(import_module(module), attribute)
        self.rows[name] = value
        return value

    def __setitem__(self, name: str, value: Value) -> None:
        self.rows[name] = value

    def __delitem__(self, name: str) -> None:
        del self.rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def named(self, name: str, also: Iterable[str] = ()) -> Value:
        """The value of a name.

        Args:
            name: the name.
            also: further names for the message, which the caller has handled.

        Raises:
            ConstrainError: no value has this name.
        """
        if name not in self:
            raise ConstrainError(f"there is no {self.kind} {name!r}", fix=self.choices(also, name))
        return self[name]

    def choices(self, also: Iterable[str] = (), given: object = "") -> str:
        """The sentence that names what can be chosen. given: the name that was."""
        known = [*also, *sorted(self)]
        return did_you_mean(given, known, f"choose one of: {', '.join(known)}")

    def add(self, name: str, value: Value) -> None:
        """Give a value a name. Raises ConstrainError: the name is taken."""
        if name in self:
            raise ConstrainError(f"there is a {self.kind} {name!r} already", fix="register it under another name")
        self[name] = value
