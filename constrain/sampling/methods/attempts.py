"""Rounds of attempts at a member: what `rejection`, `cars` and `asap` have in common.

An attempt draws tokens one by one until it ends as a member or fails. At a prefix u it draws

    known u     v with p(v | u) · θ(uv) / Σ     where θ is what the trie knew when the round began (trie.py)
    new u       from p as it is, and fails with probability 1 − Z_u, its mass on what is not allowed (cars, rejection)
                or masked, v with p(v | u) / Z_u                                                     (asap)

The root counts as known: its θ is found by looking. Attempts of a round do not learn from each other, so they are
independent given the past and run in one batch; an attempt that fails leaves it.

At the last place of a budget only EOS is allowed, so that the members are those of at most `max_tokens` tokens.
Cost: one forward pass of an attempt for each token that was not read ahead; the prompt is read once for all rounds.
Forced tokens are not skipped: at a new prefix even they have to be drawn, and where they are forced the model's mass on
them is what is being learnt. But a run of them is read by one forward pass, with the token before it, and drafts are
read ahead
likewise: attempts go their own pace, since none depends on another.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
import torch

from constrain.sampling.bitmask.apply import apply_bitmask_
from constrain.sampling.core.draw import NO_TOKEN
from constrain.sampling.core.job import Job
from constrain.sampling.core.logits import log_probs_of
from constrain.sampling.core.particles import Particle, Particles, Stems
from constrain.sampling.core.step import CACHED, Step
from constrain.sampling.core.trie import ROOT, UNTRACKED, PrefixTrie


class Attempt(Particle):
    """A particle that walks a trie.

    node: where it is, UNTRACKED off the trie or without one. log_theta: log θ of the root when it began; its chance to
    succeed is Z / θ.
    """

    def __init__(self, job: Job, row: int, stream: int, trie: PrefixTrie | None) -> None:
        super().__init__(job, row, stream)
        self.trie = trie
        self.node = ROOT if trie is not None else UNTRACKED
        self.log_theta = 0.0

    @property
    def succeeded(self) -> bool:
        """True if the attempt ended as a valid text."""
        return self.sample.finish_reason == "stop"

    def close(self) -> None:
        """Give a failed attempt its reason: too long, or a dead end."""
        if not self.succeeded:
            self.sample.log_weight = -math.inf
            self.sample.finish_reason = "length" if self.left <= 1 else "dead_end"


def run_round(job: Job, stems: Stems, attempts: Sequence[Attempt], *, masked: bool) -> None:
    """Run attempts to their ends, and let their tries know.

    job: shaped (shape.py). masked: at new prefixes, draw from the allowed tokens only
    """
    batch = Particles(job, attempts, forced=False, together=False)
    batch.start_from(stems)
    while batch.live:
        bitmask = batch.member_masks()
        with job.clock.stage("sample"):
            chosen = _choose(job, batch, [each for each in batch.ready if isinstance(each, Attempt)], bitmask, masked)
        batch.take(chosen)
        batch.forward()
    for attempt in attempts:
        attempt.close()
    for trie in {id(attempt.trie): attempt.trie for attempt in attempts}.values():
        if trie is not None:
            trie.commit()


def _choose(job: Job, batch: Particles, live: list[Attempt], bitmask: np.ndarray, masked: bool) -> Step:
    """Draw a token for every attempt, or its failure (-1), and move it along its trie.

    By rows that fit into a cache, for the reason that `step` gives.
    """
    on_cpu = live[0].logits is None or live[0].logits.device.type == "cpu"
    at_once = max(1, CACHED // job.model.width) if on_cpu else len(live)
    parts: list[Step] = []
    allowed: list[torch.Tensor] = []
    for start in range(0, len(live), at_once):
        rows = slice(start, start + at_once)
        part, masses = _draw(job, live[rows], bitmask[rows], batch.places[rows], masked)
        parts.append(part)
        allowed += masses
    chosen = Step.joined(parts)
    _learn(live, allowed, chosen, batch.eos)
    return chosen


def _draw(
    job: Job, live: list[Attempt], bitmask: np.ndarray, places: Sequence[tuple[int, int]], masked: bool
) -> tuple[Step, list[torch.Tensor]]:
    """The tokens of some attempts, and log p of what each may draw, float[W], -inf elsewhere."""
    logits = torch.cat([attempt.logits for attempt in live if attempt.logits is not None])
    log_p = log_probs_of(logits, places)  # float[B, W]
    allowed = apply_bitmask_(log_p.clone(), bitmask, job.size)
    log_z = allowed.logsumexp(-1).clamp(max=0)
    log_shares = allowed.clone()
    for row, attempt in enumerate(live):
        if attempt.trie is not None:
            tokens, thetas = attempt.trie.thetas(attempt.node)
            if tokens:
                log_shares[row, tokens] += torch.tensor(thetas, dtype=log_shares.dtype, device=log_shares.device)
    # Known prefixes, and all if masked, draw from what is allowed, and cannot fail.
    whole = torch.tensor([masked or _known(attempt) for attempt in live], device=log_shares.device)
    log_norm = torch.where(whole, log_shares.logsumexp(-1).clamp(max=0), 0.0)
    for attempt, norm in zip(live, log_norm.tolist(), strict=True):
        if not attempt.sample.tokens:
            attempt.log_theta = norm
    failing = torch.where(whole, 0.0, -torch.expm1(log_z)).unsqueeze(1)
    token = torch.full((len(live),), NO_TOKEN, dtype=torch.int64, device=log_shares.device)
    rows = ((log_z > -torch.inf) & (log_norm > -torch.inf)).nonzero().squeeze(1)
    if len(rows):
        probabilities = torch.cat([(log_shares[rows] - log_norm[rows].unsqueeze(1)).exp(), failing[rows]], dim=1)
        drawn = job.draw(probabilities, [live[i].stream for i in rows.tolist()])
        token[rows] = torch.where(drawn < log_shares.shape[1], drawn, NO_TOKEN)
    column = token.clamp(min=0).unsqueeze(1)
    raw = log_p.gather(1, column).squeeze(1)
    sampled = log_shares.gather(1, column).squeeze(1) - log_norm
    return Step(token, raw, sampled, log_z), list(allowed)


def _known(attempt: Attempt) -> bool:
    return attempt.trie is not None and (attempt.node == ROOT or attempt.trie.visited(attempt.node))


def _learn(live: list[Attempt], allowed: list[torch.Tensor], chosen: Step, eos: Collection[int]) -> None:
    """Move every attempt to its next node, then sum anew what is left without nodes at the nodes that were visited.

    An attempt that comes to a node later sums it anew, so that the last to come leaves it as it is.
    """
    before = [attempt.node for attempt in live]
    visited = {  # (trie, node) → a row of the batch that stands there
        (id(attempt.trie), attempt.node): row for row, attempt in enumerate(live) if attempt.node != UNTRACKED
    }
    columns = zip(live, chosen.token.tolist(), chosen.log_prob_raw.tolist(), strict=True)
    for attempt, token, log_p in columns:
        if attempt.trie is not None and token != NO_TOKEN:
            attempt.node = attempt.trie.enter(attempt.node, token, log_p, token in eos)
    for row in visited.values():
        trie, node = live[row].trie, before[row]
        if trie is not None:
            rest = allowed[row].clone()
            rest[trie.thetas(node)[0]] = -torch.inf
            trie.leave_rest(node, min(0.0, float(rest.logsumexp(-1))))
