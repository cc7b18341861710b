"""Masks under monitors with a real vocabulary: at places inside real code, every token id beside two oracles.

One is that of `mask_oracle.py`. The other reads the whole text lexeme by lexeme, anew for each token, and finds the
begun name in the plain list of names.
"""

import random
import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from lexeme_reading import is_beginning
from mask_oracle import MaskOracle, TokenTexts
from monitored_texts import CASES, JINJA, OBJECTS, PYTHON, SQL, C

import constrain
import vocabularies
from constrain.monitors.reading import MonitorReading, State

PLACES = {  # each takes up to a second: what shows at one place in eight is missed by 24 of them with probability 0.04
    "python, any": 24,
    "python, known": 24,
    "objects": 16,
    "c": 24,
    "jinja, any": 12,
    "jinja, known": 12,
    "sql, any": 24,
    "sql, known": 24,
}


@cache
def vocabulary() -> tuple[constrain.Vocabulary, TokenTexts]:
    """Llama 3's tokens and pieces of texts that run over the end of a name: it has none."""
    rng, pieces = random.Random(1), set()
    for text in [*PYTHON, *OBJECTS, *SQL, *C, *JINJA]:
        for match in re.finditer(r"\w\b", text):
            begin, end = match.end() - rng.randint(1, 4), match.end() + rng.randint(1, 6)
            pieces.add(text[max(begin, 0) : end].encode())
    known = vocabularies.llama3().tokens
    whole = constrain.Vocabulary([*known, *sorted(pieces), None], eos_ids=[len(known) + len(pieces)])
    return whole, TokenTexts(whole)


def cuts(monitor: Any, texts: list[str], many: int, rng: random.Random) -> list[bytes]:
    """Beginnings of texts after which the set of names is finite, and two others."""
    finite, others, reading = [], [], MonitorReading(monitor)
    for text in map(str.encode, texts):
        at: State | None = reading.start()
        for i in range(len(text)):
            assert at is not None
            (others if reading.language(at) is None else finite).append(text[:i])
            at = reading.step(at, text[i : i + 1])
    return rng.sample(finite, many) + rng.sample(others, 2)


@pytest.mark.parametrize(
    ("case", "many"),
    [
        ("python, known", 4),
        ("sql, any", 4),
        *(pytest.param(case, PLACES[case], marks=pytest.mark.slow) for case in CASES),
    ],
)
def test_masks_are_what_the_monitor_accepts_of_each_token(case: str, many: int) -> None:
    language, monitor, texts = CASES[case]
    whole, tokens = vocabulary()
    oracle = MaskOracle(constrain.collection.load(language), monitor, whole, tokens)
    rng = random.Random(f"{case} {many}")
    refused, apart, straddling = 0, 0, [0, 0]
    for number, begin in enumerate(cuts(monitor, texts, many, rng)):
        matcher = oracle.compiled.matcher()
        assert matcher.advance_bytes(begin), begin
        found = oracle.check(matcher, rng, sampled=40)
        refused += found.refused
        apart += found.apart
        for i in np.flatnonzero(found.asked) if number < many else ():
            straddling[int(found.allowed[i])] += re.match(rb"\w+\W", tokens.texts[i]) is not None
        both = [np.flatnonzero(found.allowed).tolist(), np.flatnonzero(found.asked & ~found.allowed).tolist()]
        for i in (i for side in both for i in rng.sample(side, min(len(side), 8))):
            assert is_beginning(monitor, begin + tokens.texts[i]) == found.known[i], (begin, tokens.texts[i])
    print(
        f"{case}: {many} places with finite names, {refused} refused, {apart} of them since the grammar takes no word"
        f" that begins so; tokens over the end of a name: {straddling}"
    )
    assert refused > 0
    assert min(straddling) > 0
