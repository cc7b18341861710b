"""Spans of a document: `constrain.substring(text)` guarantees that a quote is in the document.

The idea: the document is a sequence of symbols: characters, chunks, or units (words, lines, sentences) and the
whitespace between them. Its suffix automaton (Blumer et al., "The smallest automaton recognizing the subwords of a
text", 1985) has at most 2n states and 3n edges for n symbols. It is one node of a syntax tree (`syntax.Acyclic`), so
spans are a regular language like any other, and can be part of a grammar, a union or an intersection.

A span of words may begin with one blank. Tokens of most vocabularies begin with the blank before a word, so a model
that goes on after "Answer:" writes " Paris"; a mask that leaves "Paris" alone makes it write what it would not.

With `errors=k` a span may be misquoted in at most k characters (`inexact.py`).

Cost: about 3 µs per symbol to make the automaton and 15 µs per symbol to lower it, at the first use; then what texts
visit. Limit: an automaton has to fit into the engine's memory, about 300 bytes per symbol.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal, get_args

from constrain.errors import GrammarError, UnsatisfiableError
from constrain.languages.automata.decide import matches
from constrain.languages.automata.syntax import Acyclic, Node, alternate, concat, literal
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.inexact import Distance, within

Granularity = Literal["word", "char", "chunk", "line", "sentence"]
_SEPARATORS = {
    "word": re.compile(r"(\s+)"),
    "line": re.compile(r"((?<!\s)\s*\n\s*)"),
    # behind a sign that ends sentences and maybe one that closes quotes, and around an empty line
    "sentence": re.compile(r"""((?<!\s)\s*\n\s*\n\s*|(?<=[.!?…])\s+|(?<=[.!?…]["'”’»)\]])\s+)"""),
}


@dataclass(frozen=True)
class Substring(Constraint):
    """Any span of a sequence of symbols; make one with `substring`.

    Attributes:
        symbols: The texts, in order.
        spaced: Whether symbols 1, 3, 5, ... are separators, with which no span begins or ends.
        blank: Whether one blank may come before a span.
        errors: The characters of a span that may be wrong.
        distance: How they are counted.
        shown: The call that made it, for messages.
    """

    symbols: tuple[str, ...]
    spaced: bool
    blank: bool
    errors: int
    distance: Distance
    shown: str = field(compare=False)

    @cached_property
    def node(self) -> Node:
        found = self.quotes
        return concat(alternate(literal(""), literal(" ")), found) if self.blank else found

    @cached_property
    def quotes(self) -> Acyclic:
        """The automaton of the spans, without a blank before them."""
        found = spans(self.symbols, self.spaced)
        return within(found, self.errors, self.distance) if self.errors else found

    def parse(self, text: str) -> str:
        """The span of a member: the text without the blank before it, unless the document has it with the blank.

        With errors that blank is one of them only if the text is no member without it.
        """
        begins_so = not self.blank or not text.startswith(" ") or matches(spans(self.symbols, self.spaced), text)
        return text if begins_so or (self.errors and not matches(self.quotes, text[1:])) else text[1:]

    def __repr__(self) -> str:
        return self.shown


@lru_cache(maxsize=8)
def spans(symbols: tuple[str, ...], spaced: bool) -> Acyclic:
    """The automaton of the nonempty spans of a sequence of symbols; `spaced` as in `Substring`."""
    numbers: dict[tuple[str, bool], int] = {}
    word = [numbers.setdefault((text, spaced and index % 2 == 1), len(numbers)) for index, text in enumerate(symbols)]
    blank = [is_blank for _, is_blank in numbers]
    edges, length = suffix_automaton(word)
    order = sorted(range(len(edges)), key=length.__getitem__)  # an edge leads to a longer span: to a later state
    rank = {q: index for index, q in enumerate(order)}
    accepting = [False] * len(edges)
    transitions = []
    for q in order:
        kept = [(symbol, rank[to]) for symbol, to in edges[q].items() if q or not blank[symbol]]
        for symbol, to in kept:
            accepting[to] = not blank[symbol]
        transitions.append(tuple(kept))
    return Acyclic(tuple(text for text, _ in numbers), tuple(transitions), tuple(accepting))


def suffix_automaton(symbols: Sequence[int]) -> tuple[list[dict[int, int]], list[int]]:
    """The suffix automaton of a sequence of symbols, by the algorithm of Blumer et al. (1985).

    Every path from state 0 spells a span, and every span has one path.

    Returns:
        For each state its edges, symbol -> state; and for each state the length of its longest span.
    """
    edges: list[dict[int, int]] = [{}]
    link, length = [-1], [0]
    last = 0
    for symbol in symbols:
        new = len(edges)
        edges.append({})
        length.append(length[last] + 1)
        link.append(0)
        q, last = last, new
        while q >= 0 and symbol not in edges[q]:
            edges[q][symbol] = new
            q = link[q]
        if q < 0:
            continue
        target = edges[q][symbol]
        if length[q] + 1 < length[target]:  # only the shorter spans of that state end here too: split them off
            whole, target = target, len(edges)
            edges.append(dict(edges[whole]))
            length.append(length[q] + 1)
            link.append(link[whole])
            while q >= 0 and edges[q].get(symbol) == whole:
                edges[q][symbol] = target
                q = link[q]
            link[whole] = target
        link[new] = target
    return edges, length


def substring(
    text: str | Iterable[str], granularity: Granularity = "word", *, blank: bool | None = None, errors: int = 0,
    distance: Distance = "edit",
) -> Constraint:  # fmt: skip
    """Any nonempty span of a document.

    Args:
        text: The document; with granularity="chunk" a list of texts, none of them empty.
        granularity: "word": a span begins and ends with a whole word, and keeps the whitespace between words;
            "char": any characters; "chunk": whole chunks; "line": whole lines, without the whitespace around them;
            "sentence": whole sentences, which end with `.`, `!`, `?` or `…` before whitespace, and with a paragraph.
        blank: Whether one blank may come before a span, as models write words after "Answer:". None: not with "char"
            and "chunk". False is for spans inside of quotation marks.
        errors: The characters of a span that may be wrong; for documents of some kilobytes one or two.
        distance: "edit": a wrong character is another one, one too many, or one that is missing; "hamming": another
            one. The text is not empty.

    Returns:
        A constraint whose language is regular. The `value` of an output is its span, without that blank.

    Raises:
        GrammarError: The text has the wrong type for the granularity, or has a lone surrogate; another argument has a
            wrong value.
        UnsatisfiableError: The document is empty.
        LimitError: So many errors in so long a document take too much time or memory; when its node is first asked for.

    Source:
        Blumer et al., "The smallest automaton recognizing the subwords of a text", 1985.

    Example:
        >>> import constrain
        >>> constrain.substring("to be or not to be")
        substring('to be or not to be', 'word')
        >>> constrain.generate(constrain.reference.load(), "A:", constraint=constrain.substring("x1"), seed=1).value
        'x1'
        >>> constrain.substring("to be or not to be", errors=1).accepts("to bee")
        True
    """
    if blank is not None and not isinstance(blank, bool):
        raise GrammarError(f"blank must be True or False, not {blank!r:.60}", fix="leave it out")
    if not isinstance(errors, int) or isinstance(errors, bool) or errors < 0:
        raise GrammarError(f"errors must be 0, 1, 2, ..., not {errors!r:.60}", fix="leave it out")
    if not isinstance(distance, str) or distance not in get_args(Distance):
        raise GrammarError(f"unknown distance {distance!r:.60}", fix="use 'edit' or 'hamming'")
    symbols = units(text, granularity)
    first = repr(text if isinstance(text, str) else symbols[0])
    spaced = granularity in _SEPARATORS
    blank = spaced if blank is None else blank
    shown = [first if len(first) <= 40 else first[:37] + "...", repr(granularity)]
    shown += [f"blank={blank}"] * (blank != spaced) + [f"errors={errors}, distance={distance!r}"] * (errors > 0)
    return Substring(symbols, spaced, blank, errors, distance, f"substring({', '.join(shown)})")


def units(text: str | Iterable[str], granularity: Granularity) -> tuple[str, ...]:
    """The symbols of a document; separators stand between words, lines and sentences.

    Raises GrammarError, UnsatisfiableError.
    """
    if not isinstance(granularity, str) or granularity not in get_args(Granularity):
        known = ", ".join(map(repr, get_args(Granularity)))
        raise GrammarError(f"unknown granularity {granularity!r:.60}", fix=f"use one of {known}")
    if isinstance(text, str) == (granularity == "chunk"):
        wanted = "a list of texts" if granularity == "chunk" else "a str"
        raise GrammarError(
            f"substring(granularity={granularity!r}) takes {wanted}, not {type(text).__name__}: {text!r:.60}",
            fix="use granularity='chunk' for a list of texts, another one for one text",
        )
    separator = _SEPARATORS.get(granularity)
    symbols = tuple(text if separator is None else filter(None, separator.split(str(text).strip())))
    for index, symbol in enumerate(symbols):
        if not isinstance(symbol, str) or not symbol:
            raise GrammarError(f"chunk {index} is not a text: {symbol!r:.60}", fix="leave it out")
        if has_lone_surrogate(symbol):
            raise GrammarError(f"a lone surrogate in the text: {symbol!r:.60}", fix="it is not text: remove it")
    if not symbols:
        raise UnsatisfiableError("there is nothing to quote: the text is empty", fix="give a text")
    return symbols
