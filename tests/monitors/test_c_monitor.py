"""The monitor of C: what GCC refuses for a name is refused, and nothing that it accepts."""

import pickle
import shutil
import subprocess

import pytest
from lexeme_reading import end_of, first_refusal
from token_reading import check_masks

from constrain.monitors import accepted_beginning, c, names_at
from tables import filled, table

TABLE = table("monitors_c")

MONITOR = c()
GCC = ["gcc", "-std=gnu17", "-Werror=implicit-function-declaration", "-fsyntax-only", "-x", "c", "-"]
POINT = "struct point { int x, y; struct point *next; union { int a; float b; }; };\n"
IO = "#include <stdio.h>\n#include <stdlib.h>\n"

# (beginning that is accepted, rest in which the refusal is)
REFUSED = filled(TABLE["refused"], POINT=POINT, IO=IO)

ACCEPTED = [text + "\n" for text in TABLE["accepted"]]


def gcc(text: str) -> bool:
    return subprocess.run(GCC, input=text.encode(), capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(("before", "rest"), REFUSED)
def test_a_name_that_c_does_not_have_is_refused_where_it_stands(before: str, rest: str) -> None:
    text = before + rest + "\n"
    accepted = accepted_beginning(MONITOR, text)
    assert accepted.startswith(before)
    assert len(accepted) < len(text) - 1
    if shutil.which("gcc"):
        assert not gcc(text)


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_gcc_compiles_is_accepted(text: str) -> None:
    assert accepted_beginning(MONITOR, text) == text
    assert first_refusal(MONITOR, text.encode()) is None
    if shutil.which("gcc"):
        assert gcc(text)


@pytest.mark.parametrize("text", ACCEPTED[:16])
def test_texts_are_read_to_the_end(text: str) -> None:
    assert end_of(MONITOR, text.encode()).at == "outside"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the verdicts are GCC's")
def test_one_changed_name_is_judged_as_by_gcc() -> None:
    """Each name of texts that are accepted is replaced by one that is not declared: what GCC accepts is accepted."""
    refusals = 0
    for text in ACCEPTED[1:9]:
        names = sorted({word for word in text.replace("(", " ").replace(")", " ").split() if word.isidentifier()})
        for name in names:
            at = text.rfind(name)
            other = text[:at] + "zz" + text[at + len(name) :]
            ours = first_refusal(MONITOR, other.encode()) is None
            assert ours or not gcc(other), other
            refusals += not ours
    assert refusals > 20


STRADDLING = [
    *(b"int x", b"; ", b" = ", b"x;", b"p->", b"->x", b".x", b"(x", b"x)", b", ", b"f(", b") {", b"}\n", b"return "),
    *(b" y", b"struct p", b"* ", b"[0]", b"// a\n", b"/*", b"*/", b"\"a", b"\\", b"'", b"#include <stdio.h>\n"),
    *(b"for (int i", b"i++", b"sizeof(", b"__func__", b"next", b"x->next", b".y.", b"a:", b"\n#define M 1\n"),
]  # fmt: skip
STARTS = [
    b"", POINT.encode() + b"int f(struct point *p, struct point q) { return ", b"int f(int x, int y) { return f(x",
    POINT.encode() + b"int f(struct point *p) { p->", b"#include <stdio.h>\nint main(void) { ", b"typedef int word; ",
    b"enum { A, B }; int x = ", b"struct p { int x; } ",
]  # fmt: skip


@pytest.mark.parametrize("steps", [5, pytest.param(25, marks=pytest.mark.slow)])
def test_a_mask_of_c_is_what_each_token_may_do(steps: int) -> None:
    check_masks("c", MONITOR, STRADDLING, STARTS, steps)


def test_names_of_c_can_be_asked_for() -> None:
    assert names_at(MONITOR, POINT + "int f(struct point *p) { return p->") == ["a", "b", "next", "x", "y"]
    names = names_at(MONITOR, "int f(int alpha) { int beta; return ")
    assert {"alpha", "beta", "f", "sizeof"} <= set(names or ())
    assert names_at(MONITOR, '#include "own.h"\nint f(void) { return ') is None
    assert pickle.loads(pickle.dumps(MONITOR)) == MONITOR
