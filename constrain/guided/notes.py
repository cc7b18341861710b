"""Lines of reports: what becomes of a source inside another one. Read like the lines of a schema's report."""

from __future__ import annotations

from typing import NamedTuple


class Note(NamedTuple):
    """One line. status: "enforced" by masks, or "residual": checked on a finished text before it is returned."""

    keyword: str
    pointer: str
    status: str
    note: str = ""
