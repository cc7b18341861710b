"""`tools=`, `tool_choice=` and `response_format=` in the shapes of OpenAI's chat completions, as constraints."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from constrain.chat.calls.functions import functions_of
from constrain.chat.calls.tools import CHOICES, ToolUse, tools
from constrain.chat.tags.structural import structural_tag
from constrain.errors import ConstrainError, SchemaError
from constrain.languages.constraints.base import Constraint
from constrain.languages.schema import json_schema
from constrain.languages.schema.api import declared_only
from constrain.languages.schema.openai_strict import is_strict
from constrain.languages.schema.read.dialect import OPENAI_STRICT

FORMATS = ("text", "json_object", "json_schema", "structural_tag")
FIX = 'response_format={"type": "json_schema", "json_schema": {"name": "answer", "schema": {...}}}'


def constraint_of_format(given: Any) -> Constraint | None:
    """The constraint of a `response_format`; None: any text. Raises ConstrainError with the place in it.

    A schema always holds; "strict": true asks that it is of OpenAI's strict subset. A class is the type whose JSON is
    written, as in OpenAI's `parse`.
    """
    if isinstance(given, type):
        return declared_only(given)
    kind = given.get("type") if isinstance(given, Mapping) else None
    if kind not in FORMATS:
        raise ConstrainError(
            f"there is no response_format {given!r:.80}", place="response_format.type", fix=f"use {', '.join(FORMATS)}"
        )
    if kind == "structural_tag":
        return structural_tag(dict(given), schema=partial(json_schema, undeclared="avoid"))
    allowed = {"type", "json_schema"} if kind == "json_schema" else {"type"}
    _refuse_others(given, allowed, "response_format")
    if kind == "text":
        return None
    if kind == "json_object":
        return json_schema({"type": "object"})
    wrapped = given.get("json_schema")
    if not isinstance(wrapped, Mapping) or "schema" not in wrapped:
        raise ConstrainError("there is no schema", place="response_format.json_schema.schema", fix=FIX)
    _refuse_others(wrapped, {"name", "description", "schema", "strict"}, "response_format.json_schema")
    dialect = OPENAI_STRICT if is_strict(wrapped, "response_format.json_schema") else None
    try:
        return declared_only(wrapped["schema"], dialect)
    except SchemaError as error:
        if error.place is not None:
            raise
        raise SchemaError(error.message, place="response_format.json_schema.schema", fix=error.fix) from None


def _refuse_others(given: Mapping[str, Any], allowed: set[str], place: str) -> None:
    others = sorted(map(str, given.keys() - allowed))
    if others:
        raise ConstrainError(f"there is no {others[0]!r} here", place=f"{place}.{others[0]}", fix="leave it out")


def choice_of(given: Any, functions: Any) -> str:
    """The choice of `constrain.tools` that a `tool_choice` means. Raises ConstrainError."""
    if isinstance(given, Mapping):
        function = given.get("function", given)
        given = function.get("name") if isinstance(function, Mapping) else None
    names = [function.name for function in functions]
    if not isinstance(given, str) or given not in (*CHOICES, *names):
        raise ConstrainError(
            f"there is no tool_choice {given!r:.60}",
            place="tool_choice",
            fix=f"use {', '.join(map(repr, [*CHOICES, *names]))}",
        )
    return given


def check_tools(given: Any, choice: Any) -> None:
    """Check what can be checked of `tools` without a model. Raises ConstrainError."""
    is_auto = isinstance(choice, str) and choice == "auto"
    if given is None:
        if not is_auto:
            raise ConstrainError("tool_choice needs tools", place="tool_choice", fix="pass tools=")
    elif isinstance(given, ToolUse):
        if not is_auto:
            fix = f"constrain.tools(functions, choice={choice_of(choice, given.functions)!r})"
            raise ConstrainError("constrain.tools has its own choice", place="tool_choice", fix=fix)
    else:
        choice_of(choice, functions_of(given))


def tools_of(given: Any, choice: Any, tokenizer: Any) -> ToolUse:
    """The turn that may call tools: as given by `constrain.tools`, or in the format that a tokenizer's chat template
    names. Raises ConstrainError.
    """
    if isinstance(given, ToolUse):
        return given
    functions = functions_of(given)
    return tools(functions, tokenizer=tokenizer, choice=choice_of(choice, functions))
