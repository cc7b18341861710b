"""Parsers of libraries as oracles: patterns of `re`, XML by expat, tables of Markdown, texts of Lark and of GBNF.

None is said of what is beyond a grammar, or left out by one: each function says what that is.
"""

from __future__ import annotations

import re
import warnings
from typing import Any
from xml.parsers import expat as xml
from xml.parsers.expat import errors

from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.languages.cfg.readers.gbnf import read_gbnf
from languages.oracles import of_text

RE_BEYOND = (
    "invalid group reference", "cannot refer to an open group",
    "cannot refer to group defined in the same lookbehind", "unknown group name", "redefinition of group name",
    "look-behind requires fixed-width", "min repeat greater than max repeat", "undefined character name",
)  # fmt: skip
_LEFT_OUT = re.compile(r"\(\?[a-zA-Z]*x[a-zA-Z-]*[:)]|\\N\{")


@of_text
def pattern(shown: str) -> bool | None:
    """A pattern of the `re` of Python 3.11, with possessive quantifiers.

    None: references to groups that do not exist or are open, names that repeat, look-behind of variable width, ranges
    and repetitions whose end is before their beginning or too large; the flag x and \\N{...}.
    """
    if _LEFT_OUT.search(shown):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(shown)
    except re.error as error:
        if error.msg.startswith("bad character range"):
            return False if re.search(r"range \\[dDsSwW]-|-\\[dDsSwW]", error.msg) else None
        return None if error.msg.startswith(RE_BEYOND) else False
    except (OverflowError, RecursionError):
        return None
    return True


XML_BEYOND = {errors.codes[name] for name in (errors.XML_ERROR_TAG_MISMATCH, errors.XML_ERROR_DUPLICATE_ATTRIBUTE)}


@of_text
def expat(shown: str) -> bool | None:
    """XML 1.0, read as UTF-8 whatever the text declares.

    References to entities that an external DTD might define, which expat lets pass, are refused. None: names of tags
    that do not match, attributes that repeat, an internal DTD.
    """
    text = shown.encode()
    verdict, doctype_end = _parse(text)
    if verdict and doctype_end:
        begin = text.rindex(b"<!DOCTYPE", 0, doctype_end)
        verdict, _ = _parse(text[:begin] + text[text.index(b">", doctype_end) + 1 :])
    return verdict


def _parse(text: bytes) -> tuple[bool | None, int]:
    """(verdict, where the document type declaration ends; 0 where there is none). The version, 1.x, is checked here."""
    seen: dict[str, Any] = {"internal": False, "version": "1.0", "end": 0}
    parser = xml.ParserCreate("utf-8")
    parser.StartDoctypeDeclHandler = lambda name, system, public, internal: seen.update(internal=bool(internal))
    parser.EndDoctypeDeclHandler = lambda: seen.update(end=parser.CurrentByteIndex)
    parser.XmlDeclHandler = lambda version, encoding, standalone: seen.update(version=version)
    try:
        parser.Parse(text, True)
    except xml.ExpatError as error:
        return (None if error.code in XML_BEYOND or seen["internal"] else False), 0
    if seen["internal"]:
        return None, 0
    return re.fullmatch("1[.][0-9]+", seen["version"]) is not None, seen["end"]


@of_text
def table(shown: str) -> bool | None:
    """A text that is one table as a whole.

    None: a row that does not begin with a pipe, blank lines around the table, control characters.
    """
    from markdown_it import MarkdownIt

    lines = re.split(r"\r\n|\n|\r", shown)
    if lines[-1] == "" and len(lines) > 1:
        lines.pop()
    tokens = MarkdownIt("commonmark").enable("table").parse(shown)
    if not tokens or tokens[0].type != "table_open" or tokens[-1].type != "table_close":
        return False
    if sum(token.type == "table_open" for token in tokens) != 1 or tokens[0].map != [0, len(lines)]:
        return False
    odd = re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", shown)
    return None if odd or any(not re.match(r" {0,3}\|", line) for line in lines) else True


GBNF_BEYOND = ("is used but not defined", "is defined more than once", "bad range", "{m,n} needs m <= n")


@of_text
def lark(shown: str) -> bool:
    """A grammar that lark's parser of such files takes. Whether its symbols are defined is not asked."""
    from lark import UnexpectedInput
    from lark.load_grammar import _get_parser

    try:
        _get_parser().parse(shown + "\n", "start")  # as lark's loader calls it
    except UnexpectedInput:
        return False
    return True


@of_text
def gbnf(shown: str) -> bool | None:
    """A grammar that this library reads. None: a rule that is not defined, or twice, or bounds the wrong way round.

    A grammar without a root, or one that derives nothing, is a text of the format like others.
    """
    try:
        read_gbnf(shown)
    except UnsatisfiableError:
        return True
    except ConstrainError as error:
        if error.message.startswith("there is no rule"):
            return True
        return None if any(words in error.message for words in GBNF_BEYOND) else False
    return True
