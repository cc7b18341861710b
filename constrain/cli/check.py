"""`constrain check`: whether a text is a member, and if not, where it fails and what could have followed.

Works on bytes, without a tokenizer, as `Constraint.explain` does.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from constrain.cli.console import NOT_A_MEMBER, UsageError, say, say_json
from constrain.cli.constraints import SourceOptions, with_source

if TYPE_CHECKING:
    from constrain.languages.constraints.refusal import Refusal

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
    """The verdict on a text: why it is refused, or None for a valid text; note: a remark on a valid text."""

    refusal: Refusal | None = None
    note: str | None = None

    @property
    def member(self) -> bool:
        """True if the text is a member."""
        return self.refusal is None

    def lines(self) -> list[str]:
        """The verdict as lines of text."""
        if self.refusal is None:
            return ["member" + (f" ({self.note})" if self.note else "")]
        return f"not a member: {self.refusal}".split("\n")

    def as_json(self) -> dict[str, Any]:
        """The verdict as a JSON object: `member`, and what is known besides."""
        if self.refusal is None:
            return {"member": True} | ({"note": self.note} if self.note else {})
        found = self.refusal
        shown: dict[str, Any] = {"member": False, "message": found.message}
        if found.byte is not None:
            line, column = (int(part.split()[1]) for part in found.place.split("\n")[0].split(", "))
            shown |= {"byte": found.byte, "line": line, "column": column, "because": found.because}
            shown |= {"expected": found.expected, "examples": found.examples, "in_the_grammar": found.words}
        if found.path is not None:
            shown |= {"path": found.path, "keyword": found.keyword, "pointer": found.pointer}
        return shown


def verdict(constraint: Any, data: bytes) -> CheckVerdict:
    """True if a text is a member; if not, where it fails, why, and what is expected there."""
    from constrain.masks.derived.refusal import refusal

    return CheckVerdict(refusal(constraint, data))


def _contents(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{name}: no such file\n  fix: check the path; - reads standard input") from None
