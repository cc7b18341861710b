"""What a schema says about the values at one place of a text, for the guard against equal items (`guards`).

The idea: a place is the set of conjunctions that the value there may have to fulfil, over all branches. Items must
differ for certain if they must in every branch; where that hangs on a branch, the check of the finished text decides.
Arrays whose items have few values need no watching: their grammar remembers what was used.

Cost: one normal form a place, shared by equal places.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from constrain.schema.normalize.normalizer import Normalizer
from constrain.schema.sets.algebra import FALSE, TRUE, Conj, value_of
from constrain.schema.sets.shapes_arrays import CountedArrays


class Watched:
    """The values at one place (see `guards.json_reader.Place`)."""

    def __init__(self, normalizer: Normalizer, conjs: frozenset[Conj], known: dict[frozenset[Conj], Watched]) -> None:
        self.normalizer = normalizer
        self.conjs = conjs
        self._known = known
        normals = [normalizer.normal(conj) for conj in conjs]
        self._arrays = [box for normal in normals for box in normal.arrays if normalizer.has_arrays(box)]
        self._objects = [box for normal in normals for box in normal.objects]

    @cached_property
    def unique(self) -> bool:
        """Must all items differ, and does the grammar not see to it?"""
        return (
            bool(self._arrays)
            and all(box.unique for box in self._arrays)
            and any(isinstance(self.normalizer.array_shape(box), CountedArrays) for box in self._arrays)
        )

    @cached_property
    def repeats(self) -> bool:
        """Must some items be equal?"""
        return bool(self._arrays) and all(box.repeats for box in self._arrays)

    def item(self, i: int) -> Watched | None:
        """The place of an item."""
        return self._at(box.prefix[i] if i < len(box.prefix) else box.rest for box in self._arrays)

    def member(self, name: str) -> Watched | None:
        """The place of a property."""
        return self._at(value_of(box, name) for box in self._objects)

    def _at(self, conjs: Iterable[Conj]) -> Watched | None:
        inside = frozenset(conj for conj in conjs if conj != FALSE)
        if not inside or inside == {TRUE}:
            return None
        known = self._known.get(inside)
        if known is None:
            known = self._known[inside] = Watched(self.normalizer, inside, self._known)
        return known


def watched_root(normalizer: Normalizer) -> Watched | None:
    """The place of the whole value; None if no array of the schema must have different items."""
    if not any(keyword == "uniqueItems" for _, keyword, _ in normalizer.document.residuals):
        return None
    return Watched(normalizer, frozenset({normalizer.document.root}), {})
