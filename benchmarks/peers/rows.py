"""A row: one question of a peer's tests with the peer's answer; and this library's answer to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import constrain
from constrain.languages.constraints.base import Constraint

BYTES = [bytes([byte]) for byte in range(256)]
SPECIAL = re.compile(rb"<\|.*\|>")  # tokens that a tokenizer calls special: they have no text
DIALECTS = {"xgrammar": "%grammar_options", "llguidance": "%llguidance"}


class Row(NamedTuple):
    """A question and the peer's answer.

    Attributes:
        tests: The name of the tests that ask.
        source: The language as JSON: its `kind`, `text`, `options`, and for tokens the `vocabulary` and its `stop` ids.
        said: The text in parts: strings of bytes (as Latin-1), and ids of tokens. None: the source itself is asked.
        answer: "accepted", "refused", "begins" (a text may go on so), "loads" or "fault".
    """

    tests: str
    source: str
    said: tuple[str | int, ...] | None
    answer: str


def texts(tests: str, kind: str, text: Any, given: Any, answer: str, options: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of texts of a language (None: of the language itself), as far as they are written out."""
    for said in given if isinstance(given, list) and isinstance(text, str) and text else ():
        if said is None or isinstance(said, str):
            source = json.dumps({"kind": kind, "text": text, "options": options})
            yield Row(tests, source, None if said is None else (said.encode().decode("latin-1"),), answer)


def judged(rows: Iterable[Row]) -> Iterator[tuple[Row, str, str]]:
    """Each row with this library's answer, and with what an error says."""
    source, compiled, error = "", None, ""
    for row in rows:
        if row.source != source:
            source, error = row.source, ""
            given = json.loads(source)
            try:
                compiled = constrain.compile(read(given), vocabulary(given))
            except constrain.ConstrainError as fault:
                compiled, error = None, f"{type(fault).__name__}: {fault.message}"
        if compiled is None or row.said is None:
            yield row, "fault" if compiled is None else "loads", error
            continue
        matcher, bytes_begin = compiled.matcher(), len(given.get("vocabulary", ()))
        ids = [
            n for part in row.said for n in ([part] if isinstance(part, int) else [bytes_begin + ord(c) for c in part])
        ]
        allowed = all(map(matcher.advance, ids))
        yield row, answer(allowed, matcher.is_accepting(), row.answer), ""


def answer(allowed: bool, ends: bool, wanted: str) -> str:
    """The answer to a text whose tokens are allowed, and that may end."""
    if not allowed:
        return "refused"
    return "begins" if wanted == "begins" else "accepted" if ends else "refused"


def vocabulary(source: dict[str, Any]) -> constrain.Vocabulary:
    """The peer's tokens, then each byte as a token, and an id that ends a text."""
    tokens = [text.encode("latin-1") for text in source.get("vocabulary", ())]
    names = {token.decode("utf-8", "replace"): number for number, token in enumerate(tokens)}
    texts_of = [None if SPECIAL.fullmatch(token) or not token else token for token in tokens]
    others = [None] * source["options"].get("size", 1)  # ids without a text
    ends = [*source.get("stop", ()), len(tokens) + len(BYTES)]
    return constrain.Vocabulary([*texts_of, *BYTES, *others], ends, names=names)


def read(source: dict[str, Any]) -> Constraint:
    """The constraint of a source."""
    kind, text, options = source["kind"], source["text"], source["options"]
    if kind == "lark":
        line = DIALECTS[options.get("dialect", "xgrammar")]
        named = {name: read(given) for name, given in options.get("named", {}).items()}
        return constrain.grammar(text if line in text else f"{line} {{}}\n{text}", grammars=named)
    if kind in ("ebnf", "gbnf"):
        return constrain.grammar(text, format=kind, start=options.get("start"))
    if kind == "regex":
        return constrain.regex(text, dialect="ecma")
    if kind == "structural_tag":
        return constrain.tags.structural_tag(text)
    if "style" in options:
        form = {"type": "json_schema", "json_schema": json.loads(text), **options}
        return constrain.tags.structural_tag({"type": "structural_tag", "format": form})
    folder = options.get("registry")
    return constrain.json_schema(text, **{**options, "registry": folder and registry(folder)})


@cache
def registry(folder: str) -> Any:
    """The schemas of a folder, by the last part of their addresses."""
    import referencing
    from referencing.exceptions import NoSuchResource
    from referencing.jsonschema import DRAFT7

    def retrieve(uri: str) -> Any:
        path = Path(folder) / (uri.rpartition("/")[2].removesuffix(".json") + ".json")
        if not path.exists():
            raise NoSuchResource(uri)
        return referencing.Resource.from_contents(json.loads(path.read_text("utf-8-sig")), default_specification=DRAFT7)

    return referencing.Registry(retrieve=retrieve)  # type: ignore[call-arg]
