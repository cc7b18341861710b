"""`scripts/check_kernels.py` refuses a row of code a rule, and nothing of the kernels that are there."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from page_blocks import module_at

NESTED = "".join(f"{'    ' * depth}if a[{depth}]:\n" for depth in range(1, 8)) + "    " * 8 + "pass"
LADDER = "    if a == 0:\n        pass\n" + "".join(f"    elif a == {n}:\n        pass\n" for n in range(1, 9))
LINES = "    a += 1\n"

# rule of the script, code, the fault that is told; "": none
ROWS = {
    "a raw offset": ("raw_offsets", "x = A[r + 3]", "A[r + 3] has an offset without a name"),
    "a private number": ("raw_offsets", "x = r + MEMO", "MEMO is for kernels/records alone"),
    "a field": ("raw_offsets", "x = A[r + CONFIG.MASK]", ""),
    "no docstring": ("undocumented", '@kernel("i(i)")\ndef f(a):\n    return a', "f has no docstring"),
    "a riddle": ("undocumented", '@kernel("i(i)")\ndef f(a):\n    """See above."""', "f: 'See above' in prose"),
    "no reference": (
        "undocumented", '@kernel("i(i)", entry=True)\ndef f(a):\n    """It."""',
        "f is called from Python; the module names no Reference",
    ),
    "80 lines": ("too_hard", "def f(a):\n" + 79 * LINES, ""),
    "80 lines and a docstring": ("too_hard", 'def f(a):\n    """It.\n\n    More.\n    """\n' + 79 * LINES, ""),
    "81 lines": ("too_hard", "def f(a):\n" + 80 * LINES, "f has 81 lines of code, more than 80"),
    "7 blocks": ("too_hard", f"def f(a):\n{NESTED}", "f has 7 blocks one inside the other, more than 6"),
    "a ladder of elif": ("too_hard", f"def f(a):\n{LADDER}", ""),
    "10 parameters": ("too_hard", "def f(a, b, c, d, e, f, g, h, i, *, j):\n    pass", ""),
    "11 parameters": (
        "too_hard", "def f(a, b, c, d, e, f, g, h, i, j, *, k):\n    pass", "f has 11 parameters, more than 10",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def script(repository: Path) -> ModuleType:
    return module_at(repository / "scripts" / "check_kernels.py")


def test_nothing_is_wrong(script: ModuleType) -> None:
    assert list(script.faults()) == []


@pytest.mark.parametrize(("rule", "code", "fault"), ROWS.values(), ids=ROWS.keys())
def test_what_is_refused(script: ModuleType, rule: str, code: str, fault: str) -> None:
    check: Callable[..., Iterator[str]] = getattr(script, rule)
    arguments = (ast.parse(code), "file.py") + (({"A"},) if rule == "raw_offsets" else ())
    told = list(check(*arguments))
    assert [each.partition(": ")[2] for each in told] == ([fault] if fault else [])
