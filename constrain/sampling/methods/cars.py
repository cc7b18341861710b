"""`cars`: rejection that never makes the same mistake twice (constrained adaptive rejection sampling).

Distribution: exactly π(x) = p(x)·1[x ∈ L, |x| ≤ T] / Z, from the first output on; weights are 0 in logs. Each attempt
draws from the model conditioned on not entering what is proven to hold no member, and succeeds with probability Z/θ;
which member it is does not depend on what was learnt before, so outputs are independent too. Capping the *attempts* of
an output keeps its distribution exact, given that it succeeds (which outputs of a call succeed may then depend on each
other's texts, since one learns from the other); such an output ends as "budget", or as "dead_end" if it is proven that
there is no member.
Evidence: proven bounds A ≤ Z ≤ θ, where A is the mass of the members seen, and between them an estimate, successes over
Σ 1/θ of the attempts. It goes to Z with many, but is not unbiased, since a row stops when it has succeeded.

Cost: Z falls short of θ less and less; prompts that are asked again gain most, with a `Memory` across calls. Where no
prefix repeats it costs what `rejection` does, but for the first token, which is always masked.
Limit: rows of one call that have the same target share what is learnt, so which member a row gets depends on the rows
beside it (its distribution does not). A long output in a large language is new at every prefix and then must be lucky
at every
token: see `rejection`.

Source: Parys et al. 2025, "Constrained adaptive rejection sampling". Here at most T tokens are part of the target, and
θ is kept in log space (trie.py).
"""

from __future__ import annotations

from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.memory import Memory
from constrain.sampling.core.sampler import Sampler, check_count
from constrain.sampling.core.shape import shaped
from constrain.sampling.methods.rejection import first_accepted


class CARS(Sampler):
    """Rejection sampling that never repeats a mistake: constrained adaptive rejection sampling.

    Outputs are distributed exactly as the model conditioned on the constraint, from the first one on. Distribution,
    evidence and
    cost: see the module `constrain.sampling.methods.cars`.

    Args:
        memory: what was learnt and will be; None: each call begins anew.
        attempts: attempts for an output, at most; then it ends as "budget".
        batch: attempts that run at once, of all outputs together.

    Raises:
        ConstrainError: an option is out of range.

    Source:
        Parys et al. 2025, "Constrained adaptive rejection sampling".

    Example:
        >>> import constrain
        >>> from constrain.sampling import CARS
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, '{"color": "', regex="red|green", method=CARS(attempts=500), seed=1)
        >>> g.text in ("red", "green"), g.tv_bound
        (True, 0.0)
    """

    name = "cars"
    needs_chance = True
    distribution = "the model conditioned on the constraint, exactly (given that an attempt succeeds)"
    exact = True

    def __init__(self, *, memory: Memory | None = None, attempts: int = 1000, batch: int = 32) -> None:
        self.memory = memory
        self.attempts = check_count("attempts", attempts)
        self.batch = check_count("batch", batch)

    def run(self, job: Job) -> list[Sample]:
        model = shaped(job)
        memory = self.memory if self.memory is not None else Memory.of_one_call()
        tries = [memory.trie(job, row) for row in range(len(job.prompts))]
        return first_accepted(model, tries, attempts=self.attempts, batch=self.batch)
