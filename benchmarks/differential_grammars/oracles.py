"""Lark's verdict on a text, and the reasons for which it may differ from ours.

`Dynamic`: lark's Earley parser with `lexer="dynamic_complete"`, and beside it `language`, a plain recogniser over
lark's *own* compiled rules and terminals that tries every end of every terminal with `re.fullmatch`. Where lark's
parser says something else than its rules, it took only the first or the longest match of a regex.

`Contextual`: lark's LALR parser with the contextual lexer, followed lexeme by lexeme. The longest lexeme among the
terminals that the parser can take is ours; where lark takes another one (its order of alternatives decided, not the
length), the two lexers differ on purpose, and the verdicts are not compared.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import Any

import lark
from lark.grammar import Terminal

from constrain.languages.cfg.readers.regex_shape import sees_outside


class Dynamic:
    """Lark's Earley parser for a grammar. Raises what lark raises for the grammar."""

    def __init__(self, grammar: str, start: str = "start", **options: Any) -> None:
        self.parser = lark.Lark(grammar, parser="earley", lexer="dynamic_complete", start=start, **options)
        self.start = start
        self.patterns = {t.name: re.compile(t.pattern.to_regexp()) for t in self.parser.terminals}
        self.rules: dict[str, list[tuple[tuple[str, bool], ...]]] = {}
        for rule in self.parser.rules:
            symbols = tuple((symbol.name, isinstance(symbol, Terminal)) for symbol in rule.expansion)
            self.rules.setdefault(rule.origin.name, []).append(symbols)

    def accepts(self, text: str) -> bool:
        """True if lark's parser accepts the text."""
        return _parses(self.parser, text)

    def language(self, text: str) -> bool:
        """True if the text is derivable from lark's rules: each lexeme a full match, ignored texts between lexemes."""
        ends: dict[tuple[str, int], list[int]] = {}

        def lexemes(name: str, begin: int) -> list[int]:
            if (name, begin) not in ends:
                found = range(begin + 1, len(text) + 1)
                ends[name, begin] = [end for end in found if self.matches(name, text, begin, end)]
            return ends[name, begin]

        return recognise(self.rules, self.start, len(text), lexemes, self.parser.ignore_tokens)

    def matches(self, name: str, text: str, begin: int, end: int) -> bool:
        """Is this a text of a terminal? One that looks beside it sees what stands there."""
        pattern = self.patterns[name]
        if any(sees_outside(pattern.pattern)):
            rest = f"(?=(?s:.{{{len(text) - end}}})\\Z)"
            return re.compile(f"(?:{pattern.pattern}){rest}").match(text, begin) is not None
        return pattern.fullmatch(text, begin, end) is not None


def recognise(rules: Any, start: str, size: int, lexemes: Any, ignored: Iterable[str] = ()) -> bool:
    """Earley's recogniser, item by item, nothing clever: completion is repeated until nothing changes.

    rules: name -> alternatives of (name, is it a terminal). lexemes(name, begin): the ends of its lexemes.
    """
    charts: list[set[Any]] = [set() for _ in range(size + 1)]
    charts[0] = {(start, a, 0, 0) for a in rules[start]}
    for here in range(size + 1):
        while True:
            new: set[Any] = set()
            for left, alternative, dot, origin in charts[here]:
                if dot == len(alternative):
                    new |= {(r, a, d + 1, o) for r, a, d, o in charts[origin] if d < len(a) and a[d] == (left, False)}
                elif not alternative[dot][1]:
                    new |= {(alternative[dot][0], a, 0, here) for a in rules.get(alternative[dot][0], ())}
            if new <= charts[here]:
                break
            charts[here] |= new
        blanks = {end for name in ignored for end in lexemes(name, here)}
        for item in charts[here]:
            left, alternative, dot, origin = item
            if dot < len(alternative) and alternative[dot][1]:
                for end in lexemes(alternative[dot][0], here):
                    charts[end].add((left, alternative, dot + 1, origin))
            for end in blanks:  # an item waits; it waits again after the ignored text
                charts[end].add(item)
    return any(left == start and dot == len(a) and origin == 0 for left, a, dot, origin in charts[size])


class Conflict(lark.exceptions.GrammarError):
    """A grammar that is not LALR(1), and of which lark silently leaves out what it does not shift."""


class _Conflicts(logging.Handler):
    """Hears of shift/reduce conflicts; lark tells of them nowhere else."""

    heard = False

    def emit(self, record: logging.LogRecord) -> None:
        """One message of lark's."""
        self.heard |= "Shift/Reduce conflict" in record.getMessage()


class Contextual:
    """Lark's LALR parser for a grammar. Raises what lark raises for it, `Conflict` for shift/reduce conflicts."""

    def __init__(self, grammar: str, start: str = "start", **options: Any) -> None:
        handler, others, level = _Conflicts(), lark.logger.handlers, lark.logger.level
        silenced = logging.root.manager.disable  # some packages silence everybody's messages
        logging.disable(logging.NOTSET)
        lark.logger.handlers = [handler]
        lark.logger.setLevel(logging.DEBUG)
        try:
            self.parser = lark.Lark(grammar, parser="lalr", lexer="contextual", start=start, **options)
        finally:
            lark.logger.handlers = others
            lark.logger.setLevel(level)
            logging.disable(silenced)
        if handler.heard:
            raise Conflict("shift/reduce conflict")
        self.terminals = {t.name: t for t in self.parser.terminals}
        self.patterns = {name: re.compile(t.pattern.to_regexp()) for name, t in self.terminals.items()}

    def accepts(self, text: str) -> bool:
        """True if lark's parser accepts the text."""
        return _parses(self.parser, text)

    def order_decides(self, text: str) -> bool:
        """True if lark takes, anywhere in the text, another lexeme than the longest that the parser can take, one of
        several that are tied, or ignores one that the parser can take."""
        run = self.parser.parse_interactive(text)
        position = 0
        while position < len(text):
            admitted, ignored = run.accepts(), set(self.parser.ignore_tokens)
            ends = {name: self._longest(name, text, position) for name in (admitted | ignored) & self.patterns.keys()}
            end = max(ends.values(), default=position)
            winners = self._winners({name for name, each in ends.items() if each == end and end > position})
            taken = self._taken(run, text, position)
            if taken is None:
                return bool(winners)
            name, stop = taken
            if stop != end or winners != {name} or name in admitted & ignored:
                return True
            position = stop
        return False

    def _taken(self, run: Any, text: str, position: int) -> tuple[str, int] | None:
        """(terminal, end) of lark's next lexeme, which the parser is fed; None if there is none."""
        lexer = run.lexer_thread.lexer.lexers[run.parser_state.position]
        found = lexer.match(run.lexer_thread.state.text, position)
        if found is None:
            return None
        value, name = found
        end = position + len(value)
        token = lark.Token(name, value)
        if name in lexer.callback:
            token = lexer.callback[name](token)
        if name not in self.parser.ignore_tokens:  # an ignored string found as the text of a regex is fed, and refused
            try:
                run.feed_token(token)
            except lark.exceptions.UnexpectedToken:
                return None
        return token.type, end

    def _longest(self, name: str, text: str, begin: int) -> int:
        match = self.patterns[name].fullmatch
        return max((end for end in range(begin + 1, len(text) + 1) if match(text, begin, end)), default=begin)

    def _winners(self, tied: set[str]) -> set[str]:
        """Of lexemes of one length: the highest priority, then literals."""
        best = max((self.terminals[name].priority for name in tied), default=0)
        tied = {name for name in tied if self.terminals[name].priority == best}
        strings = {name for name in tied if isinstance(self.terminals[name].pattern, lark.lexer.PatternStr)}
        return strings or tied


def _parses(parser: lark.Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except lark.exceptions.LarkError:
        return False
    except RuntimeError as error:  # a text with several whole derivations, which lark 1.3.1 takes for a bug of its own
        if "multiple start symbol" not in str(error):
            raise
    return True
