"""Which vLLM this is, and whether what we rely upon is there.

The idea: vLLM has no registry for backends of structured outputs, so the hooks rely on names that may change between
its versions. Each is listed here. A version that is not tested but has them all is used, with a warning; one that lacks
a name is refused when an engine that asks for "constrain" starts. Engines with another backend are never touched.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from constrain.errors import ConstrainError

TESTED = ("0.32.0",)
SIGNATURES = {
    "vllm.v1.structured_output:StructuredOutputManager.__init__": ("self", "vllm_config"),
    "vllm.v1.engine.input_processor:InputProcessor.__init__": ("self", "vllm_config"),
    "vllm.v1.engine.input_processor:InputProcessor._validate_params": ("self", "params"),
    "vllm.v1.structured_output.request:get_structured_output_key": ("params",),
}
"""Function → the parameters that it begins with."""
METHODS = {
    "vllm.v1.structured_output.backend_types:StructuredOutputGrammar": {
        "accept_tokens": ("self", "request_id", "tokens"),
        "validate_tokens": ("self", "tokens"),
        "rollback": ("self", "num_tokens"),
        "fill_bitmask": ("self", "bitmask", "batch_index"),
        "is_terminated": ("self",),
        "reset": ("self",),
    },
    "vllm.v1.structured_output.backend_types:StructuredOutputBackend": {
        "compile_grammar": ("self", "request_type", "grammar_spec", "stop_token_ids"),
        "allocate_token_bitmask": ("self", "max_num_seqs"),
        "destroy": ("self",),
    },
}
"""Abstract class → its abstract methods, all of them, with their parameters."""


def public_version(version: str) -> str:
    """The version without what names a build: "0.32.0+cpu" is 0.32.0."""
    return version.partition("+")[0]


def differences() -> list[str]:
    """What of the names that the hooks rely upon is not as expected; empty if nothing differs."""
    found = []
    for name, expected in SIGNATURES.items():
        given = _parameters(_find(name))
        if given is None or given[: len(expected)] != expected:
            found.append(f"{name} takes {_shown(given)}, not {_shown(expected)}")
    for name, methods in METHODS.items():
        kind = _find(name)
        abstract = frozenset(getattr(kind, "__abstractmethods__", ()))
        found += [f"{name}.{method} is new" for method in sorted(abstract - set(methods))]
        for method, expected in methods.items():
            given = _parameters(getattr(kind, method, None))
            if given != expected:
                found.append(f"{name}.{method} takes {_shown(given)}, not {_shown(expected)}")
    return found


def check(version: str, differing: list[str]) -> str | None:
    """A warning about a version that is not tested, or None.

    Args:
        version: As vLLM states it.
        differing: As `differences` gives it.

    Raises:
        ConstrainError: Something that the hooks rely upon is not there.
    """
    tested = ", ".join(TESTED)
    if differing:
        raise ConstrainError(
            f"the backend constrain does not fit vLLM {version}: {len(differing)} names differ",
            place="\n".join(["vLLM's interface", *differing]),
            fix=f"install a version of vLLM that is tested ({tested}), or a newer constrain-lm",
        )
    if public_version(version) in TESTED:
        return None
    return f"constrain: vLLM {version} is not tested, only {tested} is; what constrain relies upon is there"


def _find(name: str) -> Any:
    module, _, path = name.partition(":")
    try:
        value: Any = import_module(module)
    except ImportError:
        return None
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def _parameters(function: Any) -> tuple[str, ...] | None:
    return tuple(inspect.signature(function).parameters) if callable(function) else None


def _shown(parameters: tuple[str, ...] | None) -> str:
    return "nothing: it is gone" if parameters is None else f"({', '.join(parameters)})"
