"""References: the targets of `$ref`, by the rules of the draft.

The common case, a JSON pointer into the same resource, is followed here, in a microsecond a step. All other references
(`$id` bases, `$anchor`, other resources) are left to the `referencing` library, with the user's registry and the
meta-schemas of all drafts.

Source: JSON Schema Core 2020-12 sections 8.2 and 9; RFC 6901 (JSON pointer); RFC 3986 section 5 (resolving relative
references).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from constrain.errors import ConstrainError
from constrain.languages.schema.read.dialect import DRAFT_2020, Dialect, dialect_of
from constrain.languages.schema.read.dynamic import dynamic_anchors
from constrain.languages.schema.sets.json_types import Json, JsonObject

if TYPE_CHECKING:
    from referencing import Registry, Specification
    from referencing import Resource as Document
    from referencing._core import Resolved, Resolver

    from constrain.languages.schema.read.document import Site

WALKING = (ValueError, KeyError, AttributeError, TypeError)  # what `referencing` raises for a malformed document


def check_registry(registry: Any) -> None:
    """Raise ConstrainError unless a registry is a `referencing.Registry` or None."""
    if registry is None:
        return
    import referencing

    if not isinstance(registry, referencing.Registry):
        raise ConstrainError(
            f"registry= is a referencing.Registry, not {type(registry).__name__}",
            fix="registry=referencing.Registry().with_contents([(uri, document)], default_specification=DRAFT202012)",
        )


class PackedRegistry(NamedTuple):
    """A registry as pickle takes it: a specification of `referencing` has functions inside, and stands by its name.

    Attributes:
        documents: (contents, name of the specification) by the URI.
        retrieve: The function that finds further documents.
    """

    documents: dict[str, tuple[Json, str]]
    retrieve: Any

    @classmethod
    def of(cls, registry: Any) -> PackedRegistry | None:
        """The registry, packed; None for None."""
        if registry is None:
            return None
        resources = ((uri, registry[uri]) for uri in registry)
        found = {uri: (resource.contents, resource._specification.name) for uri, resource in resources}
        return cls(found, registry._retrieve)

    def unpacked(self) -> Any:
        """The registry. Raises ConstrainError: a document has a specification of one's own."""
        import referencing
        import referencing.jsonschema

        every = [referencing.Specification.OPAQUE, *vars(referencing.jsonschema).values()]
        known = {each.name: each for each in every if isinstance(each, referencing.Specification)}
        own = [uri for uri, (_, name) in self.documents.items() if name not in known]
        if own:
            raise ConstrainError(f"the document {own[0]!r} has a specification of its own, which cannot be pickled")
        resources = ((uri, known[name].create_resource(contents)) for uri, (contents, name) in self.documents.items())
        empty: Any = referencing.Registry(retrieve=self.retrieve)  # type: ignore[call-arg]
        return empty.with_resources(resources)


class ReferenceTarget(NamedTuple):
    """The target of a reference.

    Attributes:
        raw: What is there: a schema, if the reference is right.
        resource: The resource that holds it.
        dialect: The draft that it is read by.
        steps: Its path.
        is_local: Whether the path starts at the root of the document.
    """

    raw: Any
    resource: Resource
    dialect: Dialect
    steps: tuple[str | int, ...]
    is_local: bool


class Resource:
    """A schema resource: the document, or an embedded document, that relative references start from.

    Attributes:
        root: Its schema.
        dialect: Its draft.
        registry: The user's registry.
        outer: The resource that embeds it or refers to it; None for the document itself.
        uri: Its URI, if it was reached by one.
        shared: The resources of one document, by id(root).
    """

    def __init__(
        self, root: Any, dialect: Dialect, registry: Registry[Any] | None = None, outer: Resource | None = None,
        resolver: Resolver[Any] | None = None, uri: str = "",
    ) -> None:  # fmt: skip
        self.root = root
        self.dialect = dialect
        self.registry = registry
        self.outer = outer
        self.uri = uri
        self.shared: dict[int, Resource] = outer.shared if outer is not None else {}
        if resolver is not None:
            self.resolver = resolver
        self.shared.setdefault(id(root), self)

    @cached_property
    def resolver(self) -> Resolver[Any]:
        """The `referencing` resolver whose base is this resource."""
        import referencing
        import referencing.jsonschema

        resource = _specification(self.dialect.uri).create_resource(self.root)
        if self.outer is not None:
            return self.outer.resolver.in_subresource(resource)
        name = (resource.id() if isinstance(self.root, dict) else None) or address_of(self.root, self.registry)
        registry = (self.registry if self.registry is not None else referencing.Registry()).with_resource(
            name or "", resource
        )
        return _with_meta_schemas(registry).resolver(name or "")

    def embedded(self, raw: dict[str, Any], name: str) -> Resource:
        """The resource that an `$id` opens; an `$id` that is only a fragment names a place and opens none."""
        if name.startswith("#"):
            return self
        return self.shared.get(id(raw)) or Resource(raw, self.dialect, outer=self)

    @cached_property
    def dynamic_anchors(self) -> dict[str, JsonObject]:
        """The dynamic anchors of a resource, with their subschemas."""
        return dynamic_anchors(self.root, self.dialect.id)

    def resolve(self, site: Site, ref: Json, keyword: str = "$ref") -> ReferenceTarget:
        """The target of a reference. Raises SchemaError if it leads nowhere."""
        if not isinstance(ref, str):
            raise site.error(f"{keyword} is a text, not {ref!r}", 'write something like "#/$defs/name"', keyword)
        if ref == "#":
            return self._target(self.root, ())
        if ref.startswith("#/"):
            target = self._follow(ref)
            if target is not None:
                return self._target(*target)
        elif ref.startswith("#") and ref[1:] in self.dynamic_anchors:
            return self._target(self.dynamic_anchors[ref[1:]], ())
        return self._lookup(site, ref, keyword)

    def _target(self, raw: Json, steps: tuple[str | int, ...]) -> ReferenceTarget:
        """A target in this resource."""
        return ReferenceTarget(raw, self, self.dialect, self.prefix() + steps, self.outer is None)

    def _follow(self, ref: str) -> tuple[Json, tuple[str | int, ...]] | None:
        """Follow a JSON pointer: (its target, its path); None if it leads nowhere, or through another resource."""
        value: Json = self.root
        steps: list[str | int] = []
        for part in ref[2:].split("/"):
            found = step_into(value, part)
            if found is None:
                return None
            value, step = found
            steps.append(step)
            if isinstance(value, dict) and isinstance(value.get(self.dialect.id), str):
                if not value[self.dialect.id].startswith("#"):
                    return None
        return value, tuple(steps)

    def _lookup(self, site: Site, ref: str, keyword: str) -> ReferenceTarget:
        """The target that the `referencing` library finds."""
        from referencing.exceptions import Unresolvable

        try:
            resolved = self._resolved(ref)
            whole = resolved.resolver.lookup("#").contents
        except Unresolvable as error:
            raise self._unread(site, ref, keyword, error) or self._unresolvable(site, ref, keyword) from error
        except WALKING as error:  # while all documents are read
            raise self._malformed(site, ref, keyword, error) from error
        dialect = dialect_of(whole, self.dialect) or DRAFT_2020
        resource = self.shared.get(id(whole)) or Resource(
            whole, dialect, outer=self, resolver=resolved.resolver, uri=ref.partition("#")[0]
        )
        fragment = ref.partition("#")[2]
        steps = tuple(unquote(part) for part in fragment.split("/")[1:]) if fragment.startswith("/") else ()
        # `referencing` resolves a dynamic anchor in a dynamic scope of its own; here the anchor itself is meant
        contents = (
            resolved.contents if steps or not fragment else resource.dynamic_anchors.get(fragment, resolved.contents)
        )
        return ReferenceTarget(
            contents, resource, dialect, ("\0" + (ref if not steps else resource.uri), *steps), False
        )

    def _resolved(self, ref: str) -> Resolved[Any]:
        """The place that a reference leads to; a malformed document that it does not lead to is no hindrance."""
        import attrs
        from referencing.exceptions import Unresolvable

        try:
            return self.resolver.lookup(ref)
        except WALKING:
            try:
                sound = without_malformed(self.resolver._registry)
                return attrs.evolve(self.resolver, registry=sound).lookup(ref)  # type: ignore[misc]
            except Unresolvable:
                pass
            raise

    @staticmethod
    def _unread(site: Site, ref: str, keyword: str, error: BaseException | None) -> Exception | None:
        """The error of a reference to a file that cannot be read, or that is not there; None: it is no such error."""
        while error is not None and not isinstance(error, ConstrainError):
            error = error.__cause__
        if error is None:
            return None
        where = "" if error.place is None else f" (at {error.place.splitlines()[0]})"
        return site.error(f"{keyword} {ref!r}: {error.message}{where}", error.fix, keyword)

    def _unresolvable(self, site: Site, ref: str, keyword: str) -> Exception:
        """The error of a reference that leads nowhere."""
        from referencing.exceptions import Unresolvable

        uri, _, fragment = ref.partition("#")
        if not uri:
            return site.error(f"{keyword} {ref!r} leads nowhere", "correct the path, or add the definition", keyword)
        if fragment:
            try:
                self.resolver.lookup(uri)
                fix = "correct the path, or add the definition there"
                return site.error(f"{keyword} {ref!r} leads nowhere in {uri!r}, which the registry has", fix, keyword)
            except Unresolvable:
                pass
        if self.user_registry is None:
            message = f"{keyword} {ref!r} is not in this schema, and nothing is fetched from the network"
            fix = "pass registry=referencing.Registry().with_resource(uri, resource), or put the definition under $defs"
        else:
            message = f"{keyword} {ref!r} is neither in this schema nor in the registry, and nothing is fetched"
            fix = "add its document to the registry under the URI that the reference leads to from its base"
        return site.error(message, fix, keyword)

    def _malformed(self, site: Site, ref: str, keyword: str, error: Exception) -> Exception:
        """The error of a reference that is not found without reading a document that cannot be read."""
        import referencing

        registry = self.user_registry if self.user_registry is not None else referencing.Registry()
        for uri in registry:
            try:
                referencing.Registry().with_resource(uri, registry[uri]).crawl()
            except WALKING as fault:
                message = f"{keyword} {ref!r} cannot be looked up: the registry's {uri!r} is malformed ({fault})"
                return site.error(message, "correct that document, or take it out of the registry", keyword)
        fix = "see what stands where a schema, $id or $anchor must"
        return site.error(f"{keyword} {ref!r} cannot be looked up: this schema is malformed ({error})", fix, keyword)

    @property
    def user_registry(self) -> Registry[Any] | None:
        """The user's registry, as the document has it."""
        return self.registry if self.outer is None else self.outer.user_registry

    def prefix(self) -> tuple[str | int, ...]:
        """The path of its root: empty for the document, else its URI behind a NUL, which no keyword begins with."""
        return () if self.outer is None else ("\0" + (self.uri or str(self.root.get(self.dialect.id, ""))),)


@lru_cache(maxsize=8)
def _specification(uri: str) -> Specification[Any]:
    """The draft as `referencing` has it, corrected for `dependencies`.

    `referencing` takes either all members of `dependencies` for schemas, or none.
    """
    import attrs
    import referencing.jsonschema

    known = referencing.jsonschema.specification_with(uri)

    def subresources(contents: Any) -> Iterator[Any]:
        if not isinstance(contents, dict):
            return
        dependencies = contents.get("dependencies")
        rest = {key: value for key, value in contents.items() if key != "dependencies"}
        yield from known.subresources_of(rest)
        if isinstance(dependencies, dict):
            yield from (value for value in dependencies.values() if isinstance(value, (dict, bool)))

    return attrs.evolve(known, subresources_of=subresources)  # type: ignore[misc]


def _with_meta_schemas(registry: Registry[Any]) -> Registry[Any]:
    """The registry with the meta-schemas of the drafts added, if the package that carries them is installed."""
    try:
        from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
    except ImportError:
        return registry
    return registry.combine(REGISTRY)


def step_into(value: Json, part: str) -> tuple[Json, str | int] | None:
    """(the part of a value that a step of a JSON pointer leads to, the step without escapes); None: there is none."""
    name = unescaped(part)
    if isinstance(value, dict) and name in value:
        return value[name], name
    if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
        return value[int(name)], int(name)
    return None


def unescaped(part: str) -> str:
    """A step of a JSON pointer, as it stands in a reference (RFC 6901, section 6)."""
    return unquote(part).replace("~1", "/").replace("~0", "~") if "%" in part or "~" in part else part


def address_of(schema: Json, registry: Registry[Any] | None) -> str:
    """The URI under which a registry holds a schema; "" if it does not, or under several."""
    if registry is None:
        return ""
    found = [uri for uri in registry if registry[uri].contents == schema]
    return found[0] if len(found) == 1 else ""


def without_malformed(registry: Registry[Any]) -> Registry[Any]:
    """The registry without its malformed documents: one of them stops `referencing`, wherever a reference leads."""
    for uri in list(registry):
        if _malformed(registry[uri]):
            registry = registry.remove(uri)
    return registry


def _malformed(document: Document[Any]) -> bool:
    """True if `referencing` cannot walk a document."""
    parts = [document]
    while parts:
        part = parts.pop()
        try:
            part.id()
            list(part.anchors())
            parts.extend(part.subresources())
        except WALKING:
            return True
    return False
