"""The monitor of Python under its grammar: masks are exact, and real files are read token by token."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from token_reading import read_by_token

import constrain
import vocabularies
from constrain.monitors import PythonMonitor, monitored, objects, python

STRADDLING = [
    *(b"print(", b"(x)", b" x", b"x.", b".append(", b"nosuch", b" nosuch)", b"x +", b"f'{", b"}'", b"\n    ", b" xs"),
    *(b" for x in", b"def f(", b"):", b"import os", b"os.", b"path", b".pa", b"th.join(", b" = ", b"=="),
    *(b"here.", b"joinpath", b"len(x", b"):\n", b"lambda x:", b"return x", b"[x", b"]", b"{x", b"!r}", b":>{", b"par"),
    *(b"ents[", b":\n        ", b"# x\n", b"\\\n", b"'''", b"rb'", b"not in ", b"is not"),
]  # fmt: skip
STARTS = [
    *(b"", b"x = []\n", b"import os\nif os.", b"def f(x, *y, z=1):\n    return ", b"xs = [1]\nprint(", b"here."),
    *(b"x = 1\ny = f'a{x", b"class A:\n    x = 1\n    def f(self):\n        ", b"print(here.joinpath(", b"x = 1\nx"),
    *(b"xs = {x: ", b"from os import ", b"len("),
]  # fmt: skip
MONITORS = {"any": python(), "known": python(ahead="known"), "objects": objects({"here": PurePosixPath("/a")})}


def walked(vocabulary: constrain.Vocabulary) -> constrain.Vocabulary:
    known = vocabulary.tokens
    return constrain.Vocabulary([*known, *STRADDLING, None], eos_ids=[len(known) + len(STRADDLING)])


@pytest.mark.parametrize("monitor", MONITORS.values(), ids=MONITORS)
@pytest.mark.parametrize("steps", [6, pytest.param(25, marks=pytest.mark.slow)])
def test_a_mask_is_what_each_token_by_itself_may_do(monitor: PythonMonitor, steps: int) -> None:
    """Every token of a vocabulary at every place of random texts; and a token that is allowed is no dead end."""
    vocabulary = walked(vocabularies.tiny())
    compiled = constrain.compile(monitored(constrain.collection.load("python"), monitor), vocabulary)
    grammar = constrain.compile(constrain.collection.load("python"), vocabulary)
    rng, refused = random.Random(steps), 0
    row, other = np.zeros((2, vocabulary.words), np.uint32)
    for start in STARTS:
        matcher, free = compiled.matcher(), grammar.matcher()
        if not matcher.advance_bytes(start):
            continue
        assert free.advance_bytes(start)
        for _ in range(steps):
            matcher.fill_mask(row)
            free.fill_mask(other)
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            assert len(allowed), matcher.text
            assert not (row & ~other).any()
            single = [token for token in range(vocabulary.size) if matcher.allows(token)]
            assert allowed.tolist() == single, matcher.text
            refused += int(np.unpackbits((other & ~row).view(np.uint8)).sum())
            texts = [token for token in single if vocabulary.tokens[token]]
            long = [token for token in texts if len(vocabulary.tokens[token] or b"") > 1]
            token = rng.choice(long if long and rng.random() < 0.7 else texts)
            assert matcher.advance(token)
            assert free.advance(token)
    assert refused > 100


@pytest.mark.parametrize(
    "names",
    [
        ["bisect.py"],
        pytest.param(["abc.py", "json/decoder.py"], marks=pytest.mark.slow),
    ],
)
def test_files_are_read_token_by_token(names: list[str]) -> None:
    compiled = constrain.compile(monitored(constrain.collection.load("python"), python()), vocabularies.tekken())
    for name in names:
        text = (Path(sysconfig.get_path("stdlib")) / name).read_bytes()
        assert read_by_token(compiled, text).is_accepting(), name
