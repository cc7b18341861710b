"""Complements of normal forms: type by type, box by box, condition by condition.

The idea: a box is an intersection of conditions, so its complement is the union of their complements: some named
property has another value, a required name is absent, some other key has another value (an existential *need*),
there are too few or too many properties. The complement of a union of boxes is the intersection of their complements.
The values inside are not computed: `Document.negation` gives their complement a serial number.
"""

from __future__ import annotations

from collections.abc import Callable

from constrain.languages.automata.syntax import ANY_TEXT, Node, complement
from constrain.languages.schema.sets.algebra import (
    ANY_ARRAY,
    ANY_OBJECT,
    BOTH_BOOLEANS,
    EVERYTHING,
    NOTHING,
    TRUE,
    ArrayBox,
    Conj,
    Count,
    NormalForm,
    ObjectBox,
)
from constrain.languages.schema.sets.numbers import ANY_NUMBER, complement_of_numbers
from constrain.languages.schema.sets.strings import without

Negate = Callable[[Conj], Conj]
Strings = Callable[[Conj], Node]


def complement_of(
    normal: NormalForm, negate: Negate, strings: Strings, intersection: Callable[[NormalForm, NormalForm], NormalForm]
) -> NormalForm:
    """The values outside a set.

    Args:
        normal: The set.
        negate: Returns the complement of a conjunction, as a conjunction.
        strings: Returns the strings that fulfil a conjunction (for `propertyNames`).
        intersection: `algebra.intersection`, or a version of it that counts its work.
    """
    if normal is EVERYTHING:
        return NOTHING
    result = NormalForm(
        not normal.null,
        BOTH_BOOLEANS - normal.booleans,
        (ANY_NUMBER,),
        complement(normal.strings),
        (ANY_ARRAY,),
        (ANY_OBJECT,),
    )
    for number in normal.numbers:
        result = intersection(result, EVERYTHING._replace(numbers=tuple(complement_of_numbers(number))))
    for array in normal.arrays:
        result = intersection(result, EVERYTHING._replace(arrays=tuple(complement_of_arrays(array, negate))))
    for box in normal.objects:
        outside = complement_of_objects(box, negate, strings)
        for cases in box.conditions:
            outside += complement_of(NOTHING._replace(objects=cases), negate, strings, intersection).objects
        result = intersection(result, EVERYTHING._replace(objects=tuple(outside)))
    return result


def complement_of_arrays(box: ArrayBox, negate: Negate) -> list[ArrayBox]:
    """The arrays outside a box, as a union of boxes."""
    outside = []
    if box.unique:
        outside.append(ArrayBox(low=2, repeats=True))
    if box.repeats:
        outside.append(ArrayBox(unique=True))
    if box.low > 0:
        outside.append(ArrayBox(high=box.low - 1))
    if box.high is not None:
        outside.append(ArrayBox(low=box.high + 1))
    for i, conj in enumerate(box.prefix):
        if conj != TRUE:
            outside.append(ArrayBox((*((TRUE,) * i), negate(conj)), low=i + 1))
    if box.rest != TRUE:
        outside.append(ArrayBox(low=len(box.prefix) + 1, counts=(Count(len(box.prefix), negate(box.rest)),)))
    for start, conj, least, most in box.counts:
        if least > 0:
            outside.append(counted(start, conj, 0, least - 1, negate))
        if most is not None:
            outside.append(counted(start, conj, most + 1, None, negate))
    return outside


def counted(start: int, conj: Conj, least: int, most: int | None, negate: Negate) -> ArrayBox:
    """The arrays in which between `least` and `most` items from index `start` on fulfil `conj`; None: no maximum."""
    if most == 0:
        return ArrayBox((TRUE,) * start, negate(conj))
    if least == 0 and most is None:
        return ANY_ARRAY
    return ArrayBox(low=start + least if least else 0, counts=(Count(start, conj, least, most),))


def complement_of_objects(box: ObjectBox, negate: Negate, strings: Strings) -> list[ObjectBox]:
    """The objects outside a box, its conditions apart, as a union of boxes.

    That a required property is absent or has another value is one box, not two: differences of n branches, each with a
    property of its own, would be 2^n boxes.
    """
    named = dict(box.named)
    outside = [ObjectBox(named=((name, negate(named.get(name, TRUE))),)) for name in box.required]
    if box.low > 0:
        outside.append(ObjectBox(high=box.low - 1))
    if box.high is not None:
        outside.append(ObjectBox(low=box.high + 1))
    for name, conj in box.named:
        if conj != TRUE and name not in box.required:
            outside.append(ObjectBox(named=((name, negate(conj)),), required=(name,)))
    names = tuple([name for name, _ in box.named])
    for language, conj in box.classes:
        if conj != TRUE:
            outside.append(ObjectBox(needs=((without(language, names), negate(conj)),)))
    if box.names != TRUE:
        outside.append(ObjectBox(needs=((complement(strings(box.names)), TRUE),)))
    for language, conj in box.needs:
        classes = ((language, negate(conj)), (complement(language), TRUE))
        outside.append(ObjectBox(classes=((ANY_TEXT, negate(conj)),) if language == ANY_TEXT else classes))
    return outside
