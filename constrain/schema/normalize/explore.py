"""Compute everything that a generation could reach, so that faults and limits show before the first token.

Only for schemas with keywords whose algebra can fail (`Document.subtle`); cost: one normal form per reachable
conjunction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from constrain.errors import LimitError
from constrain.schema.normalize.compute import Computation
from constrain.schema.sets.algebra import FALSE, TRUE, Conj, Normal
from constrain.schema.sets.digits import number_node

MAX_CONJUNCTIONS = 20_000
MAX_ALTERNATIVES = 5_000  # of one value: each becomes rules when a text reaches it, a millisecond each


def explore(computation: Computation) -> None:
    """Visit every conjunction that a text can reach. Raises SchemaError and LimitError with their place."""
    root = computation.document.root
    seen = {root, TRUE, FALSE}
    queue = deque([root])
    while queue:
        conj = queue.popleft()
        if not computation.inhabited(conj):
            continue
        with computation.located(conj):
            parts = list(_parts(computation, computation.normal(conj)))
        for each in parts:
            if each not in seen:
                seen.add(each)
                queue.append(each)
        if len(seen) > MAX_CONJUNCTIONS:
            raise LimitError(
                f"the schema has more than {MAX_CONJUNCTIONS} combinations of subschemas",
                fix="write fewer overlapping combinations (allOf, oneOf, not, patternProperties)",
            )


def _parts(computation: Computation, normal: Normal) -> Iterator[Conj]:
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
            if computation.has_arrays(array):
                yield array.rest
        elif (shape := computation.array_shape(array)) is not None:
            yield from shape.parts()
    for box in normal.objects:
        if not box.needs and box.names == TRUE and len(box.classes) == 1:  # what it leads to is what is written
            if computation.has_objects(box):
                yield from (conj for _, conj in box.named)
                yield box.classes[0][1]
            continue
        for members in computation.object_shapes(box):
            yield from (conj for _, conj in members.members)
            yield from (conj for _, conj, _ in members.entries(members.all_pending))
