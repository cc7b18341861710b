"""What a conversion into the strict subset knows while it runs: changes, refusals, definitions, and whom to ask.

The idea: every step either is recorded as a change with its effect on the set of values, or is a refusal. Whether a
keyword may go, and whether branches exclude each other, is asked of the schema algebra (`json_schema` of the question),
so "same" is a theorem and not a guess. Formats count as assertions there, as everywhere in this room.

Cost: a question takes as long as reading the subschemas in it; none is asked for schemas that only lack `required` and
`additionalProperties`. A schema of 2 MB may raise hundreds of them: some seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.schema.budget import Budget
from constrain.schema.dialect import UNSTATED, Dialect
from constrain.schema.document import draw_step
from constrain.schema.source import json_schema
from constrain.schema.strict import LEAVE_OUT, Rules, Violation

Effect = Literal["same", "coded", "narrower", "wider"]
Node = dict[str, Any]
QUESTION_SECONDS = 5.0  # for one question to the algebra; beyond it, it counts as undecided
GIVEN = "urn:constrain:given"  # the schema that is converted, as questions refer to it
LITERAL = ("enum", "const", "default", "examples")  # keywords that hold values: a "$ref" in them is none
NAMED = ("properties", "patternProperties", "dependentSchemas", "dependencies")  # keywords that hold schemas by name


class Change(NamedTuple):
    """One step of a conversion.

    pointer: the place in the schema that was given. message: what was done.
    effect: what became of the set of values there, after `from_openai_strict` — "same"; "coded": the same values,
      written in another way; "narrower": some values cannot be written any more; "wider": more values are accepted
      than before (only with `lossy=True`).
    """

    pointer: str
    message: str
    effect: Effect


class Code(NamedTuple):
    """How values of one strict subschema differ from the values meant.

    kind: "absent" (names: null means that the property is absent), "pairs" (a list of key and value is a map), "places"
      (names: properties are the items of a list, in this order), "wrapped" (the property `value` is the value).
    """

    kind: Literal["absent", "pairs", "places", "wrapped"]
    names: tuple[str, ...] = ()


Convert = Callable[["Conversion", Any, str], "Node | None"]


class Conversion:
    """The state of one conversion.

    root: the schema, as JSON. convert: (conversion, subschema, pointer) → its strict form, None if nothing fulfils it.
    definitions: name → strict subschema. codes: id of a strict subschema → its code.
    unions: (pointer, strict subschema) of every anyOf that was written.
    targets: definitions still to be converted: (name, schema, pointer). root_refs: references that lead to the root.
    """

    def __init__(self, root: Any, dialect: Dialect, lossy: bool, rules: Rules, convert: Convert) -> None:
        self.root = root
        self.convert = convert
        self.dialect = dialect
        self.lossy = lossy
        self.rules = rules
        self.changes: dict[Change, None] = {}
        self.refused: dict[Violation, None] = {}
        self.definitions: dict[str, Node] = {}
        self.codes: dict[int, Code] = {}
        self.targets: list[tuple[str, Any, str]] = []
        self.root_is_object = True
        self.root_refs: set[str] = {"#"}
        self.opened: set[int] = set()  # ids of the subschemas that are being converted
        self._merged: dict[tuple[int, ...], Node] = {}
        self._loops: dict[int, str] = {}
        self._names: dict[str, str] = {}
        self._places: dict[int, str] = {}
        self.unions: list[tuple[str, Node]] = []
        self._coded: list[Node] = []  # kept, so that no id is used twice
        self._index(root, "$")

    def _index(self, raw: Any, pointer: str) -> None:
        """Note the place of every object in the schema."""
        stack = [(raw, pointer)]
        while stack:
            here, place = stack.pop()
            if isinstance(here, dict):
                self._places.setdefault(id(here), place)
                stack += [(inner, place + draw_step(str(key))) for key, inner in here.items()]
            elif isinstance(here, list):
                stack += [(inner, place + draw_step(i)) for i, inner in enumerate(here)]

    def place(self, raw: Any, otherwise: str) -> str:
        """Where a subschema stands in the given schema; a merged one stands where the merging was asked for."""
        return self._places.get(id(raw), otherwise)

    # ------------------------------------------------------------------------------------------------ bookkeeping

    def note(self, pointer: str, message: str, effect: Effect) -> None:
        """Record a change."""
        self.changes[Change(pointer, message, effect)] = None

    def widen(self, pointer: str, message: str, fix: str = LEAVE_OUT) -> None:
        """Something that the subset cannot say is left out: a change if that was allowed, else a refusal."""
        if self.lossy:
            self.note(pointer, f"{message}: left out", "wider")
        else:
            self.refuse(pointer, message, fix)

    def refuse(self, pointer: str, message: str, fix: str) -> None:
        """Record what cannot be converted at all."""
        self.refused[Violation(pointer, message, fix)] = None

    def encode(self, strict: Node, code: Code) -> None:
        """Record how values of a strict subschema are read back."""
        self.codes[id(strict)] = code
        self._coded.append(strict)

    # ------------------------------------------------------------------------------------------------- references

    def resolve(self, ref: Any) -> Any:
        """The target of a local reference; None if it is not local."""
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            return None
        here = self.root
        for part in ref.split("/")[1:]:
            part = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(here, dict) and part in here:
                here = here[part]
            elif isinstance(here, list) and part.isdigit() and int(part) < len(here):
                here = here[int(part)]
            else:
                return None
        return here

    def definition(self, ref: str) -> str:
        """The reference to the definition that a local reference becomes."""
        if ref in self.root_refs and self.root_is_object:
            return "#"
        if ref not in self._names:
            target = self.resolve(ref)
            wish = unquote(ref.rpartition("/")[2]) if "/" in ref else "root"
            self._names[ref] = self._target(wish, target, self.place(target, "$"))
        return f"#/$defs/{self._names[ref]}"

    def loop(self, raw: Node, pointer: str) -> str:
        """The reference to the definition of a subschema that occurs inside itself."""
        if id(raw) not in self._loops:
            self._loops[id(raw)] = self._target(pointer.rpartition(".")[2], raw, pointer)
        return f"#/$defs/{self._loops[id(raw)]}"

    def _target(self, wish: str, raw: Any, pointer: str) -> str:
        """A free name, and a definition to be made."""
        name = wish = "".join(c if c.isalnum() or c in "_-" else "_" for c in wish) or "definition"
        taken, count = {*self._names.values(), *self._loops.values()}, 2
        while name in taken:
            name, count = f"{wish}_{count}", count + 1
        self.targets.append((name, raw, pointer))
        return name

    def interned(self, raw: Any) -> Any:
        """The same subschema for the same parts that must hold at once, so that a recursion through them is seen."""
        if not isinstance(raw, dict) or raw.keys() != {"allOf"}:
            return raw
        return self._merged.setdefault(tuple(map(id, raw["allOf"])), raw)

    def is_target(self, raw: Any) -> bool:
        """Did a subschema become a definition?"""
        return any(self.resolve(ref) is raw for ref in self._names)

    # -------------------------------------------------------------------------------------------------- questions

    def possible(self, *schemas: Any) -> bool | None:
        """Is there a value that fulfils all of the subschemas? None if that could not be decided."""
        return possible(self._registry, self.dialect, *schemas)

    @cached_property
    def _registry(self) -> Any:
        return registry_of(self.root, self.dialect)

    def implied(self, node: Node, *keywords: str) -> bool:
        """Do the other keywords of an object schema (closed) already say what some keywords say?"""
        said = {key: node[key] for key in keywords if key in node}
        rest = {key: value for key, value in node.items() if key not in keywords}
        if "properties" in rest:
            rest["additionalProperties"] = False
        return self.possible(rest, {"not": said}) is False


def registry_of(root: Any, dialect: Dialect) -> Any:
    """The registry in which a schema is found when questions are asked about it."""
    import referencing
    import referencing.jsonschema

    specification = referencing.jsonschema.specification_with(dialect.uri)
    return referencing.Registry().with_resource(GIVEN, specification.create_resource(root)).crawl()


def possible(registry: Any, dialect: Dialect, *schemas: Any) -> bool | None:
    """Is there a value that fulfils all of some subschemas of a schema? None if that could not be decided.

    registry: `registry_of` the schema.
    """
    question: Node = {"allOf": [_outside(_spelt(dialect, each)) for each in schemas]}
    if dialect is not UNSTATED:
        question["$schema"] = dialect.uri
    try:
        json_schema(question, registry=registry, budget=Budget(seconds=QUESTION_SECONDS))
    except UnsatisfiableError:
        return False
    except ConstrainError:
        return None
    return True


def _spelt(dialect: Dialect, raw: Any) -> Any:
    """A tidied subschema (`strict_flatten.py`) as its draft spells it."""
    if not isinstance(raw, dict) or "prefixItems" not in raw or "prefixItems" not in dialect.lacks:
        return raw
    rest = {key: value for key, value in raw.items() if key not in ("prefixItems", "items")}
    more = {"additionalItems": raw["items"]} if "items" in raw else {}
    return {**rest, "items": raw["prefixItems"], **more}


def _outside(raw: Any, named: bool = False) -> Any:
    """A subschema whose local references lead into the given schema, wherever it stands. named: its keys are names."""
    if isinstance(raw, list):
        return [_outside(each) for each in raw]
    if not isinstance(raw, dict):
        return raw
    if named:
        return {name: _outside(inner) for name, inner in raw.items()}
    found: Node = {}
    for key, value in raw.items():
        if key == "$ref" and isinstance(value, str) and value.startswith("#"):
            found[key] = GIVEN + value
        elif key in LITERAL:
            found[key] = value
        elif key != "$schema":
            found[key] = _outside(value, key in NAMED)
    return found
