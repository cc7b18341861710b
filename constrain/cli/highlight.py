"""Colours of what the commands say, on a terminal: what was refused, where, and what could be done.

The words stay as they are. `rich` finds them by these patterns, so that a pipe and a terminal get the same text.
"""

from __future__ import annotations

import re

from rich.highlighter import RegexHighlighter
from rich.text import Text
from rich.theme import Theme

REFUSED, FORCED = "bold red", "cyan"
THEME = Theme(
    {
        "said.bad": REFUSED,
        "said.good": "bold green",
        "said.label": "bold",
        "said.fix": "bold green",
        "said.place": "magenta",
        "said.literal": "yellow",
        "said.quiet": "dim",
    }
)
CARETS = re.compile(r"^(.*)\n( *)\^+$", re.MULTILINE)
PATTERNS = [
    r"^\s*(?P<bad>not a member|refused)(?=[: ]|$)",
    r"^\s*(?P<good>member|allowed|nothing is doubtful)\b",
    r"^(?:refused): (?P<bad>'.*?'|token \d+(?: = b'.*?')?)(?= after| at the start| would| is a)",
    r"^not a member: (?P<bad>'.*?'|byte 0x[0-9a-f]{2})(?= is not allowed)",
    r"^\s*(?P<bad>\^+)$",
    r"^\s+(?P<label>expected|then expected|for example|in the grammar|inside|because|up to there)\b",
    r"^\s+at (?P<place>\S.*)$",
    r"^\s*(?P<fix>fix:)",
    r"^(?P<quiet>constrain:)",
    r"^(?:constrain: )(?P<bad>[A-Za-z]*Error|internal error)(?=:)",
    r"^(?P<label>reading|unused|loop|shadowed|ambiguous)(?=:)",
    r"(?P<literal>`[^`]`)",
]


class Said(RegexHighlighter):
    """Colours lines of `check`, `explain`, `lint`, `test-grammar`, and messages of faults."""

    base_style = "said."
    highlights = [f"(?m){pattern}" for pattern in PATTERNS]  # noqa: RUF012  (rich's own way to give them)

    def highlight(self, text: Text) -> None:
        """Colour the words, and what stands above a caret to the end of its line."""
        super().highlight(text)
        for drawing in CARETS.finditer(text.plain):
            begin = drawing.start(1) + len(drawing[2])
            text.stylize(REFUSED, begin, max(begin, drawing.end(1)))
