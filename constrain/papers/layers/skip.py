"""A model without some of its layers, to draft for itself: self-speculation.

Measured on SmolLM2 with half of its layers (100 calls of functions): 2.16 tokens a forward pass, no drafts 1.91, at
three times their CPU time: does not pay there (record 2026-11-29-lossless).

The idea (SWIFT: Xia et al. 2024, arXiv 2410.06916; evenly spaced layers: Liu et al. 2024, arXiv 2404.06954): the layers
of a deep model refine what earlier ones found, so the model with some left out still guesses well, and what it guesses
is verified by the whole. No other weights are needed: the copy shares every tensor, and has a cache of its own.

Cost: no memory but for that cache; a forward pass in proportion to the layers that are kept. Limit: which layers to
keep is the caller's choice or evenly spaced (selfdraft.py looks for the best); models of one list of layers, in the
memory of one process. A small or shallow model has no layers to spare.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.models.hf.layers import find_layers, layer_count
from constrain.models.hf.model import HFModel


def skip_layers(model: Any, keep: int | Sequence[int] | None = None) -> HFModel:
    """Make the model with some of its layers only. It shares all weights, and `model` stays as it is.

    Args:
        model: Anything that `HFModel.of` takes.
        keep: The layers, by index in rising order; or how many, evenly spaced with the first and the last; None: half.

    Returns:
        The smaller model, for `constrain.speculative.Model`.

    Raises:
        ConstrainError: No list of layers is found, or `keep` is no choice of them.

    Example:
        >>> import constrain
        >>> model = constrain.reference.load()
        >>> draft = constrain.speculative.Model(skip_layers(model, keep=2))
        >>> constrain.generate(model, "Yes or no: ", choices=["yes", "no"], draft=draft, seed=1).finish_reason
        'stop'
    """
    handle = HFModel.of(model)
    kept = _kept(keep, layer_count(handle))

    def numbered(layers: torch.nn.ModuleList) -> list[tuple[torch.nn.Module, int]]:
        for place, i in enumerate(kept):
            for module in layers[i].modules():
                if hasattr(module, "layer_idx"):
                    module.layer_idx = place  # where its keys and values are in the cache
        return [(layers[i], i) for i in kept]

    return with_layers(handle, numbered)


def with_layers(
    handle: HFModel, choose: Callable[[torch.nn.ModuleList], Sequence[tuple[torch.nn.Module, int]]]
) -> HFModel:
    """The model with other layers; both share all weights, and the model stays as it is.

    choose: picks layers from a copy of the list, each with the number of a layer whose kind of attention it has
    """
    tensors = [*handle.model.parameters(), *handle.model.buffers()]
    twin = copy.deepcopy(handle.model, {id(tensor): tensor for tensor in tensors})
    parent, name, _ = find_layers(twin)
    chosen = choose(getattr(parent, name))
    setattr(parent, name, torch.nn.ModuleList([layer for layer, _ in chosen]))
    config = twin.config.get_text_config()
    types = getattr(config, "layer_types", None)
    config.num_hidden_layers = len(chosen)
    if types is not None:
        config.layer_types = [types[i] for _, i in chosen]
    return HFModel(twin, handle.tokenizer)


def _kept(keep: int | Sequence[int] | None, count: int) -> list[int]:
    """Indices of layers."""
    if keep is None:
        keep = max(1, count // 2)
    if isinstance(keep, int):
        if not 1 <= keep <= count:
            raise ConstrainError(f"keep must be from 1 to {count} layers, not {keep}")
        return [round(i * (count - 1) / max(1, keep - 1)) for i in range(keep)]
    kept = list(keep)
    rising = all(isinstance(i, int) for i in kept) and kept == sorted(set(kept))
    if not kept or not rising or kept[0] < 0 or kept[-1] >= count:
        raise ConstrainError(f"keep must have indices of {count} layers in rising order, not {kept!r}")
    return kept
