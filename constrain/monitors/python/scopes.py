"""Scopes, blocks and brackets of Python. All are values.

The idea: three stacks, the innermost first. *Scopes* have the names that are bound: the module, functions and classes.
*Blocks* have columns. *Frames* are what is open in a statement: brackets, lambdas, f-strings and their fields.
A name that is not bound when it is used may still be bound later where Python looks then: by the `for` of a
comprehension (`PythonFrame.uses`), or by a statement (`PythonScope.pending`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Union

from constrain.monitors.bound import EMPTY, Bound
from constrain.monitors.python.values import PythonCall

Frames = Union[tuple["PythonFrame", "Frames"], None]  # noqa: UP007
Blocks = Union[tuple["PythonBlock", "Blocks"], None]  # noqa: UP007
Scopes = Union[tuple["PythonScope", "Scopes"], None]  # noqa: UP007
NOTHING: frozenset[str] = frozenset()
INLINE = -1  # the column of a block that stands in the line of its head
UNKNOWN = -2  # the column of a block whose first line has not begun


class PythonScope(NamedTuple):
    """A module, a function or a class.

    Attributes:
        kind: "module", "function" or "class".
        bound: Its names so far.
        pending: Names that were used and must be bound state or further out before the text ends.
        elsewhere: Names that are declared `global` or `nonlocal` state.
        shared: Its names that a function declares so: their values are never known.
        open: Whether names may be bound that no statement shows.
        name, bases, fields, decorated: Of a class: as of `definitions.Class`.
        stored: Of the module: attributes that were stored in objects whose class is not known; "*": any.
        declared: Names, and of a class attributes in `self`, with the types that they keep (`declared.Declared`).
        loose: Names whose type a test narrows to one that is not known.
        owed: Of a class: attributes that were used in `self`, and must be bound before it ends.
    """

    kind: str
    bound: Bound = EMPTY
    pending: frozenset[str] = NOTHING
    elsewhere: frozenset[str] = NOTHING
    shared: frozenset[str] = NOTHING
    open: bool = False
    name: str = ""
    bases: tuple[Any, ...] | None = ()
    fields: frozenset[str] = NOTHING
    decorated: bool = False
    stored: frozenset[str] = NOTHING
    declared: Bound = EMPTY
    loose: frozenset[str] = NOTHING
    owed: frozenset[str] = NOTHING


class PythonBlock(NamedTuple):
    """A block of statements.

    Attributes:
        head: The word of its statement.
        column: The column of its lines, or `INLINE`, or `UNKNOWN`.
        before: The names of its scope where it began; None: it has a scope of its own.
        doubt: Whether it may not run, or is expected to fail.
    """

    head: str
    column: int
    before: Bound | None
    doubt: bool


class PythonFrame(NamedTuple):
    """An open part of a statement: a bracket, a lambda, an f-string or a field of one.

    Attributes:
        kind: "(", "[", "{", "call", "index", "params", "lambda params", "lambda", "typeparams", "names", "fstring",
            "field" or "pattern".
        able: Whether a comprehension may stand here, whose names were used before `for`.
        uses: Names that were used and are not bound, and attributes that may be stored.
        names: Names of a comprehension, or parameters.
        listed: Parameters as `signature_of` takes them.
        comprehends: Whether `for` was read.
        binding, targets, plain: These fields of the state around it (state.py).
        call: The call that is open.
        opening: Of an f-string: the piece that goes on after an expression.
        pairs: Whether a colon was read.
        commas: Whether a comma was read.
        generates: Whether that is usual here: in brackets, and in calls of functions that take many things.
        of, name: What is called or indexed, where types are declared, and its last name.
        loop: The names that `for` binds, while what they go through is read.
        types: Names of a comprehension and their types.
    """

    kind: str
    able: bool = False
    uses: frozenset[Any] = NOTHING
    names: frozenset[str] = NOTHING
    listed: tuple[str, ...] = ()
    comprehends: bool = False
    binding: bool = False
    targets: bool = False
    plain: bool = False
    call: PythonCall | None = None
    opening: bytes = b""
    pairs: bool = False
    commas: bool = False
    generates: bool = False
    of: Any = None
    name: str = ""
    loop: tuple[str, ...] = ()
    types: tuple[tuple[str, Any], ...] = ()


def function_scope(parameters: Iterable[str], first: Any = None, declared: Bound = EMPTY) -> PythonScope:
    """The scope of a function.

    parameters: As `signature_of` takes them. first: The value of the first one. declared: Of `PythonScope`.
    """
    table = dict.fromkeys(name.strip("*=/") for name in parameters)
    table.pop("", None)
    if first is not None:
        table[next(iter(table))] = first
    return PythonScope("function", Bound(table), declared=declared)
