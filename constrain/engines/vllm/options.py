"""Read the entry "constrain" of vLLM's `additional_config`, by which an engine asks for the backend, with its options.

    vllm serve MODEL --additional-config '{"constrain": {"seconds": 2, "whitespace": "compact"}}'
    LLM(MODEL, additional_config={"constrain": {}})

The idea: `additional_config` is vLLM's own field for options of plug-ins. It reaches every process of an engine, from
the command line as from Python, so one entry both chooses the backend and says how it reads constraints.
"""

from __future__ import annotations

from typing import Any

from constrain.engines.requests.options import EngineOptions, options_of
from constrain.errors import ConstrainError

ENTRY = "constrain"
DRAFTER = "constrain.engines.vllm.drafter.ConstraintDrafter"  # as a speculative configuration names it
PLACE = f"additional_config.{ENTRY}"


def asks(vllm_config: Any) -> bool:
    """True if a `VllmConfig` has the entry."""
    entries = getattr(vllm_config, "additional_config", None)
    return isinstance(entries, dict) and ENTRY in entries


def is_second(vllm_config: Any) -> bool:
    """True if the workers of an engine run vLLM's V2 model runner."""
    return bool(getattr(vllm_config, "use_v2_model_runner", False))


def takes_place(vllm_config: Any) -> bool:
    """True if an engine names our drafter by a method of V2's, whose speculator it replaces (speculator.py)."""
    drafts = getattr(vllm_config, "speculative_config", None)
    return drafts is not None and drafts.model == DRAFTER and drafts.method != "custom_class"


def options_in(vllm_config: Any) -> EngineOptions | None:
    """The options that a `VllmConfig` has for this backend; None: the engine does not ask for it.

    Raises ConstrainError: an option is wrong, or the configuration names another backend too.
    """
    if not asks(vllm_config):
        return None
    other = vllm_config.structured_outputs_config.backend
    if other != "auto":
        raise ConstrainError(
            f"additional_config asks for the backend constrain, and structured_outputs_config for {other!r}",
            place="structured_outputs_config.backend",
            fix="leave one of them out",
        )
    return options_of(vllm_config.additional_config[ENTRY], PLACE)
