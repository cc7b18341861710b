"""Measure the models: loss on held-out text, agreement of draft and target, validity of unconstrained JSON."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional as F
from transformers import LlamaForCausalLM

from . import corpus, schemas


@torch.no_grad()
def loss(model: LlamaForCausalLM, tokenizer: Tokenizer, rows: np.ndarray) -> dict[str, float]:
    """Mean loss over rows (uint16[n, length]) in nats per token and bits per byte of the decoded text."""
    total = count = size = 0.0
    for row in rows:
        ids = torch.from_numpy(row.astype(np.int64))[None]
        logits = model(input_ids=ids[:, :-1], use_cache=False).logits
        total += F.cross_entropy(logits[0].float(), ids[0, 1:], reduction="sum").item()
        count += ids.shape[1] - 1
        size += len(tokenizer.decode(row[1:].tolist(), skip_special_tokens=True).encode())
    return {"nats_per_token": round(total / count, 4), "bits_per_byte": round(total / math.log(2) / size, 4)}


@torch.no_grad()
def agreement(target: LlamaForCausalLM, draft: LlamaForCausalLM, rows: np.ndarray) -> dict[str, float]:
    """The rates at which draft tokens would be accepted, per position of held-out text.

    greedy: the most likely tokens are equal. sampled: sum_v min(target_probs[v], draft_probs[v]), the acceptance
    probability of speculative sampling at temperature 1 (Leviathan et al. 2023, section 3.3).
    """
    same = shared = count = 0.0
    for row in rows:
        ids = torch.from_numpy(row.astype(np.int64))[None]
        p, q = target(input_ids=ids, use_cache=False).logits[0], draft(input_ids=ids, use_cache=False).logits[0]
        same += (p.argmax(-1) == q.argmax(-1)).sum().item()
        shared += torch.minimum(p.softmax(-1), q.softmax(-1)).sum().item()
        count += len(row)
    return {"greedy": round(same / count, 4), "sampled": round(shared / count, 4)}


@torch.no_grad()
def sample(
    model: LlamaForCausalLM,
    tokenizer: Tokenizer,
    prompts: list[str],
    *,
    temperature: float,
    seed: int,
    limit: int = 384,
    batch: int = 50,
) -> list[str | None]:
    """Unconstrained continuations by ancestral sampling (temperature 0: greedy).

    None stands for a text that did not reach EOS within `limit` tokens.
    """
    torch.manual_seed(seed)
    how = (
        {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
        if temperature
        else {"do_sample": False}
    )
    out: list[str | None] = []
    for start in range(0, len(prompts), batch):
        encoded = [tokenizer.encode(p).ids for p in prompts[start : start + batch]]
        width = max(map(len, encoded))
        ids = torch.tensor([[corpus.PAD] * (width - len(e)) + e for e in encoded])
        mask = torch.tensor([[0] * (width - len(e)) + [1] * len(e) for e in encoded])
        done = model.generate(
            ids, attention_mask=mask, max_new_tokens=limit, pad_token_id=corpus.PAD, eos_token_id=corpus.EOS, **how
        )
        tails = done[:, width:].tolist()
        out += [tokenizer.decode(t[: t.index(corpus.EOS)]) if corpus.EOS in t else None for t in tails]
    return out


def held_out_prompts(seed: int, count: int) -> list[tuple[str, dict[str, Any]]]:
    """(prompt, schema) of generated schemas that no training document used (other random states)."""
    rng = random.Random(f"prompts {seed}")
    found: list[tuple[str, dict[str, Any]]] = []
    while len(found) < count:
        shape, _ = schemas.schema(rng)
        text = json.dumps(shape)
        if len(text) <= 700:
            found.append((schemas.prompt(text), shape))
    return found


def validity(shapes: list[dict[str, Any]], texts: list[str | None]) -> dict[str, float]:
    """Shares of texts that ended, that parse as JSON, and that validate (with format checks)."""
    from jsonschema import Draft202012Validator

    ended = parsed = valid = 0
    for shape, text in zip(shapes, texts, strict=True):
        if text is None:
            continue
        ended += 1
        try:
            value = json.loads(text)
        except ValueError:
            continue
        parsed += 1
        valid += Draft202012Validator(shape, format_checker=Draft202012Validator.FORMAT_CHECKER).is_valid(value)
    n = len(texts)
    return {"prompts": n, "ended": round(ended / n, 4), "parse": round(parsed / n, 4), "validate": round(valid / n, 4)}


def summary(
    target: LlamaForCausalLM, draft: LlamaForCausalLM, tokenizer: Tokenizer, rows: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Loss of both models per kind, and their agreement."""
    return {
        kind: {
            "target": loss(target, tokenizer, r),
            "draft": loss(draft, tokenizer, r),
            "agreement": agreement(target, draft, r),
        }
        for kind, r in rows.items()
    }


def json_validity(
    model: LlamaForCausalLM, tokenizer: Tokenizer, seed: int, count: int, folder: Path | None = None
) -> dict[str, Any]:
    """`validity` at temperatures 1, 0.7 and greedy on the same prompts; the samples go to `folder` as JSON lines."""
    prompts = held_out_prompts(seed, count)
    out: dict[str, Any] = {}
    for temperature in (1.0, 0.7, 0.0):
        texts = sample(model, tokenizer, [p for p, _ in prompts], temperature=temperature, seed=seed)
        out[f"temperature {temperature}"] = validity([s for _, s in prompts], texts)
        if folder is not None:
            lines = (
                json.dumps({"prompt": p, "text": t}, ensure_ascii=False)
                for (p, _), t in zip(prompts, texts, strict=True)
            )
            (folder / f"samples-{temperature}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return out
