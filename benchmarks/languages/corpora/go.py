"""Go: files of this machine (the standard library, where Go is installed)."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from languages.corpora import files


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """The files, shuffled."""
    for path in files("*.go", random):
        yield "/".join(path.parts[-3:]), path.read_bytes()
