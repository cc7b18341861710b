"""The name that is meant by one that a monitor refuses: "did you mean".

A name is meant if it is nearly the one that stands there, and the text goes further with it. Where any name may stand,
the candidates are the names that the monitor has at all (`known_names`, where it lists them), and those of the text.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from constrain.errors import UnsatisfiableError
from constrain.monitors.monitor import Monitor
from constrain.monitors.reading import Empty, MonitorReading, State

WORD = re.compile(r"[^\W\d][\w$]*")
MOST = 50  # words of a text that are tried, those before the refused place first


def meant(monitor: Monitor[Any], text: str, refused: int, empty: Empty) -> tuple[str, str] | None:
    """Find the name in a refused text that is nearly a known one, with which the text goes further.

    Args:
        monitor: The monitor.
        text: The text.
        refused: How many of its characters the monitor accepts; all of them, if only its end is refused.
        empty: As of `monitored`.

    Returns:
        (the name as it stands in the text, the name that is meant), or None.
    """
    reading = MonitorReading(monitor, empty)
    words = sorted(WORD.finditer(text), key=lambda word: abs(min(word.end(), refused) - refused))
    for word in words[:MOST]:
        state = reading.step(reading.start(), text[: word.start()].encode())
        if state is None:
            continue
        known_names = _known(reading, state)
        if known_names is None:  # any may stand there
            known_names = sorted({*getattr(monitor, "known_names", ()), *WORD.findall(text)} - {word[0]})
        for known in get_close_matches(word[0], known_names, 3) or get_close_matches(word[0].lower(), known_names, 3):
            changed = text[: word.start()] + known + text[word.end() :]
            if known != word[0] and _goes_on(reading, changed, refused + len(changed) - len(text)):
                return word[0], known
    return None


def _known(reading: MonitorReading, state: State) -> list[str] | None:
    """The names that may begin at a state; None: any."""
    try:
        names = reading.language(state)
    except UnsatisfiableError:
        names = False
    return None if names is None else names.listed() if names else []


def _goes_on(reading: MonitorReading, text: str, refused: int) -> bool:
    """True if a text is accepted beyond a place, or may end there."""
    state: State | None = reading.start()
    for place, character in enumerate(text):
        after = reading.step(state, character.encode()) if state is not None else None
        if after is None:
            return place > refused
        state = after
    return state is not None and reading.may_end(state)
