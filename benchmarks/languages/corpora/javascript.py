"""JavaScript: files of packages that are installed on this machine (Node's npm, documentation themes)."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from languages.corpora import files


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """The files, shuffled."""
    for path in [*files("*.js", random), *files("*.mjs", random)]:
        yield "/".join(path.parts[-3:]), path.read_bytes()
