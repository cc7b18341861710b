"""`lcd`: locally constrained decoding, that is masked decoding.

Distribution: q(x) = Π_t p(x_t | x_<t) / Z_t over members x, where Z_t is the model's mass on the tokens allowed at t.
This is *not* the model conditioned on the constraint, π(x) = p(x) / Σ_members p: wherever the model would rather have
left the language, q is too generous to what remained.
Weight: w = Π_t Z_t = p(x) / q(x), forced tokens and EOS included. E_q[w f(x)] = Σ_members p(x) f(x) for every f — so
E[w] = Z, the mass of the language — and KL(q‖π) = log Z − E_q[log w]. With top-k or top-p, q is truncated too, w is
still p(x) / q(x), and the sums go over what q can reach.
At temperature 0 nothing is drawn: x is the greedy member, and w = Π_t Z_t (at temperature 1) is no weight.

An output that is cut at `max_tokens` (or at the model's context) is a prefix: its p, q and w are those of the prefix.
So E[w f(x)·1(stop)] = Σ p(x) f(x) over the members of at most `max_tokens` tokens. A dead end has w = 0.

Cost: one forward for every token that is not forced, plus none for a run of forced tokens: the run is appended to the
token before it and read in the same forward, which also gives the logits that score it. Sequences that end leave the
batch.
Limit: forced runs are read in one go only where the model can grow ragged (`LanguageModel.ragged`), or for one row.
"""

from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.job import Job, Sample, TokenMatcher, TokenRecord
from constrain.sampling.model import Session
from constrain.sampling.step import score, step


def lcd(job: Job) -> Generator[tuple[int, list[int]], None, list[Sample]]:
    """Masked decoding of every row of a job; see the module."""
    run = _Run(job)
    yield from run.start()
    while run.live:
        yield from run.draw_one()
        yield from run.forward()
    return [row.sample for row in run.rows]


class _Row:
    """One sequence.

    unread: tokens that the model has not read yet: at first the prompt
    unscored: forced tokens whose log-probability awaits the next forward; they are the last of the sample's tokens
    logits: float[1, W] for the next token
    """

    def __init__(self, job: Job, index: int) -> None:
        prompt = job.prompts[index]
        self.index = index
        self.stream = job.streams[index]
        self.matcher: TokenMatcher | None = job.matchers[index] if job.matchers is not None else None
        self.budget = job.settings.max_tokens
        if job.model.context is not None:
            self.budget = min(self.budget, job.model.context - len(prompt))
        self.sample = Sample()
        self.ended = self.budget <= 0
        self.unread = list(prompt)
        self.unscored: list[int] = []
        self.logits: torch.Tensor | None = None

    @property
    def keep(self) -> int:
        """Positions whose logits the next forward must give: one for each unscored token, one for the next draw."""
        return len(self.unscored) + (not self.ended)

    def append(self, token: int, eos: bool) -> None:
        self.sample.tokens.append(token)
        if eos:
            self.ended, self.sample.finish_reason = True, "stop"
        elif len(self.sample.tokens) >= self.budget:
            self.ended = True  # "length"
        if not self.ended:
            self.unread.append(token)

    def dead_end(self) -> None:
        self.ended, self.sample.finish_reason, self.sample.log_weight = True, "dead_end", -math.inf

    def record(self, record: TokenRecord, log_weight: float) -> None:
        self.sample.trace.append(record)
        self.sample.log_prob += record.log_prob_raw
        self.sample.log_weight += log_weight


class _Run:
    """The state of one call of `lcd`. `live` are the rows of the session, in its order."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.eos = frozenset(job.eos_ids)
        self.only_eos = next(iter(self.eos)) if len(self.eos) == 1 else None
        self.rows = [_Row(job, i) for i in range(len(job.prompts))]
        self.live: list[_Row] = []
        self.session: Session | None = None

    def start(self) -> Generator[tuple[int, list[int]], None, None]:
        """Read the prompts, with the tokens that are forced from the beginning; equal ones once."""
        for row in self.rows:
            if not row.ended:
                self._force(row)
        self.live = [row for row in self.rows if row.keep]
        if not self.live:
            return
        first: dict[tuple[tuple[int, ...], int], int] = {}
        places = [first.setdefault((tuple(row.unread), row.keep), len(first)) for row in self.live]
        with self.job.clock.stage("model"):
            self.session, logits = self.job.model.start([list(p) for p, _ in first], [keep for _, keep in first])
            if len(first) < len(self.live):
                self.session.select(places)
        yield from self._take([logits[place] for place in places])

    def draw_one(self) -> Generator[tuple[int, list[int]], None, None]:
        """Draw a token for every live row, and append what it forces."""
        job, live = self.job, self.live
        bitmask = None
        if job.matchers is not None:
            with job.clock.stage("mask"):
                bitmask = np.zeros((len(live), job.words), dtype=np.uint32)
                job.fill_masks([row.matcher for row in live], bitmask)
        with job.clock.stage("sample"):
            drawn = step(
                torch.cat([row.logits for row in live if row.logits is not None]),
                bitmask,
                settings=job.settings,
                draw=job.draw,
                streams=[row.stream for row in live],
                size=job.size,
                places=[(row.index, len(row.sample.tokens)) for row in live],
            )
            columns = zip(
                *(x.tolist() for x in (drawn.token, drawn.log_prob_raw, drawn.log_prob_sampled, drawn.log_z)),
                strict=True,
            )
        for row, (token, raw, sampled, log_z) in zip(live, columns, strict=True):
            row.sample.masks += bitmask is not None
            if log_z == -math.inf:
                row.dead_end()
                continue
            greedy = job.settings.temperature == 0
            row.record(TokenRecord(token, raw, sampled, log_z), log_z if greedy else raw - sampled)
            self._advance(row, token)
            row.append(token, token in self.eos)
            yield row.index, [token]
            if not row.ended:
                self._force(row)

    def forward(self) -> Generator[tuple[int, list[int]], None, None]:
        """Read what was appended, and score what was forced."""
        self._drop_ended()
        if self.live and self.session is not None:
            with self.job.clock.stage("model"):
                logits = self.session.feed([row.unread for row in self.live], [row.keep for row in self.live])
            yield from self._take(logits)

    def _force(self, row: _Row) -> None:
        """Append the tokens that the constraint leaves no choice about; EOS among them, if there is only one."""
        if row.matcher is None or not (self.job.model.ragged or len(self.live) <= 1):
            return
        with self.job.clock.stage("mask"):
            forced = list(row.matcher.forced_tokens())
        start = len(row.sample.tokens)
        for token in forced:
            if row.ended:
                break
            self._advance(row, token)
            row.append(token, token in self.eos)
        if not row.ended and self.only_eos is not None and row.matcher.is_finished():
            self._advance(row, self.only_eos)
            row.append(self.only_eos, True)
        row.unscored = row.sample.tokens[start:]

    def _advance(self, row: _Row, token: int) -> None:
        if row.matcher is not None and not row.matcher.advance(token):
            raise ConstrainError(
                f"the matcher refused token {token}, which its own mask allowed",
                place=f"output {row.index}, token {len(row.sample.tokens)}",
                fix="this is a fault of the constraint engine: please report it with the constraint",
            )

    def _take(self, logits: list[torch.Tensor]) -> Generator[tuple[int, list[int]], None, None]:
        """Hand out the logits of a forward, float[keep, W] for each live row; forced tokens are final once scored."""
        for row, given in zip(self.live, logits, strict=True):
            row.sample.forwards += 1
            row.unread = []
            if row.unscored:
                with self.job.clock.stage("sample"):
                    tokens = self._score(row, given)
                yield row.index, tokens
            row.logits = given[-1:]
        self._drop_ended()

    def _score(self, row: _Row, logits: torch.Tensor) -> list[int]:
        """Record the forced tokens, up to one that the model gives no mass at all: that is a dead end."""
        tokens, row.unscored = row.unscored, []
        start = len(row.sample.tokens) - len(tokens)
        places = [(row.index, start + i) for i in range(len(tokens))]
        probs = score(logits[: len(tokens)], tokens, self.job.settings.temperature, places)
        for i, (token, raw) in enumerate(zip(tokens, probs, strict=True)):
            if raw == -math.inf:
                row.dead_end()
                del row.sample.tokens[start + i :]
                return tokens[:i]
            row.record(TokenRecord(token, raw, 0.0, raw, forced=True), raw)
        return tokens

    def _drop_ended(self) -> None:
        """Take the rows that need no further forward out of the batch."""
        kept = [i for i, row in enumerate(self.live) if row.keep]
        if len(kept) < len(self.live):
            self.live = [self.live[i] for i in kept]
            if self.live and self.session is not None:
                self.session.select(kept)
