"""Every exception of the library.

    ConstrainError(ValueError)
    ├── SchemaError          a JSON Schema that is malformed or uses what is not supported
    ├── GrammarError         a grammar text that cannot be read, or a rule that makes no sense
    ├── RegexError           a pattern that cannot be read, or is not regular
    ├── VocabularyError      a tokenizer whose tokens have no bytes, no end-of-text id, ...
    ├── UnsatisfiableError   a constraint that no text fulfils
    ├── LimitError           a stated limit (states, memory, time) was reached
    └── MissingExtraError    an optional dependency is not installed; an ImportError too

A message names the fault, the place and a way out, on lines of their own:

    SchemaError: minLength (5) is greater than maxLength (2): no string can match
      at $.properties.name
         {"type": "string", "minLength": 5, "maxLength": 2}
      fix: lower minLength or raise maxLength
"""

from __future__ import annotations


class ConstrainError(ValueError):
    """A fault of a constraint, drawn as: message, place, fix.

    message: one sentence with the values at fault.
    place: where it is — a JSON pointer, or `line L, column C` followed by the text and a caret.
    fix: what the user can do about it.
    """

    def __init__(self, message: str, *, place: str | None = None, fix: str | None = None) -> None:
        self.message = message
        self.place = place
        self.fix = fix
        lines = [message]
        if place:
            first, *rest = place.split("\n")
            lines += [f"  at {first}", *(f"     {line}" for line in rest)]
        if fix:
            lines.append(f"  fix: {fix}")
        super().__init__("\n".join(lines))


class SchemaError(ConstrainError):
    """A JSON Schema that is malformed or uses what is not supported."""


class GrammarError(ConstrainError):
    """A grammar text that cannot be read, or a rule that makes no sense."""


class RegexError(ConstrainError):
    """A pattern that cannot be read, or that is not a regular language."""


class VocabularyError(ConstrainError):
    """A tokenizer whose tokens cannot be turned into bytes, or that cannot end a text."""


class UnsatisfiableError(ConstrainError):
    """A constraint that no text fulfils."""


class LimitError(ConstrainError):
    """A stated limit (states, memory, time) was reached."""


class MissingExtraError(ConstrainError, ImportError):
    """An optional dependency is not installed; the message has the line for pip."""


def span(text: str, index: int, length: int = 1) -> str:
    """Draw a place in a text for `place=`: line and column (from 1), the line, a caret below.

    >>> print(span("a(b", 1))
    line 1, column 2
    a(b
     ^
    """
    line = text.count("\n", 0, index) + 1
    start = text.rfind("\n", 0, index) + 1
    end = text.find("\n", start)
    row = text[start : len(text) if end < 0 else end]
    column = index - start
    left = max(0, column - 60)  # keep a long line readable: at most 60 characters before the caret, 40 after
    shown = row[left : column + 40]
    carets = "^" * max(1, min(length, len(shown) - (column - left)))
    return f"line {line}, column {column + 1}\n{shown}\n{' ' * (column - left)}{carets}"
