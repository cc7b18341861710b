"""Random schemas of drafts 4 to 2020-12: every validation keyword, nested, with few names so that keywords interact.

The idea: one generator (`SchemaMaker`) asks a *chooser* for each decision. A chooser is a seeded `random.Random`
(`Seeded`: large runs, one integer makes the schema again) or hypothesis (`Drawn`: tests that shrink). A subschema has
a *theme*, the type that most of its keywords speak of, and hands it to the schemas it combines (`allOf`, `not`, ...):
keywords about different types never meet.

References lead to the root, to definitions and to an embedded resource with an `$id` of its own, by pointer, anchor,
`$dynamicRef` and `$recursiveRef`. Definitions have a *rank*: outside of properties and items a schema refers only to
lower ranks, so that no schema combines itself with itself (which is an error, and tested as one elsewhere).

Limit: values need no exact decimals beyond what `json.dumps` writes; no text holds a line end, since Python's `$` also
matches before one.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from hypothesis import strategies as st

from tables import table

TABLE = table("schema_keywords")

T = TypeVar("T")

NAMES = ("a", "b", "ab", "c", "é")
PATTERNS = ("a", "^a", "b$", "^[ab]*$", "^(a|ab)$", "^.$", "c|é", "^[^a]")
NUMBERS = (0, 1, 2, 3, -1, 6, 10, 1.5, 0.5, 0.1, 0.3, 2.0, -2.5, 1.25)
TEXTS = ("", "a", "b", "ab", "abc", "é", "1", "aab", "ba")
SCALARS: tuple[Any, ...] = (None, True, False, *NUMBERS, *TEXTS)
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
THEMES = ("number", "string", "array", "array", "object", "object", "object", "any")
BASE = "https://example.com/root"


class Chooser(Protocol):
    """Whoever decides."""

    def number(self, low: int, high: int) -> int:
        """An integer of low..high."""


class Seeded:
    """Decisions by a pseudo-random generator."""

    def __init__(self, seed: int | str) -> None:
        self.number = random.Random(seed).randint


class Drawn:
    """Decisions by hypothesis; low numbers are the simple ones."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw

    def number(self, low: int, high: int) -> int:
        found = self.draw(st.integers(low, high))
        assert isinstance(found, int)
        return found


class Choices:
    """Common choices, made with a chooser."""

    def __init__(self, chooser: Chooser) -> None:
        self.number = chooser.number

    def pick(self, options: Sequence[T]) -> T:
        return options[self.number(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        return self.number(0, 99) >= 100 - percent

    def some(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """Between `least` and `most` different options."""
        found: list[T] = []
        for _ in range(self.number(least, most)):
            option = self.pick(options)
            if option not in found:
                found.append(option)
        return found or ([options[0]] if least else [])

    def value(self, depth: int = 2) -> Any:
        """A JSON value made of the pool."""
        kind = self.number(0, 9) if depth else 0
        if kind < 6:
            return self.pick(SCALARS)
        if kind < 8:
            return [self.value(depth - 1) for _ in range(self.number(0, 3))]
        return {name: self.value(depth - 1) for name in self.some(NAMES, 0, 3)}


class Draft(NamedTuple):
    """One draft. definitions, id: what it calls these keywords."""

    year: int
    uri: str
    definitions: str
    id: str


DRAFTS = {
    "draft4": Draft(2013, "http://json-schema.org/draft-04/schema#", "definitions", "id"),
    "draft6": Draft(2017, "http://json-schema.org/draft-06/schema#", "definitions", "$id"),
    "draft7": Draft(2018, "http://json-schema.org/draft-07/schema#", "definitions", "$id"),
    "draft2019-09": Draft(2019, "https://json-schema.org/draft/2019-09/schema", "$defs", "$id"),
    "draft2020-12": Draft(2020, "https://json-schema.org/draft/2020-12/schema", "$defs", "$id"),
}

# keyword (or group of keywords that belong together): first draft that knows it, theme, how often
GROUPS: dict[str, tuple[int, str, int]] = TABLE["groups"]
LAST = {"dependencies": 2018}  # the last draft that knows it
ANNOTATIONS: tuple[tuple[str, Any], ...] = (
    ("title", "a"), ("default", 1), ("format", "ipv4"), ("description", "é"), ("x-unknown", {"a": False}),
)  # fmt: skip


def groups(draft: Draft, theme: str) -> list[str]:
    """The keyword groups of a theme, as often as they are to be chosen."""
    return [
        name
        for name, (first, of, weight) in GROUPS.items()
        if of == theme and first <= draft.year <= LAST.get(name, 9999)
        for _ in range(weight)
    ]


class SchemaMaker(Choices):
    """Makes one schema. size: about how many subschemas it has."""

    def __init__(self, chooser: Chooser, draft: Draft, size: int = 10) -> None:
        super().__init__(chooser)
        self.draft = draft
        self.size = self.left = size
        self.depth = 0
        self.by_theme = {theme: groups(draft, theme) for theme in ("number", "string", "array", "object", "any")}
        self.targets: list[tuple[int, str, str]] = []  # (rank, reference, keyword) in the present resource
        self.rank = 0
        self.modern = draft.year >= 2019

    # ------------------------------------------------------------------------------------------------ the document

    def document(self) -> dict[str, Any]:
        """A whole schema, with its definitions."""
        kinds = ["leaf"] + [name for name in ("node", "named", "tree") if self.chance(40)]
        definitions: dict[str, Any] = {}
        root: dict[str, Any] = {"$schema": self.draft.uri}
        inner: dict[str, Any] = {}
        if "tree" in kinds:
            root[self.draft.id] = BASE
            inner[self.draft.id] = "tree"
        anchored = "tree" in kinds or self.chance(30)
        if self.draft.year == 2019 and anchored:
            root.update({"$recursiveAnchor": True} if self.chance(70) else {})
            inner.update({"$recursiveAnchor": True} if self.chance(70) else {})
        if self.draft.year == 2020 and anchored:
            root.update(self._anchor())
            inner.update(self._anchor())
        self.targets = here = self._targets(kinds, root, inner)
        self.rank = 9
        body = self._resource()
        for name in kinds:
            self.left = self.size // 3
            self.rank = ("leaf", "inner", "named", "node", "tree").index(name)
            if name == "tree":
                definitions[name] = inner
                self.targets = self._inner_targets(inner, root)
                inner.update(self._resource())
                self.rank, self.left = 1, 2
                inner[self.draft.definitions] = {"inner": self._named("inner", self.schema(False))}
            else:
                self.targets = here
                definitions[name] = self._named(name, self.schema(False))
        return {**root, self.draft.definitions: definitions, **body}

    def _resource(self) -> dict[str, Any]:
        """The keywords of a schema that has an `$id`: before 2019-09 a `$ref` beside it would hide it."""
        found = self._members()
        if not self.modern and "$ref" in found:
            found["allOf"] = [*found.get("allOf", []), {"$ref": found.pop("$ref")}]
        return found

    def _anchor(self) -> dict[str, Any]:
        """The anchor `meta` of a resource: dynamic, plain, or none."""
        return self.pick(({"$dynamicAnchor": "meta"}, {"$dynamicAnchor": "meta"}, {"$anchor": "meta"}, {}))

    def _named(self, name: str, schema: Any) -> Any:
        """Definitions `named` and `inner` have an anchor."""
        if name not in ("named", "inner"):
            return schema
        anchor = {"$anchor": name} if self.modern else {self.draft.id: f"#{name}"}
        return {**anchor, "allOf": [schema]}

    def _targets(self, kinds: list[str], root: dict[str, Any], inner: dict[str, Any]) -> list[tuple[int, str, str]]:
        """The targets to which the root resource may refer."""
        where = self.draft.definitions
        found = [(0, f"#/{where}/leaf", "$ref"), (9, "#", "$ref")]
        if "node" in kinds:
            found.append((3, f"#/{where}/node", "$ref"))
        if "named" in kinds:
            found.append((2, "#named", "$ref"))
        if "tree" in kinds:
            found += [(4, "tree", "$ref"), (1, "tree#inner", "$ref"), (1, f"tree#/{where}/inner", "$ref")]
        found += self._late(root, "", 9)
        if "tree" in kinds:
            found += self._late(inner, "tree", 9)
        return found

    def _inner_targets(self, inner: dict[str, Any], root: dict[str, Any]) -> list[tuple[int, str, str]]:
        """The targets to which the embedded resource may refer."""
        where = self.draft.definitions
        found = [(4, "#", "$ref"), (1, "#inner", "$ref"), (1, f"#/{where}/inner", "$ref"), (9, "root", "$ref")]
        found += [(0, f"root#/{where}/leaf", "$ref"), *self._late(inner, "", 9), *self._late(root, "root", 9)]
        return found

    def _late(self, resource: dict[str, Any], uri: str, rank: int) -> list[tuple[int, str, str]]:
        """References to a resource whose target depends on how it was reached (or could)."""
        found = []
        if self.draft.year == 2019 and not uri and self.draft.id in resource:
            found += [(rank, "#", "$recursiveRef")] * 3
        if "$dynamicAnchor" in resource or "$anchor" in resource:
            found += [(rank, f"{uri}#meta", "$dynamicRef")] * 3 + [(rank, f"{uri}#meta", "$ref")]
        return found

    # -------------------------------------------------------------------------------------------------- one schema

    def schema(self, guarded: bool, theme: str = "") -> Any:
        """A subschema. guarded: it is about a part of the value, so it may refer to anything."""
        if self.left <= 0 or self.chance(8 + 12 * self.depth):
            return self._leaf(guarded)
        self.left -= 1
        self.depth += 1
        found = self._members(guarded, theme)
        self.depth -= 1
        return found

    def _leaf(self, guarded: bool) -> Any:
        kind = self.number(0, 9)
        if kind < 3:
            return {"type": self.pick(TYPES)}
        if kind < 5:
            return self._ref(guarded)
        if kind < 7:
            return {"enum": self.some(SCALARS, 1, 4)}
        return self.pick(({}, {}, {"not": {}}) if self.draft.year == 2013 else (True, True, {}, False))

    def _members(self, guarded: bool = False, theme: str = "") -> dict[str, Any]:
        """The keywords of a schema."""
        if not theme or self.chance(20):
            theme = self.pick(THEMES)
        found: dict[str, Any] = {}
        if theme != "any" and self.chance(40):
            found["type"] = self._type(theme)
        elif self.chance(15):
            found["type"] = self.some(TYPES, 1, 3)
        for _ in range(self.number(1, 4)):
            own = theme != "any" and self.chance(65)
            name = self.pick(self.by_theme[theme if own else "any"])
            found.update(getattr(self, "_" + name, self._plain)(guarded, theme, name))
        return found

    def _type(self, theme: str) -> Any:
        if theme == "number":
            return self.pick(("number", "integer", ["integer", "null"]))
        return self.pick((theme, theme, [theme, "null"]))

    def _plain(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        """Keywords whose value holds no schema."""
        if name in ("minimum", "maximum"):
            return {name: self.pick(NUMBERS)}
        if name in ("exclusiveMinimum", "exclusiveMaximum"):
            if self.draft.year > 2013:
                return {name: self.pick(NUMBERS)}
            return {name: self.chance(70), "m" + name[10:]: self.pick(NUMBERS)}  # draft 4: it goes with `minimum`
        if name == "multipleOf":
            return {name: self.pick((2, 3, 1, 0.5, 0.1, 0.3, 1.5, 2.5, 7))}
        if name == "pattern":
            return {name: self.pick(PATTERNS)}
        if name == "uniqueItems":
            return {name: self.chance(85)}
        if name == "required":
            return {name: self.some(NAMES, 1, 2)}
        if name == "enum":
            return {name: [self.value() for _ in range(self.number(1, 4))]}
        if name == "const":
            return {name: self.value()}
        return {name: self.number(0, 3)}  # minLength, maxLength, minItems, ...

    def _annotation(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        return dict([self.pick(ANNOTATIONS)])

    def _ref(self, guarded: bool, theme: str = "", name: str = "") -> dict[str, Any]:
        open_ = [(ref, keyword) for rank, ref, keyword in self.targets if guarded or rank < self.rank]
        if not open_:
            return {}
        ref, keyword = self.pick(open_)
        return {keyword: ref}

    # ------------------------------------------------------------------------------------------ arrays and objects

    def _part(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        """One schema about parts of the value."""
        return {name: self.schema(True)}

    _additionalProperties = _part

    def _unevaluatedItems(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        """Mostly beside schemas that evaluate some of the parts."""
        last = self.pick((False, False, True, None))
        found = {name: self.schema(True) if last is None else last}
        if self.chance(70):
            other = self.pick(("allOf", "anyOf", "oneOf", "if", "ref", "not"))
            found.update(getattr(self, "_" + other)(guarded, theme, other))
        return found

    _unevaluatedProperties = _unevaluatedItems

    def _items(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        return {"items": self.schema(True)}

    def _tuple(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        """One schema per position, sometimes with one for all others."""
        prefix = [self.schema(True) for _ in range(self.number(1, 3))]
        first, rest = ("prefixItems", "items") if self.draft.year >= 2020 else ("items", "additionalItems")
        return {first: prefix, **({rest: self.schema(True)} if self.chance(40) else {})}

    def _contains(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        found = {"contains": self.schema(True)}
        for bound in ("minContains", "maxContains"):
            if self.modern and self.chance(35):
                found[bound] = self.number(0, 3)
        return found

    def _properties(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        return {"properties": {key: self.schema(True) for key in self.some(NAMES, 1, 3)}}

    def _patternProperties(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        return {"patternProperties": {key: self.schema(True) for key in self.some(PATTERNS, 1, 2)}}

    def _propertyNames(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        return {"propertyNames": self.schema(True, "string")}

    def _dependentRequired(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        return {name: {key: self.some(NAMES, 1, 2) for key in self.some(NAMES, 1, 2)}}

    def _dependentSchemas(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        return {name: {key: self.schema(guarded, "object") for key in self.some(NAMES, 1, 2)}}

    def _dependencies(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        either = (self._dependentRequired, self._dependentSchemas)
        members = [self.pick(either)(guarded, theme, name)[name] for _ in range(2)]
        return {name: members[0] | members[1]}

    # ------------------------------------------------------------------------------------------------- combinations

    def _several(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        return {name: [self.schema(guarded, theme) for _ in range(self.number(1, 3))]}

    _allOf = _anyOf = _oneOf = _several

    def _not(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        return {name: self.schema(guarded, theme)}

    def _if(self, guarded: bool, theme: str, name: str) -> dict[str, Any]:
        if self.draft.year < 2018:
            return self._several(guarded, theme, "anyOf")
        found = {"if": self.schema(guarded, theme)}
        for branch in ("then", "else"):
            if self.chance(65):
                found[branch] = self.schema(guarded, theme)
        return found


def seeded_schema(draft: str, seed: int | str) -> dict[str, Any]:
    """The schema of a seed."""
    return SchemaMaker(Seeded(seed), DRAFTS[draft]).document()
