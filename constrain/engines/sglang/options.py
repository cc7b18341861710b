"""The options of the backend: the environment variable CONSTRAIN_SGLANG, a JSON object.

    CONSTRAIN_SGLANG='{"seconds": 2, "whitespace": "compact"}' python -m sglang.launch_server ...

The idea: SGLang's arguments have no place for what it does not know, and its processes inherit the environment.
SGLang's own arguments for whitespace are a `JsonLayout`, unless the options have a whitespace too. Arguments that mean
something else with each of SGLang's backends, or that no backend but its own can follow, are refused at the start.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from constrain.engines.requests.options import EngineOptions, options_of
from constrain.errors import ConstrainError

if TYPE_CHECKING:
    from constrain.languages.schema import JsonLayout

VARIABLE = "CONSTRAIN_SGLANG"
_WHITESPACE = f'set {VARIABLE}=\'{{"whitespace": "compact"}}\', or another whitespace of constrain.json_schema'
_REFUSED = {
    "constrained_json_disable_any_whitespace": _WHITESPACE,
    "enable_strict_thinking": "leave it out, or use the grammar backend xgrammar",
}
_LAYOUTS = {"constrained_json_max_whitespace_cnt": "most", "constrained_json_whitespace_pattern": "pattern"}
"""SGLang's arguments for whitespace -> the fields of `JsonLayout`."""


def options_in(environment: Mapping[str, str], serving: Any) -> EngineOptions:
    """The options of a server.

    Args:
        environment: The environment of its process.
        serving: SGLang's arguments.

    Raises:
        ConstrainError: An option is wrong, or an argument is not supported.
    """
    for name, fix in _REFUSED.items():
        if getattr(serving, name, None) not in (None, False):
            argument = "--" + name.replace("_", "-")
            raise ConstrainError(
                f"{argument} is not supported by the grammar backend constrain", place=argument, fix=fix
            )
    text = environment.get(VARIABLE, "").strip() or "{}"
    try:
        given = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConstrainError(
            f"the options are not JSON: {error.msg}", place=f"{VARIABLE}, column {error.colno}", fix="use {}"
        ) from None
    options = options_of(given, VARIABLE)
    if options.complete:
        raise ConstrainError(
            "complete is not possible: SGLang does not tell a grammar how many tokens its request may have",
            place=f"{VARIABLE}.complete",
            fix="leave it out",
        )
    whitespace = _whitespace_of(serving, options)
    return options if whitespace is None else dataclasses.replace(options, whitespace=whitespace)


def _whitespace_of(serving: Any, options: EngineOptions) -> JsonLayout | None:
    """The whitespace that SGLang's arguments ask for; None: they do not. Raises ConstrainError."""
    said = {name: value for name in _LAYOUTS if (value := getattr(serving, name, None)) is not None}
    if not said:
        return None
    arguments = " and ".join("--" + name.replace("_", "-") for name in said)
    if options.whitespace is not None:
        raise ConstrainError(
            f"whitespace is said twice: {arguments}, and whitespace in {VARIABLE}",
            place=arguments,
            fix="leave one of them out",
        )
    from constrain.languages.schema import JsonLayout  # kernels, which not every process of an engine needs

    try:
        return JsonLayout(**{_LAYOUTS[name]: value for name, value in said.items()})
    except ConstrainError as error:
        raise ConstrainError(error.message, place=arguments, fix=error.fix) from None
