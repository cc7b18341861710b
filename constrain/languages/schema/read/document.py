"""A schema as a table of atoms: every subschema that the root reaches, with its serial number.

The idea: a container mentions its items and properties only by conjunctions of serial numbers (`Conj`). So recursion is
a number that occurs in its own definition, and two routes to one subschema are the same number. `reader.py` fills the
table; complements and constants are added while normal forms are computed.

Nothing in the table refers back to it, so a schema that nobody uses is freed without the garbage collector
(docs/notes/0010-compiling.md).
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from reprlib import Repr
from typing import TYPE_CHECKING, Any, NamedTuple

from constrain.errors import ConstrainError, LimitError, SchemaError
from constrain.languages.automata.syntax import Node
from constrain.languages.schema.read.dialect import Dialect
from constrain.languages.schema.read.dynamic import DynamicScope
from constrain.languages.schema.read.references import Resource
from constrain.languages.schema.sets.algebra import FALSE, NOTHING, TRUE, Conj
from constrain.languages.schema.sets.formula import Atoms, Formula, KnownSet, Not
from constrain.languages.schema.sets.numbers import MAX_BITS
from constrain.languages.schema.sets.values import ValueAtom, set_of_values, value_key
from constrain.limits import tick

if TYPE_CHECKING:
    from constrain.languages.schema.read.closing import Decision
    from constrain.languages.schema.write.json_layout import JsonLayout


class ReadOptions(NamedTuple):
    """The options of `json_schema` that say how a schema is read and written.

    documents: the texts that `x-span` may name, as (name, text). undeclared: whether objects and arrays have declared
    properties and first items only.
    """

    whitespace: str | JsonLayout = "consistent"
    property_order: str = "schema"
    formats: str = "assert"
    dialect: str | None = None
    spelling: str = "plain"
    documents: tuple[tuple[str, str], ...] = ()
    undeclared: str = "allow"


class Site:
    """A subschema and its place.

    Attributes:
        raw: The subschema as given.
        parent: The enclosing subschema that it was reached from; None at a root.
        steps: The path down from the parent.
        resource: The resource against which its references are resolved.
        dialect: The draft that it is read by.
        dynamic: The dynamic scope in which it was reached.
        closed: How it is closed; None: it is read as it was written.
    """

    __slots__ = ("raw", "parent", "steps", "resource", "dialect", "dynamic", "closed")

    def __init__(
        self,
        raw: Any,  # a schema; `reader.py` checks that it is one
        parent: Site | None,
        steps: tuple[str | int, ...],
        resource: Resource,
        dialect: Dialect,
        dynamic: DynamicScope,
        closed: Decision | None = None,
    ) -> None:
        self.raw = raw
        self.parent = parent
        self.steps = steps
        self.resource = resource
        self.dialect = dialect
        self.dynamic = dynamic
        self.closed = closed

    def read_as(self, raw: Any, closed: Decision | None) -> Site:
        """This place with another subschema, which says how it is closed."""
        return Site(raw, self.parent, self.steps, self.resource, self.dialect, self.dynamic, closed)

    @property
    def path(self) -> tuple[str | int, ...]:
        """The steps from the root; in another resource its URI, then the steps from its root."""
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

    def error(
        self, message: str, fix: str | None = None, *keywords: str, kind: type[ConstrainError] = SchemaError
    ) -> ConstrainError:
        """An error at this place, with the keywords in question (and `type`) as a one-line excerpt."""
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


def refuse_circles(schema: Any) -> None:
    """Refuse a schema that contains itself. Raises SchemaError with the place; LimitError: it is nested too deeply."""
    try:
        steps = _circle(schema, set(), set()) if isinstance(schema, dict) else None
    except RecursionError:
        raise LimitError("the schema is nested too deeply to be read", fix="break it up with fewer levels") from None
    if steps is None:
        return
    along = [schema]
    for step in steps:
        along.append(along[-1][step])
    begin = next(i for i, each in enumerate(along) if each is along[-1])
    drawn = [draw_step(step if isinstance(step, (str, int)) else str(step)) for step in steps]
    around, place = ("$" + "".join(each) for each in (drawn[:begin], drawn))
    raise SchemaError(
        f"the schema contains itself: what stands at {around} stands there, too",
        place=place,
        fix='write a reference instead: {"$ref": "#"}, or {"$ref": "#/$defs/name"}',
    )


def _circle(value: Any, above: set[int], done: set[int]) -> tuple[Any, ...] | None:
    """The steps to a part that is one of the values around it, or None.

    above: the identities of the values around. done: of those without a circle; what stands twice is walked once.
    """
    if id(value) in above:
        return ()
    above.add(id(value))
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, (dict, list, tuple)) and id(inner) not in done:
            below = _circle(inner, above, done)
            if below is not None:
                return (step, *below)
    above.discard(id(value))
    done.add(id(value))
    return None


class _Unwritten(Repr):
    """`repr` of values that `json` does not write: nested deeply, or of more digits than Python writes."""

    def repr_int(self, x: int, level: int) -> str:
        return super().repr_int(x, level) if x.bit_length() <= MAX_BITS else "(an integer of many digits)"


def shown(value: object) -> object:
    """Turn a value that `json` does not know into a number, if it is an exact decimal, else into text."""
    is_double = isinstance(value, Decimal) and value.is_finite() and abs(value) < MAX_FLOAT
    return float(value) if is_double else str(value)  # type: ignore[arg-type]


def excerpt(value: object, width: int = 100) -> str:
    """A JSON value on one line, cut after `width` characters."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=shown)
    except (TypeError, ValueError, RecursionError):
        text = _Unwritten().repr(value)
    text = text.encode("utf-8", "backslashreplace").decode()  # half surrogate pairs
    return text if len(text) <= width else text[: width - 1] + "…"


class Negation(NamedTuple):
    """An atom for the complement of a conjunction."""

    conj: Conj


MAX_FLOAT = 10**300
Atom = Site | Negation | ValueAtom | None
_REFERENCE = re.compile(r'"\$(?:ref|dynamicRef|recursiveRef)": "([^"]*)"')
_MOVED = re.compile(_REFERENCE.pattern.replace('[^"]*', r'#(?!/\$defs/|/definitions/|\w)[^"]*|[^":#][^":]*'))


class Document:
    """The atoms of one schema: made while reading it, extended by complements and constants later.

    Attributes:
        options: How the schema is read and written.
        dialect: The draft of the root.
        atoms: The atom with each serial number; None for 0, the empty set.
        formulas: The meaning of each atom; None until it is read.
        residuals: Keywords that are left to the check of the finished text, as (site, keyword, note).
        unknown: Keys of subschemas that nothing knows, and "format" for an unknown format, as (site, key).
        key_patterns, key_schemas: The key languages of `patternProperties`, and the schemas of `propertyNames`.
        must_explore: Some keyword needs complements or products: `explore` computes everything, to find errors early.
        root: The conjunction of the whole schema.
        root_site: The place of the root.
    """

    def __init__(self, dialect: Dialect, options: ReadOptions, root_site: Site) -> None:
        self.options = options
        self.dialect = dialect
        self.atoms: list[Atom] = [None]
        self.formulas: list[Formula | None] = [KnownSet(NOTHING)]
        self.residuals: list[tuple[Site, str, str]] = []
        self.unknown: list[tuple[Site, str]] = []
        self.key_patterns: list[Node] = []
        self.key_schemas: list[Conj] = []
        self.must_explore = False
        self.root_site = root_site
        self.root = TRUE
        self._values: dict[Any, int] = {}
        self._negations: dict[Conj, int] = {}

    def add(self, atom: Atom, formula: Formula | None) -> int:
        """Add an atom and return its serial number; `formula` is None if it will be read later."""
        self.atoms.append(atom)
        self.formulas.append(formula)
        return len(self.atoms) - 1

    def constant(self, value: Any) -> Conj:
        """The conjunction that only this JSON value fulfils."""
        key = value_key(value)
        serial = self._values.get(key)
        if serial is None:
            tick()
            serial = self._values[key] = self.add(ValueAtom(value), None)
            self.formulas[serial] = KnownSet(set_of_values((value,), self.constant))
        return (serial,)

    def negation(self, conj: Conj) -> Conj:
        """The complement of a conjunction, as a conjunction."""
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
            serial = self._negations[conj] = self.add(Negation(conj), Not(Atoms(conj)))
        return (serial,)

    def written(self, conj: Conj) -> Any:
        """A conjunction as a schema that stands beside the definitions of the root.

        Raises SchemaError for references to anything but these, anchors and whole URIs.
        """
        parts = [self._written(self.atoms[serial]) for serial in conj]
        return parts[0] if len(parts) == 1 and isinstance(parts[0], dict) else {"allOf": parts} if parts else {}

    def _written(self, atom: Atom) -> Any:
        if isinstance(atom, Site):
            raw = atom.raw if atom.closed is None else atom.closed.site.raw
            text = excerpt(raw, 1 << 30)
            moved = _MOVED.search(text) or (atom.resource is not self.root_site.resource and _REFERENCE.search(text))
            if moved:
                message = f"the reference {moved[1]!r} means something else where the value stands alone"
                raise atom.error(message, 'refer to "#/$defs/..." of the schema itself')
            return raw
        if isinstance(atom, Negation):
            return {"not": self.written(atom.conj)}
        return False if atom is None else {"const": atom.value}

    def site_of(self, conj: Conj) -> Site:
        """The place that errors about a conjunction name: its first subschema, else the root."""
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
