"""Verifiers, one rule a file; `VERIFIERS` is the table of their names.

takes: a `Case` (tree, target at its places). gives: a `Verdict` (how far, and what comes next)
start reading at: ../verifier.py (what a verifier is), match.py, then residual.py (what the rejection rules share)
"""

from collections.abc import Callable

from constrain.sampling.core.registry import Registry
from constrain.speculative.verifier import Verifier

VERIFIERS: Registry[Callable[[], Verifier]] = Registry(
    "verifier",
    {
        "block": "constrain.speculative.verifiers.block:Block",
        "k-seq": "constrain.papers.verifying.kseq:KSeq",
        "match": "constrain.speculative.verifiers.match:Match",
        "recursive": "constrain.speculative.verifiers.recursive:Recursive",
        "recursive-without": "constrain.speculative.verifiers.recursive:RecursiveWithout",
        "token": "constrain.speculative.verifiers.recursive:Token",
        "traversal": "constrain.speculative.verifiers.traversal:Traversal",
    },
)
LOSSY = {
    "typical": "constrain.papers.verifying.typical:TypicalAcceptance"
}  # these change the distribution of the output
WEIGHING = {"weighed": "constrain.papers.verifying.weighed:Weighed"}  # these change it, and weigh


def verifier_named(name: str) -> Verifier:
    """A new verifier of a name, with its default options.

    Args:
        name: a key of `VERIFIERS`, or "typical" or "weighed", which change the distribution of the output.

    Returns:
        The verifier.

    Raises:
        ConstrainError: no verifier has this name.

    Example:
        >>> from constrain.speculative import verifier_named
        >>> verifier_named("match").name
        'match'
    """
    return Registry("verifier", {**VERIFIERS.rows, **LOSSY, **WEIGHING}).named(name)()
