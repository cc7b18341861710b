"""Random tools and calls of them."""

import random
from typing import Any

WORDS = ["city", "days", "query", "path", "limit", "flag", "unit", "tags", "range", "note", "when", "to"]
TEXTS = [
    "Bern", "", "a b", 'say "hi"', "back\\slash", "zwei\nZeilen", "Zürich ☂", "{[}]", "3", "true", "<b>x</b>", "it's",
]  # fmt: skip
NAMES = ["get", "get_all", "search", "weather", "run-query", "lookup2", "a.b"]


def schema(source: random.Random, depth: int = 0) -> dict[str, Any]:
    """A schema of a value."""
    kinds = ["string", "integer", "boolean", "number", "enum", *(["array", "object"] if depth < 2 else [])]
    kind = source.choice(kinds)
    if kind == "enum":
        return {"type": "string", "enum": ["celsius", "fahrenheit", "a b"]}
    if kind == "array":
        return {"type": "array", "items": schema(source, depth + 1), "maxItems": 3}
    if kind == "object":
        return parameters(source, depth + 1)
    return {"type": kind}


def parameters(source: random.Random, depth: int = 0) -> dict[str, Any]:
    """A schema of an object with declared properties."""
    names = source.sample(WORDS, source.randint(0, 4))
    required = [name for name in names if source.random() < 0.6]
    return {
        "type": "object",
        "properties": {name: schema(source, depth) for name in names},
        "required": required,
        "additionalProperties": False,
    }


def value(source: random.Random, form: dict[str, Any]) -> Any:
    """A member of a schema."""
    if "enum" in form:
        return source.choice(form["enum"])
    kind = form["type"]
    if kind == "string":
        return source.choice(TEXTS)
    if kind == "integer":
        return source.randint(-1000, 1000)
    if kind == "number":
        return source.choice([0, -1.5, 2, 1e3, 3.25])
    if kind == "boolean":
        return source.random() < 0.5
    if kind == "array":
        return [value(source, form["items"]) for _ in range(source.randint(0, 3))]
    return {
        name: value(source, inner)
        for name, inner in form["properties"].items()
        if name in form["required"] or source.random() < 0.5
    }


def tools(source: random.Random) -> list[dict[str, Any]]:
    """One to three tools, as OpenAI's JSON."""
    return [
        {"type": "function", "function": {"name": name, "parameters": parameters(source)}}
        for name in source.sample(NAMES, source.randint(1, 3))
    ]
