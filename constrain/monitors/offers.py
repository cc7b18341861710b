"""The names that may stand next, as single steps of a search for an end."""

from __future__ import annotations

from constrain.errors import UnsatisfiableError
from constrain.monitors.monitor import NAME, QUOTED
from constrain.monitors.reading import MonitorReading, State


def rests_of_names(reading: MonitorReading, state: State) -> list[bytes]:
    """Give the rests of the names that may stand, or that the begun lexeme may become, the shortest first.

    Args:
        reading: A reading of the monitor.
        state: Its state after the text.

    Returns:
        Texts, of which the grammar may refuse some; none where any name may stand.
    """
    lexicon = reading.lexicon
    try:
        names = reading.language(state)
    except UnsatisfiableError:
        return []
    if names is None or names is False:
        return []
    if state.kind == QUOTED and lexicon.is_open(QUOTED, state.text):
        close = b"]" if state.text[:1] == b"[" else state.text[:1]
        rests = names.rests(lexicon.folded(QUOTED, state.text), quoted=True)
        found = [rest.replace(close, 2 * close) + close for rest in rests]
    else:
        begun = lexicon.folded(NAME, state.text) if state.kind == NAME else b""
        found = names.rests(begun)
        found += [prefix[len(begun) :] or b"a" for prefix in names.prefixes if prefix.startswith(begun)]
        if not begun and not found:
            found = [b'"%b"' % name.replace(b'"', b'""') for name in names.rests(b"", quoted=True)]
    return sorted(filter(None, found), key=lambda text: (len(text), text))
