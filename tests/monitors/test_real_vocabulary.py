"""Masks under monitors with a real vocabulary: at places inside real code, every token id beside two oracles.

One walks the bytes of all tokens with a reading of its own, and knows nothing of words, groups or remembered masks
(guard.py). The other reads the whole text lexeme by lexeme, anew for each token, and finds the begun name in the plain
list of names.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from functools import cache
from typing import Any

import numpy as np
import pytest
from lexeme_reading import is_beginning
from monitored_texts import CASES, JINJA, OBJECTS, PYTHON, SQL, C
from numpy.typing import NDArray

import constrain
import vocabularies
from constrain.monitors import monitored
from constrain.monitors.monitor import NAME
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
def vocabulary() -> tuple[constrain.Vocabulary, list[bytes], list[int]]:
    """Llama 3's tokens and pieces of texts that run over the end of a name: it has none. Texts, sorted; their ids."""
    rng, pieces = random.Random(1), set()
    for text in [*PYTHON, *OBJECTS, *SQL, *C, *JINJA]:
        for match in re.finditer(r"\w\b", text):
            begin, end = match.end() - rng.randint(1, 4), match.end() + rng.randint(1, 6)
            pieces.add(text[max(begin, 0) : end].encode())
    known = vocabularies.llama3().tokens
    whole = constrain.Vocabulary([*known, *sorted(pieces), None], eos_ids=[len(known) + len(pieces)])
    pairs = sorted((text, token) for token, text in enumerate(whole.tokens) if text)
    return whole, [text for text, _ in pairs], [token for _, token in pairs]


def walked(reading: MonitorReading, at: State, texts: list[bytes]) -> NDArray[np.bool_]:
    """bool[texts]: the sorted texts that the monitor accepts at a state. After a refused byte none that begins so."""
    accepted = np.zeros(len(texts), np.bool_)
    path, last, i = [at], b"", 0  # the places after each beginning of `last`
    while i < len(texts):
        text = texts[i]
        shared = 0
        while shared < min(len(last), len(text)) and text[shared] == last[shared]:
            shared += 1
        del path[shared + 1 :]
        last = text
        for n in range(shared, len(text)):
            after = reading.step(path[-1], text[n : n + 1])
            if after is None:
                last = text[:n]
                i = bisect_right(texts, text[: n + 1], lo=i, key=lambda other, n=n: other[: n + 1])
                break
            path.append(after)
        else:
            accepted[i] = True
            i += 1
    return accepted


def goes_on(grammar: Any, reading: MonitorReading, at: State | None, text: bytes) -> bool:
    """True if bytes may follow a text until its last lexeme is over, under the grammar and the monitor: a search that
    tries each byte. at: the state after the text."""
    if at is None:
        return False
    if (at.kind != NAME or at.names is None) and reading.lexicon.is_decided(at.kind, at.text):
        return True
    matcher = grammar.matcher()
    return matcher.advance_bytes(text) and any(
        goes_on(grammar, reading, reading.step(at, bytes([byte])), text + bytes([byte]))
        for byte in range(256)
        if matcher.allows(byte)
    )


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
    tokens, sorted_texts, ids = vocabulary()
    grammar = constrain.collection.load(language)
    compiled = constrain.compile(monitored(grammar, monitor), tokens)
    free = constrain.compile(grammar, tokens)
    rng = random.Random(f"{case} {many}")
    row, wide = np.zeros((2, tokens.words), np.uint32)
    bytewise = constrain.compile(grammar, constrain.Vocabulary.of_bytes())
    refused, apart, straddling = 0, 0, [0, 0]
    for number, begin in enumerate(cuts(monitor, texts, many, rng)):
        matcher, loose = compiled.matcher(), free.matcher()
        assert matcher.advance_bytes(begin), begin
        assert loose.advance_bytes(begin)
        matcher.fill_mask(row)
        loose.fill_mask(wide)
        allowed, asked = (np.unpackbits(mask.view(np.uint8), bitorder="little")[ids] != 0 for mask in (row, wide))
        reading = MonitorReading(monitor)
        at = reading.step(reading.start(), begin)
        assert at is not None
        known = walked(reading, at, sorted_texts)
        accepted = known.copy()
        assert not (allowed & ~(accepted & asked)).any()
        for i in np.flatnonzero(accepted & asked & ~allowed):  # the grammar and the monitor have nothing in common
            assert not goes_on(bytewise, reading, reading.step(at, sorted_texts[i]), begin + sorted_texts[i])
            apart += 1
        accepted &= allowed | ~asked
        for i in rng.sample(np.flatnonzero(allowed).tolist(), min(int(allowed.sum()), 40)):
            assert goes_on(bytewise, reading, reading.step(at, sorted_texts[i]), begin + sorted_texts[i])
        refused += int((asked & ~accepted).sum())
        for i in np.flatnonzero(asked) if number < many else ():
            straddling[int(accepted[i])] += re.match(rb"\w+\W", sorted_texts[i]) is not None
        both = [np.flatnonzero(asked & accepted).tolist(), np.flatnonzero(asked & ~accepted).tolist()]
        for i in (i for side in both for i in rng.sample(side, min(len(side), 8))):
            assert is_beginning(monitor, begin + sorted_texts[i]) == known[i], (begin, sorted_texts[i])
    print(
        f"{case}: {many} places with finite names, {refused} refused, {apart} of them since the grammar takes no word"
        f" that begins so; tokens over the end of a name: {straddling}"
    )
    assert refused > 0
    assert min(straddling) > 0
