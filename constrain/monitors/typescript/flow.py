"""Narrowed types: facts about places, at one point of a text, as the compiler's analysis of control flow has them.

A fact that a later assignment may undo, as in a loop, is the type ANY: nothing is refused because of it.
"""

from __future__ import annotations

from collections.abc import Callable

from constrain.monitors.bound import Bound
from constrain.monitors.typescript.relations import (
    OBJECTS,
    comparable,
    flat,
    is_assignable,
    members_of,
    own_members,
    read_type,
)
from constrain.monitors.typescript.state import Facts, Value
from constrain.monitors.typescript.types import ANY, BASES, BOOLEAN, TsType, constituents, plain, union

Change = Callable[[TsType], TsType]
UNITS = frozenset({"literal", "null", "undefined"})
FALSY = frozenset({"false", "", "0"})
KINDS = {"string": "string", "number": "number", "undefined": "undefined", "boolean": "boolean"}


def join(one: Facts, other: Facts) -> Facts:
    """The facts where two ways meet."""
    if one is None or other is None or one == other:
        return other if one is None else one
    return Bound({key: union([type_, other.table[key]]) for key, type_ in one.table.items() if key in other.table})


def forget(facts: Facts, key: str) -> Facts:
    """The facts without those about a place and what is in it."""
    if facts is None or not key:
        return facts
    return Bound({k: v for k, v in facts.table.items() if k != key and not k.startswith(key + ".")})


def doubt(facts: Facts, is_fixed: Callable[[str], bool]) -> Facts:
    """The facts where other code may have run: of places that may have changed nothing is certain."""
    if facts is None:
        return None
    return Bound({key: type_ if is_fixed(key) else _doubted(type_) for key, type_ in facts.table.items()})


def _doubted(type_: TsType) -> TsType:
    return BOOLEAN if all(part[2] == ("boolean",) for part in constituents(type_)) else ANY


def assigned(facts: Facts, key: str, declared: TsType, given: TsType, types: Bound) -> Facts:
    """The facts after an assignment to a place."""
    facts, declared = forget(facts, key), flat(declared, types)
    if facts is None or not key or declared.kind != "union" or "any" in (given.kind, declared.kind):
        return facts
    parts = constituents(flat(plain(given), types))
    kept = union(part for part in declared.parts if any(is_assignable(each, part, types) for each in parts))
    return facts if kept.kind == "never" or kept == declared else facts.add(key, kept)


def narrowed(facts: Facts, value: Value, change: Change, types: Bound) -> Facts:
    """The facts after a test of a value; of a member that tells the parts of a union apart its object is narrowed."""
    if facts is None or not value.key:
        return facts
    before = flat(value.type, types)
    after = change(before)
    if after != before:
        facts = facts.add(value.key, after)
    base: Value | None = value.base
    if base is None or not base.key:
        return facts
    whole = flat(base.type, types)
    if whole.kind != "union" or not _tells_apart(whole, value.name, types):
        return facts

    def keeps(part: TsType) -> bool:
        members = members_of(part, types)
        member = None if members is None else members.get(value.name)
        return member is None or change(flat(read_type(member), types)).kind != "never"

    return narrowed(facts, base, lambda type_: union(filter(keeps, constituents(type_))), types)


def _tells_apart(whole: TsType, name: str, types: Bound) -> bool:
    """True if a member of a union's parts is of a type with one value in one of them."""
    for part in whole.parts:
        member = (own_members(part, types) or {}).get(name)
        if member is not None and any(each.kind in UNITS for each in constituents(flat(read_type(member), types))):
            return True
    return False


def truthy(type_: TsType) -> TsType:
    """A type without the values that count as false."""
    if type_.kind == "unknown":
        return ANY
    return union(part for part in constituents(type_) if not _is_falsy(part))


def falsy(type_: TsType) -> TsType:
    """A type without the values that count as true."""
    return union(
        part
        for part in constituents(type_)
        if part.kind not in OBJECTS and not (part.kind == "literal" and part.name not in FALSY)
    )


def _is_falsy(part: TsType) -> bool:
    return part.kind in ("null", "undefined", "void") or (part.kind == "literal" and part.name in FALSY)


def equal(other: TsType, types: Bound, loosely: bool = False) -> tuple[Change, Change]:
    """The changes of a type where it equals another, and where it does not."""
    other = plain(flat(other, types))
    parts = constituents(other)
    if loosely and other.kind in ("null", "undefined"):
        gone = frozenset({"null", "undefined"})
        return lambda type_: _only(type_, lambda part: part.kind in gone), lambda type_: _only(
            type_, lambda part: part.kind not in gone
        )

    def same(type_: TsType) -> TsType:
        if type_.kind in ("unknown", "any"):
            return other if type_.kind == "unknown" and other.kind in UNITS | {"string", "number"} else ANY
        found = []
        for part in constituents(type_):
            if part.kind in BASES and (literals := [each for each in parts if each[2] == (part.kind,)]):
                found += literals if part not in parts else [part]
            elif part.kind == "parameter":
                found.append(ANY)
            elif part.kind in ("null", "undefined") or {each.kind for each in parts} <= {"null", "undefined"}:
                found += [part] if any(each.kind in (part.kind, "any", "unknown") for each in parts) else []
            elif comparable(part, other, types):
                found.append(part)
        return union(found)

    def different(type_: TsType) -> TsType:
        if len(parts) > 1 or other.kind not in UNITS:
            return type_
        return _only(type_, lambda part: part[:3] != other[:3])

    return same, different


def _only(type_: TsType, keeps: Callable[[TsType], bool]) -> TsType:
    return ANY if type_.kind in ("any", "unknown") else union(filter(keeps, constituents(type_)))


def typed(name: str) -> tuple[Change, Change]:
    """The changes of a type where `typeof` gives a name, and where it does not."""

    def is_of(part: TsType) -> bool:
        kind = part.parts[0] if part.kind == "literal" else "undefined" if part.kind == "void" else part.kind
        if name == "function":
            return kind in ("function", "class")
        if name == "object":
            return kind in ("array", "object", "named", "null")
        return kind == name

    def same(type_: TsType) -> TsType:
        if type_.kind in ("any", "unknown") or any(part.kind == "parameter" for part in constituents(type_)):
            return {**BASES}.get(name, ANY) if type_.kind != "parameter" else ANY
        if name in ("function", "object") and any(part.kind == "named" for part in constituents(type_)):
            return ANY
        return union(filter(is_of, constituents(type_)))

    def different(type_: TsType) -> TsType:
        if name in ("function", "object") or type_.kind in ("any", "unknown", "parameter"):
            return ANY if type_.kind != "unknown" else type_
        return union(part for part in constituents(type_) if not is_of(part))

    return same, different


def of_class(instance: TsType, types: Bound) -> tuple[Change, Change]:
    """The changes of a type where `instanceof` is true of a class, and where it is not."""

    def same(type_: TsType) -> TsType:
        if type_.kind in ("any", "unknown"):
            return instance
        kept = [part for part in constituents(type_) if is_assignable(part, instance, types)]
        if kept:
            return union(kept)
        return instance if any(is_assignable(instance, part, types) for part in constituents(type_)) else ANY

    def different(type_: TsType) -> TsType:
        if type_.kind in ("any", "unknown"):
            return type_
        return union(part for part in constituents(type_) if not is_assignable(part, instance, types))

    return same, different
