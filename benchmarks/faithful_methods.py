"""The methods that faithful.py runs: methods of this library, a plain ASAp, and genlm-control where it is installed.

A runner yields (cost, atoms) without end: model forwards counted as sequences — a batch of 8 counts 8 — and weighted
texts (text, log weight) that they bought. All atoms so far, self-normalised, are the method's estimate of π.

The number in a name is that of sequences in one call, which run in one batch. Outputs of `lcd` and `sir` are drawn
independently, so 64 of them are no other method than 16; for `smc` the number matters, so both are there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import count

import numpy as np

import faithful_genlm
from constrain.sampling import CARS, MCMC, SIR, SMC, ASAp, Memory, Rejection, Sample, automaton, lcd
from constrain.sampling.core.sampler import drive
from constrain.sampling.methods.table import Method
from faithful_cases import Case

Atoms = list[tuple[bytes, float]]
Runner = Callable[[Case, int], Iterator[tuple[int, Atoms]]]
FEW, MANY = 16, 64  # sequences of a call
UNWEIGHTED, PUBLISHED = "lcd unweighted", "asap as published"
EXACT = ("cars", "rejection")  # unweighted outputs, each with the law π
AT_MOST = {PUBLISHED: 3, "smc 16 black box": 3}  # repeats of what takes long
STEPS = 16  # of a chain
ROWS = 8  # chains, or outputs of adaptive methods, that are drawn side by side


def masked(case: Case, seed: int, weighted: bool = True) -> Iterator[tuple[int, Atoms]]:
    """`lcd`, many outputs a call."""
    for call in count():
        samples = drive(lcd, case.job(seed, range(call * MANY, (call + 1) * MANY)))
        cost = sum(s.forwards for s in samples) - (MANY - 1)  # the prompt is read once
        yield cost, [(case.text(s.tokens), s.log_weight if weighted else 0.0) for s in done(samples)]


def single(case: Case, seed: int, method: Method) -> Iterator[tuple[int, Atoms]]:
    """Each output an atom."""
    for call in count():
        samples = drive(method, case.job(seed, range(call * ROWS, (call + 1) * ROWS)))
        yield sum(s.forwards for s in samples), [(case.text(s.tokens), s.log_weight) for s in done(samples)]


def population(case: Case, seed: int, method: Method, masked: bool = True) -> Iterator[tuple[int, Atoms]]:
    """All particles of each call are atoms."""
    for call in count():
        (sample,) = drive(method, case.job(seed, [call], masked))
        yield sample.forwards, [(case.text(s.tokens), s.log_weight) for s in done(sample.population)]


def chain(case: Case, seed: int, proposal: str) -> Iterator[tuple[int, Atoms]]:
    """The second half of the states of each chain."""
    method = MCMC(steps=STEPS, proposal=proposal)
    for call in count():
        samples = drive(method, case.job(seed, range(call * ROWS, (call + 1) * ROWS)))
        states = [state for sample in samples for state in sample.population[STEPS // 2 :]]
        yield sum(s.forwards for s in samples), [(case.text(s.tokens), 0.0) for s in done(states)]


def done(samples: list[Sample]) -> list[Sample]:
    return [s for s in samples if s.finish_reason == "stop" and s.log_weight > -math.inf]


def plain_asap(case: Case, seed: int) -> Iterator[tuple[int, Atoms]]:
    """ASAp as published (Park et al. 2024, algorithm 1): one sequence at a time, unweighted outputs.

    ids, probs, future: of the allowed tokens after each prefix met so far; future is the estimate of what a completion
    would be worth, 1 until it is known.
    """
    rng = np.random.default_rng(seed)
    known: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
    eos = set(case.handle.vocabulary.eos_ids)
    row = np.zeros(case.handle.vocabulary.words, np.uint32)
    while True:
        matcher, tokens, forwards = case.compiled.matcher(), (), 1
        session, ((logits,),) = case.handle.start([case.prompt_ids], [1])
        while len(tokens) < case.max_tokens and not (tokens and tokens[-1] in eos):
            if tokens:
                forwards += 1
                ((logits,),) = session.feed([[tokens[-1]]], [1])
            if tokens not in known:
                matcher.fill_mask(row)
                ids = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
                probs = logits.double().softmax(-1).numpy()[ids]
                known[tokens] = (ids, probs, np.ones(len(ids)))
            ids, probs, future = known[tokens]
            law = probs * future
            token = int(rng.choice(ids, p=law / law.sum()))
            matcher.advance(token)
            tokens = (*tokens, token)
        finished = tokens[-1] in eos
        value = 1.0 if finished else 0.0
        for length in range(len(tokens) - 1, -1, -1):
            ids, probs, future = known[tokens[:length]]
            future[np.searchsorted(ids, tokens[length])] = value
            value = float(probs @ future)
        yield forwards, [(case.text(tokens), 0.0)] if finished else []


def ours() -> dict[str, Runner]:
    """The methods of this library, by the names in the tables."""

    def checked(case: Case, seed: int) -> Iterator[tuple[int, Atoms]]:
        return population(case, seed, SMC(particles=FEW, check=automaton(case.compiled)), masked=False)

    return {
        UNWEIGHTED: lambda case, seed: masked(case, seed, weighted=False),
        "lcd": masked,
        "sir 64": lambda case, seed: population(case, seed, SIR(samples=MANY)),
        "smc 16": lambda case, seed: population(case, seed, SMC(particles=FEW)),
        "smc 64": lambda case, seed: population(case, seed, SMC(particles=MANY)),
        "smc 64 optimal": lambda case, seed: population(case, seed, SMC(particles=MANY, resampling="optimal")),
        "smc 16 black box": checked,
        "mcmc restart": lambda case, seed: chain(case, seed, "restart"),
        "mcmc uniform": lambda case, seed: chain(case, seed, "uniform"),
        "mcmc priority": lambda case, seed: chain(case, seed, "priority"),
        "asap": lambda case, seed: single(case, seed, ASAp(memory=Memory())),
        "cars": lambda case, seed: single(case, seed, CARS(memory=Memory(), attempts=25)),
        "rejection": lambda case, seed: single(case, seed, Rejection(attempts=25)),
        PUBLISHED: plain_asap,
    }


def theirs() -> dict[str, Runner]:
    """genlm-control's, where it is installed."""
    if not faithful_genlm.available():
        return {}
    return {
        f"genlm awrs-smc {count}": lambda case, seed, count=count: faithful_genlm.runner(case, seed, count)
        for count in (FEW, MANY)
    }
