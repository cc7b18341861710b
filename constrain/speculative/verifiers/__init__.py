"""Verifiers, one rule a file; `VERIFIERS` is the table of their names.

takes: a `Case` (tree, target at its places). gives: a `Verdict` (how far, and what comes next)
start reading at: ../verifier.py (what a verifier is), then match.py
"""

from constrain.speculative.verifiers.match import Match

VERIFIERS = {"match": Match}

__all__ = ["Match", "VERIFIERS"]
