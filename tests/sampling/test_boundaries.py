"""Resampling at the units of a text, in a grammar that the engine compiled: nothing is bent, whatever the unit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from sampling_cases import PROMPT, compiled_outcomes, law_of, weighted

import constrain
from constrain.sampling import SMC, Exact, Sample
from constrain.sampling.core.potentials import Potential
from toy_model import TableModel

TOKENS = [b"a", b";", b"\n", b"a;", None]
EOS = 4
LIMIT = 4  # tokens, EOS counted
GRAMMAR = 'start: item "\\n"?\nitem: NAME ";"?\nNAME: "a" | "aa"'
TEXTS = [b"a", b"aa", b"a;", b"aa;", b"a\n", b"aa\n", b"a;\n", b"aa;\n"]
Tokens = tuple[int, ...]


class Likes(Potential):
    """Prefers semicolons, and says so as soon as one is there."""

    def complete(self, text: bytes) -> float:
        return 0.8 * text.count(b";") - 0.3 * len(text)

    def prefix(self, text: bytes) -> float:
        return 0.8 * text.count(b";")


@cache
def members() -> list[Tokens]:
    """Every way to spell a text of the language that fits, from the list of texts alone."""
    texts = (ids for length in range(1, LIMIT) for ids in itertools.product(range(EOS), repeat=length))
    return [(*ids, EOS) for ids in texts if b"".join(TOKENS[i] or b"" for i in ids) in TEXTS]


def target(model: TableModel, potential: Potential | None) -> dict[Tokens, float]:
    law = {}
    for ids in members():
        log_p = math.fsum(float(model.log_probs([*PROMPT, *ids[:i]])[token]) for i, token in enumerate(ids))
        text = b"".join(TOKENS[i] or b"" for i in ids)
        law[ids] = math.exp(log_p + (potential.complete(text) if potential else 0.0))
    return law


@cache
def compiled() -> Any:
    vocabulary = constrain.Vocabulary(TOKENS, [EOS])
    return constrain.compile(constrain.grammar(GRAMMAR), vocabulary)


def outcomes(model: TableModel, method: Callable[[], Any]) -> list[tuple[float, Sample]]:
    return compiled_outcomes(model, compiled(), method, max_tokens=LIMIT)


@pytest.mark.parametrize("seed", range(3))
def test_the_engine_and_the_list_agree(seed: int) -> None:
    model = TableModel(len(TOKENS), seed, 1.5)
    law = target(model, None)
    total = math.fsum(law.values())
    assert law_of(outcomes(model, Exact)) == pytest.approx({x: p / total for x, p in law.items()}, abs=1e-10)


@pytest.mark.parametrize("potential", [None, Likes()], ids=["mask", "potential"])
@pytest.mark.parametrize("boundary", ["token", "lexeme", "line", "rule:item"])
def test_every_text_is_properly_weighted_whatever_the_unit(boundary: str, potential: Potential | None) -> None:
    model = TableModel(len(TOKENS), 1, 1.5)
    method = SMC(particles=2, ess_threshold=1, resampling="systematic", boundary=boundary, potential=potential)
    found = outcomes(model, lambda: method)
    assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=1e-10)
    assert weighted(found) == pytest.approx(target(model, potential), rel=1e-9, abs=1e-300)
