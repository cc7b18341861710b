"""`asap`: masked decoding that steers by what it has seen (adaptive sampling with approximate expected futures).

Distribution: a draw follows q(v | u) ∝ p(v | u)·θ(uv) over the allowed tokens, where θ(u) is the best known upper bound
on the chance that u becomes a member (trie.py). The first draw of a target is that of `lcd`; with every draw θ falls
towards the truth and q towards the model conditioned on the constraint, π.
Weight: p(x)/q(x), so that each draw is properly weighted given all draws before it: E[w·1(x)] = p(x) for members x.
Certificate: the total variation distance of a draw's distribution from π is at most 1 − A/θ, with A the mass of the
distinct members seen and θ that of the root, before the draw; and A ≤ Z ≤ θ. `Sample.tv_bound` says so of every output.

Outputs of one target that are worth less than a fifth of their number are told by a warning: the first draws of a cold
start are those of masked decoding, and their weights may hide the later ones.

A draw that runs into a dead end, or past the length limit, is an output too: "dead_end" or "length", of weight 0.

Cost: one forward pass a token. Rows of one call are drawn `batch` at a time; those of a batch do not learn from each
other.
Limit: hundreds of draws where futures differ much; of use for one prompt asked often, with a `Memory`.

Source: Park et al. 2024, "Grammar-aligned decoding". The certificate and the weights are ours.
"""

from __future__ import annotations

from constrain.errors import warn
from constrain.sampling.core.draw import substream
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.memory import Memory
from constrain.sampling.core.particles import Stems
from constrain.sampling.core.resampling import effective_size
from constrain.sampling.core.sampler import Sampler, check_count, check_share
from constrain.sampling.core.shape import shaped
from constrain.sampling.core.trie import PrefixTrie
from constrain.sampling.methods.attempts import Attempt, run_round

UNEVEN = 1 / 5  # of the outputs: what they are worth at least where nothing is told


class ASAp(Sampler):
    """Masked decoding that steers by what it has seen: adaptive sampling with approximate expected futures.

    Each draw comes nearer to the model conditioned on the constraint; `tv_bound` of an output bounds its distance from
    there. Distribution, weights and cost: see the module `constrain.sampling.methods.asap`.

    Args:
        memory: what was learnt and will be; None: each call begins anew.
        warmup: draws of each target that are thrown away first.
        tolerance: a bound on the distance, in [0, 1], at which the warm-up ends early.
        batch: outputs that are drawn at once; they do not learn from each other.

    Raises:
        ConstrainError: an option is out of range.

    Source:
        Park et al. 2024, "Grammar-aligned decoding".

    Example:
        >>> import constrain
        >>> from constrain.sampling import ASAp
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, '{"color": "', regex="red|green", method=ASAp(warmup=20), seed=1)
        >>> 0 <= g.tv_bound < 1
        True
    """

    name = "asap"
    needs_chance = True
    weighs = True
    distribution = "near the model conditioned on the constraint: at most tv_bound away; weighted"

    def __init__(
        self, *, memory: Memory | None = None, warmup: int = 0, tolerance: float = 0.0, batch: int = 8
    ) -> None:
        self.memory = memory
        self.warmup = check_count("warmup", warmup, 0)
        self.tolerance = check_share("tolerance", tolerance)
        self.batch = check_count("batch", batch)

    def run(self, job: Job) -> list[Sample]:
        model = shaped(job)
        memory = self.memory if self.memory is not None else Memory.of_one_call()
        rows = range(len(job.prompts))
        tries = [memory.trie(job, row) for row in rows]
        stems = Stems(model)
        spent = self._warm_up(model, stems, tries)
        samples: list[Sample] = []
        for start in rows[:: self.batch]:
            batch = rows[start : start + self.batch]
            bounds = [(tries[row].tv_bound, tries[row].bounds) for row in batch]
            attempts = [Attempt(model, row, model.streams[row], tries[row]) for row in batch]
            run_round(model, stems, attempts, masked=True)
            for attempt, (tv_bound, evidence) in zip(attempts, bounds, strict=True):
                sample = attempt.sample
                sample.tv_bound, sample.evidence_bounds = tv_bound, evidence
                sample.accepted = int(attempt.succeeded)
                sample.log_evidence = sample.log_weight
                sample.forwards += 1  # the prompt
                samples.append(sample)
        for row, drawn in spent:
            for each in drawn:
                samples[row].add(each)
        self._warn_of(samples, tries)
        return samples

    def _warn_of(self, samples: list[Sample], tries: list[PrefixTrie]) -> None:
        """Tell where the outputs of a target are worth less than a fifth of their number."""
        weights: dict[int, list[float]] = {}
        for sample, trie in zip(samples, tries, strict=True):
            weights.setdefault(id(trie), []).append(sample.log_weight)
        for logs in weights.values():
            size = effective_size(logs)
            if 0 < size < len(logs) * UNEVEN:
                said = f"asap: {len(logs)} outputs are worth {size:.1f} unweighted ones: few have most of the weight"
                fix = f"warm up, with ASAp(warmup={2 * max(self.warmup, len(logs))}) or a memory"
                warn(f"{said}\n  fix: {fix}")

    def _warm_up(self, job: Job, stems: Stems, tries: list[PrefixTrie]) -> list[tuple[int, list[Sample]]]:
        """Draws for each target, counted for its first row: (row, draws)."""
        first = {id(trie): row for row, trie in reversed(list(enumerate(tries)))}
        spent = []
        for row in first.values():
            drawn: list[Sample] = []
            while len(drawn) < self.warmup and tries[row].tv_bound > self.tolerance:
                count = min(self.batch, self.warmup - len(drawn))
                streams = [substream(job.streams[row], slot) for slot in range(count)]
                attempts = [Attempt(job, row, stream, tries[row]) for stream in streams]
                run_round(job, stems, attempts, masked=True)
                drawn += [attempt.sample for attempt in attempts]
            spent.append((row, drawn))
        return spent
