"""The refusal of a benchmark to run: one message on standard error and the exit code of a usage error."""

from __future__ import annotations

import sys
from typing import NoReturn

USAGE = 2  # as argparse and `constrain` end


class Refusal(SystemExit):
    """The end of the program, with its message."""

    def __init__(self, message: str) -> None:
        super().__init__(USAGE)
        self.message = message

    def __str__(self) -> str:
        return self.message


def refuse(message: str) -> NoReturn:
    """End the program: the options, the data or the installation are not as they must be."""
    print(message, file=sys.stderr)
    raise Refusal(message)
