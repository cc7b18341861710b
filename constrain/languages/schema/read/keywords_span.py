"""`x-span`: the string is a quote of a document. No keyword of the specification.

    {"x-span": "to be or not to be"}                               whole words of this text
    {"x-span": {"document": "article", "unit": "sentence"}}        whole sentences of json_schema(documents={...})
    {"x-span": {"text": ["first ", "second"], "errors": 1}}        whole pieces of a list, one character may be wrong

It is a language of strings like that of `pattern`, so it goes with `minLength`, `not` and all others, and a mask
enforces it, with the escapes of JSON. Spans that differ: `uniqueItems` beside `items`.
"""

from __future__ import annotations

from typing import Any

from constrain.errors import GrammarError, UnsatisfiableError
from constrain.languages.constraints.substring import Substring, substring
from constrain.languages.schema.read.reading import SubschemaReading
from constrain.languages.schema.sets.json_types import Json

OPTIONS = ("text", "document", "unit", "errors", "distance")


def xSpan(reading: SubschemaReading, value: Json) -> None:
    """A span of a text, or of a document of the call, that the string is."""

    def fault(message: str, fix: str | None) -> Exception:
        return reading.site.error(f"x-span: {message}", fix, "x-span")

    given: Any = {"text": value} if isinstance(value, str) else value
    if not isinstance(given, dict):
        raise fault(f"{value!r:.60} is no document", 'write a text, or {"document": "name"}')
    for name in given:
        if name not in OPTIONS:
            raise fault(f"there is no option {name!r:.60}", f"use {', '.join(OPTIONS)}")
    if ("text" in given) == ("document" in given):
        raise fault("it has either a text or a document", 'write {"text": "..."} or {"document": "name"}')
    text = given["text"] if "text" in given else _named(reading, given["document"])
    unit = given.get("unit", "chunk" if isinstance(text, list) else "word")
    options = {name: given[name] for name in ("errors", "distance") if name in given}
    try:
        found = substring(text, unit, blank=False, **options)
    except (GrammarError, UnsatisfiableError) as error:
        raise fault(error.message, error.fix) from None
    assert isinstance(found, Substring)
    reading.texts.append(found.quotes)


def _named(reading: SubschemaReading, name: Json) -> str:
    documents = dict(reading.document.options.documents)
    if not isinstance(name, str) or name not in documents:
        known = f"there are {', '.join(map(repr, documents))}" if documents else "none was given"
        fix = "name one of them" if documents else "json_schema(schema, documents={...}), or write the text itself"
        raise reading.site.error(f"x-span: there is no document {name!r:.60}: {known}", fix, "x-span")
    return documents[name]
