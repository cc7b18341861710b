"""`constrain check`: whether a text is a member, and if not, where it fails and what could have followed.

Works on bytes, without a tokenizer. The text is advanced in blocks; a block that is refused is gone through byte by
byte.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from constrain.cli.console import NOT_A_MEMBER, UsageError
from constrain.cli.constraints import SourceOptions, with_source

BLOCK = 4096


@with_source
def command(
    options: SourceOptions,
    text: Annotated[str, typer.Argument(metavar="FILE|-", help="The text: a file, or - for standard input.")],
    exact: Annotated[
        bool, typer.Option("--exact", help="Keep the last line's newline, which is dropped otherwise.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the exit code.")] = False,
) -> None:
    """Is this text a member? If not, show where it fails and what could follow there.

    A schema takes every spelling of JSON, and keys in any order, unless options say otherwise.
    """
    data = sys.stdin.buffer.read() if text == "-" else _contents(text)
    if not exact:
        data = data.removesuffix(b"\n").removesuffix(b"\r")
    lines = verdict(options.constraint(spelling="any", property_order="any"), data)
    if not quiet:
        typer.echo("\n".join(lines) if lines else "member")
    if lines:
        raise typer.Exit(NOT_A_MEMBER)


def verdict(constraint: Any, data: bytes) -> list[str]:
    """No lines for a member; else lines that say where it fails: place, the text with a caret, what is expected."""
    import constrain
    from constrain.cli.expected import expectation, in_words
    from constrain.errors import span

    compiled = constrain.compile(constraint, constrain.Vocabulary.of_bytes())
    matcher = compiled.matcher()
    good = advance_far(matcher, data)
    if good == len(data) and matcher.is_accepting():
        return []
    reason = constraint.check(data.decode("utf-8", errors="replace"))  # keys that repeat, items that are equal
    if good == len(data) and reason is not None and not reason.startswith("not JSON"):
        return [f"not a member: {reason}"]
    begin = character_start(data, good)
    if begin < good:  # inside a character: what is expected is said of the whole character
        matcher = compiled.matcher()
        matcher.advance_bytes(data[:begin])
    shown = data.decode("utf-8", errors="replace")
    index = len(data[:begin].decode("utf-8", errors="replace"))
    place, *drawing = span(shown, index).split("\n")
    fault = "the text ends too early" if good == len(data) else f"{named(data, begin, good)} is not allowed here"
    because = [f"  because {said}" for said in [_because(constraint, shown, reason)] if said]
    return [f"not a member: {fault}", f"  at {place}", *(f"     {line}" for line in drawing), *because] + [
        f"  {line}" for line in [*expectation(matcher), *in_words(constraint, matcher)]
    ]


def _because(constraint: Any, text: str, reason: str | None) -> str | None:
    """What is wrong with the value: the place and the keyword, or what the check of a finished text says."""
    if reason is not None and not reason.startswith("not JSON"):
        return reason
    from constrain.schema.api import JsonSchema
    from constrain.schema.check.violation import find_violation

    violation = find_violation(constraint, text) if isinstance(constraint, JsonSchema) else None
    return (
        None if violation is None else f"{violation.path}: {violation.message} (at {violation.pointer} of the schema)"
    )


def _contents(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{name}: no such file\n  fix: check the path; - reads standard input") from None


def advance_far(matcher: Any, data: bytes) -> int:
    """Advance by as much of the text as is allowed; the number of bytes that were."""
    done = 0
    while done < len(data) and matcher.advance_bytes(data[done : done + BLOCK]):
        done = min(done + BLOCK, len(data))
    while done < len(data) and matcher.advance_bytes(data[done : done + 1]):
        done += 1
    return done


def character_start(data: bytes, index: int) -> int:
    """Where the character begins that holds this byte; the index itself where the bytes are no UTF-8."""
    start = index
    while start > 0 and start < len(data) and index - start < 3 and data[start] & 0xC0 == 0x80:
        start -= 1
    return start if start < len(data) and data[start] >= 0xC0 else index


def named(data: bytes, begin: int, index: int) -> str:
    """The character at `begin` as a person would name it; the byte at `index` where it is no character."""
    for length in range(1, 5):
        try:
            character = data[begin : begin + length].decode("utf-8")
        except UnicodeDecodeError:
            continue
        if character:
            return repr(character)
    return f"byte 0x{data[index]:02x}"
