"""Output and exit codes of the commands, and every fault as one message on standard error.

A `ConstrainError` names its place and its fix already; a file that cannot be read is named with the reason. Anything
else is a fault of ours: one line that says so, exit code 70, and the traceback only where `CONSTRAIN_TRACEBACK` is
set. On a terminal the same words are coloured (highlight.py), and slow work is shown; `rich` is imported only
there.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import typer

if TYPE_CHECKING:
    from rich.console import Console

OK = 0
NOT_A_MEMBER = 1
BAD_CONSTRAINT = 2  # usage errors of the options end with 2 as well
UNFINISHED = 3
INTERNAL = 70
INTERRUPTED = 130

EXIT_CODES = (
    "Exit codes: 0 done, the text is a member, the token is allowed; 1 not a member, refused; "
    "2 bad usage, an unreadable file, or a constraint that is malformed or cannot be fulfilled; "
    "3 a generation did not finish (length or dead end); 70 a fault of constrain itself; 130 interrupted (Ctrl-C)."
)


class UsageError(Exception):
    """Options that make no sense together, or a value that cannot be read; shown as it is."""


def terminal(stream: TextIO) -> Console | None:
    """The terminal behind a stream, None where there is none; without colours where `NO_COLOR` is set."""
    if not stream.isatty():
        return None
    from rich.console import Console

    from constrain.cli.highlight import THEME, Said

    colours: Any = None if os.environ.get("NO_COLOR") else "auto"
    return Console(file=stream, color_system=colours, theme=THEME, highlighter=Said())


def say(text: str, *, err: bool = False) -> None:
    """A text and a line's end; its words are coloured on a terminal."""
    screen = terminal(sys.stderr if err else sys.stdout)
    if screen is None:
        typer.echo(text, err=err)
    else:
        screen.out(text, highlight=True)


def say_json(value: dict[str, Any]) -> None:
    """One JSON object on one line."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def waiting(text: str) -> AbstractContextManager[Any]:
    """A sign of life on standard error while the block runs, if that is a terminal."""
    screen = terminal(sys.stderr)
    return nullcontext() if screen is None else screen.status(text)


def fail(message: str, code: int = BAD_CONSTRAINT) -> NoReturn:
    """Say what is wrong on standard error and end with this exit code."""
    from constrain.errors import shortened

    say(f"constrain: {shortened(message)}", err=True)
    raise typer.Exit(code)


def as_error(error: BaseException) -> dict[str, Any]:
    """A fault as a JSON object: its kind, message, place and fix, as far as they are known."""
    from constrain.errors import ConstrainError

    if isinstance(error, ConstrainError):
        found = {"message": error.message, "place": error.place, "fix": error.fix}
    else:
        message, _, fix = str(error).partition("\n  fix: ")
        found = {"message": message, "place": None, "fix": fix or None}
    return {"error": {"kind": type(error).__name__, **found}}


def _told(error: Exception) -> tuple[str, int]:
    """(the message about a fault, the exit code)."""
    from constrain.errors import ConstrainError

    if isinstance(error, ConstrainError):
        return f"{type(error).__name__}: {error}", BAD_CONSTRAINT
    if isinstance(error, OSError):
        named = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        return named, BAD_CONSTRAINT
    if isinstance(error, UsageError):
        return str(error), BAD_CONSTRAINT
    return (
        f"internal error: {type(error).__name__}: {error}\n"
        "  fix: this is a fault of constrain; please report it with CONSTRAIN_TRACEBACK=1 set"
    ), INTERNAL


def _check_text(name: str, value: object) -> None:
    """Raise UsageError for an option that is no text. Bytes that are no UTF-8 may name a file."""
    if not isinstance(value, str) or value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        unit, before = ord(value[error.start]), len(value[: error.start].encode())
        if not 0xDC80 <= unit <= 0xDCFF:
            raise UsageError(f"{name}: half of a surrogate is no text (at offset {before})") from None
        if not os.path.lexists(value):
            raise UsageError(f"{name}: not UTF-8 (byte 0x{unit - 0xDC00:02x} at offset {before})") from None


def reported(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with every exception turned into a message and an exit code; under `--json` also into JSON."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            for name, value in options.items():
                for each in value if isinstance(value, (list, tuple)) else (value,):
                    _check_text(name, each)
            command(*args, **options)
        except typer.Exit:
            raise
        except BrokenPipeError:  # the reader of our output went away, which is its right
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(OK) from None
        except KeyboardInterrupt:
            fail("interrupted", INTERRUPTED)
        except Exception as error:
            message, code = _told(error)
            if code == INTERNAL and os.environ.get("CONSTRAIN_TRACEBACK"):
                raise
            if options.get("as_json"):
                say_json(as_error(error))
            fail(message, code)

    return run
