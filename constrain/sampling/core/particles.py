"""Sequences that grow together: one session of the model, one matcher, one sample and one stream of draws for each.

The idea: what methods share is the bookkeeping of a batch — who is alive, whose logits stand where, what was appended
but not yet read, what a fork copies — so it is kept here, and a method only says how tokens are chosen.

    particles = Particles(job, [Particle(job, row) for row in ...])
    particles.start()                                       # reads the prompts, equal ones once
    while particles.live:
        particles.take(particles.step(particles.masks()))   # one token for each, by masked decoding
        particles.forward()

Cost: one forward pass for every token that is not forced, plus none for a run of forced tokens: the run is appended to
the token before it and read in the same forward pass, which also gives the logits that score it. Sequences that end
leave the batch. Sequences that still say the same, as many do at first, and forks until they part, are one row of the
session. A fork copies two lists and an integer state; what the model remembers of a prefix is forked by `Session`.
A token that was read ahead (ahead.py) needs no forward pass: its sequence has its next logits at once. Sequences that
go `together` wait there for the others; else each goes its own pace, and a forward pass comes when none can go on
without.
Limit: forced runs are read in one go only where the model can grow ragged (`LanguageModel.ragged`), or for one row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.ahead import Ahead, ReadRow, certain_chain, reads_ahead
from constrain.sampling.core.draw import STREAM_BITS, substream
from constrain.sampling.core.job import Job, Sample, TokenMatcher, TokenRecord
from constrain.sampling.core.model import Session
from constrain.sampling.core.step import Step, score, step

Events = list[tuple[int, list[int]]]  # (row of the job, tokens that are final now)
FORCED = (1 << STREAM_BITS) - 2  # the substream for draws from a single token


class Particle:
    """One sequence of a batch: its matcher, its tokens, and what the model has read of it.

    Args:
        job: the batch.
        row: the row of the job that it continues.
        stream: where it draws from; None: the row's.
        note: whatever a method wants to keep here; forks share it.

    Attributes:
        budget: tokens that it may have, EOS counted.
        matcher: a fork of the row's; None without a constraint.
        unread: tokens that the session has not been told of yet, at first the prompt.
        unscored: forced tokens whose log-probability awaits the next forward pass; they are the last of the sample's
        tokens.
        logits: float[1, W] for the next token; None where a forward pass has to come first.
        ahead: what was read of tokens that may come next; None where nothing was.
        place: its row of the session; others that have read the same may have the same.

    Example:
        >>> import constrain
        >>> from constrain.generation import make_job
        >>> from constrain.sampling import Particle
        >>> particle = Particle(make_job(constrain.reference.load(), "Hi", regex="a+", max_tokens=5), row=0)
        >>> particle.left, particle.ended
        (5, False)
    """

    def __init__(self, job: Job, row: int, stream: int | None = None, note: Any = None) -> None:
        prompt = job.prompts[row]
        self.row = row
        self.stream = job.streams[row] if stream is None else stream
        self.matcher: TokenMatcher | None = job.matchers[row].fork() if job.matchers is not None else None
        self.budget = budget_of(job, row)
        self.sample = Sample()
        job.watcher.began(row, self.sample)
        self.ended = self.budget <= 0
        self.unread = list(prompt)
        self.unscored: list[int] = []
        self.logits: torch.Tensor | None = None
        self.ahead: Ahead | None = None
        self.place = 0
        self.note = note

    @property
    def keep(self) -> int:
        """Positions whose logits it still needs: one for each unscored token, one for the next draw."""
        return len(self.unscored) + (not self.ended)

    @property
    def ready(self) -> bool:
        """True if the next token can be chosen without a forward pass."""
        return not self.ended and not self.unscored and self.logits is not None

    @property
    def left(self) -> int:
        """Tokens that it may still append."""
        return self.budget - len(self.sample.tokens)

    def fork(self, stream: int) -> Particle:
        """A copy of the sequence that draws from another stream."""
        twin = Particle.__new__(Particle)
        twin.__dict__.update(self.__dict__)
        twin.stream = stream
        twin.matcher = None if self.matcher is None else self.matcher.fork()
        twin.sample = replace(self.sample, tokens=list(self.sample.tokens), trace=list(self.sample.trace))
        twin.unread, twin.unscored = list(self.unread), list(self.unscored)
        return twin

    def append(self, token: int, eos: bool) -> None:
        """Add a token, which its matcher has read; EOS and the budget end the sequence."""
        self.sample.tokens.append(token)
        self.ahead = None if self.ahead is None else self.ahead.after(token)
        self.logits = None if self.ahead is None else self.ahead.here
        if eos:
            self.ended, self.sample.finish_reason = True, "stop"
        elif self.left <= 0:
            self.ended = True  # "length"
        if not self.ended and not (self.ahead is not None and self.ahead.certain):
            self.unread.append(token)

    def dead_end(self) -> None:
        """End without weight."""
        self.ended, self.sample.finish_reason, self.sample.log_weight = True, "dead_end", -math.inf

    def record(self, record: TokenRecord, log_weight: float) -> None:
        """Keep the numbers of a token."""
        self.sample.trace.append(record)
        self.sample.log_prob += record.log_prob_raw
        self.sample.log_weight += log_weight


class _Wanted(NamedTuple):
    """One row of the next call of the session. place: its row so far; unread: its new tokens; keep: positions whose
    logits are wanted; writer: the particle that owns it, any of equal ones."""

    place: int
    unread: tuple[int, ...]
    keep: int
    writer: Particle


class Particles:
    """Sequences that grow in one session of the model; the loop of every method.

    Args:
        job: the batch.
        particles: its sequences.
        forced: append forced tokens without a draw, and read them in one forward pass. If not, they are drawn as others
            are, after one forward pass for a run of them, where sequences need not go together.
        together: sequences have one token more with each step; those whose logits are known wait for the others. If
            not, `forward` does nothing as long as any is ready.

    Attributes:
        all: every sequence.
        live: the sequences that go on; the session holds what they have read.
        held: rows of the session.
        reads: forward passes by row of the job: a row of the session that several of its sequences share is one.

    Example:
        >>> import constrain
        >>> from constrain.generation import make_job
        >>> from constrain.sampling import Particle, Particles
        >>> job = make_job(constrain.reference.load(), "A date: ", regex="2[0-9]{3}", seed=1)
        >>> particles = Particles(job, [Particle(job, 0)])
        >>> events = particles.start()
        >>> while particles.live:
        ...     events = particles.take(particles.step(particles.masks()))
        ...     events = particles.forward()
        >>> particles.all[0].sample.finish_reason
        'stop'
    """

    def __init__(self, job: Job, particles: Sequence[Particle], *, forced: bool = True, together: bool = True) -> None:
        self.job = job
        self.together = together
        self.forced = forced and job.matchers is not None
        self.eos = frozenset(job.eos_ids)
        self.only_eos = next(iter(self.eos)) if len(self.eos) == 1 else None
        self.all = list(particles)
        self.live: list[Particle] = []
        self.session: Any = None  # a `Session`, or an `AheadSession`
        self.held = 0
        self.reads: Counter[int] = Counter()

    @property
    def ready(self) -> list[Particle]:
        """The live sequences whose next token can be chosen: all of them, if they go together."""
        return self.live if self.together else [particle for particle in self.live if particle.ready]

    @property
    def logits(self) -> torch.Tensor:
        """float[B, W]: of the next token of every sequence that is ready."""
        rows = [particle.logits for particle in self.ready if particle.logits is not None]
        return rows[0] if len(rows) == 1 else torch.cat(rows)

    @property
    def places(self) -> list[tuple[int, int]]:
        """(row of the job, position in the output) of every sequence that is ready, for messages."""
        return [(particle.row, len(particle.sample.tokens)) for particle in self.ready]

    def start(self) -> Events:
        """Read the prompts, with the tokens that are forced from the beginning; equal ones once."""
        with self.job.clock.stage("mask"):
            for particle in self.all:
                if not particle.ended:
                    self._force(particle)
        self.live = [particle for particle in self.all if particle.keep]
        if not self.live:
            return []
        wanted = self._join()
        with self.job.clock.stage("model"):
            prompts, keep = [list(each.unread) for each in wanted], [each.keep for each in wanted]
            if reads_ahead(self.job.model):
                writers = [each.writer for each in wanted]
                self.session, answers = self.job.model.start_ahead(prompts, keep, writers)  # type: ignore[attr-defined]
            else:
                self.session, logits = self.job.model.start(prompts, keep)
                answers = list(map(ReadRow, logits))
        return self._read(answers)

    def start_from(self, stems: Stems) -> None:
        """Begin at prompts that were read before. Nothing is forced until the first token is chosen."""
        self.live = [particle for particle in self.all if not particle.ended]
        if self.live:
            stem_of = [stems.of_row[particle.row] for particle in self.live]
            first = {stem: place for place, stem in enumerate(dict.fromkeys(stem_of))}
            with self.job.clock.stage("model"):
                self.session, logits = stems.fork(list(first))
            self.held = len(first)
            for particle, stem in zip(self.live, stem_of, strict=True):
                particle.place = first[stem]
                particle.unread, particle.logits = [], logits[particle.place]

    def masks(self) -> np.ndarray | None:
        """uint32[B, words] of what every sequence that is ready may go on with; None without a constraint."""
        if self.job.matchers is None:
            return None
        ready = self.ready
        with self.job.clock.stage("mask"):
            bitmask = np.zeros((len(ready), self.job.words), dtype=np.uint32)
            self.job.fill_masks([particle.matcher for particle in ready], bitmask)
        for particle in ready:
            particle.sample.masks += 1
        return bitmask

    def member_masks(self) -> np.ndarray:
        """`masks`, but at the last place of a budget only EOS: what may still lead to a member that fits."""
        bitmask, ready = self.masks(), self.ready
        if bitmask is None:
            bitmask = np.full((len(ready), self.job.words), np.uint32(0xFFFFFFFF), dtype=np.uint32)
        last = [i for i, particle in enumerate(ready) if particle.left == 1]
        if last:
            bitmask[last] &= self.job.eos_mask()
        return bitmask

    def step(self, bitmask: np.ndarray | None) -> Step:
        """Draw a token for every sequence that is ready, as the job's settings say."""
        with self.job.clock.stage("sample"):
            return step(
                self.logits,
                bitmask,
                settings=self.job.settings,
                draw=self.job.draw,
                streams=[self._stream_of_next(particle) for particle in self.ready],
                size=self.job.size,
                places=self.places,
            )

    def take(self, chosen: Step) -> Events:
        """Append a chosen token to every sequence that is ready, and what it forces; -1 is a dead end."""
        events: Events = []
        greedy = self.job.settings.temperature == 0
        fields = (chosen.token, chosen.log_prob_raw, chosen.log_prob_sampled, chosen.log_z)
        columns = zip(*(field.tolist() for field in fields), strict=True)
        with self.job.clock.stage("mask"):
            for particle, (token, raw, sampled, log_z) in zip(self.ready, columns, strict=True):
                if token < 0:
                    particle.dead_end()
                    continue
                particle.record(TokenRecord(token, raw, sampled, log_z), log_z if greedy else raw - sampled)
                self._advance(particle, token)
                particle.append(token, token in self.eos)
                events.append((particle.row, [token]))
                if not particle.ended and (known := self._force(particle)):
                    events.append((particle.row, known))
        return events

    def forward(self) -> Events:
        """Read what was appended, and score what was forced; nothing where no forward pass is needed yet."""
        self._drop_ended()
        ready = [particle.ready for particle in self.live]
        if self.session is None or all(ready) or (any(ready) and not self.together):
            return []
        held = self.held
        wanted = self._join()
        rows, chunks = [each.place for each in wanted], [list(each.unread) for each in wanted]
        keep = [each.keep for each in wanted]
        with self.job.clock.stage("model"):
            if reads_ahead(self.job.model):
                return self._read(self.session.read(rows, chunks, keep, [each.writer for each in wanted]))
            if rows != list(range(held)):
                self.session.select(rows)
            runs = [self._certain(each.writer) for each in wanted]
            tokens = [[*chunk, *run] for chunk, run in zip(chunks, runs, strict=True)]
            logits = self.session.feed(tokens, [kept + len(run) for kept, run in zip(keep, runs, strict=True)])
        return self._read([_split(each, run) for each, run in zip(logits, runs, strict=True)])

    def _certain(self, particle: Particle) -> list[int]:
        """The forced tokens that are to be drawn, up to the length limit: they are read ahead."""
        if self.forced or self.together or particle.matcher is None or particle.ended:
            return []
        if len(self.live) > 1 and not self.job.model.ragged:
            return []
        return list(particle.matcher.forced_tokens())[: particle.left - 1]

    def _join(self) -> list[_Wanted]:
        """Make live sequences that say the same one row of the session: what it reads next for each of its rows."""
        rows: dict[tuple[int, tuple[int, ...], int], _Wanted] = {}
        places: dict[tuple[int, tuple[int, ...], int], int] = {}
        for each in self.live:
            key = each.place, tuple(each.unread), 0 if each.ready else each.keep
            rows.setdefault(key, _Wanted(*key, each))
            each.place = places.setdefault(key, len(places))
        self.held = len(rows)
        return list(rows.values())

    def select(self, ancestors: Sequence[Particle], streams: Sequence[int]) -> None:
        """Go on with these sequences, ended ones among them; what is named twice is forked.

        Sequence i draws from streams[i] from now on. Call it when all logits are read: after `start` or `forward`.
        """
        used: set[int] = set()
        chosen: list[Particle] = []
        for ancestor, stream in zip(ancestors, streams, strict=True):
            if id(ancestor) in used:
                chosen.append(ancestor.fork(stream))
            else:
                used.add(id(ancestor))
                chosen.append(ancestor)
        for particle, stream in zip(chosen, streams, strict=True):
            particle.stream = stream
        self.all = chosen
        self.live = [particle for particle in chosen if not particle.ended]

    def branch(self, parents: Sequence[int]) -> Particles:
        """A batch of its own that goes on from these live sequences, by their places; this one stays as it is."""
        branches = [self.live[place].fork(self.live[place].stream) for place in parents]
        for branch in branches:
            branch.logits = None
        twin = Particles(self.job, branches, forced=self.forced, together=self.together)
        twin.live = list(twin.all)
        if self.session is not None:
            with self.job.clock.stage("model"):
                twin.session = self.session.fork([branch.place for branch in branches])
            twin.held = len(branches)
            for place, branch in enumerate(branches):
                branch.place = place
        return twin

    def _stream_of_next(self, particle: Particle) -> int:
        """The stream of the next token's draw. A forced token is not drawn where runs are read, so elsewhere it takes
        no number from the sequence's own stream either: outputs do not depend on the batch."""
        matcher = particle.matcher
        if not self.forced or matcher is None or len(self.all) <= 1 or self.job.model.ragged:
            return particle.stream
        forced = bool(matcher.forced_tokens()) or (self.only_eos is not None and matcher.is_finished())
        return substream(particle.stream, FORCED) if forced else particle.stream

    def _force(self, particle: Particle) -> list[int]:
        """Append the tokens that the constraint leaves no choice about; EOS among them, if there is only one.

        returns: forced tokens that are final already, since the logits that score them are known
        """
        in_runs = self.forced and (len(self.live) <= 1 or self.job.model.ragged)  # else they are drawn one by one
        if particle.matcher is None or not in_runs:
            return []
        start = len(particle.sample.tokens)
        known: list[torch.Tensor] = []
        for token in particle.matcher.forced_tokens():
            if particle.ended:
                break
            self._append_forced(particle, token, known)
        if not particle.ended and self.only_eos is not None and particle.matcher.is_finished():
            self._append_forced(particle, self.only_eos, known)
        particle.unscored = particle.sample.tokens[start + len(known) :]
        return self._score_known(particle, start, known) if known else []

    def _append_forced(self, particle: Particle, token: int, known: list[torch.Tensor]) -> None:
        if particle.logits is not None:
            known.append(particle.logits)
        self._advance(particle, token)
        particle.append(token, token in self.eos)

    def _score_known(self, particle: Particle, start: int, known: list[torch.Tensor]) -> list[int]:
        """Record forced tokens from `start` on whose logits, float[1, W] each, were read ahead."""
        tokens = particle.sample.tokens[start : start + len(known)]
        places = [(particle.row, start + i) for i in range(len(known))]
        probs = score(torch.cat(known), tokens, self.job.settings.temperature, places)
        return self._record_forced(particle, start, tokens, probs)

    def _advance(self, particle: Particle, token: int) -> None:
        if particle.matcher is not None and not particle.matcher.advance(token):
            raise ConstrainError(
                f"the matcher refused token {token}, which its own mask allowed",
                place=f"output {particle.row}, token {len(particle.sample.tokens)}",
                fix="this is a fault of the constraint engine: please report it with the constraint",
            )

    def _read(self, answers: Sequence[ReadRow]) -> Events:
        """Hand out what a forward pass gave for each row of the session; forced tokens are final once scored."""
        events: Events = []
        logits = [each.logits for each in answers]
        with self.job.clock.stage("sample"):
            forced = self._scores({each.place: each for each in self.live if each.unscored}, logits)
        last = [each[-1:] for each in logits]
        seen: set[tuple[int, int]] = set()
        for particle in self.live:
            particle.unread = []
            if particle.ready:
                continue
            answer, shared = answers[particle.place], (particle.place, particle.row)
            if shared not in seen:
                seen.add(shared)
                particle.sample.forwards += answer.forwards
                self.reads[particle.row] += answer.forwards
            if particle.unscored:
                events.append((particle.row, self._settle(particle, forced[particle.place])))
            particle.logits, particle.ahead = last[particle.place], answer.ahead
        self._drop_ended()
        return events

    def _scores(self, forced: Mapping[int, Particle], logits: list[torch.Tensor]) -> dict[int, list[float]]:
        """log p_raw of forced tokens, by row of the session. forced: a sequence of each row that has some."""
        if not forced:
            return {}
        rows = torch.cat([logits[place][: len(each.unscored)] for place, each in forced.items()])
        tokens = [token for each in forced.values() for token in each.unscored]
        places = [
            (each.row, len(each.sample.tokens) - len(each.unscored) + i)
            for each in forced.values()
            for i in range(len(each.unscored))
        ]
        probs = iter(score(rows, tokens, self.job.settings.temperature, places))
        return {place: [next(probs) for _ in each.unscored] for place, each in forced.items()}

    def _score(self, particle: Particle, logits: torch.Tensor) -> list[int]:
        """Record the forced tokens of one sequence, from float[>= keep, W]; see `_settle`."""
        return self._settle(particle, self._scores({0: particle}, [logits])[0])

    def _settle(self, particle: Particle, probs: Sequence[float]) -> list[int]:
        """Record the forced tokens, up to one that the model gives no mass at all: that is a dead end."""
        tokens, particle.unscored = particle.unscored, []
        return self._record_forced(particle, len(particle.sample.tokens) - len(tokens), tokens, probs)

    def _record_forced(self, particle: Particle, start: int, tokens: list[int], probs: Sequence[float]) -> list[int]:
        """Record forced tokens, of which the first is that of place `start`; see `_settle`."""
        for i, (token, raw) in enumerate(zip(tokens, probs, strict=True)):
            if raw == -math.inf:
                particle.dead_end()
                del particle.sample.tokens[start + i :]
                particle.unscored = []
                return tokens[:i]
            particle.record(TokenRecord(token, raw, 0.0, raw, forced=True), raw)
        return tokens

    def _drop_ended(self) -> None:
        """Take the sequences that need no further forward out of the batch."""
        self.live = [particle for particle in self.live if particle.keep]


def _split(logits: torch.Tensor, run: Sequence[int]) -> ReadRow:
    """The answer for a row that read a run ahead: float[keep + len(run), W]."""
    if not run:
        return ReadRow(logits)
    kept = len(logits) - len(run)
    return ReadRow(logits[:kept], certain_chain(run, logits[kept - 1 :]))


class Stems:
    """Prompts that are read once, and begun from any number of times.

    Cost: one forward pass for all prompts of the job, at the first use; equal prompts are one.

    Args:
        job: its prompts are read.

    Example:
        >>> import constrain
        >>> from constrain.generation import make_job
        >>> from constrain.sampling import Stems
        >>> stems = Stems(make_job(constrain.reference.load(), ["Hi", "Hi", "Oh"], regex="a+"))
        >>> len(stems.prompts), stems.of_row
        (2, [0, 0, 1])
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        first: dict[tuple[int, ...], int] = {}
        self.of_row = [first.setdefault(tuple(prompt), len(first)) for prompt in job.prompts]
        self.prompts = [list(prompt) for prompt in first]
        self._session: Session | None = None
        self._logits: list[torch.Tensor] = []

    def fork(self, places: Sequence[int]) -> tuple[Session, list[torch.Tensor]]:
        """A session at some of the prompts, and the logits float[1, W] of each one's next token."""
        if self._session is None:
            self._session, self._logits = self.job.model.start(self.prompts, [1] * len(self.prompts))
        return self._session.fork(places), [self._logits[place] for place in places]


def budget_of(job: Job, row: int) -> int:
    """Tokens that an output of a row may have, EOS counted."""
    room = job.settings.max_tokens if job.budgets is None else job.budgets[row]
    return room if job.model.context is None else min(room, job.model.context - len(job.prompts[row]))
