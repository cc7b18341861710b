"""Forwards of fixed shape: a session of trees whose forward is a CUDA graph.

The idea: a forward of a small model is Python and launches, not arithmetic. A graph launches all of it at once, if
shapes and addresses stay: so rows, new slots and the memory behind them are rounded up to a few sizes, keys and values
of all layers are one tensor, and what differs from step to step is one small tensor of integers, from which the
device makes positions, masks and the slots to write. Nothing waits for the host.

    FixedForward    the forwards of one model: memories by their sizes, a graph for each shape
    Memory          keys and values of some rows; one session has them at a time, others put theirs by
    FixedSession    a `TreeSession` on them. What does not fit goes on in the session of tree.py, with what it has read

A row has no holes: its tokens are its first slots. New ones are written behind them, whatever the rows' lengths; of a
tree the kept path is moved together (`compacted`), as the walk of the device tells it (`walk.Out.moved`).

Cost: attention over all slots of the memory, and logits of all new places of a step. On a CPU, where launches are
cheap, that is more than it spares, so `HFModel.fixed` is None there (docs/notes/0051-forwards-of-fixed-shape.md).
Limit: decoders of token ids alone whose layers have equal shapes and read masks of four dimensions; experts that
transformers chooses on the host are found out by a trial. Graphs themselves have run in tests as records of operators,
not on a GPU: `make gpu` does that.
"""

from __future__ import annotations

import logging
import math
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers.cache_utils import DynamicCache, DynamicLayer

from constrain.errors import ConstrainError
from constrain.models.hf.model import HFModel
from constrain.models.hf.slots import Slots
from constrain.models.hf.tree import HFTreeSession, aligned, ancestors, masks_of, tried
from constrain.sampling.fused.batch import NONE, sent
from constrain.sampling.fused.graphs import USES, Captured, Kept
from constrain.speculative.tree import Ints

ROWS = (1, 4, 16, 64)  # of a memory
NEW = (1, 4, 8, 16, 32, 128, 512)  # slots that a forward fills in each row; longer texts are read piece by piece
LOGITS = 32  # new places of a longer forward that have logits, if no more are wanted
SLOTS = (512, 2048, 8192)  # of a memory, the last of them for what nobody reads
GRAPH_BYTES = 2 << 30  # of the logits of all graphs of a memory
CPU_BYTES = 2 << 30  # of all memories without a GPU; on one, half of what was free
WAITS = {"_local_scalar_dense", "nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "equal"}

_log = logging.getLogger(__name__)

Capture = Callable[[Callable[[], torch.Tensor]], Callable[[], torch.Tensor]]


class Waits(RuntimeError):
    """An operator waits for the host, or moves a tensor between devices."""


class NothingWaits(TorchDispatchMode):
    """Raises Waits in its block at the first operator for which the host would wait."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        by_truth = name in ("index", "index_put", "index_put_") and any(_is(each, torch.bool) for each in args[1])
        devices = {each.device for each in tree_leaves(out) if _is(each)}
        devices |= {each.device for each in tree_leaves((args, kwargs)) if _is(each) and each.ndim}
        if name in WAITS or by_truth or len(devices) > 1:
            raise Waits(f"the operator {name} waits for the host")
        return out


def _is(each: Any, dtype: torch.dtype | None = None) -> bool:
    return isinstance(each, torch.Tensor) and dtype in (None, each.dtype)


class FixedLayer(DynamicLayer):
    """One layer of a memory: new keys and values are written at the places of the forward; all slots are returned."""

    def __init__(self, memory: Memory, index: int) -> None:
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


class Memory:
    """Keys and values of B rows of S slots, in which one session at a time has its rows.

    states: float[layers, 2, B, heads, S, size]. given: int32, what a step uploads. places: int64[B, T], where the
    forward that runs writes. graphs: by shape, the forwards and compactions that were captured.
    """

    def __init__(self, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> None:
        self.states = torch.zeros(tuple(shape), dtype=dtype, device=device)
        self.rows, self.slots = shape[2], shape[4]
        self.given = torch.zeros(self.rows * (2 + 2 * NEW[-1]), dtype=torch.int32, device=device)
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

    Raises:
        ConstrainError: The model has no such forwards.

    Example:
        >>> import constrain
        >>> handle = HFModel.of(constrain.reference.load())
        >>> session = FixedSession(handle, 1, FixedForward(handle))
        >>> [tuple(logits.shape) for logits in session.feed([[5, 6, 7]], keep=[2])]
        [(2, 3072)]
    """

    def __init__(self, handle: HFModel, capture: Capture | None = None, compiled: bool = False) -> None:
        device = handle.model.device
        on_gpu = device.type == "cuda"
        if capture is None and on_gpu:
            capture = partial(Captured, pool=torch.cuda.graph_pool_handle())
        self.capture, self.lock = capture, threading.RLock()
        self.run = torch.compile(_read, mode="max-autotune-no-cudagraphs", dynamic=False) if compiled else _read
        self.watched = False  # forwards run one by one, and may not wait
        self.shape = _layers(handle)
        self.open = True  # False once the device had no memory: sessions go on elsewhere
        self.memories: Kept[Any, Memory] = Kept(torch.cuda.mem_get_info(device)[0] // 2 if on_gpu else CPU_BYTES)

    @torch.inference_mode()
    def proved(self, handle: HFModel) -> FixedForward:
        """Itself, after a trial of its logits, operators and graphs.

        Raises Waits, ConstrainError, and whatever else a model or a capture has against it.
        """
        for watched in (True, *[False] * USES):
            self.watched = watched
            if not tried(handle, FixedSession(handle, 1, self)) or not self.open:
                raise ConstrainError("its logits are others in a forward of fixed shape", place="model")
        return self

    def session(self, handle: HFModel, rows: int) -> FixedSession:
        """A session of so many empty rows."""
        return FixedSession(handle, rows, self)

    def memory(self, handle: HFModel, rows: int, slots: int) -> Memory | None:
        """A memory of at least so many rows and slots; None: it has no room. Raises OutOfMemoryError."""
        layers, heads, size = self.shape
        shape = (layers, 2, _size(rows, ROWS), heads, _size(slots, SLOTS), size)
        make = partial(Memory, shape, handle.model.dtype, handle.model.device)
        return self.memories.get((shape[2], shape[4]), math.prod(shape) * handle.model.dtype.itemsize, make)

    def read(self, handle: HFModel, memory: Memory, rows: np.ndarray, wanted: int) -> torch.Tensor:
        """Logits float[B, wanted, width] of the last of the new slots. rows: int32[B, 2 + 2 T], see `_read`."""
        given = (handle.model, memory, rows.shape[1], wanted, handle.windows, handle.memory)
        size = len(rows) * wanted * handle.width * handle.model.dtype.itemsize
        graph = self._graph(memory, ("read", rows.shape[1], wanted), size, partial(self.run, *given))
        memory.uploaded(rows)
        if self.watched:
            with NothingWaits():  # before anything is compiled: torch compiles nothing that it met under a mode
                return _read(*given)
        return self.run(*given) if graph is None else graph().clone()  # the next forward of this shape writes there

    def compact(self, memory: Memory, rows: np.ndarray) -> None:
        """Move the kept paths together. rows: int32[B, 2 + P], see `compacted`."""
        run = partial(compacted, memory, rows.shape[1])
        graph = self._graph(memory, ("compact", rows.shape[1]), 0, run)
        memory.uploaded(rows)
        (graph or run)()

    def _graph(
        self, memory: Memory, key: Any, size: int, run: Callable[[], torch.Tensor]
    ) -> Callable[[], torch.Tensor] | None:
        capture = self.capture
        if capture is None:
            return None

        def make() -> Callable[[], torch.Tensor]:
            memory.given.zero_()  # rows without new tokens: running this changes nothing that is read
            return capture(run)

        return memory.graphs.get(key, size, make)


def _read(
    model: Any, memory: Memory, columns: int, wanted: int, windows: dict[str, int | None] | None, argument: str
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


def compacted(memory: Memory, columns: int) -> torch.Tensor:
    """Move the kept nodes of trees to the front of their slots, in all layers at once; returns the states.

    What the memory was given is int32[B, 2 + P]: by row the slot of the first node, the number of nodes, and `moved`,
    the nodes of the path in order, then NONE (`walk.Out.moved`). The slots of the others are emptied: where they are NaN,
    no mask would hide them from a row that is copied into this one.
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


class FixedSession(HFTreeSession):
    """A batch in memories of fixed shape, which goes on as an `HFTreeSession` where it no longer fits.

    lengths: tokens of each row. left: it has gone on so.
    """

    def __init__(self, handle: HFModel, rows: int, fixed: FixedForward) -> None:
        super().__init__(handle, rows)
        self.fixed, self.left = fixed, not fixed.open
        self.lengths = [0] * rows
        self.memory: Memory | None = None
        self._states: torch.Tensor | None = None  # what was read, while another session has the memory
        self._reads: list[int] = []  # forwards of each row in the last call

    @property
    def rows(self) -> int:
        return super().rows if self.left else len(self.lengths)

    @property
    def forwards(self) -> Sequence[int]:
        return super().forwards if self.left else self._reads

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        nothing = [np.empty(0, np.int32)] * len(chunks)
        logits = self.forward(chunks, keep, nothing, nothing)
        self.commit([()] * len(chunks))
        return logits

    @torch.inference_mode()
    def forward(
        self, chunks: Sequence[Sequence[int]], keep: Sequence[int], tokens: Sequence[Ints], parents: Sequence[Ints]
    ) -> list[torch.Tensor]:
        logits = self._fixed(chunks, keep, tokens, parents)
        return super().forward(chunks, keep, tokens, parents) if logits is None else logits

    def _fixed(
        self, chunks: Sequence[Sequence[int]], keep: Sequence[int], tokens: Sequence[Ints], parents: Sequence[Ints]
    ) -> list[torch.Tensor] | None:
        """The logits of `forward`; None: they are not read here, now and from now on."""
        if self.left:
            return None
        with self.fixed.lock:
            self._chunks, self._nodes = list(map(len, chunks)), list(map(len, tokens))
            try:
                if self.keep_hidden is False and max(self._nodes) <= NEW[-1] and self._holds():
                    return self._pieces(chunks, keep, tokens, parents)
            except torch.cuda.OutOfMemoryError:
                self.fixed.open = False
                self.fixed.memories.held.clear()
                _log.warning("the device has no memory for forwards of fixed shape: the model is read without them")
            self.leave()
        return None

    def _holds(self) -> bool:
        """Have a memory for the next forward; False: there is none."""
        slots, memory = 1 + self._used(), self.memory
        if memory is not None and len(self.lengths) <= memory.rows and slots <= memory.slots:
            return True
        if len(self.lengths) > ROWS[-1] or slots > SLOTS[-1] or not self.fixed.open:
            return False
        self.put_by()
        self.memory = self.fixed.memory(self.handle, len(self.lengths), slots)
        if self.memory is not None:
            self.memory.taken(self, self._states)
            self._states = None
        return self.memory is not None

    def _pieces(
        self, chunks: Sequence[Sequence[int]], keep: Sequence[int], tokens: Sequence[Ints], parents: Sequence[Ints]
    ) -> list[torch.Tensor]:
        """Read what is new, the beginnings of long chunks in forwards of their own."""
        counts = [len(chunk) + len(nodes) for chunk, nodes in zip(chunks, tokens, strict=True)]
        first = [count - kept - len(nodes) for count, kept, nodes in zip(counts, keep, tokens, strict=True)]
        heads = [max(0, count - NEW[-1]) for count in counts]  # of each row, tokens that are read before the last piece
        found: list[list[torch.Tensor]] = [[] for _ in chunks]
        self._reads, nothing = [0] * len(chunks), np.empty(0, np.int32)
        for start in [*range(0, max(heads), NEW[-1]), None]:
            begins, ends = heads, counts
            rows, above = [[*c[h:], *t.tolist()] for c, h, t in zip(chunks, heads, tokens, strict=True)], list(parents)
            if start is not None:
                begins = [min(start, head) for head in heads]
                ends = [min(start + NEW[-1], head) for head in heads]
                rows, above = (
                    [list(c[b:e]) for c, b, e in zip(chunks, begins, ends, strict=True)],
                    [nothing] * len(chunks),
                )
            wanted = [max(0, end - max(begin, at)) for begin, end, at in zip(begins, ends, first, strict=True)]
            logits = self._read_rows(rows, above, begins, max(wanted))
            for row, count in enumerate(wanted):
                self._reads[row] += bool(rows[row])
                found[row].append(logits[row, logits.shape[1] - count :])
        return [each[0] if len(each) == 1 else torch.cat(each) for each in found]

    def _read_rows(
        self, rows: list[list[int]], parents: Sequence[Ints], begins: list[int], wanted: int
    ) -> torch.Tensor:
        """One forward. begins: of each row, new tokens that were read before it."""
        assert self.memory is not None
        new = _size(max(map(len, rows)), NEW)
        given = np.zeros((self.memory.rows, 2 + 2 * new), np.int32)
        given[:, 2 + new :] = np.arange(new)
        given[: len(rows), 2:] = np.concatenate(aligned(rows, parents, new), axis=1)
        for row, tokens in enumerate(rows):
            given[row, :2] = self.lengths[row] + begins[row], len(tokens)
            given[row, 2 : 2 + new - len(tokens)] = tokens[0] if tokens else 0  # no token but the row's own is read
        few = wanted <= LOGITS < new and self.handle.takes_keep
        return self.fixed.read(self.handle, self.memory, given, LOGITS if few else new)

    @torch.inference_mode()
    def commit(self, paths: Sequence[Sequence[int]]) -> None:
        if self.left:
            super().commit(paths)
            return
        starts = [length + chunk for length, chunk in zip(self.lengths, self._chunks, strict=True)]
        if any(len(path) < nodes for path, nodes in zip(paths, self._nodes, strict=True)):
            self._compact(starts, paths)
        self.lengths = [start + len(path) for start, path in zip(starts, paths, strict=True)]
        self._chunks = self._nodes = [0] * len(starts)

    def _compact(self, starts: list[int], paths: Sequence[Sequence[int]]) -> None:
        """Move the paths of trees that begin at these slots together."""
        with self.fixed.lock:
            held = self._holds()
            assert held and self.memory is not None  # it had one for the forward
            given = np.zeros((self.memory.rows, 2 + _size(max(self._nodes), NEW)), np.int32)
            given[:, 2:] = NONE
            for row, (start, nodes, path) in enumerate(zip(starts, self._nodes, paths, strict=True)):
                given[row, :2] = start, nodes
                given[row, 2 : 2 + len(path)] = path
            self.fixed.compact(self.memory, given)

    @torch.inference_mode()
    def select(self, rows: Sequence[int]) -> None:
        if self.left or len(rows) > ROWS[-1]:
            self.leave()
            super().select(rows)
        elif list(rows) != list(range(self.rows)):
            with self.fixed.lock:
                states, memory = self.states(rows), self.memory
                if memory is not None and states is not None and _size(len(rows), ROWS) == memory.rows:
                    memory.write(states)
                else:
                    self._states, self.memory = states, None
            self._rows_are(self, rows)

    @torch.inference_mode()
    def fork(self, rows: Sequence[int]) -> HFTreeSession:
        if self.left or len(rows) > ROWS[-1]:
            self.leave()
            return super().fork(rows)
        twin = FixedSession(self.handle, 0, self.fixed)
        twin.keep_hidden = self.keep_hidden
        with self.fixed.lock:
            twin._states = self.states(rows)
        self._rows_are(twin, rows)
        return twin

    def _rows_are(self, session: FixedSession, rows: Sequence[int]) -> None:
        session.lengths = [self.lengths[row] for row in rows]
        session._chunks = session._nodes = [0] * len(rows)

    def states(self, rows: Iterable[int]) -> torch.Tensor | None:
        """A copy of what rows have read, float[layers, 2, rows, heads, slots, size]; None: nothing."""
        used = self._used()
        held = self._states if self.memory is None else self.memory.states[..., :used, :]
        return None if held is None else held.index_select(2, sent(torch.tensor(list(rows)), self.device))

    def _used(self) -> int:
        """Slots of the longest row, with those of a forward that is not committed."""
        return max(map(sum, zip(self.lengths, self._chunks, self._nodes, strict=True)), default=0)

    def put_by(self) -> None:
        """Keep what was read outside the memory, which is needed for others."""
        if self.memory is not None:
            self._states, self.memory = self.states(range(len(self.lengths))), None

    def leave(self) -> None:
        """Go on as an `HFTreeSession`, with all that was committed."""
        if self.left:
            return
        self.put_by()
        width, states = max(self.lengths, default=0), self._states
        lengths = torch.tensor(self.lengths, dtype=torch.int64, device=self.device)
        mask = (torch.arange(width, device=self.device) < lengths.unsqueeze(1)).long()
        even = min(self.lengths, default=0) == width
        self.slots = Slots(len(lengths), width, self.device, *(() if even else (mask, lengths)))
        if states is not None and width:
            self.cache = self.new_cache()
            for index, (keys, values) in enumerate(states[..., :width, :]):
                self.cache.update(keys, values, index)
        self.left, self._states = True, None


def fixed_or_none(handle: HFModel) -> FixedForward | None:
    """The forwards of fixed shape of a model on a GPU, after a trial; None, with a line in the log: it has none."""
    try:
        return FixedForward(handle).proved(handle)
    except Exception as error:  # whatever a model or a capture has against it: the model is read as before
        reason = str(error).strip().split("\n")[0]
        _log.info("%s is not read by forwards of fixed shape: %s", type(handle.model).__name__, reason)
        return None


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


def _size(count: int, sizes: Sequence[int]) -> int:
    """The smallest size that holds so many."""
    return next(size for size in sizes if size >= count)
