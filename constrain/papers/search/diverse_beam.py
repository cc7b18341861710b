"""`DiverseBeam`: groups of beams that avoid each other's tokens.

Measured on SmolLM2 (width 8): four outputs are 12.4 edits apart with strength 0.5, a beam's 7.2, at a mean log p of −43
instead of −35. Pays where outputs must differ (record 2026-11-29-papers).

Distribution: none is sampled. Groups take their tokens one after the other at every position. A group keeps the
prefixes with the greatest log p − strength · (how many prefixes of the groups before it have just taken this token):
Hamming diversity (Vijayakumar et al. 2016, "Diverse beam search", arXiv 1610.02424, sections 3 and 4.1). The penalty
orders candidates of one position and is not carried on.

The rows of a prompt get the best member of every group, the first group first, then the second ones, each text once.
With one group, or strength 0 and one row, it is `beam` of the width of a group.
Cost: `width` sequences in one batch, one forward pass a token, forced tokens too: positions of groups stay in step.
Limit: diversity is by tokens at equal positions.
"""

from __future__ import annotations

import math
from collections import Counter

import torch

from constrain.errors import ConstrainError
from constrain.papers.search.found import BestTexts, check_number, each_prompt
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.sampler import Sampler, check_count
from constrain.sampling.core.step import Step
from constrain.sampling.methods.exact import children


class DiverseBeam(Sampler):
    """Groups of beams that avoid each other's tokens; see `constrain.papers.search.diverse_beam`.

    Args:
        width: prefixes that are kept at each position, of all groups together; a multiple of `groups`.
        groups: how many groups.
        strength: what a token costs for each prefix of an earlier group that takes it at the same position, in nats.

    Raises:
        ConstrainError: an option is out of range.

    Source:
        Vijayakumar et al. 2016, arXiv 1610.02424.

    Example:
        >>> import constrain
        >>> from constrain.papers.search.diverse_beam import DiverseBeam
        >>> search = DiverseBeam(width=4, groups=2, strength=5.0)
        >>> outputs = constrain.generate(constrain.reference.load(), "A: ", regex="[ab]{3}", method=search, n=2)
        >>> outputs[0].text != outputs[1].text
        True
    """

    name = "diverse-beam"
    random = False
    distribution = "no distribution: the likeliest members that groups of beams find, each away from the others"

    def __init__(self, *, width: int = 8, groups: int = 4, strength: float = 1.0) -> None:
        self.width, self.groups = check_count("width", width), check_count("groups", groups)
        if width % groups:
            raise ConstrainError(f"width must be a multiple of groups, not {width} of {groups}")
        self.strength = check_number("strength", strength, 0.0)

    def run(self, job: Job) -> list[Sample]:
        return each_prompt(job, self.name, self._search)

    def _search(self, job: Job, row: int, found: BestTexts) -> None:
        groups = [BestTexts(job, found.count) for _ in range(self.groups)]
        block = Particles(job, [Particle(job, row, note=group) for group in range(self.groups)], forced=False)
        block.start()
        while block.live:
            places, step = children(block)
            kept = self._choose(block, places, step, groups)
            found.account(block)
            if not kept:
                break
            rows = torch.tensor(kept)
            block = block.branch(places[rows].tolist())
            block.take(step.rows(rows))
            block.forward()
            for each in block.all:
                if each.sample.finish_reason == "stop":
                    groups[each.note].offer(each.sample.log_prob, each.sample)
        found.forwards += sum(block.reads.values()) if not block.live else 0
        in_turn = [g.members[i] for i in range(found.count) for g in groups if i < len(g.members)]
        for place, (_, sample) in enumerate(in_turn):
            found.offer(-float(place), sample)  # the order is the objective; a text counts where it came first

    def _choose(self, block: Particles, places: torch.Tensor, step: Step, groups: list[BestTexts]) -> list[int]:
        """The rows of `step` that are kept: each group's best, those of earlier groups first."""
        before = torch.tensor([each.sample.log_prob for each in block.live], dtype=torch.float64)
        places = places.cpu()
        scores, tokens = before[places] + step.log_prob_raw.cpu().double(), step.token.tolist()
        group_of = [block.live[place].note for place in places.tolist()]
        taken: Counter[int] = Counter()
        kept: list[int] = []
        for number, group in enumerate(groups):
            rows = [
                row
                for row, owner in enumerate(group_of)
                if owner == number and float(scores[row]) > max(group.threshold, -math.inf)
            ]
            rows.sort(key=lambda row: -(float(scores[row]) - self.strength * taken[tokens[row]]))
            chosen = rows[: self.width // self.groups]
            taken.update(tokens[row] for row in chosen)
            kept += chosen
        return kept
