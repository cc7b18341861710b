"""Drafters, one method a file; `NAMED` is the table of the names that `generate(draft=...)` knows.

takes: `Context`s (the sequence, its matcher, the hints). gives: `DraftTree`s
start reading at: ../drafter.py (what a drafter is), then lookup.py; for drafters that learn, grow.py and tables.py
"""

from __future__ import annotations

from collections.abc import Callable

from constrain.errors import ConstrainError
from constrain.speculative.drafter import Drafter
from constrain.speculative.drafters.forced import Forced
from constrain.speculative.drafters.heads import Heads
from constrain.speculative.drafters.lookup import Lookup
from constrain.speculative.drafters.model import Model
from constrain.speculative.drafters.ngram import NGramDrafter
from constrain.speculative.drafters.prior import Prior
from constrain.speculative.drafters.recycling import Recycling
from constrain.speculative.drafters.translated import Translated

NAMED: dict[str, Callable[[], Drafter]] = {
    drafter.name: drafter for drafter in (Forced, Lookup, NGramDrafter, Prior, Recycling)
}
AUTO = ("forced", "lookup")  # what draft="auto" stands for


def drafter_named(name: str) -> Drafter:
    """A new drafter of that name. Raises ConstrainError with the known names."""
    if name not in NAMED:
        raise ConstrainError(f"there is no drafter {name!r}", fix=f"choose one of: auto, {', '.join(sorted(NAMED))}")
    return NAMED[name]()


__all__ = [
    "AUTO",
    "Forced",
    "Heads",
    "Lookup",
    "Model",
    "NAMED",
    "NGram",
    "Prior",
    "Recycling",
    "Translated",
    "drafter_named",
]
