"""`LexicalUnits`: a forward pass over blanks guesses several tokens (LUD, without its penalty of repetition).

One forward pass over the text and blanks after it guesses several tokens; sure ones count.

Measured with SmolLM2, which was not trained to fill blanks (temperature 0, n = 2): does not pay there. Verified units
of `sure=0.5` give 2.3 tokens a forward pass of the target where no drafts give 1.15, at 1.7 times the CPU time, since
a draft is a forward pass of the same model. 18 s of training of the embedded model change nothing: 1.58 before and
after, n = 3 (record 2026-11-28-papers).

Paper: Sun et al. 2024, "Decoding at the speed of thought: harnessing parallel decoding of lexical units for LLMs"
(arXiv 2405.15208). A model is trained to fill blanks ([PAD]) behind a text: position i of them says the token i + 1
places ahead. Neighbouring tokens that are each likelier than a bound are a lexical unit, and are written at once. Their
text was not at hand beyond abstract and summaries: the bound and the number of blanks are ours, their penalty of
repetition is left out.

Here a unit is a draft: legal tokens, named while each has at least the chance `sure` under the mask. Under any lossless
verifier the distribution is that of masked decoding; `ConfidentRuns` takes units as they are, which is the paper's way
and lossy. Cost: a forward pass of the model a step, beside the target's own. Limit: a model that was not trained to
fill blanks says little behind the first one.
"""

from __future__ import annotations

import math
from typing import Any

from constrain.sampling.core.model import LanguageModel
from constrain.sampling.core.sampler import check_count, check_share
from constrain.speculative.build import advanced
from constrain.speculative.drafter import Context, DraftBudget, Drafter
from constrain.speculative.drafters.model import shaped_probs
from constrain.speculative.tree import EMPTY, DraftTree, given_chain

LAG = 16  # tokens that are read again rather than kept


class LexicalUnits(Drafter):
    """Drafts what a model says at blanks behind the text, while it is sure; see `constrain.papers.drafting.units`.

    Args:
        model: with the target's token ids; the target, or a copy that was trained to fill blanks.
        blank: the id of the token that stands for an open place.
        span: tokens of a unit, at most.
        sure: the chance from which on a token belongs to the unit, in [0, 1].

    Raises:
        ConstrainError: an option is out of range.

    Source:
        Sun et al. 2024, arXiv 2405.15208.

    Example:
        >>> import constrain
        >>> from constrain.models.hf import HFModel
        >>> from constrain.papers import LexicalUnits
        >>> model = HFModel.of(constrain.reference.load())
        >>> draft = LexicalUnits(model, blank=0, sure=0.5)
        >>> g = constrain.generate(model, "A list: ", regex="(ha)+!", draft=draft, max_tokens=20, temperature=0)
        >>> g.stats.drafts["units"].fault is None
        True
    """

    name = "units"

    def __init__(self, model: LanguageModel, *, blank: int, span: int = 4, sure: float = 0.9) -> None:
        self.model, self.blank = model, check_count("blank", blank, 0)
        self.span, self.sure = check_count("span", span), check_share("sure", sure)

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        """The unit that begins here, if the model is sure of any."""
        count = min(self.span, budget.depth, budget.nodes, context.left - 1)
        if count < 1:
            return EMPTY
        matcher, chain, log_probs = context.matcher, [], []
        for logits in self._read(context, count):
            forced = () if matcher is None else matcher.forced_tokens()
            token, chance = (forced[0], 1.0) if forced else self._likeliest(context, matcher, logits)
            if chance < self.sure or token in context.setting.eos_ids:
                break
            matcher = None if matcher is None else advanced(matcher, token)
            chain.append(token)
            log_probs.append(min(0.0, math.log(chance)))
        return given_chain(chain, log_probs) if chain else EMPTY

    def _likeliest(self, context: Context, matcher: Any, logits: Any) -> tuple[int, float]:
        probs = shaped_probs(context.setting, matcher, logits)
        return (0, -1.0) if probs is None else (int(probs.argmax()), float(probs.max()))

    def _read(self, context: Context, count: int) -> Any:
        """Logits float[count, W]: after the text, and at blanks behind it. What is kept has read no blank."""
        text = list(context.tokens)
        session, length = context.memo.get(self, (None, 0))
        blanks = [self.blank] * (count - 1)
        if session is None:
            session, length = self.model.start([text[:-1] or text], [1])[0], max(1, len(text) - 1)
        elif len(text) - length > LAG:
            session = session.fork([0])  # a sequence that was forked may go on from the other one
            session.feed([text[length:-1]], [1])
            length = len(text) - 1
        context.memo[self] = session, length
        if length == len(text):  # a text of one token
            return self.model.start([[*text, *blanks]], [count])[1][0]
        return session.fork([0]).feed([[*text[length:], *blanks]], [count])[0]
