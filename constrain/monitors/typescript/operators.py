"""Operators: their precedence, the types that they take and give, and which operands can still fit (type reachability).

An operand fits if members, calls, indices and operators that bind more strongly may lead to a type that the operators
before it take. Behind them any expression may go on: by `===` it becomes a boolean, by `? :` anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from constrain.monitors.bound import Bound
from constrain.monitors.stacks import elements
from constrain.monitors.typescript.flow import falsy, truthy
from constrain.monitors.typescript.relations import (
    OBJECTS,
    comparable,
    flat,
    is_assignable,
    is_number,
    is_string,
    is_testable,
    suffixed,
    without_nullish,
)
from constrain.monitors.typescript.state import Frames, Value
from constrain.monitors.typescript.types import (
    ANY,
    BASES,
    BOOLEAN,
    FALSE,
    NUMBER,
    STRING,
    TRUE,
    TYPEOF,
    TsType,
    constituents,
    literal,
    union,
)

PRECEDENCE = {
    "??": 1, "||": 2, "&&": 3, "===": 7, "!==": 7, "==": 7, "!=": 7, "<": 8, ">": 8, "<=": 8, ">=": 8, "instanceof": 8,
    "+": 10, "-": 10, "*": 11, "/": 11, "%": 11,
}  # fmt: skip
ASSIGNING = {"=": "", "+=": "+", "-=": "-", "*=": "*", "/=": "/", "%=": "%"}
EQUALITY, RELATION = frozenset({"===", "!==", "==", "!="}), frozenset({"<", ">", "<=", ">="})
ADDING, EQUAL, RELATING, UNARY, SUFFIX = 10, 7, 8, 12, 13
CONSTANT = frozenset({"literal", "null", "arrow", "number"})  # forms of conditions that are always true, or false
_BARE = frozenset({"null", "undefined", "unknown"})


def may_be_tested(value: Value, types: Bound) -> bool:
    """True if a value may be a condition of `if`, `&&`, `? :`."""
    return not _is_constant(value) and is_testable(value.type, types)


def _is_constant(value: Value) -> bool:
    return value.form in CONSTANT or (value.form == "integer" and value.type.name not in ("0", "1"))


def takes_left(sign: str, value: Value, types: Bound) -> bool:
    """True if an operator may follow an operand."""
    type_ = flat(value.type, types)
    if sign in ("-", "*", "/", "%"):
        return is_number(type_, types)
    if sign in RELATION:
        return not any(part.kind in _BARE | {"void"} for part in constituents(type_))
    if sign == "&&":
        return may_be_tested(value, types)
    if sign == "||":
        return not _is_constant(value) and type_.kind != "void"
    if sign == "??":
        return value.form == "chain" or (value.form == "name" and bool(value.key))
    if sign == "instanceof":
        kinds = {part.kind for part in constituents(type_)}
        return bool(kinds & (OBJECTS | {"any", "unknown", "parameter"}))
    if sign in EQUALITY:
        return value.key != "NaN" and (value.form != "literal" or type_.kind not in ("object", "array"))
    return True


def applied(sign: str, left: TsType, right: TsType, types: Bound) -> TsType | None:
    """The type that an operator gives; None: it does not take the operands."""
    left, right = flat(left, types), flat(right, types)
    if sign in ("-", "*", "/", "%"):
        return NUMBER if is_number(left, types) and is_number(right, types) else None
    if sign == "+":
        return _added(left, right, types)
    if sign in EQUALITY:
        return BOOLEAN if comparable(left, right, types) else None
    if sign in RELATION:
        return BOOLEAN if _ordered(left, right, types) else None
    if sign == "instanceof":
        return BOOLEAN if right.kind in ("class", "any") or right.name.endswith("Constructor") else None
    if sign == "&&":
        return (
            left if truthy(left).kind == "never" else either(union(map(_falsy_value, constituents(left))), right, types)
        )
    kept = truthy(left) if sign == "||" else without_nullish(left, types)
    is_certain = falsy(left).kind == "never" if sign == "||" else kept == left and left.kind not in ("any", "unknown")
    return left if is_certain else either(kept, right, types)


def _added(left: TsType, right: TsType, types: Bound) -> TsType | None:
    if "never" in (left.kind, right.kind):
        return ANY
    for one, other in ((left, right), (right, left)):
        if is_string(one, types) and one.kind != "any":
            return STRING if not any(part.kind == "symbol" for part in constituents(other)) else None
    if any(part.kind in _BARE for part in (*constituents(left), *constituents(right))):
        return None
    if is_number(left, types) and is_number(right, types):
        return ANY if "any" in (left.kind, right.kind) else NUMBER
    return ANY if "any" in (left.kind, right.kind) else None


def _ordered(left: TsType, right: TsType, types: Bound) -> bool:
    if any(part.kind in _BARE | {"void"} for part in (*constituents(left), *constituents(right))):
        return False
    if "any" in (left.kind, right.kind):
        return True
    if is_number(left, types) or is_number(right, types):
        return is_number(left, types) and is_number(right, types)
    if len({part.kind in OBJECTS for part in (*constituents(left), *constituents(right))}) > 1:
        return False
    widened = [union(_base(part) for part in constituents(each)) for each in (left, right)]
    return comparable(widened[0], widened[1], types)


def _base(part: TsType) -> TsType:
    return BASES[part.parts[0]] if part.kind == "literal" else part


def _falsy_value(part: TsType) -> TsType:
    """The values of a type that count as false."""
    if part.kind in ("string", "number"):
        return literal("" if part.kind == "string" else "0", part.kind, fresh=False)
    if part.kind == "parameter":
        return ANY
    if part.kind in OBJECTS or (part.kind == "literal" and part.name not in ("false", "", "0")):
        return TsType("never")
    return part


def either(one: TsType, other: TsType, types: Bound) -> TsType:
    """The union of the types of two expressions: without objects that are special cases of others."""
    if one.kind in OBJECTS and other.kind in OBJECTS and not (one.fresh and other.fresh):
        if is_assignable(one, other, types):
            return other
        if is_assignable(other, one, types):
            return one
    return union([one, other])


def applied_before(sign: str, value: Value, types: Bound) -> TsType | None:
    """The type that an operator before its operand gives; None: it does not take it."""
    type_ = flat(value.type, types)
    parts = constituents(type_)
    if sign == "typeof":
        return TYPEOF
    if sign == "!":
        if type_.kind == "void" or _is_constant(value):
            return None
        if type_.kind in ("any", "never"):
            return BOOLEAN
        if falsy(type_).kind == "never":
            return FALSE
        return TRUE if truthy(type_).kind == "never" else BOOLEAN
    if any(part.kind in _BARE for part in parts):
        return None
    if sign == "-" and value.form in ("integer", "number") and type_.kind == "literal":
        return literal("-" + type_.name, "number")
    return NUMBER


# -- operands that can still fit ---------------------------------------------------------------------------------------


class Pending(NamedTuple):
    """An operator before an operand: "binary" or "unary", its sign, and the type on its left."""

    kind: str
    sign: str
    left: TsType

    @property
    def bound(self) -> int:
        """Operators that bind more strongly take the operand first."""
        return UNARY if self.kind == "unary" else PRECEDENCE[self.sign]


Chain = tuple[Pending, ...]


def _chain(frames: Frames) -> Chain:
    """The operators before an operand, the innermost first. What fits depends on them alone, so it is remembered."""
    found = []
    for frame in elements(frames):
        if frame.kind not in ("binary", "unary"):
            break
        found.append(Pending(frame.kind, frame.sign, frame.value.type))
    return tuple(found)


def fits(frames: Frames, value: Value, types: Bound) -> bool:
    """True if an operand that was read last can be gone on with to what the operators before it take."""
    chain = _chain(frames)
    return not chain or _fits(chain, value.type, value.form, types)


def fits_result(frames: Frames, type_: TsType, level: int, types: Bound) -> bool:
    """True if what an operator gave can be gone on with to what the operators before it take."""
    return _result_fits(_chain(frames), type_, level, types)


@lru_cache(maxsize=1 << 14)
def _fits(chain: Chain, type_: TsType, form: str, types: Bound) -> bool:
    if _is_taken(chain, Value(type_, form=form), SUFFIX, types):
        return True
    if form in ("integer", "arrow", "stepped") or chain[0].sign == "instanceof":
        return False
    after = reversed(suffixed(type_, types)[1:])  # PERF: ANY comes first
    return any(_is_taken(chain, Value(each, form="chain"), SUFFIX, types) for each in after)


@lru_cache(maxsize=1 << 14)
def _result_fits(chain: Chain, type_: TsType, level: int, types: Bound) -> bool:
    if not chain:
        return True
    if chain[0].kind == "unary" and level < UNARY:
        return False
    return _is_taken(chain, Value(type_), level, types)


def _is_taken(chain: Chain, value: Value, level: int, types: Bound) -> bool:
    """True if operators before a value take it, or what operators make of it that bind more strongly."""
    return any(_accepts(chain, each, types) for each in _operated(value, level, chain[0].bound, types))


def _operated(value: Value, level: int, bound: int, types: Bound) -> Iterator[Value]:
    """A value, and what operators make of it that bind more strongly than one before it."""
    yield value
    if bound < ADDING and level >= ADDING:
        yield Value(STRING)
        if is_number(value.type, types):
            yield Value(NUMBER)
    if bound < RELATING and level >= RELATING and (level >= ADDING or takes_left("<", value, types)):
        yield Value(BOOLEAN)
    if bound < EQUAL and level >= EQUAL:
        yield Value(BOOLEAN)


def _accepts(chain: Chain, value: Value, types: Bound) -> bool:
    before = chain[0]
    if before.kind == "unary":
        made = applied_before(before.sign, value, types)
        return made is not None and _result_fits(chain[1:], made, UNARY, types)
    made = applied(before.sign, before.left, value.type, types)
    return made is not None and _result_fits(chain[1:], made, PRECEDENCE[before.sign], types)
