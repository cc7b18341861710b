"""Values of a strict schema as values of the schema it was made from.

The idea: value and strict schema are walked together; where the conversion wrote a code, it is undone. Of a union the
first branch that the value fulfils is taken: the way back from that branch leads into the branch it was made from.

Cost: linear in the value, and one validation of the value in a union for each branch tried.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from constrain.automata.decide import matches
from constrain.errors import ConstrainError
from constrain.schema.patterns import pattern_node
from constrain.schema.strict_state import Code, Node


def reader(strict: Node, codes: dict[int, Code]) -> Callable[[Any], Any]:
    """The function from values of a strict schema to values that are meant. codes: by id of the subschema."""
    validator = _validator()(strict)

    def read(value: Any, node: Node) -> Any:
        while "$ref" in node or "anyOf" in node:
            if "$ref" in node:
                name = node["$ref"].rpartition("/")[2]
                node = strict if node["$ref"] == "#" else strict["$defs"][name]
            else:
                branches = node["anyOf"]
                node = next(each for each in branches if validator.evolve(schema=each).is_valid(value))
        code = codes.get(id(node))
        if isinstance(value, dict):
            return _object(value, node["properties"], code, read) if "properties" in node else value
        if isinstance(value, list):
            items = [read(each, node["items"]) for each in value]
            return {each["key"]: each["value"] for each in items} if code else items
        return value

    def whole(value: Any) -> Any:
        fault = next(validator.iter_errors(value), None)
        if fault is not None:
            raise ConstrainError(
                f"the value does not fulfil the strict schema: {fault.message}",
                place=fault.json_path,
                fix="read values that were written under the strict schema of to_openai_strict",
            )
        return read(value, strict)

    return whole


def _object(value: Node, properties: Node, code: Code | None, read: Callable[[Any, Node], Any]) -> Any:
    kind, names = code if code is not None else ("absent", ())
    if kind == "wrapped":
        return read(value["value"], properties["value"])
    if kind == "places":
        return [read(value[name], properties[name]) for name in names]
    return {
        name: read(inner, properties[name])
        for name, inner in value.items()
        if not (inner is None and name in names)
    }  # fmt: skip


@lru_cache(maxsize=1)
def _validator() -> Any:
    """JSON Schema 2020-12 with patterns as this library reads them."""
    import jsonschema

    def pattern(validator: Any, text: str, value: Any, schema: Any) -> Any:
        if validator.is_type(value, "string") and not matches(pattern_node(text), value):
            yield jsonschema.ValidationError(f"{value!r} does not match {text!r}")

    return jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": pattern})
