"""Drafters, one method a file; `NAMED` is the table of the names that `generate(draft=...)` knows.

takes: `Context`s (the sequence, its matcher, the hints). gives: `DraftTree`s
start reading at: ../drafter.py (what a drafter is), then lookup.py; for drafters that learn, grow.py and tables.py
"""

from __future__ import annotations

from collections.abc import Callable

from constrain.sampling.core.registry import Registry
from constrain.speculative.drafter import Drafter
from constrain.speculative.drafters.edit import Edit
from constrain.speculative.drafters.forced import Forced
from constrain.speculative.drafters.heads import Heads
from constrain.speculative.drafters.jacobi import Jacobi
from constrain.speculative.drafters.lookup import Lookup
from constrain.speculative.drafters.model import Model
from constrain.speculative.drafters.ngram import NGramDrafter
from constrain.speculative.drafters.prior import Prior
from constrain.speculative.drafters.pruned import PrunedRetrieval
from constrain.speculative.drafters.recycling import Recycling
from constrain.speculative.drafters.retrieval import Retrieval
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
