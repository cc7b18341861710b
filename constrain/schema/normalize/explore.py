"""Compute everything that a generation could reach, so that faults and limits show before the first token.

Only for schemas with keywords whose algebra can fail (`Document.must_explore`); cost: one normal form per reachable
conjunction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from constrain.errors import LimitError
from constrain.schema.normalize.normalizer import Normalizer
from constrain.schema.sets.algebra import FALSE, TRUE, Conj, NormalForm
from constrain.schema.sets.digits import number_node

MAX_CONJUNCTIONS = 20_000
MAX_ALTERNATIVES = 5_000  # of one value: each becomes rules when a text reaches it, a millisecond each


def explore(normalizer: Normalizer) -> None:
    """Visit every conjunction that a text can reach. Raises SchemaError and LimitError with their place."""
    root = normalizer.document.root
    seen = {root, TRUE, FALSE}
    queue = deque([root])
    while queue:
        conj = queue.popleft()
        if not normalizer.inhabited(conj):
            continue
        with normalizer.located(conj):
            parts = list(_parts(normalizer, normalizer.normal(conj)))
        for each in parts:
            if each not in seen:
                seen.add(each)
                queue.append(each)
        if len(seen) > MAX_CONJUNCTIONS:
            raise LimitError(
                f"the schema has more than {MAX_CONJUNCTIONS} combinations of subschemas",
                fix="write fewer overlapping combinations (allOf, oneOf, not, patternProperties)",
            )


def _parts(normalizer: Normalizer, normal: NormalForm) -> Iterator[Conj]:
    """What the values inside a set must fulfil."""
    if len(normal.objects) > MAX_ALTERNATIVES:
        raise LimitError(
            f"a value has {len(normal.objects)} overlapping alternatives, more than {MAX_ALTERNATIVES}",
            fix="give every branch of oneOf a required property with its own const, or use anyOf",
        )
    for number in normal.numbers:
        number_node(number)
    for array in normal.arrays:
        if array.high is None and not (array.prefix or array.counts or array.unique):
            if normalizer.has_arrays(array):
                yield array.rest
        elif (shape := normalizer.array_shape(array)) is not None:
            yield from shape.parts()
    for box in normal.objects:
        if not box.needs and box.names == TRUE and len(box.classes) == 1:  # what it leads to is what is written
            if normalizer.has_objects(box):
                yield from (conj for _, conj in box.named)
                yield box.classes[0][1]
            continue
        for members in normalizer.object_shapes(box):
            yield from (conj for _, conj in members.members)
            yield from (conj for _, conj, _ in members.choices(members.all_pending))
