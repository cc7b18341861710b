"""Values for a schema: some that aim at it, near misses of those, and random ones.

The idea: `Aim` walks the schema as a reader would — it takes one branch of every `anyOf`, follows references, gathers
the keywords that then hold together, and builds a value of one type from them. It is a guess (it does not look at
`not`, nor at two branches of `oneOf`), so about half of its values are valid; which ones is for the validators to say.
A near miss is such a value with one thing changed.
"""

import copy
import re
from fractions import Fraction
from typing import Any

from schema_strategies import NAMES, NUMBERS, SCALARS, TEXTS, TYPES, Choices, Chooser

DEEP = 7  # levels of a value, and of references followed for one
ARRAY_KEYWORDS = ("items", "prefixItems", "contains", "minItems", "uniqueItems", "unevaluatedItems", "additionalItems")
OBJECT_KEYWORDS = (
    "properties", "required", "patternProperties", "additionalProperties", "unevaluatedProperties", "dependentSchemas",
    "dependentRequired", "dependencies", "propertyNames", "minProperties",
)  # fmt: skip


class Aim(Choices):
    """Values that try to fulfil a document."""

    def __init__(self, chooser: Chooser, document: dict[str, Any]) -> None:
        super().__init__(chooser)
        self.document = document
        self.definitions = document.get("$defs") or document.get("definitions") or {}

    def values(self, count: int) -> list[Any]:
        """Some values: mostly aimed, then near misses, then random."""
        found: list[Any] = []
        for _ in range(count):
            kind = self.number(0, 9)
            aimed = self.aim([self.document], 0)
            found.append(aimed if kind < 5 else self.near(aimed) if kind < 8 else self.value(3))
        return found

    # ------------------------------------------------------------------------------------------------- what holds

    def target(self, ref: str) -> Any:
        """The target of a reference (of two resources with an equal name inside, either)."""
        tree = self.definitions.get("tree", True)
        names = dict(self.definitions)
        if isinstance(tree, dict):
            names.update(tree.get("$defs") or tree.get("definitions") or {})
        last = re.split("[/#]", ref)[-1]
        if last in names:
            return names[last]
        if last in ("", "meta", "tree"):
            return tree if ref.startswith("tree") or self.chance(30) else self.document
        return self.document

    def flat(self, schemas: list[Any], depth: int) -> list[dict[str, Any]]:
        """The schemas, and the schemas that they combine, as far as they shall hold."""
        found: list[dict[str, Any]] = []
        for schema in schemas:
            if not isinstance(schema, dict):
                continue
            found.append(schema)
            inner = list(schema.get("allOf", []))
            for keyword in ("anyOf", "oneOf"):
                if keyword in schema:
                    inner += [self.pick(schema[keyword])]
            if "if" in schema:
                branch = self.pick(("then", "else"))
                inner.append(schema.get(branch, True))
                inner += [schema["if"]] if branch == "then" else []
            inner += [self.target(schema[key]) for key in ("$ref", "$dynamicRef", "$recursiveRef") if key in schema]
            if depth < DEEP:
                found += self.flat(inner, depth + 1)
        return found

    def aim(self, schemas: list[Any], depth: int) -> Any:
        """A value that tries to fulfil all of the schemas."""
        if depth > DEEP:
            return None
        flat = self.flat(schemas, depth)
        fixed = [value for each in flat for value in each.get("enum", [])]
        fixed += [each["const"] for each in flat if "const" in each]
        if fixed and self.chance(85):
            return copy.deepcopy(self.pick(fixed))
        kind = self.type_of(flat)
        if kind in ("integer", "number"):
            return self.aim_number(flat, kind)
        if kind == "string":
            return self.aim_text(flat)
        if kind == "array":
            return self.aim_array(flat, depth)
        if kind == "object":
            return self.aim_object(flat, depth)
        return None if kind == "null" else self.chance(50)

    def type_of(self, flat: list[dict[str, Any]]) -> str:
        """A type that all schemas allow, mostly one that they speak of."""
        allowed = set(TYPES)
        for each in flat:
            stated = each.get("type", TYPES)
            stated = {stated} if isinstance(stated, str) else set(stated)
            allowed &= stated | ({"integer"} if "number" in stated else set())
        spoken = [kind for each in flat for kind in _spoken(each) if kind in allowed]
        if spoken and self.chance(85):
            return self.pick(spoken)
        return self.pick(sorted(allowed) or TYPES)

    # ----------------------------------------------------------------------------------------------------- scalars

    def aim_number(self, flat: list[dict[str, Any]], kind: str) -> Any:
        ends = [each[key] for each in flat for key in _BOUNDS if not isinstance(each.get(key, True), bool)]
        steps = [each["multipleOf"] for each in flat if "multipleOf" in each]
        options = [*NUMBERS, *ends, *(end + 1 for end in ends), *(end - 1 for end in ends)]
        products = [Fraction(str(step)) * n for step in steps for n in (-1, 0, 1, 2, 4)]
        options += [int(product) if product.denominator == 1 else float(product) for product in products]
        good = [number for number in options if _fits_number(number, flat, kind)]
        return self.pick(good or options)

    def aim_text(self, flat: list[dict[str, Any]]) -> str:
        low = max([0, *(each.get("minLength", 0) for each in flat)])
        options = [*TEXTS, *NAMES, "aaa", "abab", "bbb", "ééé"]
        patterns = [each["pattern"] for each in flat if "pattern" in each]
        high = min([9, *(each.get("maxLength", 9) for each in flat)])
        good = [
            text
            for text in options
            if low <= len(text) <= high and all(re.search(pattern, text) for pattern in patterns)
        ]
        return self.pick(good or options)

    # -------------------------------------------------------------------------------------------------- containers

    def aim_array(self, flat: list[dict[str, Any]], depth: int) -> list[Any]:
        low = max([0, *(each.get("minItems", 0) for each in flat)])
        high = min([low + 3, *(each.get("maxItems", 9) for each in flat)])
        wanted = [(each["contains"], each.get("minContains", 1)) for each in flat if "contains" in each]
        size = self.number(low, max(low, high))
        found: list[Any] = []
        for i in range(size):
            schemas = [_item(each, i) for each in flat]
            for contained, times in wanted:
                if i < times or self.chance(25):
                    schemas.append(contained)
            found.append(self.aim(schemas, depth + 2))
        if any(each.get("uniqueItems") for each in flat) and self.chance(70):
            found = [item for i, item in enumerate(found) if item not in found[:i]]
        elif found and self.chance(20):
            found.append(copy.deepcopy(self.pick(found)))
        return found

    def aim_object(self, flat: list[dict[str, Any]], depth: int) -> dict[str, Any]:
        required = [name for each in flat for name in each.get("required", [])]
        declared = [name for each in flat for name in each.get("properties", {})]
        low = max([0, *(each.get("minProperties", 0) for each in flat)])
        names = list(dict.fromkeys([*required, *self.some([*declared, *declared, *NAMES], 0, 3)]))
        if self.chance(70):
            names += [name for each in flat for name in _entailed(each, names) if name not in names]
        for name in self.some(NAMES, low, low + 1) if len(names) < low else []:
            if name not in names:
                names.append(name)
        for each in list(flat):
            for keyword in ("dependentSchemas", "dependencies"):
                entailed = [schema for name, schema in each.get(keyword, {}).items() if name in names]
                flat = flat + self.flat([schema for schema in entailed if isinstance(schema, dict)], depth + 2)
        parts = {name: [schema for each in flat for schema in _property(each, name)] for name in names}
        return {name: self.aim(parts[name], depth + 2) for name in names}

    # ------------------------------------------------------------------------------------------------- near misses

    def near(self, value: Any) -> Any:
        """The value with one change somewhere."""
        if isinstance(value, list) and value and self.chance(60):
            i = self.number(0, len(value) - 1)
            return [*value[:i], self.near(value[i]), *value[i + 1 :]]
        if isinstance(value, dict) and value and self.chance(60):
            name = self.pick(sorted(value))
            return {**value, name: self.near(value[name])}
        if isinstance(value, list) and self.chance(75):
            if value and self.chance(50):
                i = self.number(0, len(value) - 1)
                return value[:i] + value[i + 1 :] if self.chance(50) else [*value, copy.deepcopy(value[i])]
            return [*value, self.value(1)]
        if isinstance(value, dict) and self.chance(75):
            if value and self.chance(50):
                left = self.pick(sorted(value))
                return {name: value[name] for name in value if name != left}
            return {**value, self.pick(NAMES): self.value(1)}
        return self.pick((self.pick(SCALARS), [value], {self.pick(NAMES): value}, self.value(2)))


_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def _spoken(schema: dict[str, Any]) -> list[str]:
    """The types that the keywords of a schema speak of."""
    found = []
    if any(key in schema for key in (*_BOUNDS, "multipleOf")):
        found.append("number")
    if any(key in schema for key in ("pattern", "minLength", "maxLength")):
        found.append("string")
    if any(key in schema for key in ARRAY_KEYWORDS):
        found.append("array")
    if any(key in schema for key in OBJECT_KEYWORDS):
        found.append("object")
    return found


def _fits_number(number: Any, flat: list[dict[str, Any]], kind: str) -> bool:
    if kind == "integer" and number != int(number):
        return False
    for each in flat:
        low, high = each.get("exclusiveMinimum"), each.get("exclusiveMaximum")
        if number < each.get("minimum", number) or number > each.get("maximum", number):
            return False
        if number == each.get("minimum" if low is True else "", None):
            return False
        if number == each.get("maximum" if high is True else "", None):
            return False
        if not isinstance(low, bool | None) and number <= low:
            return False
        if not isinstance(high, bool | None) and number >= high:
            return False
        if Fraction(str(number)) % Fraction(str(each.get("multipleOf", number or 1))):
            return False
    return True


def _item(schema: dict[str, Any], i: int) -> Any:
    """The subschema of the item at an index."""
    prefix, rest = schema.get("prefixItems", []), schema.get("items", schema.get("unevaluatedItems", True))
    if isinstance(rest, list):
        prefix, rest = rest, schema.get("additionalItems", True)
    return prefix[i] if i < len(prefix) else rest


def _property(schema: dict[str, Any], name: str) -> list[Any]:
    """The subschemas of the value of a name."""
    found = [schema["properties"][name]] if name in schema.get("properties", {}) else []
    found += [inner for pattern, inner in schema.get("patternProperties", {}).items() if re.search(pattern, name)]
    rest = [schema[key] for key in ("additionalProperties", "unevaluatedProperties") if key in schema]
    return found or rest


def _entailed(schema: dict[str, Any], names: list[str]) -> list[str]:
    """Names that must accompany others."""
    found = []
    for keyword in ("dependentRequired", "dependencies"):
        for name, entailed in schema.get(keyword, {}).items():
            if name in names and isinstance(entailed, list):
                found += entailed
    return list(dict.fromkeys(found))
