"""Schemas that are valid and constrain nothing, or less than was meant: wrappers of schemas, misspelt keywords.

Unknown keywords are annotations (Core 2020-12, section 4.3.1), so a schema in its wrapper is one that takes any JSON.
A root without any keyword, in which a schema stands under a name that a service or a protocol gives it, is an error;
other keys without meaning are told by a warning if they are nearly a keyword, or if the root has nothing else, and so
are definitions that no keyword uses.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import quote

from constrain.errors import SchemaError, warn
from constrain.languages.schema.formats.registry import FORMATS
from constrain.languages.schema.read.document import Site, excerpt
from constrain.languages.schema.read.keywords import KEYWORDS, SAID

WRAPPERS = ("json_schema", "schema", "inputSchema", "input_schema", "outputSchema", "parameters", "function",
            "response_format", "responseSchema", "response_schema", "guided_json", "jsonSchema")  # fmt: skip
ANSWERS = [name for name in KEYWORDS if name[0] not in "(x"]  # a misspelt annotation changes no text
LETTERS = {name: frozenset(name) for name in (*ANSWERS, *SAID)}
BY_LETTERS = {name.lower(): [name] for name in ANSWERS}
LIMITING = frozenset(ANSWERS)
BESIDE_TYPE = frozenset(KEYWORDS) - {"type"}
MANY = 100  # keys, and formats, that are looked at: 0.2 ms each
OTHERS = {"guid": "uuid"}  # another word for it
CLOSE = 0.8  # of `difflib`: propertys, maxLenght, item; not property names


def check_root(raw: Any) -> None:
    """Raise SchemaError if a schema is the wrapper of one."""
    if not _says_something(raw):
        return
    if isinstance(raw.get("openapi", raw.get("swagger")), str):
        place = "#/components/schemas/" if "openapi" in raw else "#/definitions/"
        if "$ref" not in raw:
            raise SchemaError(
                "this is an OpenAPI document, not a schema: as one it takes any JSON value",
                place=f"$\n{excerpt(raw)}",
                fix=f'refer to one of its schemas: {{**document, "$ref": "{place}Name"}}',
            )
    path, inner = [], raw
    while isinstance(inner, dict) and BESIDE_TYPE.isdisjoint(inner):
        name = next((each for each in WRAPPERS if isinstance(inner.get(each), dict)), None)
        if name is None or inner.get("type", "function") not in ("json_schema", "function"):
            break
        path.append(name)
        inner = inner[name]
    if path:
        named = "".join(f"[{name!r}]" for name in path)
        raise SchemaError(
            "this is no schema but what a schema is wrapped in: as a schema it takes any JSON value",
            place=f"$\n{excerpt(raw)}",
            fix=f"did you mean schema{named}?",
        )


def _says_something(raw: Any) -> bool:
    if not isinstance(raw, dict):
        return False
    return not LIMITING.isdisjoint(raw) or any(not str(key).startswith("x-") for key in raw.keys() - SAID)


def _warn_of_definitions(raw: dict[str, Any]) -> None:
    """Warn of definitions that no keyword uses."""
    for keyword in ("$defs", "definitions"):
        defined = raw.get(keyword)
        named = [name for name in defined if isinstance(name, str)] if isinstance(defined, dict) else []
        if named:
            name = next((name for name in named if name == raw.get("title")), named[-1])
            other = f", or another of its {len(named)} definitions" if len(named) > 1 else ""
            pointer = f"#/{keyword}/{quote(name.replace('~', '~0').replace('/', '~1'), safe='~:@', errors='replace')}"
            warn(
                f"the schema has definitions and no keyword that uses one, so it takes any JSON value\n"
                f'  fix: did you mean {{**schema, "$ref": "{pointer}"}}{other}?'
            )
            return


def warn_of_misspelt(raw: Any, unknown: list[tuple[Site, str]]) -> None:
    """Warn of what is nearly a keyword or a format, each with its place; and of a schema that has no keyword at all.

    unknown: `Document.unknown`
    """
    if not isinstance(raw, dict) or not LIMITING.isdisjoint(raw):
        if not unknown:
            return  # PERF: nearly all
    elif not _says_something(raw):
        _warn_of_definitions(raw)
    elif KEYWORDS.keys().isdisjoint(raw) and not any(map(meant, islice(raw.keys() - SAID, MANY))):
        warn(f"no key of the schema is a keyword of JSON Schema, so it takes any JSON value: {excerpt(raw)}")
    for site, key in islice((each for each in unknown if each[1] != "format"), MANY):
        if meant(key):
            warn(f"{key!r} at {site.pointer} is no keyword, and says nothing: did you mean {meant(key)!r}?")
    for site, _ in islice((each for each in unknown if each[1] == "format"), MANY):
        name = site.raw["format"]
        if named := meant_format(name):
            warn(f"there is no format {name!r} at {site.pointer}, and it says nothing: did you mean {named!r}?")


@lru_cache(maxsize=1024)
def meant_format(name: Any) -> str | None:
    """The format that a name is nearly, or None; formats of OpenAPI and of others are annotations."""
    if not isinstance(name, str) or name in FORMATS or name.startswith(("_", "x-")):
        return None
    plain = name.lower().replace("_", "").replace("-", "")
    same = [known for known in FORMATS if known.replace("-", "") == OTHERS.get(plain, plain)]
    near = same or (get_close_matches(name, FORMATS, 1, CLOSE) if len(name) > 4 else [])
    return near[0] if near else None


@lru_cache(maxsize=1024)
def meant(key: Any) -> str | None:
    """The keyword that a key is nearly, or None."""
    if not isinstance(key, str) or key in SAID or key.startswith(("_", "x-")):  # "_": put out of action
        return None
    same = BY_LETTERS.get(key.lower().replace("_", "").replace("-", ""), [])
    letters, least = set(key), CLOSE / 2.0
    alike = [  # PERF: letters of one that the other lacks match nothing; `difflib` takes 10 µs for each name
        name
        for name, of in LETTERS.items()
        if min(len(name), len(key)) >= least * (size := len(name) + len(key))
        and min(len(name) - len(of - letters), len(key) - len(letters - of)) >= least * size
    ]
    near = same or get_close_matches(key, alike, 1, CLOSE)
    return near[0] if near and near[0] not in SAID else None
