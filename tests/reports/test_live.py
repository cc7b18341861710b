"""Watching an output while it is written: in a notebook, by IPython's display protocol, and in a terminal."""

import io
import sys
from itertools import pairwise
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

import constrain
from constrain.errors import ConstrainError
from constrain.reports.display import live
from constrain.reports.display.live import Frame, Notebook, OutputFollower, TerminalScreen, screen_of
from constrain.reports.display.tokens import ShownToken
from constrain.sampling.core.job import Sample, TokenRecord

MODEL = constrain.reference.load()
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "city": {"enum": ["Paris", "Rome"]}},
    "required": ["name", "city"],
    "additionalProperties": False,
}


def stream(**options: Any) -> Any:
    return constrain.generate(MODEL, "A person as JSON: ", schema=SCHEMA, seed=2, stream=True, **options)


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> list[list[Frame]]:
    """The frames of each display of a notebook, oldest first; a module stands in for IPython."""
    shown: list[list[Frame]] = []

    def display(frame: Frame, *, display_id: bool) -> Any:
        assert display_id
        shown.append([frame])
        return SimpleNamespace(update=shown[-1].append)

    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(live, "INTERVAL", 0)
    return shown


@pytest.mark.parametrize("options", [{}, {"draft": "auto"}, {"temperature": 0}])
def test_a_notebook_sees_every_token_come(cells: list[list[Frame]], options: dict[str, Any]) -> None:
    result = stream(**options).show()
    assert result.text == stream(**options).result.text
    [frames] = cells  # one cell, drawn anew
    *growing, last = frames
    tokens = [[token.token for token in frame.tokens] for frame in growing]
    assert len(growing) > 5 or options.get("draft")
    assert all(len(a) < len(b) and b[: len(a)] == a for a, b in pairwise(tokens))
    assert tokens[-1] == result.tokens[: len(tokens[-1])]
    assert last.tokens == result.shown and last.said == result._said()
    assert "p = " in growing[-1]._repr_html_() and growing[0].said == [f"{len(tokens[0])} tokens …"]
    for frame in growing:  # what is known of a token while it is written is what is known at the end
        for early, final in zip(frame.tokens, result.shown, strict=False):
            assert early in (final, ShownToken(early.text, final.token)), frame


def test_methods_that_revise_their_outputs_show_them_at_the_end(cells: list[list[Frame]]) -> None:
    result = stream(method="smc", n=1, max_tokens=40).show()
    assert cells[0][-1].tokens == result.shown


def test_a_stream_that_has_begun_is_not_shown() -> None:
    begun = stream()
    next(begun)
    with pytest.raises(ConstrainError, match="has begun"):
        begun.show()


def test_an_error_leaves_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    monkeypatch.setattr(TerminalScreen, "close", lambda self: closed.append(self.live.stop()))
    broken = stream()
    monkeypatch.setattr(broken, "_begin", lambda named: (_ for _ in ()).throw(ZeroDivisionError))
    with pytest.raises(ZeroDivisionError):
        broken.show(Console(file=io.StringIO()))
    assert len(closed) == 1


def test_a_terminal_and_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "INTERVAL", 0)  # every picture is drawn, however fast the model writes
    screen = Console(file=io.StringIO(), width=200, force_terminal=True)
    text = stream().show(screen).text
    assert screen.file.getvalue().count("tokens …") > 1  # type: ignore[attr-defined]
    plain = Console(file=io.StringIO(), width=200)
    stream().show(plain)
    assert plain.file.getvalue().count(text.strip()) == 1  # type: ignore[attr-defined]
    assert "tokens …" not in plain.file.getvalue()  # type: ignore[attr-defined]


def test_which_screen(cells: list[list[Frame]], monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(screen_of(), Notebook)
    console = Console(file=io.StringIO())
    named = screen_of(console)
    assert isinstance(named, TerminalScreen)
    named.close()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: SimpleNamespace())  # IPython in a terminal
    plain = screen_of()
    assert isinstance(plain, TerminalScreen)
    plain.close()


def test_pictures_are_not_drawn_too_often() -> None:
    drawn: list[list[ShownToken]] = []
    follower = OutputFollower(lambda tokens: [b"x"] * len(tokens), drawn.append, interval=1e9)
    sample = Sample(tokens=[1, 2], trace=[TokenRecord(1, -1.0, -1.0, 0.0)])
    follower.began(0, sample)
    follower.wrote(0, [1])
    follower.wrote(0, [2])
    assert [len(tokens) for tokens in drawn] == [1]
    known, pending = follower.shown()
    assert known.probability is not None and pending.probability is None


CODE = """
import constrain
import constrain.reports.display.live as live
live.INTERVAL = 0
stream = constrain.generate(constrain.reference.load(), "A date: ", regex="2[0-9]{3}-[01][0-9]", stream=True, seed=1)
date = stream.show().text
"""


@pytest.mark.slow
def test_in_a_kernel() -> None:
    """A real kernel: one display, several updates of it, and the last has the whole text."""
    pytest.importorskip("ipykernel", reason="the package ipykernel is not installed")
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3")
    messages: list[Any] = []
    try:
        reply = client.execute_interactive(CODE, output_hook=messages.append, timeout=300)
        value = client.execute_interactive("", user_expressions={"d": "date"}, output_hook=print, timeout=60)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert reply["content"]["status"] == "ok", reply["content"]
    begun = [message["content"] for message in messages if message["msg_type"] == "display_data"]
    updates = [message["content"] for message in messages if message["msg_type"] == "update_display_data"]
    assert len(begun) == 1 and len(updates) >= 3
    assert {each["transient"]["display_id"] for each in updates} == {begun[0]["transient"]["display_id"]}
    date = value["content"]["user_expressions"]["d"]["data"]["text/plain"].strip("'")
    assert updates[-1]["data"]["text/plain"].startswith(date) and len(date) == 7
    assert "p = " in updates[-1]["data"]["text/html"]
