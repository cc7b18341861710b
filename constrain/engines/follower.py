"""One sequence inside another program's loop, which shows all its tokens at every step.

The idea: the first tokens that are shown are the prompt. Later ones are compared with the tokens that were read: the
matcher takes back what differs, and reads the rest. A sequence that does not begin with the prompt, or that has more
than one new token, is a new one.
Cost: comparing is linear in the tokens, at the speed of comparing lists.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError
from constrain.masks.derived.wanted_cuts import narrowed
from constrain.masks.engine import CompiledConstraint


class Follower:
    """The tokens that a constraint allows after a sequence, of which the prompt is learnt.

    Args:
        compiled: The compiled constraint.
        canonical: Only tokens that the tokenizer itself would write count: True: or it is an error; None: where the
            vocabulary was read from a tokenizer that is understood; False: all tokens that spell a text count.

    Attributes:
        cuts (str): "forced", "canonical", or "all" and why.

    Raises:
        ConstrainError: Canonical tokens are wanted and not possible.
    """

    def __init__(self, compiled: CompiledConstraint, canonical: bool | None = None) -> None:
        (self.compiled,), self.cuts = narrowed([compiled], canonical)
        self.matcher = self.compiled.matcher()
        self._prompt: list[int] = []
        self._read: list[int] = []
        self._begun = False

    def allowed(self, tokens: Sequence[int], width: int) -> NDArray[np.bool_]:
        """The tokens that may come next.

        Args:
            tokens: The prompt in the first call of a sequence; later the prompt and the output so far.
            width: The number of logits, at least the size of the vocabulary.

        Returns:
            bool[width]. After the end of the text only its EOS tokens.

        Raises:
            ConstrainError: An output token is not allowed, there are too few logits, or no token is allowed at all.
        """
        size = self.compiled.vocabulary.size
        if width < size:
            raise ConstrainError(
                f"the model gives {width} logits for a vocabulary of {size} tokens",
                fix="compile the constraint for a Vocabulary of the model's own tokenizer",
            )
        self._follow(list(tokens))
        bits = np.zeros(width, np.bool_)
        if self.matcher.ended:
            bits[list(self.compiled.vocabulary.eos_ids)] = True
            return bits
        bits[:size] = np.unpackbits(self.matcher.mask().view(np.uint8), bitorder="little")[:size]
        if not bits.any():
            raise ConstrainError(
                "the constraint allows no token, not even the end of the text",
                place=f"token {len(self._read)} of the output",
                fix="this is a dead end: relax the constraint, or generate again",
            )
        return bits

    def _follow(self, tokens: list[int]) -> None:
        length = len(self._prompt)
        output = tokens[length:]
        common = next((i for i, (a, b) in enumerate(zip(self._read, output, strict=False)) if a != b), None)
        common = min(len(self._read), len(output)) if common is None else common
        if not self._begun or tokens[:length] != self._prompt or len(output) > common + 1:
            self._prompt, self._read, self._begun = tokens, [], True
            self.matcher = self.compiled.matcher()
            return
        self.matcher.rollback(len(self._read) - common)
        taken = self.matcher.advance_tokens(output[common:])
        self._read = output[: common + taken]
        if len(self._read) < len(output):
            raise ConstrainError(
                f"the loop has chosen token {output[len(self._read)]}, which the constraint does not allow",
                place=f"token {len(self._read)} of the output",
                fix="let no later processor or sampler bring masked tokens back",
            )
