"""Schemas that refuse what they do not declare: `json_schema(undeclared="refuse")`.

The idea: a *place* of a value is closed, not a schema object. `allOf`, `$ref` and the like speak of one place together,
so what one of them declares is declared for all. A place whose schemas declare properties gets what
`unevaluatedProperties: false` says, and one whose schemas declare first items `unevaluatedItems: false`. Objects and
arrays of which nothing is declared stay free. Where only the branches of one `anyOf` or `oneOf` declare something, each
branch is closed for itself, so that a free branch beside them stays free.

Only parts that add conditions are closed. `not`, `if`, `contains`, `propertyNames` and the comparison of `oneOf` read
the schema as it was written; definitions are kept, with closed copies beside them. So a closed schema allows nothing
that the schema refuses.

Cost: linear in the schema and its closed copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from constrain.languages.schema.read.document import Site
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


def closed(root_site: Site) -> Any:
    """A schema that allows no properties and items but declared ones, where some are declared.

    root_site: The place of the root of a schema that was read without an error.

    Raises SchemaError for references that are dynamic or lead into another document.
    """
    return _Closing(root_site).schema() if isinstance(root_site.raw, dict) else root_site.raw


class _Closing:
    """Closes one schema."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.root: dict[str, Any] = site.raw
        self.dialect = site.dialect
        self.resource = site.resource
        self.copies: dict[tuple[int, frozenset[_Kind]], str] = {}  # id of the target, what is closed -> name
        self.definitions: dict[str, Any] = {}

    def schema(self) -> dict[str, Any]:
        """The closed schema."""
        place = self.place(self.site)
        if any(not ref.startswith(("#/$defs/", "#/definitions/")) for ref in _references(self.root)):
            whole = {key: value for key, value in self.root.items() if not (key == "$ref" and self.dialect.ref_alone)}
            refers = [{"$ref": self.root["$ref"]}] if "$ref" in self.root and self.dialect.ref_alone else []
            place = {**whole, "allOf": [*self.root.get("allOf", ()), *refers, place]}
        else:
            place = {**{key: self.root[key] for key in _NAMES_OF_ROOT if key in self.root}, **place}
        return {**place, "$defs": {**self.root.get("$defs", {}), **self.definitions}}

    def place(self, site: Site) -> Any:
        """The schema of a place, closed."""
        return self.copy(site, KINDS)

    def copy(self, site: Site, closing: frozenset[_Kind]) -> Any:
        """A schema of a place. closing: what is closed here, as no other schema of the place declares any of it."""
        tick()
        raw = site.raw
        if not isinstance(raw, dict):
            return raw
        if self.dialect.ref_alone and "$ref" in raw:
            return self.reference(site, closing)
        if site.parent is not None and isinstance(raw.get(self.dialect.id), str):
            message = "undeclared='refuse' does not close a document inside of a document"
            raise site.error(message, "move it to $defs, and refer to it by #/$defs/...", self.dialect.id)
        closed_here = frozenset(kind for kind in closing if self.is_declared_here(site, kind))
        parts = {name: self.keyword(site, name, value, closing - closed_here) for name, value in raw.items()}
        copied = {name: value for name, value in parts.items() if name not in _NOT_COPIED}
        if "oneOf" in raw:  # one branch holds as written, and then closed
            branches = [self.copy(part, closing - closed_here) for part in _parts(site, "oneOf", raw["oneOf"])]
            copied["allOf"] = [*copied.get("allOf", ()), {"anyOf": branches}]
        for kind in closed_here:
            if not kind.says_rest(raw):
                copied[kind.closing if any(self.applied(site)) else kind.rest(raw)] = False
        return {**copied, **self.reference(site, closing - closed_here)} if "$ref" in raw else copied

    def keyword(self, site: Site, name: str, value: Any, closing: frozenset[_Kind]) -> Any:
        """The value of a keyword in a closed schema. closing: what is closed in schemas of the same place."""
        if name in ("$dynamicRef", "$recursiveRef") and name not in self.dialect.lacks:
            message = f"undeclared='refuse' does not follow {name}: what it declares depends on who refers to it"
            raise site.error(message, "use $ref", name)
        if name in ("allOf", "anyOf"):
            return [self.copy(part, closing) for part in _parts(site, name, value)]
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

    def reference(self, site: Site, closing: frozenset[_Kind]) -> dict[str, Any]:
        """A reference to the closed copy of its target."""
        target = self.target(site)
        key = (id(target.raw), closing)
        name = self.copies.get(key)
        if name is None:
            name = self.copies[key] = f"(closed {len(self.copies) + 1})"
            self.definitions[name] = self.copy(target, closing)
        return {"$ref": f"#/$defs/{name}"}

    def target(self, site: Site) -> Site:
        """The site that a `$ref` leads to."""
        found = self.resource.resolve(site, site.raw["$ref"])
        if found.resource.root is not self.root:
            message = "undeclared='refuse' does not close other documents"
            raise site.error(message, "put the definition under $defs", "$ref")
        return Site(found.raw, None, found.steps, self.resource, self.dialect, ())

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
            yield "$ref", self.target(site)
            if self.dialect.ref_alone:
                return
        for name in ("allOf", "anyOf", "oneOf"):
            for part in _parts(site, name, raw.get(name, ())):
                yield name, part
        for name in ("if", "then", "else"):
            if name in raw:
                yield name, _part(site, raw[name], name)
        for name in ("dependentSchemas", "dependencies"):
            for key, part in raw.get(name, {}).items():
                if not isinstance(part, list):
                    yield name, _part(site, part, name, key)


def _part(site: Site, raw: Any, *steps: str | int) -> Site:
    return Site(raw, site, steps, site.resource, site.dialect, ())


def _parts(site: Site, name: str, values: Any) -> list[Site]:
    return [_part(site, part, name, i) for i, part in enumerate(values)]


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
