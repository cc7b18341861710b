"""Drafters, one method a file; `NAMED` is the table of the names that `generate(draft=...)` knows.

takes: `Context`s (the sequence, its matcher, the hints). gives: `DraftTree`s
start reading at: ../drafter.py (the protocol), then lookup.py; drafters of the literature: constrain/papers/drafting/
"""

from __future__ import annotations

from collections.abc import Callable

from constrain.sampling.core.registry import Registry
from constrain.speculative.drafter import Drafter

NAMED: Registry[Callable[[], Drafter]] = Registry(
    "drafter",
    {
        "edit": "constrain.papers.drafting.edit:Edit",
        "jacobi": "constrain.papers.drafting.jacobi:Jacobi",
        "lookup": "constrain.speculative.drafters.lookup:Lookup",
        "ngram": "constrain.papers.drafting.ngram:NGramDrafter",
        "prior": "constrain.papers.drafting.prior:Prior",
        "recycling": "constrain.papers.drafting.recycling:Recycling",
        "retrieval": "constrain.papers.drafting.retrieval:Retrieval",
        "words": "constrain.speculative.drafters.words:LegalWords",
    },
)
AUTO = ("words", "lookup")  # what draft="auto" stands for


def drafter_named(name: str) -> Drafter:
    """A new drafter of a name, with its default options.

    Args:
        name: a key of `NAMED`.

    Returns:
        The drafter.

    Raises:
        ConstrainError: no drafter has this name.

    Example:
        >>> from constrain.speculative import drafter_named
        >>> drafter_named("lookup").name
        'lookup'
    """
    return NAMED.named(name)()
