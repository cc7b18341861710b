"""Random JSON Schemas with instances that validate, and the documents written from them.

`schema(rng)` composes objects, arrays, enums, nullable and referenced parts from the scalar fields of `values`.
`document(rng)` writes one training text in one of the formats that the model should know (FORMATS below).
Every instance lists properties in the order of the schema, the order that constrained generation uses by default.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from . import values as v
from . import words as w

BREAK = "\0"  # between prompt and answer: the two are tokenised apart, as they are when a model is prompted
MAX_CHARACTERS = 900  # schema and instance together; about 330 tokens, so that a document fits one training row


def _object(rng: random.Random, depth: int) -> v.Field:
    """An object of 1–7 properties; optional ones are left out of 40 % of the instances."""
    fields: dict[str, v.Field] = {}
    for _ in range(rng.choice([1, 2, 2, 3, 3, 4, 4, 5, 6, 7]) if depth == 0 else rng.randint(1, 3)):
        name, field = v.named(rng)
        if depth < 2 and rng.random() < 0.22:
            name, field = _nested(rng, depth + 1)
        fields[name] = field
    required = [n for n in fields if rng.random() < 0.75]
    out: dict[str, v.Json] = {"type": "object", "properties": {n: s for n, (s, _) in fields.items()}}
    if required:
        out["required"] = required
    if rng.random() < 0.4:
        out["additionalProperties"] = False

    def draw(r: random.Random) -> v.Json:
        return {n: d(r) for n, (_, d) in fields.items() if n in required or r.random() < 0.6}

    return out, draw


def _array(rng: random.Random, depth: int) -> v.Field:
    item, draw_item = _object(rng, depth + 1) if depth < 2 and rng.random() < 0.4 else v.scalar(rng)
    low, high = rng.choice([(0, 3), (1, 3), (1, 4), (2, 2), (0, 5)])
    out: dict[str, v.Json] = {"type": "array", "items": item}
    if rng.random() < 0.4 and low:
        out["minItems"] = low
    if rng.random() < 0.3:
        out["maxItems"] = high
    return out, lambda r: [draw_item(r) for _ in range(r.randint(low, high))]


def _tags(rng: random.Random) -> v.Field:
    return {"type": "array", "items": {"type": "string"}}, lambda r: r.sample(w.TAGS, r.randint(0, 4))


def _nested(rng: random.Random, depth: int) -> tuple[str, v.Field]:
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(
            [rng.choice(w.ENTITIES), "address", "location", "details", "metadata", v.invented_name(rng)]
        ), _object(rng, depth)
    if kind < 0.55:
        return rng.choice(["tags", "keywords", "labels", "categories"]), _tags(rng)
    if kind < 0.9:
        return rng.choice(["items", rng.choice(w.ENTITIES) + "s", "entries", "results", v.invented_name(rng)]), _array(
            rng, depth
        )
    (a, draw_a), (b, draw_b) = v.scalar(rng), v.scalar(rng)
    return v.invented_name(rng), ({"anyOf": [a, b]}, lambda r: (draw_a if r.random() < 0.5 else draw_b)(r))


def _with_reference(rng: random.Random) -> v.Field:
    """An object whose part is written under $defs and used by $ref, alone or in an array."""
    part, draw_part = _object(rng, 2)
    whole, draw_whole = _object(rng, 1)
    name, many = rng.choice(w.ENTITIES), rng.random() < 0.5
    key = name + "s" if many else name
    pointer = {"$ref": f"#/$defs/{name.title()}"}
    whole["properties"][key] = {"type": "array", "items": pointer} if many else pointer
    whole["required"] = [n for n in whole["properties"] if n in whole.get("required", []) or n == key]
    whole["$defs"] = {name.title(): part}

    def draw(r: random.Random) -> v.Json:
        value = {n: x for n, x in draw_whole(r).items() if n != key}
        return value | {key: [draw_part(r) for _ in range(r.randint(1, 3))] if many else draw_part(r)}

    return whole, draw


def schema(rng: random.Random) -> v.Field:
    """A random schema and its instances; mostly objects, as in practice."""
    kind = rng.random()
    if kind < 0.8:
        out, draw = _object(rng, 0)
    elif kind < 0.88:
        out, draw = _array(rng, 0)
    elif kind < 0.96:
        out, draw = _with_reference(rng)
    else:
        out, draw = v.scalar(rng)
    if rng.random() < 0.12:
        out = {"$schema": "https://json-schema.org/draft/2020-12/schema", **out}
    if rng.random() < 0.15:
        out = {"title": rng.choice(w.ENTITIES).title(), **out}
    return out, draw


def write(rng: random.Random, value: v.Json) -> str:
    """JSON text of a value: usual spacing (60 %), compact (25 %), indented (15 %)."""
    kind, plain = rng.random(), rng.random() < 0.15
    if kind < 0.6:
        return json.dumps(value, ensure_ascii=plain)
    if kind < 0.85:
        return json.dumps(value, ensure_ascii=plain, separators=(",", ":"))
    return json.dumps(value, ensure_ascii=plain, indent=2)


def prompt(schema_text: str) -> str:
    """The prompt that the model is measured with."""
    return f"Schema: {schema_text}\nJSON: "


def _listing(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def instruction(rng: random.Random, value: v.Json) -> str:
    """A request in English for this value."""
    thing = rng.choice(w.ENTITIES)
    if not isinstance(value, dict) or not value:
        return rng.choice([f"Give an example of a {thing} as JSON.", f"Write JSON for a {thing}.", "Answer in JSON."])
    fields = _listing(list(value))
    return rng.choice([
        f"Write a {thing} with {fields}.", f"Generate a JSON object for a {thing} with the fields {fields}.",
        f"Give me a JSON {thing}. Fields: {fields}.", f"Create a {thing} ({fields}) in JSON.",
    ])  # fmt: skip


def facts(rng: random.Random, value: v.Json) -> str:
    """The scalars of an object as a line of text, to be extracted again."""
    pairs = [(k, x) for k, x in value.items() if isinstance(x, (str, int, float))]
    rng.shuffle(pairs)
    return rng.choice(["; ", ", ", ". "]).join(
        f"{k.replace('_', ' ')}{rng.choice([': ', ' is '])}{x}" for k, x in pairs
    )


def _schema_first(rng: random.Random, text: str, value: v.Json, answer: str) -> str:
    return prompt(text) + BREAK + answer


def _request(rng: random.Random, text: str, value: v.Json, answer: str) -> str:
    return f"{instruction(rng, value)}\nJSON: {BREAK}{answer}"


def _request_schema(rng: random.Random, text: str, value: v.Json, answer: str) -> str:
    return f"{instruction(rng, value)}\n{prompt(text)}{BREAK}{answer}"


def _extract(rng: random.Random, text: str, value: v.Json, answer: str) -> str:
    if not isinstance(value, dict):
        return answer
    return f"Text: {facts(rng, value)}\n" + (prompt(text) if rng.random() < 0.5 else "JSON: ") + BREAK + answer


def _chat(rng: random.Random, text: str, value: v.Json, answer: str) -> str:
    question = instruction(rng, value) + (f"\nSchema: {text}" if rng.random() < 0.6 else "")
    system = (
        f"<|system|>\n{rng.choice(['You answer in JSON.', 'You are a helpful assistant.'])}\n"
        if rng.random() < 0.3
        else ""
    )
    return f"{system}<|user|>\n{question}\n<|assistant|>\n{BREAK}{answer}"


def _bare(rng: random.Random, text: str, value: v.Json, answer: str) -> str:
    return answer


FORMATS: list[tuple[Callable[[random.Random, str, v.Json, str], str], int]] = [
    (_schema_first, 52), (_request, 10), (_request_schema, 6), (_extract, 12), (_chat, 14), (_bare, 6),
]  # fmt: skip


def document(rng: random.Random) -> str:
    """One training text, with BREAK between prompt and answer."""
    while True:
        shape, draw = schema(rng)
        value = draw(rng)
        text = json.dumps(shape) if rng.random() < 0.8 else json.dumps(shape, separators=(",", ":"))
        answer = write(rng, value)
        if len(text) + len(answer) <= MAX_CHARACTERS:
            break
    form = rng.choices([f for f, _ in FORMATS], [n for _, n in FORMATS])[0]
    return joined(rng, form(rng, text, value, answer))


def joined(rng: random.Random, text: str) -> str:
    """Drop BREAK from one text in five, so that prompts without the final blank work too."""
    return text.replace(BREAK, "") if rng.random() < 0.2 else text
