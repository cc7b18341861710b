"""The model, one decoding loop for all engines, and the likelihood of a known text under masks.

Every engine gets the same loop: forward, mask, choose, commit, token by token. What engines offer beyond masks
(skipping forced tokens, sampling again) is left out, so that only masks differ. `Unconstrained` is the model alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from constrain.models.hf.model import HFModel
from masks.interface import Engine, is_set
from masks.vocabularies import BenchVocabulary, check_spelling


class Unconstrained:
    """An engine that allows everything: the model as it is."""

    version = "–"

    def __init__(self, vocabulary: BenchVocabulary) -> None:
        self.row = np.full(vocabulary.words, 0xFFFFFFFF, dtype=np.uint32)

    def compile(self, schema: Any) -> None: ...
    def start(self) -> None: ...
    def mask(self) -> None: ...

    def advance(self, token: int) -> bool:
        return True

    def at_end(self) -> bool:
        return True

    def check(self, text: str) -> bool:
        return True


@dataclass
class Subject:
    """The model under test: its handle, the bytes of its tokens, how it reads a prompt."""

    handle: HFModel
    vocabulary: BenchVocabulary
    chat: bool = False

    def prompt_ids(self, prompt: str) -> list[int]:
        """The ids of a prompt; with `chat` as one message of a user, in the tokenizer's template."""
        tokenizer = self.handle.tokenizer
        if not self.chat:
            return list(tokenizer.encode(prompt))
        message = [{"role": "user", "content": prompt}]
        text = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        return list(tokenizer.encode(text, add_special_tokens=False))


def load(name: str, device: str = "cpu", chat: bool = False) -> Subject:
    """A model by name or path; "reference" is the embedded one. Raises ValueError: its tokenizer cannot spell JSON."""
    import constrain

    handle = HFModel.of(constrain.reference.load() if name == "reference" else name)
    handle.model.to(device)
    known = handle.vocabulary
    encode = _encoder(handle.tokenizer, known.tokens)
    vocabulary = BenchVocabulary(name, known.tokens, known.eos_ids[0], encode)
    check_spelling(vocabulary)
    return Subject(handle, vocabulary, chat)


def _encoder(tokenizer: Any, tokens: list[bytes | None]) -> Callable[[str], list[int]]:
    """Text → ids that spell it; a tokenizer that puts a space before a text gets a line break, which is cut off."""

    def plain(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False))

    def after_newline(text: str) -> list[int]:
        ids = plain("\n" + text)
        return ids[next(i for i, token in enumerate(ids) if tokens[token] == b"\n") + 1 :]

    spelled = b"".join(tokens[token] or b"" for token in plain("[]"))
    return plain if spelled == b"[]" else after_newline


@dataclass
class Written:
    """The tokens that a model wrote, with times. outcome: "stop", "length" or "dead_end" (no token was allowed).

    first_s: from the start to the first token, prompt included. steps_s: every later token. masks_s: the part of each
    token, the first included, that filling, applying and committing took.
    """

    tokens: list[int] = field(default_factory=list)
    outcome: str = "length"
    first_s: float = 0.0
    steps_s: list[float] = field(default_factory=list)
    masks_s: list[float] = field(default_factory=list)


@torch.inference_mode()
def write(
    subject: Subject, engine: Engine, prompt: list[int], max_tokens: int, temperature: float, seed: int
) -> Written:
    """Let the model write until it ends, or max_tokens, or its context is full. temperature: 0 is greedy."""
    written = Written()
    generator = torch.Generator().manual_seed(seed)
    size, eos = len(subject.vocabulary.tokens), subject.vocabulary.eos_id
    budget = max_tokens
    if subject.handle.context is not None:
        budget = min(budget, subject.handle.context - len(prompt))
    engine.start()
    begin = time.perf_counter()
    session, (logits,) = subject.handle.start([prompt], [1])
    while len(written.tokens) < budget:
        row = logits[0, :size].float().cpu()
        spent = _apply_mask(engine, row)
        if not torch.isfinite(row).any():
            written.outcome = "dead_end"
            break
        token = _choose(row, temperature, generator)
        if token != eos:
            before = time.perf_counter()
            if not engine.advance(token):
                raise RuntimeError(f"the mask allows token {token}, but committing it fails")
            spent += time.perf_counter() - before
        written.tokens.append(token)
        written.masks_s.append(spent)
        now = time.perf_counter()
        if len(written.tokens) == 1:
            written.first_s = now - begin
        else:
            written.steps_s.append(now - begin)
        if token == eos:
            written.outcome = "stop"
            break
        begin = now
        if len(written.tokens) < budget:
            (logits,) = session.feed([[token]], [1])
    return written


def _apply_mask(engine: Engine, row: torch.Tensor) -> float:
    """Put −∞ where the engine allows nothing; seconds that it took. row: float32[V]"""
    if isinstance(engine, Unconstrained):
        return 0.0
    begin = time.perf_counter()
    engine.mask()
    row.masked_fill_(~allowed_tokens(engine, row.shape[0]), -torch.inf)
    return time.perf_counter() - begin


def allowed_tokens(engine: Engine, size: int) -> torch.Tensor:
    """The engine's mask as bool[V]; size: V."""
    return torch.from_numpy(np.unpackbits(engine.row.view(np.uint8), bitorder="little")[:size]).bool()


def _choose(row: torch.Tensor, temperature: float, generator: torch.Generator) -> int:
    if temperature == 0:
        return int(row.argmax())
    return int(torch.multinomial(torch.softmax(row.double() / temperature, 0), 1, generator=generator))


@torch.inference_mode()
def likelihood(subject: Subject, engine: Engine, prompt: list[int], text: str) -> tuple[float, float | None, int]:
    """(log p of a text, log q under the masks, its tokens), in nats, end of text left out; log q None: it is refused.

    q renormalises p over what the masks allow, so log q − log p is what the masks spare the model to know.
    """
    tokens = subject.vocabulary.encode(text)
    size = len(subject.vocabulary.tokens)
    _, (logits,) = subject.handle.start([prompt + tokens[:-1]], [len(tokens)])
    log_p = torch.log_softmax(logits[:, :size].float().cpu(), dim=-1)  # [tokens, V]
    total_p = float(log_p.gather(1, torch.tensor(tokens)[:, None]).sum())
    spared = 0.0
    engine.start()
    for token, row in zip(tokens, log_p, strict=True):
        engine.mask()
        if not is_set(engine.row, token):
            return total_p, None, len(tokens)
        spared -= float(torch.logsumexp(row[allowed_tokens(engine, size)], 0))
        engine.advance(token)
    return total_p, total_p + spared, len(tokens)
