"""A bar for long calls of `generate`: outputs that are done, tokens written, steps of the model.

The idea: methods tell a `Watcher` (constrain/sampling/core/job.py) what happened, and know nothing of a bar. The bar is
tqdm's, on standard error; without a terminal it says nothing, unless it is asked for with `progress(always=True)`.

Cost: some additions a token; tqdm draws at most ten times a second.
Limit: nobody knows before how long an output becomes, so the bar counts outputs; a single one goes from 0 to 1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, TypeAlias

from constrain.errors import ConstrainError
from constrain.sampling.core.job import Watcher

Progress: TypeAlias = bool | Literal["always"]
_asked: ContextVar[Progress] = ContextVar("progress", default=False)


@contextmanager
def progress(*, always: bool = False) -> Iterator[None]:
    """Draw a bar on standard error for each call of `generate` in the block: outputs that are done, tokens, steps.

    Args:
        always: draw it also where standard error is no terminal.

    Returns:
        A context manager for a `with` block.

    Raises:
        ConstrainError: in the block, for a stream or an asynchronous call: these draw no bar.

    Example:
        >>> import constrain
        >>> with constrain.progress():
        ...     outputs = constrain.generate(constrain.reference.load(), "A: ", regex="[a-c]{9}", n=4, seed=1)
        >>> len(outputs)
        4
    """
    token = _asked.set("always" if always else True)
    try:
        yield
    finally:
        _asked.reset(token)


def shown_progress() -> Progress:
    """The setting of the calls of this block: whether they draw a bar."""
    return _asked.get()


def refuse_progress(what: str) -> None:
    """Refuse calls that draw no bar. Raises ConstrainError."""
    if shown_progress() is not False:
        raise ConstrainError(f"{what} draws no bar", fix="call it outside of constrain.progress()")


def check_progress(progress: Any) -> None:
    """Refuse what is no value of `progress` of `constrain.map`. Raises ConstrainError."""
    if not isinstance(progress, bool) and not (isinstance(progress, str) and progress == "always"):
        raise ConstrainError(
            f'progress must be True, False or "always", not {progress!r}',
            fix='True draws a bar on a terminal, "always" also elsewhere',
        )


class ProgressBar(Watcher):
    """A bar over the outputs of a call."""

    def __init__(self, outputs: int, progress: Progress) -> None:
        from tqdm import tqdm

        self.done: set[int] = set()
        self.tokens = self.steps = 0
        self.bar = tqdm(
            total=outputs,
            desc="constrain",
            unit="output",
            file=sys.stderr,
            disable=False if progress == "always" else None,  # None: drawn on a terminal only
            miniters=0,  # tokens and steps are shown even if no output ends
            dynamic_ncols=True,
        )

    def wrote(self, row: int, tokens: Sequence[int]) -> None:
        """Count tokens of an output that are final."""
        self.tokens += len(tokens)

    def stepped(self) -> None:
        """Count a step of the model, and draw."""
        self.steps += 1
        self._draw()

    def ended(self, row: int) -> None:
        """Count an output as done."""
        self.done.add(row)

    def reopened(self, row: int) -> None:
        """Count an output as open again."""
        self.done.discard(row)

    def close(self) -> None:
        """Draw the bar a last time."""
        self._draw()
        self.bar.close()

    def _draw(self) -> None:
        written = f"{self.tokens} tokens, " if self.tokens else ""  # methods that revise their outputs tell none
        self.bar.set_postfix_str(f"{written}{self.steps} steps", refresh=False)
        self.bar.update(len(self.done) - self.bar.n)


@contextmanager
def watching(outputs: int, progress: Progress) -> Iterator[Watcher]:
    """The watcher of a call with so many outputs while the block runs: a bar, or one that does nothing."""
    if not progress:
        yield Watcher()
        return
    bar = ProgressBar(outputs, progress)
    try:
        yield bar
    finally:
        bar.close()
