"""markdown-it as an oracle for tables: a text is valid if the whole of it is one table.

No verdict (None) on what the grammar's README leaves out: a row that does not begin with a pipe, blank lines around
the table, control characters.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

from languages.oracles import of_text

_PARSER = MarkdownIt("commonmark").enable("table")


@of_text
def table(shown: str) -> bool | None:
    """The verdict."""
    lines = re.split(r"\r\n|\n|\r", shown)
    if lines[-1] == "" and len(lines) > 1:
        lines.pop()
    tokens = _PARSER.parse(shown)
    if not tokens or tokens[0].type != "table_open" or tokens[-1].type != "table_close":
        return False
    if sum(token.type == "table_open" for token in tokens) != 1 or tokens[0].map != [0, len(lines)]:
        return False
    odd = re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", shown)
    return None if odd or any(not re.match(r" {0,3}\|", line) for line in lines) else True
