r"""Converts terminals of a Lark grammar from lark's trees to regular languages.

The idea: the definition of a terminal, with references resolved, is a tree of strings, regexes, ranges and EBNF
operators; each operator is one of automata/syntax.py. Two kinds of regex have a meaning only together with their
neighbours: lookaround (the `(?<!\\)` of lark's own `ESCAPED_STRING`), and lazy quantifiers. Then the *text* of the
whole terminal is read as one regex.

**Lazy quantifiers** (`.*?`). Lark matches a terminal with Python's `re`, so a lazy terminal ends at the first possible
place: `"/*" /.*?/ "*/"` is one comment, never two. The language of such a terminal is therefore the set of members
without a proper prefix that is a member. That equals `re` as long as only lazy and fixed-length parts follow the first
lazy one, up to a tail that may match nothing (`/".*?"i?/`); anything else is refused, with its place. (If two
alternatives can match at one place, as in `b*?c|c*?b`, `re` takes the first; here the shorter match counts.)

Lookaround sees the terminal's own text and one character beyond each edge (transform/contexts.py); lookaround that sees
further is refused.

Difference to Lark: lark concatenates regexes as text, so its `/a|b/ "c"` means `a|bc`; here it means `(a|b)c`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lark import Token, Tree
from lark.load_grammar import PrepareLiterals

from constrain.errors import GrammarError, LimitError, RegexError
from constrain.languages.automata import syntax
from constrain.languages.automata.counts import read_count
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.readers.extensions import UNBOUNDED
from constrain.languages.cfg.readers.regex_priority import preferred_texts
from constrain.languages.cfg.readers.regex_shape import (
    has_greedy_after_lazy,
    is_lazy,
    needs_neighbours,
    sees_outside,
    split_after_lazy,
)
from constrain.languages.cfg.rules import LookaroundContext
from constrain.languages.cfg.transform.contexts import contexts_of
from constrain.limits import tick

Place = Callable[[Token], str | None]
Signs = Mapping[str, "str | Node"]
"""By a regex as it is written: "&", "~", or the language that it stands for."""

NO_SIGNS: Signs = {}
SURROGATE = re.compile(f"[{chr(syntax.SURROGATES[0])}-{chr(syntax.SURROGATES[1])}]")


def terminal_texts(
    tree: Tree[Any], place: Place, signs: Signs = NO_SIGNS
) -> tuple[Node, tuple[LookaroundContext, ...]]:
    """(language, lookaround contexts) of a terminal's tree with references resolved, as lark's loader yields it.

    place: draws the place of a literal. signs: the regexes that stand for something else (extensions.py). Raises
    GrammarError with its place.
    """
    patterns = [(token, _pattern(token, place)) for token in literals(tree) if token.type == "REGEXP"]
    lazy = next((token for token, (text, _) in patterns if is_lazy(text)), None)
    if lazy is None and not any(needs_neighbours(text) for _, (text, _) in patterns):
        return _Composer(place, signs).compose(tree), ()
    for token, _ in patterns:
        if token.value in signs:
            message = "&, ~ and %regex cannot stand beside a lazy quantifier or look-around in one terminal"
            raise GrammarError(message, place=place(token), fix="say what the regex excludes with & and ~ alone")
    whole, first = _as_text(tree, place), next(iter(literals(tree)))
    node = _regex(whole, first, place)  # also if it is read in parts below: errors are those of the whole regex
    before, after = sees_outside(whole)
    if max(before, after) > 1 or (lazy is not None and max(before, after)):
        reason = (
            "is lazy, and cannot look at the text around it"
            if max(before, after) < 2
            else ("cannot look further than one character around it (look-around, ^ or $ at its edge)")
        )
        fix = "say in the rules what may follow; end a look-ahead at the terminal's own text with \\b: (?!if\\b)\\w+"
        raise GrammarError(f"a terminal {reason}", place=place(first), fix=fix)
    if before or after:
        contexts = contexts_of(whole, bool(before), bool(after))
        return syntax.alternate(*(context.node for context in contexts)), contexts
    if lazy is None:
        return node, ()
    head, tail = split_after_lazy(whole)
    if has_greedy_after_lazy(head):
        preferred = preferred_texts(whole)
        if preferred is not None:
            return preferred, ()
        raise GrammarError(
            f"in {lazy.value} a lazy quantifier is followed by a part that may be longer or shorter",
            place=place(lazy),
            fix='say where the text stops instead, as in /"[^"]*"/, or make all that follows lazy too',
        )
    ends = _regex(head, first, place)
    shortest = syntax.difference(ends, syntax.concat(ends, syntax.repeat(syntax.ANY_CHAR, 1)))
    return syntax.concat(shortest, _regex(tail, first, place)), ()


def terminal_node(tree: Tree[Any], place: Place, signs: Signs = NO_SIGNS) -> Node:
    """The language of a terminal without lookaround contexts. Raises as `terminal_texts`."""
    return terminal_texts(tree, place, signs)[0]


def single_string(tree: Tree[Any] | Token) -> Token | None:
    """The token of a tree that is a single string (a *literal*), else None."""
    while (
        isinstance(tree, Tree)
        and len(tree.children) == 1
        and tree.data in ("expansions", "expansion", "value", "literal")
    ):
        tree = tree.children[0]
    return tree if isinstance(tree, Token) and tree.type == "STRING" else None


def literals(tree: Tree[Any]) -> Iterator[Token]:
    """The string and regex tokens of a tree, left to right; a shared subtree counts once."""
    stack: list[Any] = [tree]
    seen: set[int] = set()
    while stack:
        top = stack.pop()
        if isinstance(top, Token):
            if top.type in ("STRING", "REGEXP"):
                yield top
        elif isinstance(top, Tree) and id(top) not in seen:
            seen.add(id(top))
            stack += reversed(top.children)


def literal_node(token: Token, place: Place) -> Node:
    """The language of one string or regex token."""
    text, flags = _pattern(token, place)
    if token.type == "STRING" and not flags:
        return _string(text, token, place)
    pattern = re.escape(text) if token.type == "STRING" else text
    return _regex(f"(?{flags}:{pattern})" if flags else pattern, token, place)


def _pattern(token: Token, place: Place) -> tuple[str, str]:
    """(text, flags) of a literal, with Lark's escapes undone."""
    if token.type == "STRING" and token.value.endswith('"') and "\\" not in token.value:
        return token.value[1:-1], ""
    try:
        [pattern] = PrepareLiterals().transform(Tree("literal", [token])).children
    except Exception as error:  # lark raises GrammarError, ValueError or SyntaxError, sometimes wrapped
        raise GrammarError(
            f"cannot read the literal {token.value}", place=place(token), fix="check its escapes"
        ) from error
    return pattern.value, "".join(sorted(pattern.flags))


def _string(text: str, token: Token, place: Place) -> Node:
    if SURROGATE.search(text):
        message = f"{token.value} contains a surrogate, which is not a character"
        raise GrammarError(message, place=place(token), fix="write the character itself, or \\UXXXXXXXX")
    return syntax.literal(text)


def _regex(pattern: str, token: Token, place: Place) -> Node:
    try:
        return parse_python(pattern)
    except (RegexError, LimitError) as error:
        inside = error.place.replace("\n", "\n  ") if error.place else pattern
        shown = place(token)
        where = f"{shown}\nin the regex, {inside}" if shown else inside
        kind = LimitError if isinstance(error, LimitError) else GrammarError
        raise kind(error.message, place=where, fix=error.fix or "correct the regex") from error


def _range(tree: Any, place: Place) -> tuple[int, int]:
    low, high = (_pattern(token, place)[0] for token in tree.children)
    if len(low) != 1 or len(high) != 1 or low > high:
        shown = "..".join(token.value for token in tree.children)
        raise GrammarError(
            f"bad range {shown}",
            place=place(tree.children[0]),
            fix='a range goes from one character up to another: "a".."z"',
        )
    return ord(low), ord(high)


def bounds(children: Any, place: Place) -> tuple[int, int | None]:
    """(low, high) of an `expr` tree: of its operator, or of the numbers after `~`."""
    operator = children[1]
    if operator != "~":
        return {"?": (0, 1), "*": (0, None), "+": (1, None)}[str(operator)]
    if str(children[-1]) == UNBOUNDED:
        return read_count(children[2]), None
    low, high = read_count(children[2]), read_count(children[-1])
    if low < 0 or high < low:
        shown = f"~{children[2]}" + (f"..{children[3]}" if len(children) > 3 else "")
        raise GrammarError(f"bad repetition {shown}", place=place(operator), fix="write ~n or ~n..m with 0 <= n <= m")
    return low, high


class _Composer:
    """Makes the language of a terminal from the languages of its parts."""

    def __init__(self, place: Place, signs: Signs) -> None:
        self.place, self.signs = place, signs
        self.done: dict[int, Node] = {}

    def compose(self, tree: Any) -> Node:
        """The language of a tree; that of a shared subtree is made once."""
        tick()
        if id(tree) not in self.done:
            self.done[id(tree)] = self._new(tree)
        return self.done[id(tree)]

    def _new(self, tree: Any) -> Node:
        if tree.data == "literal":
            token = tree.children[0]
            meaning = self.signs.get(token.value)
            if meaning in ("::", "%if"):
                fix = "make a rule of it (lower case)"
                raise GrammarError("a terminal has no parameters", place=self.place(token), fix=fix)
            if isinstance(meaning, str):
                raise GrammarError(f"{meaning} stands alone", place=self.place(token), fix="write A & B, or ~A")
            return literal_node(token, self.place) if meaning is None else meaning
        if tree.data == "range":
            return syntax.chars([_range(tree, self.place)])
        if tree.data == "expr":
            return syntax.repeat(self.compose(tree.children[0]), *bounds(tree.children, self.place))
        _refuse_alias(tree, self.place)
        if tree.data == "expansions":
            return syntax.alternate(*map(self.compose, tree.children))
        node = syntax.intersect(*map(self.concat, split_at_and(tree.children, self.signs)))  # expansion, value, maybe
        return syntax.optional(node) if tree.data == "maybe" else node

    def concat(self, parts: Sequence[Any]) -> Node:
        """The concatenation of parts, of which some are negated."""
        if not parts:
            return syntax.EPSILON
        nodes, negated = [], False
        for part in parts:
            if sign_of(part, self.signs) == "~":
                negated = not negated
            elif negated and part.data == "expr":  # ~A+ is (~A)+
                inner = syntax.complement(self.compose(part.children[0]))
                nodes.append(syntax.repeat(inner, *bounds(part.children, self.place)))
                negated = False
            else:
                node = self.compose(part)
                nodes.append(syntax.complement(node) if negated else node)
                negated = False
        if negated:
            self.compose(parts[-1])  # raises: it stands alone
        return syntax.concat(*nodes)


def sign_of(tree: Any, signs: Mapping[str, Any]) -> Any:
    """The meaning of a tree that is a sign; None: it is none."""
    while isinstance(tree, Tree) and len(tree.children) == 1:
        tree = tree.children[0]
    return signs.get(tree.value) if signs and isinstance(tree, Token) else None


def split_at_and(parts: Sequence[Any], signs: Signs) -> list[list[Any]]:
    """The parts of an alternative between its "&"s."""
    split: list[list[Any]] = [[]]
    for part in parts:
        if sign_of(part, signs) == "&":
            split.append([])
        else:
            split[-1].append(part)
    return split


def _as_text(tree: Any, place: Place) -> str:
    """The whole terminal as one Python regex, with every part in a group."""
    if tree.data == "literal":
        text, flags = _pattern(tree.children[0], place)
        return f"(?{flags}:{re.escape(text) if tree.children[0].type == 'STRING' else text})"
    if tree.data == "range":
        low, high = _range(tree, place)
        return f"[\\U{low:08x}-\\U{high:08x}]"
    if tree.data == "expr":
        low, bound = bounds(tree.children, place)
        return f"(?:{_as_text(tree.children[0], place)}){{{low},{'' if bound is None else bound}}}"
    _refuse_alias(tree, place)
    parts = [_as_text(child, place) for child in tree.children]
    if tree.data == "expansions":
        return f"(?:{'|'.join(parts)})" if len(parts) > 1 else parts[0]
    return f"(?:{''.join(parts)})?" if tree.data == "maybe" else "".join(parts)


def _refuse_alias(tree: Any, place: Place) -> None:
    if tree.data == "alias":
        first = next(literals(tree), None)
        raise GrammarError(
            "a terminal cannot have an alias (->)", place=place(first) if first else None, fix="remove it"
        )
