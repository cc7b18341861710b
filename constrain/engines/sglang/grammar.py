"""One request inside the scheduler: SGLang's `BaseGrammarObject` over a matcher.

The idea: SGLang's scheduler asks for the masks of a batch, tells which token was sampled, tries the tokens of a draft
and takes them back. All of it is a verb of a matcher (requests/request.py). A token that is refused is a `ValueError`,
which SGLang catches where it reads sampled tokens, and reports as the request's error.

Where a tree of drafts is walked it catches nothing. There a token that cannot be read counts as an end: the walk goes
no deeper, and what it took for read is taken back. Whether the request has a fault shows when a token is sampled.
"""

from __future__ import annotations

import codecs
import dataclasses
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from sglang.srt.constrained.base_grammar_backend import BaseGrammarObject, GrammarStats

from constrain.engines.requests.images import Compiled, Resumed
from constrain.engines.requests.request import RequestMatcher, Rows
from constrain.masks.engine.batch import fill_masks
from constrain.masks.engine.matcher import Matcher
from constrain.sampling.bitmask.apply import apply_bitmask_, bitmask_words

logger = logging.getLogger("sglang.constrain")  # below SGLang's loggers


class SGLangGrammar(BaseGrammarObject):
    """The constraint of one request, at the end of what was sampled so far.

    Args:
        compiled: The compiled constraint, shared with other requests.
        stats: SGLang's record of how it was made.

    Attributes:
        request: The matcher, and the request's fault.
    """

    def __init__(self, compiled: Compiled | Resumed, stats: Any = None) -> None:
        super().__init__()
        self.request = RequestMatcher(compiled, (), logger)
        self.grammar_stats = stats or GrammarStats()
        self._lost: int | None = None  # drafted tokens that could not be read; None: no draft is walked

    # -- tokens --------------------------------------------------------------------------------------------------------

    def accept_token(self, token: int) -> None:
        """Read a sampled token. Raises ValueError: it is not allowed, or the request has a fault."""
        if self._lost is not None:
            if self._lost or not self.request.read(token):
                self._lost += 1
            return
        self.current_token = token
        if not self.request.must_read(token):
            raise ValueError(self.request.fault)

    def rollback(self, k: int) -> None:
        """Take back the last tokens that were read."""
        if self._lost:
            lost = min(self._lost, k)
            self._lost -= lost
            k -= lost
        self.request.rollback(k)

    def is_terminated(self) -> bool:
        """True if an id that ends the text was read."""
        return self.request.ended or bool(self._lost)

    def copy(self) -> SGLangGrammar:
        """The constraint for another request, at its beginning."""
        stats = dataclasses.replace(self.grammar_stats, is_cache_hit=True, tree_traversal_time=[])
        return SGLangGrammar(self.request.compiled, stats)

    @contextmanager
    def drafting(self) -> Iterator[None]:
        """While SGLang walks a tree of drafted tokens, nothing is raised, and no fault is kept."""
        fault, self._lost = self.request.fault, 0
        try:
            yield
        finally:
            self.request.fault, self._lost = fault, None

    # -- masks ---------------------------------------------------------------------------------------------------------

    @staticmethod
    def allocate_vocab_mask(vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:
        """Rows that allow everything, int32[batch_size, ceil(V / 32)], on the CPU; pinned where there is a GPU."""
        shape = (batch_size, bitmask_words(vocab_size))
        return torch.full(shape, -1, dtype=torch.int32, pin_memory=torch.cuda.is_available())

    @staticmethod
    def reset_vocab_mask(vocab_mask: torch.Tensor) -> None:
        """Let all rows allow everything."""
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
        """The rows on the logits' device."""
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        """Set the logits of what is not allowed to -inf, in place. logits: float[B, W]; vocab_mask: int32[B, words]."""
        apply_bitmask_(logits, vocab_mask)

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Write the mask of the next token into a row."""
        self.request.fill(words_of(vocab_mask)[idx])

    @staticmethod
    def fill_vocab_mask_batched(entries: Sequence[Any], vocab_mask: torch.Tensor) -> None:
        """Write the masks of a batch into its rows; those of all tokens in one call. Other rows stay as they are."""
        words = words_of(vocab_mask)
        together = [(entry.row, entry.grammar.request) for entry in entries if _is_shared(entry.grammar)]
        try:
            fill_masks([request.matcher for _, request in together], words, rows=[row for row, _ in together])
        except Exception:  # of one of them; `fill` keeps it as that request's fault
            for row, request in together:
                request.fill(words[row])
        else:
            for row, request in together:
                request.check(words[row])
        for entry in entries:
            if not _is_shared(entry.grammar) or entry.grammar.request.fault:
                entry.grammar.fill_vocab_mask(vocab_mask, entry.row)

    # -- jumps ---------------------------------------------------------------------------------------------------------

    def try_jump_forward(self, tokenizer: Any) -> tuple[list[int], str] | None:
        """The text that must follow, as a helper of `jump_forward_str_state`; None: there is none.

        Of canonical tokens it is that of the tokens that must follow, up to the last place where the text may end: the
        tokenizer, which reads the text anew, writes the same tokens.
        """
        matcher = self.request.matcher
        must_follow = matcher.forced_bytes() if isinstance(matcher, Matcher) else matcher.forced_text()
        try:
            text = codecs.getincrementaldecoder("utf-8")().decode(must_follow)
        except UnicodeDecodeError:  # the place is inside a character
            return None
        return ([], text) if text else None

    def jump_forward_str_state(self, helper: tuple[list[int], str]) -> tuple[str, int]:
        """The text of a jump; the number beside it means nothing here."""
        return helper[1], -1

    def jump_and_retokenize(self, old_output_ids: list[int], new_output_ids: list[int], next_state: int) -> None:
        """Read the output as it is tokenised after a jump. Raises ValueError: a token is not allowed."""
        pairs = enumerate(zip(old_output_ids, new_output_ids, strict=False))
        shorter = min(len(old_output_ids), len(new_output_ids))
        common = next((i for i, (old, new) in pairs if old != new), shorter)
        self.request.rollback(len(old_output_ids) - common)
        for token in new_output_ids[common:]:
            self.accept_token(token)

    def __repr__(self) -> str:
        return f"RequestGrammar({self.request.matcher!r}, fault={self.request.fault!r})"


def words_of(vocab_mask: torch.Tensor) -> Rows:
    """The words of a mask on the CPU, uint32[N, words], which it shares."""
    words: Rows = vocab_mask.numpy().view(np.uint32)
    return words


def _is_shared(grammar: Any) -> bool:
    """True if a grammar is ours, and has a mask to write that one call writes with those of others."""
    own = isinstance(grammar, SGLangGrammar) and not grammar.request.fault and not grammar.request.ended
    return own and isinstance(grammar.request.here, Matcher)
