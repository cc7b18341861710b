"""`Refusal`: the reason why a text is not in the language of a constraint; `Constraint.explain` finds it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Refusal:
    """The reason why a text is not in the language of a constraint. `str` gives it as lines for a person.

    Attributes:
        message: The fault in one sentence.
        byte: The first byte that is not allowed, from 0; None if the whole text is at fault.
        place: Line and column, then the line with a caret (`constrain.errors.span`).
        because: The rule that the finished value breaks, in one sentence.
        path: The place in a JSON value that breaks a schema, as a JSON path; None where that is not the reason.
        keyword: The keyword that it breaks, if one alone is to blame.
        pointer: The subschema of the keyword, as a JSON path in the schema.
        expected: The characters that could follow.
        examples: Short texts that could follow, if they say more.
        words: The same in the words of a grammar.

    Example:
        >>> import constrain
        >>> refusal = constrain.regex("[0-9]{2}").explain("1x")
        >>> refusal.byte, refusal.expected
        (1, '`0`–`9`')
    """

    message: str
    byte: int | None = None
    place: str = ""
    because: str | None = None
    path: str | None = None
    keyword: str | None = None
    pointer: str | None = None
    expected: str = ""
    examples: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [self.message]
        if self.byte is not None:
            place, *drawing = self.place.split("\n")
            lines += [f"  at {place}", *(f"     {line}" for line in drawing)]
            lines += [] if self.because is None else [f"  because {self.because}"]
            lines.append(f"  expected: {self.expected}")
            lines += ["  for example: " + "  ".join(self.examples)] if self.examples else []
            lines += [f"  {line}" for line in self.words]
        return "\n".join(lines)
