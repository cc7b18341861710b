"""Schemas that refuse what they do not declare: `json_schema(undeclared="refuse")`, and "avoid" (left_open.py).

The idea: a *place* of a value is closed, not a schema object. `allOf`, `$ref` and the like speak of one place together,
so what one of them declares is declared for all. A place whose schemas declare properties gets what
`unevaluatedProperties: false` says, and one whose schemas declare first items `unevaluatedItems: false`. Objects and
arrays of which nothing is declared stay free. Where only the branches of one `anyOf` or `oneOf` declare something, each
branch is closed for itself, so that a free branch beside them stays free.

The reader asks on its way: a subschema is read in a `Mode`, which follows from the schema around it, and `Closing`
decides which keywords are read beside the written ones (`Decision`). Only parts that add conditions have a mode.
`not`, `if`, `contains`, `propertyNames` and the comparison of `oneOf` are read as they were written, so a closed schema
allows nothing that the schema refuses.

"avoid" leaves a place open where closing would take away what the schema asks for: `required`, `enum` and the like name
a property that no schema of the place declares, or a schema of the place stands in another document.

Cost: some microseconds for each subschema of objects or arrays; more where several describe one place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from constrain.languages.constraints.report import ReportLine
from constrain.languages.schema.read.document import Site
from constrain.languages.schema.read.duplicates import ANNOTATIONS
from constrain.limits import tick

UNDECLARED_PROPERTIES, UNDECLARED_ITEMS = "(undeclared properties)", "(undeclared items)"


class _Kind(NamedTuple):
    """A kind of container that schemas close: objects or arrays, with their keywords.

    Attributes:
        declaring: The keywords that may declare properties, or first items.
        closing: The keyword that closes a schema, whatever it applies to the same value.
        unevaluated: The keyword for what no other one evaluates.
    """

    declaring: tuple[str, ...]
    closing: str
    unevaluated: str

    def declares(self, raw: dict[str, Any]) -> bool:
        """True if the keywords of a schema declare something."""
        if self is PROPERTIES:
            return bool(raw.get("properties") or raw.get("patternProperties"))
        return bool(raw.get("prefixItems") or (isinstance(raw.get("items"), list) and raw["items"]))

    def rest(self, raw: dict[str, Any]) -> str:
        """The keyword that says what is allowed beside what a schema declares by itself."""
        if self is PROPERTIES:
            return "additionalProperties"
        return "additionalItems" if isinstance(raw.get("items"), list) else "items"

    def says_rest(self, raw: dict[str, Any]) -> bool:
        """True if a schema says itself what else is allowed."""
        return self.unevaluated in raw or self.rest(raw) in raw


PROPERTIES = _Kind(("properties", "patternProperties"), UNDECLARED_PROPERTIES, "unevaluatedProperties")
ITEMS = _Kind(("prefixItems", "items"), UNDECLARED_ITEMS, "unevaluatedItems")
KINDS = (PROPERTIES, ITEMS)
APPLYING = ("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies")
_INNER = frozenset(
    {"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"}
    | {"prefixItems", "items", "additionalItems", "unevaluatedItems"}
)
_NAMES_OF_ROOT = ("$schema", "$id", "id", "$vocabulary", "$defs", "definitions")
_NOT_COPIED = frozenset({*_NAMES_OF_ROOT, "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$comment", "default"})
BRANCHES, ALONE = "(closed branches)", "(a place of its own)"  # the second: what an intersection is made of
_NOTE = "there are declared ones only, as the schema does not say otherwise"
_NOTE_OBJECT = "an object is meant, as there are properties and no type"
TYPED, OBJECTS = frozenset({"type", "enum", "const"}), frozenset({"properties", "required"})
_NOTE_OPEN = "stays open: "
_ASKING_MORE = frozenset({"dependentRequired", "dependencies", "enum", "const"})
_ASKING = _ASKING_MORE | {"required"}
_LEADING = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "$id", "id", ALONE})
_NESTING, _MAPS = frozenset({*APPLYING, *_INNER}), ("dependentSchemas", "dependencies", "patternProperties")
_APPLIED, _DECLARING = frozenset({*APPLYING, "$ref"}), frozenset({*PROPERTIES.declaring, *ITEMS.declaring})
MATTERING = _LEADING | _DECLARING | OBJECTS | _NESTING
"""The keywords of subschemas in which anything may be closed."""


class Mode(NamedTuple):
    """The mode in which a subschema is read: which of its containers are closed.

    Attributes:
        kinds: What is closed there, as no other schema of the place declares any of it.
        asked: The names of properties that the schemas around it in the place ask for.
        whole: It is of objects if it speaks of properties, and nothing of a type.
    """

    kinds: frozenset[_Kind] = frozenset()
    asked: frozenset[str] = frozenset()
    whole: bool = False


PLACE, INSIDE = Mode(frozenset(KINDS), whole=True), Mode()


class Decision(NamedTuple):
    """The keywords that close a subschema in a mode, and the modes of its parts.

    Attributes:
        site: The subschema as written.
        closes: What is closed there.
        adds: The keywords that say so.
        inner: The mode of the schemas that it applies to the same value.
        mixed: Some branches of a union say their type: one without a type is of objects.
        key: Equal subschemas with equal keys are read as one.
    """

    site: Site
    closes: tuple[_Kind, ...]
    adds: dict[str, Any]
    inner: Mode
    mixed: bool
    key: tuple[Any, ...]

    @property
    def raw(self) -> dict[str, Any]:
        """The subschema as it is read: what holds of branches stands where `allOf` does."""
        if BRANCHES not in self.adds:
            return self.site.raw | self.adds
        raw = {}
        for name, value in self.site.raw.items():
            raw[name] = value
            if name == "allOf":
                raw[BRANCHES] = self.adds[BRANCHES]
        return raw | self.adds

    def mode(self, name: str) -> Mode | None:
        """The mode of a subschema behind a keyword; None: it is read as it was written."""
        if name in _INNER or name == ALONE:
            return PLACE
        if name in ("anyOf", BRANCHES):
            return self.inner._replace(whole=self.mixed)
        if name in ("allOf", "$ref"):
            return self.inner
        return INSIDE if name in ("then", "else", "dependentSchemas", "dependencies") else None


class Closing:
    """Decides what is closed of one schema.

    Attributes:
        stays: Why schemas stay open, by their id. None: nothing stays open, for "refuse".
        left: The reason why a place stays open, by its pointer and kind.
        places: The places of which a closed copy was made, by pointer and kind.
        objects: The pointers of places that mean objects and do not say so.
        names: The names of the closed copies that references lead to.
        definitions: These copies, by their names.
    """

    def __init__(self, site: Site, stays: Mapping[int, str] | None = None) -> None:
        """Decide nothing yet.

        Args:
            site: The place of the root.
            stays: See above.
        """
        self.site = site
        self.stays = stays
        self.root: dict[str, Any] = site.raw
        self.dialect = site.dialect
        self.resource = site.resource
        self.left: dict[tuple[str, _Kind], str] = {}
        self._decided: dict[tuple[int, Mode], Decision] = {}
        self._mattering: dict[int, bool] = {}
        self.places: dict[tuple[str, _Kind], str] = {}
        self.objects: dict[str, None] = {}
        self.names: dict[Any, str] = {}
        self.definitions: dict[str, Any] = {}

    def decide(self, raw: Any, mode: Mode | None, parent: Site | None, steps: tuple[str | int, ...]) -> Decision | None:
        """The decision of a subschema, reached from `parent`, in a mode; None: it is read as it was written."""
        if mode is None or not isinstance(raw, dict) or not self._matters(raw):
            return None
        known = self._decided.get((id(raw), mode))
        if known is None:
            site = Site(raw, parent, steps, self.resource, self.dialect, ())
            known = self._decided[id(raw), mode] = self._decision(site, mode)
        return known

    def _matters(self, raw: dict[str, Any]) -> bool:
        """True if a subschema, or one inside it, may be closed, or leads to one that may be."""
        known = self._mattering.get(id(raw))
        if known is None:
            known = self._mattering[id(raw)] = (
                not _LEADING.isdisjoint(raw)
                or (not _DECLARING.isdisjoint(raw) and (PROPERTIES.declares(raw) or ITEMS.declares(raw)))
                or (not OBJECTS.isdisjoint(raw) and TYPED.isdisjoint(raw))
                or (not _NESTING.isdisjoint(raw) and any(self._matters(part) for part in _nested(raw)))
            )
        return known

    def _decision(self, site: Site, mode: Mode) -> Decision:
        """Raises SchemaError for references that are dynamic, or lead to another document if nothing may stay open."""
        tick()
        raw, (closing, asked, whole) = site.raw, mode
        if not _LEADING.isdisjoint(raw):
            self._refuse_what_is_not_closed(site)
            if self.is_alias(site) and id(raw) not in (self.stays or ()):  # PERF: most references
                target = self.target(site)
                if target is not None and isinstance(target.raw, dict) and _APPLIED.isdisjoint(target.raw):
                    passed = mode._replace(whole=whole and TYPED.isdisjoint(raw))
                    return Decision(site, (), {}, passed, False, (passed,))
        if _APPLIED.isdisjoint(raw) and id(raw) not in (self.stays or ()):
            return self._decided_alone(site, mode)
        applied = list(self.applied(site))
        if self.stays is not None and closing:
            closing, asked = self.may_close(site, closing, asked)
        if self.dialect.ref_alone and "$ref" in raw:
            passed = Mode(closing, asked, whole and TYPED.isdisjoint(raw))
            return Decision(site, (), {}, passed, False, (passed,))
        here = [kind for kind in KINDS if kind in closing and self.is_declared_here(site, kind)]
        inner = closing.difference(here)
        closes = [kind for kind in here if not self.asks_for_more(site, kind, asked) and not kind.says_rest(raw)]
        adds: dict[str, Any] = {BRANCHES: raw["oneOf"]} if "oneOf" in raw else {}  # one holds as written, then closed
        adds |= {kind.closing if applied else kind.rest(raw): False for kind in closes}
        is_alias = self.is_alias(site)
        if whole and not is_alias and TYPED.isdisjoint(raw) and self.means_object(site):
            adds["type"] = "object"
        mixed = not TYPED.intersection(raw) and any(
            isinstance(part.raw, dict) and TYPED & part.raw.keys()
            for name, part in applied if name in ("anyOf", "oneOf")
        )  # fmt: skip
        passed = Mode(inner, asked if inner else frozenset(), whole and is_alias) if applied else INSIDE
        return Decision(site, tuple(closes), adds, passed, mixed, (*adds, passed, mixed))

    def _decided_alone(self, site: Site, mode: Mode) -> Decision:
        """The decision of a subschema that applies no other one to the same value. PERF: nearly all."""
        raw, (closing, asked, whole) = site.raw, mode
        closes: tuple[_Kind, ...] = ()
        adds: dict[str, Any] = {}
        for kind in KINDS if not _DECLARING.isdisjoint(raw) else ():
            if kind.declares(raw) and not kind.says_rest(raw) and kind in closing:
                is_open = kind is PROPERTIES and self.stays is not None and not raw.get("patternProperties")
                if is_open and self._stays_open(site, (asked | asked_by(raw)).difference(raw["properties"])):
                    continue
                closes = (*closes, kind)
                adds[kind.rest(raw)] = False
        if whole and TYPED.isdisjoint(raw) and not OBJECTS.isdisjoint(raw):
            adds["type"] = "object"
        return Decision(site, closes, adds, INSIDE, False, (*adds,))

    def _refuse_what_is_not_closed(self, site: Site) -> None:
        for name in ("$dynamicRef", "$recursiveRef"):
            if name in site.raw and name not in self.dialect.lacks:
                message = f"a schema with {name} is not closed: what it declares depends on who refers to it"
                raise site.error(message, "use $ref", name)
        if site.parent is not None and isinstance(site.raw.get(self.dialect.id), str):
            if "$schema" in site.raw or any(_references(self.root)):
                message = "a document inside of a document is not closed"
                raise site.error(message, "move it to $defs, and refer to it by #/$defs/...", self.dialect.id)

    @property
    def sites(self) -> list[Site]:
        """All subschemas that were decided about."""
        return [decision.site for decision in self._decided.values()]

    def is_alias(self, site: Site) -> bool:
        """True if a subschema is nothing but a reference."""
        if "$ref" not in site.raw:
            return False
        return self.dialect.ref_alone or all(name == "$ref" or name in ANNOTATIONS for name in site.raw)

    def means_object(self, site: Site) -> bool:
        """True if the schemas of a place speak of properties, and say nothing of a type."""
        parts = [part.raw for part in self.within(site)]
        return all(map(TYPED.isdisjoint, parts)) and not all(map(OBJECTS.isdisjoint, parts))

    def target(self, site: Site) -> Site | None:
        """The site that a `$ref` leads to; None: in another document, where that may stay open."""
        found = self.resource.resolve(site, site.raw["$ref"])
        if found.resource.root is self.root:
            return Site(found.raw, None, found.steps, self.resource, self.dialect, ())
        if self.stays is not None:
            return None
        message = "other documents are not closed"
        raise site.error(message, "put the definition under $defs", "$ref")

    # ------------------------------------------------------------------------------------ what is told, and written out

    def lines(self) -> list[ReportLine]:
        """The lines of the report: each place that was closed, and each that stays open."""
        self.schema()
        meant = [ReportLine("(object)", pointer, "enforced", _NOTE_OBJECT) for pointer in self.objects]
        return meant + [
            ReportLine(kind.closing, pointer, "annotation" if why else "enforced", _NOTE_OPEN + why if why else _NOTE)
            for (pointer, kind), why in (self.places | self.left).items()
        ]

    def schema(self) -> dict[str, Any]:
        """The closed schema as JSON: definitions are kept, with closed copies beside them."""
        place = self._copy(self.site, PLACE)
        if any(not ref.startswith(("#/$defs/", "#/definitions/")) for ref in _references(self.root)):
            whole = {key: value for key, value in self.root.items() if not (key == "$ref" and self.dialect.ref_alone)}
            refers = [{"$ref": self.root["$ref"]}] if "$ref" in self.root and self.dialect.ref_alone else []
            place = {**whole, "allOf": [*self.root.get("allOf", ()), *refers, place]}
        else:
            place = {**{key: self.root[key] for key in _NAMES_OF_ROOT if key in self.root}, **place}
        defined = {**self.root.get("$defs", {}), **self.definitions}
        return {**place, "$defs": defined} if defined else place

    def _copy(self, site: Site, mode: Mode | None) -> Any:
        """The closed copy of a subschema. Notes the places that are closed."""
        raw = site.raw
        if mode is None or not isinstance(raw, dict) or not self._matters(raw):
            return raw
        decision = self._decision(site, mode)
        alone = "$ref" in raw and self.dialect.ref_alone
        copied = {} if alone else {n: self._value(site, n, decision) for n in raw if n not in _NOT_COPIED}
        if "oneOf" in copied:
            branches = [self._copy(part, decision.mode(BRANCHES)) for part in _parts(site, "oneOf", raw["oneOf"])]
            copied["allOf"] = [*copied.get("allOf", ()), {"anyOf": branches}]
        if "$ref" in raw:
            copied["$ref"] = self._reference(site, decision.inner._replace(whole=False))
        copied |= {name: value for name, value in decision.adds.items() if name != BRANCHES}
        self.places.update(((site.pointer, kind), "") for kind in decision.closes)
        if not mode.whole or not self.means_object(site):
            return copied
        self.objects[site.pointer] = None
        return {"type": "object", "allOf": [copied]} if alone else {**copied, "type": "object"}

    def _value(self, site: Site, name: str, decision: Decision) -> Any:
        """The value of a keyword in a closed copy."""
        value, mode = site.raw[name], decision.mode(name)
        if mode is None or name in self.dialect.lacks:
            return value
        if isinstance(value, list):
            return [self._copy(part, mode) for part in _parts(site, name, value)]
        if name in ("properties", *_MAPS):
            return {key: self._copy(_part(site, part, name, key), mode) for key, part in value.items()}
        return self._copy(_part(site, value, name), mode)

    def _reference(self, site: Site, mode: Mode) -> str:
        """A reference to the closed copy of its target; as written if it leads into another document."""
        target = self.target(site)
        if target is None:
            return str(site.raw["$ref"])
        key = id(target.raw), mode.kinds, mode.asked if mode.kinds else frozenset()
        name = self.names.get(key)
        if name is None:
            name = self.names[key] = f"(closed {len(self.names) + 1})"
            self.definitions[name] = self._copy(target, mode)
        return f"#/$defs/{name}"

    # ---------------------------------------------------------------------------------------------- what stays open

    def may_close(
        self, site: Site, closing: frozenset[_Kind], asked: frozenset[str]
    ) -> tuple[frozenset[_Kind], frozenset[str]]:
        """The kinds that may be closed at a schema, and the names of properties that are asked for there."""
        assert self.stays is not None
        together = list(self.within(site, but=("if", "anyOf", "oneOf")))
        why = self.stays.get(id(site.raw))
        elsewhere = any("$ref" in part.raw and self.target(part) is None for part in together)
        if elsewhere:
            why = "a reference leads into another document"
        if why is not None:
            told = [kind for kind in closing if self.declares(site, kind, set())] or [PROPERTIES] * elsewhere
            self.left |= {(site.pointer, kind): why for kind in told}
            return frozenset(), asked
        return closing, asked.union(*(asked_by(part.raw) for part in together))

    def asks_for_more(self, site: Site, kind: _Kind, asked: frozenset[str]) -> bool:
        """True if properties are asked for that no schema of a place declares. Notes that the place stays open."""
        if self.stays is None or kind is not PROPERTIES or kind.says_rest(site.raw):
            return False
        more, declared = set(asked), list[Any]()
        for raw in [part.raw for part in self.within(site)]:
            if kind.says_rest(raw) or raw.get("patternProperties"):
                return False
            more |= asked_by(raw)
            declared.append(raw.get("properties", ()))
        more.difference_update(*declared)
        return self._stays_open(site, more)

    def _stays_open(self, site: Site, more: Collection[str]) -> bool:
        """True if a place asks for more properties than it declares. Notes why it stays open."""
        if more:
            why = f"it asks for {', '.join(map(repr, sorted(more)))}, which is not declared"
            self.left[site.pointer, PROPERTIES] = why
        return bool(more)

    def has_any(self, site: Site, keywords: frozenset[str]) -> bool:
        """True if a schema of a place has one of some keywords."""
        if _APPLIED.isdisjoint(site.raw):
            return not keywords.isdisjoint(site.raw)
        return any(not keywords.isdisjoint(part.raw) for part in self.within(site))

    def within(self, site: Site, but: tuple[str, ...] = ("if",)) -> Iterator[Site]:
        """A schema and all that it applies to the same value, at any depth; none twice. but: keywords left aside."""
        if _APPLIED.isdisjoint(site.raw):
            yield site
            return
        seen, stack = {id(site.raw)}, [site]
        while stack:
            one = stack.pop()
            yield one
            for name, part in self.applied(one):
                if name not in but and isinstance(part.raw, dict) and id(part.raw) not in seen:
                    seen.add(id(part.raw))
                    stack.append(part)

    # ---------------------------------------------------------------------------------------------- what is declared

    def is_declared_here(self, site: Site, kind: _Kind) -> bool:
        """True if a place is closed at this schema: it declares something, or several schemas in it do."""
        if kind.declares(site.raw):
            return True
        declaring = [name for name, part in self.applied(site) if self.declares(part, kind, set())]
        alone = len(declaring) == 1 or set(declaring) in ({"anyOf"}, {"oneOf"})
        return bool(declaring) and not (alone and declaring[0] in ("anyOf", "oneOf", "allOf", "$ref"))

    def declares(self, site: Site, kind: _Kind, seen: set[int]) -> bool:
        """True if a schema, or one that it applies to the same value, declares something."""
        if not isinstance(site.raw, dict) or id(site.raw) in seen:
            return False
        seen.add(id(site.raw))
        if kind.declares(site.raw) and not (self.dialect.ref_alone and "$ref" in site.raw):
            return True
        return any(self.declares(part, kind, seen) for _, part in self.applied(site))

    def applied(self, site: Site) -> Iterator[tuple[str, Site]]:
        """The schemas that a schema applies to the same value, each with its keyword."""
        raw = site.raw
        if _APPLIED.isdisjoint(raw):
            return
        if "$ref" in raw:
            target = self.target(site)
            if target is not None:
                yield "$ref", target
            if self.dialect.ref_alone:
                return
        keywords = [name for name in APPLYING if name in raw and name not in self.dialect.lacks]
        for name in keywords:
            if name in ("allOf", "anyOf", "oneOf"):
                for part in _parts(site, name, raw[name]):
                    yield name, part
            elif name in ("if", "then", "else"):
                yield name, _part(site, raw[name], name)
            else:
                for key, part in raw[name].items():
                    if not isinstance(part, list):
                        yield name, _part(site, part, name, key)

    def inner(self, site: Site) -> Iterator[tuple[str | int | None, str | None, Site]]:
        """The subschemas of a schema for properties and items, each with its name or index, or with its pattern."""
        raw = site.raw
        if self.dialect.ref_alone and "$ref" in raw:
            return
        for name, value in raw.items():
            if name not in _INNER or name in self.dialect.lacks:
                continue
            if name in ("properties", "patternProperties"):
                for key, part in value.items():
                    named = (key, None) if name == "properties" else (None, key)
                    yield *named, _part(site, part, name, key)
            elif isinstance(value, list):
                for index, part in enumerate(_parts(site, name, value)):
                    yield index, None, part
            else:
                yield None, None, _part(site, value, name)


def _part(site: Site, raw: Any, *steps: str | int) -> Site:
    return Site(raw, site, steps, site.resource, site.dialect, ())


def _parts(site: Site, name: str, values: Any) -> list[Site]:
    return [_part(site, part, name, i) for i, part in enumerate(values)]


def asked_by(raw: dict[str, Any]) -> frozenset[str]:
    """The names of properties that a schema asks for by itself."""
    if _ASKING.isdisjoint(raw):
        return frozenset()
    names = set(raw.get("required", ()))
    if _ASKING_MORE.isdisjoint(raw):
        return frozenset(names)
    for keyword in ("dependentRequired", "dependencies"):
        named = raw.get(keyword)
        names.update(*(each for each in named.values() if isinstance(each, list)) if isinstance(named, dict) else ())
    for value in (*raw.get("enum", ()), raw.get("const")):
        names.update(value if isinstance(value, dict) else ())
    return frozenset(names)


def _nested(raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The subschemas that say something of the same value, or of its parts."""
    for name, value in raw.items():
        if name in _NESTING and isinstance(value, dict | list):
            parts = (value.values() if name in _MAPS else (value,)) if isinstance(value, dict) else value
            yield from (part for part in parts if isinstance(part, dict))


def _references(raw: Any) -> Iterator[str]:
    """All texts that stand behind `$ref`, at any depth."""
    stack = [raw]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
