"""The values that a text itself defines: functions with signatures, classes with members, instances, `self`.

The idea: these are values, equal when their texts say the same. A class is known once it ends, by the names that its
body binds and by its bases. `Self` stands for an object whose class is still being read: it names the scope of the
class.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from constrain.monitors.python.values import Signature


class PythonFunction(NamedTuple):
    """A function of the text.

    Attributes:
        signature: Its signature.
        lasts: Whether a name that has this value is taken to keep it.
        result: The value that it returns, as declared; None: it is not known.
        kind: "property", "class" or "static", by its decorator; "any": decorators may have changed it; "": none has.
            "guard": it narrows the type of its first argument.
    """

    signature: Signature
    lasts: bool
    result: Any = None
    kind: str = ""


class Method(NamedTuple):
    """A function of a class with its first argument bound. Attributes: as of `PythonFunction`."""

    signature: Signature
    lasts: bool = False
    result: Any = None
    kind: str = ""


class Class(NamedTuple):
    """A class of the text.

    Attributes:
        name: Its name.
        bound: The names that its body binds (`scopes.Bound`).
        bases: `Class` or `PythonValue`; None: they, or what decorators and a metaclass add, are not known.
        fields: Attributes that its methods store in `self`.
        is_decorated: Whether a decorator may have changed its signature.
        lasts: As of `PythonFunction`.
        declared: The types of attributes (`scopes.Bound` of `declared.Declared`).
    """

    name: str
    bound: Any
    bases: tuple[Any, ...] | None
    fields: frozenset[str]
    is_decorated: bool
    lasts: bool
    declared: Any = None


class Instance(NamedTuple):
    """An object of a class of the text."""

    of: Class
    lasts: bool = False


class Self(NamedTuple):
    """The first argument of a method, while its class is read.

    Attributes:
        depth: The number of scopes around the scope of the class.
        is_class: Whether it is the class, and not an instance.
        lasts: As of `PythonFunction`.
    """

    depth: int
    is_class: bool
    lasts: bool = True


class Attribute(NamedTuple):
    """An attribute that may be stored: it stands among names that `=` may bind.

    Attributes:
        name: Its name.
        depth: Of the `Self` that has it; None: of something else.
        is_missing: Whether it must be stored, since the object has none of this name.
    """

    name: str
    depth: int | None
    is_missing: bool


def signature_of(parameters: Iterable[str]) -> Signature:
    """The signature of a definition.

    Args:
        parameters: Names, with the stars before them and with "=" behind each one that has a default; "/" and "*".

    Returns:
        The signature.

    Example:
        >>> signature_of(["a", "/", "b=", "*", "c"]).positional
        ('', 'b')
    """
    placed: list[str] = []
    required: set[str | int] = set()
    keywords: set[str] = set()
    by_name = takes_any = takes_names = False
    for parameter in parameters:
        name = parameter.rstrip("=")
        if name == "/":
            required = {placed.index(need) for need in required if isinstance(need, str)}
            keywords -= set(placed)
            placed = [""] * len(placed)
        elif name.startswith("**"):
            takes_names = True
        elif name.startswith("*"):
            by_name, takes_any = True, takes_any or len(name) > 1
        else:
            keywords.add(name)
            required |= {name} if name == parameter else set()
            placed += [] if by_name else [name]
    most = None if takes_any else len(placed)
    return Signature(tuple(placed), most, frozenset(required), None if takes_names else frozenset(keywords))


def bound_signature(signature: Signature) -> Signature | None:
    """The signature without the first argument; None: it takes none."""
    positional, most, required, keywords = signature
    if not positional:
        return signature if most is None else None
    first = positional[0]
    rest = frozenset(need - 1 if isinstance(need, int) else need for need in required if need not in (0, first))
    names = None if keywords is None else keywords - {first}
    return Signature(positional[1:], None if most is None else most - 1, rest, names)
