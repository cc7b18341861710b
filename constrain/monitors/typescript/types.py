"""Types of TypeScript, as values.

    kind                                               name               parts
    any (`BEYOND`: not known), unknown, never, void,
    undefined, null, number, string
    literal                                            its text           the kind of its base: string, number, boolean
    array                                                                 the type of its elements
    object                                                                its `Member`s
    function                                                              its `TsSignature`
    union                                                                 types; boolean is true | false
    named, of an interface, a class or an alias        its name           its arguments
    class: the value that `new` takes                  its name
    parameter: a type parameter where it is declared   its name

Fresh types are those of literals in expressions: a variable that is bound to one has the wider type (`widen`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from constrain.monitors.bound import EMPTY, Bound


class TsType(NamedTuple):
    """A type; the module says which."""

    kind: str
    name: str = ""
    parts: tuple[Any, ...] = ()
    fresh: bool = False


class Member(NamedTuple):
    """A member of an object.

    Attributes:
        name: Its name.
        type: Its type.
        optional: Whether it may be missing.
        readonly: Whether it cannot be assigned.
        is_method: Whether it was written as a method.
        owner: The class that alone may use it, as it is private; "": any code.
    """

    name: str
    type: TsType
    optional: bool = False
    readonly: bool = False
    is_method: bool = False
    owner: str = ""


class TsParameter(NamedTuple):
    """A parameter of a function."""

    name: str
    type: TsType
    optional: bool = False
    rest: bool = False


class TsSignature(NamedTuple):
    """The parameters and the result of a function, and the names of its type parameters."""

    parameters: tuple[TsParameter, ...]
    result: TsType
    generics: tuple[str, ...] = ()

    @property
    def required(self) -> int:
        """The number of arguments that a call needs."""
        return sum(not (each.optional or each.rest) for each in self.parameters)

    def parameter(self, index: int) -> TsParameter | None:
        """The parameter that takes an argument; None: there is none. Of a rest parameter the type of one argument."""
        if index < len(self.parameters) and not self.parameters[index].rest:
            return self.parameters[index]
        if self.parameters and self.parameters[-1].rest:
            last = self.parameters[-1]
            return last._replace(type=last.type.parts[0] if last.type.kind == "array" else ANY)
        return None


class TypeDefinition(NamedTuple):
    """A declared type.

    Attributes:
        kind: "interface", "class", "alias", or "open": nothing is known of it.
        generics: The names of its type parameters.
        members: name -> `Member`.
        bases: The types that it extends.
        target: Of an alias, its type.
        statics: Of a class, name -> `Member`.
        new: Of a class, the parameters of its constructor.
        complete: Whether its declaration has ended.
    """

    kind: str
    generics: tuple[str, ...] = ()
    members: Bound = EMPTY
    bases: tuple[TsType, ...] = ()
    target: TsType | None = None
    statics: Bound = EMPTY
    new: TsSignature | None = None
    complete: bool = True


ANY, UNKNOWN, NEVER, VOID = TsType("any"), TsType("unknown"), TsType("never"), TsType("void")
BEYOND = TsType("any", "beyond")  # a type that the compiler knows, and this monitor does not
UNDEFINED, NULL, NUMBER, STRING = TsType("undefined"), TsType("null"), TsType("number"), TsType("string")
TRUE, FALSE = TsType("literal", "true", ("boolean",)), TsType("literal", "false", ("boolean",))
BOOLEAN = TsType("union", "", (FALSE, TRUE))
PRIMITIVES = {
    "any": ANY, "unknown": UNKNOWN, "never": NEVER, "void": VOID, "undefined": UNDEFINED, "null": NULL,
    "number": NUMBER, "string": STRING, "boolean": BOOLEAN, "true": TRUE, "false": FALSE, "object": ANY,
    "symbol": ANY, "bigint": ANY,
}  # fmt: skip
BASES = {"string": STRING, "number": NUMBER, "boolean": BOOLEAN}
_TYPES = ("bigint", "boolean", "function", "number", "object", "string", "symbol", "undefined")
TYPEOF = TsType("union", "", tuple(TsType("literal", name, ("string",)) for name in _TYPES))


def literal(text: str, base: str, fresh: bool = True) -> TsType:
    """The type of a literal."""
    return TsType("literal", text, (base,), fresh)


def array(element: TsType, fresh: bool = False) -> TsType:
    """The type of arrays of a type."""
    return TsType("array", "", (element,), fresh)


def function(signature: TsSignature) -> TsType:
    """The type of functions with a signature."""
    return TsType("function", "", (signature,))


def constituents(type_: TsType) -> tuple[TsType, ...]:
    """The types that a union is made of; another type is its own."""
    return type_.parts if type_.kind == "union" else (type_,)


def union(types: Iterable[TsType]) -> TsType:
    """The union of some types: without literals whose base is in it."""
    found: dict[TsType, TsType] = {}
    for type_ in types:
        for part in constituents(type_):
            if part.kind == "any":
                return part
            plain = part._replace(fresh=False)
            if part.kind != "never" and (plain not in found or found[plain].fresh):
                found[plain] = part
    if any(part.kind == "unknown" for part in found):
        return UNKNOWN
    bases = {part.kind for part in found}
    kept = tuple(sorted(part for part in found.values() if part.kind != "literal" or part.parts[0] not in bases))
    return NEVER if not kept else kept[0] if len(kept) == 1 else TsType("union", "", kept)


def map_parts(type_: TsType, change: Callable[[TsType], TsType]) -> TsType:
    """A type with the types in it changed."""
    if type_.kind == "union":
        return union(change(part) for part in type_.parts)
    if type_.kind in ("array", "named"):
        return type_._replace(parts=tuple(change(part) for part in type_.parts))
    if type_.kind == "object":
        return type_._replace(parts=tuple(each._replace(type=change(each.type)) for each in type_.parts))
    if type_.kind == "function":
        return function(map_signature(type_.parts[0], change))
    return type_


def map_signature(signature: TsSignature, change: Callable[[TsType], TsType]) -> TsSignature:
    """A signature with the types in it changed."""
    parameters = tuple(each._replace(type=change(each.type)) for each in signature.parameters)
    return TsSignature(parameters, change(signature.result), signature.generics)


def widen(type_: TsType) -> TsType:
    """The type of a variable that is bound to a value without a type being written."""
    if type_.kind == "literal":
        return BASES[type_.parts[0]] if type_.fresh else type_
    if type_.kind == "union" or (type_.fresh and type_.kind in ("array", "object")):
        return map_parts(type_, widen)._replace(fresh=False)
    return type_


def plain(type_: TsType) -> TsType:
    """A type that is not fresh."""
    if type_.kind == "union" or type_.fresh:
        return map_parts(type_, plain)._replace(fresh=False)
    return type_


def substitute(type_: TsType, known: Mapping[str, TsType]) -> TsType:
    """A type with the type parameters replaced that are known."""
    if not known:
        return type_
    if type_.kind == "parameter":
        return known.get(type_.name, type_)
    return map_parts(type_, lambda part: substitute(part, known))
