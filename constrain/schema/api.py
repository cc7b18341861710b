"""`constrain.json_schema`: a JSON Schema as a constraint — read, checked, ready to be written as a grammar.

The idea: reading finds every fault of the schema and decides that something fulfils it; the grammar is lazy, so the
rest of the cost is paid for what a generation visits. Keywords whose algebra can reach a limit (`oneOf`, `not`, ...)
are computed at once for the whole schema, so that no error waits until the middle of a text.
"""

from __future__ import annotations

import json
import marshal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from constrain.cfg.rules import Grammar, Nonterminal, Symbol
from constrain.constraints.base import Constraint
from constrain.errors import ConstrainError, LimitError, SchemaError, span
from constrain.guards.repeats import Repeats
from constrain.lazily import lazily
from constrain.schema.check.finished import RepeatedKey, check_text, read_exactly
from constrain.schema.check.watch import Watched, watched_root
from constrain.schema.normalize.diagnose import unsatisfiable
from constrain.schema.normalize.explore import explore
from constrain.schema.normalize.normalizer import Normalizer
from constrain.schema.normalize.report import Entry, make_report
from constrain.schema.openai_strict import OPENAI_STRICT
from constrain.schema.openai_strict import check as check_strict
from constrain.schema.read.dialect import DIALECTS, NAMED, Dialect, dialect_of, dialect_of_vocabularies
from constrain.schema.read.document import Document, Options, excerpt
from constrain.schema.read.dynamic import DynamicReference
from constrain.schema.read.inputs import schema_of_type
from constrain.schema.read.limits import Limits
from constrain.schema.read.reader import SchemaReader
from constrain.schema.read.references import Resource
from constrain.schema.sets.json_types import Json
from constrain.schema.write.lower import Lowering
from constrain.schema.write.whitespace import POLICIES

if TYPE_CHECKING:
    from referencing import Registry

    from constrain.guards import Guard
    from constrain.vocab.vocabulary import Vocabulary

Whitespace = Literal["bounded", "compact", "any"]
PropertyOrder = Literal["schema", "any"]
Formats = Literal["assert", "annotate"]
ORDERS, FORMAT_POLICIES = get_args(PropertyOrder), get_args(Formats)


@dataclass(frozen=True, eq=False, repr=False)
class JsonSchema(Constraint):
    """A JSON Schema; make one with `json_schema`.

    schema: the schema as JSON (a dict or a boolean), given: what it was made from, parse_with: turns a JSON value into
      an instance of it.
    """

    schema: Any
    options: Options
    registry: Any = None
    given: Any = None
    parse_with: Any = field(default=None)
    limits: Limits = field(default_factory=Limits)

    @lazily
    def normalizer(self) -> Normalizer:
        """The schema, read and computed as far as was needed. Raises SchemaError, UnsatisfiableError, LimitError."""
        limits = self.limits.start()
        try:
            document = self._read(limits).document
            normalizer = Normalizer(document, limits)
            if not normalizer.root_inhabited():
                raise self._unsatisfiable()
            if document.must_explore:
                explore(normalizer)
        except RecursionError:
            raise LimitError(
                "the schema is nested too deeply to be read", fix="break it up with fewer levels"
            ) from None
        return normalizer

    def _read(self, limits: Limits, note_duplicates: bool = False) -> SchemaReader:
        return read(self.schema, self.options, self.registry, limits, note_duplicates)

    def _unsatisfiable(self) -> ConstrainError:
        """Why nothing fulfils the schema: asked of a reader that is kept."""
        reader = self._read(self.limits)
        return unsatisfiable(Normalizer(reader.document, self.limits), reader, self._probe)

    def _probe(self, raw: Any) -> bool:
        """Does anything fulfil this schema in the place of the root?"""
        reader = read(self._with_definitions(raw), self.options, self.registry, self.limits)
        return Normalizer(reader.document, self.limits).root_inhabited()

    def beside_definitions(self, raw: Any) -> JsonSchema:
        """Another schema in the place of the root, whose definitions it may refer to."""
        return JsonSchema(self._with_definitions(raw), self.options, self.registry)

    def _with_definitions(self, raw: Any) -> Any:
        """A schema with the definitions of the root, so that its references still lead somewhere."""
        extra = {key: self.schema[key] for key in ("$schema", "$defs", "definitions") if key in self.schema}
        return {**extra, **raw}

    @property
    def document(self) -> Document:
        """The atoms of the schema."""
        return self.normalizer.document

    def _build(self) -> Grammar:
        lowering = Lowering(self.normalizer, self.options.whitespace, self.options.property_order)
        root = lowering.value(self.document.root)
        before = lowering.space
        after = lowering.space if self.options.whitespace == "any" else ()
        sequence: list[Symbol] = [*before, root, *after]
        return Grammar(Nonterminal("document", lambda: [sequence], key=(lowering.serial, "document")))

    @property
    def residual(self) -> bool:
        """Whether a finished text counts only if it passes `check`."""
        return bool(self.document.residuals)

    @property
    def guarded(self) -> bool:
        """Undeclared keys may occur, or items that must differ."""
        return True

    def guard(self, vocabulary: Vocabulary) -> Guard:
        """No key occurs twice in an object, and no item in an array with `uniqueItems`."""
        return Repeats(self._watched, vocabulary)

    @lazily
    def _watched(self) -> Watched | None:
        return watched_root(self.normalizer)

    @lazily
    def report(self) -> list[Entry]:
        """What becomes of every keyword: the schema is read once more."""
        return make_report(self._read(Limits().start(), note_duplicates=True))

    def parse(self, text: str) -> Any:
        """The value of a member text: JSON, or an instance of the type that was given. Raises ValueError."""
        return json.loads(text) if self.parse_with is None else self.parse_with(text)

    def check(self, text: str) -> str | None:
        """What the grammar could not enforce about a finished text: None if all is well, else one sentence."""
        return check_text(text, self.normalizer)

    def _intersect(self, other: Constraint) -> Constraint:
        """Both schemas at once; anything else is left to the caller."""
        if not isinstance(other, JsonSchema) or other.options != self.options:
            return NotImplemented
        if "$ref" in json.dumps([self.schema, other.schema], default=str):
            return NotImplemented  # the references of two documents do not mix
        stated = [s["$schema"] for s in (self.schema, other.schema) if isinstance(s, dict) and "$schema" in s]
        combined: dict[str, Any] = {"$schema": stated[0]} if stated else {}
        if len(set(stated)) > 1:
            return NotImplemented
        combined["allOf"] = [self.schema, other.schema]
        return JsonSchema(combined, self.options, self.registry or other.registry)

    def __reduce__(self) -> tuple[Any, ...]:
        """By schema and options; a Python type by its name, as pickle does."""
        given = None if self.parse_with is None else self.given
        return _restored, (self.schema, self.options, self.registry, given, self.limits)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JsonSchema):
            return NotImplemented
        return self.options == other.options and self._identity == other._identity and self.registry is other.registry

    def __hash__(self) -> int:
        return self._hash

    @lazily
    def _hash(self) -> int:
        return hash((self._identity, self.options))

    @lazily
    def _identity(self) -> bytes | str:
        try:
            return marshal.dumps(self.schema, 2)  # PERF: a third of the time; version 2 depends on the content alone
        except ValueError:  # exact decimals, deep nesting
            return json.dumps(self.schema, default=str)

    def __repr__(self) -> str:
        return f"json_schema({excerpt(self.schema, 60)})"


def _restored(schema: Any, options: Options, registry: Any, given: Any, limits: Limits) -> JsonSchema:
    """The schema of a pickle."""
    parse_with = None if given is None else schema_of_type(given)[1]
    return JsonSchema(schema, options, registry, schema if given is None else given, parse_with, limits)


def read(
    schema: Json, options: Options, registry: Registry[Any] | None, limits: Limits, note_duplicates: bool = False
) -> SchemaReader:
    """Read a schema, with dynamic scopes only if it has a dynamic reference."""
    dialect = NAMED[options.dialect] if options.dialect else dialect_of(schema) or _stated_dialect(schema, registry)

    def reader(dynamic: bool) -> SchemaReader:
        resource = Resource(schema, dialect, registry)
        return SchemaReader(schema, dialect, options, resource, limits, dynamic, note_duplicates)

    try:
        return reader(dynamic=False)
    except DynamicReference:
        return reader(dynamic=True)


def _stated_dialect(schema: Json, registry: Registry[Any] | None) -> Dialect:
    """The draft of the meta-schema in the registry that `$schema` names.

    Raises SchemaError if it is not in the registry, or requires an unknown vocabulary.
    """
    assert isinstance(schema, dict)
    stated = schema["$schema"]
    resource = registry.get(stated.rstrip("#")) or registry.get(stated) if registry is not None else None
    dialect = None if resource is None else dialect_of_vocabularies(resource.contents)
    if dialect is None:
        problem = "is not a known draft" if resource is None else "needs a vocabulary that is not known"
        raise SchemaError(
            f"$schema {stated!r} {problem}",
            place=f"$\n{excerpt({'$schema': stated})}",
            fix=f"use one of {', '.join(DIALECTS)}, or leave it out",
        )
    return dialect


def json_schema(
    schema: Any,
    *,
    whitespace: Whitespace = "bounded",
    property_order: PropertyOrder = "schema",
    formats: Formats = "assert",
    registry: Any = None,
    dialect: str | None = None,
    limits: Limits | None = None,
) -> JsonSchema:
    """The texts that are JSON and fulfil a schema.

    schema: dict | bool | JSON text | pydantic model | dataclass | TypedDict | Enum | Literal | Union | callable (its
      arguments).
    whitespace: "bounded" — any JSON whitespace a person would write, never an endless run; "compact" — none; "any" —
      all, also after
        the value.
    property_order: "schema" — declared order, then the rest; "any" — every order.
    formats: "assert" — the known formats are enforced; "annotate" — none is.
    registry: a `referencing.Registry` for references into other documents.
    dialect: the draft, whatever `$schema` says: "draft4", "draft6", "draft7", "draft2019-09", "draft2020-12",
      "openapi-3.0" (with `nullable`); or "openai-strict": refuse what is outside the subset that OpenAI's strict mode
      takes.
    limits: seconds and memory that reading may take, and a way to cancel it; by default 20 s and 2 GB.

    Raises SchemaError (malformed or not supported, with its place), UnsatisfiableError (nothing fulfils it),
    LimitError.
    """
    for value, allowed, name in (
        (whitespace, POLICIES, "whitespace"),
        (property_order, ORDERS, "property_order"),
        (formats, FORMAT_POLICIES, "formats"),
    ):
        if value not in allowed:
            raise ConstrainError(f"{name}={value!r} is not an option", fix=f"use one of {', '.join(allowed)}")
    strict = dialect == OPENAI_STRICT
    if dialect is not None and not strict and dialect not in NAMED:
        known = ", ".join([*NAMED, OPENAI_STRICT])
        raise ConstrainError(f"dialect={dialect!r} is not an option", fix=f"use one of {known}")
    options = Options(whitespace, property_order, formats, None if strict else dialect)
    if isinstance(schema, (str, bytes)):
        raw, parse_with = _from_text(schema), None
    elif isinstance(schema, (dict, bool)):
        raw, parse_with = schema, None
    else:
        raw, parse_with = schema_of_type(schema)
    if strict:
        check_strict(raw)
    constraint = JsonSchema(raw, options, registry, schema, parse_with, limits or Limits())
    constraint.normalizer  # noqa: B018  reads the schema: faults are raised here, not at the first use
    return constraint


def _from_text(text: str | bytes) -> Any:
    """A schema given as JSON text; numbers are read exactly."""
    try:
        return read_exactly(text.decode() if isinstance(text, bytes) else text)
    except json.JSONDecodeError as error:
        raise SchemaError(
            f"the schema is not JSON: {error.msg}",
            place=span(error.doc, error.pos),
            fix="correct the text, or pass a dict",
        ) from None
    except RepeatedKey as error:
        raise SchemaError(
            f"the key {str(error)!r} occurs twice in one object of the schema", fix="leave one of them out"
        ) from None
    except RecursionError:
        raise LimitError("the schema is nested too deeply to be read", fix="break it up with fewer levels") from None
    except UnicodeDecodeError as error:
        raise SchemaError(
            f"the schema is not UTF-8: {error.reason} at byte {error.start}", fix="encode it as UTF-8"
        ) from None
    except ValueError as error:
        raise SchemaError(f"the schema cannot be read: {error}", fix="write a smaller number") from None
