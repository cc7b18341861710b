"""Two small Llama models: the target learns the next token; the draft learns that, and what the target thinks of it.

Hidden matrices are updated by Muon (Jordan et al. 2024, torch.optim.Muon), embeddings and norms by AdamW; the learning
rate warms up, stays, then falls linearly to 2 % from a third of the run on. Matrix products run in bfloat16 (autocast),
parameters stay float32.
Cost: about 5,000 tokens a second and core. Progress is measured in steps, or in wall-clock time (`minutes`) on
a shared machine; the record says how many steps that were, so a run can be repeated by its step count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch.nn import functional as F
from transformers import LlamaConfig, LlamaForCausalLM

TARGET = {
    "hidden_size": 256,
    "intermediate_size": 704,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
DRAFT = {
    "hidden_size": 128,
    "intermediate_size": 320,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
}
WARMUP, FLAT = 0.02, 0.33  # parts of the run


def build(shape: dict[str, int], vocabulary: int, seed: int) -> LlamaForCausalLM:
    """A freshly initialised model: tied embeddings, rotary positions up to 2,048."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=vocabulary, max_position_embeddings=2048, tie_word_embeddings=True, pad_token_id=0, eos_token_id=1,
        bos_token_id=None, attn_implementation="sdpa", **shape,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def optimisers(model: LlamaForCausalLM, rate: float) -> list[torch.optim.Optimizer]:
    hidden = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    rest = [p for n, p in model.named_parameters() if p.ndim != 2 or "embed" in n]
    return [
        torch.optim.Muon(hidden, lr=rate, weight_decay=0.05, momentum=0.95, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(rest, lr=rate / 2, betas=(0.9, 0.98), weight_decay=0.0, fused=True),
    ]


def schedule(progress: float) -> float:
    """Factor on the learning rate at `progress` in [0, 1]."""
    if progress < WARMUP:
        return max(progress / WARMUP, 0.02)
    if progress < FLAT:
        return 1.0
    return max(0.02, (1 - progress) / (1 - FLAT))


@dataclass
class Budget:
    """The length of training: a number of steps, or minutes of wall clock."""

    steps: int | None = None
    minutes: float | None = None
    started: float = field(default_factory=time.monotonic)

    def elapsed(self) -> float:
        return time.monotonic() - self.started

    def progress(self, step: int) -> float:
        if self.steps is not None:
            return step / self.steps
        assert self.minutes is not None
        return self.elapsed() / 60 / self.minutes


def target_loss(target: LlamaForCausalLM, batch: torch.Tensor) -> torch.Tensor:
    """Cross entropy in nats per token. batch: int64[rows, length]."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = target(input_ids=batch[:, :-1], use_cache=False).logits
    return F.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten())


def draft_loss(target: LlamaForCausalLM, draft: LlamaForCausalLM, batch: torch.Tensor) -> torch.Tensor:
    """Cross entropy of the draft to a half-and-half mixture of the data and the target (Hinton et al. 2015)."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with torch.no_grad():
            teacher = target(input_ids=batch[:, :-1], use_cache=False).logits.float().softmax(-1).flatten(0, 1)
        logits = draft(input_ids=batch[:, :-1], use_cache=False).logits
    logits = logits.float().flatten(0, 1)
    return 0.5 * F.cross_entropy(logits, batch[:, 1:].flatten()) + 0.5 * F.cross_entropy(logits, teacher)


def train(
    model: LlamaForCausalLM,
    loss_of: Callable[[torch.Tensor], torch.Tensor],
    rows: Iterator[tuple[str, np.ndarray]],
    budget: Budget,
    *,
    batch: int,
    rate: float,
    every: float,
    report: Callable[[dict[str, float]], None],
) -> None:
    """Train `model` on `loss_of(batch)`, batch int64[rows, length], until the budget is used up.

    report: called every `every` seconds, and at the end, with the figures so far (losses in nats per token).
    """
    opts = optimisers(model, rate)
    base = [[g["lr"] for g in o.param_groups] for o in opts]
    step, tokens, smooth, last = 0, 0, 0.0, time.monotonic()
    figures: dict[str, float] = {}
    while (progress := budget.progress(step)) < 1:
        for opt, rates in zip(opts, base, strict=True):
            for group, lr in zip(opt.param_groups, rates, strict=True):
                group["lr"] = lr * schedule(progress)
        block = torch.from_numpy(np.stack([next(rows)[1] for _ in range(batch)]).astype(np.int64))
        loss = loss_of(block)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for opt in opts:
            opt.step()
            opt.zero_grad(set_to_none=True)
        step, tokens = step + 1, tokens + block[:, 1:].numel()
        smooth = loss.item() if step == 1 else 0.98 * smooth + 0.02 * loss.item()
        figures = {
            "step": step,
            "tokens": tokens,
            "seconds": round(budget.elapsed(), 1),
            "progress": round(budget.progress(step), 4),
            "train_loss": round(smooth, 4),
        }
        if time.monotonic() - last > every:
            report(figures)
            last = time.monotonic()
    report(figures)
