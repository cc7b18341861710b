"""The state of the monitor of TypeScript, and what is open in it."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Union

from constrain.monitors.bound import EMPTY, Bound
from constrain.monitors.stacks import StackState
from constrain.monitors.typescript.types import ANY, TsType

Frames = Union[tuple["TsFrame", "Frames"], None]  # noqa: UP007
Scopes = Union[tuple["Scope", "Scopes"], None]  # noqa: UP007
Facts = Union[Bound, None]  # noqa: UP007 - place -> its narrowed type; None: the text here is never reached
When = tuple[Facts, Facts]  # if a value is true, and if it is false


class Value(NamedTuple):
    """The known properties of an expression.

    Attributes:
        type: Its type.
        key: The place that it reads, as "x" or "this.x", by which facts know it; "": none.
        declared: Of a place, the type that it may be assigned.
        assigns: Whether it may stand before `=`.
        form: "integer", "number", "literal" (strings, arrays, objects and functions), "name", "chain" (members, calls
            and indices), "typeof", "null", "class", or "" for what operators gave.
        when: Facts if it is true, and if it is false; None: those of the state.
        base: Of a member, its object; of `typeof`, its operand.
        name: Of a member, its name.
    """

    type: TsType = ANY
    key: str = ""
    declared: TsType = ANY
    assigns: bool = False
    form: str = ""
    when: When | None = None
    base: Any = None
    name: str = ""


class Entry(NamedTuple):
    """The meaning of a name.

    Attributes:
        type: Its declared type.
        key: Its name in facts: a name that is declared in an inner scope has another one.
        kind: "const", "let", "parameter", "function" or "class".
        pending: Whether its initial value is still being read.
        tested: Of a constant that holds a condition, the places that the condition tells of.
    """

    type: TsType
    key: str
    kind: str = "const"
    pending: bool = False
    tested: tuple[str, ...] = ()


class Scope(NamedTuple):
    """A block, a function or the file.

    Attributes:
        names: name -> `Entry`.
        generics: The type parameters of a function or class.
        used: Names of outer scopes that were used in it.
        is_function: Whether it is the outermost scope of a function that runs later.
    """

    names: Bound = EMPTY
    generics: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()
    is_function: bool = False


class TsFrame(NamedTuple):
    """An open part of a text.

    Attributes:
        kind: Its kind. Of expressions that may be assignable to `goal`: "init", "statement", "group", "argument",
            "element", "property", "index", "condition", "return", "throw", "case", "template", "body" (of an arrow),
            "then", "else", "assign", "of". Of operators: "binary", "unary". Of types: "type", "type arguments",
            "type group". Of statements: "block", "if", "else", "loop", "do", "switch", "try", "function". Of
            declarations: "signature", "members", "class".
        role: What it is a part of, and so what follows it.
        goal: The type that is expected; None: any.
        hint: The type that the context gives to a literal that is all of it; None: none.
        value: An operand before it, of a call the callee.
        sign: Of an operator, its sign; of an assignment too.
        name: Of a declaration, its name.
        items: Parts that were read: arguments, elements, members, parameters.
        seen: How many were read.
        facts: Facts from before it, which hold again or are joined behind it.
        leaves: Facts where `break` leaves it.
        generics: TsType parameters that a declaration has so far.
        known: What is known of the type arguments of a generic call.
        signature: Of a call or a function, its signature.
        flags: Modifiers, and marks of the kind.
    """

    kind: str
    role: str = ""
    goal: TsType | None = None
    hint: TsType | None = None
    value: Value = Value()
    sign: str = ""
    name: str = ""
    items: tuple[Any, ...] = ()
    seen: int = 0
    facts: Facts = EMPTY
    leaves: Facts = None
    generics: tuple[str, ...] = ()
    known: tuple[tuple[str, TsType], ...] = ()
    signature: Any = None
    flags: frozenset[str] = frozenset()


class _Fields(NamedTuple):
    """The fields of `TypeScriptState`.

    Attributes:
        scopes, frames: The stacks, the innermost first.
        at: The name of what may come next (monitor.py).
        types: The declared types, name -> `TypeDefinition`.
        facts: The narrowed types at this place.
        value: The operand that was read last.
        type: The type that was read last.
        held: The name whose meaning the next lexeme shows.
    """

    scopes: Scopes
    types: Bound
    frames: Frames = None
    at: str = "statement"
    facts: Facts = EMPTY
    value: Value = Value()
    type: TsType = ANY
    held: str = ""


class TypeScriptState(_Fields, StackState[TsFrame]):
    """The state of a reading of TypeScript, after whole lexemes."""

    __slots__ = ()
    begun: ClassVar[dict[str, Any]] = {"value": Value()}

    def enter(self, names: Bound = EMPTY, generics: frozenset[str] = frozenset(), **more: Any) -> TypeScriptState:
        """The state inside a new scope."""
        return self._replace(scopes=(Scope(names, generics, **more), self.scopes))

    def leave(self) -> TypeScriptState:
        """The state outside the innermost scope, which passes on the names that it used."""
        inner, outer = self.scopes  # type: ignore[misc]
        if outer is None:
            return self._replace(scopes=outer)
        passed = {name for name in inner.used if name not in outer[0].names.table}
        return self._replace(scopes=(outer[0]._replace(used=outer[0].used | passed), outer[1]))


OPEN = TypeScriptState(None, EMPTY, at="open")  # what follows is not read
