"""Writes `tests/data/schemas.jsonl`: 300 schemas as the world writes them, each with valid and invalid instances.

    python scripts/make_test_schemas.py

They stand in for MaskBench, which is not part of the repository, and have the form of its files:
`{"name": …, "schema": …, "tests": [{"valid": bool, "data": …}, …]}`, one a line.

The idea: a `Part` is a schema together with values that it takes and values that it refuses. Fields of many kinds are
written by hand below; families put them together as function calls, payloads, configurations, manifests, events,
unions and trees do, and each family writes its parts' values along. A seed that never changes makes every choice. What
families do not reach stands in `tests/data/schemas_by_hand.jsonl`, a schema with values a line, and is taken as it is.
What is kept is not what the parts claim: both `jsonschema` and `jsonschema-rs` must judge an instance alike, formats
included, and their verdict is written. This library takes no part in it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import jsonschema_rs
from jsonschema.validators import validator_for

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
TARGET, BY_HAND = DATA / "schemas.jsonl", DATA / "schemas_by_hand.jsonl"
MAX_EACH = 4  # valid instances of a schema, and invalid ones
DRAFT4 = "http://json-schema.org/draft-04/schema#"
DRAFT7 = "http://json-schema.org/draft-07/schema#"
DRAFT2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT2020 = "https://json-schema.org/draft/2020-12/schema"


class Part(NamedTuple):
    """A schema with values that it should take (good) and refuse (bad)."""

    schema: Any
    good: list[Any]
    bad: list[Any]


# --- fields by hand ---------------------------------------------------------------------------------------------------


def text(good: list[str], bad: list[Any], **keywords: Any) -> Part:
    return Part({"type": "string", **keywords}, list(good), [*bad, 7, None])


def whole(good: list[int], bad: list[Any], **keywords: Any) -> Part:
    return Part({"type": "integer", **keywords}, list(good), [*bad, "1", 0.5])


def number(good: list[float], bad: list[Any], **keywords: Any) -> Part:
    return Part({"type": "number", **keywords}, list(good), [*bad, "0", [0]])


def one_of_texts(*values: str) -> Part:
    return Part({"type": "string", "enum": list(values)}, list(values), [values[0] + "x", values[0].swapcase(), None])


FLAG = Part({"type": "boolean"}, [True, False], ["true", 1, None])
FIELDS: dict[str, Part] = {
    # identifiers and codes
    "id": whole([1, 48213, 0], [-1], minimum=0),
    "uuid": text(["3f2b8c1e-9d4a-4e6f-8b7c-1a2b3c4d5e6f"], ["3f2b8c1e-9d4a"], format="uuid"),
    "slug": text(["release-notes", "a1"], ["Release Notes", "-x"], pattern="^[a-z0-9]+(-[a-z0-9]+)*$"),
    "sku": text(["AB-1234", "ZX-0001-R"], ["ab-1234", "AB-12"], pattern="^[A-Z]{2}-[0-9]{4}(-[A-Z])?$"),
    "version": text(["1.0.0", "10.2.33-rc.1"], ["1.0", "v1.0.0"], pattern=r"^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$"),
    "commit": text(["0123456789abcdef0123456789abcdef01234567"], ["0123"], pattern="^[0-9a-f]{40}$"),
    "color": text(["#ff8800", "#FFF"], ["ff8800", "#ff88"], pattern="^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    "country": text(["DE", "JP"], ["DEU", "de"], pattern="^[A-Z]{2}$", description="ISO 3166-1 alpha-2"),
    "currency": one_of_texts("EUR", "USD", "JPY", "GBP", "CHF"),
    "locale": text(["en", "pt-BR"], ["EN", "pt_BR"], pattern="^[a-z]{2}(-[A-Z]{2})?$"),
    "phone": text(["+4930123456"], ["030 123456"], pattern=r"^\+[1-9]\d{1,14}$"),
    "isbn": text(["9780262033848"], ["978-0-262"], minLength=13, maxLength=13),
    "image": text(["nginx:1.27", "ghcr.io/acme/api:v2"], ["Nginx: "], pattern=r"^[a-z0-9./_-]+(:[\w][\w.-]{0,127})?$"),
    "mime": text(["text/html", "application/vnd.api+json"], ["html"], pattern=r"^\w+/[-+.\w]+$"),
    # texts
    "name": text(["Ada Lovelace", "č"], [""], minLength=1, maxLength=80),
    "title": text(["A short history", "Ω"], ["x" * 121], maxLength=120),
    "note": text(["", 'He said "no".\nTwice.', "naïve – 日本語"], [], description="Free text."),
    "password": text(["correct horse 1"], ["short"], minLength=8, maxLength=64),
    "initials": text(["AL", "JRR"], ["A", "ABCDE"], minLength=2, maxLength=4),
    # formats
    "email": text(["ada@example.org"], ["ada at example.org"], format="email"),
    "url": text(["https://example.org/a?b=c#d"], ["not a url"], format="uri"),
    "created_at": text(["2024-02-29T12:30:00Z", "2023-01-01T00:00:00.123+01:00"], ["yesterday"], format="date-time"),
    "birthday": text(["1815-12-10"], ["1815-13-10"], format="date"),
    "opens_at": text(["08:30:00Z"], ["25:00:00Z"], format="time"),
    "ip": text(["192.0.2.17"], ["192.0.2"], format="ipv4"),
    "ip6": text(["2001:db8::1"], ["2001:db8::g"], format="ipv6"),
    "host": text(["api.example.org"], ["-bad-.example"], format="hostname"),
    # numbers
    "port": whole([80, 65535], [0, 65536], minimum=1, maximum=65535),
    "percent": number([0, 99.5, 100], [100.5, -1], minimum=0, maximum=100),
    "price": number([0, 19.5, 1299.75], [-1], minimum=0),
    "latitude": number([52.52, -90], [91], minimum=-90, maximum=90),
    "longitude": number([13.4, 180], [-181], minimum=-180, maximum=180),
    "quantity": whole([1, 250], [0, 1001], minimum=1, maximum=1000),
    "age": whole([0, 42], [131], minimum=0, maximum=130),
    "year": whole([1999, 2026], [999, 10000], minimum=1000, maximum=9999),
    "step": whole([0, 15, 300], [7], multipleOf=5),
    "rating": whole([1, 5], [0, 6], enum=[1, 2, 3, 4, 5]),
    "temperature": number([0, 0.7, 2], [2.1], minimum=0, maximum=2, default=1),
    "weight_kg": number([0.1, 70], [0], exclusiveMinimum=0),
    "timeout_ms": whole([0, 30_000], [-5, 600_001], minimum=0, maximum=600_000, default=30_000),
    # choices
    "enabled": FLAG,
    "verbose": Part({"type": "boolean", "default": False}, [True, False], ["yes", 0]),
    "status": one_of_texts("active", "paused", "archived"),
    "priority": one_of_texts("low", "medium", "high", "critical"),
    "unit": one_of_texts("celsius", "fahrenheit", "kelvin"),
    "log_level": one_of_texts("debug", "info", "warning", "error"),
    "size": Part({"enum": ["s", "m", "l", 38, 40, None]}, ["s", 40, None], ["xl", 39, "40"]),
    "protocol": Part({"const": "https"}, ["https"], ["http", None]),
}  # fmt: skip
NAMES = list(FIELDS)


# --- putting parts together -------------------------------------------------------------------------------------------


class Maker:
    """The choices of one schema, and what it defines on the way."""

    def __init__(self, seed: str, draft: str | None, where: str) -> None:
        self.random = random.Random(seed)
        self.draft = draft
        self.where = where  # "$defs" or "definitions"
        self.definitions: dict[str, Any] = {}

    def pick(self, part: Part) -> Any:
        return self.random.choice(part.good)

    def fields(self, count: int, among: list[str] | None = None) -> dict[str, Part]:
        names = self.random.sample(among or NAMES, count)
        return {name: FIELDS[name] for name in names}

    def object(self, fields: dict[str, Part], required: list[str] | None = None, **keywords: Any) -> Part:
        """An object of these fields. required: by default a random half of them."""
        names = list(fields)
        if required is None:
            required = sorted(self.random.sample(names, (len(names) + 1) // 2), key=names.index)
        schema: dict[str, Any] = {"type": "object", "properties": {name: fields[name].schema for name in names}}
        if required:
            schema["required"] = required
        schema |= keywords
        full = {name: self.pick(fields[name]) for name in names}
        some = {n: self.pick(fields[n]) for n in names if n in required or self.random.random() < 0.5}
        shuffled = dict(self.random.sample(list(full.items()), len(full)))
        good = [full, {name: self.pick(fields[name]) for name in required}, some, shuffled]
        if keywords.get("additionalProperties", True) is True:
            good.append({**some, "x-extra": [1, {"a": None}]})
        bad: list[Any] = [{**full, "unknown_key": 1}, [full], None]
        if required:
            gone = self.random.choice(required)
            bad.insert(0, {name: value for name, value in full.items() if name != gone})
        for name in self.random.sample(names, min(3, len(names))):
            if fields[name].bad:
                bad.insert(0, {**full, name: self.random.choice(fields[name].bad)})
        return Part(schema, good, bad)

    def array(self, item: Part, **keywords: Any) -> Part:
        low, high = keywords.get("minItems", 0), keywords.get("maxItems", 5)
        good = [[self.pick(item) for _ in range(n)] for n in {low, min(low + 1, high), min(3, high)}]
        bad: list[Any] = [[*good[-1], *([good[0][:1] or [0]] * (high + 1))], {}]
        bad += [[each] for each in item.bad[:3]] + [[*good[-1][:-1], each] for each in item.bad[:1]]
        if keywords.get("uniqueItems"):
            good = [list({json.dumps(each): each for each in value}.values()) for value in good]
            bad.insert(0, [self.pick(item)] * 2)
        return Part({"type": "array", "items": item.schema, **keywords}, good, bad)

    def map(self, key: str, keys: list[str], wrong: str, value: Part, closed: bool = True) -> Part:
        """An object whose keys match a pattern."""
        schema: dict[str, Any] = {"type": "object", "patternProperties": {key: value.schema}}
        if closed:
            schema["additionalProperties"] = False
        good: list[Any] = [{}, {keys[0]: self.pick(value)}, {each: self.pick(value) for each in keys}]
        bad: list[Any] = [{keys[0]: each} for each in value.bad[:2]] + [{wrong: self.pick(value)}, "a=b"]
        return Part(schema, good, bad)

    def values(self, value: Part, **keywords: Any) -> Part:
        """An object of any keys with values of a kind."""
        good: list[Any] = [{"a": self.pick(value), "b.c/d": self.pick(value)}, {}]
        bad: list[Any] = [{"a": each} for each in value.bad[:3]] + [[]]
        return Part({"type": "object", "additionalProperties": value.schema, **keywords}, good, bad)

    def union(self, *parts: Part, key: str = "oneOf") -> Part:
        return Part(
            {key: [part.schema for part in parts]},
            [value for part in parts for value in part.good[:2]],
            [value for part in parts for value in part.bad[:3]],
        )

    def nullable(self, part: Part) -> Part:
        schema = part.schema
        if isinstance(schema, dict) and isinstance(schema.get("type"), str) and "enum" not in schema:
            schema = {**schema, "type": [schema["type"], "null"]}
        else:
            schema = {"anyOf": [schema, {"type": "null"}]}
        return Part(schema, [*part.good, None], [each for each in part.bad if each is not None])

    def ref(self, name: str, part: Part) -> Part:
        self.definitions[name] = part.schema
        return Part({"$ref": f"#/{self.where}/{name}"}, part.good, part.bad)

    def root(self, part: Part, **keywords: Any) -> Part:
        schema = {**({"$schema": self.draft} if self.draft else {}), **keywords, **part.schema}
        if self.definitions:
            schema[self.where] = self.definitions
        return Part(schema, part.good, part.bad)


# --- families ---------------------------------------------------------------------------------------------------------


def function_call(make: Maker) -> Part:
    """The arguments of a tool, as models are asked to write them."""
    r = make.random
    fields = make.fields(r.randint(1, 6))
    described = {
        name: part._replace(schema={**part.schema, "description": f"The {name.replace('_', ' ')} to use."})
        for name, part in fields.items()
    }
    if r.random() < 0.4:
        described["tags"] = make.array(r.choice([FIELDS["slug"], FIELDS["priority"]]), uniqueItems=r.random() < 0.5)
    if r.random() < 0.3:
        described["options"] = make.object(make.fields(r.randint(1, 3)), [])
    keywords = r.choice([{}, {"additionalProperties": False}])
    return make.root(make.object(described, **keywords))


def payload(make: Maker) -> Part:
    """Make the payload of a service: pages of records that refer to shared definitions."""
    r = make.random
    address = make.ref("Address", make.object(make.fields(3, ["name", "country", "phone", "latitude", "longitude"])))
    person = make.object({"id": FIELDS["id"], "email": FIELDS["email"], "address": make.nullable(address)}, ["id"])
    owner = make.ref("Person", person)
    record = {**make.fields(r.randint(3, 7)), "owner": owner}
    if r.random() < 0.5:
        record["created_at"] = make.nullable(FIELDS["created_at"])
    if r.random() < 0.5:
        record["reviewers"] = make.array(owner, maxItems=4)
    body = make.object(record, additionalProperties=r.random() < 0.5)
    if r.random() < 0.5:
        return make.root(body, title="Record")
    page = {"items": make.array(make.ref("Record", body), maxItems=5), "total": FIELDS["id"]}
    page["next"] = make.nullable(FIELDS["url"])
    return make.root(make.object(page, ["items", "total"], additionalProperties=False))


def configuration(make: Maker) -> Part:
    """A file of settings: closed objects, sections by pattern, short and long forms, keys that need each other."""
    r = make.random
    step = make.object({"run": FIELDS["note"], **make.fields(2)}, ["run"], additionalProperties=False)
    short_or_long = make.ref("step", make.union(FIELDS["slug"], step))
    sections: dict[str, Part] = {"version": r.choice([FIELDS["version"], Part({"const": 2}, [2], ["2", 3])])}
    sections["steps"] = make.array(short_or_long, minItems=1, maxItems=6)
    if r.random() < 0.6:
        sections["env"] = make.map("^[A-Z][A-Z0-9_]*$", ["PATH", "LOG_LEVEL_2"], "path", FIELDS["note"])
    if r.random() < 0.5:
        service = make.object(make.fields(3), [], additionalProperties=False)
        sections["services"] = make.map("^[a-z][a-z0-9-]{0,20}$", ["db", "web-1"], "Web", service)
    if r.random() < 0.5:
        sections["extends"] = make.union(FIELDS["url"], make.array(FIELDS["slug"], maxItems=3), key="anyOf")
    sections |= make.fields(r.randint(1, 4), ["enabled", "verbose", "log_level", "timeout_ms", "port", "host", "color"])
    keywords: dict[str, Any] = {"additionalProperties": False}
    if r.random() < 0.4:
        keywords["dependencies"] = {"env": ["version"]} if "env" in sections else {"steps": ["version"]}
    if r.random() < 0.3:
        keywords["if"] = {"properties": {"verbose": {"const": True}}, "required": ["verbose"]}
        keywords["then"] = {"required": ["log_level"]}
        sections |= {"verbose": FIELDS["verbose"], "log_level": FIELDS["log_level"]}
    return make.root(make.object(sections, ["steps"], **keywords))


def manifest(make: Maker) -> Part:
    """A resource of a cluster: kind and version are fixed, names are labels, numbers may be texts."""
    r = make.random
    label = text(["web", "a.b-c"], ["-a", "a" * 64], pattern=r"^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$")
    labels = make.values(FIELDS["name"])
    metadata = make.object({"name": label, "namespace": make.nullable(label), "labels": labels}, ["name"])
    either = Part({"oneOf": [{"type": "integer"}, {"type": "string"}]}, [8080, "http", "10%"], [0.5, None])
    port = make.object({"name": label, "port": FIELDS["port"], "targetPort": either}, ["port"])
    container = make.object(
        {"name": label, "image": FIELDS["image"], "ports": make.nullable(make.array(port, maxItems=3)),
         "env": make.array(make.object({"name": FIELDS["name"], "value": FIELDS["note"]}, ["name"]), maxItems=2)},
        ["name", "image"],
    )  # fmt: skip
    spec: dict[str, Part] = {"replicas": make.nullable(whole([0, 3], [-1], minimum=0, format="int32"))}
    spec["containers"] = make.array(container, minItems=1, maxItems=2)
    spec["restartPolicy"] = one_of_texts("Always", "OnFailure", "Never")
    spec |= make.fields(r.randint(0, 3))
    kind = r.choice(["Deployment", "Service", "CronJob", "Pod"])
    fields = {
        "apiVersion": Part({"type": "string", "enum": ["apps/v1", "v1"]}, ["v1"], ["v2"]),
        "kind": Part({"type": "string", "enum": [kind]}, [kind], [kind.lower()]),
        "metadata": metadata,
        "spec": make.object(spec, ["containers"]),
    }
    return make.root(make.object(fields, r.choice([["kind"], list(fields)])), description=f"{kind} of a cluster")


def event(make: Maker) -> Part:
    """A record of a data warehouse, draft 4: nullable scalars with bounds, nothing else; `exclusiveMinimum: true`."""
    r = make.random
    among = [name for name in NAMES if "exclusiveMinimum" not in FIELDS[name].schema and name != "protocol"]
    chosen = make.fields(r.randint(3, 9), among)
    fields = {name: make.nullable(part) if r.random() < 0.6 else part for name, part in chosen.items()}
    if r.random() < 0.5:
        fields["amount"] = number([0.5, 3], [0], minimum=0, exclusiveMinimum=True)
    keywords = {"additionalProperties": False, "minProperties": 1}
    return make.root(make.object(fields, **keywords), id="http://example.org/events/e.json", description="An event")


def tagged_union(make: Maker) -> Part:
    """Shapes told apart by a constant, in a list or alone."""
    r = make.random
    shapes = []
    for kind in r.sample(["text", "image", "call", "file", "poll", "location"], r.randint(2, 4)):
        tag = Part(r.choice([{"const": kind}, {"enum": [kind]}]), [kind], ["other"])
        fields = {"type": tag, **make.fields(r.randint(1, 4))}
        shape = make.object(fields, ["type", list(fields)[1]], additionalProperties=False)
        shapes.append(make.ref(kind.title(), shape) if r.random() < 0.5 else shape)
    union = make.union(*shapes, key=r.choice(["oneOf", "anyOf"]))
    if r.random() < 0.5:
        return make.root(union)
    fields = {"id": FIELDS["uuid"], "content": make.array(union, minItems=1, maxItems=4)}
    return make.root(make.object(fields, ["content"]))


def tree(make: Maker) -> Part:
    """A definition that contains itself."""
    r = make.random
    leaf = make.fields(r.randint(1, 3))
    itself = {"$ref": f"#/{make.where}/node"}
    least = {name: make.pick(part) for name, part in leaf.items()}
    schema = make.object(leaf, list(leaf), additionalProperties=False)
    wrong = next(iter(each for each in schema.bad if isinstance(each, dict)))
    shape = r.choice(["children", "left and right", "next", "by name"])
    grown: Callable[..., dict[str, Any]]
    if shape == "children":
        more: dict[str, Any] = {"children": {"type": "array", "items": itself, "maxItems": 3}}
        grown = lambda *below: {**least, "children": list(below)}  # noqa: E731
    elif shape == "left and right":
        more = {"left": {"anyOf": [{"type": "null"}, itself]}, "right": {"anyOf": [{"type": "null"}, itself]}}
        grown = lambda *below: {**least, "left": below[0], "right": None}  # noqa: E731
    elif shape == "next":
        more = {"next": itself}
        grown = lambda *below: {**least, "next": below[0]}  # noqa: E731
    else:
        more = {"parts": {"type": "object", "additionalProperties": itself, "maxProperties": 4}}
        grown = lambda *below: {**least, "parts": {f"p{i}": each for i, each in enumerate(below)}}  # noqa: E731
    make.definitions["node"] = {**schema.schema, "properties": {**schema.schema["properties"], **more}}
    deep = grown(grown(grown(least)))
    good = [least, grown(least), grown(least, least), deep]
    bad = [wrong, grown(wrong), grown(grown(wrong)), grown(7), {**least, "sibling": least}]
    return make.root(Part({"$ref": itself["$ref"]}, good, bad))


FAMILIES: list[tuple[Callable[[Maker], Part], int, str | None, str]] = [
    (function_call, 62, None, "$defs"),
    (payload, 50, DRAFT2020, "$defs"),
    (configuration, 45, DRAFT7, "definitions"),
    (manifest, 30, None, "definitions"),
    (event, 28, DRAFT4, "definitions"),
    (tagged_union, 26, DRAFT2019, "$defs"),
    (tree, 18, DRAFT7, "definitions"),
]


# --- verdicts ---------------------------------------------------------------------------------------------------------


def verdict(schema: Any, value: Any) -> bool | None:
    """The verdict of both validators on an instance; None if they differ."""
    kind: Any = validator_for(schema, default=jsonschema.Draft202012Validator)
    kind.check_schema(schema)
    python = kind(schema, format_checker=kind.FORMAT_CHECKER).is_valid(value)
    rust = jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(value)
    return python if python == rust else None


def entry(name: str, part: Part) -> dict[str, Any]:
    """A line of the file: instances with the validators' verdict, each once, some of each kind."""
    tests: dict[str, dict[str, Any]] = {}
    for value in [*part.good, *part.bad]:
        judged = verdict(part.schema, value)
        if judged is not None and sum(test["valid"] == judged for test in tests.values()) < MAX_EACH:
            tests.setdefault(json.dumps(value), {"valid": judged, "data": value})
    return {"name": name, "schema": part.schema, "tests": list(tests.values())}


def main() -> None:
    entries = []
    for family, count, draft, where in FAMILIES:
        for number in range(count):
            name = f"{family.__name__}_{number:02}"
            entries.append(entry(name, family(Maker(name, draft, where))))
    for line in BY_HAND.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        entries.append(entry(row["name"], Part(row["schema"], row["good"], row["bad"])))
    lines = [json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in entries]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    valid = sum(test["valid"] for each in entries for test in each["tests"])
    tests = sum(len(each["tests"]) for each in entries)
    print(f"{len(entries)} schemas, {valid} valid and {tests - valid} invalid instances, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
