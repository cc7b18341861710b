"""Captures of a finished text: what the rules with a capture derived.

The idea: an Earley parser finds which rules derive which spans (chart.py). One derivation is read off from the end of
the text to its beginning. Of several ways to divide a span, the last part is as short as possible, then the part before
it, and so on; of several alternatives the first that is written counts. Captures are listed in the order in which they
end.

Cost: that of the chart, tens of microseconds a byte. Limit: for `lexer="dynamic"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from constrain.languages.automata.decide import ends
from constrain.languages.automata.marks import without_marks
from constrain.languages.automata.syntax import Ranges, Tokens
from constrain.languages.cfg.ebnf import Part, leaves, to_nonterminals, to_table
from constrain.languages.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.analysis import without_unproductive
from constrain.languages.cfg.transform.chart import TextChart
from constrain.languages.cfg.transform.regular import IGNORED, WHOLE, inline_ignored_rules

if TYPE_CHECKING:
    from constrain.languages.cfg.build import CaptureRule, GrammarReading


class Capture(NamedTuple):
    """A captured text.

    Attributes:
        name: The name of the capture.
        text: What was captured.
        begin: The index of its first character in the whole text.
        end: The index behind its last character.

    Example:
        >>> import constrain
        >>> pair = constrain.grammar('''
        ... start: key "=" value
        ... key[capture]: /[a-z]+/
        ... value[capture="v"]: /[0-9]+/
        ... ''')
        >>> pair.captures("abc=12")
        [Capture(name='key', text='abc', begin=0, end=3), Capture(name='v', text='12', begin=4, end=6)]
    """

    name: str
    text: str
    begin: int
    end: int


CaptureSpan = tuple[str, int, int]  # name, begin and end in bytes
Inner = Callable[[Any, bytes], "list[CaptureSpan]"]


def named(spans: list[CaptureSpan], text: bytes) -> list[Capture]:
    """Captures with their texts. text: as UTF-8, with marks of tokens."""

    def plain(begin: int, end: int) -> str:
        return without_marks(text[begin:end]).decode(errors="replace")

    return [Capture(name, plain(low, high), len(plain(0, low)), len(plain(0, high))) for name, low, high in spans]


def capture_spans(
    reading: GrammarReading, text: bytes, spans: Mapping[Tokens, Ranges], inner: Inner
) -> list[CaptureSpan]:
    """The captures in a valid text of a grammar.

    Args:
        reading: The grammar.
        text: The text, as UTF-8, with marks of tokens (automata/marks.py).
        spans: The ids of the sets of tokens.
        inner: Gives the captures of a text of an embedded constraint.

    Returns:
        The captures in the order in which they end; none if the text is not valid.
    """
    rules, start = reading.rules, reading.start
    if reading.grammar.ignore:
        rules, start = inline_ignored_rules(rules, start, reading.grammar.ignore), WHOLE
    root = to_nonterminals(without_unproductive(to_table(rules)), start, frozenset())
    chart = TextChart(text, spans)
    if not chart.derives(root):
        return []
    parts = {leaf.symbol: leaf.constraint for leaf in leaves(rules.values()) if isinstance(leaf, Part)}
    captures: list[CaptureSpan] = []
    trimmed: dict[int, int] = {}  # the end of ignored text -> its beginning
    for symbol, begin, end in derivation(chart, root, parts.keys()):
        if symbol in parts:
            captures += [(name, low + begin, high + begin) for name, low, high in inner(parts[symbol], text[begin:end])]
        elif symbol.name == IGNORED:
            trimmed[end] = min(begin, trimmed.get(end, begin))
        elif symbol.name in reading.captures and symbol.key is None:  # ignored text at its end does not belong to it
            captures += _captured(reading.captures[symbol.name], text, begin, max(begin, trimmed.get(end, end)))
    return captures


def _captured(rule: CaptureRule, text: bytes, begin: int, end: int) -> Iterator[CaptureSpan]:
    """The captures of one text of a rule."""
    pairs = [(rule.name, begin, end)]
    if rule.suffix is not None and rule.body is not None:
        cuts = (at for at in ends(rule.body, text[:end], begin) if end in ends(rule.suffix, text[:end], at))
        cut = next(cuts, None)  # XGrammar's max_chars may end a rule before its suffix
        if cut is not None:
            pairs = [(rule.suffix_name, cut, end), (rule.name, begin, cut)]
    for name, low, high in pairs:
        if name is not None:
            yield name, low, high


Span = tuple[Nonterminal, int, int]
Index = list[dict[Symbol, list[int]] | None]  # by end: where the texts of a nonterminal begin; None: not made yet


def derivation(chart: TextChart, root: Nonterminal, opaque: Any) -> Iterator[Span]:
    """The nonterminals of one derivation of the whole text with their spans, each after those inside of it.

    opaque: nonterminals that are not looked into.
    """
    index: Index = [None] * len(chart.done)
    stack: list[tuple[Span, bool]] = [((root, 0, len(chart.text)), False)]
    while stack:
        span, is_done = stack.pop()
        if is_done or span[0] in opaque:
            yield span
            continue
        stack.append((span, True))
        stack += [(child, False) for child in reversed(_children(chart, span, index))]


def _children(chart: TextChart, span: Span, index: Index) -> list[Span]:
    """The nonterminals of one alternative that derives a span, in order."""
    left, begin, end = span
    for alternative in left.expansion or ():
        if (left, id(alternative), len(alternative), begin) in chart.known[end]:
            children = _divided(chart, span, alternative, index)
            if children is not None:
                return children
    raise AssertionError("a span in the chart has a derivation")


def _divided(chart: TextChart, span: Span, alternative: Any, index: Index) -> list[Span] | None:
    """The nonterminals of an alternative with their spans; None if it derives the span only through the span itself."""
    rule, begin, end = span
    rank = chart.done[end][rule, begin]
    stack: list[tuple[int, int, Any]] = [(len(alternative), end, None)]
    while stack:
        dot, at, tail = stack.pop()
        if dot == 0:
            children = []
            while tail is not None:
                child, tail = tail
                children += [child] if isinstance(child[0], Nonterminal) else []
            return children
        symbol = alternative[dot - 1]
        for origin in _origins(chart, symbol, at, index):
            if (rule, id(alternative), dot - 1, begin) not in chart.known[origin]:
                continue
            is_whole = (origin, at) == (begin, end) and isinstance(symbol, Nonterminal)
            if is_whole and chart.done[at][symbol, origin] >= rank and rule in _reached(symbol):
                continue  # it could be its own part
            stack.append((dot - 1, origin, ((symbol, origin, at), tail)))
    return None


def _reached(symbol: Nonterminal) -> set[Nonterminal]:
    """The nonterminals that a chart's nonterminal leads to."""
    reached: set[Nonterminal] = set()
    stack = [symbol]
    while stack:
        for alternative in stack.pop().expansion or ():
            new = {part for part in alternative if isinstance(part, Nonterminal)} - reached
            reached |= new
            stack += new
    return reached


def _origins(chart: TextChart, symbol: Symbol, at: int, index: Index) -> list[int]:
    """The positions where the texts of a symbol that end at a position begin, in order."""
    if isinstance(symbol, Terminal):
        return chart.lexemes[at].get(symbol, [])
    by_symbol = index[at]
    if by_symbol is None:
        by_symbol = index[at] = {}
        for other, origin in chart.done[at]:
            by_symbol.setdefault(other, []).append(origin)
        for origins in by_symbol.values():
            origins.sort()
    return by_symbol.get(symbol, [])
