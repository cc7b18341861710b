"""The proof of an engine's answer, made of the request and the text: engines have no place for it in their responses.

A server, a client or a middleware that has both makes it where it is wanted. Weights are not known there: the numbers
of masks stay in the workers, unless `constrain` itself makes the requests (engines/vllm/recording.py).
"""

from __future__ import annotations

from typing import Any

from constrain.engines.requests.constraints import constraint_of
from constrain.engines.requests.options import EngineOptions
from constrain.reports.proof import proof_of


def request_proof(kind: str, text: str, options: EngineOptions, written: str, finish_reason: str) -> dict[str, Any]:
    """The proof of an answer to a request with structured outputs.

    Args:
        kind, text: What the request asks for, as `constraint_of` reads it.
        options: Those of the engine.
        written: The text of the answer.
        finish_reason: As the engine says it. A text that it calls complete, and that is none of the constraint's, ends
            as "dead_end", with its fault.

    Returns:
        An object of `constrain.reports.SCHEMA`, without weights and masses.

    Raises:
        ConstrainError: The request is faulty, or depends on tokens, which a text does not show.

    Example:
        >>> proof = request_proof("json", '{"type": "integer"}', EngineOptions(), "12", "stop")
        >>> proof["passed"], proof["ended"]
        (True, {'reason': 'stop', 'fault': None})
    """
    constraint, fault = constraint_of(kind, text, options), None
    if finish_reason == "stop" and not constraint.accepts(written):
        finish_reason = "dead_end"
        fault = constraint.residual_fault(written) or "the text is not in the language of the request"
    return proof_of(constraint.report, written, finish_reason, fault=fault)
