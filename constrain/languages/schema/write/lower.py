"""From conjunctions of atoms to symbols of a lazy grammar.

The idea: a value is a nonterminal whose alternatives are made when a text first reaches it. Small terminals (brackets,
the comma, `null`, any string, any number) are shared by all schemas, so that the engine shares their states. A set of
values that one terminal can spell is that terminal. Every alternative is inhabited (`normalize/normalizer.py`), so a
text never runs into a dead end. Symbols refer to the lowering, and the lowering keeps no nonterminal: nonterminals are
made again where they are needed again, and equal keys make them one to the engine.

Structure: what is written around values depends on the place (`Level`), so each place has rules of its own. Tails of
lists are right recursive and are parsed in constant space, so a value ends when its last bracket is read.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from math import prod

from constrain.languages.automata.syntax import ANY_TEXT, EMPTY
from constrain.languages.cfg.bulk_rules import (
    ContainerRules,
    Layouts,
    PlacedNonterminal,
    PlaceSymbols,
    Position,
    ValueRules,
    ValueSymbols,
)
from constrain.languages.cfg.rules import Plainest, Symbol, Terminal
from constrain.languages.schema.normalize.normalizer import Normalizer
from constrain.languages.schema.read.document import ReadOptions
from constrain.languages.schema.sets.algebra import TRUE, ArrayBox, Conj, NormalForm, ObjectBox, union
from constrain.languages.schema.sets.numbers import has_numbers
from constrain.languages.schema.sets.strings import is_void
from constrain.languages.schema.write.lower_arrays import array_container
from constrain.languages.schema.write.lower_objects import FEW, many_objects, object_container, object_parts
from constrain.languages.schema.write.lower_unions import Part, unite_conditions, unite_shapes
from constrain.languages.schema.write.terminals import (
    BOOLEAN,
    BOOLEANS,
    NULL,
    Alternatives,
    any_string,
    any_value,
    number_terminal,
    string_terminal,
)
from constrain.languages.schema.write.whitespace import MAX_DEPTH, MAX_UNIT, Policy, layout, plainest, space

_serials = itertools.count()


@lru_cache(maxsize=1024)
def _layouts(whitespace: Policy, plain: bool) -> Layouts:
    """The function that says what is written at a place, the same for all schemas."""

    def at(place: int) -> PlaceSymbols:
        around = layout(whitespace, place)
        return around._replace(any_value=any_value(whitespace, around.inner, plain))

    return at


class Lowering:
    """Makes the symbols of one schema under some options.

    Attributes:
        plain: Whether values are spelled plainly.
        in_order: Whether properties come in the order of the schema.
        layouts: What is written at places.
        before: The whitespace before the document.
        serial: A number for the schema in keys of nonterminals, which outlive the schema.
    """

    def __init__(self, normalizer: Normalizer, options: ReadOptions) -> None:
        self.normalizer = normalizer
        self.whitespace = options.whitespace
        self.plain = options.spelling == "plain"
        self.in_order = options.property_order == "schema"
        self.layouts = _layouts(options.whitespace, self.plain)
        self.before = space(options.whitespace) if isinstance(options.whitespace, str) else ()
        self.serial = next(_serials)
        self._terminals: dict[Conj, Terminal | None] = {}  # None: one terminal is not enough
        self._box_numbers: dict[ArrayBox | ObjectBox, int] = {}

    def box_number(self, box: ArrayBox | ObjectBox) -> int:
        """A number for a box: equal boxes of this schema have equal numbers, and large boxes are hashed once."""
        return self._box_numbers.setdefault(box, len(self._box_numbers))

    def value(self, conj: Conj, place: int = 0) -> Symbol:
        """The symbol of the values that fulfil a conjunction, at a place; the conjunction is inhabited."""
        if conj == TRUE:
            return any_value(self.whitespace, place, self.plain)
        if conj in self._terminals:
            terminal = self._terminals[conj]
        else:
            normal = self.normalizer.normal(conj)
            terminals = [] if normal.arrays or normal.objects else self.terminals(normal)
            terminal = self._terminals[conj] = terminals[0] if len(terminals) == 1 else None
        return terminal if terminal is not None else _Value(Level(self, place), conj)

    def values(self, conjs: Sequence[Conj], place: int) -> list[Symbol]:
        """The symbols of the values that fulfil one of some conjunctions, which are inhabited, at a place."""
        normals = [] if len(conjs) == 1 else [self.normalizer.normal(conj) for conj in conjs]
        if not normals or any(normal.arrays or normal.objects for normal in normals):
            return [self.value(conj, place) for conj in conjs]
        return list(self.terminals(union(normals)))

    def terminals(self, normal: NormalForm) -> list[Terminal]:
        """The terminals of a set's inhabited parts, without arrays and objects."""
        terminals: list[Terminal] = []
        if normal.null:
            terminals.append(NULL)
        if normal.booleans:
            terminals.append(BOOLEAN if len(normal.booleans) == 2 else BOOLEANS[next(iter(normal.booleans))])
        numbers = [box for box in normal.numbers if has_numbers(box)]
        if numbers:
            terminals.append(number_terminal(tuple(numbers), self.plain))
        if normal.strings == ANY_TEXT:
            terminals.append(any_string(self.plain))
        elif normal.strings is not EMPTY and not is_void(normal.strings):
            terminals.append(string_terminal(normal.strings, self.plain))
        return terminals


class Level:
    """Makes the symbols of the containers at one place, and of the values in them.

    Attributes:
        around: What is written around the values.
        plain: Whether values are spelled plainly.
    """

    def __init__(self, lowering: Lowering, place: int) -> None:
        self.lowering = lowering
        self.place = place
        self.normalizer = lowering.normalizer
        self.plain = lowering.plain
        self.around = layout(lowering.whitespace, place)

    def key(self, box: ArrayBox | ObjectBox) -> tuple[int, int, int]:
        """A short key for a box at this place."""
        return self.lowering.serial, self.place, self.lowering.box_number(box)

    def at(self, place: int) -> Level:
        """The level at another place."""
        return self if place == self.place else Level(self.lowering, place)

    def written(self, container: ContainerRules) -> Alternatives:
        """The alternatives of a container: empty, or by what is written behind its bracket."""
        is_object, may_be_empty, first = container
        around = self.around
        alternatives: Alternatives = []
        if may_be_empty:
            alternatives.append([*(around.empty_object if is_object else around.empty_array)])
        if first is not None:
            openings = around.objects if is_object else around.arrays
            alternatives += [[*symbols, first.at(place)] for symbols, place in openings]
        return alternatives

    @property
    def value_symbols(self) -> ValueSymbols:
        """The function from conjunctions to symbols, for the engine. Not kept: it would be a reference cycle."""
        return ValueSymbols((self.lowering.serial, "value"), self.value)

    def value(self, conj: Conj) -> Symbol:
        """The symbol of the values in a container that fulfil a conjunction; the conjunction is inhabited."""
        return self.lowering.value(conj, self.around.inner)

    def values(self, conjs: Sequence[Conj]) -> list[Symbol]:
        """The symbols of the values in a container that fulfil one of some conjunctions; each is inhabited."""
        return self.lowering.values(conjs, self.around.inner)

    def pair(self, key: Terminal, conj: Conj) -> list[Symbol]:
        """The symbols of a member of an object, with the whitespace after its value."""
        return [key, *self.after_key(conj)]

    def after_key(self, conj: Conj) -> list[Symbol]:
        """The symbols of a member behind its key."""
        return [*self.around.colon, self.value(conj), *self.around.behind]

    def alternatives(self, conj: Conj) -> Alternatives:
        """The alternatives of a value. Those of arrays and objects are a bracket and a nonterminal."""
        normal = self.normalizer.normal(conj)
        boxes: Sequence[ObjectBox] = normal.objects
        many: Alternatives = []
        if _has_many_conditions(boxes):
            many, boxes = unite_conditions(self, boxes)
        parts = object_parts(self, boxes)
        if len(parts) > FEW:
            united, rest = unite_shapes(self, conj, parts)
            many, parts = [*many, *united, *many_objects(self, conj, rest)], []
        rules = self._rules(normal, parts)
        alternatives: Alternatives = [[terminal] for terminal in rules.terminals]
        for container in rules.containers:
            alternatives += self.written(container)
        return alternatives + many

    def rules(self, conj: Conj) -> ValueRules | None:
        """The rules of a value, at all places; None if many shapes of objects are united, which is done by place."""
        normal = self.normalizer.normal(conj)
        if _has_many_conditions(normal.objects):
            return None
        parts = object_parts(self, normal.objects)
        return self._rules(normal, parts) if len(parts) <= FEW else None

    def _rules(self, normal: NormalForm, parts: Sequence[Part]) -> ValueRules:
        arrays = [array_container(self, box) for box in normal.arrays]
        objects = [object_container(self, part) for part in parts]
        containers = [container for container in (*arrays, *objects) if container is not None]
        return ValueRules(self.lowering.terminals(normal), containers)


def _has_many_conditions(boxes: Sequence[ObjectBox]) -> bool:
    """True if there are many cases of the conditions of some boxes."""
    cases = 0
    for box in boxes:
        cases += prod(map(len, box.conditions))
    return cases > FEW


class _Value(PlacedNonterminal):
    """The values that fulfil a conjunction."""

    is_value = is_late = True
    __slots__ = ("conj", "level")

    def __init__(self, level: Level, conj: Conj) -> None:
        super().__init__("value", key=(level.lowering.serial, "value", level.place, *conj))
        self.level, self.conj = level, conj

    @property
    def position(self) -> Position:
        lowering, place = self.level.lowering, self.level.place
        return Position((lowering.serial, "value", *self.conj), 0, place, lowering.layouts)

    def at(self, place: int) -> _Value:
        return self if place == self.level.place else _Value(self.level.at(place), self.conj)

    def plainest(self) -> Plainest | None:
        place = plainest(self.level.lowering.whitespace, self.level.place)
        return None if place is None else Plainest(self.at(place), MAX_UNIT, MAX_DEPTH)

    def description(self) -> ValueRules | None:
        return self.level.rules(self.conj)

    def expand(self) -> Alternatives:
        return self.level.alternatives(self.conj)
