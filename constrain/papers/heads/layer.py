"""One layer of a Llama, whose attention sees rows of keys and values that the caller names.

Not measured by itself: the heads that are made of it are.

Heads that look back over a text (Hydra's prefix, EAGLE) are one such layer. Its parameters have the names of Llama's,
so that checkpoints fit. Rows come in two kinds: those of the text, which a mask shows to each query, and those of a
query's own draft, one for each step of it. So a step of training over all places at once is what drafting does place by
place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from constrain.errors import ConstrainError


class KeysValues(NamedTuple):
    """keys, values: float[n, heads, d]."""

    keys: torch.Tensor
    values: torch.Tensor

    def joined(self, other: KeysValues) -> KeysValues:
        """These rows, and others behind them."""
        return KeysValues(torch.cat([self.keys, other.keys]), torch.cat([self.values, other.values]))

    def first(self, count: int) -> KeysValues:
        """The first of these rows."""
        return KeysValues(self.keys[:count], self.values[:count])


class Shape(NamedTuple):
    """Sizes of a layer. size: of hidden states; inner: of the MLP."""

    size: int
    inner: int
    heads: int
    shared: int
    width: int
    epsilon: float
    theta: float

    @classmethod
    def of(cls, config: Any) -> Shape:
        """From a configuration of Llama, as an object or as the dict of its file.

        Raises ConstrainError: scaled rope, or other names.
        """
        known = config if isinstance(config, dict) else config.to_dict()
        rope = known.get("rope_parameters") or known.get("rope_scaling") or {}
        kind = rope.get("rope_type", rope.get("type", "default"))
        if kind != "default":
            raise ConstrainError(f"draft heads with scaled positions ({kind}) are not supported", place="rope_scaling")
        missing = [name for name in ("hidden_size", "intermediate_size", "num_attention_heads") if name not in known]
        if missing:
            raise ConstrainError(
                f"the configuration of the layer has no {missing[0]}", fix="pass config=, with the names of Llama's"
            )
        heads = int(known["num_attention_heads"])
        return cls(
            size=int(known["hidden_size"]),
            inner=int(known["intermediate_size"]),
            heads=heads,
            shared=int(known.get("num_key_value_heads") or heads),
            width=int(known.get("head_dim") or known["hidden_size"] // heads),
            epsilon=float(known.get("rms_norm_eps", 1e-6)),
            theta=float(rope.get("rope_theta") or known.get("rope_theta") or 10000.0),
        )


class RMSNorm(nn.Module):
    """x / rms(x), times a weight."""

    def __init__(self, size: int, epsilon: float) -> None:
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(size)), epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float[..., size]."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.epsilon)).to(x.dtype)


class Attention(nn.Module):
    """The projections. times: of the size of hidden states, what is read."""

    def __init__(self, shape: Shape, times: int) -> None:
        super().__init__()
        self.q_proj = nn.Linear(times * shape.size, shape.heads * shape.width, bias=False)
        self.k_proj = nn.Linear(times * shape.size, shape.shared * shape.width, bias=False)
        self.v_proj = nn.Linear(times * shape.size, shape.shared * shape.width, bias=False)
        self.o_proj = nn.Linear(shape.heads * shape.width, shape.size, bias=False)


class MLP(nn.Module):
    """SwiGLU. gives: times the size, what it puts out."""

    def __init__(self, shape: Shape, gives: int = 1) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.size, shape.inner, bias=False)
        self.up_proj = nn.Linear(shape.size, shape.inner, bias=False)
        self.down_proj = nn.Linear(shape.inner, gives * shape.size, bias=False)

    def forward(self, x: torch.Tensor, gate: torch.Tensor | None = None) -> torch.Tensor:
        """float[..., gives · size]. gate: what opens it; None: x."""
        opened = F.silu(self.gate_proj(x if gate is None else gate))
        found: torch.Tensor = self.down_proj(opened * self.up_proj(x))
        return found


class AttentionLayer(nn.Module):
    """Attention and what it is added to; norms before it are the caller's, where an architecture has them elsewhere.

    times: how much it reads, in sizes.
    """

    def __init__(self, shape: Shape, *, times: int = 1) -> None:
        super().__init__()
        self.shape = shape
        self.self_attn = Attention(shape, times)

    def rows(self, x: torch.Tensor, places: torch.Tensor) -> KeysValues:
        """Keys and values of what is read, float[n, times · size], at places int64[n]."""
        shape = (len(x), self.shape.shared, self.shape.width)
        keys, values = self.self_attn.k_proj(x).view(shape), self.self_attn.v_proj(x).view(shape)
        return KeysValues(self._turned(keys, places), values)

    def attend(
        self,
        x: torch.Tensor,
        residual: torch.Tensor,
        places: torch.Tensor,
        text: KeysValues,
        seen: torch.Tensor | None = None,
        own: Sequence[KeysValues] = (),
    ) -> torch.Tensor:
        """float[n, size]: what comes out of the layer.

        text: m rows, of which seen: bool[n, m] (None: all) are shown. own: for each step of a draft one row a query.
        """
        n, groups = len(x), self.shape.heads // self.shape.shared
        queries = self._turned(self.self_attn.q_proj(x).view(n, self.shape.heads, self.shape.width), places)
        queries = queries.view(n, self.shape.shared, groups, self.shape.width) / self.shape.width**0.5
        scores = torch.einsum("nhgd,mhd->nhgm", queries, text.keys)
        if seen is not None:
            scores = scores.masked_fill(~seen[:, None, None, :], -torch.inf)
        for each in own:
            scores = torch.cat([scores, torch.einsum("nhgd,nhd->nhg", queries, each.keys).unsqueeze(-1)], dim=-1)
        weights = scores.softmax(-1)
        m = len(text.keys)
        found = torch.einsum("nhgm,mhd->nhgd", weights[..., :m], text.values)
        for step, each in enumerate(own):
            found = found + weights[..., m + step, None] * each.values.unsqueeze(2)
        out: torch.Tensor = residual + self.self_attn.o_proj(found.flatten(1))
        return out

    def _turned(self, x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Rotary positions (Su et al. 2021, arXiv 2104.09864), halves as Llama has them. x: float[n, heads, d]"""
        half = self.shape.width // 2
        rates = self.shape.theta ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
        angles = places.to(torch.float32)[:, None] * rates
        cos, sin = (f(angles).to(x.dtype)[:, None, :] for f in (torch.cos, torch.sin))
        left, right = x[..., :half], x[..., half:]
        return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)


class DecoderLayer(AttentionLayer):
    """The layer without its first norm. times, gives: how much it reads and puts out, in sizes."""

    def __init__(self, shape: Shape, *, times: int = 1, gives: int = 1) -> None:
        super().__init__(shape, times=times)
        self.gives = gives
        self.mlp = MLP(shape, gives)
        self.post_attention_layernorm = RMSNorm(shape.size, shape.epsilon)

    def attend(
        self,
        x: torch.Tensor,
        residual: torch.Tensor,
        places: torch.Tensor,
        text: KeysValues,
        seen: torch.Tensor | None = None,
        own: Sequence[KeysValues] = (),
    ) -> torch.Tensor:
        hidden = super().attend(x, residual, places, text, seen, own)
        out: torch.Tensor = hidden.repeat(1, self.gives) + self.mlp(self.post_attention_layernorm(hidden))
        return out


class WholeLayer(DecoderLayer):
    """A layer with its norm before the attention."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.input_layernorm = RMSNorm(shape.size, shape.epsilon)

    def behind(self, x: torch.Tensor, text: KeysValues | None) -> tuple[torch.Tensor, KeysValues]:
        """Outputs at n places behind the text's, float[n, size], and the rows of all of them."""
        first = 0 if text is None else len(text.keys)
        places = torch.arange(first, first + len(x), device=x.device)
        read = self.input_layernorm(x)
        rows = self.rows(read, places)
        rows = rows if text is None else text.joined(rows)
        return self.attend(read, x, places, rows, causal(len(x), len(rows.keys), x.device)), rows


def causal(queries: int, keys: int, device: torch.device) -> torch.Tensor:
    """bool[queries, keys]: each of the last places sees itself and those before it."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
