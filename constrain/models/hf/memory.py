"""Copy and gather the rows of a model's memory of a batch, whatever object it is.

The idea: keys and values, recurrent states, convolutions are tensors somewhere inside one object. Which axis of each
counts the rows of the batch is seen by comparing the memories of two rows and of three. A copy of the object with
other rows is a deep copy in which these tensors are replaced. Models that keep their state in attributes of their own
modules (RecurrentGemma) have those tensors taken along.

Cost: a copy of the whole memory for each fork. Plain caches of keys and values are shared instead (cache.py).
Limit: an axis may hold several entries for each row (rows times heads), if the entries of a row lie side by side.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

Path = tuple[str, ...]
Axes = Mapping[Path, tuple[int, int]]  # of the tensors that have rows: the axis, and the places of a row on it
TWO, THREE = 2, 3  # rows whose memories are compared


def tensors(memory: Any) -> dict[Path, torch.Tensor]:
    """Every tensor inside an object, by the names and numbers that lead to it."""
    return {path: value for path, value in _walk(memory, (), set()) if isinstance(value, torch.Tensor)}


def row_axes(two: Any, three: Any) -> dict[Path, tuple[int, int]]:
    """The axis of rows of each tensor, from the memories of two rows and of three of equal lengths."""
    more = tensors(three)
    found: dict[Path, tuple[int, int]] = {}
    for path, tensor in tensors(two).items():
        pairs = zip(tensor.shape, more[path].shape, strict=True)
        changed = [(axis, a // TWO) for axis, (a, b) in enumerate(pairs) if a != b and a * THREE == b * TWO]
        if changed:
            found[path] = changed[0]
    return found


def gathered(memory: Any, axes: Axes, rows: torch.Tensor) -> Any:
    """A copy of a memory that has these of its rows, int64[B]; nothing is shared with the first."""
    known: dict[int, Any] = {}
    for path, value in _walk(memory, (), set()):
        if not isinstance(value, torch.Tensor):
            known[id(value)] = value
        elif path in axes:
            axis, places = axes[path]
            index = (rows.to(value.device).unsqueeze(1) * places + torch.arange(places, device=value.device)).flatten()
            known[id(value)] = value.index_select(axis, index)
        else:
            known[id(value)] = value.clone()
    return copy.deepcopy(memory, known)


def module_tensors(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Tensors that are plain attributes of the model's modules, neither parameters nor buffers; by dotted names."""
    return {
        f"{name}.{attribute}": value
        for name, module in model.named_modules()
        for attribute, value in vars(module).items()
        if isinstance(value, torch.Tensor)
    }


@contextmanager
def forgotten(modules: Sequence[Any]) -> Iterator[None]:
    """Modules without the `rope_deltas` of the last images, which a forward would add to positions; put back after."""
    before = [module.rope_deltas for module in modules]
    for module in modules:
        module.rope_deltas = None
    try:
        yield
    finally:
        for module, value in zip(modules, before, strict=True):
            module.rope_deltas = value


def _walk(value: Any, path: Path, seen: set[int]) -> Iterator[tuple[Path, Any]]:
    """(path, tensor), and (path, part) for parts that copies share: modules, configurations, classes."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, (torch.Tensor, torch.nn.Module, type)) or hasattr(value, "to_diff_dict"):
        yield path, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _walk(part, (*path, str(key)), seen)
    elif isinstance(value, (list, tuple, set)):
        for place, part in enumerate(value):
            yield from _walk(part, (*path, str(place)), seen)
    elif hasattr(value, "__dict__"):
        for name, part in vars(value).items():
            yield from _walk(part, (*path, name), seen)
