"""Reads other languages inside Lark texts: `%json {...}`, `%regex {...}`, `%lark {...}`, `@name`, tokens, settings.

The caller passes the meaning of each kind (`Readers`). The argument of a directive is JSON, so its end is known.
The directives are found by extensions.py, which puts names in their places.

Limits: `%json`, `%lark`, `@name` and tokens stand in rules, not in terminals; `lexer="dynamic"`. Ignored text may stand
around an embedded text, not inside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from constrain.errors import ConstrainError, GrammarError
from constrain.languages.automata.counts import read_count
from constrain.languages.automata.syntax import Tokens
from constrain.languages.cfg.ebnf import Expression, Leaf
from constrain.languages.cfg.rules import Terminal

if TYPE_CHECKING:
    from constrain.languages.cfg.readers.extensions import TextSettings

Readers = Mapping[str, Callable[[str], Expression]]
"""By kind: "json" and "regex" read the JSON text after `%kind`, "lark" the text between the braces, "@" the name of a
grammar. A reader may raise ConstrainError."""

NO_READERS: Readers = {}

_DIRECTIVE = re.compile(r"%(json|regex|llguidance|grammar_options)(?=[\s{\[\"tf])\s*")
_MEMBER = re.compile(r"(\d+)(?:-(\d+))?|(<[^\s<>]+>)")

Draw = Callable[[int, int], str]  # draws a place: (index, length) in the original text


def read_token(written: str, index: int, place: Draw) -> Expression:
    """The terminal of a token, as it is written at an index: `<name>` or `<[ids]>`."""
    if not written.startswith("<["):
        return Leaf(Terminal(Tokens((written,), False), written))
    inner = written[2:-2].replace(" ", "")
    negated = inner.startswith("^")
    if inner == "*":
        return Leaf(Terminal(Tokens((), True), written))
    members: list[str | tuple[int, int]] = []
    for member in inner.removeprefix("^").split(","):
        match = _MEMBER.fullmatch(member)
        low, high = (read_count(match[1]), read_count(match[2] or match[1])) if match and match[1] else (0, 0)
        if match is None or high < low:
            fix = "write ids, ranges or names: <[5]>, <[5,8-10]>, <[^<|a|>]>, <[*]>"
            raise GrammarError(f"{member!r} is no token id", place=place(index, len(written)), fix=fix)
        members.append(match[3] or (low, high))
    return Leaf(Terminal(Tokens(tuple(members), negated), written))


def read_directive(text: str, index: int, place: Draw, readers: Readers) -> tuple[int, Expression]:
    """(end, expression) of the `%json` or `%regex` at an index."""
    kind = "json" if text.startswith("%json", index) else "regex"
    if kind not in readers:
        fix = "read the text with constrain.grammar, or write the rule out"
        raise GrammarError(f"%{kind} has no meaning for this reader", place=place(index, len(kind) + 1), fix=fix)
    begin, end, _ = _argument(text, index, kind, place)
    return end, _embedded(lambda: readers[kind](text[begin:end]), index, len(kind) + 1, place)


def read_nested(text: str, index: int, begin: int, end: int, place: Draw, readers: Readers) -> Expression:
    """The expression of `%lark {...}` at an index. begin, end: of the text between the braces."""
    if "lark" not in readers:
        fix = "read the text with constrain.grammar, or write the rules out"
        raise GrammarError("%lark has no meaning for this reader", place=place(index, 5), fix=fix)
    return _embedded(lambda: readers["lark"](text[begin:end]), index, 5, place)


def _number(digits: str) -> float:
    """An integer; of more digits than Python reads, infinity."""
    return int(digits) if len(digits) <= 4_300 else float(digits)


def _argument(text: str, index: int, kind: str, place: Draw) -> tuple[int, int, Any]:
    """(begin, end, value) of the JSON after `%kind` at an index."""
    directive = _DIRECTIVE.match(text, index)
    begin = directive.end() if directive else index + len(kind) + 1
    try:
        value, end = json.JSONDecoder(parse_int=_number).raw_decode(text, begin)
    except json.JSONDecodeError as error:
        at = min(error.pos, len(text) - 1)
        fix = f"write a JSON value after it, as in %{kind} {{...}}"
        raise GrammarError(f"%{kind} is not followed by JSON: {error.msg}", place=place(at, 1), fix=fix) from None
    except RecursionError:
        raise GrammarError(
            f"the JSON after %{kind} is nested too deeply", place=place(index, 5), fix="make it flatter"
        ) from None
    return begin, end, value


def _embedded(read: Callable[[], Expression], index: int, length: int, place: Draw) -> Expression:
    """Call a reader and return its result; its errors name the place of the directive."""
    try:
        return read()
    except ConstrainError as error:
        where = place(index, length)
        inside = "" if error.place is None else "\nin it, " + error.place
        raise type(error)(error.message, place=where + inside, fix=error.fix or "correct what is embedded") from error


def read_settings(
    text: str, index: int, directive: str, settings: TextSettings, place: Draw
) -> tuple[int, TextSettings]:
    """(end, settings) of the `%llguidance {...}` at an index, together with the settings so far.

    directive: its name; XGrammar calls it grammar_options
    """
    from constrain.languages.cfg.readers.extensions import TextSettings

    _, end, value = _argument(text, index, directive, place)
    if settings.directive not in ("", directive):
        message = (
            f"%{directive} and %{settings.directive} are of two dialects, which mean stop= and max_chars= otherwise"
        )
        raise GrammarError(message, place=place(index, len(directive) + 1), fix="keep one of them")
    initial, repeated, findings = False, settings.repeated_ignored, list(settings.findings)
    known = "no_forcing, allow_initial_skip, allow_invalid_utf8, ignore_once, skip_repetition"
    for name, setting in value.items() if isinstance(value, dict) else [("", value)]:
        where = place(index, end - index)
        is_flag = isinstance(setting, bool)
        if name == "skip_repetition" and setting in ("once", "unbounded"):
            repeated = setting == "unbounded"
        elif name == "ignore_once" and is_flag:
            repeated = not setting
        elif name == "allow_initial_skip" and is_flag:
            initial = setting
        elif name == "no_forcing" and is_flag:
            findings.append(f"%{directive}: no_forcing changes no language; it has no effect here")
        elif name == "allow_invalid_utf8" and setting is False:
            pass
        elif name == "allow_invalid_utf8":
            message = f"%{directive}: allow_invalid_utf8 is not supported: a grammar is a language of texts"
            raise GrammarError(message, place=where, fix="remove it")
        else:
            raise GrammarError(
                f"%{directive}: there is no setting {name}={setting!r:.40}", place=where, fix=f"there are {known}"
            )
    return end, TextSettings(initial, repeated, tuple(findings), directive)
