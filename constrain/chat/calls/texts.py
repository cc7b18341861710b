"""Arguments of a tool some of whose strings are texts of another constraint: SQL, or code under a monitor.

The idea: an object is the sequence of its declared members, each a schema's value or a JSON string that is read through
its escapes (`constrain.json_string`). It is written in one of two layouts, as serializers write: with blanks behind
commas and colons, or without.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from constrain.chat.calls.functions import Function
from constrain.errors import ConstrainError
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import alt, optional, seq
from constrain.languages.constraints.escaped import json_string
from constrain.languages.schema import json_schema
from constrain.languages.schema.api import Undeclared

LAYOUTS = ((", ", ": "), (",", ":"))


def checked_texts(texts: Any, functions: Sequence[Function]) -> None:
    """Raise ConstrainError if the constraints on arguments are not those of string arguments of the tools."""
    if texts is None:
        return
    if not isinstance(texts, Mapping):
        raise ConstrainError(
            f"texts= is a dict, not {texts!r:.60}", place="texts", fix='texts={"tool": {"argument": constraint}}'
        )
    known = {function.name: function for function in functions}
    for tool, arguments in texts.items():
        if tool not in known:
            raise ConstrainError(f"there is no tool {tool!r:.60}", place="texts", fix=f"there are {', '.join(known)}")
        properties = known[tool].parameters.get("properties", {})
        for name, constraint in arguments.items() if isinstance(arguments, Mapping) else [("", arguments)]:
            place = f"texts[{tool!r}][{name!r}]"
            if not isinstance(constraint, Constraint):
                raise ConstrainError(f"{constraint!r:.60} is no constraint", place=place, fix="wrap it")
            declared = properties.get(name)
            if not isinstance(declared, Mapping) or declared.get("type") != "string":
                raise ConstrainError(
                    f"{tool!r} has no string argument {name!r}", place=place, fix='declare it: {"type": "string"}'
                )


def object_with_texts(
    schema: Mapping[str, Any], texts: Mapping[str, Constraint], tool: str, undeclared: Undeclared
) -> Constraint:
    """The objects of a schema with declared properties, in which some strings are texts of constraints.

    Raises ConstrainError if the schema says more of its object than its properties.
    """
    more = set(schema) - {"type", "properties", "required", "additionalProperties", "title", "description", "$defs"}
    if more or schema.get("additionalProperties", False) is not False:
        raise ConstrainError(
            f"the arguments of {tool!r} have {', '.join(sorted(more)) or 'additionalProperties'} beside texts=",
            place=f"texts[{tool!r}]",
            fix="declare properties only",
        )
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    values = {
        name: json_string(texts[name])
        if name in texts
        else json_schema({**definitions, **value} if isinstance(value, Mapping) else value, undeclared=undeclared)
        for name, value in schema["properties"].items()
    }
    return alt(*(_object(values, schema.get("required", ()), *layout) for layout in LAYOUTS))


def _object(values: Mapping[str, Constraint], required: Sequence[str], comma: str, colon: str) -> Constraint:
    """An object of these members, in their order."""
    members = [(name in required, seq(json.dumps(name) + colon, value)) for name, value in values.items()]
    first: Constraint = seq("")  # what may follow, where no member was written
    later: Constraint = seq("")  # and where one was
    for is_required, member in reversed(members):
        whole = seq(member, later)
        first = whole if is_required else alt(whole, first)
        later = seq(comma, member, later) if is_required else seq(optional(seq(comma, member)), later)
    return seq("{", first, "}")
