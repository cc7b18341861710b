"""Sequences in a model's memory: batches that grow, fork and end.

The idea: a batch is a rectangle of slots. Shorter prompts are padded on the left; when rows grow by different lengths
the shorter ones get holes. The attention mask hides both, and positions count tokens, not slots, so neither changes a
logit but for rounding. Not every model can be read so (reading.py): where padding would be seen, rows of equal lengths
are batches of their own; where nothing can be remembered, the whole text is read again.

Cost: one forward a call; a hole costs memory until its row ends. Groups cost a forward for each length, a model
without memory one over the whole text. Logits are computed only where they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from constrain.errors import ConstrainError
from constrain.models.hf.cache import branched, is_plain
from constrain.models.hf.memory import gathered
from constrain.models.hf.reading import CacheProtocol
from constrain.models.hf.slots import Slots

if TYPE_CHECKING:
    from constrain.models.hf.model import HFModel

FILL = 0  # token id in slots that nothing attends to


class HFSession:
    """A batch of sequences in a memory.

    slots: the slots of the memory, and which of them hold tokens.
    cache: what the model's last forward returned to be given to the next; None before the first, for some models.
    beside: what forwards are given beside tokens (`HFModel.opened`).
    """

    def __init__(self, handle: HFModel, rows: int, reading: CacheProtocol | None = None) -> None:
        """reading: how the model is read; by default as was found for it, which is looked for when it matters."""
        self.handle = handle
        self.device = handle.model.device
        self.slots = Slots(rows, 0, self.device)
        self._reading = reading
        self.cache: Any = None
        self.beside: Any = None
        self._held: list[torch.Tensor | None] = []  # what the model keeps in its modules

    @property
    def rows(self) -> int:
        """The number of sequences."""
        return self.slots.rows

    @property
    def reading(self) -> CacheProtocol:
        """The protocol of reading. There is one alone, and nothing to find, if rows are even and the cache is plain."""
        if self._reading is not None:
            return self._reading
        return self.handle.plainly if self.slots.even and self.handle.plain else self.handle.reading

    @torch.inference_mode()
    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        """Append a chunk to each row; logits float[keep[i], width] of its last positions."""
        chunks = self._opened(chunks)
        before, counts = self.slots, list(map(len, chunks))
        new, wanted = max(counts), max(1, *keep)
        self.slots = after = before.more(counts)
        ids = [[FILL] * (new - len(chunk)) + list(chunk) for chunk in chunks]
        tokens = torch.tensor(ids, dtype=torch.int64, device=self.device)  # [B, new]
        if self.reading.chunks or not before.width:
            logits = self._forward(tokens, wanted)
        else:
            steps = []
            for i in range(new):
                self.slots = after.first(before.width + i + 1)
                steps.append(self._forward(tokens[:, i : i + 1], 1)[:, -1:])
            self.slots = after
            logits = torch.cat(steps[-wanted:], dim=1)
        return [logits[row, logits.shape[1] - k :] for row, k in enumerate(keep)]

    def _opened(self, chunks: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
        """The tokens of chunks; the first ones may name what is read beside them."""
        if self.slots.width or self.beside is not None:
            return chunks
        chunks, self.beside = self.handle.opened(chunks)
        return chunks

    def _forward(self, ids: torch.Tensor, wanted: int) -> torch.Tensor:
        """One forward over the last slots; logits float[B, wanted or more, width]."""
        reading, first = self.reading, self.slots.width == ids.shape[1]
        arguments: dict[str, Any] = {}
        if reading.mask == "always" or (reading.mask == "first" and first):
            arguments["attention_mask"] = self.slots.attention
        if reading.positions:
            arguments["position_ids"] = self.slots.positions(ids.shape[1])
        logits: torch.Tensor = self.call(input_ids=ids, wanted=wanted, **arguments).logits
        return logits

    def call(self, *, wanted: int, **arguments: Any) -> Any:
        """The model's forward, on what is remembered. wanted: last positions whose logits are needed."""
        reading = self.reading
        if reading.argument is None:
            raise ConstrainError(
                f"{type(self.handle.model).__name__} was read on what it remembers, and a trial finds that it does not "
                "go on from there",
                place="a batch whose rows grow by different lengths",
                fix="let the way to read it be found first: HFModel.of(model, tokenizer).reading",
            )
        if self.handle.takes_keep:
            arguments["logits_to_keep"] = wanted
        if self.cache is None and reading.given:
            self.cache = self.new_cache()
        if self.cache is not None:
            arguments[reading.argument] = self.cache
        places = [name.rpartition(".") for name in reading.held]
        modules = [(self.handle.model.get_submodule(module), attribute) for module, _, attribute in places]
        for (module, attribute), state in zip(modules, self._held or [None] * len(modules), strict=True):
            setattr(module, attribute, state)
        output = self.handle.forward(self.beside, use_cache=True, **arguments)
        self.cache = getattr(output, reading.argument, self.cache)
        self._held = [getattr(module, attribute) for module, attribute in modules]
        return output

    def new_cache(self) -> Any:
        """An empty memory, which the first forward is given."""
        return self.handle.new_cache()

    @torch.inference_mode()
    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows; repeated rows are forks, which share what they have in common (cache.py)."""
        index = torch.tensor(rows, dtype=torch.int64, device=self.device)
        if is_plain(self.cache) and not self._held and len(set(rows)) == len(rows):
            self.cache.batch_select_indices(index)
        else:
            self.cache, self._held = self._gathered(index)
        self.slots = self.slots.select(index)
        self.beside = None if self.beside is None else self.beside.select(index)

    @torch.inference_mode()
    def fork(self, rows: Sequence[int]) -> HFSession:
        """A session of its own on these rows; what they have read is shared (cache.py), or copied (memory.py)."""
        index = torch.tensor(rows, dtype=torch.int64, device=self.device)
        twin = HFSession(self.handle, 0, self._reading)
        twin.cache, twin._held = self._gathered(index)
        twin.slots = self.slots.select(index)
        twin.beside = None if self.beside is None else self.beside.select(index)
        return twin

    def _gathered(self, index: torch.Tensor) -> tuple[Any, list[torch.Tensor | None]]:
        if is_plain(self.cache) and not self._held:
            return branched(self.cache, index), []
        memory: tuple[Any, list[torch.Tensor | None]] = gathered((self.cache, self._held), self.reading.axes, index)
        return memory


class GroupedSession:
    """Rows in several batches, for models that would see padding: rows that begin with equal lengths are one batch.

    A model that is not `batched` reads every row alone.
    """

    def __init__(self, handle: HFModel, lengths: Sequence[int], reading: CacheProtocol) -> None:
        """lengths: of the first chunk of each row."""
        kinds = list(lengths) if reading.batched else list(range(len(lengths)))
        distinct = list(dict.fromkeys(kinds))
        self.batched = reading.batched
        self.groups = [HFSession(handle, kinds.count(kind), reading) for kind in distinct]
        # (group, row there) of each row
        self.places = [(distinct.index(kind), kinds[:row].count(kind)) for row, kind in enumerate(kinds)]

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        """Read tokens as `HFSession.feed`; equally many for each row, but for the first."""
        found: list[list[torch.Tensor]] = []
        for group, session in enumerate(self.groups):
            rows = self._rows_of(group)
            found.append(session.feed([chunks[row] for row in rows], [keep[row] for row in rows]))
        return [found[group][place] for group, place in self.places]

    def select(self, rows: Sequence[int]) -> None:
        self._take(rows, self.groups, set())

    def fork(self, rows: Sequence[int]) -> GroupedSession:
        twin: GroupedSession = object.__new__(GroupedSession)
        twin.places, twin.batched = self.places, self.batched
        twin._take(rows, self.groups, set(range(len(self.groups))))
        return twin

    def _take(self, rows: Sequence[int], groups: list[HFSession], used: set[int]) -> None:
        """Go on with these rows of some groups. used: groups that must stay as they are."""
        chosen = [self.places[row] for row in rows]
        parts: dict[tuple[int, int], list[int]] = {}  # rows that go on together, by group
        for row, (group, _) in enumerate(chosen):
            parts.setdefault((group, 0 if self.batched else row), []).append(row)
        self.groups, self.places = [], [(0, 0)] * len(rows)
        for part, ((group, _), into) in enumerate(parts.items()):
            kept = [chosen[row][1] for row in into]
            session = groups[group]
            if group in used:
                session = session.fork(kept)
            elif kept != list(range(session.rows)):
                session.select(kept)
            used.add(group)
            self.groups.append(session)
            for place, row in enumerate(into):
                self.places[row] = (part, place)

    def _rows_of(self, group: int) -> list[int]:
        """The rows of a session in this batch, in the order that they have there."""
        inside = [(place, row) for row, (of, place) in enumerate(self.places) if of == group]
        return [row for _, row in sorted(inside)]


class RereadSession:
    """A batch for models that remember nothing: the whole text is read at every call, equal lengths together."""

    def __init__(self, handle: HFModel, rows: int) -> None:
        self.handle = handle
        self.texts: list[list[int]] = [[] for _ in range(rows)]

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        self.texts = [[*text, *chunk] for text, chunk in zip(self.texts, chunks, strict=True)]
        found: dict[int, torch.Tensor] = {}
        for length in set(map(len, self.texts)):
            rows = [row for row, text in enumerate(self.texts) if len(text) == length]
            found.update(zip(rows, self.handle.read([self.texts[row] for row in rows]), strict=True))
        return [found[row][found[row].shape[0] - k :] for row, k in enumerate(keep)]

    def select(self, rows: Sequence[int]) -> None:
        self.texts = [self.texts[row] for row in rows]

    def fork(self, rows: Sequence[int]) -> RereadSession:
        twin = RereadSession(self.handle, 0)
        twin.texts = [self.texts[row] for row in rows]
        return twin


def open_session(
    handle: HFModel, lengths: Sequence[int], reading: CacheProtocol
) -> HFSession | GroupedSession | RereadSession:
    """A session for rows whose first chunks have these lengths."""
    if reading.argument is None:
        return RereadSession(handle, len(lengths))
    if reading.batched and (reading.padded or len(set(lengths)) == 1):
        return HFSession(handle, len(lengths), reading)
    return GroupedSession(handle, lengths, reading)
