"""Draft trees on a Hugging Face model: one forward reads all branches, one path of it is kept.

The idea: the nodes of a tree are further slots of the cache. A mask over query and key slots shows each node its
ancestors and nothing of other branches, and its position is its depth, so its logits are those of the path alone
(tree attention: Miao et al. 2024, "SpecInfer", section 4). What a verdict keeps is gathered to the front of the new
slots, the rest is cut off.
Rows of a batch have their own trees and keep paths of their own lengths. As in model.py, shorter rows have holes that
the mask hides; when holes are many they are squeezed out.

A chain needs no such mask: it is read as any text is, with a mask over slots. So the first read of a prompt, and models
that know no other mask, take the plain way. Whether a model reads trees right is tried once, on three nodes.

Layers with a window would forget what a refused branch pushed out. So all layers keep everything here, and the mask of
a layer with a window hides what lies too far back, in tokens, not in slots.

Cost: one forward; a gather of the new slots; squeezing copies what the rows hold. With windows a cache of the whole
text, where plain decoding keeps the window's. Limit: as of model.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from transformers import DynamicCache

from constrain.models.hf.cache import own_layers
from constrain.models.hf.hidden import watched
from constrain.models.hf.model import HFModel, fixed_sessions
from constrain.models.hf.session import FILL, HFSession
from constrain.sampling.core.chains import ForkSession
from constrain.sampling.core.model import Hidden, TreeSession
from constrain.speculative.tree import ROOT, Ints

SLACK = 64  # holes that are not worth squeezing out
_tried: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()  # by model: it reads trees right


class FirstLayersRead(Protocol):
    """The first layers of a model after they read the new slots: a forward pass of the whole goes on behind them."""

    def resume(
        self, cache: Any, rows: Sequence[Sequence[int]], parents: Sequence[Ints], wanted: int, arguments: dict[str, Any]
    ) -> Any:
        """The output of the forward pass. See `constrain/papers/layers/shallow.py`."""


def open_trees(handle: HFModel, rows: int) -> TreeSession:
    """A session of so many empty rows; one that reads chains only where the model cannot grow ragged or remember."""
    if handle.fixed is not None:
        session: TreeSession = fixed_sessions.FixedSession(handle, rows, handle.fixed)
        return session
    if handle.windows is not None:
        return HFTreeSession(handle, rows) if handle.branching else ForkSession(handle, rows)
    remembers = handle.ragged and handle.reading.argument is not None
    return HFTreeSession(handle, rows) if remembers else ForkSession(handle, rows)


def reads_trees(handle: HFModel) -> bool:
    """True if logits of a tree are those of its paths, for this model; found by three small forward passes."""
    if handle.windows is None and not (handle.ragged and handle.reading.positions):
        return False
    known = _tried.get(handle.model)
    if known is None:
        try:
            known = tried(handle, HFTreeSession(handle, 1))
        except Exception:  # whatever a model has against a mask of four dimensions, it reads chains
            known = False
        _tried[handle.model] = known
    return known


def tried(handle: HFModel, session: TreeSession) -> bool:
    """True if logits of a small tree in a session of one row, and behind it, are those of its paths."""
    begin, x, y, z, end = (i % handle.width for i in (1, 2, 3, 4, 5))
    tokens, parents = np.array([x, y, z], np.int32), np.array([ROOT, ROOT, 1], np.int32)  # x | y z
    source = handle.trial_source(0)
    (found,) = session.forward([[*source, begin, begin]], [1], [tokens], [parents])
    session.commit([[1, 2]])
    (after,) = session.forward([[end]], [1], [tokens[:0]], [parents[:0]])
    (first,) = handle.read([[*source, begin, begin, x]])
    (second,) = handle.read([[*source, begin, begin, y, z, end]])
    return but_for_rounding(torch.cat([found[1:], after]), torch.cat([first[-1:], second[-3:]]))


def but_for_rounding(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """True if logits of a whole model differ by rounding only.

    Of 16 bits it grows within 18 layers to six units of the last place, of 32 within 30 to 1.3 times eps ** 0.75; a
    wrong mask moves logits by wholes.
    """
    of_type = torch.finfo(expected.dtype)
    precision = of_type.eps ** (0.6 if of_type.bits == 16 else 0.65) * max(1.0, float(expected.abs().max()))
    return bool(((found - expected).abs() < precision).all())


class HFTreeSession(HFSession):
    """A batch that grows by trees; see `constrain.speculative.TreeSession`."""

    def __init__(self, handle: HFModel, rows: int) -> None:
        self.windows = handle.windows
        all_kept = handle.plainly._replace(positions=True, padded=True, ragged=True)
        super().__init__(handle, rows, handle.reading if self.windows is None else all_kept)
        self._before = self.slots  # before the last forward
        self._chunks: list[int] = []  # what the last forward read: lengths of chunks, and of trees
        self._nodes: list[int] = []
        self.keep_hidden: Hidden = False  # see `TreeSession`
        self.hidden: list[torch.Tensor] | None = None
        self.shallow: FirstLayersRead | None = None  # what the first layers have read already of what comes next

    @property
    def forwards(self) -> Sequence[int]:
        return [int(chunk > 0) for chunk in self._chunks]

    def fork(self, rows: Sequence[int]) -> HFTreeSession:
        twin = super().fork(rows)
        trees = HFTreeSession(self.handle, 0)
        trees.cache, trees._held, trees.slots, trees.keep_hidden = twin.cache, twin._held, twin.slots, self.keep_hidden
        trees.beside = twin.beside
        return trees

    @torch.inference_mode()
    def forward(
        self, chunks: Sequence[Sequence[int]], keep: Sequence[int], tokens: Sequence[Ints], parents: Sequence[Ints]
    ) -> list[torch.Tensor]:
        if not isinstance(self.keep_hidden, (bool, tuple)):
            return self.keep_hidden.read(self, chunks, keep, tokens, parents)
        self._before = self.slots
        chunks = self._opened(chunks)
        self._chunks, self._nodes = list(map(len, chunks)), list(map(len, tokens))
        rows = [[*chunk, *nodes.tolist()] for chunk, nodes in zip(chunks, tokens, strict=True)]
        wanted = [kept + nodes for kept, nodes in zip(keep, self._nodes, strict=True)]
        chains = all((each == np.arange(-1, len(each) - 1)).all() for each in parents)
        shallow, self.shallow = self.shallow, None
        if shallow is not None and self.keep_hidden is False:
            return self._read(rows, wanted, parents, shallow)
        with watched(self.handle, self.keep_hidden) as seen:
            # a window is counted in slots where a mask over slots is given: right as long as no row has holes
            plainly = chains and (self.windows is None or not self.slots.width)
            logits = super().feed(rows, wanted) if plainly else self._read(rows, wanted, parents)
        if self.keep_hidden is True and seen:
            self.hidden = [row[row.shape[0] - k :] for row, k in zip(seen[-1], wanted, strict=True)]
        elif seen:
            read = torch.cat(seen, dim=1)
            self.hidden = [hidden[hidden.shape[0] - len(row) :] for hidden, row in zip(read, rows, strict=True)]
        return logits

    def _read(
        self, rows: list[list[int]], wanted: list[int], parents: Sequence[Ints], shallow: FirstLayersRead | None = None
    ) -> list[torch.Tensor]:
        """The forward of trees that branch. shallow: what the first layers made of them, where that is known."""
        tokens, above = torch.from_numpy(aligned(rows, parents, max(map(len, rows)))).to(self.device)
        seen, depths = ancestors(above)
        past = self.slots.attention.bool().unsqueeze(1).expand(-1, seen.shape[1], -1)
        positions = self.slots.lengths.unsqueeze(1) + depths
        arguments = {
            "input_ids": tokens,
            "attention_mask": self.masks(torch.cat([past, seen], dim=2), positions),
            "position_ids": positions,
        }
        if shallow is None:
            output = self.call(wanted=max(wanted), **arguments)
        else:
            output = shallow.resume(self.cache, rows, parents, max(wanted), arguments)
        return [logits[logits.shape[0] - k :] for logits, k in zip(output.logits, wanted, strict=True)]

    def masks(self, visible: torch.Tensor, positions: torch.Tensor) -> Any:
        """Make the mask of a forward: one, or one for each kind of layers.

        visible: bool[B, queries, keys]. positions: int64[B, queries]
        """
        keys = torch.cat([self.slots.attention.cumsum(1) - 1, positions], dim=1)
        return masks_of(self.windows, visible, positions, keys, self.handle.model.dtype)

    def new_cache(self) -> Any:
        return DynamicCache() if self.windows is not None else super().new_cache()

    @torch.inference_mode()
    def commit(self, paths: Sequence[Sequence[int]]) -> None:
        self.shallow = None
        before = self._before
        rows = list(zip(self._chunks, self._nodes, paths, strict=True))
        slots = max(chunk + nodes for chunk, nodes, _ in rows)
        kept: list[list[int]] = []  # by row, the new slots that stay
        for chunk, nodes, path in rows:
            tree = slots - nodes
            kept.append([*range(tree - chunk, tree), *(tree + node for node in path)])
        after = before.more(list(map(len, kept)))
        if after.width - after.longest > SLACK + before.width // 4:
            shared = self._shared()
            own = before.width - shared
            held = before.attention[:, shared:].tolist()
            kept = [
                [slot for slot, real in enumerate(row) if real] + [own + slot for slot in new]
                for row, new in zip(held, kept, strict=True)
            ]
            slots += own
            after = before.first(shared).more(list(map(len, kept)))
        self._keep(kept, slots, max(map(len, kept)))
        self.slots = after

    def _shared(self) -> int:
        """Slots of a beginning that rows have in common (cache.py)."""
        stem = getattr(own_layers(self.cache)[0], "stem_keys", None)
        return 0 if stem is None else int(stem.shape[-2])

    def _keep(self, kept: list[list[int]], slots: int, width: int) -> None:
        """Of the last `slots` slots keep some of each row, aligned to the right of `width` slots.

        Writes into tensors that the last forward made, which nothing else holds.
        """
        in_place = all(row == list(range(width)) for row in kept)
        index = torch.tensor([[0] * (width - len(row)) + row for row in kept], dtype=torch.int64, device=self.device)
        for layer in own_layers(self.cache):
            for name in ("keys", "values"):
                states = getattr(layer, name)  # [B, heads, all own slots, size]
                start = states.shape[-2] - slots
                if not in_place:
                    places = (index + start)[:, None, :, None].expand(-1, states.shape[1], -1, states.shape[-1])
                    states[..., start : start + width, :] = states.gather(2, places)
                setattr(layer, name, states[..., : start + width, :])

    @torch.inference_mode()
    def select(self, rows: Sequence[int]) -> None:
        self.shallow = None
        if list(rows) != list(range(self.rows)):
            super().select(rows)


def masks_of(
    windows: Mapping[str, int | None] | None,
    visible: torch.Tensor,
    positions: torch.Tensor,
    keys: torch.Tensor,
    dtype: torch.dtype,
) -> Any:
    """Make the mask of a forward: one, or one for each kind of layers.

    windows: of `HFModel.windows`. visible: bool[B, queries, keys]. positions, keys: int64[B, queries], int64[B, keys]
    """
    if windows is None:
        return additive(visible, dtype)
    distance = positions.unsqueeze(2) - keys.unsqueeze(1)
    masks = {
        kind: additive(visible if window is None else visible & (distance < window), dtype)
        for kind, window in windows.items()
    }
    return masks.get("", masks)


def additive(visible: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """float[B, 1, queries, keys] to add to scores, of bool[B, queries, keys]."""
    mask = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
    return mask.masked_fill_(~visible, torch.finfo(dtype).min).unsqueeze(1)


def aligned(rows: Sequence[Sequence[int]], parents: Sequence[Ints], slots: int) -> np.ndarray:
    """The tokens of new slots and the slots before them, int64[2, B, slots]: rows are aligned to the right.

    rows: of each a chunk, then the nodes of a tree. parents: of the nodes (`TreeSession.forward`). What follows
    the text that was read before has itself before it, and so have the slots to its left, with the token `FILL`.
    """
    tokens = np.full((len(rows), slots), FILL, np.int64)
    above = np.tile(np.arange(slots, dtype=np.int64), (len(rows), 1))
    for i, (row, before) in enumerate(zip(rows, parents, strict=True)):
        start, tree = slots - len(row), slots - len(before)
        tokens[i, start:] = row
        above[i, start + 1 : tree] -= 1
        after = np.arange(tree, slots) if tree == start else tree - 1  # what follows the text that was read before
        above[i, tree:] = np.where(before == ROOT, after, tree + before)
    return np.stack([tokens, above])


def ancestors(above: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The slots that each slot sees, bool[B, slots, slots], itself and those before it; and their number before it.

    above: int64[B, slots], the slot before each; its own where none is. Both double at each turn: what a slot sees
    sees as far as the slot itself.
    """
    rows, slots = above.shape
    seen = torch.eye(slots, dtype=torch.bool, device=above.device).repeat(rows, 1)  # of the slots of all rows
    above = (above + torch.arange(0, rows * slots, slots, device=above.device).unsqueeze(1)).flatten()
    for _ in range(max(1, slots - 1).bit_length()):
        seen |= seen[above]
        above = above[above]
    seen = seen.unflatten(0, (rows, slots))
    return seen, seen.sum(2) - 1
