"""The context of the next token: the text before it, the tokens that may come, and the state of the grammar.

Cost: the mask is there anyway; what else is asked is computed when it is asked for. Kinds of terminals take some
milliseconds at a place of a grammar that was not met before, `open_rules` 0.1 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch

from constrain.masks.engine import Matcher
from constrain.masks.engine.inspect import open_rules
from constrain.masks.engine.narrowed import engine_of
from constrain.sampling.processors.core.terminals import terminal_kinds


@dataclass(frozen=True)
class StepContext:
    """The place of the next token.

    Attributes:
        prompt: token ids of the prompt.
        tokens: token ids of the output so far.
        width: logits of the model.
        mask: uint32[ceil(V / 32)], low bit first, 1 = allowed; None without a constraint.
        allowed_count: tokens that the mask allows.
        matcher: at this place; ask it, but do not move it. None without a constraint.
        state: of the processor that is asked.
        eos_ids: the ids that end an output.
        token_bytes: bytes by id, None for what is no text.
        row: of the output, for messages.

    Example:
        >>> from constrain.sampling.processors import StepContext
        >>> context = StepContext(prompt=(5,), tokens=(7, 7), width=10)
        >>> context.step, context.forced, context.terminal_kinds
        (2, False, frozenset({'text'}))
    """

    prompt: Sequence[int]
    tokens: Sequence[int]
    width: int
    mask: np.ndarray | None = None
    allowed_count: int = -1
    matcher: Any = None
    state: Any = None
    eos_ids: Sequence[int] = ()
    token_bytes: Sequence[bytes | None] = ()
    row: int = 0
    shared: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def step(self) -> int:
        """Tokens of the output so far."""
        return len(self.tokens)

    @property
    def forced(self) -> bool:
        """The constraint leaves one token at most, and processors are not asked."""
        return 0 <= self.allowed_count <= 1

    @cached_property
    def allowed(self) -> torch.Tensor:
        """bool[width]: what the mask allows; all without a constraint."""
        if self.mask is None:
            return torch.ones(self.width, dtype=torch.bool)
        bits = np.unpackbits(self.mask.view(np.uint8), bitorder="little")[: self.width]
        return torch.from_numpy(np.pad(bits, (0, self.width - len(bits))).astype(bool))

    @cached_property
    def engine_matcher(self) -> Matcher | None:
        """The matcher of the engine, inside of what limits or heals it; None for constraints of another make."""
        return engine_of(self.matcher)

    @cached_property
    def terminal_kinds(self) -> frozenset[str]:
        """The kinds of terminals that are open or may begin here: some of "fixed", "choice", "text" (terminals.py).

        Limit: constraints of another make, and none, are "text".
        """
        return frozenset(["text"]) if self.engine_matcher is None else terminal_kinds(self.engine_matcher)

    @cached_property
    def open_rules(self) -> frozenset[str]:
        """The names of the grammar's rules that have begun and not ended."""
        return frozenset() if self.engine_matcher is None else open_rules(self.engine_matcher)

    @cached_property
    def structural(self) -> torch.Tensor:
        """bool[width]: tokens that a penalty leaves alone here.

        Punctuation, blanks and ends of texts under a constraint; everything where all that may come are fixed texts
        of the grammar, such as keys and keywords. Nothing without a constraint.
        """
        if self.matcher is None:
            return torch.zeros(self.width, dtype=torch.bool)
        if self.terminal_kinds == {"fixed"}:
            return torch.ones(self.width, dtype=torch.bool)
        if "structural" not in self.shared:
            self.shared["structural"] = _without_letters(self.token_bytes, self.width)
        found: torch.Tensor = self.shared["structural"]
        return found

    def text_of(self, token: int) -> bytes:
        """The bytes of a token; none of what is no text."""
        return (self.token_bytes[token] or b"") if token < len(self.token_bytes) else b""


def _without_letters(token_bytes: Sequence[bytes | None], width: int) -> torch.Tensor:
    """bool[width]: tokens without an ASCII letter, a digit, or a byte of another alphabet."""
    bare = torch.ones(width, dtype=torch.bool)
    for token, text in enumerate(token_bytes[:width]):
        if text and any(byte >= 0x80 or chr(byte).isalnum() for byte in text):
            bare[token] = False
    return bare
