"""Keywords that combine schemas, and references (Core 2020-12 sections 8.2.3 and 10.2)."""

from __future__ import annotations

from constrain.languages.schema.read.closing import ALONE
from constrain.languages.schema.read.reading import SubschemaReading
from constrain.languages.schema.sets.formula import AllOf, AnyOf, Atoms, Formula, Not, OneOf
from constrain.languages.schema.sets.json_types import Json


def _branches(reading: SubschemaReading, keyword: str, value: Json) -> tuple[Formula, ...]:
    if not isinstance(value, list) or not value:
        raise reading.site.error(f"{keyword} is a non-empty list of schemas", f'write "{keyword}": [{{...}}]', keyword)
    return tuple(Atoms(reading.child(raw, keyword, i)) for i, raw in enumerate(value))


def allOf(reading: SubschemaReading, value: Json) -> None:
    """All of the schemas: a true intersection."""
    reading.document.must_explore = True
    reading.formulas += _branches(reading, "allOf", value)


def anyOf(reading: SubschemaReading, value: Json, keyword: str = "anyOf") -> None:
    """At least one of the schemas."""
    reading.document.must_explore = True
    reading.formulas.append(AnyOf(_branches(reading, keyword, value)))


def alone(reading: SubschemaReading, value: Json) -> None:
    """The schema, where what is declared around it counts for nothing."""
    reading.formulas.append(Atoms(reading.child(value, ALONE)))


def oneOf(reading: SubschemaReading, value: Json) -> None:
    """Exactly one of the schemas."""
    reading.document.must_explore = True
    reading.formulas.append(OneOf(_branches(reading, "oneOf", value)))


def not_(reading: SubschemaReading, value: Json) -> None:
    """None of the schema's values."""
    reading.document.must_explore = True
    reading.formulas.append(Not(Atoms(reading.child(value, "not"))))


def if_(reading: SubschemaReading, value: Json) -> None:
    """`then` for values that fulfil the schema, `else` for all others."""
    if "then" not in reading.raw and "else" not in reading.raw:
        return
    reading.document.must_explore = True
    child = reading.child
    condition = Atoms(child(value, "if"))
    then = Atoms(child(reading.raw.get("then", True), "then"))
    other = Atoms(child(reading.raw.get("else", True), "else"))
    reading.formulas.append(AnyOf((AllOf((condition, then)), AllOf((Not(condition), other)))))


def ref(reading: SubschemaReading, value: Json) -> None:
    """A reference beside other keywords, which count too since draft 2019-09."""
    reading.formulas.append(Atoms(reading.reader.refer(reading.site, value)))


def dynamicRef(reading: SubschemaReading, value: Json) -> None:
    """A reference that depends on the dynamic scope."""
    reading.formulas.append(Atoms(reading.reader.follow(reading.site, "$dynamicRef", value)))


def recursiveRef(reading: SubschemaReading, value: Json) -> None:
    """`$dynamicRef` of draft 2019-09."""
    reading.formulas.append(Atoms(reading.reader.follow(reading.site, "$recursiveRef", value)))
