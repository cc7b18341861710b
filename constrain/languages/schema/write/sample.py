"""A likely text of a schema: the beginning of an instance as a model would write it.

    sample(normalizer, document.root, most=200)       '{"name": "a b", "tags": ["a b", "a b"], "age": 12'

The idea: what a mask costs the first time depends on which places a text visits, and the texts of
requests are much alike: the declared properties in their order, some items, a value of each type. It is a guess from
the normal forms: nothing is promised of its later part, and its reader ends where it is refused.
Cost: the normal forms that a text of this length visits, which its masks would need as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from constrain.languages.automata.decide import shortest
from constrain.languages.automata.syntax import Node
from constrain.languages.schema.formats.bounds import at_most
from constrain.languages.schema.normalize.normalizer import Normalizer
from constrain.languages.schema.sets.algebra import Conj, NormalForm, ObjectBox, multiplied, values_of
from constrain.languages.schema.sets.numbers import NumberBox, has_numbers, holds
from constrain.languages.schema.sets.plain_numbers import plain_number_node
from constrain.languages.schema.sets.strings import is_void, matches
from constrain.languages.schema.write.json_layout import JsonLayout

DEPTH = 6  # containers within containers; deeper ones have what they must have
ITEMS = 2  # of an array without limits
NUMBERS = (12, 1, 0)  # in this order, if the set has them
WORDS = ("a b", "ab")


def sample(normalizer: Normalizer, root: Conj, *, most: int, whitespace: str | JsonLayout = "consistent") -> str:
    """The beginning of an instance.

    Args:
        normalizer: The schema.
        root: What the instance fulfils.
        most: Characters that are written, with at most one word more.
        whitespace: The layout; where it leaves a choice, as json.dumps writes on one line.

    Raises:
        ConstrainError: Something that the text visits is faulty, or exceeds a limit.
    """
    written: list[str] = []
    length = 0
    for part in _Sample(normalizer, whitespace).value(root, 0):
        written.append(part)
        length += len(part)
        if length >= most:
            break
    return "".join(written)


class _Sample:
    """Writes values. Each method yields the text in parts, so that its reader ends where it has enough."""

    def __init__(self, normalizer: Normalizer, whitespace: str | JsonLayout) -> None:
        self._normalizer = normalizer
        self._item, self._key = (",", ":") if whitespace == "compact" else (", ", ": ")
        if isinstance(whitespace, JsonLayout) and whitespace.separators is not None:
            self._item, self._key = whitespace.separators

    def value(self, conj: Conj, depth: int) -> Iterator[str]:
        normal = self._normalizer.normal(conj)
        for box in chain.from_iterable(map(multiplied, normal.objects)):
            if self._normalizer.has_objects(box):
                yield from self._members(box, depth)
                return
        for array in normal.arrays:
            if self._normalizer.has_arrays(array):
                least = ITEMS if depth < DEPTH else 0
                count = max(array.low, min(least, least if array.high is None else array.high))
                yield from self._list([*array.prefix, *[array.rest] * count][:count], depth)
                return
        yield _scalar(normal)

    def _members(self, box: ObjectBox, depth: int) -> Iterator[str]:
        yield "{"
        names = dict.fromkeys([name for name, _ in box.named] if depth < DEPTH else box.required)
        separator = ""
        for name in [*names, *(name for name in box.required if name not in names)]:
            (conj,) = values_of(box, name)
            if self._normalizer.inhabited(conj):
                yield separator + json.dumps(name, ensure_ascii=False) + self._key
                yield from self.value(conj, depth + 1)
                separator = self._item
        yield "}"

    def _list(self, items: list[Conj], depth: int) -> Iterator[str]:
        yield "["
        for number, conj in enumerate(items):
            if not self._normalizer.inhabited(conj):
                break
            yield self._item if number else ""
            yield from self.value(conj, depth + 1)
        yield "]"


def _scalar(normal: NormalForm) -> str:
    """A value that is no container; `null` if there is none."""
    if not is_void(normal.strings):
        return json.dumps(_member(normal.strings), ensure_ascii=False)
    for box in normal.numbers:
        if has_numbers(box):
            return next((str(number) for number in NUMBERS if holds(box, number)), "") or _number(box)
    return json.dumps(min(normal.booleans)) if normal.booleans else "null"


def _number(box: NumberBox) -> str:
    return shortest(plain_number_node(box)) or ""


@lru_cache(maxsize=1 << 10)  # formats and common patterns are in many schemas
def _member(language: Node) -> str:
    """One of some words, if the language has it; else its shortest text, of one that no automaton decides nearly so."""
    return next((word for word in WORDS if matches(language, word)), None) or shortest(at_most(language)) or ""
