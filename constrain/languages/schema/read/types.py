"""The schema of a Python type: pydantic's, and `x-python` where the type has fewer texts than pydantic's schema says.

The idea: pydantic makes a core schema of every type, and a JSON Schema of it, in which bounds of dates, versions of
UUIDs, the keys of a `dict[int, …]` and much more are lost. `generator()` is the class that keeps them. What only a
function knows, such as a validator, is `later` in `x-python`: it is told when the constraint is made, and asked of the
finished text. Which type is what: docs/howto/types.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import cache, partial
from typing import Any

from constrain.languages.schema.formats.python import PREDICATES
from constrain.languages.schema.formats.registry import OF_FORMATS
from constrain.languages.schema.read.duplicates import MAPS
from constrain.languages.schema.read.types_members import keys_read, members_read, nested, path_of, tagged

KNOWN = "x-python"
_Schema = dict[str, Any]
_FLAWLESS = (  # functions of pydantic that refuse nothing that the schema beside them has
    "GenerateSchema.", "_BaseUrl.", "_BaseMultiHostUrl.", "SecretStr", "SecretBytes", "Secret.", "_Secret",
    "ip_v4_", "ip_v6_", "IPvAny", "EmailStr.", "NameEmail.", "validate_str_is_valid_iana_tz", "defaultdict_validator",
    "sequence_validator", "forbid_inf_nan_check",
)  # fmt: skip
_DICTS = ("dict", "frozendict", "ordered-dict", "counter")
_UNHASHABLE = ("list", "dict", "set", "deque", "counter", "ordered-dict", "typed-dict", "generator")
_SCALARS = ["string", "number", "boolean", "null"]
_MOST_DIGITS = 15  # that a double keeps
_MOST_DIVIDED = (10**5, 10**15)  # the largest doubles that pydantic divides right; by steps that are doubles exactly


@cache
def generator() -> Any:
    """The class that makes schemas of pydantic's types."""

    class OfTypes(_of_values()):  # type: ignore[misc]
        """Schemas of all types."""

        def generate_inner(self, schema: Any) -> _Schema:
            made = super().generate_inner(schema)
            kind = schema["type"]
            known = OF_FORMATS.get(made.get("format", "")) if kind in ("lax-or-strict", *_FUNCTIONS) else None
            if known:
                made = _with(made, known)
            if kind in _FUNCTIONS:
                made = self._told(made, _of_function(schema, made), schema.get("schema", {}).get("cls"))
            elif kind in ("model", "dataclass"):
                made = self._told(made, _with(made, {}, *_methods(schema)), schema["cls"])
            elif kind in _DICTS and not _is_text(schema.get("keys_schema")):
                keys = self.generate_inner(schema["keys_schema"])
                made["propertyNames"] = _keys(schema["keys_schema"], keys, (schema.get("min_length") or 0) > 1)
            elif kind in ("set", "frozenset") and "items" in made:
                made["items"] = _hashable(schema.get("items_schema", {}), made["items"])
            elif kind == "chain":
                hashable = any(step.get("cls") is Hashable for step in schema["steps"])
                made = {**made, "type": _SCALARS} if hashable else _with(made, {}, "what follows its first step")
            return made

        def tagged_union_schema(self, schema: Any) -> _Schema:
            made, told = tagged(schema, super().tagged_union_schema(schema), self._requires)
            return _with(made, {}, *told)

        def _requires(self, choice: _Schema, name: str) -> bool:
            found = self.get_schema_from_definitions(choice["$ref"]) if "$ref" in choice else choice
            return name in (found or {}).get("required", ())

        def dataclass_args_schema(self, schema: Any) -> _Schema:
            fields = [field for field in schema["fields"] if field.get("init", True)]
            return super().dataclass_args_schema({**schema, "fields": fields})

        def arguments_schema(self, schema: Any) -> _Schema:
            made = super().arguments_schema(schema)
            if schema.get("var_kwargs_mode") != "unpacked-typed-dict":
                return made
            typed = made.pop("additionalProperties")
            return {**made, "allOf": [typed], "unevaluatedProperties": False}

        def _named_required_fields_schema(self, named_required_fields: Any) -> _Schema:
            fields = list(named_required_fields)
            by_path = self.by_alias and self._config.validate_by_alias
            paths = _paths(fields, [self._get_alias_name(field, name) for name, _, field in fields], by_path)
            with_names = [each for each, path in zip(fields, paths, strict=True) if not path]
            made = super()._named_required_fields_schema(with_names)
            return made if len(with_names) == len(fields) else self._with_paths(made, fields, paths)

        def _with_paths(self, made: _Schema, fields: list[Any], paths: list[Any]) -> _Schema:
            """Add fields that stand inside the values of other keys, each key in its turn."""
            ordered: _Schema = {}
            for (name, required, field), path in zip(fields, paths, strict=True):
                key = path[0] if path else self._get_alias_name(field, name)
                if path is None:
                    given = [made["properties"][key]] if key in made["properties"] else []
                else:
                    given = [nested(path[1:], self.generate_inner(field), required)]
                    if required:
                        made.setdefault("required", []).append(key)
                if given:
                    ordered[key] = {"allOf": [ordered[key], *given]} if key in ordered else given[0]
            from_the_end = any(isinstance(step, int) and step < 0 for path in paths for step in path or ())
            told = ["a field at a place from the end of a list"] if from_the_end else []
            return _with({**made, "properties": ordered}, {}, *told)

        def _told(self, made: _Schema, told: _Schema, cls: Any) -> _Schema:
            """Put the words about a class into its definition, so that the schema of one class is no reference."""
            if cls is None or "$ref" not in made or KNOWN not in told:
                return told
            definition = self.get_schema_from_definitions(made["$ref"])
            if definition is None:
                return told
            definition.update(_with(definition, {}, *told[KNOWN].get("later", [])))
            return made

    return OfTypes


def _of_values() -> Any:
    """The class that makes schemas of values without parts."""
    from pydantic.json_schema import GenerateJsonSchema

    class OfValues(GenerateJsonSchema):
        """Schemas of values without parts."""

        def literal_schema(self, schema: Any) -> _Schema:
            return members_read(schema, super().literal_schema(schema))

        def enum_schema(self, schema: Any) -> _Schema:
            return members_read(schema, super().enum_schema(schema))

        def is_subclass_schema(self, schema: Any) -> _Schema:
            return self.handle_invalid_for_json_schema(schema, "a class, which is no JSON")

        def uuid_schema(self, schema: Any) -> _Schema:
            return _with(super().uuid_schema(schema), {"type": "UUID", **_some(schema, "version")})

        def str_schema(self, schema: Any) -> _Schema:
            return _of_text(super().str_schema(schema), schema, self._config)

        def bytes_schema(self, schema: Any) -> _Schema:
            made = super().bytes_schema(schema)
            lengths = _some(schema, "min_length", "max_length")
            encoding = getattr(self._config, "val_json_bytes", "utf8")
            if encoding == "utf8" and not lengths:
                return made
            made = {"type": "string", "format": made["format"]}
            if encoding == "utf8":
                return _with(made, {"type": "bytes", **lengths})
            return _with(made, {"type": "bytes", "encoding": encoding, **lengths})

        def date_schema(self, schema: Any) -> _Schema:
            return _with(super().date_schema(schema), {"type": "date", **_bounds(_until_now(schema, date))})

        def time_schema(self, schema: Any) -> _Schema:
            return _with(super().time_schema(schema), {"type": "time", **_zone(schema), **_bounds(schema)})

        def datetime_schema(self, schema: Any) -> _Schema:
            bounds = _bounds(_until_now(schema, datetime))
            return _with(super().datetime_schema(schema), {"type": "datetime", **_zone(schema), **bounds})

        def timedelta_schema(self, schema: Any) -> _Schema:
            made = super().timedelta_schema(schema)
            if made.get("type") == "number":
                return made
            return _with(made, {"type": "timedelta", **_bounds(schema, _iso)})

        def float_schema(self, schema: Any) -> _Schema:
            return _divided(super().float_schema(schema), schema)

        def decimal_schema(self, schema: Any) -> _Schema:
            return _decimal(schema)

        def fraction_schema(self, schema: Any) -> _Schema:
            text = _with({"type": "string", "format": "fraction"}, {"type": "Fraction", **_bounds(schema)})
            return {"anyOf": [*_numbers(schema, None, None), text]}

        def json_schema(self, schema: Any) -> _Schema:
            return _with(super().json_schema(schema), {"type": "Json"})

        def complex_schema(self, schema: Any) -> _Schema:
            return _with({"type": "string"}, {"type": "complex"})

        def url_schema(self, schema: Any) -> _Schema:
            return _with(super().url_schema(schema), {"type": "Url", **_url(schema)})

        def multi_host_url_schema(self, schema: Any) -> _Schema:
            return _with(super().multi_host_url_schema(schema), {"type": "Url", "hosts": True, **_url(schema)})

    return OfValues


def _divided(made: _Schema, schema: Any) -> _Schema:
    """pydantic divides doubles: of large ones it says no, unless the step is a double exactly."""
    step = schema.get("multiple_of")
    if step is None:
        return made
    most = _MOST_DIVIDED[step * 1024 % 1 == 0]
    if any(abs(bound) >= most for bound in _some(schema, "ge", "gt", "le", "lt").values()):
        return made
    return {**made, "allOf": [{"minimum": -most, "maximum": most}]}


def _decimal(schema: Any) -> _Schema:
    """The numbers and texts of a Decimal."""
    schema = {key: bound for key, bound in schema.items() if str(bound) not in ("Infinity", "-Infinity")}
    most, places = schema.get("max_digits"), schema.get("decimal_places")
    if most is not None and places is not None:
        schema["decimal_places"] = places = min(most, places)
    limits = _some(schema, "max_digits", "decimal_places", "allow_inf_nan")
    step = {"multiple_of": str(schema["multiple_of"])} if schema.get("multiple_of") is not None else {}
    text = _with({"type": "string"}, {"type": "Decimal", **limits, **step, **_bounds(schema)})
    return {"anyOf": [*_numbers(schema, most, places), text]}


def _paths(fields: list[Any], keys: list[str], by_path: bool) -> list[Any]:
    """The place of each field in the values of keys; None: it is the whole value of a key that no other field has."""
    many = Counter(keys)
    paths = [path_of(field) if by_path else None for _, _, field in fields]
    return [[key] if path is None and many[key] > 1 else path for path, key in zip(paths, keys, strict=True)]


def without_types(schema: Any, are_names: bool = False) -> Any:
    """A schema without `x-python`, for models and services, which read the rest. are_names: its keys are names."""
    if isinstance(schema, list):
        return [without_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if are_names or key != KNOWN}
    return {key: without_types(value, not are_names and key in (*MAPS, "$defs")) for key, value in kept.items()}


def _with(made: _Schema, known: _Schema, *later: str) -> _Schema:
    """A schema with more in its `x-python`."""
    if not known and not later:
        return made
    before = made.get(KNOWN, {})
    told = [*before.get("later", []), *(each for each in later if each not in before.get("later", []))]
    return {**made, KNOWN: {**before, **known, **({"later": told} if told else {})}}


def _some(schema: Any, *names: str) -> _Schema:
    return {name: schema[name] for name in names if schema.get(name) is not None}


def _bounds(schema: Any, written: Callable[[Any], str] | None = None) -> _Schema:
    given = _some(schema, "ge", "gt", "le", "lt")
    return {name: (written or _written)(value) for name, value in given.items()}


def _written(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _iso(value: timedelta) -> str:
    import pydantic

    return pydantic.TypeAdapter(timedelta).dump_json(value).decode().strip('"')


def _zone(schema: Any) -> _Schema:
    return {"zone": schema["tz_constraint"]} if schema.get("tz_constraint") is not None else {}


def _until_now(schema: Any, kind: type) -> Any:
    """The bounds, with the one of `PastDate` and its kind: the minute in which the schema is made."""
    if schema.get("now_op") is None:
        return schema
    offset = schema.get("now_utc_offset")
    now = datetime.now(None if offset is None else timezone(timedelta(seconds=offset))).astimezone()
    now = now.replace(second=0, microsecond=0)
    past = schema["now_op"] == "past"
    if kind is datetime:
        edge: Any = now.astimezone(timezone.utc) + timedelta(minutes=0 if past else 1)
    else:
        edge = now.date()
    name, closed = ("lt", "le") if past else ("gt", "ge")
    given = [schema[each] for each in (name, closed) if schema.get(each) is not None]
    if given and any((bound <= edge) == past for bound in given if _comparable(bound, edge)):
        return schema
    return {**{key: value for key, value in schema.items() if key != closed}, name: edge}


def _comparable(one: Any, other: Any) -> bool:
    return not isinstance(one, datetime) or (one.tzinfo is None) == (other.tzinfo is None)


def _numbers(schema: Any, most: int | None, places: int | None) -> list[_Schema]:
    """The numbers of a decimal type as schemas of JSON numbers; none if a bound is not a double."""
    made: _Schema = {"type": "number"}
    names = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
    for name, value in (*_some(schema, *names).items(), *_some(schema, "multiple_of").items()):
        number = int(value) if value == int(value) else float(value)
        if number != value and Decimal(repr(number)) != value:
            return []
        made[names.get(name, "multipleOf")] = number
    if most is not None and most > _MOST_DIGITS:
        return []
    if places is None and most is None:
        return [made]
    if most is None or places is not None:
        return [_digits(made, None if most is None else most - (places or 0), places or 0)]
    return [_digits(made, most - behind, behind) for behind in range(most + 1)]


def _digits(made: _Schema, whole: int | None, behind: int) -> _Schema:
    """Numbers of so many digits before the point and behind it."""
    parts: list[_Schema] = [made, {"multipleOf": float(f"1e-{behind}") if behind else 1}]
    if whole is not None:
        parts.append({"exclusiveMinimum": -(10 ** max(whole, 0)), "exclusiveMaximum": 10 ** max(whole, 0)})
    if whole is not None and whole <= 0:
        parts.append({"not": {"const": 0}})  # it has one digit before the point
    return {"type": "number", "allOf": parts}


def _of_text(made: _Schema, schema: Any, config: Any) -> _Schema:
    """The schema of a text, whose pattern is one of Rust's, or of `re`."""
    more: _Schema = {}
    pattern = schema.get("pattern")
    if pattern is not None:
        made = {key: value for key, value in made.items() if key != "pattern"}
        engine = schema.get("regex_engine") or getattr(config, "regex_engine", "rust-regex")
        if isinstance(pattern, str):
            more |= {"pattern": pattern, **({"engine": "re"} if engine == "python-re" else {})}
        else:
            more |= {"pattern": pattern.pattern, "engine": "re", "flags": pattern.flags & ~32}
    if schema.get("ascii_only"):
        more["ascii_only"] = True
    strips = schema.get("strip_whitespace", getattr(config, "str_strip_whitespace", False))
    if strips and (pattern is not None or made.get("minLength")):
        more["stripped"] = True
    return _with(made, {"type": "str", **more}) if more else made


def _url(schema: Any) -> _Schema:
    schemes = _some(schema, "allowed_schemes")
    several = schema["type"] == "multi-host-url"
    asks = schema.get("host_required") or schema.get("default_port")
    said: _Schema = {"schemes": list(schemes["allowed_schemes"])} if schemes else {}
    if schema.get("default_host") or not (several or asks):
        said["empty_host"] = True
    if schema.get("default_host") or asks:  # pydantic puts them into the URL, which must have a place for them
        said["hierarchical"] = True
    if schema.get("default_port"):
        said["default_port"] = True
    return said


# -------------------------------------------------------------------------------- functions and classes

_FUNCTIONS = ("function-before", "function-after", "function-wrap", "function-plain")


def _of_function(schema: Any, made: _Schema) -> _Schema:
    """The schema of values that a function makes or checks."""
    function = schema["function"]["function"]
    while isinstance(function, partial):
        function = function.func
    name = getattr(function, "__qualname__", type(function).__qualname__)
    module = getattr(function, "__module__", None) or type(function).__module__
    if not module.startswith("pydantic."):
        return _with(made, {}, f"the function {name}")
    if name.endswith("val_func"):
        return _of_predicate(function, made)
    if name.startswith("ByteSize."):
        return {"anyOf": [_with({"type": "string"}, {"type": "ByteSize"}), {"type": "integer", "minimum": 0}]}
    if name.startswith("PaymentCardNumber."):
        return _with({"type": "string"}, {"type": "PaymentCardNumber"})
    if name.startswith(("EncodedBytes.", "EncodedStr.")):
        return _of_encoder(function.__self__.encoder, name.startswith("EncodedStr."), made)
    if name.startswith(_FLAWLESS):
        return made
    if name in ("min_length_validator", "max_length_validator") and made.get("type") in ("string", "array"):
        return _of_length(schema, made)
    limits = _LIMITS.get(name, {})
    if limits and made.get("anyOf", [{}])[0].get(KNOWN) == {"type": "ByteSize"}:
        made = {**made, "anyOf": made["anyOf"][1:]}  # of units no bounds are known
    if limits and _kinds(made) <= limits.keys():
        (bound,) = schema["function"]["function"].keywords.values()
        return {**made, "allOf": [*made.get("allOf", []), {limits[kind]: bound for kind in _kinds(made) if kind}]}
    if name.startswith("pattern_"):
        return _with(made, {"type": "str"}, "whether it is a pattern of `re`")
    return _with(made, {}, _TOLD.get(name, f"pydantic's {name}"))


def _of_length(schema: Any, made: _Schema) -> _Schema:
    """The schema of a text or an array of a length, which is one in bytes where the value is bytes."""
    known = made.get(KNOWN, {}).get("type", "bytes" if _are_bytes(schema) else "")
    if known == "Url":
        return _with(made, {}, "the length of the URL as pydantic writes it")
    if known not in ("bytes", "Base64"):
        return made
    made = {name: value for name, value in made.items() if name not in ("minLength", "maxLength")}
    return _with(made, {"type": known, **schema["function"]["function"].keywords})


def _are_bytes(schema: Any) -> bool:
    """True if functions about bytes make the value."""
    inner = next((schema[name] for name in ("schema", "lax_schema", "json_schema") if name in schema), None)
    return schema["type"] == "bytes" or (inner is not None and _are_bytes(inner))


def _kinds(made: Any) -> set[str | None]:
    """The types of the values of a schema, for the bounds of `_LIMITS`; None: of some they say nothing."""
    branches = next((made[several] for several in ("anyOf", "oneOf") if several in made), None)
    if branches is not None and not made.keys() - {
        "anyOf",
        "oneOf",
        "allOf",
        "title",
        "description",
        "default",
        *_LOST,
    }:
        return set().union(*map(_kinds, branches))
    return {None if made.keys() & {KNOWN, "format", "$ref", "enum", "const"} else made.get("type")}


_LOST = ("ge", "gt", "le", "lt", "multiple_of", "minLength", "maxLength")  # written by pydantic beside a union
_LIMITS = {  # what the bound of a union says in a schema, by the types of its values
    "greater_than_validator": {"number": "exclusiveMinimum", "integer": "exclusiveMinimum"},
    "greater_than_or_equal_validator": {"number": "minimum", "integer": "minimum"},
    "less_than_validator": {"number": "exclusiveMaximum", "integer": "exclusiveMaximum"},
    "less_than_or_equal_validator": {"number": "maximum", "integer": "maximum"},
    "min_length_validator": {"array": "minItems", "string": "minLength", "object": "minProperties"},
    "max_length_validator": {"array": "maxItems", "string": "maxLength", "object": "maxProperties"},
}

_TOLD = {
    "import_string": "whether it can be imported",
    "PathType.validate_file": "whether there is such a file",
    "PathType.validate_directory": "whether there is such a directory",
    "PathType.validate_new": "whether the path is free",
    "PathType.validate_socket": "whether there is such a socket",
}


def _of_predicate(function: Any, made: _Schema) -> _Schema:
    """The schema of values of which `annotated_types.Predicate` or `Not` says yes."""
    asked = [cell.cell_contents for cell in function.__closure__ or () if hasattr(cell.cell_contents, "func")]
    known = getattr(asked[0].func, "__name__", "") if asked else ""
    if asked and known == "isfinite" and type(asked[0]).__name__ == "Predicate":
        return made
    if asked and known in PREDICATES and asked[0].func is getattr(str, known):
        word = known if type(asked[0]).__name__ == "Predicate" else f"not {known}"
        before = made.get(KNOWN, {})
        return _with(made, {"type": "str", "is": [*before.get("is", []), word]})
    return _with(made, {}, f"the predicate {known or 'of annotated_types'}")


def _of_encoder(encoder: Any, is_text: bool, made: _Schema) -> _Schema:
    name = getattr(encoder, "__name__", "")
    if name not in ("Base64Encoder", "Base64UrlEncoder") or not encoder.__module__.startswith("pydantic."):
        return _with(made, {}, f"the encoder {name}")
    options = {"url": True} if name == "Base64UrlEncoder" else {}
    made = {"type": "string", **_some(made, "format")}
    return _with(made, {"type": "Base64", **options, **({"ascii": True} if is_text else {})})


def _methods(schema: Any) -> list[str]:
    """The methods of a class that make its instances, and may refuse one."""
    cls = schema["cls"]
    methods = ["__init__"] if schema.get("custom_init") else []
    if schema.get("post_init"):
        methods.append("__post_init__" if schema["type"] == "dataclass" else schema["post_init"])
    own = [each for each in methods if not getattr(getattr(cls, each, None), "__module__", "").startswith("pydantic")]
    return [f"the function {cls.__qualname__}.{each}" for each in own]


# ----------------------------------------------------------------------------------- keys and items


def _is_text(keys: Any) -> bool:
    """True if pydantic itself says all about these keys."""
    return keys is None or (keys["type"] in ("any", "str") and not keys.keys() - {"type", "metadata"})


def _keys(core: Any, made: Any, in_one_spelling: bool) -> Any:
    """The schema of the texts that are keys of such values. in_one_spelling: no two of them are one key."""
    kind = core["type"]
    if kind in ("literal", "enum"):
        return keys_read(core)
    for several in ("anyOf", "oneOf"):
        if several in made and "choices" in core:
            pairs = zip(core["choices"], made[several], strict=False)
            return {**made, several: [_keys(*pair, in_one_spelling) for pair in pairs]}
    names = {"minimum": "ge", "exclusiveMinimum": "gt", "maximum": "le", "exclusiveMaximum": "lt"}
    parts = (*made.get("allOf", ()), made)
    limits = {names[name]: str(value) for part in parts for name, value in part.items() if name in names}
    step: _Schema = {"multiple_of": made["multipleOf"]} if "multipleOf" in made else {}
    if made.get("type") == "integer":
        return _with({"type": "string"}, {"type": "int", **limits, **step})
    if made.get("type") == "number":
        spelling = {"integral": ".0" if kind == "float" else ""} if in_one_spelling else {}
        return _with({"type": "string"}, {"type": "Decimal", **spelling, **step, **limits})
    if made.get("type") == "boolean":
        return {"enum": ["true", "false"]}
    return False if made.get("type") in ("array", "object", "null") else made


def _hashable(item: Any, made: Any) -> Any:
    """The schema of items of a set: what Python cannot hash is none."""
    kind = item.get("type")
    if kind == "any":
        return {"type": _SCALARS}
    unhashable = kind in _UNHASHABLE or (kind in ("model", "dataclass") and item["cls"].__hash__ is None)
    return False if unhashable else made
