"""All exceptions of the library, and its warnings.

    ConstrainError(ValueError)
    ├── SchemaError          a JSON Schema is malformed or uses an unsupported keyword
    ├── GrammarError         a grammar text cannot be read, or a rule has no meaning
    ├── RegexError           a pattern cannot be read, or is not regular
    ├── VocabularyError      the tokens of a tokenizer have no bytes, or no id ends a text
    ├── UnsatisfiableError   no text fulfils a constraint
    ├── IncompleteError      an output has no value: it was cut off, or nothing valid was completed
    ├── LimitError           a stated limit (states, memory, time) was reached
    └── MissingExtraError    an optional dependency is not installed; also an ImportError

A message names the fault, its place and a fix, on lines of their own:

    SchemaError: minLength (5) is greater than maxLength (2): no string can match
      at $.properties.name
         {"type": "string", "minLength": 5, "maxLength": 2}
      fix: lower minLength or raise maxLength
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

PACKAGE = str(Path(__file__).resolve().parent)
MAX_LINE, MAX_LINES = 2_000, 200  # of a text of a message: what is at fault may be megabytes


def shortened(text: str) -> str:
    """Cut the long lines of a text in their middle, and the text after many lines."""
    if len(text) <= MAX_LINE:
        return text
    lines = text.split("\n", MAX_LINES)
    half = MAX_LINE // 2 - 20
    cut = [f"{x[:half]} … ({len(x):,} characters) … {x[-half:]}" if len(x) > MAX_LINE else x for x in lines]
    return "\n".join(cut)


class ConstrainError(ValueError):
    """The base of all exceptions of the library.

    Args:
        message: One sentence with the values at fault.
        place: The place of the fault: a JSON pointer, or `line L, column C` followed by the text and a caret.
        fix: A suggestion to the user.

    Attributes:
        message, place, fix: The arguments.

    Example:
        >>> import constrain
        >>> try:
        ...     constrain.regex("a(b")
        ... except constrain.ConstrainError as error:
        ...     print(type(error).__name__, error.place.splitlines()[0])
        RegexError line 1, column 2
    """

    def __init__(self, message: str, *, place: str | None = None, fix: str | None = None) -> None:
        self.message = message = shortened(message)
        self.place = place = place and shortened(place)
        self.fix = fix = fix and shortened(fix)
        lines = [message]
        if place:
            first, *rest = place.split("\n")
            lines += [f"  at {first}", *(f"     {line}" for line in rest)]
        if fix:
            lines.append(f"  fix: {fix}")
        super().__init__("\n".join(lines))


class SchemaError(ConstrainError):
    """A JSON Schema is malformed or uses an unsupported keyword.

    Args:
        message, place, fix: See `ConstrainError`.

    Example:
        >>> import constrain
        >>> try:
        ...     constrain.json_schema({"type": "text"})
        ... except constrain.SchemaError as error:
        ...     print(error.message)
        type 'text' does not exist
    """


class GrammarError(ConstrainError):
    """A grammar text cannot be read, or a rule has no meaning.

    Args:
        message, place, fix: See `ConstrainError`.

    Example:
        >>> import constrain
        >>> try:
        ...     constrain.grammar("start: a").reading
        ... except constrain.GrammarError as error:
        ...     print(error.message)
        a is used but not defined
    """


class RegexError(ConstrainError):
    """A pattern cannot be read, or does not describe a regular language.

    Args:
        message, place, fix: See `ConstrainError`.

    Example:
        >>> import constrain
        >>> try:
        ...     constrain.regex(r"(a+)b\\1")
        ... except constrain.RegexError as error:
        ...     print(error.message)
        a backreference is not regular: it needs memory of the text
    """


class VocabularyError(ConstrainError):
    """The tokens of a tokenizer have no bytes, or no token id ends a text.

    Args:
        message, place, fix: See `ConstrainError`.

    Example:
        >>> import constrain
        >>> try:
        ...     constrain.Vocabulary([b"a", b"b"], eos_ids=[])
        ... except constrain.VocabularyError as error:
        ...     print(error.message)
        the vocabulary has no end-of-text id, so no text could ever end
    """


class UnsatisfiableError(ConstrainError):
    """No text fulfils a constraint.

    Args:
        message, place, fix: See `ConstrainError`.

    Example:
        >>> import constrain
        >>> try:
        ...     constrain.between(constrain.choices(["yes", "no"]), prefix="x")
        ... except constrain.UnsatisfiableError as error:
        ...     print(error.message)
        no text of the language begins with the prefix: 'x' is not allowed there
    """


class IncompleteError(ConstrainError):
    """An output has no value: it was cut off, or nothing valid was completed.

    Args:
        message, place, fix: See `ConstrainError`.

    Example:
        >>> import constrain
        >>> try:
        ...     constrain.generate(constrain.reference.load(), "A: ", regex="a{9}", max_tokens=2, seed=1).unwrap()
        ... except constrain.IncompleteError as error:
        ...     print(error.message)
        the output was cut off after 2 tokens: 'aa'
    """


class LimitError(ConstrainError):
    """A stated limit (states, memory, time) was reached.

    Args:
        message, place, fix: See `ConstrainError`.

    Example:
        >>> import constrain
        >>> try:
        ...     constrain.regex("(" * 201 + ")" * 201)
        ... except constrain.LimitError as error:
        ...     print(error.message)
        more than 200 groups inside each other
    """


class MissingExtraError(ConstrainError, ImportError):
    """An optional dependency is not installed. It is also an `ImportError`.

    Args:
        message, place, fix: See `ConstrainError`; the fix has the command for pip.

    Example:
        >>> import constrain
        >>> issubclass(constrain.MissingExtraError, ImportError)
        True
    """


def span(text: str, index: int, length: int = 1) -> str:
    """Draw a place in a text: line and column (from 1), the line, and carets below it.

    Args:
        text: The text.
        index: The index of the first character of the place.
        length: The number of characters.

    Example:
        >>> from constrain.errors import span
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
    left = max(0, column - 60)  # of a long line, show at most 60 characters before the caret and 40 after it
    shown = row[left : column + 40]
    carets = "^" * max(1, min(length, len(shown) - (column - left)))
    return f"line {line}, column {column + 1}\n{shown}\n{' ' * (column - left)}{carets}"


def did_you_mean(name: object, known: Iterable[str], otherwise: str) -> str:
    """Write the fix for a name that does not exist: the one that is nearly it, before what can be done otherwise.

    Args:
        name: The name as it was given.
        known: The names that exist.
        otherwise: What to do if none of them is meant.

    Returns:
        A sentence; `otherwise` alone if no name is near.

    Example:
        >>> did_you_mean("lokup", ["lookup", "words"], "choose one of: lookup, words")
        "did you mean 'lookup'? Or choose one of: lookup, words"
    """
    near = get_close_matches(str(name)[:MAX_LINE], list(map(str, known)), 1)
    return f"did you mean {near[0]!r}? Or {otherwise}" if near else otherwise


def warn(message: str) -> None:
    """Warn of the line outside of this package that called it; Python says it once for each such line.

    Args:
        message: What is wrong, and the fix.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(Path(frame.f_code.co_filename)).startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
