"""What the commands say and how they end: exit codes, and every fault as one message on standard error.

A `ConstrainError` names its place and its fix already; a file that cannot be read is named with the reason. Anything
else is a fault of ours: one line that says so, exit code 70, and the traceback only where `CONSTRAIN_TRACEBACK` is
set.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import typer

OK = 0
NOT_A_MEMBER = 1
BAD_CONSTRAINT = 2  # usage errors of the options end with 2 as well
UNFINISHED = 3
INTERNAL = 70
INTERRUPTED = 130

EXIT_CODES = (
    "Exit codes: 0 done, the text is a member, the token is allowed; 1 not a member, refused; "
    "2 bad usage, an unreadable file, or a constraint that is malformed or cannot be fulfilled; "
    "3 a generation did not finish (length or dead end)."
)


class UsageError(Exception):
    """Options that make no sense together, or a value that cannot be read; shown as it is."""


def fail(message: str, code: int = BAD_CONSTRAINT) -> NoReturn:
    """Say what is wrong on standard error and end with this exit code."""
    typer.echo(f"constrain: {message}", err=True)
    raise typer.Exit(code)


def reported(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with every exception turned into a message and an exit code."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        from constrain.errors import ConstrainError

        try:
            command(*args, **options)
        except typer.Exit:
            raise
        except UsageError as error:
            fail(str(error))
        except ConstrainError as error:
            fail(f"{type(error).__name__}: {error}")
        except BrokenPipeError:  # the reader of our output went away, which is its right
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(OK) from None
        except OSError as error:
            fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
        except KeyboardInterrupt:
            fail("interrupted", INTERRUPTED)
        except Exception as error:
            if os.environ.get("CONSTRAIN_TRACEBACK"):
                raise
            fail(
                f"internal error: {type(error).__name__}: {error}\n"
                "  fix: this is a fault of constrain; please report it with CONSTRAIN_TRACEBACK=1 set",
                INTERNAL,
            )

    return run
