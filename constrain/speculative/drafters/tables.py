"""Tables of drafters that learn from verified trees, one for each compiled constraint.

`likeliest` reads the target's logits at every place of a verified tree: also where a branch was not taken they say what
the target would have written there. Masked and shaped as the target is, since only legal tokens can be drafted.
`DraftTables` keeps one table for each constraint while the engine keeps its rules, which equal constraints share:
states of two constraints are unrelated, and a later request finds those of an earlier one.

Cost of `likeliest`: a softmax and a top-k over the vocabulary a place, the masks of these places once more (cached by
the engine); once a step, however many drafters ask. Limit: tables hold so many entries, and forget the oldest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import torch

from constrain.lazily import Remembered
from constrain.masks.engine.narrowed import engine_of
from constrain.sampling.bitmask.apply import bitmask_words, masked_logits
from constrain.sampling.core.logits import scaled
from constrain.speculative.drafter import Context, Outcome
from constrain.speculative.tree import NONE

KEPT = 8  # candidates that are read off the logits at a place
ENTRIES = 1 << 16  # of a table

T = TypeVar("T")
Tops = dict[int, list[tuple[int, float]]]  # by place: (token, probability), the likeliest first


class DraftTable(Remembered[Hashable, T]):
    """A dict of limited size."""

    def __init__(self) -> None:
        super().__init__(ENTRIES)


def constraint_of(context: Context) -> Any:
    """The compiled constraint of a sequence; None where it has none, or one of another make."""
    engine = engine_of(context.matcher)
    return None if engine is None else engine.compiled


class DraftTables(Generic[T]):
    """A table for each constraint; one for all sequences that have none, or one of another make."""

    def __init__(self, new: Callable[[], T]) -> None:
        self._new = new
        self._other = new()
        self._known: WeakKeyDictionary[Any, T] = WeakKeyDictionary()

    def of(self, context: Context) -> T:
        """The table of a sequence's constraint."""
        compiled = constraint_of(context)
        if compiled is None:
            return self._other
        found = self._known.get(compiled.rules)
        if found is None:
            found = self._known[compiled.rules] = self._new()
        return found


def likeliest(outcome: Outcome) -> Tops:
    """The likeliest tokens of the masked target at every place that was read and leaves a choice."""
    context, tree = outcome.context, outcome.tree
    known = context.memo.get(likeliest)
    if known is not None and known[0] is tree:
        found: Tops = known[1]
        return found
    logits_rows = tree.logits_rows
    places = np.flatnonzero((logits_rows != NONE) & (tree.forced == NONE)).tolist()
    found = _read(outcome, places, logits_rows[places].tolist()) if places else {}
    context.memo[likeliest] = (tree, found)
    return found


def _read(outcome: Outcome, places: list[int], rows: list[int]) -> Tops:
    setting, tree = outcome.context.setting, outcome.tree
    logits = scaled(outcome.logits[rows], setting.settings.temperature)
    columns = None
    if outcome.context.matcher is None:
        logits = logits[:, : setting.size]
    else:
        masks = np.zeros((len(places), bitmask_words(setting.size)), np.uint32)
        setting.fill_masks([tree.matchers[place] for place in places], masks)
        logits, columns = masked_logits(logits, masks, setting.size)
    top = torch.topk(logits, min(KEPT, logits.shape[1]))
    chances = (top.values - logits.logsumexp(-1, keepdim=True)).exp()
    tokens = top.indices if columns is None else columns[top.indices]
    return {
        place: [(token, chance) for token, chance in zip(*pair, strict=True) if chance > 0]  # NaN: a dead end
        for place, *pair in zip(places, tokens.tolist(), chances.tolist(), strict=True)
    }
