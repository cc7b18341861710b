"""The protocol of reading a model: its arguments beside token ids, its memory, the effect of padding.

    ragged      rows are padded and grow by different lengths: the slots without a token change nothing
    padded      rows are padded on the left in the first forward, and grow by equal lengths
    (neither)   rows of equal lengths are read together; those of a model that is not `batched` each alone
    no argument nothing can be remembered: whole texts are read again

trials.py finds the one that holds for a model.
"""

from __future__ import annotations

from typing import NamedTuple

from constrain.models.hf.memory import Axes


class CacheProtocol(NamedTuple):
    """A way to read a model.

    argument: the name under which a forward takes and returns what it remembers; None if nothing is
    given: the first forward is given an empty cache; if not, it makes what it returns
    chunks: several tokens at once may follow what is remembered; if not, one by one
    mask: "always", "first" (in the first forward only) or "never"
    positions: `position_ids` are given
    batched, padded, ragged: see the module
    axes: where the rows are in what is remembered, for caches that cache.py does not know
    held: dotted names of the tensors that the model keeps in attributes of its modules
    """

    argument: str | None
    given: bool = False
    chunks: bool = True
    mask: str = "always"
    positions: bool = False
    batched: bool = True
    padded: bool = False
    ragged: bool = False
    axes: Axes = {}  # noqa: RUF012  (never written to)
    held: tuple[str, ...] = ()


REREAD = CacheProtocol(None, mask="never", padded=True, ragged=True)
