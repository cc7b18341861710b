"""gofmt as an oracle: does Go's own parser take the text as a source file?

The text goes to it as a file, since from standard input it takes fragments, too.
`GOFMT` in the environment names the program where it is not on the path.
"""

from __future__ import annotations

import os
import subprocess
import tempfile


def gofmt(text: bytes) -> bool:
    """A source file of Go. Raises ImportError where gofmt is not installed."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    try:
        with tempfile.NamedTemporaryFile(suffix=".go") as file:
            file.write(text)
            file.flush()
            program = os.environ.get("GOFMT", "gofmt")
            run = subprocess.run([program, "-e", "-l", file.name], capture_output=True, check=False)
    except FileNotFoundError:
        raise ImportError("gofmt") from None
    return run.returncode == 0
