"""Verifiers, one rule a file; `VERIFIERS` is the table of their names.

takes: a `Case` (tree, target at its places). gives: a `Verdict` (how far, and what comes next)
start reading at: ../verifier.py (what a verifier is), match.py, then residual.py (what the rejection rules share)
"""

from collections.abc import Callable

from constrain.errors import ConstrainError
from constrain.speculative.verifier import Verifier
from constrain.speculative.verifiers.block import Block
from constrain.speculative.verifiers.kseq import KSeq
from constrain.speculative.verifiers.match import Match
from constrain.speculative.verifiers.optimum import optimal_acceptance
from constrain.speculative.verifiers.recursive import Recursive, RecursiveWithout, Token
from constrain.speculative.verifiers.traversal import Traversal
from constrain.speculative.verifiers.typical import Typical

VERIFIERS: dict[str, Callable[[], Verifier]] = {
    rule.name: rule for rule in (Block, KSeq, Match, Recursive, RecursiveWithout, Token, Traversal)
}
LOSSY: dict[str, Callable[[], Verifier]] = {Typical.name: Typical}  # these change the law of the output


def verifier_named(name: str) -> Verifier:
    """A verifier of that name. Raises ConstrainError with the known names."""
    known = {**VERIFIERS, **LOSSY}
    if name not in known:
        raise ConstrainError(f"there is no verifier {name!r}", fix=f"choose one of: {', '.join(sorted(known))}")
    return known[name]()


__all__ = [
    "Block",
    "KSeq",
    "LOSSY",
    "Match",
    "Recursive",
    "RecursiveWithout",
    "Token",
    "Traversal",
    "Typical",
    "VERIFIERS",
    "optimal_acceptance",
    "verifier_named",
]
