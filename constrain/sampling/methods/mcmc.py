"""`mcmc`: a Markov chain over members. Each step rewrites the end of the present text, and keeps the better of the two.

Target: π(x) ∝ p(x) · 1[x ∈ L, |x| ≤ T] · exp Φ(x). The state is a member x. A step draws a place i of x with
probability r_i(x), keeps x_<i, draws the rest by masked decoding, and accepts the result y with probability

    min(1, π(y) k(x|y) / (π(x) k(y|x))),      k(y|x) = Σ_{i ≤ lcp(x, y)} r_i(x) Π_{t ≥ i} q(y_t | y_<t)

lcp being the common prefix of x and y: every cut before their first difference could have made the move, so all are
summed (Gonzalez et al., "Constrained sampling for language models should be easy: an MCMC approach", 2025).

    restart    i = 0: independent proposals; the ratio is w(y) / w(x) with w = p / q = ΠZ_t (Tierney 1994, section 2.3)
    uniform    every place alike
    priority   places where the model was surprised more often: r_i ∝ 1 − log p(x_i | x_<i)

Distribution: the chain leaves π invariant, starts from one masked sample, and TV(distribution, π) never grows with
`steps`. With restart it falls geometrically, at the rate 1 − 1/max(w/Z) (Mengersen and Tweedie 1996, theorem 2.1).
Weight: 0, the sample stands for itself; `population` holds the states of the chain, the last is the output, and
`attempts` and `accepted` count draws and moves. A proposal that is cut off or dead is refused; from a first state like
that any member is accepted. With restart the draws are independent, so their mean weight is an estimate of evidence.
Cost: restart draws all proposals in one batch, the prompt read once; the others read prompt and kept tokens each step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.draw import substream
from constrain.sampling.core.job import Job, Sample, Work
from constrain.sampling.core.potentials import AskedPotential, Potential
from constrain.sampling.core.resampling import log_mean
from constrain.sampling.core.sampler import Sampler, check_count
from constrain.sampling.core.shape import shaped
from constrain.sampling.methods.sir import DrawStart, masked_draws, weigh

PROPOSALS = ("restart", "uniform", "priority")
CUT, ACCEPT = 0, 1  # numbers of a chain's streams; proposal j draws from 2 + j


class MCMC(Sampler):
    """A Markov chain over members: each step rewrites the end of the present text.

    The chain leaves the target invariant and begins at one masked sample. Acceptance rule and distribution: see the
    module `constrain.sampling.methods.mcmc`.

    Args:
        steps: of each chain; 0 is masked decoding.
        proposal: where a step cuts the text: "restart" (at the beginning), "uniform" (anywhere alike) or "priority"
            (where the model was surprised).
        potential: a further weight of complete texts.

    Raises:
        ConstrainError: an option is out of range, an unknown proposal, or what is no potential.

    Source:
        Gonzalez et al. 2025, "Constrained sampling for language models should be easy: an MCMC approach".

    Example:
        >>> import constrain
        >>> from constrain.sampling import MCMC
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, '{"color": "', regex="red|green", method=MCMC(steps=3), seed=1)
        >>> len(g.population)  # the states of the chain, with the first
        4
    """

    name = "mcmc"
    needs_chance = True
    grows = True
    measures = True  # states are compared by their weights
    distribution = "a Markov chain that leaves p conditioned on the constraint (times the potential) invariant"

    def __init__(self, *, steps: int = 10, proposal: str = "restart", potential: Potential | None = None) -> None:
        self.steps = check_count("steps", steps, 0)
        if proposal not in PROPOSALS:
            raise ConstrainError(f"there is no proposal {proposal!r}", fix=f"choose one of: {', '.join(PROPOSALS)}")
        self.proposal, self.potential = proposal, potential
        if potential is not None:
            AskedPotential(potential)

    def run(self, job: Job) -> list[Sample]:
        """The last state of a chain a row."""
        job = shaped(job)
        chains = [MarkovChain(row, stream) for row, stream in enumerate(job.streams)]
        if self.proposal == "restart":
            begun = [chain.begin(j) for chain in chains for j in range(self.steps + 1)]
            drawn = self._draw(job, begun)
            for place, chain in enumerate(chains):
                first, *others = drawn[place * (self.steps + 1) : (place + 1) * (self.steps + 1)]
                chain.enter(first)
                for proposed in others:
                    self.move(job, chain, proposed)
        else:
            for chain, first in zip(chains, self._draw(job, [chain.begin(0) for chain in chains]), strict=True):
                chain.enter(first)
            for _ in range(self.steps):
                self.advance(job, chains)
        return [chain.output(log_mean(chain.weights) if self.proposal == "restart" else None) for chain in chains]

    def advance(self, job: Job, chains: Sequence[MarkovChain]) -> None:
        """One step of every chain; the job must be `shaped`."""
        proposed = self._draw(job, [self._cut(job, chain) for chain in chains])
        for chain, sample in zip(chains, proposed, strict=True):
            self.move(job, chain, sample)

    def move(self, job: Job, chain: MarkovChain, proposed: Sample) -> None:
        """Accept the proposed sample, or stay."""
        chain.count(proposed)
        log_ratio = self._log_ratio(chain.state, proposed)
        accept = math.exp(min(0.0, log_ratio))
        if 0 < accept < 1:
            probabilities = torch.tensor([[1 - accept, accept]], dtype=torch.float64)
            accept = int(job.draw(probabilities, [substream(chain.stream, ACCEPT)]))
        chain.work.accepted += accept == 1
        chain.states.append(proposed if accept == 1 else chain.state)

    def _draw(self, job: Job, begun: Sequence[DrawStart]) -> list[Sample]:
        drawn = masked_draws(job, begun)
        asked = weigh(job, drawn, [each.row for each in begun], self.potential)
        for sample in drawn:
            sample.evaluations = int(asked is not None and sample.finish_reason == "stop")
        return drawn

    def _cut(self, job: Job, chain: MarkovChain) -> DrawStart:
        """The prefix at which the next proposal of a chain begins."""
        state = chain.state
        if state.log_weight == -math.inf:
            return chain.begin(len(chain.states))
        logs = self.log_cuts(state)
        probabilities = torch.tensor([logs], dtype=torch.float64).exp()
        place = int(job.draw(probabilities, [substream(chain.stream, CUT)]))
        return chain.begin(len(chain.states), state.tokens[:place], state.trace[:place])

    def log_cuts(self, state: Sample) -> list[float]:
        """log r_i(x): the probability of each place to be cut at."""
        if self.proposal == "restart":
            return [0.0] + [-math.inf] * (len(state.tokens) - 1)
        if self.proposal == "uniform":
            return [-math.log(len(state.tokens))] * len(state.tokens)
        weights = [1 - record.log_prob_raw for record in state.trace]
        return [math.log(weight / math.fsum(weights)) for weight in weights]

    def _log_ratio(self, state: Sample, proposed: Sample) -> float:
        """log of π(y) k(x|y) / (π(x) k(y|x)); log_weight is log π − log q, so log π = log_weight + Σ log q."""
        if proposed.log_weight == -math.inf:
            return -math.inf
        if state.log_weight == -math.inf:
            return math.inf
        if state.tokens == proposed.tokens:
            return 0.0
        forth = self._log_move(state, proposed) - _log_q(proposed, 0)
        back = self._log_move(proposed, state) - _log_q(state, 0)
        return (proposed.log_weight - forth) - (state.log_weight - back)

    def _log_move(self, old: Sample, new: Sample) -> float:
        """The log probability log k(new|old) of a move."""
        common = next(i for i, (a, b) in enumerate(zip(old.tokens, new.tokens, strict=False)) if a != b)
        ways = [cut + _log_q(new, i) for i, cut in enumerate(self.log_cuts(old)[: common + 1])]
        return float(torch.tensor(ways, dtype=torch.float64).logsumexp(0))


@dataclass
class MarkovChain:
    """The states of one row's chain so far."""

    row: int
    stream: int

    def __post_init__(self) -> None:
        self.states: list[Sample] = []
        self.weights: list[float] = []  # of all draws
        self.work = Work()  # accepted: moves

    @property
    def state(self) -> Sample:
        return self.states[-1]

    def begin(self, number: int, tokens: Sequence[int] = (), trace: Sequence = ()) -> DrawStart:
        """The start of proposal `number`, which keeps these tokens."""
        return DrawStart(self.row, substream(self.stream, 2 + number), tokens, trace)

    def enter(self, first: Sample) -> None:
        """Begin the chain at a sample."""
        self.count(first)
        self.states.append(first)

    def count(self, drawn: Sample) -> None:
        self.weights.append(drawn.log_weight)
        self.work.add(replace(drawn, accepted=0))

    def output(self, evidence: float | None) -> Sample:
        """The last state. Weights of states are 0: each stands for itself."""
        alive = self.state.log_weight > -math.inf
        return replace(
            self.state,
            log_weight=0.0 if alive else -math.inf,
            population=[
                replace(state, log_weight=0.0 if state.log_weight > -math.inf else -math.inf) for state in self.states
            ],
            log_evidence=evidence,
            **vars(self.work),
        )


def _log_q(sample: Sample, start: int) -> float:
    """log Π_{t ≥ start} q(x_t | x_<t)."""
    return math.fsum(record.log_prob_sampled for record in sample.trace[start:])
