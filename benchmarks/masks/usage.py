"""How a benchmark refuses to run: one message on standard error and the exit code of a usage error."""

from __future__ import annotations

import sys
from typing import NoReturn

USAGE = 2  # as argparse and `constrain` end


def refuse(message: str) -> NoReturn:
    """End the program: the options, the data or the installation are not as they must be."""
    print(message, file=sys.stderr)
    raise SystemExit(USAGE)
