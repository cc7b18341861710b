r"""Macros of XGrammar's EBNF: `Regex("[0-9]{5}")`, `Substring("ab", "c")`, `TagDispatch(("<t>", rule))`, tokens.

* `Regex(pattern, flags=, json_string=)`: a pattern in ECMA-262's syntax as a whole; `.` is any character unless flags
  are given; `json_string`: without `"`, `\` and controls.
* `Substring(chunk, ...)`: any span of the chunks, also the empty one.
* `TagDispatch((tag, rule), ..., loop_after_dispatch=, excludes=)`: free text in which a rule follows each tag.
* `Token(id, ...)`, `ExcludeToken(id, ...)`: one token of these ids, or of all others.
* `TokenTagDispatch((id, rule), ..., loop_after_dispatch=, excludes=)`: free tokens in which a rule follows each token.

Syntax: https://xgrammar.mlc.ai/docs/, "EBNF Grammar", section "Macros". An argument is a string, a number, `true`,
`false`, the name of a rule, or a tuple of such. This module reads no text: ebnf_reader.py passes the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from constrain.errors import ConstrainError, GrammarError
from constrain.languages.automata import syntax
from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.syntax import Tokens, shown_tokens
from constrain.languages.cfg.ebnf import Choice, Expression, Leaf, Ref, Repeated, Sequence
from constrain.languages.cfg.free_text import dispatched
from constrain.languages.cfg.rules import Terminal

Substring = Callable[[list[str]], Expression]


@dataclass(frozen=True)
class MacroRule:
    """The name of a rule as an argument."""

    name: str


Macro = Callable[[list[Any], dict[str, Any], "Substring | None"], Expression]


def expand(name: str, given: list[Any], options: dict[str, Any], substring: Substring | None) -> Expression:
    """The expression of a macro. substring: makes the spans of a list of texts. Raises ConstrainError."""
    macro, known = MACROS[name]
    for option in options:
        if option not in known:
            fix = f"it takes {', '.join(known)}" if known else "it takes none"
            raise GrammarError(f"{name} has no argument {option}", fix=fix)
    return macro(given, options, substring)


def _regex(given: list[Any], options: dict[str, Any], substring: Substring | None) -> Expression:
    flags = options.get("flags")
    if len(given) != 1 or not isinstance(given[0], str):
        raise GrammarError("Regex takes one pattern", fix='Regex("[0-9]+")')
    if flags is not None and (not isinstance(flags, str) or set(flags) - set("isu")):
        raise GrammarError(f"Regex takes the flags i, s and u, not {flags!r}", fix='flags="is"')
    node = parse_ecma(given[0], whole=True, flags="s" if flags is None else flags)
    if _flag(options, "json_string", False):
        unsafe = syntax.chars([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)])
        safe = syntax.repeat(syntax.intersect(syntax.ANY_CHAR, syntax.complement(unsafe)))
        node = syntax.intersect(node, safe)
    return Leaf(Terminal(node, f"Regex({given[0]!r})"))


def _substring(given: list[Any], options: dict[str, Any], substring: Substring | None) -> Expression:
    if not all(isinstance(chunk, str) for chunk in given):
        raise GrammarError("Substring takes texts", fix='Substring("to be ", "or not")')
    if substring is None:
        raise GrammarError("Substring has no meaning for this reader", fix="read the text with constrain.grammar")
    return substring(given)


def _flag(options: Mapping[str, Any], name: str, default: bool) -> bool:
    value = options.get(name, default)
    if not isinstance(value, bool):
        raise GrammarError(f"{name} is true or false, not {value!r}", fix=f"{name}=true")
    return value


def _pairs(given: list[Any], kind: type, name: str) -> list[tuple[Any, Expression]]:
    """The pairs of something of a type with a rule."""
    for pair in given:
        wrong = not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], MacroRule)
        if wrong or not isinstance(pair[0], kind) or pair[0] == "":
            first = "a text that is not empty" if kind is str else "a token's id"
            raise GrammarError(f"{name} takes pairs of {first} and a rule", fix=f"{name}((..., rule), (..., rule))")
    return [(pair[0], Ref(pair[1].name)) for pair in given]


def _excluded(options: Mapping[str, Any], kind: type, name: str) -> list[Any]:
    value = options.get("excludes", ())
    if not isinstance(value, tuple) or not all(isinstance(one, kind) and one != "" for one in value):
        what = "texts that are not empty" if kind is str else "tokens' ids"
        raise GrammarError(f"excludes of {name} is a tuple of {what}", fix="excludes=(..., ...)")
    return list(value)


def _tag_dispatch(given: list[Any], options: dict[str, Any], substring: Substring | None) -> Expression:
    excludes = _excluded(options, str, "TagDispatch")
    return dispatched(_pairs(given, str, "TagDispatch"), _flag(options, "loop_after_dispatch", True), excludes)


def _one_token(ids: list[int], negated: bool) -> Expression:
    node = Tokens(tuple((i, i) for i in ids), negated)
    return Leaf(Terminal(node, shown_tokens(node)))


def _token(given: list[Any], options: dict[str, Any], substring: Substring | None, negated: bool = False) -> Expression:
    if not given or not all(isinstance(i, int) and not isinstance(i, bool) for i in given):
        raise GrammarError("a token is given by its id", fix="Token(128010)")
    return _one_token(list(dict.fromkeys(given)), negated)


def _token_tag_dispatch(given: list[Any], options: dict[str, Any], substring: Substring | None) -> Expression:
    pairs = _pairs(given, int, "TokenTagDispatch")
    excludes = _excluded(options, int, "TokenTagDispatch")
    triggers = [trigger for trigger, _ in pairs]
    if {*triggers} & {*excludes}:
        raise ConstrainError("a token is both a trigger and excluded", fix="exclude less")
    free = Repeated(_one_token([*triggers, *excludes], True), 0, None)
    pieces = Choice(tuple(Sequence((_one_token([trigger], False), contents)) for trigger, contents in pairs))
    if not pairs:
        return free
    if _flag(options, "loop_after_dispatch", True):
        return Sequence((Repeated(Sequence((free, pieces)), 0, None), free))
    return Sequence((free, Repeated(pieces, 0, 1)))


_DISPATCH = ("loop_after_dispatch", "excludes")
MACROS: dict[str, tuple[Macro, tuple[str, ...]]] = {
    "Regex": (_regex, ("flags", "json_string")),
    "Substring": (_substring, ()),
    "TagDispatch": (_tag_dispatch, _DISPATCH),
    "Token": (_token, ()),
    "ExcludeToken": (partial(_token, negated=True), ()),
    "TokenTagDispatch": (_token_tag_dispatch, _DISPATCH),
}
"""By name: what makes the expression of the arguments, and the named arguments that it takes."""
