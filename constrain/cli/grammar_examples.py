"""Examples of a grammar: texts that must be members (`accept/`) and texts that must not (`reject/`).

A file is one text, byte for byte. A file `*.lines` has one text in each line, without the line's end; empty lines are
skipped. A member must be accepted, and every prefix of it, cut at any byte, must be allowed.

Cost: one step of the automaton for each byte of the texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from constrain.errors import GrammarError

if TYPE_CHECKING:
    from constrain.languages.constraints.base import Constraint
    from constrain.masks.engine import Matcher

LINES = ".lines"


@dataclass(frozen=True)
class Example:
    """One example.

    Attributes:
        name: Its file, and its line in a file with many.
        text: The text.
        member: Whether the text must be a member.
    """

    name: str
    text: bytes
    member: bool


@dataclass(frozen=True)
class Failure:
    """An example on which the grammar is wrong.

    Attributes:
        example: The example.
        at: The number of bytes that the grammar allows.
    """

    example: Example
    at: int

    def __str__(self) -> str:
        if not self.example.member:
            return f"{self.example.name}: accepted"
        end = self.at == len(self.example.text)
        return f"{self.example.name}: refused " + ("as unfinished" if end else f"at byte {self.at + 1}")


def read_examples(folder: Path, member: bool) -> Iterator[Example]:
    """Yield the examples in a folder, in order of their names. Raises GrammarError if there are none."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    if not paths:
        raise GrammarError(f"{folder} has no examples", fix="put a file for each text into it, or *.lines with many")
    for path in paths:
        name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
        if path.suffix == LINES:
            for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
                if line:
                    yield Example(f"{name}:{number}", line, member)
        else:
            yield Example(name, path.read_bytes(), member)


def failures(constraint: Constraint, examples: Iterable[Example]) -> list[Failure]:
    """The examples on which the constraint is wrong. Raises LimitError."""
    from constrain.languages.vocab.vocabulary import Vocabulary
    from constrain.masks.engine import compile_bytewise  # loads numba

    compiled = compile_bytewise(constraint, Vocabulary([*(bytes([i]) for i in range(256)), None], eos_ids=[256]))
    found = []
    for example in examples:
        matcher = compiled.matcher()
        allowed = _allowed(matcher, example.text)
        if (allowed == len(example.text) and matcher.is_accepting()) != example.member:
            found.append(Failure(example, allowed))
    return found


def _allowed(matcher: Matcher, text: bytes) -> int:
    """The number of bytes that are allowed, one after the other."""
    for index in range(len(text)):
        if not matcher.advance_bytes(text[index : index + 1]):
            return index
    return len(text)
