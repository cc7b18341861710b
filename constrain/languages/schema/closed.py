"""Schemas that refuse what they do not declare: `json_schema(undeclared="refuse")`, and "avoid" (left_open.py).

The idea: a *place* of a value is closed, not a schema object. `allOf`, `$ref` and the like speak of one place together,
so what one of them declares is declared for all. A place whose schemas declare properties gets what
`unevaluatedProperties: false` says, and one whose schemas declare first items `unevaluatedItems: false`. Objects and
arrays of which nothing is declared stay free. Where only the branches of one `anyOf` or `oneOf` declare something, each
branch is closed for itself, so that a free branch beside them stays free.

Only parts that add conditions are closed. `not`, `if`, `contains`, `propertyNames` and the comparison of `oneOf` read
the schema as it was written; definitions are kept, with closed copies beside them. So a closed schema allows nothing
that the schema refuses.

"avoid" leaves a place open where closing would take away what the schema asks for: `required`, `enum` and the like name
a property that no schema of the place declares, or a schema of the place stands in another document.

Cost: linear in the schema and its closed copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from constrain.languages.constraints.report import ReportLine
from constrain.languages.schema.read.document import Site, draw_step
from constrain.languages.schema.read.keywords import UNDECLARED_ITEMS, UNDECLARED_PROPERTIES
from constrain.limits import tick

_NAMES_OF_ROOT = ("$schema", "$id", "id", "$vocabulary", "$defs", "definitions")
_NOT_COPIED = frozenset({*_NAMES_OF_ROOT, "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$comment", "default"})


class _Kind(NamedTuple):
    """A kind of container that schemas close: objects or arrays, with their keywords.

    Attributes:
        declaring: The keywords that may declare properties, or first items.
        closing: The keyword that closes a schema, whatever it applies to the same value.
    """

    declaring: tuple[str, ...]
    closing: str

    def declares(self, raw: dict[str, Any]) -> bool:
        """True if the keywords of a schema declare something."""
        return any(raw.get(name) and not self._is_schema(raw, name) for name in self.declaring)

    def _is_schema(self, raw: dict[str, Any], name: str) -> bool:
        """True if a keyword is a schema for all items, not a list of schemas."""
        return name == "items" and not isinstance(raw[name], list)

    def rest(self, raw: dict[str, Any]) -> str:
        """The keyword that says what is allowed beside what a schema declares by itself."""
        if self is PROPERTIES:
            return "additionalProperties"
        return "additionalItems" if isinstance(raw.get("items"), list) else "items"

    def says_rest(self, raw: dict[str, Any]) -> bool:
        """True if a schema says itself what else is allowed."""
        return self.rest(raw) in raw or self.unevaluated in raw

    @property
    def unevaluated(self) -> str:
        """The keyword for what no other one evaluates."""
        return "unevaluatedProperties" if self is PROPERTIES else "unevaluatedItems"


PROPERTIES = _Kind(("properties", "patternProperties"), UNDECLARED_PROPERTIES)
ITEMS = _Kind(("prefixItems", "items"), UNDECLARED_ITEMS)
KINDS = frozenset({PROPERTIES, ITEMS})
_APPLYING = ("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies")
_INNER = ("properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "prefixItems", "items",
          "additionalItems", "unevaluatedItems")  # fmt: skip
_NOTE = "there are declared ones only, as the schema does not say otherwise"
_NOTE_OBJECT = "an object is meant, as there are properties and no type"
TYPED, OBJECTS = frozenset({"type", "enum", "const"}), ("properties", "required")
_NOTE_OPEN = "stays open: "


class ClosedPlace(NamedTuple):
    """A place that was closed.

    Attributes:
        site: The schema that was closed there, as written.
        kind: What was closed.
        copy: The closed schema.
    """

    site: Site
    kind: _Kind
    copy: dict[str, Any]


class Closing:
    """Closes one schema.

    Attributes:
        places: The places that were closed.
        left: The reason why a place stays open, by its pointer and kind.
        objects: The pointers of places that mean objects without saying so.
    """

    def __init__(self, site: Site, stays: Mapping[int, str] | None = None) -> None:
        """Close nothing yet.

        Args:
            site: The place of the root of a schema that was read without an error, an object.
            stays: Why schemas stay open, by their id. None: nothing stays open, for "refuse".
        """
        self.site = site
        self.stays = stays
        self.root: dict[str, Any] = site.raw
        self.dialect = site.dialect
        self.resource = site.resource
        self.references = list(_references(self.root))
        self.copies: dict[tuple[int, frozenset[_Kind], frozenset[str]], str] = {}  # -> name of the closed target
        self.definitions: dict[str, Any] = {}
        self.origins: dict[str, str] = {}  # pointer of a closed copy -> pointer of its original
        self.places: list[ClosedPlace] = []
        self.left: dict[tuple[str, _Kind], str] = {}
        self.objects: list[str] = []

    def schema(self) -> dict[str, Any]:
        """The closed schema.

        Raises SchemaError for references that are dynamic, or lead into another document if nothing may stay open.
        """
        place = self.place(self.site)
        if any(not ref.startswith(("#/$defs/", "#/definitions/")) for ref in self.references):
            whole = {key: value for key, value in self.root.items() if not (key == "$ref" and self.dialect.ref_alone)}
            refers = [{"$ref": self.root["$ref"]}] if "$ref" in self.root and self.dialect.ref_alone else []
            place = {**whole, "allOf": [*self.root.get("allOf", ()), *refers, place]}
        else:
            place = {**{key: self.root[key] for key in _NAMES_OF_ROOT if key in self.root}, **place}
        return {**place, "$defs": {**self.root.get("$defs", {}), **self.definitions}}

    def lines(self) -> list[ReportLine]:
        """The lines of the report: each place that was closed, and each that stays open."""
        found = {(place.site.pointer, place.kind): "" for place in self.places} | self.left
        meant = [ReportLine("(object)", pointer, "enforced", _NOTE_OBJECT) for pointer in dict.fromkeys(self.objects)]
        return meant + [
            ReportLine(kind.closing, pointer, "annotation" if why else "enforced", _NOTE_OPEN + why if why else _NOTE)
            for (pointer, kind), why in found.items()
        ]

    def place(self, site: Site) -> Any:
        """The schema of a place, closed; an object's if it speaks of properties, and nothing of a type."""
        return self.as_object(site, self.copy(site, KINDS))

    def as_object(self, site: Site, copied: Any) -> Any:
        """The copy of a schema; that of objects, if it speaks of properties, and nothing of a type."""
        if not isinstance(copied, dict):
            return copied
        parts = [part.raw for part in self.within(site)]
        if any(map(TYPED.intersection, parts)) or not any(name in raw for raw in parts for name in OBJECTS):
            return copied
        self.objects.append(site.pointer)
        if "$ref" in copied and self.dialect.ref_alone:
            return {"type": "object", "allOf": [copied]}
        copied["type"] = "object"
        return copied

    def branches(self, site: Site, name: str, closing: frozenset[_Kind], asked: frozenset[str]) -> list[Any]:
        """The closed branches of a union; where some say their type, one without a type is of objects."""
        parts = _parts(site, name, site.raw[name])
        copies = [self.copy(part, closing, asked) for part in parts]
        if TYPED.intersection(site.raw) or not any(isinstance(p.raw, dict) and TYPED & p.raw.keys() for p in parts):
            return copies
        return [self.as_object(part, copied) for part, copied in zip(parts, copies, strict=True)]

    def copy(self, site: Site, closing: frozenset[_Kind], asked: frozenset[str] = frozenset()) -> Any:
        """A schema of a place.

        closing: what is closed here, as no other schema of the place declares any of it. asked: names of properties
        that the schemas around it in the place ask for.
        """
        tick()
        raw = site.raw
        if not isinstance(raw, dict):
            return raw
        if self.stays is not None and closing:
            closing, asked = self.may_close(site, closing, asked)
        if self.dialect.ref_alone and "$ref" in raw:
            return self.reference(site, closing, asked)
        if (
            site.parent is not None
            and isinstance(raw.get(self.dialect.id), str)
            and ("$schema" in raw or self.references)
        ):
            message = "a document inside of a document is not closed"
            raise site.error(message, "move it to $defs, and refer to it by #/$defs/...", self.dialect.id)
        closed_here = frozenset(kind for kind in closing if self.is_declared_here(site, kind))
        inner = closing - closed_here
        stay_open = frozenset(kind for kind in closed_here if self.asks_for_more(site, kind, asked))
        parts = {name: self.keyword(site, name, value, inner, asked) for name, value in raw.items()}
        copied = {name: value for name, value in parts.items() if name not in _NOT_COPIED}
        if "oneOf" in raw:  # one branch holds as written, and then closed
            copied["allOf"] = [*copied.get("allOf", ()), {"anyOf": self.branches(site, "oneOf", inner, asked)}]
        if "$ref" in raw:
            copied |= self.reference(site, inner, asked)
        for kind in closed_here - stay_open:
            if not kind.says_rest(raw):
                copied[kind.closing if any(self.applied(site)) else kind.rest(raw)] = False
                self.places.append(ClosedPlace(site, kind, copied))
        return copied

    def keyword(self, site: Site, name: str, value: Any, closing: frozenset[_Kind], asked: frozenset[str]) -> Any:
        """The value of a keyword in a closed schema. closing, asked: of schemas of the same place."""
        if name in self.dialect.lacks:
            return value
        if name in ("$dynamicRef", "$recursiveRef"):
            message = f"a schema with {name} is not closed: what it declares depends on who refers to it"
            raise site.error(message, "use $ref", name)
        if name == "anyOf":
            return self.branches(site, name, closing, asked)
        if name == "allOf":
            return [self.copy(part, closing, asked) for part in _parts(site, name, value)]
        if name in ("then", "else"):
            return self.copy(_part(site, value, name), frozenset())
        if name in ("dependentSchemas", "dependencies"):
            return {
                key: part if isinstance(part, list) else self.copy(_part(site, part, name, key), frozenset())
                for key, part in value.items()
            }
        if name in ("properties", "patternProperties"):
            return {key: self.place(_part(site, part, name, key)) for key, part in value.items()}
        if name in ("prefixItems", "items") and isinstance(value, list):
            return [self.place(part) for part in _parts(site, name, value)]
        if name in ("items", "additionalItems", "unevaluatedItems", "additionalProperties", "unevaluatedProperties"):
            return self.place(_part(site, value, name))
        return value

    def reference(self, site: Site, closing: frozenset[_Kind], asked: frozenset[str]) -> dict[str, Any]:
        """A reference to the closed copy of its target; as written if it leads into another document."""
        target = self.target(site)
        if target is None:
            return {"$ref": site.raw["$ref"]}
        key = (id(target.raw), closing, asked if closing else frozenset())
        name = self.copies.get(key)
        if name is None:
            name = self.copies[key] = f"(closed {len(self.copies) + 1})"
            self.origins[f"$.$defs{draw_step(name)}"] = target.pointer
            self.definitions[name] = self.copy(target, closing, asked)
        return {"$ref": f"#/$defs/{name}"}

    def target(self, site: Site) -> Site | None:
        """The site that a `$ref` leads to; None: in another document, where that may stay open."""
        found = self.resource.resolve(site, site.raw["$ref"])
        if found.resource.root is self.root:
            return Site(found.raw, None, found.steps, self.resource, self.dialect, ())
        if self.stays is not None:
            return None
        message = "other documents are not closed"
        raise site.error(message, "put the definition under $defs", "$ref")

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
        parts = [part.raw for part in self.within(site)]
        if any(kind.says_rest(raw) or raw.get("patternProperties") for raw in parts):
            return False
        more = asked.union(*map(asked_by, parts)).difference(*(raw.get("properties", {}) for raw in parts))
        if more:
            self.left[site.pointer, kind] = f"it asks for {', '.join(map(repr, sorted(more)))}, which is not declared"
        return bool(more)

    def within(self, site: Site, but: tuple[str, ...] = ("if",)) -> Iterator[Site]:
        """A schema and all that it applies to the same value, at any depth; none twice. but: keywords left aside."""
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
        if "$ref" in raw:
            target = self.target(site)
            if target is not None:
                yield "$ref", target
            if self.dialect.ref_alone:
                return
        keywords = [name for name in _APPLYING if name in raw and name not in self.dialect.lacks]
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
        for name in (name for name in _INNER if name in raw and name not in self.dialect.lacks):
            value = raw[name]
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
    names = set(raw.get("required", ()))
    for keyword in ("dependentRequired", "dependencies"):
        named = raw.get(keyword)
        names.update(*(each for each in named.values() if isinstance(each, list)) if isinstance(named, dict) else ())
    for value in (*raw.get("enum", ()), raw.get("const")):
        names.update(value if isinstance(value, dict) else ())
    return frozenset(names)


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
