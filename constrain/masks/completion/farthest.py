"""An upper bound on the tokens that end a text, of all texts that a grammar's members begin with.

    farthest(table, least, spellings)[rule]    # MostTokens(most=41, nested=20): at most 41; 20 + n after n bytes of it

The idea: what a text needs is the rest of its open lexeme, and of each open rule the symbols behind it, at their least
texts. The parts of a text take no fewer tokens than the whole. So the bound is a longest path: from a rule to a symbol
of one of its alternatives, as long as the least texts of the symbols behind it have tokens. Where rules nest without
end (JSON in JSON), each round of a cycle adds tokens; but a text that has gone round has read bytes, and mostly no
fewer, so there is a second bound, by what was read. A limit of tokens that is further away than either refuses no
token, and need not be asked (length_budget.py).

Where a text chooses one of many layouts, only the rules of the plainest one are read, and counted is what another one
writes more (`SymbolLengths.lay_out`). So their bounds are those of the same rules in each layout.

Where a lexeme's node is no plain tree of characters, its automaton is read, up to `STATES` states; of an intersection
without the most characters that its texts may have (`_without_length`).

Cost: linear in the rules, once for each; a millisecond for three hundred.
Limit: unbounded (`NEVER`) where neither finds a bound. Holds for `lexer="dynamic"` and the grammar alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from constrain.errors import LimitError
from constrain.languages.automata import decide
from constrain.languages.automata.marks import LENGTH
from constrain.languages.automata.paths import Language, bytes_to_end
from constrain.languages.automata.shape import nullable
from constrain.languages.automata.syntax import (
    ANY_CHAR,
    ANY_TEXT,
    MAX_CODE_POINT,
    Alternate,
    Chars,
    Concat,
    Intersect,
    JsonString,
    Literals,
    Node,
    Repeat,
    Tokens,
    intersect,
    repeat,
)
from constrain.languages.cfg.bulk_rules import PlacedNonterminal
from constrain.languages.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.analysis import components
from constrain.languages.cfg.transform.walk import RuleTable
from constrain.limits import tick
from constrain.masks.completion.spellings import NEVER, CharacterCounts, Spellings

STATES = 1_000  # of the automaton of a part of a lexeme
ESCAPED = 6  # bytes that spell a byte of a text in JSON at most: a control character, as \u0000
HALF = 3  # bytes that end a half-written character, at most
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
Bounds = dict[Symbol, MostTokens]
Size = Callable[[str], int]


def farthest(
    table: RuleTable,
    least: Mapping[Symbol, bytes],
    spellings: Spellings | CharacterCounts,
    known: Mapping[Symbol, MostTokens] | None = None,
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
        >>> from constrain.languages.cfg.transform.walk import RuleTable
        >>> from constrain.masks.completion.farthest import farthest
        >>> from constrain.masks.completion.least import least_texts
        >>> from constrain.masks.completion.spellings import Spellings
        >>> from constrain.languages.vocab.vocabulary import Vocabulary
        >>> opens, closes = Terminal(literal("[")), Terminal(literal("]]"))
        >>> pair = Nonterminal("pair", lambda: [[opens, closes]])
        >>> table = RuleTable({pair: [[opens, closes]]})
        >>> farthest(table, least_texts(table), Spellings.of(Vocabulary.of_bytes()))
        {Nonterminal('pair'): MostTokens(most=3, nested=3, whole=3)}
    """
    missing = spellings.missing
    if missing and any(missing.intersection(text) for text in least.values()):
        return dict.fromkeys(table.numbered.symbols[: len(table)], UNKNOWN)
    layouts = {nonterminal: each for nonterminal in table if (each := nonterminal.plainest()) is not None}
    lengths = SymbolLengths(table, least, known or {})
    if layouts:
        lines = spellings.lines(*(max(each) for each in list(zip(*layouts.values(), strict=True))[1:]))
        lengths.lay_out(lines, max(chosen.depth for chosen in layouts.values()))
    lengths.count(spellings.apart if layouts else spellings.fewest)
    bounds = _longest(lengths, missing)
    return dict(zip(lengths.symbols, bounds, strict=False))


class SymbolLengths:
    """The lengths of symbols by number (`RuleTable.numbered`), in the alternatives of rules.

    In each layout a text has the same brackets and commas, and each of them is longer by a line end and the indentation
    of its level at most; a colon by two blanks. What an opening bracket adds was read where its level is open.

    Attributes:
        bounds: Of each symbol that has one; None: it is not known yet.
        tokens: Of what is still to come, without line ends; NEVER where a symbol has no text.
        bytes: Of the least text; NEVER where there is none.
        breaks, deeper: The line ends that another layout adds, and the levels by which they are deeper than the rule.
        colons: Tokens that another layout adds to colons.
        opens: Whether the symbol opens a level.
        levels, values: The level of each rule at most, and whether it is a value.
        lines: The tokens of a line end by its level.
    """

    def __init__(self, table: RuleTable, least: Mapping[Symbol, bytes], known: Mapping[Symbol, MostTokens]) -> None:
        self.symbols, self.ways = table.numbered
        size, rules = len(self.symbols), len(self.ways)
        self.texts = [least.get(symbol) for symbol in self.symbols]
        self.bytes = [NEVER if text is None else len(text) for text in self.texts]
        self.bounds: list[MostTokens | None] = [known.get(symbol) for symbol in self.symbols]
        self.breaks, self.deeper, self.colons, self.opens = [0] * size, [0] * size, [0] * size, [False] * size
        self.levels, self.values, self.lines = [0] * rules, [False] * rules, [0]
        self.tokens = [NEVER if bound is None else bound.whole for bound in self.bounds]

    def lay_out(self, lines: Sequence[int], depth: int) -> None:
        """Add what other layouts write more; `depth`: the levels that are indented."""
        self.lines = list(lines)
        self.values = [_is_value(rule) for rule in self.symbols[: len(self.ways)]]
        self.levels = _levels(self.inside(), self.values, depth)
        for number, symbol in enumerate(self.symbols):
            text = self.texts[number] or b""
            self.opens[number] = text in OPENING
            if isinstance(symbol, Terminal):
                breaks = sum(map(text.count, BREAKS)) - 2 * sum(map(text.count, EMPTY))
                self.deeper[number] = sum(map(text.count, OPENING)) if breaks > 1 else 0
                self.breaks[number], self.colons[number] = breaks, 2 * text.count(b":")

    def inside(self) -> list[list[int]]:
        """The rules that each rule leads to."""
        rules = len(self.ways)
        return [[symbol for way in ways for symbol in way if symbol < rules] for ways in self.ways]

    def line(self, rule: int, deeper: int) -> int:
        """The tokens of a line end and its indentation, so many levels deeper than a rule."""
        return self.lines[min(1 + self.levels[rule] + deeper, len(self.lines) - 1)]

    def more(self, rule: int, symbol: int) -> int:
        """The tokens that another layout writes more of a symbol in a rule."""
        breaks = self.breaks[symbol]
        return self.colons[symbol] + (breaks * self.line(rule, self.deeper[symbol]) if breaks else 0)

    def behind(self, rule: int, way: Sequence[int]) -> list[int]:
        """The tokens of each symbol of an alternative, if it is still to come; NEVER where it has no text."""
        return [self.tokens[symbol] + self.more(rule, symbol) for symbol in way]

    def count(self, tokens_of: Callable[[bytes], int]) -> None:
        """Count the tokens of least texts: of lexemes by `tokens_of`, then of the rules that are made of them."""
        for number, symbol in enumerate(self.symbols):
            text = self.texts[number]
            if isinstance(symbol, Terminal) and text is not None:
                self.tokens[number] = tokens_of(text)
        # The least text of a rule is made of ones that are no longer; what a rule leads to mostly comes behind it.
        rules = sorted(range(len(self.ways) - 1, -1, -1), key=self.bytes.__getitem__)
        waiting = [rule for rule in rules if self.texts[rule] is not None and self.bounds[rule] is None]
        while waiting:
            left = [rule for rule in waiting if not self._add_up(rule)]
            if len(left) == len(waiting):
                return
            waiting = left

    def _add_up(self, rule: int) -> bool:
        texts, tokens = self.texts, self.tokens
        for way in self.ways[rule]:
            if all(tokens[symbol] < NEVER or self.bounds[symbol] is not None for symbol in way):
                if b"".join([texts[symbol] or b"" for symbol in way]) == texts[rule]:
                    tokens[rule] = sum(self.behind(rule, way))
                    return True
        return False


def _levels(inside: Sequence[Sequence[int]], values: Sequence[bool], deepest: int) -> list[int]:
    """The level of values in values where each rule stands, at most."""
    levels = [0] * len(inside)
    for component in reversed(list(components(dict(enumerate(inside))))):
        own = max(map(levels.__getitem__, component))
        if len(component) > 1 and any(map(values.__getitem__, component)):
            own = deepest
        for rule in component:
            levels[rule] = own
            for symbol in inside[rule]:
                levels[symbol] = max(levels[symbol], min(own + values[symbol], deepest))
    return levels


def _is_json(rule: Symbol) -> bool:
    return isinstance(rule, PlacedNonterminal) or (isinstance(rule, Nonterminal) and rule.shared)


def _is_value(rule: Symbol) -> bool:
    return _is_json(rule) and (rule.shared or rule.is_value)  # type: ignore[union-attr]


def _longest(lengths: SymbolLengths, missing: frozenset[int]) -> list[MostTokens]:
    """The longest paths: from a rule to a symbol of one of its alternatives, as long as what is behind it."""
    bounds, symbols, size = lengths.bounds, lengths.symbols, lengths.bytes
    rests = [rest_of(symbol, missing) if isinstance(symbol, Terminal) else 0 for symbol in symbols]
    for component in components(dict(enumerate(lengths.inside()))):
        tick(len(component))
        cycles: list[tuple[int, int, int, int]] = []  # (rule, symbol in it, bytes before, tokens behind)
        own: dict[int, MostTokens] = {}
        for rule in component:
            most = nested = 0
            opening = lengths.line(rule, 0) if _is_json(symbols[rule]) else 0
            for way in lengths.ways[rule]:
                behind_each = lengths.behind(rule, way)
                before, behind = 0, sum(behind_each)
                for symbol, tokens in zip(way, behind_each, strict=True):
                    behind -= tokens
                    bound = bounds[symbol]
                    if bound is not None:
                        most, nested = max(most, bound.most + behind), max(nested, bound.nested + behind - before)
                    elif symbol >= len(lengths.ways):
                        rest = rests[symbol] + lengths.more(rule, symbol)
                        most, nested = max(most, rest + behind), max(nested, rest + behind - before)
                    else:
                        cycles.append((rule, symbol, before, behind))
                        most, nested = max(most, behind), max(nested, behind - before)
                    before += size[symbol] + (opening if lengths.opens[symbol] else 0)
            own[rule] = MostTokens(min(most, NEVER), min(nested, NEVER), min(lengths.tokens[rule], NEVER))
        for rule, found in _along_cycles(own, cycles).items():
            bounds[rule] = found
    return [bound or UNKNOWN for bound in bounds[: len(lengths.ways)]]


def _along_cycles(
    bounds: Mapping[int, MostTokens], cycles: Sequence[tuple[int, int, int, int]]
) -> dict[int, MostTokens]:
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
        most = _rest(node, _utf8_bytes, missing).most
    except RecursionError:  # a tree that is deeper than Python's stack
        return NEVER
    if terminal.excluding:  # one character more than an excluded text, which is none of the others
        is_free = isinstance(node, JsonString) and node.node == ANY_TEXT and len(terminal.excluding) < PLAIN
        most = most + 1 if is_free else NEVER
    return min(most, NEVER)


@lru_cache(maxsize=1 << 14)
def _rest(node: Node, size: Size, missing: frozenset[int]) -> Rest:
    """The sizes of a language's texts; size: that of a character, as it is written."""
    escaped = size is _json_bytes
    if isinstance(node, Literals):
        if any(_misses(text, escaped, missing) for text in node.texts):
            return UNBOUNDED
        lengths = [sum(map(size, text)) for text in node.texts]
        return Rest(min(lengths), max(lengths))
    if isinstance(node, Chars):
        ends = [chr(code) for span in node.ranges for code in span]
        if not ends or _misses(ends[0], escaped, missing):
            return UNBOUNDED
        least = min(map(size, ends))  # the rest of a half-written character may be longer: of one in JSON see below
        return Rest(least, least if escaped else max(least, size(ends[-1]) - 1))
    if isinstance(node, Concat):
        least = most = 0
        for part in reversed(node.args):
            own = _rest(part, size, missing)
            least, most = least + own.least, max(most, own.most + least)
        return Rest(least, most)
    if isinstance(node, Alternate):
        parts = [_rest(part, size, missing) for part in node.args]
        return Rest(min(part.least for part in parts), max(part.most for part in parts))
    if isinstance(node, Repeat):
        own, again = _rest(node.node, size, missing), max(node.low - 1, 0)
        return Rest(node.low * own.least, max(node.low * own.least, own.most + again * own.least))
    if isinstance(node, JsonString):
        value = _rest(node.node, _json_bytes, missing)  # two quotes; a character may be half written
        return Rest(value.least + 2, value.most + 2 + PAIR)
    if isinstance(node, Tokens):
        return Rest(LENGTH, LENGTH)
    if isinstance(node, Intersect) and not missing:
        return _without_length(node, size)
    return _explored(node, size, missing)


def _without_length(node: Intersect, size: Size) -> Rest:
    """The sizes of an intersection; that its texts have at most so many characters does not make their ends longer.

    For where a text can go on at all, the end that has the fewest characters fits.
    """
    lengths = [part for part in node.args if isinstance(part, Repeat) and part.node == ANY_CHAR]
    limits = [part for part in lengths if part.high is not None]
    if not limits:
        return _explored(node, size)
    parts = [part for part in node.args if part not in limits]
    low = max(part.low for part in limits)
    if low > (0 if all(map(nullable, parts)) else 1):
        parts.append(repeat(ANY_CHAR, low))
    try:
        if decide.is_empty(node):
            return UNBOUNDED
    except LimitError:
        return UNBOUNDED
    rest, widest = _rest(intersect(*parts), _one, frozenset()), min(_widest(part, size) for part in [*parts, ANY_CHAR])
    return Rest(widest * rest.least, widest * rest.most + (0 if size is _json_bytes else HALF))


def _widest(node: Node, size: Size) -> int:
    """The size of a character in a text of a language, at most."""
    if isinstance(node, Chars | Literals):
        ends = [chr(code) for span in node.ranges for code in span] if isinstance(node, Chars) else "".join(node.texts)
        return max(map(size, ['"', *ends]))  # a quote may be in the midst of a range
    if isinstance(node, Concat | Alternate | Repeat | Intersect):
        parts = [_widest(part, size) for part in node.args if isinstance(part, Node)]
        return min(parts) if isinstance(node, Intersect) else max(parts)
    return size(chr(MAX_CODE_POINT))


def _misses(text: str, escaped: bool, missing: frozenset[int]) -> bool:
    """True if a text has bytes that are missing; a string of JSON has no control characters."""
    return bool(missing) and any(not missing.isdisjoint(c.encode()) for c in text if not escaped or c >= " ")


def _json_bytes(character: str) -> int:
    """The bytes of a character in a string of JSON, at most, in its shortest spelling."""
    if " " <= character < "\x7f":
        return 2 if character in '"\\' else 1
    return ESCAPED if character < "\U00010000" else PAIR


def _utf8_bytes(character: str) -> int:
    return len(character.encode())


def _one(character: str) -> int:
    """A character is one, as lengths of texts count it."""
    return 1


def _explored(node: Node, size: Size, missing: frozenset[int] = frozenset()) -> Rest:
    """The sizes of a language's texts, by its automaton; UNBOUNDED where that has too many states."""
    try:
        language = Language(node)
        distance = bytes_to_end(language, STATES)
    except LimitError:
        return UNBOUNDED
    if distance is None:
        return UNBOUNDED
    escaped = size is _json_bytes
    for state, far in distance.items() if missing else ():
        nearer = [byte for byte, after in enumerate(language.row(state)) if far and distance.get(after) == far - 1]
        if nearer and min((byte for byte in nearer if byte >= 32 or not escaped), default=32) in missing:
            return UNBOUNDED
    times = ESCAPED if escaped else 1
    return Rest(times * distance.get(0, NEVER), times * max(distance.values(), default=NEVER))
