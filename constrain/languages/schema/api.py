"""`constrain.json_schema`: a JSON Schema as a constraint.

The idea: reading finds every error in the schema and decides that some value fulfils it. The grammar is lazy, so all
other costs depend on what texts visit. Keywords whose algebra can reach a limit (`oneOf`, `not`, ...) are computed at
once for the whole schema, so that no error appears in the middle of a text.
"""

from __future__ import annotations

import json
import marshal
import os
import sys
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, get_args, overload

from constrain.errors import ConstrainError, LimitError, SchemaError, warn
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.report import ReportLine
from constrain.languages.guards.repeats import Repeats
from constrain.languages.schema.check.finished import SHALLOW, check_text
from constrain.languages.schema.check.watch import Watched, watched_root
from constrain.languages.schema.left_open import Closed, closed_where_possible
from constrain.languages.schema.normalize.explore import explore
from constrain.languages.schema.normalize.normalizer import Normalizer
from constrain.languages.schema.read.closing import ALONE, Closing
from constrain.languages.schema.read.dialect import (
    DIALECTS,
    NAMED,
    OPENAI_STRICT,
    Dialect,
    dialect_of,
    dialect_of_vocabularies,
)
from constrain.languages.schema.read.document import Document, ReadOptions, excerpt, refuse_circles
from constrain.languages.schema.read.dynamic import DynamicReference
from constrain.languages.schema.read.meant import check_root, warn_of_misspelt
from constrain.languages.schema.read.reader import SchemaReader
from constrain.languages.schema.read.references import PackedRegistry, Resource, check_registry
from constrain.languages.schema.recent import Recent
from constrain.languages.schema.sets.algebra import Conj
from constrain.languages.schema.sets.json_types import Json
from constrain.languages.schema.write.json_layout import JsonLayout, read_json_layout
from constrain.languages.schema.write.lower import Lowering
from constrain.languages.schema.write.whitespace import POLICIES
from constrain.lazily import later, lazily
from constrain.limits import DEFAULT, FEWER, UNLIMITED, UNTIMED, Limits, default_limits, limits_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from referencing import Registry
    from typing_extensions import TypedDict, TypeForm, TypeVar, Unpack

    from constrain.languages.guards import Guard
    from constrain.languages.vocab.vocabulary import Vocabulary

Spelling = Literal["plain", "any"]
Whitespace = Literal["consistent", "bounded", "compact", "any"]
PropertyOrder = Literal["schema", "any"]
Formats = Literal["assert", "annotate"]
Undeclared = Literal["allow", "avoid", "refuse"]
if TYPE_CHECKING:
    T = TypeVar("T", default=Any)

    class SchemaOptions(TypedDict, total=False):
        """The options of `json_schema`, for its overloads."""

        spelling: Spelling
        whitespace: Whitespace | JsonLayout | Mapping[str, Any] | None
        property_order: PropertyOrder
        undeclared: Undeclared
        formats: Formats
        registry: Any
        dialect: str | None
        documents: Mapping[str, str] | None
        limits: Limits | None
else:
    from typing import TypeVar

    T = TypeVar("T")


def check_option(value: Any, allowed: Collection[str], name: str) -> None:
    """Raise ConstrainError if an option is none of the words that it may be."""
    if not isinstance(value, str) or value not in allowed:
        raise ConstrainError(f"{name}={value!r:.60} is not an option", fix=f"use one of {', '.join(allowed)}")


_files = later("constrain.languages.schema.read.files")
_types = later("constrain.languages.schema.read.inputs")
_strict = later("constrain.languages.schema.openai_strict")
SPELLINGS, ORDERS, FORMAT_POLICIES = get_args(Spelling), get_args(PropertyOrder), get_args(Formats)


@dataclass(frozen=True, eq=False, repr=False)
class JsonSchema(Constraint, Generic[T]):
    """A JSON Schema; make one with `json_schema`. Two are equal if schema, options and registry are.

    Attributes:
        written: The schema as JSON (a dict or a boolean), as it was written.
        options: How it is read and written.
        registry: The `referencing.Registry` for references into other documents, or None.
        given: The argument of `json_schema` that it was made from.
        parse_with: The function that turns a member text into an instance of a Python type; None: JSON values.
        limits: The limits on reading it; None: those of the thread, else the default ones.

    Example:
        >>> json_schema({"type": "integer"}).parse("7")
        7
    """

    written: Any
    options: ReadOptions
    registry: Any = None
    given: Any = None
    parse_with: Callable[[str], T] | None = None
    limits: Limits | None = field(default_factory=Limits)

    @property
    def made_of(self) -> tuple[Any, ...]:
        return self.written, self.registry

    @property
    def ends_in_time(self) -> bool:
        """True: half a value is none."""
        return True

    @lazily
    def schema(self) -> Any:
        """The schema as JSON for other readers: closed, if it was asked to be. An internal keyword may say so."""
        return self.written if self._closing is None else self._closing.schema()

    @lazily
    def normalizer(self) -> Normalizer:
        """The schema, read, with what has been computed so far. Raises SchemaError, UnsatisfiableError, LimitError."""
        with limits_at(lambda: "$"):
            return self._closed.normalizer

    @lazily
    def _closed(self) -> Closed:
        if self.options.undeclared == "allow" or not isinstance(self.written, dict):
            return Closed(self._decided())

        def written() -> Normalizer:
            return replace(self, options=self.options._replace(undeclared="allow")).normalizer

        try:
            if self.options.undeclared == "refuse":
                return Closed(self._decided())
            with self._reading(timed=False):
                return closed_where_possible(self._read, written)
        except (ConstrainError, TypeError, AttributeError):  # a list that is none, and the like
            written()  # raises what is wrong with the schema itself
            raise

    def _reading(self, *, timed: bool = True) -> AbstractContextManager[None]:
        """Limit what is read inside."""
        limits = self.limits or default_limits()
        if limits is UNLIMITED:  # PERF: the limits of a request
            return nullcontext()
        if not timed:
            limits = UNTIMED if limits is DEFAULT else replace(limits, seconds=None)
        return limits.reading("the schema", FEWER)

    def _decided(self) -> Normalizer:
        try:
            with self._reading():
                document = self._read().document
                normalizer = Normalizer(document)
                if not normalizer.root_inhabited():
                    raise self._unsatisfiable()
                if document.must_explore:
                    explore(normalizer)
        except RecursionError:
            raise _files.too_deep() from None
        return normalizer

    def _read(self, stays: Mapping[int, str] | None = None) -> SchemaReader:
        return read(self.written, self.options, self.registry, stays=stays)

    def _unsatisfiable(self) -> ConstrainError:
        """The error for a schema that nothing fulfils. It needs a reader, so the schema is read again."""
        from constrain.languages.schema.normalize.diagnose import unsatisfiable

        reader = self._read()
        return unsatisfiable(Normalizer(reader.document), reader, self._probe)

    def _probe(self, raw: Any) -> bool:
        """True if some value fulfils another schema that is put in the place of the root."""
        reader = read(self._with_definitions(raw), self.options._replace(undeclared="allow"), self.registry)
        return Normalizer(reader.document).root_inhabited()

    def beside_definitions(self, raw: Any) -> JsonSchema:
        """The document with another schema as its root, which may refer to the definitions of the old one."""
        return JsonSchema(self._with_definitions(raw), self.options, self.registry)

    def _with_definitions(self, raw: Any) -> Any:
        """A schema with the definitions of the root added, so that its references can be resolved."""
        given = self.written if isinstance(self.written, dict) else {}
        return {**{key: given[key] for key in ("$schema", "$defs", "definitions") if key in given}, **raw}

    def of(self, conj: Conj) -> JsonSchema:
        """The schema of a conjunction of subschemas of this one. Raises SchemaError."""
        return self.beside_definitions(self.document.written(conj))

    @lazily
    def document(self) -> Document:
        """The atoms of the schema."""
        return self.normalizer.document

    def _build(self) -> Grammar:
        lowering = Lowering(self.normalizer, self.options)
        after = lowering.before if self.options.whitespace == "any" else ()
        with self._reading():
            sequence: list[Symbol] = [*lowering.before, lowering.value(self.document.root), *after]
        if len(sequence) == 1 and isinstance(sequence[0], Nonterminal):
            return Grammar(sequence[0])
        return Grammar(Nonterminal("document", lambda: [sequence], key=(lowering.serial, "document")))

    @property
    def residual(self) -> bool:
        return bool(self.document.residuals) or self.parse_with is not None

    @property
    def guarded(self) -> bool:
        """Always True: repeated open keys and equal items under `uniqueItems` need a guard."""
        return True

    def guard(self, vocabulary: Vocabulary) -> Guard:
        """The guard that prevents repeated keys in objects and equal items under `uniqueItems`."""
        return Repeats(self._watched, vocabulary)

    @lazily
    def _watched(self) -> Watched | None:
        return watched_root(self.normalizer)

    @lazily
    def report(self) -> list[ReportLine]:
        """A line for each keyword, which says how it is enforced. Reads the schema again.

        Example:
            >>> import constrain
            >>> [entry] = constrain.json_schema({"enum": [1, 2]}).report[:1]
            >>> entry.keyword, entry.pointer, entry.status
            ('enum', '$', 'enforced')
        """
        from constrain.languages.schema.normalize.report import make_report

        written = self.options._replace(undeclared="allow")
        entries = self._closing_lines() + make_report(read(self.written, written, self.registry, True), self.document)
        if self.parse_with is not None:
            status = "residual" if self.untold else "enforced"
            entries.append(ReportLine("(type)", "$", status, f"the value must be an instance of {self._name}"))
        return entries

    def _closing_lines(self) -> list[ReportLine]:
        if self._closed.whole is not None:
            return [self._closed.whole]
        return [] if self._closing is None else self._closing.lines()

    @property
    def _closing(self) -> Closing | None:
        """The decisions of closing, made anew; None: nothing is closed."""
        closed = self._closed
        if closed.whole is not None or self.options.undeclared == "allow" or not isinstance(self.written, dict):
            return None
        return Closing(self.document.root_site, closed.stays)

    @property
    def untold(self) -> list[tuple[str, str]]:
        """(place, note) of all that a Python type asks and the mask does not know, such as a validator."""
        found = [(site.pointer, note) for site, word, note in self.document.residuals if word == "x-python"]
        return list(dict.fromkeys(found))

    @property
    def _name(self) -> str:
        return getattr(self.given, "__name__", None) or repr(self.given)

    def warn(self) -> None:
        """Warn of keys that are nearly keywords, and if a value of a type may be refused when its text is finished."""
        warn_of_misspelt(self.written, self.document.unknown)
        if self.parse_with is not None and self.untold:
            places = "".join(f"\n  at {place}: {note}" for place, note in self.untold)
            fix = "say it in the schema (Field(pattern=...), bounds, Literal), or tell the model in the prompt"
            asked = f"no mask knows all that {self._name:.60} asks; texts that it refuses are drawn again"
            warn(f"{asked}{places}\n  fix: {fix}")

    def parse(self, text: str) -> T:
        """Return the value of a valid text.

        Args:
            text: A text in the language.

        Returns:
            A JSON value, or an instance of the Python type that the schema was made from.

        Raises:
            ValueError: The text is not JSON, or is no instance of the type.
            LimitError: The text is nested too deeply, or has an integer of more digits than Python reads.

        Example:
            >>> import constrain
            >>> constrain.json_schema({"type": "array"}).parse("[1, 2]")
            [1, 2]
        """
        try:
            return json.loads(text) if self.parse_with is None else self.parse_with(text)
        except RecursionError:
            raise LimitError("the text is nested too deeply to be read", fix=SHALLOW) from None
        except ValueError as error:
            if self.parse_with is not None or isinstance(error, json.JSONDecodeError | UnicodeError):
                raise
            message = f"the text has an integer of more than {sys.get_int_max_str_digits()} digits"
            raise LimitError(message, fix="sys.set_int_max_str_digits(0), or a maximum in the schema") from None

    def residual_fault(self, text: str) -> str | None:
        """Check a finished text of the grammar for residual conditions.

        They are those of the schema, and what a Python type asks beyond its schema: the validators of a pydantic model.

        Args:
            text: A text that the grammar allows.

        Returns:
            None if the text passes, else one sentence.

        Example:
            >>> import constrain
            >>> constrain.json_schema({"type": "object"}).residual_fault('{"a": 1, "a": 2}')
            "the key 'a' occurs twice in one object"
        """
        if not isinstance(text, str | bytes | bytearray):
            raise ConstrainError(f"residual_fault() takes a text, not {text!r:.60}", fix="json.dumps(value)")
        fault = check_text(text, self.normalizer)
        if fault is None and self.parse_with is not None:
            try:
                self.parse_with(text)
            except ValueError as error:  # pydantic's ValidationError is one
                fault = str(error)
        return fault

    def likely_text(self, most: int) -> str:
        from constrain.languages.schema.write.sample import sample  # loads numba

        with self._reading():
            return sample(self.normalizer, self.document.root, most=most, whitespace=self.options.whitespace)

    def _intersect(self, other: Constraint) -> Constraint:
        """The intersection of two schemas with the same options and no references."""
        if not isinstance(other, JsonSchema) or other.options != self.options:
            return NotImplemented
        if "$ref" in json.dumps([self.written, other.written], default=str):
            return NotImplemented  # the references of two documents do not mix
        stated = [s["$schema"] for s in (self.written, other.written) if isinstance(s, dict) and "$schema" in s]
        combined: dict[str, Any] = {"$schema": stated[0]} if stated else {}
        if len(set(stated)) > 1:
            return NotImplemented
        combined["allOf"] = [{ALONE: self.written}, {ALONE: other.written}]
        return JsonSchema(combined, self.options, self.registry or other.registry)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the schema and the options; a Python type by its name, as pickle does."""
        given = None if self.parse_with is None else self.given
        return _restored, (self.written, self.options, PackedRegistry.of(self.registry), given, self.limits)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JsonSchema):
            return NotImplemented
        mine, theirs = (
            None if each.parse_with is None else each.given for each in (self, other)
        )  # what `residual_fault` asks
        if self._identity != other._identity or mine != theirs:
            return False
        mine, theirs = self.registry, other.registry
        if mine is not theirs and PackedRegistry.of(mine) != PackedRegistry.of(theirs):
            return False
        return self.options == other.options or self._effective_options == other._effective_options

    @property
    def _effective_options(self) -> ReadOptions:
        """The options; `undeclared` says nothing where nothing is closed."""
        if self.options.undeclared == "allow" or self._closing_lines():
            return self.options
        return self.options._replace(undeclared="allow")

    def __hash__(self) -> int:
        return self._hash

    @lazily
    def _hash(self) -> int:
        return hash((self._identity, self.options[:-1]))  # all but `undeclared`, which may say nothing

    @lazily
    def _identity(self) -> bytes | str:
        try:
            return marshal.dumps(self.written, 2)  # PERF: a third of the time; version 2 depends on the content alone
        except ValueError:  # exact decimals, deep nesting
            try:
                return json.dumps(self.written, default=str)
            except RecursionError:
                raise _files.too_deep() from None

    def __repr__(self) -> str:
        return f"json_schema({excerpt(self.written, 60)})"


def _restored(
    schema: Any, options: ReadOptions, packed: PackedRegistry | None, given: Any, limits: Limits | None
) -> JsonSchema:
    """The constraint of a pickle."""
    registry = None if packed is None else packed.unpacked()
    parse_with = None if given is None else _types.schema_of_type(given)[1]
    return JsonSchema(schema, options, registry, schema if given is None else given, parse_with, limits)


def read(
    schema: Json, options: ReadOptions, registry: Registry[Any] | None, note_duplicates: bool = False,
    stays: Mapping[int, str] | None = None,
) -> SchemaReader:  # fmt: skip
    """Read a schema, with dynamic scopes only if it has a dynamic reference."""
    dialect = NAMED[options.dialect] if options.dialect else dialect_of(schema) or _stated_dialect(schema, registry)

    dynamic = False
    while True:
        try:
            resource = Resource(schema, dialect, registry)
            return SchemaReader(schema, dialect, options, resource, dynamic, note_duplicates, stays)
        except DynamicReference:
            dynamic = True


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


@overload
def json_schema(
    schema: str | bool | os.PathLike[str] | Mapping[str, Any], **options: Unpack[SchemaOptions]
) -> JsonSchema: ...
@overload
def json_schema(schema: TypeForm[T], **options: Unpack[SchemaOptions]) -> JsonSchema[T]: ...
@overload
def json_schema(schema: object, **options: Unpack[SchemaOptions]) -> JsonSchema: ...
def json_schema(
    schema: Any,
    *,
    spelling: Spelling = "plain",
    whitespace: Whitespace | JsonLayout | Mapping[str, Any] | None = None,
    property_order: PropertyOrder = "schema",
    undeclared: Undeclared = "allow",
    formats: Formats = "assert",
    registry: Any = None,
    dialect: str | None = None,
    documents: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> JsonSchema:
    """The texts that are JSON and fulfil a schema.

    Args:
        schema: A schema: dict, bool or JSON text; or its file, JSON or YAML, as a `Path`, maybe with a place in it
            (`Path("shop.json#/$defs/order")`), whose references may name files beside it; or a Python type: pydantic
            model, dataclass, TypedDict, Enum, Literal or Union; or a function, which stands for the object of its
            arguments. What no mask knows of a type, such as a validator, is told in a warning and in `report`, and
            checked (docs/howto/types.md).
        spelling: "plain": every value as serializers write it, with escapes only where JSON needs them and for what is
            not ASCII, integers as digits, other numbers with the digits of a double; "any": all that JSON allows. It
            says which texts of a value count, not which values (docs/notes/0012).
        whitespace: "consistent" (the default of "plain"): one layout a text, as serializers write it: on one line
            without or with spaces behind commas and colons, or in lines, each level indented by 1 to 8 spaces or a tab;
            "bounded" (the default of "any"): what a person or a printer would write, never an endless run; "compact":
            none; "any": all JSON whitespace, also after the value; or a `schema.JsonLayout` (or a mapping of its
            fields): json.dumps's `indent` and `separators`, a number of characters, or patterns.
        property_order: "schema": declared properties in the order of the schema, then all others; "any": every order.
        undeclared: "allow": an object has what the schema lets it have, so also properties that are nowhere declared
            unless `additionalProperties` or the like says otherwise; "refuse": where properties or first items are
            declared, there are no others; "avoid", as `generate` reads schemas: the same, but places that cannot be
            closed stay open, and `report` says which. With both, `properties` or `required` without a type mean an
            object. Objects and arrays of which nothing is declared stay free
            (docs/howto/undeclared.md).
        formats: "assert": known formats are enforced; "annotate": none is.
        registry: A `referencing.Registry` for references into other documents, or a folder (`Path`) whose files they
            may name; None: nothing but this schema, and the folder of its file.
        dialect: The draft to read the schema by, instead of its `$schema`: "draft4", "draft6", "draft7",
            "draft2019-09", "draft2020-12" or "openapi-3.0" (with `nullable`); or "openai-strict", which refuses schemas
            outside the subset of OpenAI's strict mode. None: the draft that `$schema` names, by default 2020-12.
        documents: The texts that strings quote under `"x-span": {"document": name}`
            (docs/howto/search.md#spans-of-a-document).
        limits: Time and memory that reading may take, and a way to cancel it; by default 2 s of CPU time and 1 GB.

    Returns:
        A constraint. Its `report` says how each keyword is enforced.

    Raises:
        SchemaError: The schema is malformed, or has a reference that cannot be resolved; with its place. Or it is what
            a schema is wrapped in: a tool, a response format, an OpenAPI document. A warning tells of keys that are
            nearly keywords.
        UnsatisfiableError: No value fulfils the schema; with the keywords that conflict.
        OSError: The file cannot be read.
        LimitError: Reading takes too much time or memory, or the schema is nested too deeply.
        ConstrainError: An option has an unknown value.

    Source:
        JSON Schema 2020-12, Core and Validation, https://json-schema.org/specification, and the older drafts; JSON by
        RFC 8259.

    Example:
        >>> import constrain
        >>> constraint = constrain.json_schema({"type": "object", "properties": {"age": {"type": "integer"}}})
        >>> constraint.parse('{"age": 7}')
        {'age': 7}
        >>> quote = {"type": "string", "x-span": {"document": "play"}, "maxLength": 9}
        >>> constrain.json_schema(quote, documents={"play": "to be or not to be"}).accepts('"or not"')
        True
    """
    options = read_options(spelling, whitespace, property_order, undeclared, formats)
    strict = isinstance(dialect, str) and dialect == OPENAI_STRICT
    if dialect is not None and not strict and not (isinstance(dialect, str) and dialect in NAMED):
        known = ", ".join([*NAMED, OPENAI_STRICT])
        raise ConstrainError(f"dialect={dialect!r:.60} is not an option", fix=f"use one of {known}")
    if not isinstance(limits, Limits | None):
        raise ConstrainError(f"limits={limits!r:.60} is no Limits", fix="limits=Limits(seconds=1.0)")
    if isinstance(registry, os.PathLike) and not isinstance(schema, os.PathLike):
        registry = _files.registry_of(registry)
    if not isinstance(registry, os.PathLike):
        check_registry(registry)
    options = options._replace(dialect=None if strict else dialect, documents=_documents(documents))
    parse_with = None
    if isinstance(schema, (str, bytes)):
        raw = _files.from_json(schema)
    elif isinstance(schema, os.PathLike):
        raw, registry = _files.schema_of_file(schema, registry)
    elif isinstance(schema, (dict, bool)):
        refuse_circles(schema)
        raw = schema
    elif isinstance(schema, Constraint):
        raise SchemaError(f"{schema!r:.60} is a constraint already", fix="pass a schema: a dict, JSON text, or a type")
    else:
        raw, parse_with = _types.schema_of_type(schema)
    if strict:
        _strict.check(raw if parse_with is None else _types.published_schema(schema))
    check_root(raw)
    constraint = JsonSchema(raw, options, registry, schema, parse_with, limits or DEFAULT)
    constraint.warn()  # reads the schema: faults are raised here, not at the first use
    return constraint


def read_options(
    spelling: Any, whitespace: Any, property_order: Any, undeclared: Any, formats: Any = "assert"
) -> ReadOptions:
    """The options of `json_schema` of these names. Raises ConstrainError."""
    if whitespace is None:
        whitespace = "consistent" if isinstance(spelling, str) and spelling == "plain" else "bounded"
    if isinstance(whitespace, Mapping):
        whitespace = read_json_layout(whitespace)
    for value, allowed, name in (
        (spelling, SPELLINGS, "spelling"),
        *([] if isinstance(whitespace, JsonLayout) else [(whitespace, POLICIES, "whitespace")]),
        (property_order, ORDERS, "property_order"),
        (formats, FORMAT_POLICIES, "formats"),
        (undeclared, get_args(Undeclared), "undeclared"),
    ):
        check_option(value, allowed, name)
    return ReadOptions(whitespace, property_order, formats, None, spelling, (), undeclared)


def schema_of_json(raw: Any, options: ReadOptions) -> JsonSchema:
    """`json_schema` of what was read from JSON, a dict or a bool without circles, under the limits of the thread."""
    check_root(raw)
    constraint = JsonSchema(raw, options, given=raw, limits=None)
    constraint.warn()
    return constraint


def declared_only(schema: Any, dialect: str | None = None) -> JsonSchema:
    """Make `json_schema(schema, undeclared="avoid")`, as text is generated. Schemas are kept by their content.

    Args:
        schema: As in `json_schema`.
        dialect: As in `json_schema`.

    Returns:
        The constraint: an earlier one, if the schema has the same content. It holds a copy, so one that is changed
        later is another schema.

    Raises:
        ConstrainError: As `json_schema`.

    Example:
        >>> declared_only({"type": "integer"}) is declared_only({"type": "integer"})
        True
    """
    if dialect is None and isinstance(schema, dict | str):
        try:
            content = marshal.dumps(schema, 2).decode("latin-1")
        except ValueError:  # exact decimals, deep nesting, circles
            content = ""
        if content:
            constraint = _kept("schema", content)
            constraint.warn()
            return constraint
    return json_schema(schema, undeclared="avoid", dialect=dialect)


def _read_kept(_kind: str, content: str) -> JsonSchema:
    schema = marshal.loads(content.encode("latin-1"))
    raw = _files.from_json(schema) if isinstance(schema, str) else schema
    check_root(raw)
    constraint = JsonSchema(raw, ReadOptions(undeclared="avoid"), given=schema, limits=DEFAULT)
    constraint.normalizer  # noqa: B018  reads the schema
    return constraint


_kept = Recent(_read_kept, 64)


def _documents(documents: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """The documents as a value. Raises ConstrainError."""
    if documents is None:
        return ()
    if not isinstance(documents, Mapping) or not all(
        isinstance(each, str) for pair in documents.items() for each in pair
    ):
        raise ConstrainError("documents= has a text for each name", fix='documents={"article": "..."}')
    return tuple(sorted(documents.items()))
