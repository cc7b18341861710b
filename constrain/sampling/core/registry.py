"""Tables of names, for what users choose by a string: methods, drafters, verifiers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from constrain.errors import ConstrainError

Value = TypeVar("Value")


class Registry(dict[str, Value]):
    """A dict of named values whose faults name the kind of the value and the names there are.

    Attributes:
        kind: the noun for messages, such as "method".
    """

    def __init__(self, kind: str, values: dict[str, Value]) -> None:
        super().__init__(values)
        self.kind = kind

    def named(self, name: str, also: Iterable[str] = ()) -> Value:
        """The value of a name.

        Args:
            name: the name.
            also: further names for the message, which the caller has handled.

        Raises:
            ConstrainError: no value has this name.
        """
        if name not in self:
            raise ConstrainError(f"there is no {self.kind} {name!r}", fix=self.choices(also))
        return self[name]

    def choices(self, also: Iterable[str] = ()) -> str:
        """The sentence that names what can be chosen."""
        return f"choose one of: {', '.join([*also, *sorted(self)])}"

    def add(self, name: str, value: Value) -> None:
        """Give a value a name. Raises ConstrainError: the name is taken."""
        if name in self:
            raise ConstrainError(f"there is a {self.kind} {name!r} already", fix="register it under another name")
        self[name] = value
