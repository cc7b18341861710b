"""An output that is watched while it is written: in a notebook one cell, drawn anew; in a terminal the same lines.

A notebook is drawn by the display protocol of IPython: one display with an identity, which is updated. So there is no
script in the page, a saved notebook keeps the last picture, and nothing has to be installed but IPython, which a
notebook has. A terminal is drawn by rich.

Cost: a picture is as long as the text, so it is drawn at most ten times a second, whatever the model writes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from constrain.extras import require
from constrain.reports.display.html import tokens_html
from constrain.reports.display.terminal import rendered
from constrain.reports.display.tokens import ShownToken, shown_tokens
from constrain.sampling.core.job import Sample, Watcher

INTERVAL = 0.1  # seconds between pictures; tests set it to 0, so that every picture is drawn


class Frame:
    """A picture of an output at one moment.

    Args:
        tokens: What is written.
        said: Short sentences about it.

    Example:
        >>> frame = Frame([ShownToken("re", 1), ShownToken("d", 2)], ["2 tokens"])
        >>> frame, "2 tokens" in frame._repr_html_()
        (red, True)
    """

    def __init__(self, tokens: Sequence[ShownToken], said: Sequence[str]) -> None:
        self.tokens, self.said = list(tokens), list(said)

    def _repr_html_(self) -> str:
        return tokens_html(self.tokens, self.said)

    def __repr__(self) -> str:
        return "".join(token.text for token in self.tokens)


class Screen(Protocol):
    """A display of frames, each of which replaces the last."""

    def draw(self, frame: Frame) -> None:
        """Show a frame instead of the last one."""

    def close(self) -> None:
        """Leave the last frame where it is."""


class Notebook:
    """A cell of a notebook."""

    def __init__(self) -> None:
        self.handle: Any = None

    def draw(self, frame: Frame) -> None:
        """Show a frame instead of the last one."""
        from IPython.display import display

        if self.handle is None:
            self.handle = display(frame, display_id=True)
        else:
            self.handle.update(frame)

    def close(self) -> None:
        """Nothing is left to do: the notebook has the last frame."""


class TerminalScreen:
    """Lines of a terminal; where the output is no terminal, the last frame alone is printed. console: of rich."""

    def __init__(self, console: Any = None) -> None:
        require("cli", "watching a generation in a terminal")
        from rich.live import Live

        self.live = Live(console=console, auto_refresh=False, vertical_overflow="visible")
        self.live.start()

    def draw(self, frame: Frame) -> None:
        """Show a frame instead of the last one."""
        self.live.update(rendered(frame.tokens, frame.said), refresh=True)

    def close(self) -> None:
        """Leave the last frame, and give the cursor back."""
        self.live.stop()


def screen_of(console: Any = None) -> Screen:
    """The cell of the notebook that this runs in, else the terminal.

    Args:
        console: A `rich.console.Console`; then it is drawn there, whatever runs this.

    Raises:
        MissingExtraError: It is no notebook, and rich is not installed.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if console is None and getattr(shell, "kernel", None) is not None:
        return Notebook()
    return TerminalScreen(console)


class OutputFollower(Watcher):
    """Follows the only output of a call, and draws it.

    Only final tokens are drawn, with the numbers of the sequence that wrote them; forced tokens get theirs with the
    next forward.

    Args:
        pieces: Token ids → the bytes of each.
        draw: Is given the tokens of a picture.
        interval: Seconds between two pictures; None: `INTERVAL`.
    """

    def __init__(
        self,
        pieces: Callable[[Sequence[int]], list[bytes]],
        draw: Callable[[list[ShownToken]], None],
        interval: float | None = None,
    ) -> None:
        self.pieces, self.draw = pieces, draw
        self.interval = INTERVAL if interval is None else interval
        self.tokens: list[int] = []
        self.samples: list[Sample] = []
        self.drawn = -self.interval

    def began(self, row: int, sample: Sample) -> None:
        """Keep a sequence: it grows while it is written."""
        self.samples.append(sample)

    def wrote(self, row: int, tokens: Sequence[int]) -> None:
        """Draw what is written, if the last picture is old enough."""
        self.tokens += tokens
        now = time.monotonic()
        if now - self.drawn >= self.interval:
            self.drawn = now
            self.draw(self.shown())

    def shown(self) -> list[ShownToken]:
        """The tokens so far, with the numbers that are known."""
        n = len(self.tokens)
        trace = next((each.trace for each in self.samples if each.tokens[:n] == self.tokens), [])[:n]
        pieces, known = self.pieces(self.tokens), len(trace)
        with_numbers = shown_tokens(pieces[:known], self.tokens[:known], trace)
        return with_numbers + shown_tokens(pieces[known:], self.tokens[known:], [])
