"""Reading a schema: from the root to every subschema that it reaches, each checked and parsed once.

The idea: subschemas are found through keywords and references, so a broken definition that nothing uses is no error.
One pass of `keywords.py` checks each and turns it into a formula. Subschemas of equal content are one atom
(`duplicates.py`); a subschema that is only a `$ref` *is* its target; `{}` and `true` are TRUE, `false` is FALSE. Small
subschemas that nearly every schema has (`{"type": "string"}`) are parsed once for all schemas.

The reader and its tables are freed when the document is read, so little is kept. The report and the reason of an error
need a reader: for them the schema is read again.

Cost: linear in the reachable part, some microseconds for each subschema.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from functools import lru_cache

from constrain.errors import LimitError
from constrain.languages.schema.read.closing import BRANCHES, MATTERING, PLACE, Closing, Decision
from constrain.languages.schema.read.dialect import Dialect
from constrain.languages.schema.read.document import Document, ReadOptions, Site, excerpt
from constrain.languages.schema.read.duplicates import ANNOTATIONS, Contents
from constrain.languages.schema.read.dynamic import DynamicReference, DynamicScope, dynamic_target, enter_resource
from constrain.languages.schema.read.keywords import parse
from constrain.languages.schema.read.references import ReferenceTarget, Resource
from constrain.languages.schema.sets.algebra import FALSE, TRUE, Conj
from constrain.languages.schema.sets.formula import Formula, KnownSet, combined_atoms, without_itself
from constrain.languages.schema.sets.json_types import Json
from constrain.lazily import Remembered
from constrain.limits import tick

MAX_COMMON = 2048  # formulas that are kept for other schemas, for each draft
COMMON = frozenset(
    {"type", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
)


class SchemaReader:
    """Reads one schema, when it is made.

    Attributes:
        document: The table of atoms.
        duplicates: Subschemas of the same content as an earlier one, as (site, its serial number); noted on request.
    """

    def __init__(
        self, raw: Json, dialect: Dialect, options: ReadOptions, resource: Resource, dynamic: bool = False,
        note_duplicates: bool = False, stays: Mapping[int, str] | None = None,
    ) -> None:  # fmt: skip
        """Read a schema.

        Args:
            raw: The schema.
            dialect: The draft to read it by.
            options: How the schema is read and written.
            resource: The root resource.
            dynamic: Whether to keep dynamic scopes.
            note_duplicates: Whether to fill `duplicates`.
            stays: Why schemas stay open, by their id (`Closing`).

        Raises:
            SchemaError: The schema is malformed.
            LimitError: A limit is reached.
            DynamicReference: It has a dynamic reference, and `dynamic` is False.
        """
        self.dynamic = dynamic
        self.duplicates: list[tuple[Site, int]] = []
        self._noted: set[int] | None = set() if note_duplicates else None
        self._resource = resource
        self._known: dict[Hashable, Conj] = {}  # by content number; outside the root resource by `_identity`
        self._aliases: set[int] = set()  # the aliases that are being resolved
        self._queue: deque[tuple[int, Site, int]] = deque()  # atoms to be parsed, with their content numbers
        self._contents = Contents(raw)
        self._common = common_formulas(dialect, options.formats)
        root = Site(raw, None, (), resource, dialect, self._entered((), resource))
        self.document = document = Document(dialect, options, root)
        self.closing = Closing(root, stays) if options.undeclared != "allow" and isinstance(raw, dict) else None
        self._places: dict[Hashable, dict[int, Decision]] = {}  # by key, by id(raw)
        closed = None if self.closing is None else self.closing.decide(raw, PLACE, None, ())
        document.root = self._read_site(root.read_as(raw, closed))
        while self._queue:
            serial, site, content = self._queue.popleft()
            tick()
            formula = self._parsed(site, content)
            document.formulas[serial] = formula if type(formula) is KnownSet else without_itself(formula, serial)
        self._refuse_loops()
        resource.shared.clear()  # it refers to the resource itself, a cycle

    def _parsed(self, site: Site, content: int) -> Formula:
        """The formula of a subschema; kept for other schemas if its keywords are common and refer to nothing."""
        document = self.document
        before = len(document.residuals) + len(document.unknown)
        try:
            formula = parse(self, site)
        except LimitError as error:
            if error.place is not None and error.place.startswith("$"):
                raise
            inside = "" if error.place is None else "\n     " + error.place.replace("\n", "\n     ")  # of a pattern
            raise site.error(error.message + inside, error.fix, kind=LimitError) from None
        says_all = len(document.residuals) + len(document.unknown) == before
        if isinstance(formula, KnownSet) and says_all and site.dialect is document.dialect:
            parts = self._contents.contents[content]
            if COMMON.issuperset(parts[::2]):
                self._common.keep(parts, formula)
        return formula

    def _refuse_loops(self) -> None:
        """Raise SchemaError for references that never pass through a property or an item (Core 2020-12, 9.4.1)."""
        formulas = self.document.formulas
        state: dict[int, int] = {}  # depth-first search: 1 on the present path, 2 done
        for start, first in enumerate(formulas):
            stack = [start] if type(first) is not KnownSet and start not in state else []
            while stack:
                serial = stack[-1]
                if state.get(serial):
                    state[stack.pop()] = 2
                    continue
                state[serial] = 1
                formula = formulas[serial]
                for inner in combined_atoms(formula) if formula is not None else ():
                    if state.get(inner) == 1:
                        message = "this schema refers to itself without passing through a property or an item"
                        raise self.document.site_of((inner,)).error(message, "remove the loop")
                    if inner not in state:
                        stack.append(inner)

    def conj(self, raw: Json, parent: Site, steps: tuple[str | int, ...]) -> Conj:
        """The conjunction of a subschema, reached from `parent` by some steps."""
        closed = None
        if isinstance(raw, dict):
            if not raw:
                return TRUE
            content = self._contents.number(raw)
            resource, dynamic, dialect = parent.resource, parent.dynamic, parent.dialect
            if parent.closed is not None and self.closing is not None:
                name = str(steps[0])
                steps = ("oneOf", *steps[1:]) if name == BRANCHES else steps
                if not MATTERING.isdisjoint(raw):
                    closed = self.closing.decide(raw, parent.closed.mode(name), parent, steps)
            is_plain = closed is None and resource is self._resource and not dynamic
            key = content if is_plain else self._identity(content, resource, dynamic, closed)
            known = self._known.get(key)
            if known is not None and self._noted is None:
                return known
            if "$ref" not in raw and dialect.id not in raw:
                return self._atom(Site(raw, parent, steps, resource, dialect, dynamic, closed), content, key)
        elif raw is True or raw is False:
            return TRUE if raw else FALSE
        return self._read_site(Site(raw, parent, steps, parent.resource, parent.dialect, parent.dynamic, closed))

    def _identity(self, content: int, resource: Resource, dynamic: DynamicScope, closed: Decision | None) -> Hashable:
        """The key of a subschema: equal keys are one atom."""
        key: Hashable = content if resource is self._resource and not dynamic else (content, id(resource), dynamic)
        if closed is None:
            return key
        key = (key, closed.key, id(closed.site.raw) if self.closing and self.closing.stays else None)
        if closed.closes:
            self._places.setdefault(key, {})[id(closed.site.raw)] = closed
        return key

    @property
    def places(self) -> list[tuple[Conj, list[Decision]]]:
        """The conjunctions of places that were closed, each with the decisions for places of its content."""
        known = self._known  # not of a key that changed where a document inside begins
        return [(known[key], [*decisions.values()]) for key, decisions in self._places.items() if key in known]

    def _read_site(self, site: Site) -> Conj:
        """The conjunction of the subschema at a place. Raises SchemaError if it is not a schema."""
        raw = site.raw
        if raw is True or raw is False:
            return TRUE if raw else FALSE
        if not isinstance(raw, dict):
            raise site.error(f"a schema is an object or a boolean, not {excerpt(raw)}", "write a schema here")
        dialect = site.dialect
        if dialect.id in raw:
            self._enter(site)
        content = self._contents.number(raw)
        key = self._identity(content, site.resource, site.dynamic, site.closed)
        if "$ref" not in raw or not (dialect.ref_alone or all(name == "$ref" or name in ANNOTATIONS for name in raw)):
            return self._atom(site, content, key)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._alias(site)
        return known

    def _atom(self, site: Site, content: int, key: Hashable) -> Conj:
        """The atom with a key; if there is none, a new one for the subschema at this place."""
        known = self._known.get(key)
        if known is None:
            document = self.document
            if site.closed is not None and site.closed.adds:
                site.raw = site.closed.raw
            common = self._common.get(self._contents.contents[content]) if site.dialect is document.dialect else None
            known = self._known[key] = (document.add(site, common),)
            if common is None:
                self._queue.append((known[0], site, content))
        elif self._noted is not None and id(site.raw) not in self._noted:
            self.duplicates.append((site, known[0]))
        if self._noted is not None:
            self._noted.add(id(site.raw))
        return known

    def _enter(self, site: Site) -> None:
        """Enter the resource that a subschema with an `$id` opens."""
        raw, dialect = site.raw, site.dialect
        name = raw[dialect.id]
        if isinstance(name, str) and site.parent is not None and not (dialect.ref_alone and "$ref" in raw):
            site.resource = site.resource.embedded(raw, name)
            site.dynamic = self._entered(site.dynamic, site.resource)

    def _alias(self, site: Site) -> Conj:
        """The conjunction of a subschema that is only a `$ref`: that of its target."""
        if id(site.raw) in self._aliases:
            raise site.error(
                "this $ref leads back to itself without passing through a property or an item",
                "remove the loop",
                "$ref",
            )
        self._aliases.add(id(site.raw))
        try:
            return self.refer(site, site.raw["$ref"])
        finally:
            self._aliases.discard(id(site.raw))

    def refer(self, site: Site, ref: Json) -> Conj:
        """The conjunction of the target of a `$ref`."""
        return self._read_target(site, site.resource.resolve(site, ref))

    def _read_target(self, site: Site, target: ReferenceTarget) -> Conj:
        raw, resource, dialect, steps, is_local = target
        if not isinstance(raw, (dict, bool)):
            raise site.error(f"$ref leads to {excerpt(raw, 40)}, which is not a schema", "point it at a schema", "$ref")
        parent = self.document.root_site if is_local else None
        closed = None
        if site.closed is not None and self.closing is not None and resource.root is self.document.root_site.raw:
            closed = self.closing.decide(raw, site.closed.inner, None, steps)
        dynamic = self._entered(site.dynamic, resource)
        return self._read_site(Site(raw, parent, steps, resource, dialect, dynamic, closed))

    def follow(self, site: Site, keyword: str, ref: Json) -> Conj:
        """The conjunction of the target of `$ref`, `$dynamicRef` or `$recursiveRef` (see `dynamic.py`)."""
        if keyword == "$ref":
            return self.refer(site, ref)
        if not self.dynamic:
            raise DynamicReference
        return self._read_target(site, dynamic_target(site, ref, keyword))

    def _entered(self, dynamic: DynamicScope, resource: Resource) -> DynamicScope:
        """The dynamic scope inside a resource; always empty if dynamic scopes are not kept."""
        return enter_resource(dynamic, resource) if self.dynamic else ()


@lru_cache(maxsize=16)
def common_formulas(dialect: Dialect, formats: str) -> Remembered[Hashable, Formula]:
    """The formulas of common subschemas that were read so far, by content (`duplicates.Contents.content`)."""
    return Remembered(MAX_COMMON)
