"""The arrays in which the guard (`constrain.languages.guards`) has to prevent equal items, place by place, and the
objects whose names may run out.

The idea: a place is the set of conjunctions that the value there may have to fulfil, over all branches. Items must
differ if they must in every branch; where it depends on the branch, the check of the finished text decides. Arrays
whose items have few values need no guard: their grammar remembers which values were used.

Cost: the normal forms of each place; equal places are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain

from constrain.languages.automata.shape import endless
from constrain.languages.automata.syntax import Node
from constrain.languages.schema.normalize.normalizer import Normalizer
from constrain.languages.schema.sets.algebra import FALSE, TRUE, ArrayBox, Conj, NormalForm, ObjectBox, values_of
from constrain.languages.schema.sets.shapes_arrays import CountedArrays
from constrain.languages.schema.sets.strings import finite_texts, is_void, meet_strings
from constrain.lazily import Remembered

REMEMBERED = 1_000  # names of members


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
        self._members: Remembered[str, Watched | None] = Remembered(REMEMBERED)

    @cached_property
    def unique(self) -> bool:
        """True if every branch requires unique items, and the grammar does not enforce it already."""
        return (
            bool(self._arrays)
            and all(box.unique for box in self._arrays)
            and any(isinstance(self.normalizer.array_shape(box), CountedArrays) for box in self._arrays)
        )

    @cached_property
    def runs_out(self) -> frozenset[str]:
        """Of which kinds an item's beginning may leave values only that were seen. "value": even an item not begun.

        A free string always goes on by a character, an object that takes any further name by one, an array without a
        limit by an item. A number may not (0), but of unbounded ones there are always more.
        """
        conjs = {conj for box in self._arrays for conj in (*box.prefix, box.rest) if conj != FALSE}
        return frozenset(kind for conj in conjs for kind in self._ending(self.normalizer.normal(conj)))

    def _ending(self, normal: NormalForm) -> Iterator[str]:
        """The kinds of values in a set that may run out."""
        strings = endless(normal.strings) and not is_void(normal.strings)
        objects = all(map(self._is_open, normal.objects))
        arrays = all(map(self._is_long, normal.arrays))
        unbounded = any(box.points is None and (box.low is None or box.high is None) for box in normal.numbers)
        if not (strings or (objects and normal.objects) or (arrays and normal.arrays) or unbounded):
            yield "value"
        if not strings:
            yield "string"
        if not objects:
            yield "object"
        if not arrays:
            yield "array"
        if normal.numbers:
            yield "number"

    def _is_open(self, box: ObjectBox) -> bool:
        """True if every beginning of an object takes any number of further names."""
        if box.high is not None or box.names != TRUE or box.needs or not self.normalizer.has_objects(box):
            return False
        return any(endless(language) and self.normalizer.inhabited(conj) for language, conj in box.classes)

    @cached_property
    def names_run_out(self) -> bool:
        """True if a name's beginning may leave only names that were seen."""
        return any(map(_ends, chain.from_iterable(map(self._open_names, self._objects))))

    def _open_names(self, box: ObjectBox) -> Iterator[Node]:
        """The languages of the names that are not declared; none if any text is a name."""
        kept = [language for language, conj in box.classes if self.normalizer.inhabited(conj)]
        if box.names == TRUE and len(kept) == len(box.classes):
            return
        keys = self.normalizer.strings(box.names)
        yield from (meet_strings(language, keys) for language in kept)

    def _is_long(self, box: ArrayBox) -> bool:
        """True if every beginning of an array takes any number of further items."""
        return box.high is None and not (box.counts or box.unique) and self.normalizer.inhabited(box.rest)

    @cached_property
    def repeats(self) -> bool:
        """True if every branch requires that two items are equal."""
        return bool(self._arrays) and all(box.repeats for box in self._arrays)

    def item(self, i: int) -> Watched | None:
        """The place of item i; None if nothing is watched there."""
        return self._watched(box.prefix[i] if i < len(box.prefix) else box.rest for box in self._arrays)

    def member(self, name: str) -> Watched | None:
        """The place of the value of a property; None if nothing is watched there."""
        if name not in self._members:
            found = self._watched(conj for box in self._objects for conj in values_of(box, name))
            return self._members.keep(name, found)
        return self._members.get(name)

    def _watched(self, conjs: Iterable[Conj]) -> Watched | None:
        key = frozenset(conj for conj in conjs if conj != FALSE)
        if not key or key == {TRUE}:
            return None
        place = self._known.get(key)
        if place is None:
            place = self._known[key] = Watched(self.normalizer, key, self._known)
        return place


def watched_root(normalizer: Normalizer) -> Watched | None:
    """The place of the whole value; None if the schema has no `uniqueItems`, and no names that may run out."""
    document = normalizer.document
    names = chain(document.key_patterns, map(normalizer.strings, document.key_schemas))
    if any(keyword == "uniqueItems" for _, keyword, _ in document.residuals) or any(map(_ends, names)):
        return Watched(normalizer, frozenset({document.root}), {})
    return None


def _ends(names: Node) -> bool:
    """True if the beginning of a name may be that of few names. A language of few names is in the grammar."""
    return not endless(names) and finite_texts(names) is None
