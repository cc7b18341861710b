"""Go: files of this machine (the standard library, where Go is installed).

On Debian, for CONSTRAIN_CORPORA=go and GOFMT=go/usr/lib/go-1.19/bin/gofmt, without installing it:

    apt-get download golang-1.19-src golang-1.19-go && for each in golang-1.19-*.deb; do dpkg-deb -x $each go; done
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from languages.corpora import files


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """The files, shuffled."""
    for path in files("*.go", random):
        yield "/".join(path.parts[-3:]), path.read_bytes()
