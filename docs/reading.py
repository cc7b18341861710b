"""The reading edition: all of constrained decoding in one module of plain Python, to be read from top to bottom.

A language model writes tokens. A constraint is a set of texts. What follows brings the two together:

    1  regular languages    what may still follow a text, by derivatives
    2  patterns             the notation of regular expressions
    3  grammars             rules over terminals, and a notation for them
    4  the parser           Earley's algorithm, where equal situations are one
    5  the lexer            bytes to lexemes: every cut of a text, or the longest lexeme
    6  masks                which tokens of a vocabulary may come next
    7  JSON Schema          a schema is a grammar
    8  masked decoding      a text from a model, and the weight that says how far masks bent its distribution

All is asked by one question: `step(state, byte)`, the state after one more byte, or None where no text of the language
begins so; and `accepts(state)`: may the text end here? The package gives the same answers for all of JSON Schema and
real vocabularies, much faster: here each idea stands once, and tests use it as their oracle (`tests/reading_oracle.py`,
`tests/masks/engine/test_reading.py`). A page walks through it: `docs/reading.md`.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial, reduce
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

# === 1. Regular languages =============================================================================================
# The *derivative* of a language by a byte is what may follow that byte (Brzozowski, "Derivatives of regular
# expressions", JACM 1964). A text is a member if the derivative by all its bytes contains the empty text. So a regular
# expression needs no automaton: each expression is a state, and a step makes the next expression. Only finitely many
# differ if unions and intersections forget order and repetition; equal expressions are one object here, so that
# derivatives are remembered and compared at once (Owens, Reppy & Turon, "Regular-expression derivatives re-examined",
# JFP 2009). Complements and intersections cost nothing extra, and a counted repetition is one expression.


class Regex:
    """A regular language of bytes, of one of six kinds. The functions below make them, and keep them small.

    number, ranges, places: a number in the ranges, digit by digit; without places it is written, the empty text.
    cat, first, second: one text after the other. either, parts: a text of some part. both, parts: a text of all parts.
    not, part: any bytes that are no text of the part. repeat, part, low, high: from low to high texts of the part.
    """

    kind: str
    args: tuple[Any, ...]
    parts: tuple[Regex, ...]  # the expressions among the arguments
    nullable: bool  # it contains the empty text
    _alive: bool | None  # it contains some text; None: not known yet
    _after: dict[int, Regex]
    made: ClassVar[WeakValueDictionary[tuple[Any, ...], Regex]] = WeakValueDictionary()

    def __new__(cls, kind: str, *args: Any) -> Regex:
        """The expression of a kind with these arguments: always the same object."""
        key = (kind, *args)
        node = Regex.made.get(key)
        if node is None:
            node = Regex.made[key] = object.__new__(cls)
            node.kind, node.args, node._after = kind, args, {}
            node.parts = tuple(args[0] if kind in ("either", "both") else (a for a in args if isinstance(a, Regex)))
            node.nullable = is_nullable(node)
            plain = kind not in ("both", "not") and all(part._alive for part in node.parts)
            node._alive = (kind == "number" or bool(node.parts)) if plain else None
        return node

    def after(self, byte: int) -> Regex:
        """The derivative by a byte, remembered."""
        if byte not in self._after:
            self._after[byte] = derivative(self, byte)
        return self._after[byte]

    def alive(self) -> bool:
        """True if the language contains a text. With intersections or complements inside: a search for one."""
        if self._alive is None:
            queue, seen = [self], {self}
            for node in queue:  # it grows
                if node.nullable or node._alive:
                    self._alive = True
                    return True
                new = {after for byte in range(256) if (after := node.after(byte))._alive is not False} - seen
                seen |= new
                queue += new
            for node in queue:
                node._alive = False
        return bool(self._alive)


def is_nullable(node: Regex) -> bool:
    """True if the language contains the empty text."""
    match (node.kind, *node.args):
        case "number", _, places:
            return not places
        case "repeat", part, low, _:
            return bool(low == 0 or part.nullable)
        case "not", part:
            return not part.nullable
    return bool((any if node.kind == "either" else all)(part.nullable for part in node.parts))


def derivative(node: Regex, byte: int) -> Regex:
    """The texts that, put after the byte, are members."""
    match node.kind, *node.args:
        case "number", ranges, places:
            digit = places[0].digits.get(byte) if places else None
            worth = math.prod(place.base for place in places[1:])
            return (
                NOTHING if digit is None else number(clip(ranges, digit * worth, (digit + 1) * worth - 1), places[1:])
            )
        case "cat", first, second:
            through = cat(first.after(byte), second)
            return either(through, second.after(byte)) if first.nullable else through
        case "repeat", part, low, high:
            return cat(part.after(byte), repeat(part, max(0, low - 1), None if high is None else high - 1))
        case "not", part:
            return negation(part.after(byte))
    return (either if node.kind == "either" else both)(*(part.after(byte) for part in node.parts))


Ranges = tuple[tuple[int, int], ...]  # of integers: inclusive, in order, apart


@dataclass(frozen=True, eq=False)
class Place:
    """A place of a number: its base, and which byte spells which digit."""

    base: int
    digits: Mapping[int, int]


def clip(ranges: Ranges, low: int, high: int, back: int = 0) -> Ranges:
    """The part from `low` to `high`, counted from `low` on, or from further back."""
    parts = ((max(a, low), min(b, high)) for a, b in ranges)
    return tuple((a - low + back, b - low + back) for a, b in parts if a <= b)


def number(ranges: Ranges, places: tuple[Place, ...]) -> Regex:
    """A number in some ranges."""
    return (Regex("number", ranges, places) if places else EPSILON) if ranges else NOTHING


def cat(*parts: Regex) -> Regex:
    """One text after the other."""
    whole = EPSILON
    for part in reversed(parts):
        if NOTHING in (part, whole):
            return NOTHING
        if part.kind == "cat" and whole is not EPSILON:
            whole = cat(part.args[0], cat(part.args[1], whole))
        else:
            whole = whole if part is EPSILON else part if whole is EPSILON else Regex("cat", part, whole)
    return whole


def either(*parts: Regex) -> Regex:
    """A text of some part."""
    flat = frozenset[Regex]().union(*(part.parts if part.kind == "either" else [part] for part in parts))
    return next(iter(flat)) if len(flat) == 1 else Regex("either", flat)


def both(*parts: Regex) -> Regex:
    """A text of all parts."""
    flat = frozenset[Regex]().union(*(part.parts if part.kind == "both" else [part] for part in parts)) - {ANYTHING}
    if any(part._alive is False for part in flat):
        return NOTHING
    return next(iter(flat)) if len(flat) == 1 else Regex("both", flat) if flat else ANYTHING


def negation(part: Regex) -> Regex:
    """Any bytes that are no text of the part."""
    return part.args[0] if part.kind == "not" else Regex("not", part)


def repeat(part: Regex, low: int = 0, high: int | None = None) -> Regex:
    """From `low` to `high` texts of a part; None: any number."""
    if high is not None and high < low:
        return NOTHING
    if high == 0 or part is EPSILON or (part is NOTHING and low == 0):
        return EPSILON
    return part if low == high == 1 or part is NOTHING else Regex("repeat", part, low, high)


def counted(part: Regex, count: str) -> Regex:
    """Some texts of a part, in the usual notation: `*`, `+`, `?`, `{2}`, `{2,}`, `{2,3}`."""
    if count[0] in "*+?":
        return repeat(part, int(count[0] == "+"), 1 if count[0] == "?" else None)
    low, comma, high = count.strip("{}?").partition(",")
    return repeat(part, int(low), int(high) if high else None if comma else int(low))


NOTHING = Regex("either", frozenset())  # the empty language
EPSILON = Regex("number", ((0, 0),), ())  # the language of the empty text
ANYTHING = Regex("not", NOTHING)  # all bytes

# A *spelling* says how a set of characters is written: in UTF-8 (RFC 3629), or inside a string of JSON (RFC 8259,
# section 7). Every spelling is a prefix code, so a language of characters becomes one of bytes character by character.

Spelling = Callable[[Ranges], Regex]
CHARACTERS = ((0, 0xD7FF), (0xE000, 0x10FFFF))  # surrogates are no characters
EVERY = ["".join(map(chr, range(low, high + 1))) for low, high in CHARACTERS]
REST = Place(64, {0x80 + digit: digit for digit in range(64)})
UTF8 = [
    (0x00, 0x7F, (Place(128, {digit: digit for digit in range(0x80)}),)),
    (0x80, 0x7FF, (Place(32, {0xC0 + digit: digit for digit in range(2, 32)}), REST)),
    (0x800, 0xFFFF, (Place(16, {0xE0 + digit: digit for digit in range(16)}), REST, REST)),
    (0x10000, 0x10FFFF, (Place(8, {0xF0 + digit: digit for digit in range(5)}), REST, REST, REST)),
]


@cache
def utf8(ranges: Ranges) -> Regex:
    """One character of a set, in UTF-8."""
    return either(*(number(clip(ranges, low, high, low), places) for low, high, places in UTF8))


def hexadecimal(count: int = 16, first: int = 0) -> Place:
    """A hexadecimal digit of either case: one of so many, from the first on."""
    return Place(count, {ord(c): d for d in range(count) for c in {f"{first + d:x}", f"{first + d:X}"}})


HEX, D = hexadecimal(), hexadecimal(1, 0xD)
BEGIN = tuple(Place(1, {byte: 0}) for byte in b"\\u")
UNIT = (*BEGIN, HEX, HEX, HEX, HEX)
PAIR = (*BEGIN, D, hexadecimal(4, 0x8), HEX, HEX, *BEGIN, D, hexadecimal(4, 0xC), HEX, HEX)
SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@cache
def in_json(ranges: Ranges, plain: bool = False) -> Regex:
    r"""One character of a set inside a string of JSON: as it is, as `\n`, as `\u000a`.

    Beyond four hexadecimal digits a character is two of these, with ten bits in each: a surrogate pair (RFC 2781).
    plain: only as serializers write it, which escape what must be escaped, and maybe all that is not ASCII.
    """
    bare = [r for low, high in ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x10FFFF)) for r in clip(ranges, low, high, low)]
    short = [text("\\" + e) for e, c in SHORT.items() if clip(ranges, ord(c), ord(c)) and not (plain and c == "/")]
    if plain:
        ranges = clip(ranges, 0, 0x1F) + clip(ranges, 0x7F, 0x10FFFF, 0x7F)
    pair = number(clip(ranges, 0x10000, 0x10FFFF), PAIR)
    return either(utf8(tuple(bare)), *short, number(clip(ranges, 0, 0xFFFF), UNIT), pair)


def text(characters: str, spelling: Spelling = utf8) -> Regex:
    """One text."""
    return cat(*(spelling(((ord(c), ord(c)),)) for c in characters))


def any_text(spelling: Spelling = utf8) -> Regex:
    """Every text."""
    return repeat(spelling(CHARACTERS))


# === 2. Patterns ======================================================================================================
# The notation of regular expressions is a grammar of its own, read here by recursive descent: alternatives of sequences
# of counted pieces. What one character of a pattern stands for (`x`, `\d`, `[^a-z]`, `.`, in any case or not) is asked
# of Python's `re`, character by character, so that Unicode is as there. A look-ahead is an intersection.


class Pattern:
    """Reads a pattern from left to right. Raises ValueError where it is not understood."""

    COUNT = r"(?:[*+?]|\{\d+,?\d*\})\??"
    ATOM = r"\\(?:x..|u.{4}|[^\n\w]|[adfnrstvwDSW])|\[\^?\]?(?:\\.|[^\]\\])*\]|[^\\()\[|*+?^$]"
    TOKEN = re.compile(rf"(\(\?[=!])|(\((?:\?:)?|\)|\|)|({COUNT})|({ATOM})", re.DOTALL)

    def __init__(self, source: str, spelling: Spelling) -> None:
        self.flags, source = re.findall(r"(?:\(\?([ais]+)\))?(.*)", source, re.DOTALL)[0]
        self.spelling = spelling
        self.tokens = [found.groups() for found in self.TOKEN.finditer(source)]
        if rest := self.TOKEN.sub("", source):
            raise ValueError(f"not understood in {source!r}: {rest!r}")

    def alternatives(self, depth: int = 0) -> Regex:
        """Sequences with `|` between them, up to a closing bracket or the end."""
        options: list[list[tuple[Callable[..., Regex], Regex]]] = [[]]  # how a piece joins what comes behind it
        while self.tokens:
            look, mark, count, atom = self.tokens.pop(0)
            if mark == ")":
                break
            if mark == "|":
                options.append([])
            elif mark:
                options[-1].append((cat, self.alternatives(depth + 1)))
            elif look and depth == 0:
                seen = cat(self.alternatives(1), any_text(self.spelling))
                options[-1].append((both, seen if look == "(?=" else negation(seen)))
            elif count and options[-1] and options[-1][-1][0] is cat:
                options[-1][-1] = (cat, counted(options[-1][-1][1], count))
            elif atom:
                options[-1].append((cat, self.spelling(characters(atom, self.flags))))
            else:
                raise ValueError(f"not understood: {look or count}")
        joined = lambda behind, piece: piece[0](piece[1], behind)  # noqa: E731
        return either(*(reduce(joined, reversed(pieces), EPSILON) for pieces in options))


@cache
def characters(atom: str, flags: str = "") -> Ranges:
    """The characters that a pattern for one character matches, as ranges."""
    every = re.compile(f"(?{flags}:{atom})+")
    return tuple((ord(run[0][0]), ord(run[0][-1])) for part in EVERY for run in every.finditer(part))


def pattern(source: str, spelling: Spelling = utf8) -> Regex:
    """The texts that a pattern matches as a whole, like `re.fullmatch`."""
    return Pattern(source, spelling).alternatives()


# === 3. Grammars ======================================================================================================
# A context-free grammar has *rules*: each is a list of alternatives, an alternative a sequence of symbols. A symbol is
# the name of another rule or a *terminal*, a regular language whose texts are called lexemes. Some terminals are
# ignored: their texts may stand anywhere between lexemes. The notation is Lark's, without its templates and imports.

Rule = Hashable


@dataclass(frozen=True)
class Terminal:
    """A regular language, as a symbol of a grammar. priority, literal: which wins if several match the longest text.

    excluding: terminals whose texts are no lexemes of this one: "any string, but none of the declared keys".
    """

    regex: Regex
    name: str = field(default="", compare=False)
    priority: int = 0
    literal: bool = False
    excluding: frozenset[Terminal] = frozenset()


Symbol = Terminal | Rule
Alternative = tuple[Symbol, ...]
Expression = tuple[Any, ...]  # ("|", …), ("", …): one after the other, ("*" or "+" or "?", what), (a kind, a text)


@dataclass
class Grammar:
    """Rules, the first rule of a text, what is ignored, and whether the longest lexeme is the only one (section 5)."""

    rules: Mapping[Rule, Sequence[Sequence[Symbol]]]
    start: Rule
    ignore: tuple[Terminal, ...] = ()
    greedy: bool = False

    def __post_init__(self) -> None:
        """Leave out what derives no text, so that every rule that a text has begun can be ended."""
        good: set[Rule] = set()

        def derives(symbol: Symbol) -> bool:
            return symbol.regex.alive() if isinstance(symbol, Terminal) else symbol in good

        while new := {r for r, each in self.rules.items() if any(all(map(derives, a)) for a in each)} - good:
            good |= new
        self.rules = {rule: [tuple(a) for a in self.rules[rule] if all(map(derives, a))] for rule in good}
        self.ignore = tuple(filter(derives, self.ignore))


class Notation:
    """Reads a grammar in Lark's notation, or in the part of it that is here. Raises ValueError."""

    STATEMENT = re.compile(r"^(?:[?!]?(\w+)(?:\.(\d+))?\s*:|%ignore)(.*(?:\n(?![?!]?\w+[.\d]*\s*:|[%/]).*)*)", re.M)
    TOKEN = re.compile(r'\s*(?:("(?:\\.|[^"\\])*")|/((?:\\.|[^/\\])+)/|(\w+)|([()\[\]|*+?]))')

    def __init__(self, source: str) -> None:
        self.rules: dict[Rule, list[Alternative]] = {}
        self.bodies: dict[str, tuple[Expression, int]] = {}
        ignored: list[Expression] = []
        for name, priority, body in self.STATEMENT.findall(source):
            self.tokens = [token.groups() for token in self.TOKEN.finditer(body)]
            if "".join(self.TOKEN.sub("", body).split()):
                raise ValueError(f"not understood: {body!r}")
            if name:
                self.bodies[name] = self.expression(), int(priority or 0)
            else:
                ignored.append(self.expression())
        self.rules |= {name: [(self.symbol(body),)] for name, (body, _) in self.bodies.items() if not name.isupper()}
        self.ignored = tuple(self.terminal(each) for each in ignored)

    def expression(self) -> Expression:
        """Alternatives up to a closing bracket or the end."""
        options: list[list[Expression]] = [[]]
        while self.tokens:
            string, regex, name, mark = self.tokens.pop(0)
            if mark in (")", "]"):
                break
            if mark == "|":
                options.append([])
            elif mark in ("(", "["):
                inner = self.expression()
                options[-1].append(("?", inner) if mark == "[" else inner)
            elif mark:
                options[-1].append((mark, options[-1].pop()))
            else:
                options[-1].append(("string", string) if string else ("regex", regex) if regex else ("name", name))
        sequences = [each[0] if len(each) == 1 else ("", *each) for each in options]
        return sequences[0] if len(sequences) == 1 else ("|", *sequences)

    def language(self, body: Expression) -> Regex:
        """An expression inside of a terminal."""
        match body:
            case "string", source:
                return text(json.loads(source))
            case "regex", source:
                return pattern(source.replace("\\/", "/"))
            case "name", name:
                return self.language(self.bodies[name][0])
        inner = [self.language(part) for part in body[1:]]
        return cat(*inner) if body[0] == "" else either(*inner) if body[0] == "|" else counted(inner[0], body[0])

    def terminal(self, body: Expression) -> Terminal:
        """An expression as a terminal."""
        name = body[1] if body[0] == "name" else ""
        inner, priority = self.bodies[name] if name else (body, 0)
        return Terminal(self.language(inner), name or str(body[1]), priority, inner[0] == "string")

    def alternatives(self, body: Expression) -> list[Alternative]:
        """An expression as the alternatives of a rule. A list is left-recursive, so that its charts come again."""
        match body:
            case "|", *parts:
                return [(self.symbol(part),) for part in parts]
            case "", *parts:
                return [tuple(map(self.symbol, parts))]
        once = (self.symbol(body[1]),)
        return [once if body[0] == "+" else (), once if body[0] == "?" else (body, *once)]

    def symbol(self, body: Expression) -> Symbol:
        """An expression as a symbol. A group is a rule that has the expression as its name."""
        if body[0] in ("string", "regex", "name"):
            return body[1] if body[0] == "name" and not body[1].isupper() else self.terminal(body)
        if body not in self.rules:
            self.rules[body] = []
            self.rules[body] = self.alternatives(body)
        return body


def grammar(source: str, greedy: bool = False) -> Grammar:
    """The grammar of a text in Lark's notation; its first rule is `start`."""
    notation = Notation(source)
    return Grammar(notation.rules, "start", notation.ignored, greedy)


# === 4. The parser ====================================================================================================
# Earley, "An efficient context-free parsing algorithm" (CACM 1970). An *item* is an alternative with a dot: what stands
# before the dot has been read. A *chart* is all items that are possible after the same lexemes. An item remembers the
# chart in which it began; when its dot is at the end, the items that waited there for its rule go on. What
# follows depends on nothing but the items that wait, so charts with equal ones are one object: a list that loops comes
# back to a chart that exists.

GOAL = "a whole text"
Item = tuple[Rule, Alternative, int, "Chart | None"]  # alternative of a rule, dot, where it began: None is here


class Chart:
    """All items after some lexemes, by the symbol behind their dot."""

    def __init__(self) -> None:
        self.waiting: dict[Symbol, list[Item]] = defaultdict(list)
        self.accepts = False

    def moved(self, symbol: Symbol) -> list[Item]:
        """The items that wait for a symbol, moved over it; what began here has begun in this chart."""
        return [(rule, a, dot + 1, began or self) for rule, a, dot, began in self.waiting.get(symbol, ())]


class Parser:
    """Makes the charts of a grammar."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.charts: dict[Any, Chart] = {}  # by the items that were moved, and by those that wait
        self.first = self.chart([(GOAL, (grammar.start,), 0, None)])

    def chart(self, moved: Iterable[Item]) -> Chart:
        """The chart of some items: predict what may begin, complete what has ended, until nothing is new."""
        kernel = frozenset(moved)
        if kernel in self.charts:
            return self.charts[kernel]
        chart = Chart()
        items, seen, ended = list(kernel), set(kernel), set()
        for item in items:  # it grows
            rule, alternative, dot, began = item
            new: list[Item] = []
            if dot == len(alternative):
                if rule == GOAL:
                    chart.accepts = True
                elif began:
                    new += began.moved(rule)
                else:  # it is empty: who waits for the rule, now or later, goes on
                    ended.add(rule)
                    new += [(r, a, d + 1, b) for r, a, d, b in chart.waiting.get(rule, ())]
            else:
                symbol = alternative[dot]
                chart.waiting[symbol].append(item)
                if not isinstance(symbol, Terminal):
                    new += [(symbol, tuple(a), 0, None) for a in self.grammar.rules.get(symbol, ())]
                if symbol.regex.nullable if isinstance(symbol, Terminal) else symbol in ended:
                    new.append((rule, alternative, dot + 1, began))
            items += set(new) - seen
            seen.update(new)
        waiting = frozenset(item for item in items if item[2] < len(item[1]))
        self.charts[kernel] = self.charts.setdefault((waiting, chart.accepts), chart)
        return self.charts[kernel]


# === 5. The lexer =====================================================================================================
# A text is bytes, the parser takes lexemes. *Dynamic*: every way to cut a text into lexemes counts, so all lexemes that
# may be in progress are kept. *Greedy*, as lexers of programming languages do it: where a lexeme starts, those that the
# parser admits compete, the longest text that any of them matches is the lexeme, and it is never reconsidered. A lexeme
# that runs on and fails falls back to the last end that it passed: so beside the lexeme in progress goes the state in
# which it has ended there and the text went on, the *fallback*. (Lark has both; "maximal munch": Cattell 1978.)


class Lexeme(NamedTuple):
    """One in progress: where it began, its terminal, what may follow, and what may follow of what it must not be."""

    chart: Chart
    terminal: Terminal
    rest: Regex
    excluded: tuple[Regex, ...]
    ignored: bool

    def after(self, byte: int) -> Lexeme:
        """It, one byte longer."""
        return self._replace(rest=self.rest.after(byte), excluded=tuple(rest.after(byte) for rest in self.excluded))

    def is_excluded(self) -> bool:
        """True if its text is one that it must not be."""
        return any(rest.nullable for rest in self.excluded)


class State(NamedTuple):
    """A situation in a text: the charts if a lexeme may begin here, the lexemes in progress, and the fallback."""

    charts: frozenset[Chart]
    lexemes: frozenset[Lexeme]
    fallback: State | None = None


class Language:
    """The texts of a grammar, byte by byte."""

    def __init__(self, constraint: Grammar | Regex) -> None:
        if isinstance(constraint, Regex):
            constraint = Grammar({"start": [(Terminal(constraint),)]}, "start")
        self.grammar = constraint
        self.parser = Parser(constraint)
        self.step = cache(self._step)  # the state after one more byte; None if no text of the language begins so

    def start(self) -> State | None:
        """The state before the first byte; None if there is no text at all."""
        return self.begin({self.parser.first}) if self.grammar.start in self.grammar.rules else None

    def begin(self, charts: set[Chart], running: Iterable[Lexeme] = ()) -> State | None:
        """The state where lexemes may begin, beside some in progress; None if there are neither charts nor lexemes."""
        lexemes = set(running)
        for chart in charts:
            for symbols, ignored in ((chart.waiting, False), (self.grammar.ignore, True)):
                for t in [symbol for symbol in symbols if isinstance(symbol, Terminal)]:
                    lexemes.add(Lexeme(chart, t, t.regex, tuple(e.regex for e in t.excluding), ignored))
        return State(frozenset(charts), frozenset(lexemes)) if lexemes or charts else None

    def winners(self, ended: list[Lexeme]) -> list[Lexeme]:
        """Of lexemes with the same text those of the highest priority, and of these the literals, if there are any."""
        ended = [e for e in ended if e.terminal.priority == max(each.terminal.priority for each in ended)]
        return [e for e in ended if e.terminal.literal] or ended

    def charts(self, ended: Iterable[Lexeme]) -> set[Chart]:
        """The charts behind some lexemes. Ignored text leaves the parser where it was."""
        found = {lexeme.chart for lexeme in ended if lexeme.ignored}
        moved = {item for lexeme in ended if not lexeme.ignored for item in lexeme.chart.moved(lexeme.terminal)}
        return found | ({self.parser.chart(moved)} if moved else set())

    def _step(self, state: State | None, byte: int) -> State | None:
        if state is None:
            return None
        lexemes = [lexeme.after(byte) for lexeme in state.lexemes]
        ended = [lexeme for lexeme in lexemes if lexeme.rest.nullable and not lexeme.is_excluded()]
        live = [lexeme for lexeme in lexemes if lexeme.rest.alive()]
        if not self.grammar.greedy:
            return self.begin(self.charts(ended), [e for e in live if both(e.rest, *map(negation, e.excluded)).alive()])
        if ended:
            fallback = self.begin(self.charts(self.winners(ended)))
        else:
            longer = any(lexeme.is_excluded() for lexeme in lexemes)  # it would be the longest, and is no lexeme
            fallback = None if longer else self.step(state.fallback, byte)
        return State(frozenset(), frozenset(live), fallback) if live else fallback

    def accepts(self, state: State | None) -> bool:
        """True if the text so far is a member."""
        while state and not state.charts:
            state = state.fallback
        return state is not None and any(chart.accepts for chart in state.charts)

    def read(self, text: bytes) -> State | None:
        """The state after a text."""
        return reduce(self.step, text, self.start())

    def member(self, text: str) -> bool:
        """True if a text is a member."""
        return self.accepts(self.read(text.encode()))


# === 6. Masks =========================================================================================================
# A token may come next if and only if some text of the language begins with what is there and the token's bytes. States
# that no text can complete are None, so it is enough that the bytes lead to a state. Tokens that begin alike share
# their steps: the vocabulary is a tree of bytes (a trie; Fredkin, CACM 1960), walked together with the language.


class Vocabulary:
    """The bytes of each token (None: a token without text), and the tokens that end a text."""

    def __init__(self, tokens: Sequence[bytes | None], ends: Iterable[int]) -> None:
        self.tokens = tokens
        self.ends = frozenset(ends)
        self.tree: dict[int, Any] = {}  # byte -> subtree; -1 -> the tokens that end here
        for token, spelled in enumerate(tokens):
            if spelled and token not in self.ends:
                place = self.tree
                for byte in spelled:
                    place = place.setdefault(byte, {})
                place.setdefault(-1, []).append(token)


def mask(language: Language, state: State | None, vocabulary: Vocabulary) -> set[int]:
    """The tokens that may come next."""
    allowed = set(vocabulary.ends) if language.accepts(state) else set()
    places = [(vocabulary.tree, state)]
    for place, before in places:  # it grows
        for byte, subtree in place.items():
            if byte == -1:
                allowed.update(subtree)
            elif (after := language.step(before, byte)) is not None:
                places.append((subtree, after))
    return allowed


# === 7. JSON Schema ===================================================================================================
# A schema (json-schema.org) is a grammar: a rule for each subschema, and one for each place in an object or an array.
# Objects have declared properties only, in the order of their declaration. What is not understood is refused: a keyword
# that is passed over would be a mask that is almost right.


class SchemaReader:
    """Makes the rules of a schema. spelling: how strings are written."""

    ASIDE = frozenset({"$schema", "$id", "$defs", "definitions", "title", "description", "default", "examples"})
    NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"  # RFC 8259, section 6
    DIGIT = Place(10, {0x30 + digit: digit for digit in range(10)})
    LONGEST = 21  # digits of an integer

    def __init__(self, document: Any, spelling: Spelling) -> None:
        self.rules: dict[Rule, list[Alternative]] = {}
        self.document = document
        self.spelling = spelling

    def rule(self, make: Callable[..., list[Alternative]], *about: Any) -> Rule:
        """A rule, made once from what it is about; a schema that refers to itself meets its own name."""
        name = (make.__name__, json.dumps(about))
        if name not in self.rules:
            self.rules[name] = []
            self.rules[name] = make(*about)
        return name

    def value(self, schema: Any) -> list[Alternative]:
        """The texts of a schema."""
        said = schema if isinstance(schema, dict) else {} if schema else {"enum": []}
        said = {name: value for name, value in said.items() if name not in self.ASIDE}
        found: list[Alternative]
        if "$ref" in said:
            path = said.pop("$ref").removeprefix("#").split("/")[1:]
            found = [(self.rule(self.value, reduce(lambda at, name: at[name], path, self.document)),)]
        elif "anyOf" in said:
            found = [(self.rule(self.value, each),) for each in said.pop("anyOf")]
        elif "enum" in said or "const" in said:
            found = [
                a for each in (said.pop("enum") if "enum" in said else [said.pop("const")]) for a in self.constant(each)
            ]
        else:
            kinds = said.pop("type", "any value")
            found = [a for kind in ([kinds] if isinstance(kinds, str) else kinds) for a in self.typed(kind, said)]
        if said:
            raise ValueError(f"not understood: {', '.join(said)}")
        return found

    def typed(self, kind: str, said: dict[str, Any]) -> list[Alternative]:
        """The values of a type. said: the other keywords; those of the type are taken out of it."""
        take = said.pop
        if kind in ("boolean", "null"):
            return [(mark(each),) for each in (["true", "false"] if kind == "boolean" else ["null"])]
        if kind == "number":
            return [(Terminal(pattern(self.NUMBER)),)]
        if kind == "integer":
            most = 10**self.LONGEST - 1
            return [(Terminal(self.integers(take("minimum", -most), take("maximum", most))),)]
        if kind == "string":
            length = repeat(self.spelling(CHARACTERS), take("minLength", 0), take("maxLength", None))
            return [(self.string(both(length, self.searched(take("pattern", "")))),)]
        if kind == "array":
            about = take("prefixItems", []), take("items", {}), take("minItems", 0), take("maxItems", None), 0
            return [(mark("["), self.rule(self.items, *about))]
        if kind == "object" and take("additionalProperties", True) is False:
            properties, required = take("properties", {}), take("required", [])
            if set(required) <= set(properties):
                return [(mark("{"), self.rule(self.members, list(properties.items()), required, True))]
        raise ValueError(f"not understood: {kind}, {said}")

    def string(self, language: Regex) -> Terminal:
        """The strings whose values are in a language, which is spelled already."""
        return Terminal(cat(text('"'), language, text('"')))

    def searched(self, source: str) -> Regex:
        """The values in which a pattern is found somewhere: ECMA's, as far as it is Python's."""
        begin, end = "" if source.startswith("^") else r"[\s\S]*", "" if source.endswith("$") else r"[\s\S]*"
        inner = source.removeprefix("^").removesuffix("$")
        return pattern(f"(?a){begin}{f'(?:{inner})' if '|' in inner else inner}{end}", self.spelling)

    def integers(self, low: int, high: int) -> Regex:
        """The integers from `low` to `high`: numbers of one, two, … digits, and the same with a sign."""
        found = []
        for sign, least, most in (("", max(low, 0), high), ("-", max(-high, 1), -low)):
            for n in range(1, self.LONGEST + 1):
                whole = clip(((10 ** (n - 1) if n > 1 else 0, 10**n - 1),), least, most, least)
                found.append(cat(text(sign), number(whole, (self.DIGIT,) * n)))
        return either(*found)

    def items(self, prefix: list[Any], rest: Any, low: int, high: int | None, at: int) -> list[Alternative]:
        """The rest of an array after so many items."""
        found: list[Alternative] = [(mark("]"),)] if at >= low else []
        item = prefix[at] if at < len(prefix) else rest
        if item is not False and (high is None or at < high):
            new = at + 1 if high else min(at + 1, max(low, len(prefix), 1))  # more items make no difference
            comma = (mark(","),) if at else ()
            found += [(*comma, self.rule(self.value, item), self.rule(self.items, prefix, rest, low, high, new))]
        return found

    def members(self, properties: list[Any], required: list[str], first: bool) -> list[Alternative]:
        """The rest of an object where these properties are still to come."""
        found: list[Alternative] = []
        for at, (name, schema) in enumerate(properties):
            key = self.string(text(name, self.spelling)), mark(":"), self.rule(self.value, schema)
            rest = self.rule(self.members, properties[at + 1 :], required, False)
            found += [(*(() if first else (mark(","),)), *key, rest)]
            if name in required:
                return found
        return [(mark("}"),), *found]

    def constant(self, value: Any) -> list[Alternative]:
        """One value. The items of an array and the members of an object are schemas again."""
        if isinstance(value, list):
            items = [{"const": each} for each in value]
            return self.typed("array", {"prefixItems": items, "items": False, "minItems": len(items)})
        if isinstance(value, dict):
            members = {name: {"const": each} for name, each in value.items()}
            return self.typed(
                "object", {"properties": members, "required": list(members), "additionalProperties": False}
            )
        return [(self.string(text(value, self.spelling)) if isinstance(value, str) else mark(json.dumps(value)),)]


def mark(characters: str) -> Terminal:
    """A terminal of one text."""
    return Terminal(text(characters), repr(characters), literal=True)


def schema(document: Any, plain: bool = True, whitespace: bool = False) -> Grammar:
    """The JSON texts of a schema. plain: as serializers spell strings. whitespace: any between tokens, or none."""
    reader = SchemaReader(document, partial(in_json, plain=plain))
    start = reader.rule(reader.value, document)
    return Grammar(reader.rules, start, (Terminal(pattern(r"[ \t\n\r]+")),) if whitespace else ())


# === 8. Masked decoding ===============================================================================================
# A model gives each next token a probability. Masked decoding takes the probabilities of the tokens that are allowed,
# makes them sum to 1, and draws. What it divides by, the *mass* of the mask, differs from place to place, so a text x
# that has the probability p(x) under the model is drawn with q(x) = p(x) / w(x), where w(x) is the product of the
# masses on its way: its *weight*. That is not the model's distribution of texts of the language, p(x) / Z: masking
# bends it (Park et al., "Grammar-aligned decoding", NeurIPS 2024). But the mean of the weights is Z, and texts drawn
# anew by their weights are p(x) / Z in the limit (importance sampling; Doucet, de Freitas & Gordon 2001).

Model = Callable[[tuple[int, ...]], Sequence[float]]  # the tokens so far -> log p of each token
Written = tuple[tuple[int, ...], float]  # the tokens of a text, and log w


def decode(model: Model, language: Language, vocabulary: Vocabulary, chance: random.Random, most: int) -> Written:
    """A text by masked decoding, and log w. One that does not end within so many tokens has the weight 0."""
    tokens: tuple[int, ...] = ()
    state, log_weight = language.start(), 0.0
    while len(tokens) < most:
        log_p, allowed = model(tokens), sorted(mask(language, state, vocabulary))
        shares = [math.exp(log_p[token]) for token in allowed]
        (token,) = chance.choices(allowed, shares)
        tokens, log_weight = (*tokens, token), log_weight + math.log(math.fsum(shares))
        if token in vocabulary.ends:
            return tokens, log_weight
        state = reduce(language.step, vocabulary.tokens[token] or b"", state)
    return tokens, -math.inf
