"""Keywords about arrays and objects (Core 2020-12 section 10.3, Validation 2020-12 sections 6.4 and 6.5)."""

from __future__ import annotations

from typing import Any

from constrain.languages.schema.read.keywords_values import check_text, count_value, pattern_value
from constrain.languages.schema.read.reading import SubschemaReading
from constrain.languages.schema.sets.algebra import EVERYTHING, FALSE, NOTHING, TRUE, Conj, ObjectBox
from constrain.languages.schema.sets.complement import counted
from constrain.languages.schema.sets.formula import AllOf, AnyOf, Atoms, KnownSet
from constrain.languages.schema.sets.json_types import Json
from constrain.limits import tick

# -------------------------------------------------------------------------------------------------------- arrays


def items(reading: SubschemaReading, value: Json) -> None:
    """One schema for all items after `prefixItems`; in older drafts also a list, one schema per position."""
    if isinstance(value, list):
        if not reading.site.dialect.array_items:
            raise reading.site.error(
                "a list of items is called prefixItems in this draft", "rename it prefixItems", "items"
            )
        prefix = tuple(reading.child(item, "items", i) for i, item in enumerate(value))
        reading.array["prefix"] = prefix
    else:
        reading.array["rest"] = reading.child(value, "items")


def prefixItems(reading: SubschemaReading, value: Json) -> None:
    """One schema per position."""
    if not isinstance(value, list):
        raise reading.site.error("prefixItems is a list of schemas", 'write "prefixItems": [...]', "prefixItems")
    prefix = tuple(reading.child(item, "prefixItems", i) for i, item in enumerate(value))
    reading.array["prefix"] = prefix


def additionalItems(reading: SubschemaReading, value: Json) -> None:
    """One schema for all items after a list of `items`; without such a list it says nothing."""
    if isinstance(reading.raw.get("items"), list):
        reading.array["rest"] = reading.child(value, "additionalItems")


def minItems(reading: SubschemaReading, value: Json) -> None:
    """The least number of items."""
    reading.array["low"] = count_value(reading, "minItems", value)


def maxItems(reading: SubschemaReading, value: Json) -> None:
    """The largest number of items."""
    reading.array["high"] = count_value(reading, "maxItems", value)


def uniqueItems(reading: SubschemaReading, value: Json) -> None:
    """No two items are equal. The grammar remembers which of few values were used; else a guard does (`watch.py`)."""
    if not isinstance(value, bool):
        raise reading.site.error(f"uniqueItems is true or false, not {value!r}", "write true or false", "uniqueItems")
    high = reading.raw.get("maxItems")
    if value and not (isinstance(high, int) and high <= 1):
        reading.array["unique"] = True
        note = "equal items are vetoed; where a branch decides whether they may be equal, when the value is complete"
        reading.document.residuals.append((reading.site, "uniqueItems", note))


def contains(reading: SubschemaReading, value: Json) -> None:
    """Between `minContains` (by default 1) and `maxContains` items fulfil the schema."""
    conj = reading.child(value, "contains")
    document = reading.document
    document.must_explore = True
    least, most = _contains_limit(reading, "minContains"), _contains_limit(reading, "maxContains")
    least = 1 if least is None else least
    if most is not None and most < least:
        reading.arrays.append(None)
    elif (least, most) != (0, None):
        reading.arrays.append(counted(0, conj, least, most, document.negation))


def _contains_limit(reading: SubschemaReading, keyword: str) -> int | None:
    """The value of `minContains` or `maxContains`; None if the keyword is not given."""
    given = keyword in reading.raw and keyword not in reading.site.dialect.lacks
    return count_value(reading, keyword, reading.raw[keyword]) if given else None


def contains_limit(reading: SubschemaReading, value: Json) -> None:
    """`minContains` and `maxContains`: only checked here; `contains` reads them."""
    _contains_limit(reading, "minContains")
    _contains_limit(reading, "maxContains")


# ------------------------------------------------------------------------------------------------------- objects


def _schemas(reading: SubschemaReading, keyword: str, value: Json) -> dict[str, Any]:
    """The value of a keyword that maps names to schemas. Raises SchemaError if it is not an object."""
    if not isinstance(value, dict):
        raise reading.site.error(f"{keyword} is an object", f'write "{keyword}": {{...}}', keyword)
    for name in value:
        if type(name) is not str or not name.isascii():
            check_text(reading, name, keyword)
    return value


def _names(reading: SubschemaReading, keyword: str, value: Json) -> tuple[str, ...]:
    """The value of a keyword that lists property names, without repetition. Raises SchemaError if it is no list."""
    if not isinstance(value, list):
        raise reading.site.error(
            f"{keyword} is a list of names, not {value!r}", f'write "{keyword}": ["name"]', keyword
        )
    for name in value:
        if type(name) is not str or not name.isascii():
            check_text(reading, name, keyword)
    return tuple(dict.fromkeys(value))


def properties(reading: SubschemaReading, value: Json) -> None:
    """One schema for each name; the written order is the order of generation."""
    reading.mark = len(reading.formulas)
    conj, site = reading.reader.conj, reading.site
    reading.object["named"] = tuple(
        [(name, conj(raw, site, ("properties", name))) for name, raw in _schemas(reading, "properties", value).items()]
    )


def patternProperties(reading: SubschemaReading, value: Json) -> None:
    """One schema for all keys that match a pattern."""
    reading.document.must_explore = True
    for text, raw in _schemas(reading, "patternProperties", value).items():
        conj = reading.child(raw, "patternProperties", text)
        reading.patterns.append((pattern_value(reading, "patternProperties", text), conj))
        reading.document.key_patterns.append(reading.patterns[-1][0])


def additionalProperties(reading: SubschemaReading, value: Json) -> None:
    """One schema for all keys that are neither declared nor match a pattern."""
    reading.rest = reading.child(value, "additionalProperties")


def required(reading: SubschemaReading, value: Json) -> None:
    """Names that must be present, declared or not."""
    reading.object["required"] = _names(reading, "required", value)


def propertyNames(reading: SubschemaReading, value: Json) -> None:
    """A schema that every key fulfils as a string."""
    reading.document.must_explore = True
    reading.object["names"] = reading.child(value, "propertyNames")
    reading.document.key_schemas.append(reading.object["names"])


def minProperties(reading: SubschemaReading, value: Json) -> None:
    """The least number of properties."""
    reading.object["low"] = count_value(reading, "minProperties", value)


def maxProperties(reading: SubschemaReading, value: Json) -> None:
    """The largest number of properties."""
    reading.object["high"] = count_value(reading, "maxProperties", value)


def _depends(reading: SubschemaReading, name: str, names: tuple[str, ...], conj: Conj) -> None:
    """Add the condition: the name is absent, or `names` are present and the whole object fulfils `conj`."""
    tick()
    reading.document.must_explore = True
    absent = EVERYTHING._replace(objects=(ObjectBox(named=((name, FALSE),)),))
    present = NOTHING._replace(objects=(ObjectBox(required=(name, *names)),))
    then = KnownSet(present) if conj == TRUE else AllOf((KnownSet(present), Atoms(conj)))
    reading.formulas.append(AnyOf((KnownSet(absent), then)))


def dependentRequired(reading: SubschemaReading, value: Json) -> None:
    """Names that must be present if a name is."""
    for name, names in _schemas(reading, "dependentRequired", value).items():
        _depends(reading, name, _names(reading, "dependentRequired", names), TRUE)


def dependentSchemas(reading: SubschemaReading, value: Json) -> None:
    """Schemas that the object must fulfil if a name is present."""
    for name, raw in _schemas(reading, "dependentSchemas", value).items():
        _depends(reading, name, (), reading.child(raw, "dependentSchemas", name))


def dependencies(reading: SubschemaReading, value: Json) -> None:
    """`dependentRequired` and `dependentSchemas` of drafts before 2019-09."""
    for name, dependency in _schemas(reading, "dependencies", value).items():
        if isinstance(dependency, list):
            _depends(reading, name, _names(reading, "dependencies", dependency), TRUE)
        else:
            _depends(reading, name, (), reading.child(dependency, "dependencies", name))
