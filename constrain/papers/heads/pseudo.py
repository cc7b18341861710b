"""Heads that are further places of the target's own forward pass: pseudo tokens behind each token that it verifies.

The idea: a forward pass that verifies a tree also reads, behind its likeliest nodes, places of no token. What they are
filled with is trained (ppd.py, transfer.py), all weights of the target stay as they are, and the head's logits there
are for the tokens one, two, … places further on. So generating and verifying are one forward pass, and drafting itself
costs nothing. The session is given the pseudo tokens as nodes behind the nodes of a tree (`TreeReader`); nothing of the
text sees them, and no path that is kept has any. Hooks fill slots in the forward passes of their own thread alone.

Cost: `depth` further tokens in a forward pass for the root and each of `places` nodes. Where a text goes on from
another node nothing is drafted in the next step; nodes with one child come last, since most are of forced runs, which
no text leaves in the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.models.hf.model import HFModel
from constrain.models.hf.tree import HFTreeSession
from constrain.papers.heads.adapter import HeadsAdapter
from constrain.sampling.core.model import Hidden
from constrain.speculative.tree import ROOT, Ints


class PseudoState(NamedTuple):
    """hidden: float[..., (1 + depth) · H], what the head reads at the place and at its pseudo tokens."""

    hidden: torch.Tensor
    places: int


class PseudoPlaces(NamedTuple):
    """Pseudo tokens of a forward pass, as int64[n] each. rows, columns: their slots, negative from the end. before: the
    column of the place behind which they stand. steps: the first, second, … there."""

    rows: torch.Tensor
    columns: torch.Tensor
    before: torch.Tensor
    steps: torch.Tensor


class PseudoHeads(HeadsAdapter):
    """Base of heads that are further places of the target's forward pass; see `constrain.papers.heads.pseudo`.

    Args:
        model: The target, a model of transformers that reads trees.
        depth: Pseudo tokens behind a place.
        places: Nodes of a tree that have pseudo tokens behind them, the likeliest first; the root always has.
    """

    def __init__(self, model: Any, *, depth: int = 3, places: int = 4) -> None:
        super().__init__(model)
        self.depth, self.places = depth, places
        self._handle = [HFModel.of(model)]  # in a list: not parameters

    @property
    def reads(self) -> Hidden:  # type: ignore[override]
        """Themselves: they are what reads."""
        return self

    def filled(self, places: PseudoPlaces) -> AbstractContextManager[None]:
        """Fill the slots of pseudo tokens in the target's forward passes meanwhile."""
        raise NotImplementedError

    def read(
        self,
        session: HFTreeSession,
        chunks: Sequence[Sequence[int]],
        keep: Sequence[int],
        tokens: Sequence[Ints],
        parents: Sequence[Ints],
    ) -> list[torch.Tensor]:
        """Run `TreeSession.forward`; the session's `hidden` then has the states of `begin` at each place.

        Raises ConstrainError: the session is of another model.
        """
        if session.handle.model is not self._handle[0].model:
            raise ConstrainError("heads inside the forward pass of another model", place="draft")
        behind = [self._chosen(before) if kept else [] for before, kept in zip(parents, keep, strict=True)]
        more, above, found = [], [], list[tuple[int, int, int, int]]()
        for row, (own, before, each) in enumerate(zip(tokens, parents, behind, strict=True)):
            begin, count = -self.depth * len(each), len(own)  # columns are counted from the end
            chained = [
                node if not step else count + place * self.depth + step - 1
                for place, node in enumerate(each)
                for step in range(self.depth)
            ]
            found += [
                (row, begin + place * self.depth + step, begin - count + node, step)
                for place, node in enumerate(each)
                for step in range(self.depth)
            ]
            more.append(np.concatenate([own, np.zeros(len(chained), np.int32)]).astype(np.int32))
            above.append(np.concatenate([before, chained]).astype(np.int32))
        session.keep_hidden = True
        try:
            with self.filled(self._placed(found)):
                logits = session.forward(chunks, keep, more, above)
        finally:
            session.keep_hidden = self
        assert session.hidden is not None
        session.hidden = [
            self._told(hidden, len(own), each) for hidden, own, each in zip(session.hidden, tokens, behind, strict=True)
        ]
        return [each[: len(hidden)] for each, hidden in zip(logits, session.hidden, strict=True)]

    def _chosen(self, parents: Ints) -> list[int]:
        """The root, and the nodes of a tree that have pseudo tokens behind them."""
        children = np.bincount(parents[parents != ROOT], minlength=len(parents))
        return [ROOT, *np.argsort(children == 1, kind="stable")[: self.places].tolist()]

    def _told(self, hidden: torch.Tensor, nodes: int, behind: Sequence[int]) -> torch.Tensor:
        """float[places, (1 + depth) · H] of one row, NaN where no pseudo token is. behind: nodes that have some."""
        count = len(hidden) - self.depth * len(behind)
        known = hidden.new_full((count, self.depth, hidden.shape[1]), torch.nan)
        if behind:
            rows = torch.tensor(behind, device=hidden.device) + count - nodes
            known[rows] = hidden[count:].unflatten(0, (len(behind), self.depth))
        return torch.cat([hidden[:count], known.flatten(1)], dim=1)

    def _placed(self, found: Sequence[tuple[int, int, int, int]]) -> PseudoPlaces:
        device = self._target[1].weight.device
        return PseudoPlaces(*torch.tensor(found, dtype=torch.int64, device=device).reshape(-1, 4).unbind(1))

    def begin(self, hidden: torch.Tensor, memory: Any = None) -> PseudoState | None:
        """None where no pseudo token was read behind the place."""
        return None if bool(hidden[-1:].isnan()) else PseudoState(hidden, 0)

    def move(self, state: PseudoState, token: Any) -> PseudoState | None:
        return None if state.places == self.depth else state._replace(places=state.places + 1)

    def logits(self, state: PseudoState) -> torch.Tensor:
        return self.head(state.hidden.unflatten(-1, (-1, self.size))[..., state.places, :])

    def unrolled(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        """Logits of all steps. The target reads the text again, with pseudo tokens behind each place; `hidden` is not
        looked at."""
        handle, count, device = self._handle[0], len(tokens), tokens.device
        place = torch.arange(count, device=device).repeat_interleave(self.depth)
        step = torch.arange(self.depth, device=device).repeat(count)
        columns = torch.arange(count, count * (1 + self.depth), device=device)
        text = torch.ones(count, count, dtype=torch.bool, device=device).tril()
        own = (place[:, None] == place) & (step[:, None] >= step)
        visible = torch.cat([torch.cat([text, text.new_zeros(count, len(own))], 1), torch.cat([text[place], own], 1)])
        positions = torch.cat([torch.arange(count, device=device), place + 1 + step])
        mask = HFTreeSession(handle, 1).masks(visible[None], positions[None])
        with self.filled(PseudoPlaces(torch.zeros_like(columns), columns, place, step)):
            read = handle.model.base_model(
                input_ids=torch.cat([tokens, torch.zeros_like(columns)])[None],
                attention_mask=mask,
                position_ids=positions[None],
                use_cache=False,
            )[0][0]
        rows = read[count:].unflatten(0, (count, self.depth))
        return [self.head(rows[: count - 1 - i, i]) for i in range(self.depth)]
