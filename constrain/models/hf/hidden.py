"""Record, or change, what goes through a model's modules during a forward pass: draft heads start from that."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from constrain.models.hf.layers import layer_list
from constrain.models.hf.model import HFModel


@contextmanager
def watched(handle: HFModel, wanted: bool | tuple[int, ...]) -> Iterator[list[torch.Tensor]]:
    """Hidden states of the forwards meanwhile, one float[B, positions, F] each; empty if they are not wanted.

    wanted: True, what the head is given, at the positions whose logits are computed; a tuple, at all positions what
    goes into these layers, joined (one behind the last: what that one puts out), or without layers what the last norm
    puts out (the base model's result).
    """
    seen: list[torch.Tensor] = []
    model = handle.model
    with ExitStack() as hooks:
        if wanted is True:
            head = model.get_output_embeddings()
            hooks.callback(head.register_forward_pre_hook(lambda _, given: seen.append(given[0])).remove)
        elif wanted == ():
            hooks.callback(model.base_model.register_forward_hook(lambda _, __, out: seen.append(out[0])).remove)
        elif wanted:
            _watch_layers(layer_list(handle), wanted, hooks, seen)
        yield seen


def _watch_layers(layers: Any, wanted: tuple[int, ...], hooks: ExitStack, seen: list[torch.Tensor]) -> None:
    """Hooks on layers: one tensor for each forward, complete with the last of them."""
    parts: dict[int, torch.Tensor] = {}

    def keep(index: int, hidden: torch.Tensor) -> None:
        parts[index] = hidden
        if len(parts) == len(wanted):
            seen.append(torch.cat([parts[each] for each in wanted], dim=-1))
            parts.clear()

    for index in wanted:
        if index == len(layers):
            hook = layers[-1].register_forward_hook(
                lambda _, __, out, index=index: keep(index, out[0] if isinstance(out, tuple) else out)
            )
        else:
            hook = layers[index].register_forward_pre_hook(
                lambda _, given, named, index=index: keep(index, given[0] if given else named["hidden_states"]),
                with_kwargs=True,
            )
        hooks.callback(hook.remove)


@contextmanager
def changed_output(module: torch.nn.Module, change: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """Change what a module puts out, in the forward passes of this thread meanwhile."""
    own = threading.get_ident()
    hook = module.register_forward_hook(lambda _, __, out: change(out) if threading.get_ident() == own else None)
    try:
        yield
    finally:
        hook.remove()


@contextmanager
def changed_input(layer: torch.nn.Module, change: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """Change the hidden states that go into a layer, in the forward passes of this thread meanwhile."""
    own = threading.get_ident()

    def before(_: Any, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
        if threading.get_ident() != own:
            return None
        if given:
            return (change(given[0]), *given[1:]), named
        return given, {**named, "hidden_states": change(named["hidden_states"])}

    hook = layer.register_forward_pre_hook(before, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()
