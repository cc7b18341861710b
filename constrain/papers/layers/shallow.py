"""The first layers of a model by themselves: what they read of a draft is not read again when it is verified.

Measured on the embedded model: sharing saves 3 to 9 % of the CPU time of two layers with a memory of their own. No exit
of its four layers pays (record 2026-11-23-early-exit).

The idea (LayerSkip: Elhoushi et al. 2024, arXiv 2404.16710, section 4.3; Kangaroo: Liu et al. 2024, arXiv 2404.18911,
section 3): a draft of the first layers leaves behind keys, values and hidden states that the whole model would compute
again. So the first layers go on from the target's own cache, and the forward pass that verifies begins behind them.

    first = FirstLayers(handle, 2)
    shallow = Shallow(session, first)           # of a HFTreeSession
    logits, slots = shallow.grow(tokens, parents, wanted)   # as often as wanted; no slot is committed
    session.shallow = shallow                   # its next forward pass begins behind the first layers

Tokens of the tree that the first layers have not read (of other drafters; the leaves) they read then, in one forward
pass.

Cost: a copy of the first layers' keys and values for the draft, as any fork. Limit: caches of keys and values of every
token; a forward pass whose hidden states drafters ask for is done as a whole. Whether a model can be cut in two is
tried once, as for trees: some have more than layers between embeddings and head.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from constrain.models.hf.cache import own_layers
from constrain.models.hf.layers import layer_list
from constrain.models.hf.model import HFModel
from constrain.models.hf.session import FILL
from constrain.models.hf.tree import HFTreeSession, additive, but_for_rounding
from constrain.papers.layers.skip import skip_layers, with_layers
from constrain.speculative.tree import ROOT, Ints

if TYPE_CHECKING:
    from numpy.typing import NDArray

Lens = Callable[[torch.Tensor], torch.Tensor]  # float[..., H]: what the head reads in place of a hidden state


class Given(torch.nn.Module):
    """A layer whose output is given beforehand. hidden: float[B, n, H]"""

    def __init__(self, like: torch.nn.Module) -> None:
        super().__init__()
        self.hidden: torch.Tensor | None = None
        self.attention_type = getattr(like, "attention_type", None)  # some models choose masks by it

    def forward(self, *_: Any, **__: Any) -> torch.Tensor | None:
        """The hidden states that were set, whatever the input."""
        return self.hidden


class Behind:
    """The model from a layer on: logits of hidden states that go into it. first: number of layers that are left out"""

    def __init__(self, handle: HFModel, first: int) -> None:
        count = len(layer_list(handle))
        self.given = Given(layer_list(handle)[0])
        self.model = with_layers(
            handle, lambda layers: [(self.given, 0), *((layers[i], i) for i in range(first, count))]
        )

    def __call__(self, hidden: torch.Tensor, **arguments: Any) -> Any:
        """The output of the model. hidden: float[B, n, H]. arguments: `input_ids` int64[B, n], and others of it"""
        self.given.hidden = hidden
        try:
            return self.model.forward(None, **arguments)
        finally:
            self.given.hidden = None


class FirstLayers:
    """The first layers of a model with its own norm and head behind them, and the rest, which goes on from there.

    lens: changes hidden states for the head alone; what goes on is what the layers put out.
    """

    def __init__(self, handle: HFModel, count: int, lens: Lens | None = None) -> None:
        self.count = count
        self.model = skip_layers(handle, range(count))
        self.rest = Behind(handle, count)
        self.hidden = torch.zeros(0)  # of the last forward pass, float[B, n, H]

        def keep(_: Any, __: Any, found: Any) -> Any:
            self.hidden = found[0] if isinstance(found, tuple) else found
            if lens is None:
                return None
            changed = lens(self.hidden)
            return (changed, *found[1:]) if isinstance(found, tuple) else changed

        layer_list(self.model)[count - 1].register_forward_hook(keep)


def goes_on(session: Any) -> bool:
    """True if a session of the target has the caches that the first layers need, after its first forward pass."""
    return (
        type(session) is HFTreeSession
        and session.beside is None
        and session.cache is not None
        and session.reading.argument == session.handle.memory
        and not session._held
        and not session.handle.encodes
    )


class Shallow:
    """The drafts that the first layers have read behind a session's sequences: slots, each with a token and its parent.

    seen: bool[B, n, n], which slots a slot sees. depths: int64[B, n], from the end of the session's text on.
    kids: by row, (slot before or ROOT, token) → slot.
    """

    def __init__(self, session: HFTreeSession, first: FirstLayers) -> None:
        self.first, self.device = first, session.device
        self.attention, self.lengths = session.slots.attention, session.slots.lengths
        self.cache = copy.copy(session.cache)
        self.cache.layers = [copy.copy(layer) for layer in own_layers(session.cache)[: first.count]]
        self.text = [int(layer.keys.shape[-2]) for layer in self.cache.layers]  # slots of the text in each layer
        rows = len(self.lengths)
        self.seen, self.depths = np.zeros((rows, 0, 0), bool), np.zeros((rows, 0), np.int64)
        self.kids: list[dict[tuple[int, int], int]] = [{} for _ in range(rows)]
        self.hidden: list[torch.Tensor] = []

    @torch.inference_mode()
    def grow(
        self, tokens: Sequence[Sequence[int]], parents: Sequence[Sequence[int]], wanted: int
    ) -> tuple[torch.Tensor, list[list[int]]]:
        """Read more tokens of each row: the logits float[B, wanted or more, W] of the last, and their slots.

        parents: for each token the slot before it, ROOT, or `new(i)`: the i-th token of this call
        """
        known, width = self.seen.shape[1], max(map(len, tokens))
        ids, slots = np.full((len(tokens), width), FILL, np.int64), []
        seen = np.zeros((len(tokens), known + width, known + width), bool)
        seen[:, :known, :known] = self.seen
        seen[:, range(known, known + width), range(known, known + width)] = True
        depths = np.concatenate([self.depths, np.zeros((len(tokens), width), np.int64)], axis=1)
        for row, (own, before) in enumerate(zip(tokens, parents, strict=True)):
            begin = known + width - len(own)
            slots.append(list(range(begin, known + width)))
            for slot, token, parent in zip(slots[-1], own, before, strict=True):
                parent = begin + new(parent) if parent < ROOT else parent
                if parent != ROOT:
                    seen[row, slot] |= seen[row, parent]
                    depths[row, slot] = depths[row, parent] + 1
                ids[row, slot - known] = token
                self.kids[row][parent, token] = slot
        self.seen, self.depths = seen, depths
        logits = self._read(ids, seen[:, known:], depths[:, known:], wanted)
        self.hidden.append(self.first.hidden)
        return logits, slots

    def _read(
        self, ids: NDArray[np.int64], seen: NDArray[np.bool_], depths: NDArray[np.int64], wanted: int
    ) -> torch.Tensor:
        model, text = self.first.model, self.attention.bool().unsqueeze(1).expand(-1, ids.shape[1], -1)
        visible = torch.cat([text, torch.from_numpy(seen).to(self.device)], dim=2)
        output = model.forward(
            None,
            input_ids=torch.from_numpy(ids).to(self.device),
            attention_mask=additive(visible, model.model.dtype),
            position_ids=self.lengths.unsqueeze(1) + torch.from_numpy(depths).to(self.device),
            use_cache=True,
            **{model.memory: self.cache},
            **({"logits_to_keep": wanted} if model.takes_keep else {}),
        )
        logits: torch.Tensor = output.logits
        return logits

    @torch.inference_mode()
    def resume(
        self, cache: Any, rows: Sequence[Sequence[int]], parents: Sequence[Ints], wanted: int, arguments: dict[str, Any]
    ) -> Any:
        """The forward pass of the whole model over chunks and trees, begun behind the first layers; its output.

        cache: the session's, which gets the keys and values of all layers. rows: chunk and nodes of each row. parents:
        of the nodes. arguments: of the forward pass, for the slots of `rows`, aligned to the right
        """
        placed = [self._placed(row, own, before) for row, (own, before) in enumerate(zip(rows, parents, strict=True))]
        if any(tokens for _, tokens, _ in placed):
            _, slots = self.grow([tokens for _, tokens, _ in placed], [before for _, _, before in placed], 1)
            found = [
                [own[new(slot)] if slot < ROOT else slot for slot in each]
                for (each, _, _), own in zip(placed, slots, strict=True)
            ]
        else:
            found = [each for each, _, _ in placed]
        width = max(map(len, found))
        index = torch.tensor([[0] * (width - len(each)) + each for each in found], device=self.device)
        hidden = torch.cat(self.hidden, dim=1)
        hidden = hidden.gather(1, index.unsqueeze(2).expand(-1, -1, hidden.shape[-1]))
        if self.first.rest.model.takes_keep:
            arguments = {**arguments, "logits_to_keep": wanted}
        output = self.first.rest(hidden, **{self.first.rest.model.memory: cache}, use_cache=True, **arguments)
        for layer, own, text in zip(own_layers(cache), self.cache.layers, self.text, strict=False):
            for name in ("keys", "values"):
                states = getattr(own, name)[..., text:, :]
                places = index[:, None, :, None].expand(-1, states.shape[1], -1, states.shape[-1])
                setattr(layer, name, torch.cat([getattr(layer, name), states.gather(2, places)], dim=-2))
        return output

    def _placed(self, row: int, tokens: Sequence[int], before: Ints) -> tuple[list[int], list[int], list[int]]:
        """The slot of each token of a row, `new(i)` for what was not read: that token, and the slot before it."""
        chunk = len(tokens) - len(before)
        above = [*range(-1, chunk - 1), *((chunk - 1 if node == ROOT else chunk + node) for node in before.tolist())]
        slots: list[int] = []
        unread: list[int] = []
        parents: list[int] = []
        for token, place in zip(tokens, above, strict=True):
            parent = ROOT if place < 0 else slots[place]
            slot = self.kids[row].get((parent, token))
            if slot is None:
                slot = new(len(unread))
                unread.append(token)
                parents.append(parent)
            slots.append(slot)
        return slots, unread, parents


def run(count: int) -> list[int]:
    """The parents of so many tokens that follow the text and each other."""
    return [ROOT, *map(new, range(count - 1))][:count]


def new(place: int) -> int:
    """A stand-in for the slot of a token of the same call, from its number there; its own inverse."""
    return ROOT - 1 - place


@torch.inference_mode()
def can_be_cut(first: FirstLayers, handle: HFModel) -> bool:
    """True if the model, continued behind its first layers, gives the logits of a whole pass; tried on a small tree."""
    try:
        return _try(first, handle)
    except Exception:  # whatever a model has against it: then the first layers draft with a memory of their own
        return False


def _try(first: FirstLayers, handle: HFModel) -> bool:
    if not handle.branching or handle.windows is not None:  # its layers take one mask
        return False
    begin, x, y, z, end = (i % handle.width for i in (1, 2, 3, 4, 5))
    tokens, parents = np.array([x, y, z], np.int32), np.array([ROOT, ROOT, 1], np.int32)  # x | y z
    none = tokens[:0]
    found = []
    for shared in (False, True):
        session = HFTreeSession(handle, 1)
        session.forward([[begin, begin]], [1], [none], [none])
        session.commit([[]])
        if shared:
            if not goes_on(session):
                return False
            session.shallow = Shallow(session, first)
            _, ((slot,),) = session.shallow.grow([[begin]], [[ROOT]], 1)
            session.shallow.grow([[y]], [[slot]], 1)
        rows = session.forward([[begin]], [1], [tokens], [parents])
        session.commit([[1, 2]])
        found.append(torch.cat([*rows, *session.forward([[end]], [1], [none], [none])]))
    return but_for_rounding(*found)
