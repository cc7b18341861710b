"""Verifiers, one rule a file; `VERIFIERS` is the table of their names.

takes: a `Case` (tree, target at its places). gives: a `Verdict` (how far, and what comes next)
start reading at: ../verifier.py (what a verifier is), match.py, then residual.py (what the rejection rules share)
"""

from collections.abc import Callable

from constrain.sampling.core.registry import Registry
from constrain.speculative.verifier import Verifier
from constrain.speculative.verifiers.block import Block
from constrain.speculative.verifiers.match import Match
from constrain.speculative.verifiers.recursive import Recursive, RecursiveWithout, Token
from constrain.speculative.verifiers.traversal import Traversal

VERIFIERS: Registry[Callable[[], Verifier]] = Registry(
    "verifier",
    {
        **{rule.name: rule for rule in (Block, Match, Recursive, RecursiveWithout, Token, Traversal)},
        "k-seq": "constrain.papers.verifying.kseq:KSeq",
    },
)
LOSSY = {
    "typical": "constrain.papers.verifying.typical:TypicalAcceptance"
}  # these change the distribution of the output


def verifier_named(name: str) -> Verifier:
    """A new verifier of a name, with its default options.

    Args:
        name: a key of `VERIFIERS`, or "typical", which changes the distribution of the output.

    Returns:
        The verifier.

    Raises:
        ConstrainError: no verifier has this name.

    Example:
        >>> from constrain.speculative import verifier_named
        >>> verifier_named("match").name
        'match'
    """
    return Registry("verifier", {**VERIFIERS.rows, **LOSSY}).named(name)()


__all__ = [
    "Block",
    "LOSSY",
    "Match",
    "Recursive",
    "RecursiveWithout",
    "Token",
    "Traversal",
    "VERIFIERS",
    "verifier_named",
]
