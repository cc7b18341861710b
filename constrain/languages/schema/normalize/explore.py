"""Compute every conjunction that a text can reach, so that errors and limits show before the first token.

Only for schemas with keywords whose algebra can fail (`Document.must_explore`). Cost: one normal form for each
conjunction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain

from constrain.errors import LimitError
from constrain.languages.schema.normalize.normalizer import Normalizer
from constrain.languages.schema.sets.algebra import FALSE, MAX_ALTERNATIVES, TRUE, Conj, NormalForm, values_of
from constrain.languages.schema.sets.digits import number_node

MAX_CONJUNCTIONS = 20_000


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
        for part in parts:
            if part not in seen:
                seen.add(part)
                queue.append(part)
        if len(seen) > MAX_CONJUNCTIONS:
            raise LimitError(
                f"the schema has more than {MAX_CONJUNCTIONS} combinations of subschemas",
                fix="write fewer overlapping combinations (allOf, oneOf, not, patternProperties)",
            )


def _parts(normalizer: Normalizer, normal: NormalForm) -> Iterator[Conj]:
    """Yield the conjunctions of the items and properties in a set; computes the automata of its numbers."""
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
        if not box.needs and box.names == TRUE and len(box.classes) == 1:  # its shape has no other conjunctions
            if normalizer.has_objects(box):
                yield from chain.from_iterable(values_of(box, name, normalizer.join) for name, _ in box.named)
                yield box.classes[0][1]
            continue
        for members in normalizer.object_shapes(box):
            yield from (conj for _, conj in members.members)
            yield from (conj for _, conj, _ in members.choices(members.all_pending))
