"""C: the C files and headers of this machine, each preprocessed with all that it includes, if it compiles."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from random import Random

from languages.corpora import files

COMMAND = ["gcc", "-std=gnu17", "-E", "-P", "-x", "c"]
LARGEST = 20_000  # bytes: for each changed text GCC runs once or twice


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """Yield the output of the preprocessor on each file, if GCC compiles it."""
    for path in [*files("*.c", random), *files("*.h", random)]:
        run = subprocess.run([*COMMAND, str(path)], capture_output=True, check=False)
        if run.returncode == 0 and run.stdout.strip() and len(run.stdout) < LARGEST and _compiles(run.stdout):
            yield "/".join(path.parts[-3:]), run.stdout


def _compiles(text: bytes) -> bool:
    command = ["gcc", "-std=gnu17", "-fsyntax-only", "-x", "c", "-"]
    return subprocess.run(command, input=text, capture_output=True, check=False).returncode == 0
