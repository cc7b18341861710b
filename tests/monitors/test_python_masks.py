"""The monitor of Python under its grammar: masks are exact, and real files are read token by token."""

from __future__ import annotations

import sysconfig
from pathlib import Path, PurePosixPath

import pytest
from token_reading import check_masks, read_by_token

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


@pytest.mark.parametrize("monitor", MONITORS.values(), ids=MONITORS)
@pytest.mark.parametrize("steps", [6, pytest.param(25, marks=pytest.mark.slow)])
def test_a_mask_is_what_each_token_by_itself_may_do(monitor: PythonMonitor, steps: int) -> None:
    check_masks("python", monitor, STRADDLING, STARTS, steps, 0.7, refused_starts=STARTS)


@pytest.mark.parametrize("names", [["bisect.py"], pytest.param(["abc.py", "json/decoder.py"], marks=pytest.mark.slow)])
def test_files_are_read_token_by_token(names: list[str]) -> None:
    compiled = constrain.compile(monitored(constrain.collection.load("python"), python()), vocabularies.tekken())
    for name in names:
        text = (Path(sysconfig.get_path("stdlib")) / name).read_bytes()
        assert read_by_token(compiled, text).is_accepting(), name
