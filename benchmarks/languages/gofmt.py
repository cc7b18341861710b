"""gofmt as an oracle: a text is valid if Go's own parser takes it as a source file.

The text goes to it as a file, since from standard input it takes fragments, too.
`GOFMT` in the environment names the program where it is not on the path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile

from languages.oracles import of_text

GOFMT = os.environ.get("GOFMT", "gofmt")
if shutil.which(GOFMT) is None:
    raise ImportError(GOFMT)


@of_text
def gofmt(shown: str) -> bool:
    """A source file of Go."""
    with tempfile.NamedTemporaryFile(suffix=".go") as file:
        file.write(shown.encode())
        file.flush()
        run = subprocess.run([GOFMT, "-e", "-l", file.name], capture_output=True, check=False)
    return run.returncode == 0
