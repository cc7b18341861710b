r"""`JsonLayout`: one's own whitespace and separators for `json_schema(whitespace=...)`.

    JsonLayout(indent=2)                              exactly what json.dumps(value, indent=2) writes
    JsonLayout(separators=(",", ": "))                exactly what json.dumps(value, separators=...) writes
    JsonLayout(most=2)                                at most two characters of whitespace between two tokens
    JsonLayout(pattern=r"[ \n]{0,8}")                 a regex between two tokens
    JsonLayout(item_separator=r"\s?, ?")              a regex instead of the comma, or of the colon

The names are those of json.dumps and of other engines' options: XGrammar's `indent`, `separators` and
`max_whitespace_cnt` (`most`), llguidance's `item_separator`, `key_separator` and `whitespace_pattern` (`pattern`).
Whatever is written remains JSON: of the texts of a pattern, those count that JSON allows (`\s` is more than its four
characters), and a pattern without such texts is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from constrain.errors import ConstrainError, RegexError
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.shape import not_empty
from constrain.languages.automata.syntax import Node, chars, concat, intersect, literal, repeat
from constrain.languages.cfg.transform.analysis import empty_node

_BLANK = chars([(0x20, 0x20), (0x09, 0x0A), (0x0D, 0x0D)])


@dataclass(frozen=True)
class JsonLayout:
    r"""Whitespace and separators of JSON texts, for `json_schema(whitespace=...)`.

    Attributes:
        indent: As in json.dumps: spaces (or a text) for each level, each member on a line of its own; empty containers
            are `[]` and `{}`. None: one line.
        separators: As in json.dumps: what stands between two members, and between key and value; by default
            `(", ", ": ")`, with `indent` `(",", ": ")`.
        most: Any whitespace, but at most so many characters between two tokens. Excludes `indent` and `separators`.
        pattern: A regex in Python's syntax: whitespace between two tokens, or none. Excludes the others above.
        item_separator: A regex instead of the comma; whitespace of `most` or `pattern` may stand around.
        key_separator: A regex instead of the colon.

    Raises:
        ConstrainError: Options exclude each other, or what they say is no whitespace or separator of JSON.
        RegexError: A regex is malformed.

    Example:
        >>> import constrain
        >>> pretty = constrain.json_schema({"type": "array"}, whitespace=constrain.schema.JsonLayout(indent=2))
        >>> matcher = constrain.compile(pretty, constrain.Vocabulary.of_bytes()).matcher()
        >>> matcher.advance_bytes(b"[\n  1"), matcher.advance_bytes(b",2"), matcher.advance_bytes(b",\n  2\n]")
        (True, False, True)
    """

    indent: int | str | None = None
    separators: tuple[str, str] | None = None
    most: int | None = None
    pattern: str | None = None
    item_separator: str | None = None
    key_separator: str | None = None

    def __post_init__(self) -> None:
        ways = [
            name
            for name, given in (
                ("indent and separators", (self.indent, self.separators) != (None, None)),
                ("most", self.most is not None),
                ("pattern", self.pattern is not None),
            )
            if given
        ]
        if len(ways) > 1:
            raise ConstrainError(f"whitespace: {ways[0]} excludes {ways[1]}", fix="leave one of them out")
        is_fixed = ways == ["indent and separators"]
        if is_fixed and (self.item_separator is not None or self.key_separator is not None):
            raise ConstrainError("whitespace: a separator is given twice", fix='separators=(",", ": ")')
        if isinstance(self.indent, bool) or not isinstance(self.indent, int | str | None):
            raise ConstrainError(f"indent is a number of spaces or a text, not {self.indent!r:.40}", fix="indent=2")
        if isinstance(self.indent, int) and self.indent < 0:
            raise ConstrainError(f"indent is not negative: {self.indent}", fix="indent=0 is line ends alone")
        if self.most is not None and (isinstance(self.most, bool) or not isinstance(self.most, int) or self.most < 0):
            raise ConstrainError(f"most is a number of characters, not {self.most!r:.40}", fix="most=2")
        if isinstance(self.separators, list):
            object.__setattr__(self, "separators", tuple(self.separators))
        two = self.separators
        if two is not None and not (isinstance(two, tuple) and len(two) == 2 and all(isinstance(s, str) for s in two)):
            raise ConstrainError(f"separators is a pair of texts, not {two!r:.40}", fix='separators=(",", ": ")')
        if set(self.unit) - set(" \t\n\r"):
            raise ConstrainError(f"indent is whitespace, not {self.indent!r:.40}", fix='indent="\\t"')
        for language, name, mark in (
            (self.item, "item_separator" if two is None else "separators", ","),
            (self.key, "key_separator" if two is None else "separators", ":"),
            (self.gap, "pattern", ""),
        ):
            if language is not None and empty_node(intersect(language, _with_blanks(mark))):
                what = f"a {mark!r} with whitespace around it" if mark else "whitespace: spaces, tabs and line ends"
                raise ConstrainError(f"{name} is not {what}", fix="JSON allows nothing else there")

    @property
    def is_fixed(self) -> bool:
        """True if the whitespace is that of json.dumps."""
        return self.most is None and self.pattern is None and self.item_separator is None and self.key_separator is None

    @property
    def unit(self) -> str:
        """The indentation of one level."""
        return " " * self.indent if isinstance(self.indent, int) else self.indent or ""

    @property
    def item(self) -> Node:
        """The separator of members."""
        if not self.is_fixed:
            return literal(",") if self.item_separator is None else _pattern(self.item_separator, "item_separator", ",")
        default = ", " if self.indent is None else ","
        return literal(default if self.separators is None else self.separators[0])

    @property
    def key(self) -> Node:
        """The separator of a key and its value."""
        if not self.is_fixed:
            return literal(":") if self.key_separator is None else _pattern(self.key_separator, "key_separator", ":")
        return literal(": " if self.separators is None else self.separators[1])

    @property
    def gap(self) -> Node | None:
        """The whitespace between two tokens, without the empty text; None: there is none."""
        if self.most is not None:
            return repeat(_BLANK, 1, self.most) if self.most else None
        if not self.pattern:
            return None
        return not_empty(_pattern(self.pattern, "pattern", ""))


def _with_blanks(mark: str) -> Node:
    """A mark with optional JSON whitespace around it."""
    return concat(repeat(_BLANK), literal(mark), repeat(_BLANK))


def _pattern(pattern: str, name: str, mark: str) -> Node:
    if not isinstance(pattern, str):
        raise ConstrainError(f"{name} is a regex, not {pattern!r:.40}", fix="write it as text")
    try:
        return intersect(parse_python(pattern), _with_blanks(mark))
    except RegexError as error:
        raise RegexError(error.message, place=f"{name}, {error.place}", fix=error.fix) from None


def read_json_layout(given: Any) -> JsonLayout:
    """The layout of a mapping of its fields. Raises ConstrainError."""
    names = [field.name for field in fields(JsonLayout)]
    for name in given:
        if name not in names:
            raise ConstrainError(f"whitespace has no {name!r}", fix=f"there are {', '.join(names)}")
    return JsonLayout(**given)
