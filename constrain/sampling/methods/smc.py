"""`smc`: sequential Monte Carlo. Particles grow side by side; where weights drift apart, the heavy ones are forked.

Target: π(x) ∝ p(x) · 1[x ∈ L, |x| ≤ T] · 1[check] · exp Φ(x), with Φ a potential (potentials.py).
For each row N particles are extended by masked decoding, or by adaptive weighted rejection where a black-box `check`
must agree (awrs.py). A particle's weight is

    w = Π_t ŵ_t · exp(ψ)        ŵ_t: Z_t or its estimate; ψ: log ψ of the prefix, in the end log Φ of the text

so that prefix weights (a twist) steer, and cancel when the text is complete. Where a unit has ended (`boundary`) in
every particle, and (Σw)² / Σw² < `ess_threshold` · N, particles are resampled (resampling.py).
Weight: one particle is drawn ∝ w, and log_weight = log(Σ w / N): E[exp(log_weight) · 1(x)] = p(x) 1[...] exp Φ(x) for
every x and N, whatever is resampled when (Del Moral 2004, theorem 7.4.2). So E[exp(log_evidence)] is the mass of the
target. The distribution of the output itself tends to π as N grows, and is not π for any N.

`check` is asked about every candidate token, which costs more calls and wastes no particle; `potential` is asked once a
unit. With `children` > 1 each particle draws several next tokens from the same logits before N are chosen, without
replacement if `resampling="optimal"`; this costs no forward pass. `SMC(ess_threshold=0)` is importance sampling with N
particles; `awrs` is the case of one particle and a check.

Resampling comes before the forward pass, so the model reads no doomed token. Cost: N sequences in one batch, prompts
read once; particles that say the same are one. Limit: no particle waits for others; between boundaries some are ahead.
Drafts are read ahead and never chosen by, so particles are those without drafts; a particle whose token was drafted
needs no forward pass, and waits for the others.

`boundary="draft"`: nobody waits. Each particle goes on as far as its draft leads it, and a token further; all are
compared when a forward pass is due (SMC-SD, arXiv 2604.15672). Where that is depends on the past
alone, so every weight stays proper, whoever drafts; which texts are resampled when, and so the outputs, depend on it.
Under `match` the tokens are the target's own draws. Other rules choose them (`Job.grow`): lossless ones those of masked
decoding, by which ŵ is Z; `weighed` takes drawn tokens as they are, ŵ = p / q. A check is asked about blocks, as a
potential of weights 0 and 1 is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.boundaries import boundary_of
from constrain.sampling.core.draw import substream
from constrain.sampling.core.job import DraftCount, Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.potentials import AskedPotential, Potential
from constrain.sampling.core.resampling import check_scheme, effective_size, log_mean, resample
from constrain.sampling.core.sampler import Sampler, check_count, check_share
from constrain.sampling.core.shape import shaped
from constrain.sampling.core.step import Step, step
from constrain.sampling.methods.awrs import TokenRejection, checked_step
from constrain.sampling.methods.sir import cut_off, drawn_by_weight, grown


class SMC(Sampler):
    """Sequential Monte Carlo: particles grow side by side, and heavy ones are forked.

    One particle is drawn by weight; the distribution tends to the target as N grows. Weights, order of operations and
    limits: see the module `constrain.sampling.methods.smc`.

    Args:
        particles: N, for each output.
        ess_threshold: resample when the effective number of particles is below this share of N; 0 never.
        resampling: "multinomial", "stratified", "systematic", "residual" or "optimal".
        potential: a soft or hard weight of texts.
        twist: ask the potential about prefixes too.
        check: a potential of weights 0 and 1 that every proposed token must pass.
        rejection: how the check is asked; None: `TokenRejection()`.
        boundary: where particles are compared: "token", "lexeme", "line", "rule:NAME", or a function (text before,
            new bytes) → bool; "draft": where the tokens end that were drafted and taken.
        children: next tokens that each particle draws before N are chosen; None: 2 for "optimal", else 1.

    Raises:
        ConstrainError: an option is out of range, an unknown name, or what is no potential.

    Source:
        Del Moral 2004, "Feynman-Kac formulae", theorem 7.4.2 (the estimate of the mass is unbiased).

    Example:
        >>> import constrain
        >>> from constrain.sampling import SMC
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, '{"color": "', regex="red|green", method=SMC(particles=4), seed=1)
        >>> len(g.population)
        4
    """

    name = "smc"
    needs_chance = True
    weighs = True
    ends_in_time = True
    distribution = "weighted; tends to p conditioned on the constraint (times the potential) as particles grow"

    def __init__(
        self,
        *,
        particles: int = 10,
        ess_threshold: float = 0.5,
        resampling: str = "systematic",
        potential: Potential | None = None,
        twist: bool = True,
        check: Potential | None = None,
        rejection: TokenRejection | None = None,
        boundary: str | Callable[[bytes, bytes], bool] = "token",
        children: int | None = None,
    ) -> None:
        self.particles = check_count("particles", particles)
        self.ess_threshold = check_share("ess_threshold", ess_threshold)
        check_scheme(resampling)
        self.resampling = resampling
        self.potential, self.twist, self.check = potential, twist, check
        for each in (potential, check):
            if each is not None:
                AskedPotential(each)  # refuses what is no potential now, not in the middle of a run
        self.boundary, self.passes = boundary, boundary_of(boundary)
        self.grows = boundary == "draft"
        self.children = check_count("children", (2 if resampling == "optimal" else 1) if children is None else children)
        if self.grows and (self.children > 1 or rejection is not None):
            option = "children are chosen among" if self.children > 1 else "rejection asks a check"
            raise ConstrainError(
                f'{option} at each token, and boundary="draft" compares particles where drafts end',
                fix='leave it (and resampling="optimal") out, or take boundary="token"',
            )
        self.rejection = TokenRejection() if rejection is None else rejection

    def run(self, job: Job) -> list[Sample]:
        """One sample a row, drawn from the particles of that row, which are its `population`."""
        run = _Run(self, shaped(job))
        if self.grows:
            grown(run.job, run.cloud.all, run.compare)
            run.compare(run.cloud)  # also what had no room for a token
        else:
            run.begin()
            while run.cloud.live:
                run.advance()
        return [run.result(row) for row in range(len(job.prompts))]


class AWRS(SMC):
    """One particle under a check: every token by adaptive weighted rejection.

    The estimators: see the module `constrain.sampling.methods.awrs`.

    Args:
        check: a potential of weights 0 and 1; None: the mask alone, with its exact mass.
        rejection: how the check is asked; None: `TokenRejection()`.

    Source:
        Lipkin et al. 2025, "Fast controlled generation from language models with adaptive weighted rejection sampling".

    Example:
        >>> import constrain
        >>> from constrain.sampling import AWRS, predicate
        >>> check = predicate(lambda text: not text.startswith("r"), on="prefix")
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, "A colour: ", regex="red|green", method=AWRS(check), seed=1)
        >>> g.text
        'green'
    """

    name = "awrs"
    distribution = "masked decoding with a checked token, weighted by unbiased estimates of the mass that was allowed"

    def __init__(self, check: Potential | None = None, *, rejection: TokenRejection | None = None) -> None:
        super().__init__(particles=1, ess_threshold=0, check=check, rejection=rejection)


class _Note(NamedTuple):
    """The record of a particle: its text up to `read` tokens, the twist in its weight, `passed` if a unit ended since
    it was last resampled, and a flag for the weight of the complete text."""

    text: bytes = b""
    read: int = 0
    twist: float = 0.0
    passed: bool = False
    closed: bool = False


@dataclass
class _Offer:
    """A particle with a next token, or an ended one as it is (token None)."""

    parent: Particle
    log_weight: float
    note: _Note
    token: int | None = None
    numbers: tuple[float, float, float] = (0.0, 0.0, 0.0)  # log p_raw, log p_sampled, log Z


@dataclass
class _Run:
    """The state of one call. `cloud.all` holds the particles of all rows, `of_row` those of each."""

    options: SMC
    job: Job
    masks: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        job, options = self.job, self.options
        self.potential = None if options.potential is None else AskedPotential(options.potential)
        self.check = None if options.check is None else AskedPotential(options.check, hard=True)
        units = options.boundary not in ("token", "draft")
        self.reads = self.potential is not None or self.check is not None or units
        if self.reads and not job.token_bytes:
            raise ConstrainError("potentials and boundaries need the bytes of tokens", fix="set Job.token_bytes")
        self.of_row = {
            row: [Particle(job, row, substream(stream, j), _Note()) for j in range(options.particles)]
            for row, stream in enumerate(job.streams)
        }
        self.drafts: list[dict[str, DraftCount]] = [{} for _ in self.of_row]
        for row, particles in self.of_row.items():
            for particle in particles:  # and its forks: what was drafted for any of them is counted together
                particle.sample.drafts = self.drafts[row]
        self.cloud = Particles(job, [particle for row in self.of_row.values() for particle in row])

    def begin(self) -> None:
        """Read the prompts."""
        self.cloud.start()
        self._settle(self.cloud.all)

    def advance(self) -> None:
        """One more token for every live particle: propose, weigh, choose, read."""
        offers = self._propose()
        self._weigh(offers)
        self._take(self._select(offers))
        self.cloud.forward()
        self._settle(self.cloud.all)
        self._watch()

    def compare(self, cloud: Particles) -> None:
        """Weigh what each particle has written since the last time, and choose: where drafts end."""
        self.cloud = cloud
        for particle in cloud.all:
            self.masks[particle.row] += particle.sample.masks
            particle.sample.masks = 0
            if not particle.note.closed:
                cut_off(particle)
        self._settle(cloud.all)
        offers = []
        for each in cloud.all:
            if not each.ended:
                text = self._text(each) if self.reads else b""
                note = each.note._replace(text=text, read=len(each.sample.tokens), passed=True)
                offers.append(_Offer(each, each.sample.log_weight, note))
        if self.potential is not None and self.options.twist:
            self._multiply(offers, self.potential.prefixes)
        chosen = self._select(offers)
        for particle, offer in zip(cloud.all, chosen, strict=True):
            particle.sample.log_weight, particle.note = offer.log_weight, offer.note
        self._watch()

    def _select(self, offers: Sequence[_Offer]) -> list[_Offer]:
        """Choose among the offers of each row, and go on with their particles."""
        chosen: list[_Offer] = []
        streams: list[int] = []
        by_row: dict[int, list[_Offer]] = {row: [] for row in self.of_row}
        for offer in offers:
            by_row[offer.parent.row].append(offer)
        for row, particles in self.of_row.items():
            kept = self._choose(row, particles, by_row[row])
            chosen += kept
            streams += [substream(self.job.streams[row], slot) for slot in range(len(kept))]
        for offer in chosen:
            if offer.log_weight == -math.inf and not offer.parent.ended:
                reason = "length" if offer.parent.left == 1 else "dead_end"
                offer.parent.dead_end()
                offer.parent.sample.finish_reason = reason  # type: ignore[assignment]
        self.cloud.select([offer.parent for offer in chosen], streams)
        self.of_row = {row: [] for row in self.of_row}
        for particle in self.cloud.all:
            self.of_row[particle.row].append(particle)
        return chosen

    def _watch(self) -> None:
        """Tell which rows are done."""
        for row in self.of_row.keys() - {particle.row for particle in self.cloud.all if not particle.ended}:
            self.job.watcher.ended(row)

    def _propose(self) -> list[_Offer]:
        """Offers of all live particles: `children` tokens each, equal ones merged."""
        cloud, many = self.cloud, self.options.children
        bitmask = cloud.member_masks()
        self.masks.update(particle.row for particle in cloud.live)
        merged: dict[tuple[int, int], _Offer] = {}
        for child in range(many):
            streams = [each.stream if many == 1 else substream(each.stream, child) for each in cloud.live]
            drawn = self._draw(bitmask, streams)
            fields = (drawn.token, drawn.log_prob_raw, drawn.log_prob_sampled, drawn.log_z)
            for i, (token, *numbers) in enumerate(zip(*(each.tolist() for each in fields), strict=True)):
                parent = cloud.live[i]
                gain = numbers[0] - numbers[1] if token >= 0 else -math.inf
                weight = parent.sample.log_weight + gain - math.log(many)
                if (offer := merged.get((i, token))) is None:
                    merged[i, token] = _Offer(parent, weight, parent.note, token, tuple(numbers))
                else:
                    offer.log_weight = float(np.logaddexp(offer.log_weight, weight))
        return list(merged.values())

    def _draw(self, bitmask: np.ndarray, streams: Sequence[int]) -> Step:
        cloud, job = self.cloud, self.job
        with job.clock.stage("sample"):
            if self.check is None:
                return step(
                    cloud.logits, bitmask, settings=job.settings, draw=job.draw, streams=streams, size=job.size,
                    places=cloud.places,
                )  # fmt: skip
            texts = [self._text(particle) for particle in cloud.live]
            return checked_step(cloud, bitmask, texts, streams, self.check, self.options.rejection)

    def _weigh(self, offers: Sequence[_Offer]) -> None:
        """Note what each offer says, and multiply in what the potential says of it, where a unit has ended."""
        if not self.reads:
            for offer in offers:
                if not offer.note.passed:
                    offer.note = offer.note._replace(passed=True)
            return
        ends, units = [], []
        for offer in offers:
            token, note = offer.token, offer.note
            if offer.log_weight == -math.inf or token is None:
                continue
            before = self._text(offer.parent)
            text = before if token in self.cloud.eos else before + (self.job.token_bytes[token] or b"")
            tokens = len(offer.parent.sample.tokens)
            ended = token in self.cloud.eos
            earlier = self._matcher(offer.parent, tokens - note.read)
            unit = ended or self.options.passes(earlier, note.text, text[len(note.text) :])
            offer.note = note._replace(text=text, read=tokens + 1, passed=note.passed or unit)
            if ended:
                ends.append(offer)
            elif unit:
                units.append(offer)
        if self.potential is None:
            return
        self._multiply(ends, self.potential.completes)
        if self.options.twist:
            self._multiply(units, self.potential.prefixes)
        for offer in ends:
            offer.note = offer.note._replace(closed=True)

    def _multiply(self, offers: Sequence[_Offer], ask: Callable[[list[bytes], list[int]], list[float]]) -> None:
        """Put what is asked in the place of the last twist."""
        values = ask([offer.note.text for offer in offers], [offer.parent.row for offer in offers])
        for offer, value in zip(offers, values, strict=True):
            offer.log_weight += value - offer.note.twist
            offer.note = offer.note._replace(twist=value)

    def _choose(self, row: int, particles: Sequence[Particle], offers: list[_Offer]) -> list[_Offer]:
        """The offers of a row to go on with: all of them, or a resampled N."""
        count = self.options.particles
        ended = [_Offer(each, each.sample.log_weight, each.note) for each in particles if each.ended]
        everything = ended + offers
        if self.options.children > 1:
            everything = [offer for offer in everything if offer.log_weight > -math.inf] or everything
        weights = [offer.log_weight for offer in everything]
        if not offers or max(weights) == -math.inf:
            return ended + list({id(offer.parent): offer for offer in offers}.values())
        ripe = all(offer.note.passed for offer in offers if offer.log_weight > -math.inf)
        uneven = effective_size(weights) < self.options.ess_threshold * count
        if len(everything) <= count and not (ripe and uneven):
            return everything
        scheme, stream = self.options.resampling, substream(self.job.streams[row], count)
        ancestors, new = resample(scheme, weights, count, self.job.draw, stream)
        chosen = [replace(everything[a], log_weight=weight) for a, weight in zip(ancestors, new, strict=True)]
        for offer in chosen:
            if offer.token is not None:
                offer.note = offer.note._replace(passed=False)
        return chosen

    def _take(self, chosen: Sequence[_Offer]) -> None:
        """Append the chosen tokens, with the weights that choosing gave them."""
        live = [offer for offer, particle in zip(chosen, self.cloud.all, strict=True) if not particle.ended]
        columns = list(zip(*(offer.numbers for offer in live), strict=True)) or [(), (), ()]
        numbers = [torch.tensor(column, dtype=torch.float64) for column in columns]
        particles = list(self.cloud.live)
        lengths = {id(particle): len(particle.sample.trace) for particle in particles}
        self.cloud.take(Step(torch.tensor([offer.token for offer in live], dtype=torch.int64), *numbers))
        for particle, offer in zip(particles, live, strict=True):
            particle.note = offer.note
            if particle.sample.finish_reason != "dead_end":  # of a forced token that was read ahead
                forced = particle.sample.trace[lengths[id(particle)] + 1 :]
                particle.sample.log_weight = offer.log_weight + math.fsum(each.log_prob_raw for each in forced)
        for particle, offer in zip(self.cloud.all, chosen, strict=True):
            if offer.token is None:
                particle.sample.log_weight = offer.log_weight

    def _settle(self, particles: Sequence[Particle]) -> None:
        """After a forward pass: what was forced may have ended a text, or may not pass the check."""
        for particle in particles:
            if particle.ended and particle.sample.finish_reason == "length":
                particle.sample.log_weight = -math.inf  # cut off: no member
        alive = [each for each in particles if each.sample.log_weight > -math.inf and not each.note.closed]
        forced = [each for each in alive if self.reads and len(each.sample.tokens) > each.note.read]
        if self.check is not None:
            self._check(forced)
        ended = [each for each in alive if each.ended and each.sample.log_weight > -math.inf]
        if self.potential is not None:
            values = self.potential.completes([self._text(each) for each in ended], [each.row for each in ended])
            for particle, value in zip(ended, values, strict=True):
                particle.sample.log_weight += value - particle.note.twist
                if value == -math.inf:
                    particle.dead_end()
        for particle in ended:
            particle.note = particle.note._replace(closed=True)

    def _check(self, forced: Sequence[Particle]) -> None:
        """End the particles whose forced tokens the check refuses."""
        assert self.check is not None
        for particle in forced:
            ask = self.check.completes if particle.ended else self.check.prefixes
            if ask([self._text(particle)], [particle.row])[0] == -math.inf:
                particle.dead_end()

    def _text(self, particle: Particle) -> bytes:
        """All that a particle says."""
        new = particle.sample.tokens[particle.note.read :]
        spelled = (self.job.token_bytes[token] or b"" for token in new if token not in self.cloud.eos)
        return particle.note.text + b"".join(spelled)

    def _matcher(self, particle: Particle, back: int) -> Callable[[], object]:
        """The particle's matcher some tokens ago."""

        def earlier() -> object:
            if particle.matcher is None:
                return None
            twin = particle.matcher.fork()
            twin.rollback(back)
            return twin

        return earlier

    def result(self, row: int) -> Sample:
        """The output of a row."""
        population = [particle.sample for particle in self.of_row[row]]
        asked = [each.evaluations[row] for each in (self.potential, self.check) if each is not None]
        return replace(
            drawn_of_population(self.job, row, population, self.options.particles),
            forwards=self.cloud.reads[row],
            drafts=self.drafts[row],
            masks=self.masks[row],
            evaluations=sum(asked),
        )


def drawn_of_population(job: Job, row: int, population: Sequence[Sample], count: int) -> Sample:
    """One of the particles of a row, drawn by weight; a dead or unfinished one when none has any.

    Args:
        job: The job.
        row: Its row.
        population: The particles.
        count: The number of particles; those that the population lacks have no weight.
    """
    weights = [sample.log_weight for sample in population]
    evidence = log_mean(weights + [-math.inf] * (count - len(weights)))
    chosen = drawn_by_weight(job, population, substream(job.streams[row], count + 1))
    return replace(
        chosen,
        log_weight=evidence,
        log_evidence=evidence,
        population=list(population),
        attempts=count,
        accepted=sum(weight > -math.inf for weight in weights),
    )
