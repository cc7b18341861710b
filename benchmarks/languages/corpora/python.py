"""Python: the files of the standard library of the interpreter that runs this; installed packages are left out."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from pathlib import Path
from random import Random


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """Files in UTF-8, in an order drawn by the seed; an oracle refuses the ones with intended errors."""
    root = Path(sysconfig.get_path("stdlib"))
    paths = sorted(path for path in root.rglob("*.py") if "site-packages" not in path.parts)
    random.shuffle(paths)
    for path in paths:
        text = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
        if _is_utf8(text):
            yield path.relative_to(root).as_posix(), text


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
