"""The state of reading one subschema, and the formula that it ends in.

The idea: the keywords about one type (`minLength`, `properties`, ...) fill one box per type; all other keywords
(`allOf`, `$ref`, `enum`, ...) add formulas. The subschema is the intersection of them all, in written order, which
decides the order of properties.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constrain.languages.automata.syntax import ANY_CHAR, ANY_TEXT, EMPTY, Node, alternate, complement, repeat
from constrain.languages.schema.sets.algebra import (
    ANY_ARRAY,
    ANY_OBJECT,
    BOTH_BOOLEANS,
    EVERYTHING,
    TRUE,
    ArrayBox,
    Conj,
    NormalForm,
    ObjectBox,
    TooManyBoxes,
    class_of,
    meet_arrays,
    meet_objects,
)
from constrain.languages.schema.sets.formula import AllOf, CheckedLater, Formula, KnownSet
from constrain.languages.schema.sets.json_types import Json, JsonObject
from constrain.languages.schema.sets.numbers import ANY_NUMBER, NumberBox, meet_numbers
from constrain.languages.schema.sets.strings import all_begin_apart, meet_strings

if TYPE_CHECKING:
    from constrain.languages.schema.read.document import Site
    from constrain.languages.schema.read.reader import SchemaReader

TYPES = frozenset(("null", "boolean", "number", "string", "array", "object"))
PATTERNS = "a key may match patterns in too many ways: the schemas of the last ones are checked on the finished text"


class SubschemaReading:
    """The conditions that the keywords of one subschema have stated so far.

    Attributes:
        raw: The subschema.
        types: The JSON types that are allowed.
        integer: Whether numbers must be integers.
        numbers: Conditions on numbers.
        texts: Conditions on strings.
        length: The least and the largest length of strings in characters; None: no limit.
        array: Fields of the `ArrayBox` that keywords have stated.
        arrays: Further conditions on arrays; None is fulfilled by no array.
        object: Fields of the `ObjectBox` that keywords have stated.
        patterns: `patternProperties`, as (key language, conj).
        rest: `additionalProperties`.
        formulas: Conditions on all types, in written order.
        mark: The position among the formulas where `properties` stands; None: there is none.
    """

    types: frozenset[str] = TYPES
    integer = False
    length: tuple[int, int | None] = (0, None)
    rest: Conj = TRUE
    mark: int | None = None

    def __init__(self, reader: SchemaReader, site: Site) -> None:
        self.reader = reader
        self.document = reader.document
        self.site = site
        self.raw: JsonObject = site.raw
        self.numbers: list[NumberBox] = []
        self.texts: list[Node] = []
        self.array: dict[str, Any] = {}
        self.arrays: list[ArrayBox | None] = []
        self.object: dict[str, Any] = {}
        self.patterns: list[tuple[Node, Conj]] = []
        self.formulas: list[Formula] = []

    def child(self, raw: Json, *steps: str | int) -> Conj:
        """The conjunction of a subschema of this one, which is found by `steps`."""
        return self.reader.conj(raw, self.site, steps)

    def formula(self) -> Formula:
        """The intersection of all conditions."""
        first = self.formulas[0] if len(self.formulas) == 1 else None
        if type(first) is KnownSet and self._states_types_only():
            return KnownSet(first.normal.of_types(self.types))  # PERF: "type" beside "enum"
        boxes = KnownSet(self._boxes())
        parts = list(self.formulas)
        if not parts:
            return boxes
        if boxes.normal is not EVERYTHING:
            parts.insert(self.mark or 0, boxes)
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _states_types_only(self) -> bool:
        """True if no keyword about one type says anything but that it is allowed."""
        about_values = self.integer or self.numbers or self.texts or self.length != (0, None)
        return not (about_values or self.array or self.arrays or self.object or self.patterns or self.rest != TRUE)

    def _boxes(self) -> NormalForm:
        types = self.types
        numbers = self._numbers() if "number" in types else ()
        strings = self._strings() if "string" in types else EMPTY
        arrays = self._arrays() if "array" in types else ()
        objects = self._objects() if "object" in types else ()
        normal = NormalForm(
            "null" in types, BOTH_BOOLEANS if "boolean" in types else frozenset(), numbers, strings, arrays, objects
        )
        return EVERYTHING if normal == EVERYTHING else normal

    def _numbers(self) -> tuple[NumberBox, ...]:
        box: NumberBox | None = ANY_NUMBER
        if self.integer:
            box = NumberBox(multiple=1, plain=self.site.dialect.plain_integers or None)
        for condition in self.numbers:
            box = box and meet_numbers(box, condition)
        return (box,) if box is not None else ()

    def _strings(self) -> Node:
        low, high = self.length
        language: Node = ANY_TEXT if self.length == (0, None) else repeat(ANY_CHAR, low, high)
        for text in self.texts:
            language = meet_strings(language, text)
        return language

    def _arrays(self) -> tuple[ArrayBox, ...]:
        own = ArrayBox(**self.array) if self.array else ANY_ARRAY
        if own.high is not None and own.high < own.low:
            return ()
        box: ArrayBox | None = own
        for condition in self.arrays:
            box = box and condition and meet_arrays(box, condition)
        return (box,) if box is not None else ()

    def _objects(self) -> tuple[ObjectBox, ...]:
        """`properties`, `patternProperties` and `additionalProperties` as one box; nothing if it is empty."""
        if self.rest != TRUE and not self.patterns:
            self.object["classes"] = ((ANY_TEXT, self.rest),)
        own = ObjectBox(**self.object) if self.object else ANY_OBJECT
        box = self._with_patterns(own) if self.patterns else own
        if box is None or (box.high is not None and box.high < box.low):
            return ()
        return (box,)

    def _with_patterns(self, declared: ObjectBox) -> ObjectBox | None:
        """The declared properties with the conditions of patterns.

        A pattern also says something of declared names; `additionalProperties` only of keys that match no pattern. The
        condition of one pattern P is a box (keys in P: conj, other keys: TRUE); these boxes are intersected.
        """
        if all_begin_apart([language for language, _ in self.patterns]):
            return meet_objects(declared, self._patterns_apart(declared))
        whole = alternate(*(language for language, _ in self.patterns))
        box = ObjectBox()
        if self.rest != TRUE:
            box = ObjectBox(classes=((whole, TRUE), (complement(whole), self.rest)))
            named = tuple((name, TRUE) for name, _ in declared.named)
            box = box._replace(named=named)
        conditions = [
            ObjectBox(classes=((language, conj), (complement(language), TRUE)))
            for language, conj in self.patterns
            if conj != TRUE
        ]
        met: ObjectBox | None = box
        for number, condition in enumerate(conditions):
            try:
                met = met and meet_objects(met, condition)
            except TooManyBoxes:
                self.formulas += [CheckedLater(EVERYTHING._replace(objects=(later,))) for later in conditions[number:]]
                self.document.residuals.append((self.site, "(overlap)", PATTERNS))
                break
        return met and meet_objects(declared, met)

    def _patterns_apart(self, declared: ObjectBox) -> ObjectBox:
        """The conditions of patterns of which a key matches one at most: all classes of keys at once."""
        by_conj: dict[Conj, list[Node]] = {}
        for language, conj in self.patterns:
            if conj != TRUE or self.rest != TRUE:
                by_conj.setdefault(conj, []).append(language)
        classes = [(alternate(*languages), conj) for conj, languages in by_conj.items()]
        box = ObjectBox(classes=(*classes, (complement(alternate(*(language for language, _ in classes))), TRUE)))
        named = tuple([(name, class_of(box, name)) for name, _ in declared.named]) if self.rest != TRUE else ()
        return box._replace(named=named, classes=(*classes, (box.classes[-1][0], self.rest)))
