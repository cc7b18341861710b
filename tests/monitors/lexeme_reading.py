"""A text under a monitor, read lexeme by lexeme: `Reading` does it byte by byte, and remembers places."""

from __future__ import annotations

from typing import Any

from constrain.monitors.monitor import COMMENT, END, NAME, SIGN, SPACE


def refused(monitor: Any, text: bytes, to_end: bool = True) -> int | None:
    """Where the lexeme begins that a monitor refuses; the length of the text: its end; None: it is accepted.

    to_end: whether the text must be allowed to end.
    """
    lexicon, state = monitor.lexicon, monitor.start()
    begin, scan, short = lexicon.begin, lexicon.scan, lexicon.short
    resumed = getattr(monitor, "resumed", lambda state: None)
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
        if kind in (SPACE, COMMENT):
            continue
        begun = monitor.begin(state, kind, lexeme if kind == SIGN else lexeme[:1])
        if begun is None:
            return first
        if kind == NAME:
            names = monitor.language(begun)
            if names is not None and not names.has(lexicon.folded(kind, lexeme)):
                return first
        state = monitor.advance(begun, kind, lexeme)
        if state is None:
            return first
    if to_end:
        ended = monitor.begin(state, END, b"")
        if ended is None or not monitor.may_end(ended):
            return len(text)
    return None
