"""Drafters, one method a file; `NAMED` is the table of the names that `generate(draft=...)` knows.

takes: `Context`s (the sequence, its matcher, the hints). gives: `DraftTree`s
start reading at: ../drafter.py (what a drafter is), then lookup.py; for drafters that learn, grow.py and tables.py
"""

from __future__ import annotations

from collections.abc import Callable

from constrain.papers.drafting.edit import Edit
from constrain.papers.drafting.heads import Heads
from constrain.papers.drafting.jacobi import Jacobi
from constrain.papers.drafting.ngram import NGramDrafter
from constrain.papers.drafting.prior import Prior
from constrain.papers.drafting.pruned import PrunedRetrieval
from constrain.papers.drafting.recycling import Recycling
from constrain.papers.drafting.retrieval import Retrieval
from constrain.sampling.core.registry import Registry
from constrain.speculative.drafter import Drafter
from constrain.speculative.drafters.forced import Forced
from constrain.speculative.drafters.lookup import Lookup
from constrain.speculative.drafters.model import Model
from constrain.speculative.drafters.translated import Translated

NAMED: Registry[Callable[[], Drafter]] = Registry(
    "drafter",
    {each.name: each for each in (Edit, Forced, Jacobi, Lookup, NGramDrafter, Prior, Recycling, Retrieval)},
)
AUTO = ("forced", "lookup")  # what draft="auto" stands for


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
    return NAMED.named(name, also=["auto"])()


__all__ = [
    "AUTO",
    "Edit",
    "Forced",
    "Heads",
    "Jacobi",
    "Lookup",
    "Model",
    "NAMED",
    "NGramDrafter",
    "Prior",
    "PrunedRetrieval",
    "Recycling",
    "Retrieval",
    "Translated",
    "drafter_named",
]
