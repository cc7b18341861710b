"""The meaning of what Lark texts embed: `%json`, `%regex`, `%lark` and `@name`.

    %json {...}                               texts of a JSON Schema; the options are `json_schema`'s defaults, and what
                                              `x-guidance` says of whitespace, separators, escapes
    %regex {"substring_words": "..."}         any span of the words of a text, as llguidance divides it: runs of
                                              whitespace, of word characters, and of others
    %regex {"substring_chars": "..."}         any span of characters
    %regex {"substring_chunks": ["..."]}      spans of a list; all spans may be empty
    %regex {"pattern": "..."}                 a Python regex, as `constrain.regex` reads it
    %lark {...}                               another grammar, with its own rules, terminals and ignored text
    @name                                     a grammar that the caller passes by name

`readers` is passed to the reader of Lark texts, which finds the directives (cfg/readers/extensions.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from constrain.errors import GrammarError
from constrain.languages.cfg.ebnf import Expression
from constrain.languages.cfg.readers.embedded import Readers
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import optional
from constrain.languages.constraints.parts import part
from constrain.languages.constraints.regular import choices, regex
from constrain.languages.constraints.substring import substring

_WORDS = re.compile(r"\s+|\w+|[^\s\w]+")
_SUBSTRINGS: dict[str, tuple[type, Callable[[Any], list[str]]]] = {
    "substring_words": (str, _WORDS.findall),
    "substring_chars": (str, list),
    "substring_chunks": (list, list),
}
"""By name: the type of the argument, and what divides it into the symbols of spans."""


def _json(text: str) -> Expression:
    """The expression of `%json`."""
    from constrain.languages.schema import json_schema  # loads referencing; few grammar texts embed a schema

    value: Any = json.loads(text, parse_int=float)  # the schema is read from the text
    given = value.get("x-guidance") if isinstance(value, dict) else None
    if not isinstance(given, dict):
        return part(json_schema(text))
    schema = json_schema(text, whitespace=_guidance_layout(given))
    escapes = given.get("json_allowed_escapes")
    return part(schema if escapes is None else schema & _with_escapes(escapes))


_WITHOUT_EFFECT = ("coerce_one_of", "lenient", "json_allow_general_unicode_escapes")
"""Options of llguidance that take schemas or texts which are taken here anyway, or spellings that nobody writes."""
_LAYOUT = ("item_separator", "key_separator", "whitespace_pattern", "whitespace_flexible")


def _with_escapes(letters: Any) -> Constraint:
    """The texts whose backslashes stand before these letters only; in JSON they stand in strings. Raises GrammarError.

    Hexadecimal digits need no mention: what else makes a text JSON asks for them.
    """
    if not isinstance(letters, str) or not set(letters) <= set('nrbtf/\\"u'):
        message = f"json_allowed_escapes are letters that JSON has after a backslash, not {letters!r:.40}"
        raise GrammarError(message, fix='like "nrbtf\\\\\\""')
    return regex(r"(?:[^\\]" + (rf"|\\[{re.escape(letters)}]" if letters else "") + ")*")


def _guidance_layout(given: dict[str, Any]) -> Any:
    """The `whitespace=` of llguidance's options; None: they do not say. Raises GrammarError for others."""
    known = (*_LAYOUT, *_WITHOUT_EFFECT, "json_allowed_escapes")
    for name in given:
        if name not in known:
            message = f"x-guidance: there is no option {name!r:.40}"
            raise GrammarError(message, fix=f"leave it out; there are {', '.join(known)}")
    separators = {name: given[name] for name in ("item_separator", "key_separator") if name in given}
    if given.get("whitespace_pattern") is not None:
        return {"pattern": given["whitespace_pattern"], **separators}
    flexible = given.get("whitespace_flexible", True)
    if not isinstance(flexible, bool):
        raise GrammarError(f"whitespace_flexible is true or false, not {flexible!r:.40}", fix="leave it out")
    if flexible and (separators or "whitespace_flexible" in given):
        return {"pattern": r"[ \t\n\r]+", **separators}
    return separators or (None if flexible else "compact")


def _regex(text: str) -> Expression:
    """The expression of `%regex`."""
    value: Any = json.loads(text, parse_int=float)
    if not isinstance(value, dict) or len(value) != 1 or not (value.keys() & {"pattern", *_SUBSTRINGS}):
        known = ", ".join(["pattern", *_SUBSTRINGS])
        raise GrammarError(f"%regex needs an object with one of {known}", fix='write %regex {"pattern": "..."}')
    [(name, argument)] = value.items()
    if name == "pattern":
        return part(regex(argument))
    wanted, divide = _SUBSTRINGS[name]
    if not isinstance(argument, wanted):
        raise GrammarError(
            f"{name} takes {'a list of texts' if wanted is list else 'a text'}, not {type(argument).__name__}: "
            f"{argument!r:.60}",
            fix='write %regex {"substring_chunks": ["...", "..."]}, or a text for the others',
        )
    return spans_of(divide(argument))


def spans_of(chunks: list[str]) -> Expression:
    """Any span of a list of texts, also the empty one."""
    symbols = [chunk for chunk in chunks if chunk != ""]
    return part(optional(substring(symbols, "chunk")) if symbols else choices([""]))


def readers(grammars: Mapping[str, Constraint]) -> Readers:
    """Readers of what a Lark text embeds. grammars: what `@name` stands for, by name."""

    def lark(text: str) -> Expression:
        from constrain.languages.grammar_text.text import GrammarText  # which reads its text with these readers

        nested = GrammarText(text, "lark", "start", "dynamic", grammars=tuple(grammars.items()))
        return part(nested)

    def named(name: str) -> Expression:
        if name not in grammars:
            known = ", ".join(grammars) or "none"
            fix = f"pass it: constrain.grammar(text, grammars={{{name!r}: constraint}})"
            raise GrammarError(f"there is no grammar {name!r}; passed are: {known}", fix=fix)
        return part(grammars[name])

    return {"json": _json, "regex": _regex, "lark": lark, "@": named}
