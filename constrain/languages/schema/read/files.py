"""Schemas in files: JSON or YAML, with references to files beside them.

The idea: a file's URI is the base of its references, and a folder is a registry of what lies in it. A reference names a
file by its path from the file that it stands in, or by the `$id` that the file states, as published schemas refer to
each other. Nothing outside of the folder is read, and nothing from the network.

YAML is read as JSON: `true` and `false` are the only booleans, dates are texts, and keys are texts (YAML 1.2.2, section
10.2, the JSON schema of YAML).

Source: RFC 8089 (file URIs); JSON Schema Core 2020-12, section 8.2.1 (base URIs).
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from constrain.errors import ConstrainError, LimitError, SchemaError, span
from constrain.extras import require
from constrain.languages.schema.check.finished import RepeatedKey, decimal_of, integer_of, read_exactly
from constrain.languages.schema.read.dialect import UNSTATED, dialect_of
from constrain.languages.schema.read.references import step_into
from constrain.languages.schema.sets.json_types import Json

if TYPE_CHECKING:
    from referencing import Registry, Resource

MOST_FILES = 10_000  # of a folder, that are searched for an `$id`
SUFFIXES = (".json", ".yaml", ".yml")
_IS_FILE = re.compile(r"[^{}\[\]\"\n]+\.(?:json|ya?ml)(?:#.*)?")
_PLAIN = "tag:yaml.org,2002:"


def schema_of_file(path: os.PathLike[str], registry: Any) -> tuple[Json, Any]:
    """Read the schema in a file, or at a place in it (`schemas.json#/$defs/order`).

    Args:
        path: The file, maybe with a JSON pointer behind `#`.
        registry: What `json_schema` was given: a registry, which then has all that references may lead to; a folder,
            whose files they may name; or None, the folder of the file.

    Returns:
        (the schema, the registry to read it with).

    Raises:
        SchemaError: The file is no JSON or no YAML, or there is nothing at the place.
        OSError: The file cannot be read.
        MissingExtraError: YAML needs the package pyyaml.
    """
    name, _, pointer = os.fspath(path).partition("#")
    file = Path(name)
    raw = read_file(file)
    uri = file.absolute().as_uri()
    if registry is None or isinstance(registry, os.PathLike):
        registry = registry_of(file.parent if registry is None else registry)
    if not pointer:
        return raw, registry.with_resource(uri, _resource(raw))
    at = raw
    for part in pointer.removeprefix("/").split("/"):
        found = step_into(at, part)
        if found is None:
            raise SchemaError(f"there is nothing at #{pointer}", place=name, fix="correct the path behind #")
        at, _ = found
    stated = {"$schema": raw["$schema"]} if isinstance(raw, dict) and "$schema" in raw else {}
    return {**stated, "$ref": f"{uri}#{pointer}"}, registry.with_resource(uri, _resource(raw))


def registry_of(folder: os.PathLike[str]) -> Registry[Any]:
    """The registry of the schemas in a folder, which are read when a reference leads to them."""
    import referencing

    return referencing.Registry(retrieve=_Folder(Path(folder).absolute()))  # type: ignore[call-arg]


@dataclass(frozen=True)
class _Folder:
    """Finds the documents of a folder by their URI."""

    root: Path

    def __call__(self, uri: str) -> Resource[Any]:
        """The document. Raises SchemaError: it is not in the folder, or malformed."""
        if uri.startswith("file:"):
            file = Path(url2pathname(unquote(urlsplit(uri).path)))
            if not file.resolve().is_relative_to(self.root.resolve()):
                message = f"the file {str(file)!r} is outside of the folder {str(self.root)!r}"
                raise SchemaError(message, fix="name the folder that has both files: registry=Path(...)")
            if not file.is_file():
                raise SchemaError(f"there is no file {str(file)!r}", fix="correct the path")
            return _resource(read_file(file))
        found = self.stated_ids.get(uri.rstrip("#"))
        if found is None:
            message = f"no file in {str(self.root)!r} states the $id {uri!r}, and nothing is fetched from the network"
            raise SchemaError(message, fix="put the file there, or pass the folder that has it: registry=Path(...)")
        return _resource(read_file(found))

    @cached_property
    def stated_ids(self) -> dict[str, Path]:
        """The files by the `$id` that they state. Raises SchemaError: there are too many files."""
        found: dict[str, Path] = {}
        files = (path for path in sorted(self.root.rglob("*")) if path.suffix in SUFFIXES)
        for number, path in enumerate(files):
            if number == MOST_FILES:
                message = f"there are more than {MOST_FILES:,} schemas in {str(self.root)!r}"
                raise SchemaError(message, fix="name a smaller folder as registry=")
            try:
                raw = read_file(path)
            except (ConstrainError, OSError):  # no schema, and nothing refers to it
                continue
            stated = raw.get("$id", raw.get("id")) if isinstance(raw, dict) else None
            if isinstance(stated, str):
                found.setdefault(stated.rstrip("#"), path)
        return found


def _resource(raw: Json) -> Resource[Any]:
    from referencing import Resource
    from referencing.jsonschema import specification_with

    specification = specification_with((dialect_of(raw) or UNSTATED).uri)
    return Resource(raw, specification)  # type: ignore[call-arg]


def read_file(path: Path) -> Json:
    """The JSON of a file of JSON or YAML; a byte order mark is left out.

    Raises SchemaError with the place, OSError, MissingExtraError.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SchemaError(
            f"{path!s} is not UTF-8: {error.reason} at byte {error.start}", fix="encode it as UTF-8"
        ) from None
    except ValueError as error:  # of what no file is named
        raise SchemaError(f"{str(path)!r:.60} names no file: {error}", fix="correct the path") from None
    return _from_yaml(text, path) if path.suffix.lower() in (".yaml", ".yml") else from_json(text, str(path))


def from_json(text: str | bytes, name: str = "") -> Json:
    """The schema of a JSON text; numbers are read exactly. name: of its file.

    Raises SchemaError with the place, LimitError.
    """
    try:
        return read_exactly((text.decode() if isinstance(text, bytes) else text).removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        place = span(error.doc, min(error.pos, len(error.doc)))
        fix = "correct the JSON; JSON has no comments, no single quotes and no trailing commas"
        if _IS_FILE.fullmatch(error.doc):
            fix = f"pass pathlib.Path({error.doc!r:.60}) for the schema in a file"
        raise SchemaError(
            f"the schema is not JSON: {error.msg}", place=f"{name}, {place}" if name else place, fix=fix
        ) from None
    except RepeatedKey as error:
        raise SchemaError(
            f"the key {str(error)!r} occurs twice in one object of the schema",
            place=name or None,
            fix="leave one of them out",
        ) from None
    except RecursionError:
        raise too_deep() from None
    except UnicodeDecodeError as error:
        raise SchemaError(
            f"the schema is not UTF-8: {error.reason} at byte {error.start}", fix="encode it as UTF-8"
        ) from None
    except ValueError as error:
        raise SchemaError(
            f"the schema cannot be read: {error}", place=name or None, fix="write a smaller number"
        ) from None


def _from_yaml(text: str, path: Path) -> Json:
    """The schema of a YAML text. Raises SchemaError with the place, MissingExtraError."""
    require("yaml", repr(str(path)))
    import yaml  # type: ignore[import-untyped]

    try:
        return yaml.load(text, Loader=_loader())
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark
        place = f"{path}, {span(text, at.index)}" if at is not None else str(path)
        raise SchemaError(f"the schema is not YAML: {error.problem}", place=place, fix="correct the YAML") from None
    except yaml.YAMLError as error:
        raise SchemaError(f"the schema is not YAML: {error}", place=str(path), fix="correct the YAML") from None
    except RecursionError:
        raise too_deep() from None


@cache
def _loader() -> Any:
    """PyYAML's safe loader with the scalars of JSON, which refuses keys that occur twice."""
    import yaml

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
            found: dict[str, Any] = {}
            self.flatten_mapping(node)
            for key, value in node.value:
                name = key.value if isinstance(key, yaml.ScalarNode) else None
                if name is None or name in found:
                    said = "a key that is no text" if name is None else f"the key {name!r} occurs twice"
                    raise yaml.MarkedYAMLError(problem=said, problem_mark=key.start_mark)
                found[name] = self.construct_object(value, deep=True)
            return found

    Loader.yaml_implicit_resolvers = {}
    for kind, pattern, first in (
        ("bool", r"true|false", "tf"),
        ("null", r"null|~|", ["n", "~", ""]),
        ("int", r"-?(?:0|[1-9][0-9]*)", "-0123456789"),
        ("float", r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", "-0123456789"),
        ("merge", r"<<", "<"),
    ):
        Loader.add_implicit_resolver(_PLAIN + kind, re.compile(f"^(?:{pattern})$"), list(first))
    Loader.add_constructor(_PLAIN + "map", lambda loader, node: loader.construct_mapping(node))
    Loader.add_constructor(_PLAIN + "int", lambda _, node: integer_of(node.value))
    Loader.add_constructor(_PLAIN + "float", lambda _, node: decimal_of(node.value))
    return Loader


def too_deep() -> LimitError:
    """The error for a schema that has more levels than Python's stack."""
    return LimitError("the schema is nested too deeply to be read", fix="break it up with fewer levels")
