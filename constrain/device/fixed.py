"""Forwards of fixed shape: a session of trees whose forward is a CUDA graph.

The idea: a forward of a small model is Python and launches, not arithmetic. A graph launches all of it at once, if
shapes and addresses stay: so rows, new slots and the memory behind them are rounded up to a few sizes, keys and values
of all layers are one tensor, and what differs from step to step is one small tensor of integers, from which the
device makes positions, masks and the slots to write. Nothing waits for the host.

    FixedForward    the forwards of one model: memories by their sizes, a graph for each shape
    FixedMemory          keys and values of some rows; one session has them at a time, others put theirs by
    _read           a forward: what a graph is captured of
    compacted       the kept paths of trees moved together, as the walk of the device tells them (`walk.Out.moved`)

Sessions are in fixed_session.py.

Cost: attention over all slots of the memory, and logits of all new places of a step. On a CPU, where launches are
cheap, that is more than it spares, so `HFModel.fixed` is None there (docs/notes/0051-forwards-of-fixed-shape.md).
Limit: decoders of token ids alone whose layers have equal shapes and read masks of four dimensions; experts that
transformers chooses on the host are found out by a trial. A graph runs what was captured: after a change of the model
other than of its weights in place (an adapter, say) `handle.fixed` is to be set anew. Graphs themselves have run in
tests as records of operators, not on a GPU: `make gpu` does that.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from transformers.cache_utils import DynamicCache, DynamicLayer

from constrain.device.graphs import USES, Captured, Kept, NothingWaits
from constrain.errors import ConstrainError
from constrain.models.hf.grouped import grouped
from constrain.models.hf.model import HFModel
from constrain.models.hf.tree import ancestors, masks_of
from constrain.sampling.fused.batch import NONE

if TYPE_CHECKING:
    from constrain.device.fixed_session import FixedSession

GRAPH_BYTES = 2 << 30  # of the logits of all graphs of a memory
CPU_BYTES = 2 << 30  # of all memories without a GPU; on one, half of what was free

Capture = Callable[[Callable[[], torch.Tensor]], Callable[[], torch.Tensor]]


class Sizes(NamedTuple):
    """The shapes of forwards: each count of a step is rounded up to one of these.

    rows: of a memory. slots: of a memory; the last slot is for what nobody reads. new: slots that a forward fills in
    each row; longer texts are read piece by piece. logits: of a longer forward, the last places that have logits, if no
    more are wanted.
    """

    rows: Sequence[int] = (1, 4, 16, 64)
    slots: Sequence[int] = (512, 2048, 8192)
    new: Sequence[int] = (1, 4, 8, 16, 32, 128, 512)
    logits: int = 32


class FixedLayer(DynamicLayer):
    """One layer of a memory: new keys and values are written at the places of the forward; all slots are returned."""

    def __init__(self, memory: FixedMemory, index: int) -> None:
        super().__init__()
        self.memory, self.index = memory, index
        self.is_initialized = True

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """keys, values: float[B, heads, T, size] → float[B, heads, S, size] of each."""
        memory = self.memory
        layer, pair, rows, heads = memory.axes
        given = torch.stack([key_states, value_states])
        # Written to the whole and not to a view of it, which torch would compile to copies of the whole.
        memory.states.index_put_((layer[self.index], pair, rows, heads, memory.places), given)
        keys, values = memory.states[self.index].unbind(0)
        return keys, values

    def get_seq_length(self) -> int:
        """Nothing: positions and masks are given."""
        return 0


class FixedMemory:
    """Keys and values of B rows of S slots, in which one session at a time has its rows.

    states: float[layers, 2, B, heads, S, size]. given: int32[B · columns], what a step uploads. places: int64[B, 1, T],
    where the forward that runs writes. graphs: by shape, the forwards and compactions that were captured.
    """

    def __init__(self, shape: Sequence[int], columns: int, dtype: torch.dtype, device: torch.device) -> None:
        self.states = torch.zeros(tuple(shape), dtype=dtype, device=device)
        self.rows, self.slots = shape[2], shape[4]
        self.given = torch.zeros(self.rows * columns, dtype=torch.int32, device=device)
        self.places = torch.zeros((self.rows, 1, 1), dtype=torch.int64, device=device)
        self.axes = [
            torch.arange(n, device=device).view(-1, *[1] * k) for n, k in zip(shape, (0, 3, 2, 1), strict=False)
        ]
        self.graphs: Kept[Any, Callable[[], torch.Tensor]] = Kept(GRAPH_BYTES, USES)
        self.cache = DynamicCache()
        self.cache.layers = [FixedLayer(self, index) for index in range(shape[0])]
        self._owner: Callable[[], FixedSession | None] = lambda: None

    def taken(self, session: FixedSession, states: torch.Tensor | None) -> None:
        """Let a session have the rows. states: what it has read, float[layers, 2, rows, heads, slots, size]."""
        before = self._owner()
        if before is not None and before.memory is self:
            before.put_by()
        self._owner = weakref.ref(session)
        self.states.zero_()  # what another session left may be NaN, which no mask hides
        if states is not None:
            self.write(states)

    def write(self, states: torch.Tensor) -> None:
        """Keys and values of the first rows and slots."""
        self.states[:, :, : states.shape[2], :, : states.shape[4]] = states

    def uploaded(self, host: np.ndarray) -> None:
        """Copy int32[B, columns] to where the forwards read it."""
        rows = torch.from_numpy(host.ravel())
        rows = rows.pin_memory() if self.given.is_cuda else rows
        self.given[: len(rows)].copy_(rows, non_blocking=True)


class FixedForward:
    """The forwards of fixed shape of one model, for one stream of a device.

    Args:
        handle: The model; it is not kept.
        capture: Makes a function that runs again what another one ran, at the same addresses; by default a CUDA graph
            on a GPU, and nothing elsewhere: then every forward is launched anew.
        compiled: `torch.compile` fuses what is captured; that takes seconds to minutes for each shape.
        sizes: The shapes.

    Raises:
        ConstrainError: The model has no such forwards.

    Example:
        >>> import constrain
        >>> handle = HFModel.of(constrain.reference.load())
        >>> FixedForward(handle).shape  # layers, heads of keys, size of each
        (4, 2, 64)
    """

    def __init__(
        self, handle: HFModel, capture: Capture | None = None, compiled: bool = False, sizes: Sizes | None = None
    ) -> None:
        device = handle.model.device
        on_gpu = device.type == "cuda"
        if capture is None and on_gpu:
            capture = partial(Captured, pool=torch.cuda.graph_pool_handle())
        self.capture, self.sizes, self.lock = capture, sizes or Sizes(), threading.RLock()
        self.run = torch.compile(_read, mode="max-autotune-no-cudagraphs", dynamic=False) if compiled else _read
        self.watched = False  # forwards run one by one, and may not wait
        self.shape = _layers(handle)
        self.open = True  # False once the device had no memory: sessions go on elsewhere
        self.memories: Kept[Any, FixedMemory] = Kept(torch.cuda.mem_get_info(device)[0] // 2 if on_gpu else CPU_BYTES)

    def memory(self, handle: HFModel, rows: int, slots: int) -> FixedMemory | None:
        """A memory of at least so many rows and slots; None: it never fits. Raises OutOfMemoryError."""
        layers, heads, size = self.shape
        shape = (layers, 2, size_for(rows, self.sizes.rows), heads, size_for(slots, self.sizes.slots), size)
        make = partial(FixedMemory, shape, 2 + 2 * self.sizes.new[-1], handle.model.dtype, handle.model.device)
        return self.memories.get((shape[2], shape[4]), math.prod(shape) * handle.model.dtype.itemsize, make)

    def read(self, handle: HFModel, memory: FixedMemory, rows: np.ndarray, wanted: int) -> torch.Tensor:
        """Logits float[B, wanted, width] of the last of the new slots. rows: int32[B, 2 + 2 T], see `_read`."""
        given = (handle.model, memory, rows.shape[1], wanted, handle.windows, handle.memory)
        size = len(rows) * wanted * handle.width * handle.model.dtype.itemsize
        run = partial(self.run, *given)
        with grouped(masked=True):
            graph = self._graph(memory, ("read", rows.shape[1], wanted), size, run)
            memory.uploaded(rows)
            if graph is not None:
                return graph().clone()  # the next forward of this shape writes there
            if not self.watched:
                return run()
            with NothingWaits():  # before anything is compiled: torch compiles nothing that it met under a mode
                return _read(*given)

    def compact(self, memory: FixedMemory, rows: np.ndarray) -> None:
        """Move the kept paths together. rows: int32[B, 2 + P], see `compacted`."""
        run = partial(compacted, memory, rows.shape[1])
        graph = self._graph(memory, ("compact", rows.shape[1]), 0, run)
        memory.uploaded(rows)
        (graph or run)()

    def _graph(
        self, memory: FixedMemory, key: Any, size: int, run: Callable[[], torch.Tensor]
    ) -> Callable[[], torch.Tensor] | None:
        capture = self.capture
        if capture is None:
            return None

        def make() -> Callable[[], torch.Tensor]:
            memory.given.zero_()  # rows without new tokens: running this changes nothing that is read
            return capture(run)

        return memory.graphs.get(key, size, make)


def _read(
    model: Any, memory: FixedMemory, columns: int, wanted: int, windows: dict[str, int | None] | None, argument: str
) -> torch.Tensor:
    """One forward; logits float[B, wanted, width].

    What the memory was given is int32[B, 2 + 2 T]: by row its length before, how many of the last slots are new, then
    of each new slot the token and the slot before it (`aligned`).
    """
    given = memory.given[: memory.rows * columns].view(memory.rows, columns).long()
    length, count = given[:, :1], given[:, 1:2]
    tokens, above = given[:, 2:].chunk(2, dim=1)
    seen, depths = ancestors(above)
    new = torch.arange(tokens.shape[1], device=given.device)
    before = tokens.shape[1] - count  # slots without a token
    real = new >= before
    positions = (length + depths) * real
    memory.places = torch.where(real, length + new - before, memory.slots - 1).unsqueeze(1)
    slots = torch.arange(memory.slots, device=given.device)
    column = slots - length + before  # of the new slots, which a slot of the memory is
    inside = (slots >= length) & (column < tokens.shape[1])
    column = column.clamp(0, tokens.shape[1] - 1)
    at = column.unsqueeze(1).expand(-1, tokens.shape[1], -1)
    visible = (slots < length).unsqueeze(1) | (seen.gather(2, at) & inside.unsqueeze(1))
    keys = torch.where(slots < length, slots, positions.gather(1, column))
    masks = masks_of(windows, visible, positions, keys, model.dtype)
    arguments = {"attention_mask": masks, "position_ids": positions, argument: memory.cache}
    if wanted < tokens.shape[1]:
        arguments["logits_to_keep"] = wanted
    logits: torch.Tensor = model(input_ids=tokens, use_cache=True, **arguments).logits
    return logits


def compacted(memory: FixedMemory, columns: int) -> torch.Tensor:
    """Move the kept nodes of trees to the front of their slots, in all layers at once; returns the states.

    What the memory was given is int32[B, 2 + P]: by row the slot of the first node, the number of nodes, and `moved`,
    the nodes of the path in order, then NONE (`walk.Out.moved`). The slots of the others are emptied: where
    they are NaN, no mask would hide them from a row that is copied into this one.
    """
    given = memory.given[: memory.rows * columns].view(memory.rows, columns).long()
    start, count, moved = given[:, :1], given[:, 1:2], given[:, 2:]
    order = torch.arange(moved.shape[1], device=given.device)
    places = torch.where(order < count, start + order, memory.slots - 1)

    def along(places: torch.Tensor) -> torch.Tensor:
        layers, two, rows, heads, _, size = memory.states.shape
        return places[None, None, :, None, :, None].expand(layers, two, rows, heads, -1, size)

    kept = memory.states.gather(4, along(start + moved.clamp(min=0)))
    return memory.states.scatter_(4, along(places), kept.masked_fill_(along(moved == NONE), 0))


def _layers(handle: HFModel) -> tuple[int, int, int]:
    """Layers, heads of keys, and the size of each. Raises ConstrainError: the model cannot be read in fixed shapes."""
    reason = ""
    if handle.encodes:
        reason = "its encoder reads a text of its own, of any length"
    elif type(handle).opened is not HFModel.opened:
        reason = "it reads images beside tokens"
    elif not handle.branching:
        reason = "it does not read trees, which takes masks of four dimensions and positions"
    else:
        cache, ids = DynamicCache(), torch.zeros((1, 2), dtype=torch.int64, device=handle.model.device)
        with torch.inference_mode():
            handle.model(input_ids=ids, use_cache=True, **{handle.memory: cache})
        states = [each for layer in cache.layers for each in (layer.keys, layer.values)]
        if all(each is not None and each.shape == states[0].shape for each in states):
            return len(cache.layers), states[0].shape[1], states[0].shape[3]
        reason = "its layers remember keys and values of several shapes"
    raise ConstrainError(
        f"{type(handle.model).__name__} has no forwards of fixed shape: {reason}",
        place="model",
        fix="read it by HFModel.open and HFModel.start, which take every model",
    )


def size_for(count: int, sizes: Sequence[int]) -> int:
    """The smallest size that holds so many."""
    return next(size for size in sizes if size >= count)
