"""The official suite (JSON-Schema-Test-Suite): its required tests by draft, and its remote schemas.

A group is one schema with instances and verdicts; the keyword of a group is the name of its file. The layout is the
suite's own: `tests/<draft>/<keyword>.json`, optional tests in folders below, `remotes/` served at localhost:1234.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DRAFTS = {  # newest first
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft4": "http://json-schema.org/draft-04/schema#",
}
SERVER = "http://localhost:1234/"


@dataclass(frozen=True)
class Group:
    """One schema of the suite. id: draft/file#number; texts, valid: what `json.dumps` makes of the instances."""

    id: str
    draft: str
    keyword: str
    description: str
    schema: Any
    texts: list[str]
    valid: list[bool]


def instance_text(data: Any) -> str:
    """The JSON text of an instance, with characters as they are unless UTF-8 cannot hold them."""
    text = json.dumps(data, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(data)
    return text


def groups(suite: Path, draft: str) -> Iterator[Group]:
    """The required tests of a draft. A schema that states no draft gets `$schema`, so that every engine can know."""
    for path in sorted((suite / "tests" / draft).glob("*.json")):
        for number, group in enumerate(json.loads(path.read_text(encoding="utf-8"))):
            schema = group["schema"]
            if isinstance(schema, dict) and "$schema" not in schema:
                schema = {"$schema": DRAFTS[draft], **schema}
            yield Group(
                id=f"{draft}/{path.name}#{number}",
                draft=draft,
                keyword=path.stem,
                description=group["description"],
                schema=schema,
                texts=[instance_text(test["data"]) for test in group["tests"]],
                valid=[test["valid"] for test in group["tests"]],
            )


@cache
def registry(suite: Path, draft: str) -> Any:
    """The remote schemas that a draft's tests may refer to, as a `referencing.Registry`."""
    import referencing
    from referencing.jsonschema import specification_with

    found = []
    for path in sorted((suite / "remotes").rglob("*.json")):
        name = path.relative_to(suite / "remotes").as_posix()
        first = name.split("/")[0]
        if first == draft or not (first.startswith("draft") or first == "v1"):
            contents = json.loads(path.read_text(encoding="utf-8"))
            resource = referencing.Resource.from_contents(
                contents, default_specification=specification_with(DRAFTS[draft])
            )
            found.append((SERVER + name, resource))
    return referencing.Registry().with_resources(found)
