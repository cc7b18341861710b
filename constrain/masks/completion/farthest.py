"""An upper bound on the tokens that end a text, of all texts that a grammar's members begin with.

    farthest(table, least, spellings)[rule]    # MostTokens(most=41, nested=20): at most 41; 20 + n after n bytes of it

The idea: what a text needs is the rest of its open lexeme, and of each open rule the symbols behind it, at their least
texts. The parts of a text take no fewer tokens than the whole. So the bound is a longest path: from a rule to a symbol
of one of its alternatives, as long as the least texts of the symbols behind it have tokens. Where rules nest without
end (JSON in JSON), each round of a cycle adds tokens; but a text that has gone round has read bytes, and mostly no
fewer, so there is a second bound, by what was read. A limit of tokens that is further away than either refuses no
token, and need not be asked (length_budget.py).

Where a text chooses one of many layouts, only the rules of the plainest one are read, and counted is what another one
writes more (`_LongestLayout`). So their bounds are those of the same rules in each layout.

Where a lexeme's node is no plain tree of characters, its automaton is read, up to `STATES` states.

Cost: linear in the rules, once for each; a millisecond for three hundred.
Limit: unbounded (`NEVER`) where neither finds a bound. Holds for `lexer="dynamic"` and the grammar alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from constrain.errors import LimitError
from constrain.languages.automata.marks import LENGTH
from constrain.languages.automata.paths import Language, bytes_to_end
from constrain.languages.automata.syntax import (
    ANY_TEXT,
    Alternate,
    Chars,
    Concat,
    JsonString,
    Literals,
    Node,
    Repeat,
    Tokens,
)
from constrain.languages.cfg.bulk_rules import PlacedNonterminal
from constrain.languages.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.analysis import components
from constrain.languages.cfg.transform.walk import Alternatives
from constrain.limits import tick
from constrain.masks.completion.spellings import NEVER, Spellings

STATES = 250  # of the automaton of a part of a lexeme
ESCAPED = 6  # bytes that spell a byte of a text in JSON at most: a control character, as \u0000
PAIR = 12  # bytes of two escapes, which spell a character beyond the 16 bits of one
BREAKS = (b",", b"{", b"}", b"[", b"]")  # where layouts write line ends
OPENING, EMPTY = (b"{", b"["), (b"{}", b"[]")  # nothing is written in an empty container
PLAIN = 90  # characters of ASCII that need no escape in JSON, at least


class MostTokens(NamedTuple):
    """The tokens that a text needs: at most so many before it is read; at most `nested + n` once n bytes are read.

    whole: those of its least text, at most
    """

    most: int
    nested: int
    whole: int = 0

    def or_else(self, other: MostTokens) -> MostTokens:
        """The bounds of two texts of which one may come."""
        return MostTokens(max(self.most, other.most), max(self.nested, other.nested))

    def before(self, other: MostTokens) -> MostTokens:
        """The bounds of one text before another one."""
        return MostTokens(self.most + other.most, max(self.nested + other.most, other.nested))


class Rest(NamedTuple):
    """Bytes of a shortest text of a language, and of what the farthest beginning of a text needs, at most."""

    least: int
    most: int


UNBOUNDED = Rest(NEVER, NEVER)
UNKNOWN = MostTokens(NEVER, NEVER, NEVER)
NOTHING = MostTokens(0, 0)
Bounds = dict[Nonterminal, MostTokens]


def farthest(
    table: Mapping[Nonterminal, Alternatives],
    least: Mapping[Symbol, bytes],
    spellings: Spellings,
    known: Mapping[Nonterminal, MostTokens] | None = None,
) -> Bounds:
    """The bounds of the rules of a grammar.

    Args:
        table: Nonterminals with their alternatives, and all that these lead to.
        least: The least text of each symbol (`least_texts`).
        spellings: Counts the tokens of texts. What needs a byte that no token spells has no bound.
        known: Bounds of nonterminals that are not in the table.

    Returns:
        The bounds by nonterminal; NEVER where none was found.

    Example:
        >>> from constrain.languages.automata.syntax import literal
        >>> from constrain.languages.cfg.rules import Nonterminal, Terminal
        >>> from constrain.masks.completion.farthest import farthest
        >>> from constrain.masks.completion.least import least_texts
        >>> from constrain.masks.completion.spellings import Spellings
        >>> from constrain.languages.vocab.vocabulary import Vocabulary
        >>> opens, closes = Terminal(literal("[")), Terminal(literal("]]"))
        >>> pair = Nonterminal("pair", lambda: [[opens, closes]])
        >>> table = {pair: [[opens, closes]]}
        >>> farthest(table, least_texts(table), Spellings.of(Vocabulary.of_bytes()))
        {Nonterminal('pair'): MostTokens(most=3, nested=3, whole=3)}
    """
    missing = spellings.missing
    if missing and any(missing.intersection(text) for text in least.values()):
        return dict.fromkeys(table, UNKNOWN)
    layouts = {nonterminal: each for nonterminal in table if (each := nonterminal.plainest()) is not None}
    if not layouts:
        return _longest(table, RuleLengths(least, spellings, known or {}))
    levels = _levels(table, max(chosen.depth for chosen in layouts.values()))
    lines = spellings.lines(*(max(each) for each in list(zip(*layouts.values(), strict=True))[1:]))
    return _longest(table, _LongestLayout(least, spellings, levels, lines))


class RuleLengths:
    """The lengths of symbols in the alternatives of rules.

    known: bounds of the symbols that are in no table. whole: the tokens of nonterminals
    """

    def __init__(
        self, least: Mapping[Symbol, bytes], spellings: Spellings, known: Mapping[Nonterminal, MostTokens]
    ) -> None:
        self.least, self.spellings, self.known = least, spellings, known
        self.whole: dict[Symbol, int] = {nonterminal: bound.whole for nonterminal, bound in known.items()}

    def read(self, table: Mapping[Nonterminal, Alternatives]) -> None:
        """Add up the tokens of nonterminals. A least text is made of ones that were found before it."""
        for rule in [symbol for symbol in self.least if isinstance(symbol, Nonterminal) and symbol in table]:
            for alternative in table[rule]:
                if all(self.behind(rule, symbol) < NEVER or symbol in self.known for symbol in alternative):
                    if b"".join(map(self.least.__getitem__, alternative)) == self.least[rule]:
                        self.whole[rule] = sum(self.behind(rule, symbol) for symbol in alternative)
                        break

    def behind(self, rule: Nonterminal, symbol: Symbol) -> int:
        """The tokens of a symbol that is still to come; NEVER where it has no text."""
        if isinstance(symbol, Terminal) and symbol in self.least:
            return self.lexeme(rule, self.least[symbol])
        return self.whole.get(symbol, NEVER)

    def lexeme(self, rule: Nonterminal, text: bytes) -> int:
        """The tokens of a lexeme in an alternative of a rule."""
        return self.spellings.fewest(text)

    def before(self, rule: Nonterminal, symbol: Symbol) -> int:
        """The bytes that were read of a symbol, at least."""
        return len(self.least[symbol]) if symbol in self.least else NEVER

    def rest(self, rule: Nonterminal, terminal: Terminal) -> int:
        """The bytes that a lexeme which is open takes at most."""
        return rest_of(terminal, self.spellings.missing)


class _LongestLayout(RuleLengths):
    """The lengths in any layout, by rules in the plainest one.

    In each layout a text has the same brackets and commas, and each of them is longer by a line end and the indentation
    of its level at most; a colon by two blanks. What an opening bracket adds was read where its level is open.

    levels: of rules. lines: the tokens of a line end by its level.
    """

    def __init__(
        self,
        least: Mapping[Symbol, bytes],
        spellings: Spellings,
        levels: Mapping[Nonterminal, int],
        lines: Sequence[int],
    ) -> None:
        super().__init__(least, spellings, {})
        self.levels, self.lines = levels, lines

    def lexeme(self, rule: Nonterminal, text: bytes) -> int:
        return self.spellings.apart(text) + self._more(rule, text)

    def before(self, rule: Nonterminal, symbol: Symbol) -> int:
        opens = (rule.shared or isinstance(rule, PlacedNonterminal)) and self.least.get(symbol) in OPENING
        return super().before(rule, symbol) + (self._line(rule, 0) if opens else 0)

    def rest(self, rule: Nonterminal, terminal: Terminal) -> int:
        return super().rest(rule, terminal) + self._more(rule, self.least.get(terminal, b""))

    def _more(self, rule: Nonterminal, text: bytes) -> int:
        breaks = sum(map(text.count, BREAKS)) - 2 * sum(map(text.count, EMPTY))
        deeper = sum(map(text.count, OPENING)) if breaks > 1 else 0
        return 2 * text.count(b":") + breaks * self._line(rule, deeper)

    def _line(self, rule: Nonterminal, deeper: int) -> int:
        """The tokens of a line end and its indentation, so many levels deeper than a rule."""
        return self.lines[min(1 + self.levels[rule] + deeper, len(self.lines) - 1)]


def _levels(table: Mapping[Nonterminal, Alternatives], deepest: int) -> dict[Nonterminal, int]:
    """The level of values in values where each rule stands, at most."""
    inside = _inside(table)
    levels = dict.fromkeys(table, 0)
    for component in reversed(list(components(inside))):
        own = max(map(levels.__getitem__, component))
        if len(component) > 1 and any(map(_is_value, component)):
            own = deepest
        for rule in component:
            levels[rule] = own
            for symbol in inside[rule]:
                levels[symbol] = max(levels[symbol], min(own + _is_value(symbol), deepest))
    return levels


def _is_value(rule: Nonterminal) -> bool:
    return rule.shared or (isinstance(rule, PlacedNonterminal) and rule.is_value)


def _inside(table: Mapping[Nonterminal, Alternatives]) -> dict[Nonterminal, list[Nonterminal]]:
    """The nonterminals of a table that each one leads to."""
    return {rule: [s for each in table[rule] for s in each if s in table] for rule in table}  # type: ignore[misc]


def _longest(table: Mapping[Nonterminal, Alternatives], lengths: RuleLengths) -> Bounds:
    """The longest paths: from a rule to a symbol of one of its alternatives, as long as what is behind it."""
    lengths.read(table)
    found: Bounds = {}
    for component in components(_inside(table)):
        tick(len(component))
        cycles: list[tuple[Nonterminal, Nonterminal, int, int]] = []  # (rule, symbol in it, bytes before, behind)
        bounds: Bounds = {}
        for rule in component:
            most = nested = 0
            for alternative in table[rule]:
                lengths_of = [lengths.behind(rule, symbol) for symbol in alternative]
                before, behind = 0, sum(lengths_of)
                for symbol, length in zip(alternative, lengths_of, strict=True):
                    behind -= length
                    if isinstance(symbol, Terminal):
                        own = MostTokens(*[lengths.rest(rule, symbol)] * 2)
                    elif symbol in found or symbol in lengths.known:
                        own = found[symbol] if symbol in found else lengths.known[symbol]
                    else:
                        cycles.append((rule, symbol, before, behind))
                        own = NOTHING
                    most, nested = max(most, own.most + behind), max(nested, own.nested + behind - before)
                    before += lengths.before(rule, symbol)
            bounds[rule] = MostTokens(min(most, NEVER), min(nested, NEVER), lengths.whole.get(rule, NEVER))
        found |= _along_cycles(bounds, cycles)
    return found


def _along_cycles(
    bounds: Mapping[Nonterminal, MostTokens], cycles: Sequence[tuple[Nonterminal, Nonterminal, int, int]]
) -> dict[Nonterminal, MostTokens]:
    """The bounds of the rules of a component, of which each has its own without the others."""
    if not cycles:
        return dict(bounds)
    grows = any(behind for _, _, _, behind in cycles)
    most = NEVER if grows else max(bound.most for bound in bounds.values())
    nested = {rule: bound.nested for rule, bound in bounds.items()}
    for _ in range(len(bounds) + 1):  # longest paths, as Bellman and Ford find them
        changed = False
        for rule, symbol, before, behind in cycles:
            if nested[symbol] + behind - before > nested[rule]:
                nested[rule], changed = nested[symbol] + behind - before, True
        if not changed:
            return {rule: MostTokens(most, nested[rule], bounds[rule].whole) for rule in bounds}
    return {rule: MostTokens(most, NEVER, bounds[rule].whole) for rule in bounds}


@lru_cache(maxsize=1 << 14)
def rest_of(terminal: Terminal, missing: frozenset[int]) -> int:
    """Bytes that end a lexeme of a terminal, wherever in it a text stands."""
    node = terminal.node
    try:
        most = _rest(node, False, missing).most
    except RecursionError:  # a tree that is deeper than Python's stack
        return NEVER
    if terminal.excluding:  # one character more than an excluded text, which is none of the others
        is_free = isinstance(node, JsonString) and node.node == ANY_TEXT and len(terminal.excluding) < PLAIN
        most = most + 1 if is_free else NEVER
    return min(most, NEVER)


@lru_cache(maxsize=1 << 14)
def _rest(node: Node, escaped: bool, missing: frozenset[int]) -> Rest:
    """The bytes of a language. escaped: its texts are written in a string of JSON."""
    if isinstance(node, Literals):
        if any(_misses(text, escaped, missing) for text in node.texts):
            return UNBOUNDED
        lengths = [sum(map(_json_bytes, text)) if escaped else len(text.encode()) for text in node.texts]
        return Rest(min(lengths), max(lengths))
    if isinstance(node, Chars):
        ends = [chr(code) for span in node.ranges for code in span]
        if not ends or _misses(ends[0], escaped, missing):
            return UNBOUNDED
        if escaped:
            return Rest(*[min(map(_json_bytes, ends))] * 2)
        return Rest(len(ends[0].encode()), max(len(ends[0].encode()), len(ends[-1].encode()) - 1))
    if isinstance(node, Concat):
        least = most = 0
        for part in reversed(node.args):
            own = _rest(part, escaped, missing)
            least, most = least + own.least, max(most, own.most + least)
        return Rest(least, most)
    if isinstance(node, Alternate):
        parts = [_rest(part, escaped, missing) for part in node.args]
        return Rest(min(part.least for part in parts), max(part.most for part in parts))
    if isinstance(node, Repeat):
        own, again = _rest(node.node, escaped, missing), max(node.low - 1, 0)
        return Rest(node.low * own.least, max(node.low * own.least, own.most + again * own.least))
    if isinstance(node, JsonString):
        value = _rest(node.node, True, missing)  # two quotes; a character may be half written
        return Rest(value.least + 2, value.most + 2 + PAIR)
    if isinstance(node, Tokens):
        return Rest(LENGTH, LENGTH)
    explored = _explored(node, escaped, missing)
    return Rest(ESCAPED * explored.least, ESCAPED * explored.most) if escaped else explored


def _misses(text: str, escaped: bool, missing: frozenset[int]) -> bool:
    """True if a text has bytes that are missing; a string of JSON has no control characters."""
    return bool(missing) and any(not missing.isdisjoint(c.encode()) for c in text if not escaped or c >= " ")


def _json_bytes(character: str) -> int:
    """The bytes of a character in a string of JSON, at most, in its shortest spelling."""
    if " " <= character < "\x7f":
        return 2 if character in '"\\' else 1
    return ESCAPED if character < "\U00010000" else PAIR


def _explored(node: Node, escaped: bool, missing: frozenset[int]) -> Rest:
    """The rest of a language's texts, by its automaton; UNBOUNDED where that has too many states."""
    try:
        language = Language(node)
        distance = bytes_to_end(language, STATES)
    except LimitError:
        return UNBOUNDED
    if distance is None:
        return UNBOUNDED
    for state, far in distance.items():
        nearer = [byte for byte, after in enumerate(language.row(state)) if far and distance.get(after) == far - 1]
        if nearer and min((byte for byte in nearer if byte >= 32 or not escaped), default=32) in missing:
            return UNBOUNDED
    return Rest(distance.get(0, NEVER), max(distance.values(), default=NEVER))
