"""Laws of methods on models of transformers, by enumeration: a language of four tokens, beside the sum over members."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest

import constrain
from constrain.sampling import SIR, SMC, Exact, Job, Settings, enumerate_draws, lcd
from constrain.sampling.core.sampler import drive

WORDS = [b"a", b"b", b"ab", None]  # 3 ends a text
LANGUAGE, MEMBERS = "a?b?|bb|aba", {b"", b"a", b"b", b"ab", b"bb", b"aba"}
MOST = 4  # tokens


def check_laws(handle: Any, prompt: Any, mass: Callable[[tuple[int, ...]], float], more: int = 0) -> None:
    """All decisions of a method. mass: the probability of tokens with their end. more: tokens without a text."""
    vocabulary = constrain.Vocabulary([*WORDS, *[None] * more], [3])
    compiled = constrain.compile(constrain.regex(LANGUAGE), vocabulary)

    def job(draw: Any) -> Job:
        return Job(
            model=handle, prompts=[prompt], matchers=[compiled.matcher()], size=vocabulary.size, eos_ids=[3],
            settings=Settings(max_tokens=MOST), draw=draw, streams=[0], token_bytes=vocabulary.tokens,
        )  # fmt: skip

    truth = {
        (*tokens, 3): mass((*tokens, 3))
        for length in range(MOST)
        for tokens in itertools.product(range(3), repeat=length)
        if vocabulary.to_bytes(tokens) in MEMBERS
    }
    total = math.fsum(truth.values())
    for method, divisor in ((lambda: lcd, 1.0), (Exact, total)):
        found: dict[tuple[int, ...], float] = {}
        for probability, (sample,) in enumerate_draws(lambda draw, method=method: drive(method(), job(draw))):
            weight = probability * math.exp(sample.log_weight) if sample.finish_reason == "stop" else 0.0
            found[tuple(sample.tokens)] = found.get(tuple(sample.tokens), 0.0) + weight
        expected = {x: p / divisor for x, p in truth.items()}
        assert {x: p for x, p in found.items() if p} == pytest.approx(expected, rel=1e-9)
    for several in (SIR(samples=2), SMC(particles=2)):
        law = enumerate_draws(lambda draw, several=several: drive(several, job(draw)))
        mean = math.fsum(probability * math.exp(sample.log_evidence) for probability, (sample,) in law)
        assert mean == pytest.approx(total, rel=1e-9)
