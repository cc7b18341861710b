"""A session of trees whose forwards have fixed shapes (fixed.py).

The idea: a row has no holes: its tokens are its first slots, and new ones are written behind them, whatever the rows'
lengths. What a step needs is known on the host before it is read, so nothing is asked of the device: lengths are lists,
and a step is one small array. What does not fit (rows, nodes, text, hidden states, memory of the device) goes on as an
`HFTreeSession`, with all that was read.

Cost: what another session put by, or rows that are dropped or forked, are copied; nothing is shared.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import torch

from constrain.device.fixed import FixedForward, FixedMemory, size_for
from constrain.device.graphs import USES
from constrain.errors import ConstrainError
from constrain.models.hf.model import HFModel
from constrain.models.hf.slots import Slots
from constrain.models.hf.tree import HFTreeSession, aligned, tried
from constrain.sampling.fused.batch import NONE, sent
from constrain.speculative.tree import Ints

NOTHING: Ints = np.empty(0, np.int32)  # no nodes

_log = logging.getLogger(__name__)


class FixedSession(HFTreeSession):
    """A batch in memories of fixed shape, which goes on as an `HFTreeSession` where it no longer fits.

    lengths: tokens of each row. left: it has gone on so.
    """

    def __init__(self, handle: HFModel, rows: int, fixed: FixedForward) -> None:
        super().__init__(handle, rows)
        self.fixed, self.sizes, self.left = fixed, fixed.sizes, not fixed.open
        self.lengths, self._chunks, self._nodes = [0] * rows, [0] * rows, [0] * rows
        self.memory: FixedMemory | None = None
        self._states: torch.Tensor | None = None  # what was read, while another session has the memory
        self._reads: list[int] = []  # forwards of each row in the last call

    @property
    def rows(self) -> int:
        return super().rows if self.left else len(self.lengths)

    @property
    def forwards(self) -> Sequence[int]:
        return super().forwards if self.left else self._reads

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        nothing = [NOTHING] * len(chunks)
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
                if self.keep_hidden is False and max(self._nodes) <= self.sizes.new[-1] and self._holds():
                    return self._pieces(chunks, keep, tokens, parents)
            except torch.cuda.OutOfMemoryError:
                self.fixed.open = False
                self.fixed.memories.held.clear()
                _log.warning("the device has no memory for forwards of fixed shape: the model is read without them")
            self.leave()
        return None

    def _holds(self) -> bool:
        """Have a memory for the next forward; False: there is none."""
        slots, memory = 1 + self._used(range(self.rows)), self.memory
        if memory is not None and len(self.lengths) <= memory.rows and slots <= memory.slots:
            return True
        if len(self.lengths) > self.sizes.rows[-1] or slots > self.sizes.slots[-1] or not self.fixed.open:
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
        texts = [[*chunk, *nodes.tolist()] for chunk, nodes in zip(chunks, tokens, strict=True)]
        first = [len(chunk) - kept for chunk, kept in zip(chunks, keep, strict=True)]  # places with logits from here on
        heads = [max(0, len(text) - self.sizes.new[-1]) for text in texts]  # of each row, tokens before the last piece
        pieces = [
            [(min(start, head), min(start + self.sizes.new[-1], head)) for head in heads]
            for start in range(0, max(heads), self.sizes.new[-1])
        ]
        pieces.append([(head, len(text)) for head, text in zip(heads, texts, strict=True)])
        found: list[list[torch.Tensor]] = [[] for _ in texts]
        self._reads = [0] * len(texts)
        for piece in pieces:
            rows = [text[begin:end] for text, (begin, end) in zip(texts, piece, strict=True)]
            above = parents if piece is pieces[-1] else [NOTHING] * len(rows)
            wanted = [max(0, end - max(begin, at)) for (begin, end), at in zip(piece, first, strict=True)]
            logits = self._read_rows(rows, above, [begin for begin, _ in piece], max(wanted))
            for row, count in enumerate(wanted):
                self._reads[row] += bool(rows[row])
                found[row].append(logits[row, logits.shape[1] - count :])
        return [each[0] if len(each) == 1 else torch.cat(each) for each in found]

    def _read_rows(
        self, rows: list[list[int]], parents: Sequence[Ints], begins: list[int], wanted: int
    ) -> torch.Tensor:
        """One forward. begins: of each row, new tokens that were read before it."""
        assert self.memory is not None
        new = size_for(max(map(len, rows)), self.sizes.new)
        given = np.zeros((self.memory.rows, 2 + 2 * new), np.int32)
        given[:, 2 + new :] = np.arange(new)
        given[: len(rows), 2:] = np.concatenate(aligned(rows, parents, new), axis=1)
        for row, tokens in enumerate(rows):
            given[row, :2] = self.lengths[row] + begins[row], len(tokens)
            given[row, 2 : 2 + new - len(tokens)] = tokens[0] if tokens else 0  # no token but the row's own is read
        few = wanted <= self.sizes.logits < new and self.handle.takes_keep
        return self.fixed.read(self.handle, self.memory, given, self.sizes.logits if few else new)

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
            given = np.zeros((self.memory.rows, 2 + size_for(max(self._nodes), self.sizes.new)), np.int32)
            given[:, 2:] = NONE
            for row, (start, nodes, path) in enumerate(zip(starts, self._nodes, paths, strict=True)):
                given[row, :2] = start, nodes
                given[row, 2 : 2 + len(path)] = path
            self.fixed.compact(self.memory, given)

    @torch.inference_mode()
    def select(self, rows: Sequence[int]) -> None:
        if self.left or len(rows) > self.sizes.rows[-1]:
            self.leave()
            super().select(rows)
        elif list(rows) != list(range(self.rows)):
            with self.fixed.lock:
                states, memory = self.states(rows), self.memory
                if memory is not None and states is not None and size_for(len(rows), self.sizes.rows) == memory.rows:
                    memory.states[..., states.shape[4] : self._used(range(self.rows)), :] = 0
                    memory.write(states)
                else:
                    self._states, self.memory = states, None
            self._rows_are(self, rows)

    @torch.inference_mode()
    def fork(self, rows: Sequence[int]) -> HFTreeSession:
        if self.left or len(rows) > self.sizes.rows[-1]:
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

    def states(self, rows: Sequence[int]) -> torch.Tensor | None:
        """A copy of what rows have read, float[layers, 2, rows, heads, slots, size]; None: nothing."""
        held = self._states if self.memory is None else self.memory.states
        if held is None:
            return None
        return held[..., : self._used(rows), :].index_select(2, sent(torch.tensor(rows), self.device))

    def _used(self, rows: Sequence[int]) -> int:
        """Slots of the longest of these rows, with those of a forward that is not committed."""
        return max((self.lengths[row] + self._chunks[row] + self._nodes[row] for row in rows), default=0)

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


@torch.inference_mode()
def proved(fixed: FixedForward, handle: HFModel) -> FixedForward:
    """The forwards of a model, after a trial of their logits, operators and graphs.

    Raises Waits, ConstrainError, and whatever else a model or a capture has against it.
    """
    for watched in (True, *[False] * USES):
        fixed.watched = watched
        if not tried(handle, FixedSession(handle, 1, fixed)) or not fixed.open:
            raise ConstrainError("its logits are others in a forward of fixed shape", place="model")
    return fixed


def fixed_or_none(handle: HFModel) -> FixedForward | None:
    """The forwards of fixed shape of a model on a GPU, after a trial; None, with a line in the log: it has none."""
    try:
        return proved(FixedForward(handle), handle)
    except Exception as error:  # whatever a model or a capture has against it: the model is read as before
        reason = str(error).strip().split("\n")[0]
        _log.info("%s is not read by forwards of fixed shape: %s", type(handle.model).__name__, reason)
        return None
