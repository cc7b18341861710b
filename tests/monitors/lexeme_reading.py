"""A text under a monitor, read lexeme by lexeme: `MonitorReading` does it byte by byte, and remembers states."""

from collections.abc import Callable
from typing import Any

from constrain.monitors.monitor import COMMENT, END, NAME, QUOTED, SIGN, SPACE
from constrain.monitors.reading import MonitorReading


def accepts(monitor: Any, text: str) -> bool:
    """True if a monitor accepts a text to its end."""
    reading = MonitorReading(monitor)
    end = reading.step(reading.start(), text.encode())
    return end is not None and reading.may_end(end)


def first_refusal(
    monitor: Any, text: bytes, to_end: bool = True, grows: bool = False, watch: Callable[..., object] | None = None
) -> int | None:
    """The index of the first lexeme that a monitor refuses; the length of the text: its end; None: it is accepted.

    to_end: whether the text must be allowed to end. grows: whether its last lexeme may go on. watch: is told of each
    name where it begins, the monitor's state there, the names that may stand there, and the name.
    """
    lexicon, state = monitor.lexicon, monitor.start()
    begin, scan, short = lexicon.begin, lexicon.scan, lexicon.short
    resumed = getattr(monitor, "resume", lambda state: None)
    at = 0
    while at < len(text):
        first = at
        going_on = resumed(state)
        kind = -1 if going_on is None else scan(*going_on, text[at])
        if kind >= 0:
            assert going_on is not None
            lexeme = going_on[1] + text[at : at + 1]
        else:
            kind, lexeme = begin(text[at]), text[at : at + 1]
        at += 1
        keeps = lexicon.keeps(kind)
        if not keeps:
            lexeme = short(kind, lexeme)
        while at < len(text):
            grown = scan(kind, lexeme, text[at])
            if grown < 0:
                break
            lexeme += text[at : at + 1]
            if grown != kind:
                kind, keeps = grown, lexicon.keeps(grown)
            if not keeps:
                lexeme = short(kind, lexeme)
            at += 1
        if grows and at == len(text):
            return None if _may_grow(monitor, state, kind, lexeme) else first
        if kind in (SPACE, COMMENT):
            continue
        begun = monitor.begin(state, kind, lexeme if kind == SIGN else lexeme[:1])
        if begun is None:
            return first
        if kind in (NAME, QUOTED):
            names = monitor.language(begun)
            if watch is not None:
                watch(first, begun, names, lexeme)
            if names is not None and not names.has(lexicon.folded(kind, lexeme), quoted=kind == QUOTED):
                return first
        state = monitor.advance(begun, kind, lexeme)
        if state is None:
            return first
    if to_end:
        ended = monitor.begin(state, END, b"")
        if ended is None or not monitor.may_end(ended):
            return len(text)
    return None


def end_of(monitor: Any, text: bytes) -> Any:
    """The state of a monitor after a text that ends with a whole lexeme; None: it refuses the text."""
    reading = MonitorReading(monitor)
    end = reading.step(reading.start(), text + b" ")
    return None if end is None else end.inner.value


def is_beginning(monitor: Any, text: bytes) -> bool:
    """True if a monitor accepts a text as far as it was written: its last lexeme may still grow."""
    return first_refusal(monitor, text, to_end=False, grows=True) is None


def _may_grow(monitor: Any, state: Any, kind: int, lexeme: bytes) -> bool:
    """True if a lexeme may stand at the end of a text that goes on."""
    lexicon = monitor.lexicon
    if kind in (SPACE, COMMENT) or not lexicon.is_decided(kind, lexeme):
        return True
    begun = monitor.begin(state, kind, lexeme if kind == SIGN else lexeme[:1])
    names = None if begun is None or kind not in (NAME, QUOTED) else monitor.language(begun)
    if names is None:
        whole = begun is not None and kind == SIGN and lexicon.is_whole_sign(lexeme)  # it is read at once
        return monitor.advance(begun, kind, lexeme) is not None if whole else begun is not None
    if kind == NAME:
        text = lexicon.folded(kind, lexeme)
        open_ones = any(text.startswith(prefix) or prefix.startswith(text) for prefix in names.prefixes)
        return open_ones or any(name.startswith(text) for name in names._all)
    if lexicon.is_open(kind, lexeme):
        return any(name.startswith(lexicon.folded(kind, lexeme)) for name in names._quoted)
    doubled = b"" if lexeme[:1] == b"[" else lexicon.folded(kind, lexeme + lexeme[-1:])
    return any(name == lexicon.folded(kind, lexeme) or (doubled and name.startswith(doubled)) for name in names._quoted)
