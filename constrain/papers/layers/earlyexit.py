"""`EarlyExit`: the first layers of the target draft, from what the target remembers, and are not read again.

Measured: slower than no drafts on the reference model, whose four layers have no exit that pays; 0.69 of the speed of
`model.generate` (benchmarks/record/2026-11-23-early-exit).

The idea: after some layers the model's own head often names the same token as after all. LayerSkip (Elhoushi et al.
2024, arXiv 2404.16710) and Kangaroo (Liu et al. 2024, arXiv 2404.18911) draft there, with the keys and values that the
target has of these layers anyway, and verify from there on (shallow.py). DEL (Entezari Zarch et al. 2025, arXiv
2504.05598) chooses the exit and the length of drafts by what would have been named at each exit: with agreement a, d
tokens by a share c of the layers give (1 − a^(d+1)) / (1 − a) tokens for 1 + c·d forward passes; the exit with the most
is taken. Here: all exits are looked at in one forward over the last `WINDOW` tokens, at first and every `again` steps;
in between, the agreement of the exit in use is counted from what the target takes. Where no exit would gain anything it
does not draft. (DEL keeps the hidden states of every verification instead; the estimates are the same.)

Models are seldom trained to be read at an exit. A lens (`ExitLens`) changes hidden states to what the head understands:
an affine map for each exit (tuned lens: Belrose et al. 2023, arXiv 2303.08112); `scripts/train_draft.py --kind exit`
trains it on the masked target.

Cost: as a draft model of some layers, less what verification does not read again. Limit: as of shallow.py; where the
target's memory cannot be shared the first layers have one of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.models.hf.hidden import watched
from constrain.models.hf.layers import layer_count
from constrain.models.hf.model import HFModel
from constrain.papers.layers.selfdraft import WINDOW, SelfDraft, Skip, best_depth
from constrain.papers.layers.shallow import Behind, FirstLayers, Shallow, can_be_cut, goes_on, run
from constrain.speculative.drafter import Context, DraftBudget
from constrain.speculative.drafters.model import Model
from constrain.speculative.tree import DraftTree


class ExitLens(torch.nn.Module):
    """For each exit of a model an affine map of hidden states, in front of the model's own norm and head.

    Args:
        model: Anything that `HFModel.of` takes. An untrained lens changes nothing.

    Attributes:
        exits: How many there are: one after each layer but the last.

    Raises:
        ConstrainError: The model has one layer only, or no list of layers.

    Example:
        >>> import constrain
        >>> lens = ExitLens(constrain.reference.load())
        >>> lens.exits
        3
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        handle = HFModel.of(model)
        weight = handle.model.get_output_embeddings().weight
        self.exits, size = layer_count(handle) - 1, int(weight.shape[1])
        if not self.exits:
            raise ConstrainError("a model of one layer has no exit before its end")
        self.maps = torch.nn.ModuleList(torch.nn.Linear(size, size) for _ in range(self.exits)).to(weight)
        for each in self.maps:
            torch.nn.init.zeros_(each.weight)
            torch.nn.init.zeros_(each.bias)
        self._tail = [Behind(handle, layer_count(handle))]  # in a list: no parameters of the lens

    @property
    def reads(self) -> tuple[int, ...]:
        """The layers whose input are the hidden states at the exits."""
        return tuple(range(1, self.exits + 1))

    def at(self, count: int, hidden: torch.Tensor) -> torch.Tensor:
        """float[..., H]: what the head is given. hidden: float[..., H], after `count` layers"""
        found: torch.Tensor = hidden + self.maps[count - 1](hidden.to(self.maps[0].weight))
        return found

    def unrolled(self, hidden: torch.Tensor, tokens: torch.Tensor) -> list[torch.Tensor]:
        """By exit, the logits float[T, W] after each token of a text. hidden: float[T, exits · H], as `reads`."""
        parts = hidden.chunk(self.exits, dim=-1)
        seen = torch.stack([self.at(i, part) for i, part in enumerate(parts, 1)])
        ids = tokens.unsqueeze(0).expand(self.exits, -1)
        return list(self._tail[0](seen, input_ids=ids, use_cache=False).logits)

    def save(self, path: str | Path) -> None:
        """Write a safetensors file."""
        from safetensors.torch import save_file

        save_file(self.state_dict(), path)

    @classmethod
    def load(cls, path: str | Path, model: Any) -> ExitLens:
        """A lens from `save`. Raises ConstrainError: no such file, or a lens of another model."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            lens = cls(model)
            lens.load_state_dict(load_file(path))
        except (OSError, SafetensorError, RuntimeError) as error:
            reason = str(error).strip().split("\n")[0]
            raise ConstrainError(f"{path} has no lens for this model: {reason}") from error
        return lens.eval()


@torch.inference_mode()
def measure_exits(lens: ExitLens, handle: HFModel, tokens: Sequence[int], depth: int) -> list[Skip]:
    """Every exit, with how often it names the model's own token on the end of a text, and the drafts that pay there.

    One forward pass of the model, and its head once more for each exit.
    """
    text = torch.tensor([list(tokens)[-WINDOW:]], device=handle.model.device)
    with watched(handle, lens.reads) as seen:
        named = handle.forward(None, input_ids=text, use_cache=False).logits[0].argmax(-1)
    found = []
    for count, logits in enumerate(lens.unrolled(seen[0][0], text[0]), 1):
        agreement = float((logits.argmax(-1) == named).double().mean())
        found.append(Skip(tuple(range(count)), agreement, *best_depth(agreement, count / (lens.exits + 1), depth)))
    return found


class EarlyExit(SelfDraft):
    """A drafter that is the first layers of the target itself; see the module `constrain.papers.layers.earlyexit`.

    Args:
        model: The target; anything that `HFModel.of` takes.
        keep: How many layers draft, with drafts as long as the budget; None: chosen on the text (DEL), length too.
        lens: Trained for the target's exits; None: the head reads hidden states as they are.
        again: Steps after which the exits are compared again; 0: never.
        depth: Tokens of a draft at most.
        width: Drafts side by side, as in `constrain.speculative.Model`.

    Attributes:
        found: The exit in use, as a `Skip`; None before the first draft.
        shared: Drafts that went on from the target's own memory.

    Raises:
        ConstrainError: An option is wrong, or the model has no list of layers.

    Example:
        >>> import constrain
        >>> from constrain.papers import EarlyExit
        >>> model = constrain.reference.load()
        >>> draft = EarlyExit(model, keep=2)
        >>> given = {"regex": "[a-z]{9}", "temperature": 0}
        >>> constrain.generate(model, "A list: ", draft=draft, **given).text == constrain.generate(
        ...     model, "A list: ", **given
        ... ).text
        True
    """

    name = "exit"

    def __init__(
        self,
        model: Any,
        *,
        keep: int | None = None,
        lens: ExitLens | None = None,
        again: int = 16,
        depth: int = 8,
        width: int = 1,
    ) -> None:
        super().__init__(model, again=again, depth=depth, width=width)
        self.lens = ExitLens(self.handle) if lens is None else lens.eval()
        self._mapped = lens is not None
        if keep is not None and not (isinstance(keep, int) and 1 <= keep < self.layers):
            raise ConstrainError(f"keep must be from 1 to {self.layers - 1} layers, not {keep!r}")
        self.keep = keep
        self.shared = 0
        self._first: dict[int, tuple[FirstLayers, bool]] = {}  # by exit, and whether the model can be cut there
        if keep is not None:
            self._take(Skip(tuple(range(keep)), 1.0, self.depth, 1.0))

    def propose(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[DraftTree]:
        if self.keep is not None:
            return Model.propose(self, contexts, [b._replace(depth=min(b.depth, self.depth)) for b in budgets])
        return super().propose(contexts, budgets)

    def _search(self, tokens: Sequence[int]) -> Skip:
        exits = measure_exits(self.lens, self.handle, tokens, self.depth)
        return max(exits, key=lambda each: (each.gain, each.agreement, -len(each.layers)))

    def _another(self, tokens: Sequence[int]) -> Skip:
        return self._search(tokens)

    def _use(self, skip: Skip) -> None:
        count = len(skip.layers)
        if count not in self._first:
            mapped = partial(self.lens.at, count) if self._mapped else None
            first = FirstLayers(self.handle, count, mapped)
            self._first[count] = first, can_be_cut(first, self.handle)
        self.model = self._first[count][0].model

    def _grow(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[DraftTree]:
        """Drafts behind the target's memory; as any draft model's where that cannot be shared."""
        assert self.found is not None
        first, cut = self._first[len(self.found.layers)]
        told = [context.session for context in contexts]
        sessions = [getattr(each[0], "trees", each[0]) for each in told if each is not None]  # of a shaped target
        if not cut or len(sessions) < len(told) or not all(each is sessions[0] for each in sessions):
            return super()._grow(contexts, budgets)
        if not goes_on(sessions[0]) or sessions[0].handle.model is not self.handle.model:
            return super()._grow(contexts, budgets)
        self.shared += 1
        session, rows = sessions[0], [each[1] for each in told if each is not None]
        shallow = session.shallow = self._opened(Shallow(session, first), contexts, rows)
        lengths = shallow.lengths.tolist()
        chunks = [list(c.tokens[lengths[row] :]) for c, row in zip(contexts, rows, strict=True)]
        last, places = _spread(shallow, rows, chunks, [run(len(chunk)) for chunk in chunks], wanted=1)
        last, places = [own[-1:] for own in last], [own[-1:] for own in places]
        branches = [self._branch(context, budget) for context, budget in zip(contexts, budgets, strict=True)]
        while True:
            going = [branch.extend(own) if own else [] for branch, own in zip(branches, last, strict=True)]
            if not any(going):
                return [branch.tree() for branch in branches]
            before = [[own[i] for i, _ in each] for own, each in zip(places, going, strict=True)]
            last, places = _spread(shallow, rows, [[token for _, token in each] for each in going], before)

    def _opened(self, shallow: Shallow, contexts: Sequence[Context], rows: Sequence[int]) -> Shallow:
        """The slots of a draft, before anything is read into them. rows: of the contexts, in the session."""
        return shallow


def _spread(
    shallow: Shallow, rows: Sequence[int], tokens: list[list[int]], parents: list[list[int]], wanted: int | None = None
) -> tuple[list[list[torch.Tensor]], list[list[int]]]:
    """`Shallow.grow` for some rows of it: by row the logits after the last `wanted` (None: all) tokens, all slots."""
    spread: tuple[list[list[int]], list[list[int]]] = ([[] for _ in shallow.kids], [[] for _ in shallow.kids])
    for row, own, before in zip(rows, tokens, parents, strict=True):
        spread[0][row], spread[1][row] = own, before
    logits, slots = shallow.grow(*spread, wanted or max(map(len, tokens)))
    count = logits.shape[1]
    last = [list(logits[row, count - min(len(own), wanted or count) :]) for row, own in zip(rows, tokens, strict=True)]
    return last, [slots[row] for row in rows]
