"""An ordinary schema as one of the strict subset, with a record of every change; and the way back for values.

The idea: subschema by subschema (`strict_flatten.py`, then `strict_nodes.py`); every definition that is still referred
to is converted once, so recursion stays recursion. Each change states what it does to the set of values: the same,
coded (read back by `from_openai_strict`), narrower, or wider. Widening is refused unless it is asked for.

Cost: some milliseconds for a schema; more where the algebra is asked whether a keyword may go. Limits: references are
paths into the schema itself (`#/...`); the limits of the subset (depth, counts) are not worked around.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from constrain.errors import LimitError
from constrain.schema.source import json_schema
from constrain.schema.strict import RULES, Rules, listing, violations
from constrain.schema.strict_alike import note_alike
from constrain.schema.strict_containers import is_map
from constrain.schema.strict_flatten import flatten, inlined
from constrain.schema.strict_keep import closed
from constrain.schema.strict_merge import types_of
from constrain.schema.strict_nodes import convert, convert_flat
from constrain.schema.strict_read import reader
from constrain.schema.strict_state import Change, Code, Conversion, Node


def to_openai_strict(schema: Any, *, lossy: bool = False, rules: Rules = RULES) -> tuple[dict[str, Any], list[Change]]:
    """A schema of the strict subset, and what was changed on the way.

    schema: whatever `json_schema` takes. lossy: leave out keywords that the subset cannot say; each is a change with
      the effect "wider". rules: the subset.

    With `lossy=False`, `from_openai_strict(value, schema)` fulfils `schema` for every value that fulfils the result.
    Raises SchemaError that lists all that cannot be converted; what `json_schema` raises for the schema itself.
    """
    strict, conv = _converted(schema, lossy, rules)
    return strict, list(conv.changes)


def from_openai_strict(value: Any, schema: Any, *, rules: Rules = RULES) -> Any:
    """A value of the strict schema as a value of the schema that was given to `to_openai_strict`.

    Nulls that stand for absent properties are dropped, lists of key and value are maps again (of equal keys the last
    one counts), and so on. Converts the schema each time: for many values use `strict_reader(schema)` once.

    Raises ConstrainError if the value does not fulfil the strict schema.
    """
    return strict_reader(schema, rules=rules)(value)


def strict_reader(schema: Any, *, rules: Rules = RULES) -> Callable[[Any], Any]:
    """`from_openai_strict` for one schema, as a function of the value."""
    strict, conv = _converted(schema, True, rules)
    return reader(strict, conv.codes)


def _converted(schema: Any, lossy: bool, rules: Rules) -> tuple[Node, Conversion]:
    source = json_schema(schema)  # malformed schemas and those that nothing fulfils are refused here
    raw = json.loads(schema) if isinstance(schema, (str, bytes)) else source.schema
    conv = Conversion(raw, source.document.dialect, lossy, rules, convert)
    try:
        strict = _root(conv)
    except RecursionError:
        raise LimitError("the schema is nested too deeply to be converted", fix="use fewer levels") from None
    for found in violations(strict, rules) if not conv.refused else ():
        conv.refuse(found.pointer, f"after the conversion: {found.message}", found.fix)
    if conv.refused:
        fix = "to_openai_strict(schema, lossy=True) leaves out what it can; then check the result against this schema"
        raise listing(list(conv.refused), "beyond the strict subset", fix)
    return strict, conv


def _root(conv: Conversion) -> Node:
    """The whole schema: root, then definitions as they are referred to."""
    node = flatten(conv, conv.root, "$")
    target = inlined(conv, node, "$")
    conv.root_is_object = _is_object(target)
    if isinstance(node, dict) and node.keys() == {"$ref"}:
        conv.root_refs.add(node["$ref"])
    body = convert_flat(conv, target if conv.root_is_object else node, "$")
    if body is None:
        conv.refuse("$", "nothing fulfils the schema", "allow some value")
        return {}
    strict = body if conv.root_is_object else _wrapped(conv, body)
    while conv.targets:
        name, raw, pointer = conv.targets.pop()
        found = body if raw is conv.root else convert(conv, raw, pointer)
        if found is None:
            conv.refuse(pointer, "nothing fulfils this definition", "allow some value, or do without it")
        else:
            conv.definitions[name] = found
    if conv.definitions:
        strict["$defs"] = dict(sorted(conv.definitions.items()))
    _unused(conv)
    if not conv.refused:
        note_alike(conv, strict)
    return strict


def _is_object(node: Node | bool) -> bool:
    """Can the root stay as it is: an object with declared properties?"""
    if not isinstance(node, dict) or "enum" in node or "anyOf" in node or is_map(node):
        return False
    return types_of(node) == ["object"]


def _wrapped(conv: Conversion, body: Node) -> Node:
    """An object with the one property `value`."""
    conv.note("$", "the root is not an object: it became the property value of one", "coded")
    inner: Node = body
    if any(raw is conv.root for _, raw, _ in conv.targets):
        inner = {"$ref": conv.definition("#")}
    strict = closed({"value": inner})
    conv.encode(strict, Code("wrapped"))
    return strict


def _unused(conv: Conversion) -> None:
    """Definitions that nothing refers to any more are not in the result."""
    if not isinstance(conv.root, dict):
        return
    for keyword in ("$defs", "definitions"):
        for name, raw in conv.root.get(keyword, {}).items():
            if not conv.is_target(raw):
                conv.note(conv.place(raw, "$"), f"the definition {name!r} left out: nothing refers to it now", "same")
