"""Java: files of this machine (the JDK's own sources, where they are unpacked).

On Debian, for CONSTRAIN_CORPORA=jdk/java.base/java:

    apt-get download openjdk-17-source && dpkg-deb -x openjdk-17-source_*.deb deb
    unzip -q deb/usr/lib/jvm/openjdk-17/lib/src.zip -d jdk
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from languages.corpora import files


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """The files, shuffled."""
    for path in files("*.java", random):
        yield "/".join(path.parts[-3:]), path.read_bytes()
