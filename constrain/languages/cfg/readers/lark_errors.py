"""Errors of Lark grammar texts with their place: lark's own messages name a rule but rarely its position.

The idea: the text is scanned once into names, strings and regexes, without comments. So a name in one of lark's
messages can be shown where it is used or where it is defined. A table says which of the two, for each message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from lark import Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from constrain.errors import GrammarError, span
from constrain.languages.cfg.readers.extensions import Extracted

_SCAN = re.compile(
    r'(?P<skip>//[^\n]*|\#[^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*"i?)|(?P<regexp>/(?!/)(?:\\.|[^/\\])*/[imslux]*)'
    r"|(?P<name>%?[A-Za-z_]\w*)|(?P<other>.)",
    re.DOTALL,
)
# What lark reads as several names, or as an optional part: a character class without slashes, a name in mixed case.
_MISREAD = re.compile(
    r"(?P<set>\[(?:\^[^\]\n]*|_?(?:[a-z]-[a-z]|[A-Z]-[A-Z]|\d-\d)+[\w.+\-\\]*)\][*+?]?)"  # no [rule-name]
    r"|(?P<mixed>(?<!@)\b(?=\w*[a-z])(?=\w*[A-Z])[A-Za-z_]\w*)"
)
_DEFINES = re.compile(r"(\{[^}\n]*\})?[ \t]*(\.[ \t]*[+-]?\d+)?[ \t]*:(?!:)")

_SYNTAX = "see the syntax at https://lark-parser.readthedocs.io/en/stable/grammar.html"

# (lark's message, with the name as the first group; our message; the place to show; the fix)
_MESSAGES = [
    (r"Terminal used but not defined: (\w+)", "{0} is used but not defined", "use", "define it, or %import it"),
    (
        r"Template '([^']+)' used but not defined",
        "template {0} is used but not defined",
        "use",
        "define it with parameters in braces: name{x}: ...",
    ),
    (
        r"Wrong number of template arguments used for (\w+) \(expected (\d+), got (\d+)\)",
        "wrong number of arguments for template {0}: {2}, not {1}",
        "use",
        "give one argument for each parameter",
    ),
    (
        r"Rules aren't allowed inside terminals \(NonTerminal\('(\w+)'\) in (\w+)\)",
        "{0}, a rule, is used in terminal {1}",
        "use",
        "make {0} a terminal (upper case), or {1} a rule (lower case)",
    ),
    (
        r"'([^']+)' defined more than once",
        "{0} is defined more than once",
        "last definition",
        "join the definitions with |, or use %extend or %override",
    ),
    (r"Cannot override a nonexisting \w+ (\w+)", "there is no {0} to override", "last definition", "remove %override"),
    (r"Can't extend \w+ (\w+)", "there is no {0} to extend", "last definition", "remove %extend"),
    (
        r"Cannot extend \w+ with different parameters: (\w+)",
        "%extend gives {0} other parameters than its definition",
        "last definition",
        "make the parameters alike",
    ),
    (
        r"Recursion in terminal '([^']+)'",
        "terminal {0} refers to itself",
        "definition",
        "make it a rule (lower case): only rules may recurse",
    ),
    (
        r"double-underscore are reserved \(Error at (\w+)\)",
        "the name {0} is reserved: it begins with two underscores",
        "definition",
        "choose another name",
    ),
    (
        r"Template Parameter conflicts with rule (\w+)",
        "a template's parameter is named like the rule {0}",
        "definition",
        "rename the parameter",
    ),
    (
        r"Duplicate Template Parameter (\w+) \(in template \w+\)",
        "two parameters of a template are named {0}",
        "use",
        "rename one of them",
    ),
    (
        r"Cannot import '(\w+)' from '([^']+)'",
        "{0}, imported from {1}, is already defined",
        "use",
        "import it under another name: -> name",
    ),
    (
        r"Nothing was imported from grammar `(\w+)`",
        "%import names the grammar {0}, but nothing in it",
        "use",
        "name a rule or terminal: %import grammar.NAME",
    ),
]


class Places:
    """The places of names and literals in a grammar text.

    Attributes:
        text: The text that lark reads.
        file: The path of an imported file; "" for the text that was passed.
        original: The original text, if directives were extracted from it.
        extracted: Those directives, with their places.
    """

    def __init__(self, text: str, file: str = "", original: str = "", extracted: Extracted | None = None) -> None:
        self.text = text
        self.file = file
        self.original = original
        self.extracted = extracted

    @cached_property
    def _names(self) -> list[tuple[str, int, bool]]:
        """(name, index, whether it is defined there) of every name."""
        names = []
        for piece in _SCAN.finditer(self.text):
            if piece["name"] is not None:
                line = self.text[self.text.rfind("\n", 0, piece.start()) + 1 : piece.start()]
                first = not line.replace("%override", "").replace("%extend", "").strip(" \t?!")
                names.append((piece[0], piece.start(), first and _DEFINES.match(self.text, piece.end()) is not None))
        return names

    def definition(self, name: str, *, last: bool = False) -> str | None:
        """The place where a rule or terminal is defined; None if this text does not define it."""
        return self._draw(name, self._indices(name, defines=True), last)

    def use(self, name: str) -> str | None:
        """The place where a rule or terminal is first used."""
        return self._draw(name, self._indices(name, defines=False), False)

    def _indices(self, name: str, *, defines: bool) -> list[int]:
        return [index for other, index, is_definition in self._names if other == name and is_definition == defines]

    def _draw(self, name: str, indices: list[int], last: bool) -> str | None:
        return self.at(indices[-1 if last else 0], len(name)) if indices else None

    def misread(self) -> GrammarError | None:
        """The error for the first thing that lark reads as something else than it looks like; None: there is none."""
        text = self.original or self.text
        for piece in _outside_comments(text):
            line = text[text.rfind("\n", 0, piece.start()) + 1 : piece.start()]
            match = _MISREAD.match(text, piece.start())
            if match is None or line.startswith("%import") or piece["string"] or piece["regexp"]:
                continue
            place = span(text, match.start(), len(match[0]))
            place = f"{self.file}, {place}" if self.file else place
            if match["set"]:
                message, fix = "a character class stands in a regex, between slashes", f"write /{match[0]}/"
            else:
                message = f"{match[0]} mixes upper and lower case, which lark reads as several names"
                fix = f"write {match[0].lower()}, a rule, or {match[0].upper()}, a terminal"
            return GrammarError(message, place=place, fix=fix)
        return None

    def token(self, token: Token) -> str | None:
        """The place of a token of lark's tree; None if it comes from an imported file."""
        start = token.start_pos
        if start is None or self.text[start : start + len(token)] != str(token):
            return None
        return self.at(start, len(token))

    def search(self, pattern: str) -> str | None:
        """The first place outside comments that matches a regex."""
        for piece in _outside_comments(self.text):
            if match := re.compile(pattern).match(self.text, piece.start()):
                return self.at(match.start(), len(match[0]))
        return None

    def written(self, name: str) -> str:
        """A name as the imported file spells it: lark renames `name` to `path__name`, and `_name` to `_path__name`."""
        short = name.rpartition("__")[2]
        if not self.file or short == name:
            return name
        return f"_{short}" if name.startswith("_") else short

    def shown(self, name: str) -> str:
        """A name for messages; the made-up name of an embedded text is replaced."""
        if self.extracted is None:
            return name
        return "an embedded text" if name in self.extracted.parts else self.extracted.written_name(name)

    def at(self, index: int, length: int = 1) -> str:
        """Draws the place at an index."""
        if self.extracted is not None:
            begin = self.extracted.written(index)
            return span(self.original, begin, min(length, self.extracted.written(index + length) - begin))
        place = span(self.text, index, length)
        return f"{self.file}, {place}" if self.file else place


def _outside_comments(text: str) -> Iterator[re.Match[str]]:
    return (piece for piece in _SCAN.finditer(text) if piece["skip"] is None)


def located(error: BaseException, places: Places) -> GrammarError:
    """Translate one of lark's errors: message, place and fix."""
    misread = places.misread()
    if misread is not None:
        return misread
    unexpected = error if isinstance(error, UnexpectedInput) else error.__context__
    if isinstance(unexpected, UnexpectedInput):
        return _syntax_error(str(error), unexpected, places)
    if isinstance(error, OSError):
        return _missing_import(error, places)
    message = str(error).split("\n")[0] or type(error).__name__
    for pattern, template, kind, fix in _MESSAGES:
        if match := re.search(pattern, message):
            name = places.written(match[1])
            place = places.use(name) if kind == "use" else places.definition(name, last=kind == "last definition")
            place = place or places.use(name) or places.definition(name)
            groups = (places.shown(name), *match.groups()[1:])
            if groups[0] != name:
                fix = "use it in a rule (lower case)"
            for number, group in enumerate(groups):
                fix = fix.replace(f"{{{number}}}", group)
            return GrammarError(template.format(*groups), place=place, fix=fix)
    return GrammarError(f"lark cannot load the grammar: {message}", place=_any_literal(message, places))


def _syntax_error(message: str, unexpected: UnexpectedInput, places: Places) -> GrammarError:
    text = places.text
    index = len(text) if unexpected.pos_in_stream is None else min(unexpected.pos_in_stream, len(text))
    fix = _SYNTAX
    if isinstance(unexpected, UnexpectedCharacters):
        problem, fix = _bad_character(text, index)
    else:
        problem = re.sub(r", at line \d+ column \d+$", "", message.split("\n")[0])
        if text[index : index + 2] in (":=", "::"):
            fix = "this looks like GBNF: pass format='gbnf'"
        elif problem.startswith("Unexpected token") and isinstance(unexpected, UnexpectedToken):
            problem = f"unexpected {str(unexpected.token)!r}"
            if not str(unexpected.token).strip():
                problem, index = "the rule ends too early", _unclosed(text, index)
                problem = "this is not closed" if text[index : index + 1] in ("(", "[", "{") else problem
    while index > 0 and text[index : index + 1] in ("", "\n", "\r") and text[index - 1 : index] in "\r\n":
        index -= 1  # point at the end of the line that lacks something, not at the next line
    return GrammarError(problem[:1].lower() + problem[1:], place=places.at(index), fix=fix)


_DIRECTIVES = "%ignore, %import, %declare, %override, %extend"


def _bad_character(text: str, index: int) -> tuple[str, str]:
    """(message, fix) for a character at which lark's lexer fails."""
    character = text[index : index + 1]
    if character == '"':
        return "this string is not closed", 'add "; a newline is written \\n'
    if character == "/":
        return "this regex is not closed", "add /; a slash inside is written \\/"
    if character == "%" and (name := re.match(r"%\w*", text[index:])):
        return f"unknown directive {name[0]}", f"the directives are {_DIRECTIVES}, and %json and %regex in rules"
    if character == "\ufeff":
        return "a byte order mark", "remove it: the text begins after it"
    return f"unexpected character {character!r}", _SYNTAX


def _unclosed(text: str, end: int) -> int:
    """The index of the innermost parenthesis that is open at `end`; `end` itself if none is open."""
    opened: list[int] = []
    for piece in _outside_comments(text[:end]):
        if piece[0] in ("(", "[", "{"):
            opened.append(piece.start())
        elif piece[0] in (")", "]", "}") and opened:
            opened.pop()
    return opened[-1] if opened else end


def _missing_import(error: OSError, places: Places) -> GrammarError:
    file = str(error.filename)
    dotted = re.escape(file.removesuffix(".lark")).replace("/", r"\s*\.\s*")
    return GrammarError(
        f"cannot find the grammar file {file!r} to import from",
        place=places.search(rf"%import[ \t.]+{dotted}"),
        fix="lark brings common, python, unicode and lark; %import .name reads name.lark in the folder base=",
    )


def _any_literal(message: str, places: Places) -> str | None:
    """The place of the first literal that a message quotes."""
    for piece in _outside_comments(places.text):
        if (piece["string"] or piece["regexp"]) and piece[0] in message:
            return places.at(piece.start(), len(piece[0]))
    return None
