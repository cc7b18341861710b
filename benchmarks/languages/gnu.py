"""The messages of GCC and G++ about a text, and the texts that both can be asked about."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence


def is_source(text: bytes) -> bool:
    """True if a text is UTF-8 without a zero byte: the compilers take others, the grammars do not."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in text


def messages_of(command: Sequence[str], text: bytes) -> str:
    """The messages of a compiler that reads its standard input, in English."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    run = subprocess.run(command, input=text, capture_output=True, env=environment, check=False)
    return run.stderr.decode(errors="replace")
