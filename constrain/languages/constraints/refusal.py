"""`Refusal`: the reason why a text is not in a language, or a token may not come next.

`Constraint.explain` finds the one, `Matcher.explain` the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Refusal:
    """The reason why a text is not in the language, or a token may not come next. `str` gives it as lines for a person.

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
        layer: What refuses it: the grammar, or what stands around it (docs/howto/debugging-masks.md).
        allowed: Tokens that the layer would allow there, with their bytes; the first of them. Of a token only.
        allowed_count: The number of all of them.

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
    layer: str = "grammar"
    allowed: dict[int, bytes | None] = field(default_factory=dict)
    allowed_count: int = 0

    def __str__(self) -> str:
        lines = [self.message]
        if self.byte is not None:
            place, *drawing = self.place.split("\n")
            lines += [f"  at {place}", *(f"     {line}" for line in drawing)]
            lines += [] if self.because is None else [f"  because {self.because}"]
            lines += [f"  expected: {self.expected}"] if self.expected else []
            lines += [f"  allowed: {self._allowed()}"] if self.layer != "grammar" else []
            lines += ["  for example: " + "  ".join(self.examples)] if self.examples else []
            lines += [f"  {line}" for line in self.words]
        return "\n".join(lines)

    def _allowed(self) -> str:
        """The tokens that would be allowed, as a person reads them."""
        shown = [f"{token}" if text is None else f"{token} = {text!r}" for token, text in self.allowed.items()]
        more = self.allowed_count - len(shown)
        return (", ".join(shown) or "no token") + (f", and {more} more" if more else "")
