"""Relations of types: members, signatures, which types may be assigned to which, and which are comparable.

The functions take the declared types, a `Bound` of name -> `TypeDefinition`. Where something is not known they say yes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from constrain.monitors.bound import Bound
from constrain.monitors.typescript.types import (
    ANY,
    BEYOND,
    NEVER,
    STRING,
    UNDEFINED,
    VOID,
    Member,
    TsSignature,
    TsType,
    TypeDefinition,
    constituents,
    map_signature,
    substitute,
    union,
    widen,
)

CALL = "()"  # the member that holds the signature of an object that can be called
NULLISH = frozenset({"null", "undefined", "void"})
WITHOUT_MEMBERS = NULLISH | {"unknown", "never", "parameter"}
APPARENT = {"number": "Number", "string": "String", "boolean": "Boolean", "function": "Function", "class": "Function"}
OBJECTS = frozenset({"array", "object", "function", "named", "class"})
_Assumed = frozenset[tuple[TsType, TsType]]
_NONE: _Assumed = frozenset()


def expand(type_: TsType, types: Bound) -> TsType:
    """A type whose outermost alias is replaced by what it stands for."""
    for _ in range(20):
        definition = types.table.get(type_.name) if type_.kind == "named" else None
        if definition is None or definition.kind != "alias":
            return type_
        if definition.target is None:
            return ANY
        type_ = substitute(definition.target, dict(zip(definition.generics, type_.parts, strict=False)))
    return ANY


def flat(type_: TsType, types: Bound) -> TsType:
    """A type without aliases among its constituents."""
    if type_.kind != "named" and type_.kind != "union":
        return type_
    parts = [expand(part, types) for part in constituents(type_)]
    return parts[0] if len(parts) == 1 else union(parts)


@lru_cache(maxsize=8192)
def own_members(type_: TsType, types: Bound) -> Mapping[str, Member] | None:
    """The members that an object's type declares; None: they are not known."""
    type_ = expand(type_, types)
    if type_.kind == "object":
        return {each.name: each for each in type_.parts}
    if type_.kind == "class":
        return dict(types.table[type_.name].statics.table)
    if type_.kind == "named":
        definition: TypeDefinition = types.table[type_.name]
        return None if definition.kind == "open" else _members_of_definition(definition, type_.parts, types)
    if type_.kind == "array":
        members = _members_of_definition(types.table["Array"], type_.parts, types)
        if members is not None and type_.parts[0].kind in (
            "union",
            "any",
        ):  # the compiler infers what a predicate tells
            members = {**members, **{name: Member(name, BEYOND) for name in ("filter", "find")}}
        return members
    if type_.kind in WITHOUT_MEMBERS:
        return {}
    name = APPARENT.get(type_.parts[0] if type_.kind == "literal" else type_.kind)
    return None if name is None else _members_of_definition(types.table[name], (), types)


def _members_of_definition(
    definition: TypeDefinition, arguments: tuple[TsType, ...], types: Bound
) -> Mapping[str, Member] | None:
    known = dict(zip(definition.generics, arguments, strict=False))
    found: dict[str, Member] = {}
    for base in definition.bases:
        inherited = own_members(substitute(base, known), types)
        if inherited is None:
            return None
        found |= inherited
    for name, member in definition.members.table.items():
        found[name] = member._replace(type=substitute(member.type, known))
    return found


@lru_cache(maxsize=8192)
def members_of(type_: TsType, types: Bound) -> Mapping[str, Member] | None:
    """The members that may stand behind a dot; None: any."""
    type_ = flat(type_, types)
    if type_.kind == "any":
        return None
    if type_.kind == "union":
        tables = [members_of(part, types) for part in type_.parts]
        if any(table is None for table in tables):
            return None
        shared = set.intersection(*({*table} for table in tables if table is not None))
        return {name: _shared([table[name] for table in tables if table is not None]) for name in shared}
    own = own_members(type_, types)
    if own is None or type_.kind in WITHOUT_MEMBERS:
        return own
    every = {**types.table["Object"].members.table, **own}
    if type_.kind == "class":
        every |= types.table["Function"].members.table | {**own}
    return {name: member for name, member in every.items() if name != CALL}


def _shared(members: list[Member]) -> Member:
    """The member of a union whose parts all have it."""
    first = members[0]
    return first._replace(
        type=first.type if len({each.type for each in members}) == 1 else union(each.type for each in members),
        optional=any(each.optional for each in members),
        readonly=any(each.readonly for each in members),
        owner=next((each.owner for each in members if each.owner), ""),
    )


def read_type(member: Member) -> TsType:
    """The type of a member where it is read."""
    return union([member.type, UNDEFINED]) if member.optional else member.type


def signature_of(type_: TsType, types: Bound) -> TsSignature | bool:
    """The signature of a call of a value; True: any call; False: it cannot be called."""
    type_ = flat(type_, types)
    if type_.kind == "any":
        return True
    if type_.kind == "function":
        signature: TsSignature = type_.parts[0]
        return signature
    if type_.kind == "union":
        return all(signature_of(part, types) is not False for part in type_.parts)
    if type_.kind not in ("named", "object"):
        return False
    members = own_members(type_, types)
    if members is None:
        return True
    return signature_of(members[CALL].type, types) if CALL in members else False


def new_signature(type_: TsType, types: Bound) -> TsSignature | bool:
    """The signature of `new` with a class; True: any; False: it is none."""
    type_ = flat(type_, types)
    if type_.kind != "class":
        return type_.kind == "any" or type_.name in ("ArrayConstructor", "ObjectConstructor")
    definition: TypeDefinition = types.table[type_.name]
    if definition.kind == "open" or definition.new is None:
        return True
    return definition.new


# -- assignability -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 16)
def is_assignable(source: TsType, target: TsType, types: Bound) -> bool:
    return _assign(source, target, types, _NONE)


def _assign(source: TsType, target: TsType, types: Bound, assumed: _Assumed) -> bool:
    if source == target or (source, target) in assumed:
        return True
    source, target = flat(source, types), flat(target, types)
    if "any" in (source.kind, target.kind) or target.kind == "unknown" or source.kind == "never":
        return True
    if source.kind == "union":
        return all(_assign(part, target, types, assumed) for part in source.parts)
    if target.kind == "union":
        if any(_assign(source, part, types, assumed) for part in target.parts):
            return True
        return source.kind in OBJECTS and _is_discriminated(source, target, types)
    if source.kind == "literal":
        if target.kind == "literal":
            return source[1:3] == target[1:3]
        if target.kind == source.parts[0]:
            return True
    if source.kind == target.kind and source.kind in ("number", "string", "undefined", "null", "void"):
        return True
    if source.kind == "undefined":
        return target.kind == "void"
    if target.kind not in OBJECTS or source.kind in WITHOUT_MEMBERS:
        return source.kind == target.kind == "parameter" and source.name == target.name
    return _assign_object(source, target, types, assumed | {(source, target)})


def _assign_object(source: TsType, target: TsType, types: Bound, assumed: _Assumed) -> bool:
    if target.kind == "class":
        return source.kind == "class"
    if source.kind == target.kind == "array":
        return _assign(source.parts[0], target.parts[0], types, assumed)
    if target.kind == "array":
        return own_members(source, types) is None
    if source.kind == target.kind == "named" and source.name == target.name:
        generics = types.table[source.name].generics
        if len(source.parts) == len(target.parts) == len(generics) and all(
            _assign(one, other, types, assumed) for one, other in zip(source.parts, target.parts, strict=True)
        ):
            return True
    wanted, had = own_members(target, types), own_members(source, types)
    if wanted is None or had is None:
        return True
    signature = target.parts[0] if target.kind == "function" else None
    if signature is None and CALL in wanted:
        found = signature_of(target, types)
        signature = found if isinstance(found, TsSignature) else None
    if signature is not None:
        own = signature_of(source, types)
        return own is True or (isinstance(own, TsSignature) and assign_signature(own, signature, types, assumed))
    return _assign_members(source, had, wanted, types, assumed)


def _assign_members(
    source: TsType, had: Mapping[str, Member], wanted: Mapping[str, Member], types: Bound, assumed: _Assumed
) -> bool:
    base = types.table["Object"].members.table
    for name, member in wanted.items():
        own = had.get(name) or (base.get(name) if name not in had else None)
        if own is None:
            if not member.optional:
                return False
        elif own.owner != member.owner or (own.optional and not member.optional):
            return False
        else:
            types_ = (union([each.type, UNDEFINED]) if each.optional else each.type for each in (own, member))
            have, want = (expand(type_, types) for type_ in types_)
            if member.is_method and have.kind == want.kind == "function":
                if not assign_signature(have.parts[0], want.parts[0], types, assumed, bivariant=True):
                    return False
            elif not _assign(have, want, types, assumed):
                return False
    is_weak = bool(wanted) and all(each.optional for each in wanted.values())
    return not (is_weak and had and not wanted.keys() & had.keys())


def assign_signature(
    source: TsSignature, target: TsSignature, types: Bound, assumed: _Assumed = _NONE, bivariant: bool = False
) -> bool:
    """True if a function may stand where one with another signature is expected."""
    if source.generics or target.generics:
        return True
    has_rest = bool(target.parameters) and target.parameters[-1].rest
    if source.required > len(target.parameters) and not has_rest:
        return False
    for index in range(max(len(source.parameters), len(target.parameters))):
        own, wanted = source.parameter(index), target.parameter(index)
        if own is None or wanted is None:
            break
        have, want = (union([each.type, UNDEFINED]) if each.optional else each.type for each in (own, wanted))
        if not _assign(want, have, types, assumed) and not (bivariant and _assign(have, want, types, assumed)):
            if not (own.optional and _assign(want, union([have, UNDEFINED]), types, assumed)):
                return False
    return target.result == VOID or _assign(source.result, target.result, types, assumed)


def _is_discriminated(source: TsType, target: TsType, types: Bound) -> bool:
    """True if an object may be of several parts of a union at once, by a member that is a union of literals."""
    members = own_members(source, types)
    return members is None or any(
        expand(each.type, types).kind == "union"
        and any(part.kind == "literal" for part in expand(each.type, types).parts)
        for each in members.values()
    )


def expected_members(target: TsType, types: Bound) -> Mapping[str, Member] | None:
    """The members that an object literal may have where a type is expected; None: any."""
    target = flat(target, types)
    found: dict[str, list[Member]] = {}
    for part in constituents(target):
        if part.kind in ("any", "unknown", "parameter"):
            return None
        members = own_members(part, types) if part.kind in ("object", "named") else {}
        if members is None or (part.kind in ("object", "named") and not members):
            return None  # `{}` takes any
        for member in members.values():
            found.setdefault(member.name, []).append(member)
    return {name: _shared(members) for name, members in found.items()}


# -- comparison, and what a value may become ---------------------------------------------------------------------------


def comparable(one: TsType, other: TsType, types: Bound) -> bool:
    """True if `===` may compare values of two types."""
    return any(
        _comparable(left, right, types)
        for left in constituents(flat(one, types))
        for right in constituents(flat(other, types))
    )


def _comparable(one: TsType, other: TsType, types: Bound) -> bool:
    kinds = {one.kind, other.kind}
    if kinds & {"any", "unknown", "never", "parameter", "null", "undefined"}:
        return True
    if "literal" in kinds or kinds & {"number", "string", "void"}:
        return _assign(one, other, types, _NONE) or _assign(other, one, types, _NONE)
    if kinds == {"function"}:
        results = [each.parts[0].result for each in (one, other)]
        return VOID in results or comparable(results[0], results[1], types)
    if kinds == {"class"}:
        return comparable(one._replace(kind="named"), other._replace(kind="named"), types)
    if {"function", "class"} & kinds:
        return _assign(one, other, types, _NONE) or _assign(other, one, types, _NONE)
    return _objects_comparable(one, other, types)


def _objects_comparable(one: TsType, other: TsType, types: Bound) -> bool:
    """True unless each of two objects lacks a member that the other must have, or members cannot be compared."""
    first, second = own_members(one, types), own_members(other, types)
    if first is None or second is None or "array" in (one.kind, other.kind):
        return one.kind == other.kind or first is None or second is None
    lacks = [
        any(not each.optional and each.name not in had for each in wanted.values())
        for wanted, had in ((first, second), (second, first))
    ]
    return not all(lacks)


MOST_TYPES, DEEPEST = 300, 4


@lru_cache(maxsize=4096)
def suffixed(type_: TsType, types: Bound) -> tuple[TsType, ...]:
    """The types that a value may get by members, calls and indices (type reachability); with ANY: more, or any."""
    found = {type_: None}
    border = [type_]
    for _ in range(DEEPEST):
        border = [after for before in border for after in _one_suffix(before, types) if after not in found]
        for each in border:
            found[each] = None
        if len(found) > MOST_TYPES or any(each.kind == "any" for each in found):
            return (*found, ANY)
    return tuple(found)


def _one_suffix(type_: TsType, types: Bound) -> list[TsType]:
    type_ = flat(type_, types)
    members = members_of(type_, types)
    if members is None:
        return [ANY]
    after = [read_type(member) for member in members.values() if not member.owner]
    signature = signature_of(type_, types)
    if isinstance(signature, TsSignature):
        after.append(ANY if signature.generics else signature.result)
    elif signature:
        after.append(ANY)
    if type_.kind == "array":
        after.append(type_.parts[0])
    return after


def is_number(type_: TsType, types: Bound) -> bool:
    """True if a value may be calculated with."""
    return all(
        part.kind in ("any", "never", "number") or (part.kind == "literal" and part.parts[0] == "number")
        for part in constituents(flat(type_, types))
    )


def is_string(type_: TsType, types: Bound) -> bool:
    """True if a value is a text."""
    parts = constituents(flat(type_, types))
    return all(
        part.kind in ("any", "string") or (part.kind == "literal" and part.parts[0] == "string") for part in parts
    )


def is_testable(type_: TsType, types: Bound) -> bool:
    """True if a value may be a condition: it is no void, and no function that was not called."""
    type_ = flat(type_, types)
    if type_.kind in ("void", "function", "class"):
        return False
    return not (type_.kind == "named" and isinstance(signature_of(type_, types), TsSignature))


def without_nullish(type_: TsType, types: Bound) -> TsType:
    """A type without null and undefined."""
    return union(part for part in constituents(flat(type_, types)) if part.kind not in ("null", "undefined"))


def element_of(type_: TsType, types: Bound) -> TsType | None:
    """The type of the elements that `for … of` gives; None: there are none."""
    found = []
    for part in constituents(flat(type_, types)):
        if part.kind == "array":
            found.append(part.parts[0])
        elif is_string(part, types):
            found.append(STRING)
        elif part.kind == "any" or (part.kind == "named" and part.name in ("Map", "Set", "IterableIterator")):
            found.append(part.parts[0] if part.name in ("Set", "IterableIterator") and part.parts else ANY)
        else:
            return None
    return union(found)


def infer(wanted: TsType, given: TsType, known: dict[str, TsType], generics: tuple[str, ...]) -> None:
    """Find type arguments from the type of one argument. What is not certain becomes ANY."""
    if wanted.kind == "parameter" and wanted.name in generics:
        old = known.get(wanted.name)
        known[wanted.name] = given if old is None or old == given else ANY
    elif wanted.kind == given.kind == "array":
        infer(wanted.parts[0], given.parts[0], known, generics)
    elif wanted.kind == given.kind == "named" and wanted.name == given.name:
        for one, other in zip(wanted.parts, given.parts, strict=False):
            infer(one, other, known, generics)
    elif wanted.kind == given.kind == "function":
        infer(wanted.parts[0].result, given.parts[0].result, known, generics)
    else:
        for name in generics:
            if _mentions(wanted, name):
                known[name] = ANY


def _mentions(type_: TsType, name: str) -> bool:
    return substitute(type_, {name: NEVER}) != type_


def instantiate(signature: TsSignature, known: Mapping[str, TsType]) -> TsSignature:
    """A generic signature for a call: type parameters that are not known yet are ANY."""
    if not signature.generics:
        return signature
    full = {name: known.get(name, ANY) for name in signature.generics}
    return map_signature(signature, lambda part: substitute(part, full))._replace(generics=())


def inferred_result(signature: TsSignature, known: Mapping[str, TsType]) -> TsType:
    """The type of the result of a generic call."""
    found: dict[str, Any] = {}
    for name in signature.generics:
        type_ = known.get(name, ANY)
        is_result = any(part == TsType("parameter", name) for part in constituents(signature.result))
        found[name] = type_ if is_result else widen(type_)
    return substitute(signature.result, found)
