"""`Nested`: a draft model of several depths, of which the first that is sure writes a token (S2D).

Measured on the embedded model, three layers trained for 12 s, drafts of eight (temperature 0, n = 12): 3.74 tokens a
forward pass; its three layers alone 3.81, two 2.45, one 2.40, no drafts 1.41; at three times the CPU time of no drafts:
does not pay there (record 2026-11-28-papers). Nor with SmolLM2's own layers, exits after 10 and 20 of 30 that nobody
trained (n = 100): 2.68, no drafts 1.91, at twelve times the CPU time (record 2026-11-29-lossless).

Paper: Kavehzadeh et al. 2024, "S2D: sorted speculative decoding for more efficient deployment of nested large language
models", arXiv 2407.01955. One draft model serves targets of several sizes: its first layers, up to some exits, are
models by themselves, trained together under one head (`scripts/train_draft.py --kind nested`: the sum of their losses).
A token is that of the first exit whose likeliest token has a share of `sure`; if none is sure enough, of all layers.
That rule and the share (under the mask, at the target's temperature) are ours: of the paper its summary was at hand.

What an exit says is what it would say if every token had gone through its layers: the hidden states of tokens that left
earlier wait, and are read together when a later exit is asked. What was read of a draft is kept as far as it is taken.

Distribution: drafts state what they were drawn from, and which exit speaks depends on earlier tokens only, so every
lossless rule is exact. Cost: the head once for each exit that is asked. Limit: one sequence at a time; models of one
list of layers, whose caches keep the keys and values of every token.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import DynamicCache

from constrain.errors import ConstrainError
from constrain.models.hf.layers import layer_count, layer_list
from constrain.models.hf.model import HFModel
from constrain.papers.layers.shallow import Given
from constrain.papers.layers.skip import with_layers
from constrain.sampling.core.sampler import check_count, check_share
from constrain.speculative.drafter import Context, DraftBudget, Drafter
from constrain.speculative.drafters.model import DraftBranch, shaped_probs
from constrain.speculative.tree import EMPTY, DraftTree


class Nested(Drafter):
    """A drafter of several depths of one model; see the module `constrain.papers.layers.nested`.

    Args:
        model: With the target's token ids: a draft model, or the target itself; anything that `HFModel.of` takes.
        exits: After how many layers it may stop, in rising order; behind the last layer it stops in any case.
        sure: The share of the likeliest token from which an exit is believed, in [0, 1]; one for all, or one each.
        depth: Tokens of a draft, at most.
        width: Siblings at each place; the likeliest goes on.
        least: The chance of a path below which a draft ends, in [0, 1].

    Attributes:
        spoken: By exit, how many tokens it wrote; the last entry is of all layers.

    Raises:
        ConstrainError: An option is out of range, the exits are no choice of layers, or the model remembers other
            things than the keys and values of every token.

    Example:
        >>> import constrain
        >>> from constrain.papers.layers.nested import Nested
        >>> model = constrain.reference.load()
        >>> draft = Nested(model, [1, 2], sure=0.5)
        >>> g = constrain.generate(model, "A list: ", regex="[a-z]{9}", draft=draft, temperature=0)
        >>> len(draft.spoken), sum(draft.spoken) >= g.stats.drafts["nested"].drafted > 0
        (3, True)
    """

    name = "nested"

    def __init__(
        self,
        model: Any,
        exits: Sequence[int],
        *,
        sure: float | Sequence[float] = 0.7,
        depth: int = 8,
        width: int = 1,
        least: float = 0.0,
    ) -> None:
        handle = HFModel.of(model)
        count = layer_count(handle)
        ends = [*exits, count]
        if not all(isinstance(end, int) and begin < end for begin, end in zip([0, *ends], ends, strict=False)):
            raise ConstrainError(f"exits must be numbers of layers from 1 to {count - 1} that rise, not {exits!r}")
        if not handle.plain or handle.windows is not None:
            raise ConstrainError(f"{type(handle.model).__name__} does not keep the keys and values of every token")
        bounds = list(sure) if isinstance(sure, Sequence) else [sure] * len(exits)
        if len(bounds) != len(exits):
            raise ConstrainError(f"sure has {len(bounds)} shares for {len(exits)} exits")
        self.sure = [check_share("sure", each) for each in bounds]
        self.parts = [_Part(handle, begin, end) for begin, end in zip([0, *exits], ends, strict=True)]
        self.depth, self.width = check_count("depth", depth), check_count("width", width)
        self.least = check_share("least", least)
        self.spoken = [0] * len(ends)

    @torch.inference_mode()
    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        """A chain, with siblings where the width asks for them."""
        budget = budget._replace(depth=min(budget.depth, self.depth))
        if min(budget.nodes, budget.depth, context.left - 1) < 1:
            return EMPTY
        known = context.memo.get(self)
        reading = _Reading(self.parts) if known is None else known.again(context.tokens)
        context.memo[self] = reading
        branch = DraftBranch(context, budget, self.width, 1, self.least)
        new = list(context.tokens[len(reading.tokens) :])
        while True:
            going = branch.extend([self._surest(context, branch, reading, reading.read(new))])
            if not going:
                return branch.tree()
            new = [going[0][1]]

    def _surest(self, context: Context, branch: DraftBranch, reading: _Reading, logits: torch.Tensor) -> torch.Tensor:
        """Logits of the first exit that is sure at the last place. logits: of the first one"""
        for exit_, bound in enumerate(self.sure):
            probs = shaped_probs(context.setting, branch.level[0].matcher, logits)
            if probs is not None and float(probs.max()) >= bound:
                self.spoken[exit_] += 1
                return logits
            logits = reading.deeper(exit_ + 1)
        self.spoken[-1] += 1
        return logits


class _Part:
    """The layers from one exit to the next, the norm and the head behind them; they go on from hidden states."""

    def __init__(self, handle: HFModel, begin: int, end: int) -> None:
        self.given = Given(layer_list(handle)[begin]) if begin else None

        def numbered(layers: torch.nn.ModuleList) -> list[tuple[torch.nn.Module, int]]:
            for place, i in enumerate(range(begin, end)):
                for module in layers[i].modules():
                    if hasattr(module, "layer_idx"):
                        module.layer_idx = place  # where its keys and values are in the cache
            before: list[tuple[torch.nn.Module, int]] = [] if self.given is None else [(self.given, begin)]
            return before + [(layers[i], i) for i in range(begin, end)]

        self.handle = with_layers(handle, numbered)
        self.takes_keep = handle.takes_keep
        self.hidden = torch.zeros(0)  # of the last forward pass, float[1, n, H]

        def keep(_: Any, __: Any, found: Any) -> None:
            self.hidden = found[0] if isinstance(found, tuple) else found

        layer_list(self.handle)[-1].register_forward_hook(keep)

    def read(self, tokens: Sequence[int], hidden: torch.Tensor | None, cache: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """(logits float[W] at the last of these places, hidden states float[1, n, H] behind the layers)"""
        ids = torch.tensor([list(tokens)], dtype=torch.int64, device=self.handle.model.device)
        arguments: dict[str, Any] = {"logits_to_keep": 1} if self.takes_keep else {}
        if self.given is not None:
            self.given.hidden = hidden
        found = self.handle.forward(None, input_ids=ids, use_cache=True, **{self.handle.memory: cache}, **arguments)
        return found.logits[0, -1], self.hidden


class _Reading:
    """The beginning of a text that the parts have read: the first all of it, each later one what it was asked for.

    waiting: by part, hidden states float[1, n, H] of places that the part before has read and this one has not.
    """

    def __init__(self, parts: Sequence[_Part]) -> None:
        self.parts, self.tokens = parts, list[int]()
        self.caches = [DynamicCache() for _ in parts]
        self.counts = [0] * len(parts)  # places that each part has read
        self.waiting: list[torch.Tensor | None] = [None] * len(parts)

    def again(self, text: Sequence[int]) -> _Reading:
        """The reading of another text, as far as that is of this one, without its last token."""
        same = next((i for i, (a, b) in enumerate(zip(self.tokens, text, strict=False)) if a != b), len(self.tokens))
        length = min(same, len(text) - 1)
        twin = copy.copy(self)
        twin.tokens, twin.counts = self.tokens[:length], [min(count, length) for count in self.counts]
        twin.waiting = [
            None if rows is None else rows[:, : max(0, length - count)]
            for rows, count in zip(self.waiting, self.counts, strict=True)
        ]
        twin.caches = []
        for cache, count in zip(self.caches, twin.counts, strict=True):
            twin.caches.append(copy.copy(cache))
            twin.caches[-1].layers = [copy.copy(layer) for layer in cache.layers]
            for layer in twin.caches[-1].layers:  # layers replace their tensors: the other reading stays as it is
                layer.keys, layer.values = layer.keys[..., :count, :], layer.values[..., :count, :]
        return twin

    def read(self, tokens: Sequence[int]) -> torch.Tensor:
        """Logits of the first exit after more tokens."""
        self.tokens += tokens
        return self._read(0, tokens, None)

    def deeper(self, part: int) -> torch.Tensor:
        """Logits of a later exit at the last place; the one before it was asked there."""
        hidden = self.waiting[part]
        assert hidden is not None
        self.waiting[part] = None
        return self._read(part, self.tokens[self.counts[part] :], hidden)

    def _read(self, part: int, tokens: Sequence[int], hidden: torch.Tensor | None) -> torch.Tensor:
        logits, found = self.parts[part].read(tokens, hidden, self.caches[part])
        self.counts[part] += len(tokens)
        if part + 1 < len(self.parts):
            before = self.waiting[part + 1]
            self.waiting[part + 1] = found if before is None else torch.cat([before, found], dim=1)
        return logits
