"""Functions as CUDA graphs, and how many of them are kept.

The idea: a graph runs again the kernels that a function launched once, at the same addresses, so that a step costs one
launch instead of all of Python's. It is captured when it was wanted a few times, and those used last are kept by the
bytes of what they hold.

Captured on a GPU only (`make gpu`); tests replay a record of the operators instead. That nothing in a function waits
for the host, which no graph holds, is seen on any device (`NothingWaits`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

T = TypeVar("T")
K = TypeVar("K")

USES = 2  # of a function before its graph is captured
WAITS = {"_local_scalar_dense", "nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "equal"}


class Captured(Generic[T]):
    """A function as a CUDA graph.

    Args:
        run: Reads and writes tensors that stay where they are, waits for nothing, and may be run once more than it is
            called: kernels are compiled before the capture. What it returns is overwritten by each call.
        pool: Of the memory that kernels work in; graphs that never run at once may share one.

    Raises:
        RuntimeError: There is no CUDA here, or something cannot be captured.
    """

    def __init__(self, run: Callable[[], T], pool: Any = None) -> None:
        if not torch.cuda.is_available():
            raise RuntimeError("a CUDA graph needs a GPU")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            run()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):
            self.out = run()

    def __call__(self) -> T:
        self.graph.replay()
        return self.out


class Kept(Generic[K, T]):
    """Objects by key, those used last, as many as fit.

    Args:
        most: Bytes of all objects.
        uses: How often a key is asked for in vain before its object is made.

    Example:
        >>> kept = Kept(10)
        >>> [kept.get(key, 5, lambda: key.upper()) for key in "abac"], list(kept.held)
        (['A', 'B', 'A', 'C'], ['a', 'c'])
    """

    def __init__(self, most: int, uses: int = 0) -> None:
        self.most, self.uses = most, uses
        self.held: dict[K, tuple[T, int]] = {}  # with its bytes; the one used last is the last
        self._asked: dict[K, int] = {}

    def get(self, key: K, size: int, make: Callable[[], T]) -> T | None:
        """The object of a key, made where it is needed; None: not yet, or its `size` bytes never fit."""
        if key not in self.held:
            self._asked[key] = self._asked.get(key, 0) + 1
            if self._asked[key] <= self.uses or size > self.most:
                return None
            while sum(held for _, held in self.held.values()) + size > self.most:
                del self.held[next(iter(self.held))]
            made = make()
        else:
            made, size = self.held.pop(key)
        self.held[key] = made, size
        return made


class Waits(RuntimeError):
    """An operator waits for the host, or moves a tensor between devices."""


class NothingWaits(TorchDispatchMode):
    """Raises Waits in its block at the first operator for which the host would wait."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        by_truth = name in ("index", "index_put", "index_put_") and any(_is(each, torch.bool) for each in args[1])
        devices = {each.device for each in tree_leaves(out) if _is(each)}
        devices |= {each.device for each in tree_leaves((args, kwargs)) if _is(each) and each.ndim}
        if name in WAITS or by_truth or len(devices) > 1:
            raise Waits(f"the operator {name} waits for the host")
        return out


def _is(each: Any, dtype: torch.dtype | None = None) -> bool:
    return isinstance(each, torch.Tensor) and dtype in (None, each.dtype)
