"""`Shortened`: a draft model that reads a few retrieved pieces of a long prompt, and all of the output (RAPID).

Measured with SmolLM2 that drafts for itself (prompts of 1,100 tokens, temperature 0, n = 2): does not pay on a CPU.
From 256 retrieved tokens 4.0 tokens a forward pass, from the last 64 alone 3.3, from the whole prompt 6.4, at 1.5, 1.6
and 1.8 times the CPU time of no drafts (record 2026-11-28-papers).

Paper: Chen et al. 2025, "RAPID: long-context inference with retrieval-augmented speculative decoding" (arXiv
2502.20330): the drafter of a long prompt reads a short one, made of the pieces of it that a search finds for the
question, so its forward passes do not grow with the prompt. How they search was not confirmed; here a piece counts the
tokens that it has in common with the end of the prompt, rare ones more (the logarithm of all pieces over those with the
token), so no other model is needed. Their target is mixed with the drafter's distribution as well, which changes what
is written; that is not here.

Distribution: that of the verifier, since what the drafter has read is its own affair. Cost: that of `Model` with the
shortened prompt. Limit: pieces are cut by tokens, wherever that is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from constrain.errors import ConstrainError
from constrain.sampling.core.model import LanguageModel
from constrain.sampling.core.sampler import check_count
from constrain.speculative.drafter import Context
from constrain.speculative.drafters.model import Model


class Shortened(Model):
    """A draft model that reads the pieces of a prompt that have most in common with its end, and the end.

    Args:
        model: the draft model, with the target's token ids; the target itself may be one.
        most: tokens of a prompt that it reads; shorter prompts are read whole.
        piece: tokens of a piece.
        end: the last tokens of the prompt, which are searched for and always read: the question.
        width, paths, least: as for `Model`.

    Raises:
        ConstrainError: an option is out of range, or the end alone has more than `most` tokens.

    Source:
        Chen et al. 2025, arXiv 2502.20330, with a search of our own, without their change of the target.

    Example:
        >>> import constrain
        >>> from constrain.models.hf import HFModel
        >>> from constrain.papers import Shortened
        >>> reference = constrain.reference.load()
        >>> draft = Shortened(HFModel(reference.draft, reference.tokenizer), most=24, piece=8, end=8)
        >>> prompt = "The sun is red. " * 9 + "A colour: "
        >>> g = constrain.generate(reference, prompt, choices=["red", "green"], draft=draft, seed=1)
        >>> g.stats.drafts["shortened"].fault is None
        True
    """

    name = "shortened"

    def __init__(
        self, model: LanguageModel, *, most: int = 512, piece: int = 64, end: int = 64, width: int = 1, paths: int = 1,
        least: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(model, width=width, paths=paths, least=least)
        self.most, self.piece, self.end = (
            check_count("most", most),
            check_count("piece", piece),
            check_count("end", end),
        )
        if end > most:
            raise ConstrainError(f"the end alone has {end} tokens, more than {most}", fix="raise most, or lower end")

    def _text(self, context: Context) -> Sequence[int]:
        kept = context.memo.get((self, "prompt"))
        if kept is None:
            kept = context.memo[self, "prompt"] = self.shorten(context.tokens[: context.prompt])
        return [*kept, *context.tokens[context.prompt :]]

    def shorten(self, prompt: Sequence[int]) -> list[int]:
        """The pieces of a prompt that are read, in their order, and its end."""
        if len(prompt) <= self.most:
            return list(prompt)
        body, question = list(prompt[: -self.end]), set(prompt[-self.end :])
        pieces = [body[at : at + self.piece] for at in range(0, len(body), self.piece)]
        having = Counter(token for each in pieces for token in set(each))
        worth = [
            math.fsum(math.log(len(pieces) / having[token]) for token in sorted(question.intersection(each)))
            for each in pieces
        ]
        room, chosen = self.most - self.end, []
        for place in sorted(range(len(pieces)), key=lambda place: (-worth[place], place)):
            if len(pieces[place]) <= room:
                chosen.append(place)
                room -= len(pieces[place])
        return [token for place in sorted(chosen) for token in pieces[place]] + list(prompt[-self.end :])
