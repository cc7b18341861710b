"""Plain twins for the schema room: membership in a syntax tree, and the parser of the reading edition over lexemes.

Slow and simple on purpose; no code is shared with the engine.
"""

import json
import re
from types import SimpleNamespace

from constrain.languages.automata import syntax
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from reading_oracle import reading

SCALAR = r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null|'
LEXEME = re.compile(SCALAR + r"[{}\[\],:]|[ \t\n\r]+", re.DOTALL)
INDENTED = re.compile(  # the same where punctuation has its whitespace with it
    SCALAR + r"[ \t\n\r]*(?:[}\]]|:[ \t\n\r]*)|,[ \t\n\r]*|[{\[]|[ \t\n\r]+", re.DOTALL
)
PLAIN = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00[01][0-9a-f]|\\u(?!00[0-7])[0-9a-f]{4}|\\u007f)*"', re.IGNORECASE
)


def ends(node: syntax.Node, text: str, start: int, memo: dict) -> frozenset[int]:
    """The positions where a match that begins at `start` may end."""
    key = (id(node), start)
    if key in memo:
        return memo[key]
    if isinstance(node, syntax.Chars):
        inside = start < len(text) and any(low <= ord(text[start]) <= high for low, high in node.ranges)
        found = frozenset([start + 1] if inside else [])
    elif isinstance(node, syntax.Literals):
        found = frozenset(start + len(each) for each in _prefixes(node, text, start))
    elif isinstance(node, syntax.Concat):
        found = frozenset([start])
        for part in node.args:
            found = frozenset(end for middle in found for end in ends(part, text, middle, memo))
    elif isinstance(node, syntax.Alternate):
        found = frozenset().union(*(ends(part, text, start, memo) for part in node.args))
    elif isinstance(node, syntax.Intersect):
        found = frozenset.intersection(*(ends(part, text, start, memo) for part in node.args))
    elif isinstance(node, syntax.Complement):
        found = frozenset(range(start, len(text) + 1)) - ends(node.args[0], text, start, memo)
    elif isinstance(node, syntax.Repeat):
        found = _repeat(node, text, start, memo)
    elif isinstance(node, syntax.Remainder):
        stop = start
        while stop < len(text) and text[stop] in "0123456789.":
            stop += 1
        numbers = {end: int(text[start:end].replace(".", "") or "0") for end in range(start, stop + 1)}
        found = frozenset(end for end, number in numbers.items() if number % node.args[0] == 0)
    elif isinstance(node, syntax.Acyclic):
        found = _paths(node, text, start)
    else:
        assert isinstance(node, syntax.JsonString)
        literal = LEXEME.match(text, start)
        found = frozenset()
        plain = not node.plain or PLAIN.match(text, start)
        if literal and text[start] == '"' and plain and _decodes(literal.group(), node.node):
            found = frozenset([literal.end()])
    memo[key] = found
    return found


def _paths(node: syntax.Acyclic, text: str, start: int) -> frozenset[int]:
    places = [(0, start)]
    for state, at in places:  # it grows
        for label, to in node.edges[state]:
            each = node.labels[label]
            if isinstance(each, str):
                places += [(to, at + len(each))] if text.startswith(each, at) else []
            else:
                places += [(to, end) for end in ends(each, text, at, {})]
    return frozenset(at for state, at in places if node.accepting[state])


def _prefixes(node: syntax.Literals, text: str, start: int) -> list[str]:
    if len(node.texts) < 50:
        return [each for each in node.texts if text.startswith(each, start)]
    known, rest = set(node.texts), text[start:]
    return [rest[:end] for end in range(len(rest) + 1) if rest[:end] in known]


def _repeat(node: syntax.Repeat, text: str, start: int, memo: dict) -> frozenset[int]:
    if isinstance(node.node, syntax.Chars):
        stop = start
        while stop < len(text) and any(low <= ord(text[stop]) <= high for low, high in node.node.ranges):
            stop += 1
        most = stop - start if node.high is None else min(node.high, stop - start)
        return frozenset(range(start + node.low, start + most + 1))
    level = frozenset([start])
    for _ in range(min(node.low, len(text) + 1)):
        level = frozenset(end for middle in level for end in ends(node.node, text, middle, memo))
    found, count = level, node.low
    seen = set(level)
    while level and (node.high is None or count < node.high):
        level = frozenset(end for middle in level for end in ends(node.node, text, middle, memo)) - seen
        seen |= level
        found, count = found | level, count + 1
    return found


def _decodes(literal: str, node: syntax.Node) -> bool:
    try:
        decoded = json.loads(literal)
    except ValueError:
        return False
    return not any("\ud800" <= char <= "\udfff" for char in decoded) and member(node, decoded)


def member(node: syntax.Node, text: str) -> bool:
    """True if the whole text is in the language."""
    return len(text) in ends(node, text, 0, {})


def is_lexeme(terminal: Terminal, text: str, memo: dict) -> bool:
    """True if the text counts as this terminal."""
    key = (terminal, text)
    if key not in memo:
        excluded = any(is_lexeme(other, text, memo) for other in terminal.excluding)
        memo[key] = not excluded and member(terminal.node, text)
    return memo[key]


def lexemes(text: str, cut: re.Pattern[str]) -> list[str] | None:
    """Cut a JSON text into lexemes; None if it is not made of any."""
    found, at = [], 0
    while at < len(text):
        match = cut.match(text, at)
        if match is None:
            return None
        found.append(match.group())
        at = match.end()
    return found


def recognises(grammar: Grammar, text: str) -> bool:
    """True if the text is in the grammar's language."""
    for cut in (LEXEME, INDENTED):
        words = lexemes(text, cut)
        if words is not None and (_derives(grammar, words) or _derives(grammar, _first_line(words))):
            return True
    return False


def _first_line(words: list[str]) -> list[str]:
    """The same where the first indentation is cut behind its first blank."""
    line = words[1] if len(words) > 1 else ""
    return [words[0], line[:2], line[2:], *words[2:]] if line.startswith("\n ") and len(line) > 2 else words


class _Expanded(dict):
    """The rules of a grammar, each expanded when the parser asks for it; a terminal has none."""

    def get(self, symbol, default=()):
        if isinstance(symbol, Nonterminal) and symbol not in self:
            self[symbol] = symbol.expand()
        return super().get(symbol, default)


def _derives(grammar: Grammar, words: list[str]) -> bool:
    parser = reading.Parser(SimpleNamespace(rules=_Expanded(), start=grammar.start))
    memo: dict = {}
    chart = parser.first
    for word in words:
        read = [symbol for symbol in chart.waiting if isinstance(symbol, Terminal) and is_lexeme(symbol, word, memo)]
        chart = parser.chart(item for symbol in read for item in chart.moved(symbol))
    return chart.accepts
