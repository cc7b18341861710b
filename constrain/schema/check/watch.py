"""The arrays in which the guard (`constrain.guards`) has to prevent equal items, place by place.

The idea: a place is the set of conjunctions that the value there may have to fulfil, over all branches. Items must
differ if they must in every branch; where it depends on the branch, the check of the finished text decides. Arrays
whose items have few values need no guard: their grammar remembers which values were used.

Cost: the normal forms of each place; equal places are one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from constrain.schema.normalize.normalizer import Normalizer
from constrain.schema.sets.algebra import FALSE, TRUE, Conj, value_of
from constrain.schema.sets.shapes_arrays import CountedArrays


class Watched:
    """The values at one place; implements `guards.json_reader.Place`.

    Attributes:
        conjs: The conjunctions that the value may have to fulfil.
    """

    def __init__(self, normalizer: Normalizer, conjs: frozenset[Conj], known: dict[frozenset[Conj], Watched]) -> None:
        self.normalizer = normalizer
        self.conjs = conjs
        self._known = known
        normals = [normalizer.normal(conj) for conj in conjs]
        self._arrays = [box for normal in normals for box in normal.arrays if normalizer.has_arrays(box)]
        self._objects = [box for normal in normals for box in normal.objects]

    @cached_property
    def unique(self) -> bool:
        """Whether every branch requires unique items, and the grammar does not enforce it already."""
        return (
            bool(self._arrays)
            and all(box.unique for box in self._arrays)
            and any(isinstance(self.normalizer.array_shape(box), CountedArrays) for box in self._arrays)
        )

    @cached_property
    def repeats(self) -> bool:
        """Whether every branch requires that two items are equal."""
        return bool(self._arrays) and all(box.repeats for box in self._arrays)

    def item(self, i: int) -> Watched | None:
        """The place of item i; None if nothing is watched there."""
        return self._at(box.prefix[i] if i < len(box.prefix) else box.rest for box in self._arrays)

    def member(self, name: str) -> Watched | None:
        """The place of the value of a property; None if nothing is watched there."""
        return self._at(value_of(box, name) for box in self._objects)

    def _at(self, conjs: Iterable[Conj]) -> Watched | None:
        key = frozenset(conj for conj in conjs if conj != FALSE)
        if not key or key == {TRUE}:
            return None
        place = self._known.get(key)
        if place is None:
            place = self._known[key] = Watched(self.normalizer, key, self._known)
        return place


def watched_root(normalizer: Normalizer) -> Watched | None:
    """The place of the whole value; None if the schema has no `uniqueItems`."""
    if not any(keyword == "uniqueItems" for _, keyword, _ in normalizer.document.residuals):
        return None
    return Watched(normalizer, frozenset({normalizer.document.root}), {})
