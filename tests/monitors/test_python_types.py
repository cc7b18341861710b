"""The monitor of Python under `types="declared"`: attributes and arguments by annotations."""

import ast
from typing import Any

import pytest
from lexeme_reading import accepts, first_refusal

from constrain.errors import ConstrainError
from constrain.monitors import accepted_beginning, names_at, python
from constrain.monitors.python import outlines, typed
from tables import table

TABLE = table("monitors_python_types")

DECLARED, VALUES = python(types="declared"), python()
KNOWN = python(types="declared", ahead="known")
NODE = TABLE["node"]

# (text up to a dot, a name that may stand there, one that may not), after NODE
KNOWS = TABLE["knows"]
# The same where anything may stand.
OPEN = TABLE["open"]
STUBS = TABLE["stubs"]
OPEN_STUBS = [
    "import json\ndef f(): json.loads('1')",
    "import argparse\ndef f(): argparse.ArgumentParser().parse_args()",
    "import inspect\ndef f(n: Node):\n    if inspect.iscoroutine(n): n",
    "import collections\nP = collections.namedtuple('P', 'x')\ndef f(): P(x=1)",
    "import sys\ndef f(x: str):\n    if sys.version_info > (3, 99):\n        import pathlib\n        pathlib.Path(x)",
]
# (text that is accepted, rest in which the refusal is), after NODE
REFUSED = TABLE["refused"]
# Texts that are accepted to their ends, after NODE.
ACCEPTED = TABLE["accepted"]


def known_at(monitor: Any, text: str) -> set[str] | None:
    """The names that may stand after a text and a dot."""
    names = names_at(monitor, NODE + text + ".")
    return None if names is None else set(names)


def cases() -> list[Any]:
    """(text, a name that is known, one that is not); None: any may stand there."""
    needs = pytest.mark.skipif(outlines.typeshed() is None, reason="no installed package brings typeshed")
    with_stubs = [*STUBS, *((text, None, None) for text in OPEN_STUBS)]
    always = [*KNOWS, *((text, None, None) for text in OPEN)]
    return [*always, *(pytest.param(*row, marks=needs) for row in with_stubs)]


@pytest.mark.parametrize(("text", "known", "missing"), cases())
def test_a_name_after_a_dot(text: str, known: str | None, missing: str | None) -> None:
    names = known_at(DECLARED, text)
    if known is None:
        assert names is None
        return
    assert names is not None
    assert known in names
    assert missing not in names
    assert accepted_beginning(DECLARED, f"{NODE}{text}.{known}") == f"{NODE}{text}.{known}"
    assert accepted_beginning(DECLARED, f"{NODE}{text}.{missing}") != f"{NODE}{text}.{missing}"


@pytest.mark.parametrize(("before", "rest"), REFUSED)
def test_what_a_type_does_not_take_is_refused(before: str, rest: str) -> None:
    text = NODE + before + rest
    ast.parse(text)
    assert not accepts(DECLARED, text)
    assert len(accepted_beginning(DECLARED, text)) >= len(NODE + before.rpartition("\n")[0])


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_a_type_checker_takes_is_accepted(text: str) -> None:
    text = text if text.startswith("from __future__") else NODE + text
    assert accepted_beginning(DECLARED, text) == text
    assert first_refusal(DECLARED, text.encode()) is None
    assert accepts(DECLARED, text)


@pytest.mark.parametrize("text", [row[0] for row in KNOWS if "def f(n: " in row[0]][:20])
def test_values_alone_do_not_judge_by_annotations(text: str) -> None:
    assert known_at(VALUES, text) is None or "n[0]" in text


def test_under_known_self_has_what_was_bound() -> None:
    text = NODE + "class B(Node):\n    def f(self): self.mine = 1\n    def g(self, n: Node): return n.first.add(self."
    names = names_at(KNOWN, text)
    assert names is not None
    assert {"mine", "name", "f", "g"} <= set(names)
    assert "late" not in names


def test_without_stubs_less_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlines, "BUNDLES", {})
    caches: list[Any] = [outlines.typeshed, outlines.outline, typed.typed_attribute, typed.typed_result]
    caches += [typed.typed_attributes, typed.iterated, typed.item, typed.entered]
    for cache in caches:
        cache.cache_clear()
    try:
        assert known_at(DECLARED, "def f(s: str): s.split()") is None
        assert "first" in (known_at(DECLARED, "def f(n: list[Node]):\n    for m in n: m") or ())
        names = known_at(DECLARED, "import pathlib\ndef f(p: pathlib.Path): p")
        assert names is not None
        assert "parent" in names
    finally:
        monkeypatch.undo()
        for cache in caches:
            cache.cache_clear()


def test_a_package_is_where_relative_imports_begin() -> None:
    monitor = python(types="declared", modules=["constrain.monitors.monitor"], package="constrain.monitors.python")
    names = names_at(monitor, "from ..monitor import Names\ndef f(names: Names): names.")
    assert names is not None
    assert "listed" in names
    assert "lists" not in names
    assert names_at(DECLARED, "from ..monitor import Names\ndef f(names: Names): names.") is None


def test_bad_types() -> None:
    with pytest.raises(ConstrainError, match="types="):
        python(types="some")
