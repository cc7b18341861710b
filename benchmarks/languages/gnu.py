"""The messages of GCC and G++ about a text."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence

MISSING = re.compile(r"<stdin>:(\d+):\d+: fatal error: .*: No such file or directory")


def messages_of(command: Sequence[str], text: bytes) -> str:
    """The messages of a compiler that reads its standard input, in English.

    It stops at a header that is not there, so such a line is left out, and the text is read again.
    """
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    lines = text.split(b"\n")
    while True:
        run = subprocess.run(command, input=b"\n".join(lines), capture_output=True, env=environment, check=False)
        messages = run.stderr.decode(errors="replace")
        missing = MISSING.search(messages)
        number = int(missing[1]) if missing else 0
        is_faulty = re.search(rf"<stdin>:{number}:\d+: error", messages)  # as a header without its last quote
        if missing is None or is_faulty or not lines[number - 1]:
            return messages
        lines[number - 1] = b""
