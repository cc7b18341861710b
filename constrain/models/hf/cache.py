"""Keys and values of many sequences that begin alike: the beginning is kept once.

The idea: where a batch of particles starts from a prompt, each layer holds the prompt's keys and values once for each
distinct prompt, and for each row only what came after. Forks and selections copy the rows' own part; the beginning is
named by an index.
Cost: for the time of one layer's attention the two are put together, as a plain cache does too when it grows.
Limit: layers that keep everything (`DynamicLayer`); those of a window copy what they hold. Other caches: memory.py.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer, EncoderDecoderCache


class SharedLayer(DynamicLayer):
    """One layer. stem_keys, stem_values: [R, heads, P, size]; stems: int64[B], the beginning of each row.
    keys, values: [B, heads, S, size], what came after. apart: the attention joins both itself
    (constrain/papers/layers/hydragen.py), from the attribute `beginning` of the keys that it is given."""

    apart = False

    def __init__(self, layer: Any, stems: torch.Tensor) -> None:
        """The rows of another layer that `stems` names; its tensors are taken by reference."""
        super().__init__()
        self.stem_keys, self.stem_values, self.stems = layer.keys, layer.values, stems
        # `lazy_initialization` does this, with other arguments in each version of transformers.
        self.dtype, self.device, self.is_initialized = layer.keys.dtype, layer.keys.device, True
        _, heads, _, size = layer.keys.shape
        self.keys = layer.keys.new_empty((len(stems), heads, 0, size))
        self.values = layer.values.new_empty((len(stems), heads, 0, layer.values.shape[-1]))

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """Add to the rows' own part; the whole, for attention."""
        self.keys = torch.cat([self.keys, key_states], dim=-2)
        self.values = torch.cat([self.values, value_states], dim=-2)
        if self.apart:
            self.keys.beginning = (self.stem_keys, self.stem_values, self.stems)
            return self.keys, self.values
        return self._whole(self.stem_keys, self.keys), self._whole(self.stem_values, self.values)

    def _whole(self, stem: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
        beginning = stem.expand(len(own), -1, -1, -1) if len(stem) == 1 else stem[self.stems]
        return torch.cat([beginning, own], dim=-2)

    def get_seq_length(self) -> int:
        """Slots, the beginning included."""
        return int(self.stem_keys.shape[-2] + self.keys.shape[-2])

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Go on with these rows."""
        self.stems = self.stems[indices]
        self.keys, self.values = self.keys[indices], self.values[indices]


class CrossLayer(DynamicLayer):
    """One layer's keys and values of what an encoder read: they do not grow, and rows of one text have the same.

    stem_keys, stem_values: [S, heads, T, size]; stems: int64[B], the text of each row.
    """

    def __init__(self, layer: Any, stems: torch.Tensor) -> None:
        self.stem_keys, self.stem_values, self.stems = layer.keys, layer.values, stems
        self.dtype, self.device, self.is_initialized = layer.keys.dtype, layer.keys.device, True

    @property
    def keys(self) -> torch.Tensor:
        """float[B, heads, T, size], made for the time of an attention; a view where all rows have one text."""
        return self._of_rows(self.stem_keys)

    @property
    def values(self) -> torch.Tensor:
        """The values of each row, laid out as `keys`."""
        return self._of_rows(self.stem_values)

    def _of_rows(self, stem: torch.Tensor) -> torch.Tensor:
        return stem.expand(len(self.stems), -1, -1, -1) if len(stem) == 1 else stem[self.stems]

    def get_seq_length(self) -> int:
        """Tokens that the encoder read."""
        return int(self.stem_keys.shape[-2])

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Go on with these rows."""
        self.stems = self.stems[indices]


PLAIN = (DynamicLayer, DynamicSlidingWindowLayer, SharedLayer)


def branched(cache: Any, rows: torch.Tensor) -> Any:
    """A cache that goes on from rows of another, which stays as it is; int64[B] on the cache's device.

    Layers replace their tensors and never write into them, so those of both may be the same.
    """
    if isinstance(cache, EncoderDecoderCache):
        twin = copy.copy(cache)
        twin.is_updated = dict(cache.is_updated)
        twin.self_attention_cache = branched(cache.self_attention_cache, rows)
        twin.cross_attention_cache = copy.copy(cache.cross_attention_cache)
        twin.cross_attention_cache.layers = [_crossed(layer, rows) for layer in cache.cross_attention_cache.layers]
        return twin
    twin = copy.copy(cache)
    twin.layers = []
    for layer in cache.layers:
        if type(layer) is DynamicLayer and layer.keys is not None:
            twin.layers.append(SharedLayer(layer, rows))
        else:
            twin.layers.append(copy.copy(layer))
            twin.layers[-1].batch_select_indices(rows)
    return twin


def _crossed(layer: Any, rows: torch.Tensor) -> Any:
    """Some rows of a layer of cross attention; one that was selected before is named by an index already."""
    if not isinstance(layer, CrossLayer):
        return CrossLayer(layer, rows)
    twin = copy.copy(layer)
    twin.batch_select_indices(rows)
    return twin


def own_layers(cache: Any) -> list[Any]:
    """The layers of a cache that grow with the text: of a decoder's own attention, not of that to an encoder."""
    return list(getattr(cache, "self_attention_cache", cache).layers)


def is_plain(cache: Any) -> bool:
    """True if `branched` knows all layers of a cache: keys and values of every token, or of a window's."""
    if type(cache) is EncoderDecoderCache:
        crossed = all(type(layer) in (DynamicLayer, CrossLayer) for layer in cache.cross_attention_cache.layers)
        return crossed and is_plain(cache.self_attention_cache)
    layers = getattr(cache, "layers", [])
    return type(cache) is DynamicCache and bool(layers) and all(type(layer) in PLAIN for layer in layers)


def keeps_everything(cache: Any) -> bool:
    """True if all layers hold keys and values of every token, so that a row may have holes."""
    return is_plain(cache) and all(type(layer) in (DynamicLayer, SharedLayer) for layer in own_layers(cache))
