"""`Normalizer`: which sets are empty, and the other questions about conjunctions of one document.

The idea: `inhabited(conj)` is the least fixed point of "some part is inhabited", found with a worklist. A test of the
worklist answers from what is known so far and notes the conjunctions that it asked about (`_Test`); it is repeated when
one of them is found to be inhabited. Nearly all subschemas need no worklist: a quick look shows one of their values.

Cost: one test for each conjunction, and one more for each answer that it waited for.
"""

from __future__ import annotations

from typing import Any

from constrain.languages.automata.syntax import ANY_TEXT
from constrain.languages.schema.normalize.normal_forms import NormalForms
from constrain.languages.schema.sets.algebra import (
    TRUE,
    ArrayBox,
    Conj,
    NormalForm,
    ObjectBox,
    meet_objects,
    multiplied,
)
from constrain.languages.schema.sets.formula import KnownSet
from constrain.languages.schema.sets.numbers import finite_numbers, has_numbers
from constrain.languages.schema.sets.shapes_arrays import MAX_DISTINCT, ArrayShape, Queries, array_shape, has_arrays
from constrain.languages.schema.sets.shapes_objects import (
    Inhabited,
    ObjectShape,
    has_objects,
    object_shape,
    object_shapes,
    ready_boxes,
)
from constrain.languages.schema.sets.strings import finite_texts, is_void, plainly_some

MAX_QUICK = 8  # levels of required parts that a quick look visits


class Normalizer(NormalForms):
    """Normal forms, emptiness and shapes for the conjunctions of one document."""

    # ------------------------------------------------------------------------------------------------- emptiness

    def inhabited(self, conj: Conj) -> bool:
        """True if some finite value fulfils the conjunction; exact, through references too."""
        known = self._inhabited.get(conj)  # PERF: asked some ten thousand times of a large schema
        return known if known is not None else self._quick_look(conj, MAX_QUICK) or self._decide(conj)

    def quickly_inhabited(self, conj: Conj) -> bool | None:
        """True if the conjunction is inhabited, if that is known or a quick look shows it; else None."""
        known = self._inhabited.get(conj)
        return known if known is not None else self._quick_look(conj, MAX_QUICK) or None

    def root_inhabited(self) -> bool:
        """True if some value fulfils the schema.

        A schema that is nested too deeply to be decided at once is decided from its innermost part outwards.
        """
        try:
            return self.inhabited(self.document.root)
        except RecursionError:
            for serial in range(len(self.document.atoms) - 1, 0, -1):
                self.inhabited((serial,))
            return self.inhabited(self.document.root)

    def _decide(self, root: Conj) -> bool:
        """The least fixed point, by a worklist.

        A conjunction that was not shown to be inhabited is tested again when one that its test asked about has been.
        The conjunctions that have not been shown to be inhabited when the list is empty are empty.
        """
        users: dict[Conj, set[Conj]] = {root: set()}  # conjunction -> the conjunctions whose tests asked about it
        queue = [root]
        while queue:
            conj = queue.pop()
            asked = None if conj in self._inhabited else self._test(conj)
            if asked is None:
                self._inhabited.setdefault(conj, True)
            else:
                for other in asked:
                    if other not in users:
                        users[other] = set()
                        queue.append(other)
                    users[other].add(conj)
            if self._inhabited.get(root):
                return True  # the conjunctions that are still open are decided when they are asked about
            if not queue:  # a test may have decided other conjunctions for good on its way
                for shown in [other for other in users if self._inhabited.get(other)]:
                    queue += users.pop(shown)
        self._inhabited.update((conj, False) for conj in users if conj not in self._inhabited)
        return False

    def _test(self, conj: Conj) -> set[Conj] | None:
        """None if the conjunction is inhabited by what is known so far, else the conjunctions that it depends on."""
        test = _Test(self)
        self.count(1)
        with self.located(conj):
            return None if self._has_values(self.normal(conj), test) else test.asked

    def has_values(self, normal: NormalForm) -> bool:
        return self._has_values(normal, self)

    def _has_values(self, normal: NormalForm, queries: Queries) -> bool:
        return (
            normal.null
            or bool(normal.booleans)
            or any(map(has_numbers, normal.numbers))
            or not is_void(normal.strings)
            or any(has_arrays(box, queries) for box in normal.arrays)
            or any(self._has_objects(box, queries.inhabited) for box in normal.objects)
        )

    def has_objects(self, box: ObjectBox) -> bool:
        return self._has_objects(box, self.inhabited)

    def _has_objects(self, box: ObjectBox, inhabited: Inhabited) -> bool:
        """True if the box is inhabited. Conditions meet only where keys are counted, or meet needs."""
        if not box.conditions:
            return has_objects(box, inhabited, self.strings)
        if box.needs or box.names != TRUE or box.high is not None or box.low > len(box.required):
            return any(has_objects(part, inhabited, self.strings) for part in multiplied(box, self.join))
        base = box._replace(conditions=())
        return all(
            any(
                met is not None and has_objects(met, inhabited, self.strings)
                for case in cases
                for met in [meet_objects(base, case, self.join)]
            )
            for cases in box.conditions
        )

    def has_arrays(self, box: ArrayBox) -> bool:
        return has_arrays(box, self)

    def _quick_look(self, conj: Conj, depth: int) -> bool:
        """True if a value is seen at once, looking `depth` levels of required parts deep. Remembers if so."""
        known = self._inhabited.get(conj)
        if known is not None:
            return known
        formula = self.document.formulas[conj[0]]
        if len(conj) > 1 or type(formula) is not KnownSet:
            return False
        normal = formula.normal
        if not (_has_simple_values(normal) or (depth > 0 and self._has_simple_containers(normal, depth - 1))):
            return False
        self._inhabited[conj] = True
        return True

    def _has_simple_containers(self, normal: NormalForm, depth: int) -> bool:
        """True if some array or object of the set is seen at once, with everything that it requires."""
        for array in normal.arrays:
            simple = not (array.prefix or array.counts or array.unique or array.repeats)
            if simple and self._quick_look(array.rest, depth):
                return True
        for box in normal.objects:
            if not (box.needs or box.names or box.conditions or box.high is not None or box.low > len(box.required)):
                named = dict(box.named)
                if all(name in named and self._quick_look(named[name], depth) for name in box.required):
                    return True
        return False

    # ---------------------------------------------------------------------------------------- shapes and constants

    def array_shape(self, box: ArrayBox) -> ArrayShape | None:
        """The shape of a box of arrays; None if it is empty."""
        return array_shape(box, self)

    def ready_boxes(self, box: ObjectBox) -> list[ObjectBox]:
        """The ready boxes of a box of objects, each with one shape or none."""
        parts = multiplied(box, self.join) if box.conditions else (box,)
        return [ready for part in parts for ready in ready_boxes(part, self.strings)]

    def object_shape(self, ready: ObjectBox) -> ObjectShape | None:
        """The shape of a ready box; None if it is empty."""
        return object_shape(ready, self.inhabited)

    def object_shapes(self, box: ObjectBox) -> list[ObjectShape]:
        """The shapes of a box of objects; none if it is empty."""
        parts = multiplied(box, self.join)
        return [shape for part in parts for shape in object_shapes(part, self.inhabited, self.strings)]

    def values(self, conj: Conj) -> tuple[Any, ...] | None:
        """The values that fulfil a conjunction, if they are few and none is an array or an object; else None."""
        normal = self.normal(conj)
        if normal.arrays or normal.objects:
            return None
        texts = () if is_void(normal.strings) else finite_texts(normal.strings)
        numbers = [finite_numbers(box, MAX_DISTINCT) for box in normal.numbers]
        if texts is None or None in numbers:
            return None
        null = (None,) if normal.null else ()
        return (*null, *sorted(normal.booleans), *sorted({n for few in numbers for n in few or ()}), *texts)

    def negation(self, conj: Conj) -> Conj:
        """The complement of a conjunction, as a conjunction."""
        return self.document.negation(conj)

    def constant(self, value: Any) -> Conj:
        """The conjunction that only this JSON value fulfils."""
        return self.document.constant(value)


class _Test:
    """The queries of one test of the worklist: answers from what is known so far, and notes every open question."""

    def __init__(self, normalizer: Normalizer) -> None:
        self._normalizer = normalizer
        self.asked: set[Conj] = set()
        self.negation = normalizer.negation
        self.join = normalizer.join
        self.values = normalizer.values
        self.constant = normalizer.constant

    def inhabited(self, conj: Conj) -> bool:
        """True if the conjunction is known to be inhabited so far."""
        known = self._normalizer.quickly_inhabited(conj)
        if known is None:
            self.asked.add(conj)
        return bool(known)


def _has_simple_values(normal: NormalForm) -> bool:
    """True if a value without parts, or an empty array or object, is seen at once in the set."""
    if normal.null or normal.booleans or normal.strings is ANY_TEXT or plainly_some(normal.strings):
        return True
    for box in normal.numbers:
        if has_numbers(box):
            return True
    for objects in normal.objects:
        if not (objects.required or objects.low or objects.needs or objects.names or objects.conditions):
            return True
    return any(not (arrays.low or arrays.counts or arrays.repeats) for arrays in normal.arrays)
