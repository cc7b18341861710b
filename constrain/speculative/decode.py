"""The loop: draft, prune, one forward pass, verify, commit — for a batch of sequences that each go their own pace.

Distribution: with a lossless verifier that of `lcd` (constrain.sampling.methods.lcd), weights and trace included; with
`Match`, the default, the same tokens as `lcd` for the same seed, up to rounding of the logits.

    speculation = Speculation([LegalWords(), Lookup()])      # a method, as lcd is one
    samples = drive(speculation, job)

Tokens that must follow are appended as `lcd` does, and a draft begins after them. Cost: one forward pass for each step
of a sequence, which gives at least one token, and masks (masks.py). An accelerator computes the forward pass while the
masks are
filled: nothing waits for the logits before.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.job import Job, Sample, TokenRecord
from constrain.sampling.core.model import TreeSession
from constrain.sampling.core.particles import Events, Particle, Particles
from constrain.sampling.core.sampler import Sampler, traits_of
from constrain.sampling.methods.lcd import lcd
from constrain.speculative.ahead import ReadingAhead
from constrain.speculative.build import TreeBuilder
from constrain.speculative.controller import Controller, default_controller
from constrain.speculative.drafter import Context, Drafter, Outcome
from constrain.speculative.drafters import AUTO, NAMED
from constrain.speculative.drafting import NO_TREE, Drafting, split
from constrain.speculative.masks import TreeMasks, fill
from constrain.speculative.rows import TargetRows
from constrain.speculative.tree import NONE, BuiltTree
from constrain.speculative.verifier import Case, Verdict, Verifier
from constrain.speculative.verifiers import verifier_named


class Speculation(Sampler):
    """Masked decoding with drafts, as a method of `generate`; see the module `constrain.speculative.decode`.

    Args:
        drafters: an object or a name, or several, asked in this order; "auto": those that need no other model.
        verifier: the rule that accepts drafted tokens, by name or as an object.
        controller: says how large drafts are; None: `Fixed`, as deep as the drafter that looks furthest ahead asks for.
        builder: merges drafts into one tree; None: `TreeBuilder()`.
        lossy: a verifier that changes the distribution of the output is wanted; `Sample.method` then names it.
        **setting: `encode` and `hints` of `Setting`, which `generate` fills in.

    Raises:
        ConstrainError: an unknown name, or a lossy verifier without `lossy=True`.

    Example:
        >>> import constrain
        >>> from constrain.speculative import Fixed, Speculation
        >>> speculation = Speculation(["words", "lookup"], controller=Fixed(nodes=8))
        >>> model = constrain.reference.load()
        >>> drafted = constrain.generate(model, "A date: ", regex="2[0-9]{3}", draft=speculation, seed=1)
        >>> drafted.text == constrain.generate(model, "A date: ", regex="2[0-9]{3}", seed=1).text
        True
    """

    name = "lcd"
    canonical: bool | None = None
    drafts = True

    def __init__(
        self,
        drafters: Drafter | str | Sequence[Drafter | str],
        *,
        verifier: Verifier | str = "match",
        controller: Controller | None = None,
        builder: TreeBuilder | None = None,
        lossy: bool = False,
        **setting: Any,
    ) -> None:
        listed = [drafters] if isinstance(drafters, str | Drafter) else drafters
        named = [name for each in listed for name in (AUTO if each == "auto" else [each])]
        self.drafters = [NAMED.named(each, ["auto"])() if isinstance(each, str) else each for each in named]
        self.verifier = verifier_named(verifier) if isinstance(verifier, str) else verifier
        self.lossy = not (self.verifier.lossless or self.verifier.weighs)
        if self.lossy and not lossy:
            raise ConstrainError(
                f"the verifier {self.verifier.name!r} changes the law of the output",
                fix="pass lossy=True if that is wanted, or take a lossless one",
            )
        self.controller = default_controller(self.drafters) if controller is None else controller
        self.builder = TreeBuilder() if builder is None else builder
        self.setting = setting

    def with_setting(self, **setting: Any) -> Speculation:
        """A copy with parts of `Setting` that this one does not have yet."""
        twin = copy.copy(self)
        twin.setting = {**setting, **self.setting}
        return twin

    def method_for(self, method: Any) -> Any:
        """Itself in the place of "lcd"; others take logits that were read ahead, and are themselves."""
        return self if method is lcd else method

    def __call__(self, job: Job) -> Generator[tuple[int, list[int]], None, list[Sample]]:
        """Masked decoding of every row of a job. Raises ConstrainError: the verifier weighs."""
        self.check_weighing(lcd)
        particles = [Particle(job, row) for row in range(len(job.prompts))]
        yield from self.grow(job, particles)
        samples = [particle.sample for particle in particles]
        for sample in samples:
            sample.accepted = int(sample.finish_reason == "stop")
            sample.log_evidence = sample.log_weight if sample.accepted else -math.inf
            if self.lossy:
                sample.method = f"lcd with {self.verifier.name!r} drafts, which is lossy"
                sample.log_weight, sample.log_evidence = math.nan, None
        return samples

    def check_lossless(self) -> None:
        """Refuse a lossy verifier, for methods that need weights. Raises ConstrainError."""
        if self.lossy:
            raise ConstrainError(
                f"the verifier {self.verifier.name!r} is lossy, and this method needs weights",
                fix='use method="lcd", or a lossless verifier',
            )

    def check_weighing(self, method: Any) -> None:
        """Refuse a verifier that weighs, under methods that do not. Raises ConstrainError."""
        traits = traits_of(method)
        if self.verifier.weighs and not (traits.weighs and traits.grows):
            raise ConstrainError(
                f"the verifier {self.verifier.name!r} draws by drafts and weighs, "
                f"and the method {traits.name!r} does not",
                place="draft",
                fix='choose "sir", or SMC(boundary="draft"), which count the weights',
            )

    def complete(
        self, job: Job, particles: Sequence[Particle], between: Callable[[Particles], None] | None = None
    ) -> None:
        """For `Job.grow`: bring sequences to their end, with only EOS at the last place of a budget.

        Raises ConstrainError: the verifier is lossy, and methods that weigh outputs need the distribution of masked
        decoding.
        """
        self.check_lossless()
        for _ in self.grow(job, particles, members=True, between=between):
            pass

    def ahead(self, job: Job) -> Job:
        """The job with a model that reads drafts ahead, for methods that choose tokens themselves (ahead.py)."""
        return replace(job, model=ReadingAhead(self, job))

    @property
    def matches(self) -> bool:
        """True if the verifier is `match`, which is the method itself: drafts are read, and nobody else chooses."""
        return self.verifier.name == "match"

    def grow(
        self,
        job: Job,
        particles: Sequence[Particle],
        *,
        members: bool = False,
        between: Callable[[Particles], None] | None = None,
    ) -> Generator[tuple[int, list[int]], None, None]:
        """Bring sequences, of which no model has read anything yet, to their end.

        members: at the last place of a budget only EOS is allowed, see `Particles.member_masks`. between: as of
        `constrain.sampling.methods.sir.grown`
        """
        loop = _Loop(self, job, particles, members, between)
        loop.begin()
        while loop.lines:
            yield from loop.advance()


@dataclass
class _Line:
    """A sequence: its particle, all its tokens, what drafters keep for it; and in each step its tree."""

    particle: Particle
    tokens: list[int]
    memo: dict[Any, Any] = field(default_factory=dict)
    tree: BuiltTree = NO_TREE

    @property
    def position(self) -> int:
        """Tokens of the output that come before the tree."""
        return len(self.particle.sample.tokens)

    def extend(self, job: Job) -> None:
        """Note what the particle has written."""
        prompt = len(job.prompts[self.particle.row])
        self.tokens += self.particle.sample.tokens[len(self.tokens) - prompt :]


class _Loop(Particles):
    """One call of `grow`. lines: the sequences that go on, in the order of the target's session."""

    def __init__(
        self,
        options: Speculation,
        job: Job,
        particles: Sequence[Particle],
        members: bool,
        between: Callable[[Particles], None] | None,
    ) -> None:
        super().__init__(job, particles)
        self.verifier, self.members, self.between = options.verifier, members, between
        self.drafting = Drafting(options, job, options.verifier)
        self.trees: TreeSession | None = None
        self.lines: list[_Line] = []
        self.hidden: list[torch.Tensor] | None = None  # of the last forward pass, by line
        self.copies: list[int] | None = None  # of equal prompts that were read once: which one each line goes on from
        self.ends = job.eos_mask()

    def begin(self) -> None:
        """Find what is forced from the start."""
        for particle in self.all:
            if not particle.ended:
                self._force(particle)
        self.lines = [_Line(each, [*self.job.prompts[each.row], *each.sample.tokens]) for each in self.all if each.keep]

    def advance(self) -> Events:
        """One forward pass for every sequence, and what comes of it."""
        start = time.perf_counter()
        contexts = self._draft()
        with self.job.clock.stage("model"):
            logits = self._forward()
        masks = self._masks(contexts, logits[0].device)
        events: Events = []
        for i, (line, given) in enumerate(zip(self.lines, logits, strict=True)):
            logits[i] = given[line.particle.keep - 1 :]  # from the root on
            if line.particle.unscored:
                with self.job.clock.stage("sample"):
                    events.append((line.particle.row, self._score(line.particle, given)))
        outcomes = self._verify(contexts, logits, masks)
        seconds = time.perf_counter() - start
        events += [(each.context.row, list(each.tokens)) for each in outcomes.values() if each.tokens]
        self._commit(outcomes)
        self.drafting.tell(list(outcomes.values()), seconds)
        self._drop()
        return events

    # -- before the forward pass ----------------------------------------------------------------------------------

    def _draft(self) -> dict[int, Context]:
        """Grow a tree for every sequence that is open: its context, by place among the lines."""
        contexts = {
            i: self.drafting.context(line.particle, line.tokens, line.memo, self.trees, i)
            for i, line in enumerate(self.lines)
            if not line.particle.ended
        }
        alike = self.trees is None and len(self._beginnings()[0]) < len(self.lines)
        trees = self.drafting.trees(list(contexts.values()), chain=self.trees is None, drafted=not alike)
        by_line = dict(zip(contexts, trees, strict=True))
        for i, line in enumerate(self.lines):
            line.tree = by_line.get(i, NO_TREE)
        return contexts

    def _beginnings(self) -> tuple[list[tuple[tuple[int, ...], int]], list[int]]:
        """The first reads, equal ones once, each (tokens, positions wanted); and the index of each line's read."""
        first: dict[tuple[tuple[int, ...], int], int] = {}
        places = [
            first.setdefault((tuple(line.particle.unread), line.particle.keep), len(first)) for line in self.lines
        ]
        return list(first), places

    # -- the forward pass -----------------------------------------------------------------------------------------

    def _forward(self) -> list[torch.Tensor]:
        """Logits float[keep + r, W] for every line. Equal prompts are read once, and then they have no trees."""
        chunks = [line.particle.unread for line in self.lines]
        keep = [line.particle.keep for line in self.lines]
        trees = [line.tree for line in self.lines]
        places = list(range(len(self.lines)))
        if self.trees is None:
            begun, places = self._beginnings()
            self.trees = self.drafting.open(len(begun))
            if len(begun) < len(self.lines):
                self.copies = places
                chunks, keep = [list(each) for each, _ in begun], [kept for _, kept in begun]
                trees = [NO_TREE] * len(begun)
        read, hidden = self.drafting.read(self.trees, chunks, keep, trees)
        self.hidden = None if hidden is None else [hidden[place] for place in places]
        logits, costs = [read[place] for place in places], [self.trees.forwards[place] for place in places]
        seen: set[tuple[int, int]] = set()
        for line, cost, place in zip(self.lines, costs, places, strict=True):
            if (shared := (place, line.particle.row)) not in seen:  # what sequences of a row share is one forward pass
                line.particle.sample.forwards += cost
                self.reads[line.particle.row] += cost
            seen.add(shared)
            line.particle.unread = []
        return logits

    def _masks(self, contexts: dict[int, Context], device: torch.device) -> dict[int, TreeMasks]:
        """The masks of every line that is open, by its place."""
        found = {}
        for i in contexts:
            line = self.lines[i]
            if not line.particle.ended:
                last = line.particle.left - 1 if self.members else NONE
                found[i] = TreeMasks(self.job, line.tree, line.particle.sample, self.ends, last)
        if found:
            with self.job.clock.stage("mask"):
                fill(list(found.values()), roots=device.type == "cpu")
        return found

    # -- after the forward pass -----------------------------------------------------------------------------------

    def _verify(
        self, contexts: dict[int, Context], logits: Sequence[torch.Tensor], masks: dict[int, TreeMasks]
    ) -> dict[int, Outcome]:
        """Verdicts, and the tokens that they give to each line that is still open, by its place."""
        cases: dict[int, tuple[Case, TargetRows]] = {}
        states = {i: split(self.hidden and self.hidden[i], len(logits[i])) for i in masks}
        for i, own in masks.items():
            line = self.lines[i]
            if line.particle.ended:  # a forced token without any mass was a dead end
                continue
            rows = TargetRows(
                own, logits[i], settings=self.job.settings, draw=self.job.draw, stream=line.particle.stream,
                size=self.job.size, row=line.particle.row, position=line.position,
            )  # fmt: skip
            cases[i] = Case(line.tree, rows, line.particle.stream, states[i][1]), rows
        outcomes = {}
        with self.job.clock.stage("sample"):
            verdicts = self.verifier.verify([case for case, _ in cases.values()], self.job.draw)
            for (i, (_, rows)), verdict in zip(cases.items(), verdicts, strict=True):
                tokens = self._emit(self.lines[i], rows, verdict)
                tree, (before, hidden) = self.lines[i].tree, states[i]
                outcomes[i] = Outcome(contexts[i], tree, verdict.path, tokens, logits[i], hidden=hidden, before=before)
        late = sum(each.asked for each in masks.values())  # masks that the verifier asked for
        self.job.clock.seconds["mask"] = self.job.clock.seconds.get("mask", 0.0) + late
        self.job.clock.seconds["sample"] -= late
        return outcomes

    def _emit(self, line: _Line, rows: TargetRows, verdict: Verdict) -> list[int]:
        """Append what a verdict says; tokens that the model gives no mass at all are a dead end."""
        particle, tree = line.particle, line.tree
        counts = self.drafting.count(particle.sample, tree)
        for node in verdict.path:
            counts[node].accepted += 1
        nodes = [(int(tree.parents[node]) + 1, int(tree.tokens[node])) for node in verdict.path]
        last = verdict.path[-1] + 1 if verdict.path else 0
        matcher = tree.matchers[last]
        particle.matcher = None if matcher is None else matcher.fork()  # drafters look at the tree's later
        greedy = self.job.settings.temperature == 0
        emitted: list[int] = []
        for k, (place, token) in enumerate([*nodes, (last, verdict.token)]):
            raw, sampled, log_z = (-math.inf, 0.0, 0.0)
            if token != NONE:
                raw, sampled, log_z = verdict.numbers[k] if verdict.numbers else rows.numbers(place, token)
                if verdict.sampled and (own := verdict.sampled[k]) is not None:
                    sampled = own
            if raw == -math.inf:
                particle.dead_end()
                break
            record = TokenRecord(token, raw, sampled, log_z, forced=rows.forced(place) == token)
            particle.record(record, log_z if greedy else raw - sampled)
            if len(emitted) == len(nodes):
                self._advance(particle, token)
            particle.append(token, token in self.eos)
            emitted.append(token)
        particle.unread = [] if particle.ended else emitted[-1:]
        return emitted

    def _commit(self, outcomes: dict[int, Outcome]) -> None:
        """Keep the paths that were taken, and append what follows of necessity."""
        assert self.trees is not None
        paths: list[list[int]] = [[] for _ in self.lines]
        for i, outcome in outcomes.items():
            rows = outcome.tree.logits_rows
            paths[i] = [int(rows[node + 1]) - 1 for node in outcome.path]
        with self.job.clock.stage("model"):
            if self.copies is not None:
                self.trees.commit([[] for _ in set(self.copies)])
                self.trees.select(self.copies)
                self.copies = None
            else:
                self.trees.commit(paths)
        lines = self.lines
        for line in lines:
            line.extend(self.job)
        if self.between is not None:
            self.between(self)
        for line in self.lines:
            if not line.particle.ended:
                self._force(line.particle)
            line.extend(self.job)
        for i, outcome in outcomes.items():
            outcome.ended = lines[i].particle.ended  # also by what followed of necessity

    def select(self, ancestors: Sequence[Particle], streams: Sequence[int]) -> None:
        """Go on with these sequences, between two steps. What drafters keep is of the first; a fork begins anew."""
        place = {id(line.particle): i for i, line in enumerate(self.lines)}
        rows = [place[id(ancestor)] for ancestor in ancestors if not ancestor.ended]
        super().select(ancestors, streams)
        sources = [self.lines[row] for row in rows]
        if rows and rows != list(range(len(self.lines))) and self.trees is not None:
            with self.job.clock.stage("model"):
                self.trees.select(rows)
        self.lines = [
            source if source.particle is particle else _Line(particle, list(source.tokens))
            for source, particle in zip(sources, self.live, strict=True)
        ]

    def _drop(self) -> None:
        """Go on without the sequences that need no further forward."""
        kept = [i for i, line in enumerate(self.lines) if line.particle.keep]
        if len(kept) < len(self.lines):
            self.lines = [self.lines[i] for i in kept]
            if self.lines and self.trees is not None:
                with self.job.clock.stage("model"):
                    self.trees.select(kept)
