"""A schema as a table of atoms: every subschema that the root reaches, parsed once, known by a serial number.

The idea: a container only ever mentions its items and properties by conjunctions of serial numbers (`Conj`), so
recursion is a number that occurs inside its own definition, and two routes to one subschema are the same number.
Subschemas are found through keywords and references from the root (a broken definition that nothing uses is no
fault), each is checked and turned into a formula by one pass of `keywords.py`. A subschema that is only a `$ref`
*is* its target; `{}` and `true` are TRUE, `false` is FALSE.

Cost: linear in the reachable part, some microseconds a subschema.
"""

from __future__ import annotations

import json
from collections import deque
from typing import Any, NamedTuple

from constrain.errors import ConstrainError, SchemaError
from constrain.schema.algebra import FALSE, NOTHING, TRUE, Conj
from constrain.schema.budget import Budget
from constrain.schema.dialect import Dialect
from constrain.schema.dynamic import Dynamic, DynamicReference, dynamic_target, entered
from constrain.schema.formula import Formula, Fulfils, Is, Not, combined
from constrain.schema.keywords import parse
from constrain.schema.references import Scope, Target
from constrain.schema.twins import SILENT, Contents
from constrain.schema.values import Value, formula_of_value, value_key


class Options(NamedTuple):
    """How a schema is read and written: the arguments of `json_schema`."""

    whitespace: str = "bounded"
    property_order: str = "schema"
    formats: str = "assert"
    dialect: str | None = None


class Site:
    """One subschema at one place.

    raw: the schema as given. parent, key: the place, as a step down from another site. scope: against what references
      resolve. dynamic: what dynamic references resolve to on the way that led here.
    """

    __slots__ = ("raw", "parent", "steps", "scope", "dialect", "document", "dynamic")

    def __init__(
        self,
        raw: Any,
        parent: Site | None,
        steps: tuple[str | int, ...],
        scope: Scope,
        dialect: Dialect,
        document: Document,
        dynamic: Dynamic,
    ) -> None:
        self.raw = raw
        self.parent = parent
        self.steps = steps
        self.scope = scope
        self.dialect = dialect
        self.document = document
        self.dynamic = dynamic

    @property
    def path(self) -> tuple[str | int, ...]:
        """The steps from the root (from the root of another resource: after its URI)."""
        steps: list[str | int] = []
        site: Site | None = self
        while site is not None:
            steps[:0] = site.steps
            site = site.parent
        return tuple(steps)

    @property
    def pointer(self) -> str:
        """The place as a path: `$.properties.name`, `$.items[0]`, `$.properties["a b"]`."""
        path = self.path
        base = "$"
        if path and isinstance(path[0], str) and path[0].startswith("\0"):
            base, path = f"$({path[0][1:]})", path[1:]
        return base + "".join(draw_step(step) for step in path)

    def child(self, raw: Any, *steps: str | int) -> Conj:
        """The conjunction that stands for a subschema of this one."""
        return self.document.conj(raw, self, steps)

    def error(
        self, message: str, fix: str | None = None, *keywords: str, kind: type[ConstrainError] = SchemaError
    ) -> ConstrainError:
        """A fault at this place, with the keywords in question (and `type`) as a one-line excerpt."""
        shown = self.raw
        if keywords and isinstance(shown, dict):
            shown = {key: shown[key] for key in ("type", *keywords) if key in shown}
        return kind(message, place=f"{self.pointer}\n{excerpt(shown)}", fix=fix)


def draw_step(step: str | int) -> str:
    """One step of a path, as text."""
    if isinstance(step, int):
        return f"[{step}]"
    return (
        f".{step}"
        if step.replace("$", "").replace("-", "").isidentifier()
        else f"[{json.dumps(step, ensure_ascii=False)}]"
    )


def excerpt(value: Any, width: int = 100) -> str:
    """A JSON value on one line, cut after `width` characters."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    text = text.encode("utf-8", "backslashreplace").decode()  # half surrogate pairs
    return text if len(text) <= width else text[: width - 1] + "…"


class Negation(NamedTuple):
    """The atom of values that do not fulfil a conjunction."""

    conj: Conj


Atom = Site | Negation | Value | None


class Document:
    """The atoms of one schema: made while reading it, extended by complements while computing.

    atoms[serial]: what it is (None for 0, the empty set). formulas[serial]: what it says.
    residues: what keywords left to the check of the finished text: (site, keyword, note).
    dynamic: references depend on the way that led to them; if one does and this is False, `DynamicReference` is raised.
    twins: subschemas that are equal to an earlier one, with its serial number.
    """

    def __init__(
        self, raw: Any, dialect: Dialect, options: Options, scope: Scope, budget: Budget, dynamic: bool = False
    ) -> None:
        self.options = options
        self.dialect = dialect
        self.atoms: list[Atom] = [None]
        self.formulas: list[Formula | None] = [Is(NOTHING)]
        self.residues: list[tuple[Site, str, str]] = []
        self.subtle = (
            False  # some keyword needs complements or products: compute everything at once, to find faults early
        )
        self._sites: dict[tuple[int, int, Dynamic], int] = {}
        self._values: dict[Any, int] = {}
        self._negations: dict[Conj, int] = {}
        self._queue: deque[int] = deque()
        self._aliases: set[int] = set()
        self._contents = Contents()
        self._by_content: dict[tuple[int, int, Dynamic], int] = {}
        self.twins: list[tuple[Site, int]] = []
        self.dynamic = dynamic
        self.root_site = Site(raw, None, (), scope, dialect, self, self._entered((), scope))
        self.root = self._conj(self.root_site)
        while self._queue:
            serial = self._queue.popleft()
            site = self.atoms[serial]
            assert isinstance(site, Site)
            budget.check()
            self.formulas[serial] = parse(site)
        self._refuse_loops()

    def _refuse_loops(self) -> None:
        """No subschema may combine itself with itself without passing through a property or an item (Core 2020-12,
        section 9.4.1).
        """
        state: dict[int, int] = {}  # 1: on the present path, 2: done
        for start in range(1, len(self.atoms)):
            stack = [start] if start not in state else []
            while stack:
                serial = stack[-1]
                if state.get(serial):
                    state[stack.pop()] = 2
                    continue
                state[serial] = 1
                formula = self.formulas[serial]
                for inner in combined(formula) if formula is not None else ():
                    if state.get(inner) == 1:
                        message = "this schema refers to itself without passing through a property or an item"
                        raise self.site_of((inner,)).error(message, "remove the loop")
                    if inner not in state:
                        stack.append(inner)

    def conj(self, raw: Any, parent: Site, steps: tuple[str | int, ...]) -> Conj:
        """The conjunction of a subschema, reached from `parent` by some steps."""
        if raw is True or (raw == {} and isinstance(raw, dict)):
            return TRUE
        if raw is False:
            return FALSE
        site = Site(raw, parent, steps, parent.scope, parent.dialect, self, parent.dynamic)
        if not isinstance(raw, dict):
            raise site.error(f"a schema is an object or a boolean, not {excerpt(raw)}", "write a schema here")
        serial = self._sites.get((id(raw), id(parent.scope), parent.dynamic))
        return (serial,) if serial else self._conj(site)

    def _conj(self, site: Site) -> Conj:
        raw = site.raw
        if raw is True or raw is False:
            return TRUE if raw else FALSE
        if not isinstance(raw, dict):
            raise site.error(f"a schema is an object or a boolean, not {excerpt(raw)}", "write a schema here")
        name = raw.get(site.dialect.id)
        if isinstance(name, str) and site.parent is not None and not (site.dialect.ref_alone and "$ref" in raw):
            site.scope = site.scope.inside(raw, name)
            site.dynamic = self._entered(site.dynamic, site.scope)
        if "$ref" in raw and (site.dialect.ref_alone or all(key == "$ref" or key in SILENT for key in raw)):
            return self._alias(site)
        key = (id(raw), id(site.scope), site.dynamic)
        serial = self._sites.get(key)
        if serial is None:
            serial = self._sites[key] = self._twin(site) or self._new(site)
        return (serial,)

    def _twin(self, site: Site) -> int | None:
        """The serial number of an equal subschema of the same resource that was met before."""
        content = self._contents.number(site.raw)
        if content is None:
            return None
        key = (content, id(site.scope), site.dynamic)
        serial = self._by_content.get(key)
        if serial is None:
            self._by_content[key] = len(self.atoms)  # the number that `_new` gives next
        else:
            self.twins.append((site, serial))
        return serial

    def _new(self, site: Site) -> int:
        serial = self._add(site, None)
        self._queue.append(serial)
        return serial

    def _alias(self, site: Site) -> Conj:
        """A subschema that only refers is its target."""
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

    def refer(self, site: Site, ref: Any) -> Conj:
        """The conjunction of the target of a reference."""
        return self._target(site, site.scope.resolve(site, ref))

    def _target(self, site: Site, found: Target) -> Conj:
        raw, scope, dialect, steps, local = found
        dynamic = self._entered(site.dynamic, scope)
        target = Site(raw, self.root_site if local else None, steps, scope, dialect, self, dynamic)
        if raw is True or raw is False:
            return TRUE if raw else FALSE
        if not isinstance(raw, dict):
            raise site.error(f"$ref leads to {excerpt(raw, 40)}, which is not a schema", "point it at a schema", "$ref")
        serial = self._sites.get((id(raw), id(scope), dynamic))
        return (serial,) if serial else self._conj(target)

    def follow(self, site: Site, keyword: str, ref: Any) -> Conj:
        """The conjunction of the target of `$ref`, `$dynamicRef` or `$recursiveRef` (see `dynamic.py`)."""
        if keyword == "$ref":
            return self.refer(site, ref)
        if not self.dynamic:
            raise DynamicReference
        return self._target(site, dynamic_target(site, ref, keyword))

    def _entered(self, dynamic: Dynamic, scope: Scope) -> Dynamic:
        return entered(dynamic, scope) if self.dynamic else ()

    def constant(self, value: Any) -> Conj:
        """The conjunction that only this JSON value fulfils."""
        key = value_key(value)
        serial = self._values.get(key)
        if serial is None:
            serial = self._values[key] = self._add(Value(value), None)
            self.formulas[serial] = formula_of_value(value, self.constant)
        return (serial,)

    def negation(self, conj: Conj) -> Conj:
        """The conjunction of values that do not fulfil `conj`."""
        if not conj:
            return FALSE
        if conj[0] == 0:
            return TRUE
        if len(conj) == 1:
            atom = self.atoms[conj[0]]
            if isinstance(atom, Negation):
                return atom.conj
        serial = self._negations.get(conj)
        if serial is None:
            serial = self._negations[conj] = self._add(Negation(conj), Not(Fulfils(conj)))
        return (serial,)

    def _add(self, atom: Atom, formula: Formula | None) -> int:
        self.atoms.append(atom)
        self.formulas.append(formula)
        return len(self.atoms) - 1

    def site_of(self, conj: Conj) -> Site:
        """A place to name for a conjunction: its first subschema, else the root."""
        for serial in conj:
            atom = self.atoms[serial]
            if isinstance(atom, Site):
                return atom
            if isinstance(atom, Negation):
                return self.site_of(atom.conj)
        return self.root_site

    @property
    def sites(self) -> list[Site]:
        """Every subschema that was reached, in the order of discovery."""
        return [atom for atom in self.atoms if isinstance(atom, Site)]
