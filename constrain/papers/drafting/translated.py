"""A draft model with another vocabulary: what it writes is taken as bytes, and cut into the target's tokens.

Measured with SmolLM2 (100 calls of functions): 2.42 tokens a forward pass, no drafts 1.91, at 1.4 times their CPU time:
does not pay there (record 2026-11-29-lossless).

The idea (universal assisted generation; Timor et al. 2025, "Accelerating LLM Inference with Lossless Speculative
Decoding Algorithms for Heterogeneous Vocabularies", arXiv 2502.05202): text is what two vocabularies have in common.
The draft model reads the bytes of the text by its own tokenizer, goes on with the likeliest tokens that the constraint
takes as bytes, and the bytes become tokens of the target as a prompt would. With which probability the tokens were
drafted is then unknown, so they are named, not drawn: any verifier takes them so, and stays exact.

Cost: as of model.py; the constraint reads the bytes of up to `CANDIDATES` tokens a token of depth. Limit: a chain.
What is new in the text is tokenised on its own, so at the seam the draft model may see other tokens than it would
choose; special tokens, which have no bytes, are left out of what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from constrain.languages.vocab.longest import longest_match
from constrain.masks.engine.matcher import Matcher
from constrain.sampling.core.logits import scaled
from constrain.sampling.core.model import LanguageModel
from constrain.speculative.drafter import Context, DraftBudget
from constrain.speculative.drafters.model import Model
from constrain.speculative.tree import EMPTY, NONE, DraftTree, given_chain

CANDIDATES = 8  # likeliest tokens of the draft model that are offered to the constraint

Encode = Callable[[bytes], Sequence[int]]


class Translated(Model):
    """Drafts of a model with another vocabulary; see the module.

    Args:
        model: the draft model; its token i spells tokens[i].
        tokens: bytes by id, None for what is no text.
        encode: bytes → its token ids.
        start: ids that its texts begin with (BOS); needed where a text may be empty.

    Example:
        >>> from constrain.sampling import NGram
        >>> from constrain.speculative import Translated
        >>> draft_model = NGram([[0.5, 0.5], [0.5, 0.5]])
        >>> Translated(draft_model, [b"a", b"b"], lambda text: [b"ab".index(byte) for byte in text]).name
        'model'
    """

    def __init__(
        self, model: LanguageModel, tokens: Sequence[bytes | None], encode: Encode, *, start: Sequence[int] = ()
    ) -> None:
        super().__init__(model)
        self.token_bytes, self.encode, self.begin = tokens, encode, list(start)
        self._plain: tuple[object, Callable[[bytes], list[int]]] | None = None

    def _text(self, context: Context) -> list[int]:
        """The draft model's tokens of the text: those read before, and those of the new bytes."""
        known: _Text = context.memo.setdefault((self, "text"), _Text(list(self.begin)))
        new = _bytes_of(context.setting.token_bytes, context.tokens[known.length :])
        known.length = len(context.tokens)
        if new:
            known.ids += self.encode(new)
        return known.ids

    def _branch(self, context: Context, budget: DraftBudget) -> _Bytes:
        return _Bytes(self, context, budget)

    def target_tokens(self, context: Context, text: bytes) -> Sequence[int]:
        """Bytes as tokens of the target."""
        if context.setting.encode is not None:
            return context.setting.encode(text)
        tokens = context.setting.token_bytes
        if self._plain is None or self._plain[0] is not tokens:
            self._plain = (tokens, longest_match(tokens))
        return self._plain[1](text)


@dataclass
class _Text:
    """ids: of the draft model, of the first `length` tokens of the target."""

    ids: list[int]
    length: int = 0


@dataclass
class _Bytes:
    """The draft of one sequence while it grows. marks: (where it begins, log-probability) of each drafted token."""

    owner: Translated
    context: Context
    budget: DraftBudget
    text: bytes = b""
    marks: list[tuple[int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.matcher: Any = None if self.context.matcher is None else self.context.matcher.fork()

    def extend(self, rows: Sequence[torch.Tensor]) -> list[tuple[int, int]]:
        """One more token of the draft model, from its logits float[W]; see `Growing`."""
        token = self._next(rows[0])
        return [] if token == NONE else [(0, token)]

    def _next(self, logits: torch.Tensor) -> int:
        settings = self.context.setting.settings
        rows = scaled(logits[: len(self.owner.token_bytes)].unsqueeze(0), settings.temperature)
        top = rows.log_softmax(-1)[0].topk(min(CANDIDATES, rows.shape[1]))
        for log_prob, token in zip(top.values.tolist(), top.indices.tolist(), strict=True):
            piece = self.owner.token_bytes[token]
            if not piece:  # the end of its text, say
                return NONE
            if self._takes(piece):
                self.marks.append((len(self.text), log_prob))
                self.text += piece
                return token if len(self.marks) < min(self.budget.depth, self.context.left - 1) else NONE
        return NONE

    def _takes(self, piece: bytes) -> bool:
        return not isinstance(self.matcher, Matcher) or self.matcher.advance_bytes(piece)

    def tree(self) -> DraftTree:
        """The bytes as tokens of the target; each as likely as the tokens of the draft model that begin inside it."""
        tokens = list(self.owner.target_tokens(self.context, self.text))[: self.budget.depth] if self.text else []
        if not tokens:
            return EMPTY
        estimates, end, marks = [], 0, list(self.marks)
        for token in tokens:
            end += len(self.context.setting.token_bytes[token] or b"")
            inside = [log_prob for start, log_prob in marks if start < end]
            marks = marks[len(inside) :]
            estimates.append(min(0.0, sum(inside)))
        return given_chain(tokens, estimates)


def _bytes_of(token_bytes: Sequence[bytes | None], tokens: Sequence[int]) -> bytes:
    """The text of tokens; a token that is no text has none."""
    return b"".join(token_bytes[token] or b"" for token in tokens if token < len(token_bytes))
