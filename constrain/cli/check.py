"""`constrain check`: whether a text is a member, and if not, where it fails and what could have followed.

Works on bytes, without a tokenizer. The text is advanced in blocks; a block that is refused is gone through byte by
byte.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from constrain.cli.console import NOT_A_MEMBER, UsageError, say, say_json
from constrain.cli.constraints import SourceOptions, with_source

if TYPE_CHECKING:
    from constrain.languages.schema.check.violation import SchemaViolation

BLOCK = 4096
OTHER_ORDER = "keys in another order than the schema's"


@with_source
def command(
    options: SourceOptions,
    text: Annotated[str, typer.Argument(metavar="FILE|-", help="The text: a file, or - for standard input.")],
    exact: Annotated[
        bool, typer.Option("--exact", help="Keep the last line's newline, which is dropped otherwise.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the exit code.")] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="One JSON object: member, note; or message, byte, line, column, because, path, keyword, pointer, "
            "expected, examples, in_the_grammar.",
        ),
    ] = False,
) -> None:
    """Say whether a text is a member; if not, where it fails and what could follow there.

    A schema takes every spelling of JSON, and keys in any order, unless options say otherwise.
    """
    data = sys.stdin.buffer.read() if text == "-" else _contents(text)
    if not exact:
        data = data.removesuffix(b"\n").removesuffix(b"\r")
    found = verdict(options.constraint(spelling="any", property_order="any"), data)
    if found.member and (options.schema or options.type) and options.property_order is None:
        in_order = options.constraint(spelling="any", property_order="schema")
        found = CheckVerdict(note=None if verdict(in_order, data).member else OTHER_ORDER)
    if as_json:
        say_json(found.as_json())
    elif not quiet:
        say("\n".join(found.lines()))
    if not found.member:
        raise typer.Exit(NOT_A_MEMBER)


@dataclass(frozen=True)
class CheckVerdict:
    """The verdict on a text.

    Attributes:
        message: The fault of a text that is not valid; None for a valid one.
        note: A remark on a valid text.
        byte: The first byte that is not allowed, from 0; None if the whole text is at fault.
        place: Line and column, then the line with a caret (`constrain.errors.span`).
        because: The rule that the finished value breaks, in one sentence.
        violation: The same with the keyword of the schema, if one alone is at fault.
        expected: The characters that could follow.
        examples: Short texts that could follow, if they say more.
        words: The same in the words of a grammar.
    """

    message: str | None = None
    note: str | None = None
    byte: int | None = None
    place: str = ""
    because: str | None = None
    violation: SchemaViolation | None = None
    expected: str = ""
    examples: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    @property
    def member(self) -> bool:
        """True if the text is a member."""
        return self.message is None

    def lines(self) -> list[str]:
        """The verdict as lines of text."""
        if self.message is None:
            return ["member" + (f" ({self.note})" if self.note else "")]
        lines = [f"not a member: {self.message}"]
        if self.byte is None:
            return lines
        place, *drawing = self.place.split("\n")
        lines += [f"  at {place}", *(f"     {line}" for line in drawing)]
        if self.because is not None:
            lines.append(f"  because {self.because}")
        from constrain.cli.expected import as_lines

        return lines + [f"  {line}" for line in [*as_lines(self.expected, self.examples), *self.words]]

    def as_json(self) -> dict[str, Any]:
        """The verdict as a JSON object: `member`, and what is known besides."""
        if self.message is None:
            return {"member": True} | ({"note": self.note} if self.note else {})
        shown: dict[str, Any] = {"member": False, "message": self.message}
        if self.byte is not None:
            line, column = (int(part.split()[1]) for part in self.place.split("\n")[0].split(", "))
            shown |= {"byte": self.byte, "line": line, "column": column, "because": self.because}
            shown |= {"expected": self.expected, "examples": self.examples, "in_the_grammar": self.words}
        if self.violation is not None:
            shown |= {name: getattr(self.violation, name) for name in ("path", "keyword", "pointer")}
        return shown


def verdict(constraint: Any, data: bytes) -> CheckVerdict:
    """True if a text is a member; if not, where it fails, why, and what is expected there."""
    import constrain
    from constrain.cli.expected import allowed_bytes, describe, in_words, telling_examples
    from constrain.errors import span

    compiled = constrain.compile(constraint, constrain.Vocabulary.of_bytes())
    matcher = compiled.matcher()
    good = advance_far(matcher, data)
    if good == len(data) and matcher.is_accepting():
        return CheckVerdict()
    shown = data.decode("utf-8", errors="replace")
    reason = constraint.check(shown)  # keys that repeat, items that are equal
    reason = None if reason is None or reason.startswith("not JSON") else reason
    if good == len(data) and reason is not None:
        return CheckVerdict(reason)
    begin = character_start(data, good)
    if begin < good:  # inside a character: what is expected is said of the whole character
        matcher = compiled.matcher()
        matcher.advance_bytes(data[:begin])
    violation = None if reason is not None else _violation(constraint, shown)
    if violation is not None:
        reason = f"{violation.path}: {violation.message} (at {violation.pointer} of the schema)"
    return CheckVerdict(
        "the text ends too early" if good == len(data) else f"{named(data, begin, good)} is not allowed here",
        byte=begin,
        place=span(shown, len(data[:begin].decode("utf-8", errors="replace"))),
        because=reason,
        violation=violation,
        expected=describe(*allowed_bytes(matcher)),
        examples=telling_examples(matcher),
        words=in_words(constraint, matcher),
    )


def _violation(constraint: Any, text: str) -> SchemaViolation | None:
    """The location in the value of a text that breaks the schema, and the keyword."""
    from constrain.languages.schema.api import JsonSchema
    from constrain.languages.schema.check.violation import find_violation

    return find_violation(constraint, text) if isinstance(constraint, JsonSchema) else None


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
    """The index of the first byte of the character that has this byte; the index itself if the bytes are no UTF-8."""
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
