"""`exact`: every member with its probability, then a draw from that table.

Distribution: exactly π(x) = p(x)·1[x ∈ L, |x| ≤ T] / Z, with outputs independent of each other; Z is known, not
estimated. Weights are 0 in logs.

Two ways, chosen by the model. A *tractable* model (tractable.py: n-grams, hidden Markov models) is multiplied with the
automaton of the constraint, and any regular language will do. Any other model is read over the whole trie of prefixes
of the language, a batch of prefixes a forward pass; the language must be finite within T tokens, and small.

Cost: one position for each prefix that is not forced, whatever the number of outputs. Memory: batches wait on a stack,
so at most one batch of prefixes for each depth is held.
Limit: `limit` prefixes for a prompt, then a LimitError. All tokenisations of a text are members of their own, unless
the constraint is on canonical ones (canonical.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from constrain.errors import LimitError
from constrain.sampling.bitmask.apply import apply_bitmask_
from constrain.sampling.core.job import DraftCount, Job, Sample
from constrain.sampling.core.logits import log_probs_of
from constrain.sampling.core.model import extras_of
from constrain.sampling.core.particles import Particle, Particles, budget_of
from constrain.sampling.core.sampler import Sampler, check_count, log_add
from constrain.sampling.core.shape import shaped
from constrain.sampling.core.step import Step


class Exact(Sampler):
    """The exact distribution, from a table of all members with their probabilities.

    For finite languages, and for any regular language under a tractable model (`NGram`, `HiddenMarkov`). Cost and
    limit: see the module `constrain.sampling.methods.exact`.

    Args:
        limit: prefixes of the language that are looked at, for each prompt; states of the constraint for a tractable
            model. Beyond it a run raises LimitError.
        batch: prefixes in one forward pass.

    Raises:
        ConstrainError: an option is out of range.

    Example:
        >>> import constrain
        >>> from constrain.sampling import Exact
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, '{"color": "', regex="red|green", method=Exact(), seed=1)
        >>> g.evidence_bounds[0] == g.evidence_bounds[1] == g.log_evidence  # the mass of the language is known
        True
    """

    name = "exact"
    needs_chance = True
    distribution = "the model conditioned on the constraint, exactly"
    exact = True

    def __init__(self, *, limit: int = 10_000, batch: int = 64) -> None:
        self.limit = check_count("limit", limit)
        self.batch = check_count("batch", batch)

    def run(self, job: Job) -> list[Sample]:
        """Draw from the table. Raises LimitError: the language has more prefixes than `limit`."""
        job = shaped(job)
        outputs: dict[int, Sample] = {}
        for rows in job.groups():
            outputs.update(self._draw(job, rows))
        return [outputs[row] for row in range(len(job.prompts))]

    def _draw(self, job: Job, rows: list[int]) -> dict[int, Sample]:
        """Samples of rows with one target."""
        product = extras_of(job.model).product(job, rows[0], self.limit)
        if product is not None:
            return {row: product.draw(job.streams[row]) for row in rows}
        table = MemberTable(job, rows[0], limit=self.limit, batch=self.batch)
        if table.log_mass == -math.inf:
            return {row: table.sample(None) for row in rows}
        probabilities = torch.tensor(
            [[math.exp(each.log_prob - table.log_mass) for each in table.members]], dtype=torch.float64
        )
        return {row: table.sample(int(job.draw(probabilities, [job.streams[row]])[0])) for row in rows}


class MemberTable:
    """All members of a row's language, in no order, as samples with `log_prob`. log_mass: log Z."""

    def __init__(self, job: Job, row: int, *, limit: int, batch: int) -> None:
        """job: shaped. Raises LimitError."""
        self.forwards = self.masks = 0
        self.drafts: dict[str, DraftCount] = {}
        self.members = [sample for sample in self._walk(job, row, limit, batch) if sample.log_prob > -math.inf]
        self.log_mass = min(0.0, log_add([sample.log_prob for sample in self.members]))

    def sample(self, member: int | None) -> Sample:
        """A member as an output, or, for None, that there is none."""
        if member is None:
            sample = Sample(log_weight=-math.inf, finish_reason="dead_end")
        else:
            found = self.members[member]
            sample = Sample(
                list(found.tokens), found.log_prob, trace=list(found.trace), finish_reason="stop", accepted=1
            )
        sample.log_evidence, sample.evidence_bounds = self.log_mass, (self.log_mass, self.log_mass)
        sample.tv_bound = 0.0
        sample.forwards, sample.masks, sample.drafts = self.forwards, self.masks, self.drafts
        return sample

    def _walk(self, job: Job, row: int, limit: int, batch: int) -> Iterator[Sample]:
        first = Particles(job, [Particle(job, row)])
        first.start()
        yield from _ended(first)
        stack = [(first, *each) for each in _batches(first, batch)]
        self._account(first)
        seen = 1
        while stack:
            parent, places, chosen = stack.pop()
            seen += len(places)
            if seen > limit:
                raise LimitError(
                    f"the language has more than {limit} prefixes within {budget_of(job, row)} tokens",
                    place=f"prompt of output {row}",
                    fix='raise limit=, lower max_tokens, or use a method that needs no table: "cars", "sir"',
                )
            block = parent.branch(places)
            for particle in block.live:
                particle.sample.forwards = particle.sample.masks = 0
            block.take(chosen)
            block.forward()
            yield from _ended(block)
            stack += [(block, *each) for each in _batches(block, batch)]
            self._account(block)

    def _account(self, block: Particles) -> None:
        self.forwards += sum(particle.sample.forwards for particle in block.all)
        self.masks += sum(particle.sample.masks for particle in block.all)
        self.drafts = next((each.sample.drafts for each in block.all), self.drafts)  # of all blocks: forks share it


def _ended(block: Particles) -> Iterator[Sample]:
    return (particle.sample for particle in block.all if particle.sample.finish_reason == "stop")


def _batches(block: Particles, size: int) -> Iterator[tuple[list[int], Step]]:
    """The children of the live sequences of a block: (place of the parent, the token as a step), `size` at a time."""
    if not block.live:
        return
    places, step = children(block)
    for start in range(0, len(places), size):
        rows = slice(start, start + size)
        yield places[rows].tolist(), step.rows(rows)


def children(block: Particles) -> tuple[torch.Tensor, Step]:
    """Every allowed token of every live sequence: int64[N] places of the parents, and N tokens.

    log_prob_sampled is that of masked decoding.
    """
    log_p = log_probs_of(block.logits, block.places)
    apply_bitmask_(log_p, block.member_masks(), block.job.size)
    log_z = log_p.logsumexp(-1).clamp(max=0)
    places, tokens = (log_p > -torch.inf).nonzero(as_tuple=True)
    raw = log_p[places, tokens]
    return places, Step(tokens, raw, raw - log_z[places], log_z[places])
