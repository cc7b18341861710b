"""The options of the backend: the environment variable CONSTRAIN_SGLANG, a JSON object.

    CONSTRAIN_SGLANG='{"seconds": 2, "whitespace": "compact"}' python -m sglang.launch_server ...

The idea: SGLang's arguments have no place for what it does not know, and its processes inherit the environment.
Arguments of SGLang that mean something else here, or that no backend but its own can follow, are refused at the start.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from constrain.errors import ConstrainError
from constrain.serve.requests.options import Options, options_of

VARIABLE = "CONSTRAIN_SGLANG"
_WHITESPACE = f'set {VARIABLE}=\'{{"whitespace": "compact"}}\', or another whitespace of constrain.json_schema'
_REFUSED = {
    "constrained_json_disable_any_whitespace": _WHITESPACE,
    "constrained_json_whitespace_pattern": _WHITESPACE,
    "constrained_json_max_whitespace_cnt": _WHITESPACE,
    "enable_strict_thinking": "leave it out, or use the grammar backend xgrammar",
}


def options_in(environment: Mapping[str, str], serving: Any) -> Options:
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
    return options_of(given, VARIABLE)
