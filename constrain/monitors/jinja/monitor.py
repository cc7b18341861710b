"""The monitor of Jinja's templates.

The idea: what stands outside of tags is one lexeme (lexicon.py), after which an expression or a statement begins.
Scopes are as in Jinja: loops, `with`, macros, blocks and the like have one, `if` has none. Names that a macro or block
uses may be bound after it: they are put off until the template ends.

    at                          what comes next
    text, raw                   text; text of a raw block; raw tag, closing: what ends their tags
    tag, end, end block         the word of a statement; what follows its last one; the name of the block that ends
    operand, term, operator     an operand; one before which no `not` may stand; what follows one
    keyword                     the `=` after the name of an argument
    member, filter, test        names; filtered, tested: what follows them
    target, targeted            what is bound, and what follows it; target member: an attribute that is stored
    name, named                 the name of a macro, a block or a module, and what follows it; block named
    parameters, parameter       the parenthesis of a macro's parameters, and its content; called: what is called
"""

from __future__ import annotations

import string
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from constrain.errors import ConstrainError
from constrain.monitors.bound import Bound
from constrain.monitors.jinja import words
from constrain.monitors.jinja.lexicon import LEXICON, RAW, TEXT
from constrain.monitors.jinja.state import JinjaState, start
from constrain.monitors.jinja.statements import JinjaStatements
from constrain.monitors.jinja.values import JinjaValue, attributes, example, typed_value
from constrain.monitors.monitor import END, NAME, NUMBER, SIGN, STRING, Names, names_of

STRIPPED = frozenset({"target", "targeted", "end", "end block", "raw tag", "block named", "named"})  # before `-%}`

STATEMENT_WORDS = Names((), prefixes=string.ascii_letters)  # a space beyond ASCII, before `raw`, is no word


@dataclass(frozen=True)
class JinjaMonitor(JinjaStatements):
    """A `Monitor` of templates. Made by `jinja`."""

    variables: tuple[tuple[str, JinjaValue | None], ...]
    filters: frozenset[str]
    tests: frozenset[str]
    ahead: str = "any"
    lexicon = LEXICON
    words = words.EVERY

    def __repr__(self) -> str:
        return f"jinja({', '.join(name for name, _ in self.variables):.40}, ahead={self.ahead!r})"

    def start(self) -> JinjaState:
        """The state before the first lexeme."""
        return start(Bound(dict(self.variables)))

    def resume(self, state: JinjaState) -> tuple[int, bytes] | None:
        """The text that goes on after a tag."""
        return {"text": (STRING, TEXT), "raw": (STRING, RAW)}.get(state.at)

    def begin(self, state: JinjaState, kind: int, first: bytes) -> JinjaState | None:
        """The state when a lexeme begins; None: none of its kind may."""
        if state.at in ("text", "raw") or kind == END:
            return state
        if kind == SIGN:
            return state if self._read(state, kind, first.decode("latin-1"), "") is not None else None
        if state.at == "keyword":
            return state if self.use(state, state.held) is not None else None
        known = {"filtered": self.filters, "tested": self.tests}.get(state.at)
        return state if known is None or state.held in known else None

    def language(self, state: JinjaState) -> Names | None:
        """The names that the lexeme which has begun may be; None: any."""
        if state.at in ("operand", "term", "tested", "called"):
            return None if self._is_argument(state) else self.visible_names(state)
        if state.at == "member":
            names = None if state.value is None else attributes(state.value)
            return None if names is None else names_of(names)
        if state.at == "filter":
            return _parts(self.filters, state.held)
        if state.at == "test":
            return _parts(self.tests, state.held.removeprefix("not "), not state.held)
        if state.at == "tag":
            return STATEMENT_WORDS
        if state.at == "end block" and state.block is not None:
            return names_of(frozenset({state.block.name}))
        return None

    def advance(self, state: JinjaState, kind: int, text: bytes) -> JinjaState | None:
        """The state after a lexeme; None: it may not stand there."""
        if state.at in ("text", "raw"):
            if text.startswith(b"T{{"):
                return state.fresh("operand")
            return state.go("tag") if text.startswith(b"T{%") else state.go("text")
        sign = text.decode("latin-1") if kind == SIGN else ""
        after = self._read(state, kind, sign, text.decode(errors="replace") if kind == NAME else "")
        if kind == NUMBER and after is not None and text.startswith(b"0."):  # `rows.0.name` and `rows.0.1`
            return after.go("member") if text == b"0." else after._replace(value=None)
        return after

    def _read(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        if sign in ("-", "+") and state.at in STRIPPED:
            return state
        read: Callable[..., JinjaState | None] = getattr(self, "_at_" + state.at.replace(" ", "_"))
        return read(state, kind, sign, word)

    def owed(self, state: JinjaState) -> list[str]:
        """Texts that bind the names that were put off."""
        names = sorted(state.later) if state.at == "text" and state.blocks is None else ()
        return ["".join(f"{{%set {name}=0%}}" for name in names)] if names else []

    def may_end(self, state: JinjaState) -> bool:
        """True if the template may end: it binds all names that were put off."""
        return state.at == "text" and not state.later


@lru_cache(maxsize=1024)
def _parts(names: frozenset[str], before: str, may_be_negated: bool = False) -> Names:
    """The parts of names that may follow a part before a dot: `a` and `b` of `a.b`."""
    parts = {name[len(before) :].partition(".")[0] for name in names if name.startswith(before)}
    return Names(parts, words=["not"] if may_be_negated else ())


def jinja(
    variables: Mapping[str, Any],
    *,
    filters: Iterable[str] = (),
    tests: Iterable[str] = (),
    environment: Any = None,
    ahead: str = "any",
) -> JinjaMonitor:
    """A monitor of Jinja's templates: variables, their attributes, filters and tests.

    Args:
        variables: The variables of the template, by name: an example of the value (a dict has its keys), or the
            type that it has (`User`, `list[User]`, a TypedDict); None: nothing is known of it.
        filters: Names of filters beside Jinja's own.
        tests: Names of tests beside Jinja's own.
        environment: A `jinja2.Environment`, whose filters, tests and globals count beside these.
        ahead: The names that may be used before they are bound. "any": in macros and blocks names that the template
            binds before it ends, and names that one branch of an `if` has bound; "known": none unless it is bound
            in each case.

    Returns:
        The monitor, for `monitored`.

    Raises:
        ConstrainError: An argument has the wrong type.

    Source:
        Template Designer Documentation of Jinja 3.1, sections "Assignments", "Scoping Behavior", "Tests".

    Example:
        >>> import constrain
        >>> mail = constrain.monitors.jinja({"user": {"name": "Ada"}, "orders": [{"total": 3}]})
        >>> constrain.monitors.accepted_beginning(mail, "Dear {{ user.name|title }}: {{ orders[0].tax }}")
        'Dear {{ user.name|title }}: {{ orders[0].t'
    """
    if ahead not in ("any", "known"):
        raise ConstrainError(f"ahead= is 'any' or 'known', not {ahead!r:.40}", fix='leave it out: "any"')
    if not isinstance(variables, Mapping) or not all(isinstance(n, str) and n.isidentifier() for n in variables):
        raise ConstrainError(f"variables are values by name, not {variables!r:.60}", fix='{"user": User}')
    known: dict[str, Any] = dict.fromkeys(words.GLOBALS)
    names = {
        "filters": {*words.FILTERS, *_read_names("filters", filters)},
        "tests": {*words.TESTS, *_read_names("tests", tests)},
    }
    if environment is not None:
        for kind in names:
            names[kind] |= {name for name in getattr(environment, kind, ()) if name.replace(".", "").isidentifier()}
        known |= {name: value for name, value in getattr(environment, "globals", {}).items() if name not in known}
    known |= variables
    values = {name: typed_value(value) if _is_type(value) else example(value) for name, value in known.items()}
    return JinjaMonitor(
        tuple(sorted(values.items(), key=lambda pair: pair[0])),
        frozenset(names["filters"]),
        frozenset(names["tests"]),
        ahead,
    )


def _read_names(option: str, names: Any) -> list[str]:
    """The names of an option."""
    read = [] if isinstance(names, str) or not isinstance(names, Iterable) else [*names]
    if isinstance(names, str) or not all(isinstance(n, str) and n.replace(".", "_").isidentifier() for n in read):
        raise ConstrainError(f"{option}= are names, not {names!r:.60}", fix=f'{option}=["money"]')
    return read


def _is_type(value: Any) -> bool:
    """True if a value stands for all that have this type."""
    return isinstance(value, type) or typing.get_origin(value) is not None
