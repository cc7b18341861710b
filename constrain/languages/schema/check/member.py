"""Membership of a value in a conjunction, by the formulas of its atoms and the normal forms of their sets.

The idea: conditions that a grammar cannot remember (equal items, multiples of 1,000,003, a regex inside a string) are
simple once the value is complete. Each conjunction is decided at most once for each part of the value.

Values are as `finished.read_exactly` reads them: numbers are integers and decimals, never floats.
"""

from __future__ import annotations

from collections.abc import Hashable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from constrain.languages.schema.normalize.normalizer import Normalizer
from constrain.languages.schema.read.document import draw_step, excerpt
from constrain.languages.schema.sets.algebra import FALSE, TRUE, ArrayBox, Conj, NormalForm, ObjectBox, values_of
from constrain.languages.schema.sets.formula import AllOf, AnyOf, Atoms, Formula, Not, OneOf
from constrain.languages.schema.sets.json_types import Json, JsonObject
from constrain.languages.schema.sets.numbers import MAX_EXPONENT, NumberBox, Rational, holds
from constrain.languages.schema.sets.strings import matches
from constrain.limits import tick


class Fault(NamedTuple):
    """The reason why an array or object is not in a box.

    Attributes:
        reason: A sentence; empty if a part is the reason.
        part: The item or property that does not fit, as (step, value, its conjunction).
    """

    reason: str
    part: tuple[str | int, Json, Conj] | None = None


class Culprit(NamedTuple):
    """A part of a value that does not fulfil a conjunction.

    Attributes:
        steps: Its path in the value, without the `$`.
        value: The part.
        conj: The conjunction that it does not fulfil.
        reason: A sentence; empty if there is none to give.
    """

    steps: str
    value: Json
    conj: Conj
    reason: str


class Membership:
    """Decides membership for the parts of one value."""

    def __init__(self, normalizer: Normalizer) -> None:
        self.normalizer = normalizer
        self._known: dict[tuple[int, Conj], bool] = {}  # by id(value): the value outlives this

    def is_member(self, value: Json, conj: Conj) -> bool:
        """True if the value fulfils the conjunction."""
        if conj in (TRUE, FALSE):
            return conj == TRUE
        key = (id(value), conj)
        known = self._known.get(key)
        if known is None:
            tick()
            formulas = self.normalizer.document.formulas
            known = self._known[key] = all(self._fulfils(value, formulas[serial]) for serial in conj)
        return known

    def _fulfils(self, value: Json, formula: Formula | None) -> bool:
        """True if the value fulfils a formula. The normal form of a `oneOf` may hold more than it says."""
        if isinstance(formula, AllOf):
            return all(self._fulfils(value, part) for part in formula.parts)
        if isinstance(formula, AnyOf):
            return any(self._fulfils(value, part) for part in formula.parts)
        if isinstance(formula, OneOf):
            return sum(self._fulfils(value, part) for part in formula.parts) == 1
        if isinstance(formula, Not):
            return not self._fulfils(value, formula.part)
        if isinstance(formula, Atoms):
            return self.is_member(value, formula.conj)
        assert formula is not None
        return self._is_in_set(value, formula.normal)

    def _is_in_set(self, value: Json, normal: NormalForm) -> bool:
        if value is None:
            return normal.null
        if isinstance(value, bool):
            return value in normal.booleans
        if isinstance(value, str):
            return matches(normal.strings, value)
        if isinstance(value, list):
            return any(self.array_fault(value, box) is None for box in normal.arrays)
        if isinstance(value, dict):
            return any(self.object_fault(value, box) is None for box in normal.objects)
        assert isinstance(value, (int, Decimal))
        return any(_in_box(value, box) for box in normal.numbers)

    def array_fault(self, value: list[Any], box: ArrayBox) -> Fault | None:
        """The reason why the array is not in the box; None if it is."""
        if len(value) < box.low or (box.high is not None and len(value) > box.high):
            return Fault(f"{len(value)} items are too {'few' if len(value) < box.low else 'many'}")
        for i, item in enumerate(value):
            conj = box.prefix[i] if i < len(box.prefix) else box.rest
            if not self.is_member(item, conj):
                return Fault("", (i, item, conj))
        for start, conj, least, most in box.counts:
            count = sum(self.is_member(item, conj) for item in value[start:])
            if count < least or (most is not None and count > most):
                return Fault(f"the number of items that are to be counted is {count}")
        equal = _equal_items(value) if box.unique or box.repeats else None
        if box.unique and equal is not None:
            return Fault(f"items {equal[0]} and {equal[1]} are equal")
        return Fault("no two items are equal") if box.repeats and equal is None else None

    def object_fault(self, value: JsonObject, box: ObjectBox) -> Fault | None:
        """The reason why the object is not in the box; None if it is."""
        if len(value) < box.low or (box.high is not None and len(value) > box.high):
            return Fault(f"{len(value)} properties are too {'few' if len(value) < box.low else 'many'}")
        for name in box.required:
            if name not in value:
                return Fault(f"the property {name!r} is missing")
        for name, item in value.items():
            if not self.is_member(name, box.names):
                return Fault(f"the name {name!r} is not allowed")
            conj, *others = values_of(box, name)
            if not any(self.is_member(item, each) for each in (conj, *others)):
                return Fault("", None if others else (name, item, conj))
        for language, conj in box.needs:
            if not any(matches(language, name) and self.is_member(item, conj) for name, item in value.items()):
                return Fault("no property is as one has to be")
        if any(all(self.object_fault(value, case) is not None for case in cases) for cases in box.conditions):
            return Fault("")
        return None

    def explain(self, value: Json, conj: Conj) -> str:
        """One sentence about a value that does not fulfil a conjunction, with its place."""
        culprit = self.culprit(value, conj)
        reason = culprit.reason or f"{excerpt(culprit.value, 60)} does not fulfil the schema"
        return f"${culprit.steps}: {reason}"

    def culprit(self, value: Json, conj: Conj) -> Culprit:
        """The deepest part of a value that alone keeps the value from fulfilling a conjunction.

        It descends as long as there is one box to compare with.
        """
        steps = ""
        while True:
            normal = self.normalizer.normal(conj)
            fault: Fault | None = None
            if isinstance(value, list) and len(normal.arrays) == 1:
                fault = self.array_fault(value, normal.arrays[0])
            elif isinstance(value, dict) and len(normal.objects) == 1:
                fault = self.object_fault(value, normal.objects[0])
            if fault is None or fault.part is None:
                reason = self._branches_fault(value, conj) if fault is None else fault.reason
                return Culprit(steps, value, conj, reason)
            step, part, part_conj = fault.part
            if part_conj == FALSE:
                kind = "item" if isinstance(value, list) else "property"
                return Culprit(steps, value, conj, f"the {kind} {excerpt(step, 40)} is not allowed")
            steps, value, conj = steps + draw_step(step), part, part_conj

    def _branches_fault(self, value: Json, conj: Conj) -> str:
        """A sentence about the first `oneOf` that the value does not fulfil; empty if there is none."""
        for one in filter(None, (_first_one_of(self.normalizer.document.formulas[serial]) for serial in conj)):
            count = sum(self._fulfils(value, part) for part in one.parts)
            if count != 1:
                return f"{excerpt(value, 60)} fulfils {count or 'no'} branch{'es' if count else ''} of oneOf"
        return ""


def _first_one_of(formula: Formula | None) -> OneOf | None:
    """The first `oneOf` of a subschema."""
    parts = formula.parts if isinstance(formula, AllOf) else (formula,)
    return next((part for part in parts if isinstance(part, OneOf)), None)


def _in_box(value: int | Decimal, box: NumberBox) -> bool:
    """True if the number is in the box."""
    if isinstance(value, Decimal) and value and abs(value.adjusted()) > MAX_EXPONENT:
        return _extreme_in_box(value, box)
    number = value if isinstance(value, int) else Fraction(value)
    return holds(box, number) and (box.plain is None or box.plain == isinstance(value, int))


def _extreme_in_box(value: Decimal, box: NumberBox) -> bool:
    """`_in_box` for a number beyond 10^±`MAX_EXPONENT`, whose digits are too many to be written out."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    nearest: Rational = 0 if value.adjusted() < 0 else 10 ** (MAX_EXPONENT + 1)  # on this side of zero
    bound = -nearest if sign else nearest
    if box.points is not None or box.plain:
        return False
    if box.low is not None and not (box.low < bound or (box.low == bound == 0 and not sign)):
        return False
    if box.high is not None and not (box.high > bound or (box.high == bound == 0 and sign)):
        return False

    def is_multiple(step: Rational) -> bool:
        divisor = Fraction(step)
        mantissa = int(Decimal((0, digits, 0))) * divisor.denominator
        return exponent >= 0 and mantissa * pow(10, exponent, divisor.numerator) % divisor.numerator == 0

    return (box.multiple is None or is_multiple(box.multiple)) and not any(map(is_multiple, box.not_multiples))


def _equal_items(items: list[Any]) -> tuple[int, int] | None:
    """The indices of two equal items; None if there are none."""
    seen: dict[Hashable, int] = {}
    for i, item in enumerate(items):
        first = seen.setdefault(equality_key(item), i)
        if first != i:
            return first, i
    return None


def equality_key(value: Json) -> Hashable:
    """A hashable key of a JSON value: keys are equal exactly if values are (Core 2020-12 section 4.2.2)."""
    if isinstance(value, list):
        return ("array", *map(equality_key, value))
    if isinstance(value, dict):
        return "object", frozenset((name, equality_key(item)) for name, item in value.items())
    if value is None or isinstance(value, (bool, str)):
        return type(value).__name__, value
    return "number", value
