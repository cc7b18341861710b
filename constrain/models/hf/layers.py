"""The list of layers of a model of transformers."""

from __future__ import annotations

import torch

from constrain.errors import ConstrainError
from constrain.models.hf.model import HFModel


def layer_list(handle: HFModel) -> torch.nn.ModuleList:
    """The layers themselves. Raises ConstrainError if no list of layers is found."""
    parent, name, _ = find_layers(handle.model)
    found: torch.nn.ModuleList = getattr(parent, name)
    return found


def layer_count(handle: HFModel) -> int:
    """The number of layers of a model. Raises ConstrainError if no list of layers is found."""
    return find_layers(handle.model)[2]


def find_layers(model: torch.nn.Module) -> tuple[torch.nn.Module, str, int]:
    """The module that holds the list of layers, the name of the list there, and its length."""
    count = int(model.config.get_text_config().num_hidden_layers)
    for parent in model.modules():
        for name, child in parent.named_children():
            if isinstance(child, torch.nn.ModuleList) and len(child) == count:
                return parent, name, count
    raise ConstrainError(f"{type(model).__name__} has no list of {count} layers to choose from")
