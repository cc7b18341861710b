"""`rejection`: sample the model as it is, and throw away what is not in the language.

Distribution: exactly π(x) = p(x)·1[x ∈ L, |x| ≤ T] / Z, whatever the number of attempts that a success took; so weights
are 0 in logs. Rows whose attempts are used up end as "budget", with the last attempt's valid prefix.
Evidence: the share of attempts that succeeded, over whole rounds. It goes to Z with many attempts, but is not unbiased,
since a row stops when it has succeeded: the mean over rows is too high, by far where Z is small. `diagnose` counts each
row by its attempts.

Cost: 1/Z attempts on average. An attempt ends at the first token that leaves the language, so failures are cheap.
Limit: hopeless where Z is small: one attempt in a million for Z = 1e-6. Then use `cars`, `sir` or `smc`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from constrain.sampling.core.draw import substream
from constrain.sampling.core.job import Job, Sample, Work
from constrain.sampling.core.particles import Stems
from constrain.sampling.core.sampler import Sampler, check_count, log_add
from constrain.sampling.core.shape import shaped
from constrain.sampling.core.trie import PrefixTrie
from constrain.sampling.methods.attempts import Attempt, run_round


class Rejection(Sampler):
    """Samples the model as it is, and throws away what is not in the language.

    Outputs are distributed exactly as the model conditioned on the constraint. Cost: 1 / Z attempts on average, Z being
    the mass of the language; see the module `constrain.sampling.methods.rejection`.

    Args:
        attempts: attempts for an output, at most; then it ends as "budget".
        batch: attempts that run at once, of all outputs together.

    Raises:
        ConstrainError: an option is out of range.

    Example:
        >>> import constrain
        >>> from constrain.sampling import Rejection
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, '{"color": "', regex="red|green", method=Rejection(attempts=20), seed=1)
        >>> g.finish_reason in ("stop", "budget")
        True
    """

    name = "rejection"
    needs_chance = True
    distribution = "the model conditioned on the constraint, exactly (given that an attempt succeeds)"
    exact = True

    def __init__(self, *, attempts: int = 1000, batch: int = 32) -> None:
        self.attempts = check_count("attempts", attempts)
        self.batch = check_count("batch", batch)

    def run(self, job: Job) -> list[Sample]:
        return first_accepted(shaped(job), [None] * len(job.prompts), attempts=self.attempts, batch=self.batch)


def first_accepted(job: Job, tries: Sequence[PrefixTrie | None], *, attempts: int, batch: int) -> list[Sample]:
    """For each row the first of its attempts that succeeds.

    job: shaped. tries: of each row. attempts: at most, for a row. batch: attempts of a round, of all rows together.

    Attempts count in the order of their numbers, not of their ends: taking the first to end would prefer short texts.
    A row makes one attempt at least, whatever others learnt before it, then in each round as many as before, together.
    """
    stems = Stems(job)
    rows = [_Row(number) for number in range(len(job.prompts))]
    pending = rows
    while pending:
        queue: list[Attempt] = []
        for row in pending:
            wanted = min(max(1, row.made), attempts - row.made, batch - len(queue))
            stream = job.streams[row.number]
            row.running = [
                Attempt(job, row.number, substream(stream, slot), tries[row.number]) for slot in range(wanted)
            ]
            queue += row.running
        run_round(job, stems, queue, masked=False)
        for row in pending:
            row.close_round()
        unfinished = []
        for row in pending:
            proven = row.made > 0 and _empty(tries[row.number])  # by others, for a row that was not in the batch yet
            if row.chosen is None and row.made < attempts and not proven:
                unfinished.append(row)
            else:
                job.watcher.ended(row.number)
        pending = unfinished
    return [row.sample(tries[row.number]) for row in rows]


def _empty(trie: PrefixTrie | None) -> bool:
    """True if it is proven that the model gives no valid text any mass."""
    return trie is not None and trie.bounds[1] == -math.inf


class _Row:
    """The attempts of one row. made: how many ended. chosen: the first that succeeded; last: the last that failed."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.work = Work(forwards=1)  # the prompt
        self.log_exposures: list[float] = []  # −log θ of every attempt, whose chance to succeed was Z / θ
        self.running: list[Attempt] = []
        self.chosen: Attempt | None = None
        self.last: Attempt | None = None

    @property
    def made(self) -> int:
        return self.work.attempts

    def close_round(self) -> None:
        for attempt in self.running:
            self.work.add(attempt.sample)
            self.log_exposures.append(-attempt.log_theta)
            if attempt.succeeded:
                self.work.accepted += 1
                self.chosen = self.chosen or attempt
            else:
                self.last = attempt
        self.running = []

    def sample(self, trie: PrefixTrie | None) -> Sample:
        """The output of the row. Z is estimated by successes / Σ 1/θ, within what is proven."""
        attempt = self.chosen or self.last
        assert attempt is not None
        sample = attempt.sample
        sample.log_weight = 0.0 if self.chosen else -math.inf
        sample.tv_bound = 0.0 if self.chosen else None
        if not self.chosen:
            sample.finish_reason = "dead_end" if _empty(trie) else "budget"
        vars(sample).update(vars(self.work))
        found = self.work.accepted
        sample.log_evidence = math.log(found) - log_add(self.log_exposures) if found else -math.inf
        if trie is not None:
            low, high = sample.evidence_bounds = trie.bounds
            sample.log_evidence = min(max(sample.log_evidence, low), high)
        return sample
