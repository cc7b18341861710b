"""`ConditionalBeam`: a beam for p(x | A), ordered by log p(prefix) + log P̂(A | prefix).

Measured on the embedded model (width 8): log p of the best text inside the event −13.9, a beam's −16.7; of width 2 a
beam finds none inside. Pays there (record 2026-11-22-search).

Distribution: none is sampled. A is an event of complete texts: a property, an attribute, a test. By Bayes' rule
p(prefix, A) = p(prefix) · P(A | prefix), so with the true P(A | prefix) a prefix is ordered by the mass of all its
completions in A, and a complete text by log p(x) + log P(A | x). With an estimate it is the factorisation of FUDGE
(Yang and Klein 2021, arXiv 2104.05218, section 3) in a beam instead of a draw.

Cost: `width` sequences, one forward pass a token; `candidates` calls of the estimate a token.
Limit: prefixes outside the `candidates` best by log p and their parent's estimate are not looked at.
"""

from __future__ import annotations

from constrain.papers.search.found import Asking, BestTexts, Reward, each_prompt, reward_of
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.sampler import Sampler, check_count
from constrain.sampling.methods.exact import children


class ConditionalBeam(Sampler):
    """A beam for the model given an event; see `constrain.papers.search.conditional_beam`.

    Args:
        estimate: log P(A | prefix) by `prefix`, and of complete texts by `complete`; a plain function answers both.
        width: prefixes that are kept at each position.
        candidates: children of them that the estimate is asked about; None: four times the width.

    Raises:
        ConstrainError: an option is out of range.

    Source:
        Yang and Klein 2021, arXiv 2104.05218, section 3, for the factorisation.

    Example:
        >>> import math, constrain
        >>> from constrain.papers.search.conditional_beam import ConditionalBeam
        >>> search = ConditionalBeam(lambda text: math.log(0.9 if "b" in text else 1e-9), width=4)
        >>> "b" in constrain.generate(constrain.reference.load(), "A: ", regex="[ab]{2}", method=search).text
        True
    """

    name = "conditional-beam"
    random = False
    distribution = "no distribution: the members with the greatest p · P̂(A) that a beam finds"

    def __init__(self, estimate: Reward, *, width: int = 8, candidates: int | None = None) -> None:
        self.estimate = reward_of("estimate", estimate, open_too=True)
        self.width = check_count("width", width)
        self.candidates = 4 * width if candidates is None else check_count("candidates", candidates, width)

    def run(self, job: Job) -> list[Sample]:
        return each_prompt(job, self.name, self._search)

    def _search(self, job: Job, row: int, found: BestTexts) -> None:
        asking = Asking(job, row, self.estimate, found)
        block = Particles(job, [Particle(job, row)])
        block.start()
        values = [0.0]
        self._offer(block, asking, found)
        while block.live:
            places, step = children(block)
            found.account(block)
            before = [each.sample.log_prob + value for each, value in zip(block.live, values, strict=True)]
            scores = step.log_prob_raw.cpu().double()
            scores = scores + scores.new_tensor(before)[places.cpu()]
            order = scores.sort(descending=True, stable=True).indices[: self.candidates]
            parents, tokens = places[order].tolist(), step.token[order].tolist()
            raws = step.log_prob_raw[order].tolist()
            scored = []
            for at, (place, token, raw) in enumerate(zip(parents, tokens, raws, strict=True)):
                parent = block.live[place].sample
                text, ends = [*parent.tokens, token], token in block.eos
                (value,) = (asking.completes if ends else asking.prefixes)([text])
                scored.append((parent.log_prob + raw + value, at))
            best = sorted(scored, key=lambda each: -each[0])[: self.width]
            kept = order[[at for score, at in best if score > found.threshold]]
            if not len(kept):
                return
            block = block.branch(places[kept].tolist())
            block.take(step.rows(kept))
            block.forward()
            self._offer(block, asking, found)
            values = asking.prefixes([each.sample.tokens for each in block.live])
        found.account(block)

    def _offer(self, block: Particles, asking: Asking, found: BestTexts) -> None:
        for each in block.all:
            if each.sample.finish_reason == "stop":
                (value,) = asking.completes([each.sample.tokens])
                found.offer(each.sample.log_prob + value, each.sample)
