"""Types, names and scopes of C. All are values.

A type is a base and what is derived from it, the outermost first: `struct s *a[3]` is an array of pointers to the base.
A structure is a number; the state has its members, so that a type may be used before it is complete.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from constrain.monitors.bound import EMPTY, Bound

POINTER, ARRAY = "*", "["


class Arity(NamedTuple):
    """A function as a derived type.

    Attributes:
        number: The number of its parameters; None: it is not known.
        more: Whether more arguments may follow.
    """

    number: int | None
    more: bool


class CType(NamedTuple):
    """A type.

    Attributes:
        derived: `POINTER`, `ARRAY` or an `Arity` each, the outermost first.
        base: The number of a structure or union, "scalar", "void", or None: it is not known.
    """

    derived: tuple[Any, ...]
    base: int | str | None

    @property
    def target(self) -> CType:
        """The type of the value that this one points to, or has as elements."""
        if self.derived and self.derived[0] in (POINTER, ARRAY):
            return CType(self.derived[1:], self.base)
        return self if self.derived and self.base is not None else UNKNOWN

    @property
    def arity(self) -> Arity | None:
        """The arity of a call of the value; None: it is not known."""
        inner = self.derived[1:] if self.derived[:1] == (POINTER,) else self.derived
        return inner[0] if inner and isinstance(inner[0], Arity) else None

    @property
    def result(self) -> CType:
        """The type of the result of a call."""
        inner = self.derived[1:] if self.derived[:1] == (POINTER,) else self.derived
        return CType(inner[1:], self.base) if inner and isinstance(inner[0], Arity) else UNKNOWN


UNKNOWN, SCALAR, VOID = CType((), None), CType((), "scalar"), CType((), "void")


class CName(NamedTuple):
    """The meaning of a name.

    Attributes:
        kind: "type", "value", or "macro": with arguments that are not read.
        type: Its type.
    """

    kind: str
    type: CType = UNKNOWN


class CScope(NamedTuple):
    """A file, a function, a block or a list of parameters.

    Attributes:
        names: name -> `CName`.
        tags: Tag of a structure or union -> its number.
    """

    names: Bound = EMPTY
    tags: Bound = EMPTY
