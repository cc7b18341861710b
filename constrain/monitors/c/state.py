"""The state of the monitor of C, and what is open in it."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Union

from constrain.monitors.bound import EMPTY, Bound
from constrain.monitors.c.types import UNKNOWN, CScope, CType
from constrain.monitors.stacks import StackState

Frames = Union[tuple["CFrame", "Frames"], None]  # noqa: UP007
Scopes = Union[tuple[CScope, "Scopes"], None]  # noqa: UP007
NOTHING: frozenset[str] = frozenset()


class CFrame(NamedTuple):
    """An open part of a text: a bracket, a statement or a declaration.

    Attributes:
        kind: Of expressions: "group", "call", "index", "initializer", "?", "case", "condition", "for(". Of statements:
            "block", "if", "else", "loop", "do". Of declarations: "declaration", "level" (a declarator between
            parentheses), "parameters", "struct", "enum". "skip": a bracket whose content is not read.
        role: Of a declaration: "file", "block", "member", "parameter" or "type"; of a block: "expression" if it is one;
            of a loop: "for" if it has a scope; of a bracket that is skipped, and of an index: what comes after it; of
            parameters: "void" if that is all.
        value, prefix, plain: These fields of the state around it: of a call, its callee; of an initializer, its type.
        seen: Arguments or parameters so far; of "if": 1 once its first statement has ended.
        typedef: Whether a declaration declares types.
        base: The type of its specifiers; None: none was read.
        name, derived, pointers: Of the declarator that is read.
        more: Whether a list of parameters ends with `...`.
        parameters: The names of the parameters of a function that is declared.
        number: Of a structure.
        members: Its members so far.
    """

    kind: str
    role: str = ""
    value: CType = UNKNOWN
    prefix: tuple[Any, ...] = ()
    plain: bool = True
    seen: int = 0
    typedef: bool = False
    base: CType | None = None
    name: str = ""
    derived: tuple[Any, ...] = ()
    pointers: int = 0
    more: bool = False
    parameters: Bound | None = None
    number: int = 0
    members: Bound = EMPTY


class _CFields(NamedTuple):
    """The fields of `CState`.

    Attributes:
        scopes, frames: The stacks, the innermost first.
        at: The name of what may come next (monitor.py).
        structs: Number of a structure -> its members, once it is complete.
        made: Structures so far.
        held: The name or word whose meaning the next lexeme shows.
        value: The type of the operand that was read last, without what stands before it.
        prefix: What stands before it: "*", "&", "sizeof", or a `CType` that it is cast to; "": another operator.
        plain: Whether the expression is one operand so far.
        opens: Macros after which nothing is known.
        labels: The labels of the function so far; None: not all are known.
        sought: Labels that a `goto` named, still to come.
    """

    scopes: Scopes
    frames: Frames = None
    at: str = "outside"
    structs: Any = EMPTY
    made: int = 0
    held: str = ""
    value: CType = UNKNOWN
    prefix: tuple[Any, ...] = ()
    plain: bool = True
    opens: frozenset[str] = NOTHING
    labels: frozenset[str] | None = NOTHING
    sought: frozenset[str] = NOTHING


class CState(_CFields, StackState[CFrame]):
    """The state of a reading of C, after whole lexemes."""

    __slots__ = ()
    saved = ("value", "prefix", "plain")
    begun: ClassVar[dict[str, Any]] = {"value": UNKNOWN, "prefix": (), "plain": True}

    def enter_scope(self, names: Bound = EMPTY) -> CState:
        """The state inside a new scope."""
        return self._replace(scopes=(CScope(names), self.scopes))

    def leave_scope(self) -> CState:
        """The state outside the innermost scope."""
        assert self.scopes is not None
        return self._replace(scopes=self.scopes[1])


OPEN = CState(None, at="open")  # what follows is not read
