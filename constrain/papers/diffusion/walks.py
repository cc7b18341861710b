"""A filling of a canvas, found from left to right by the ordinary matcher.

    walks = Walks(constraint, language, vocabulary)
    filling, may_stand = walks.walk([None, 17, None], range(2, 4), width=8)

For canvases in which a token of several signs and words is missing, as `");` or `(number`: the candidates of a chart
(candidates.py) have few of those, since all of them would need a chart of a thousand places. A walk has every token,
but one for each way to mix words and signs: names are one, and numbers.

The idea: a beam of the matcher's states. From each, all tokens are tried at an open position, and what is set behind it
refuses nearly all. Texts in the same state are one. The beam is sorted by a price: words are cheap, signs dear, and
brackets that nothing closes dearest, counted with all that is set further on. States in which nearly every token may
follow (comments, strings) have a part of the beam only, for they hide what does not fit.

Most walks end at brackets that were opened at a wrong place. So the tokens that what is set permits behind some walk
are told too: a chart of a few of those at each position finds which go together.

Cost: 3 ms a state and open position.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.languages.constraints.base import Constraint
from constrain.languages.vocab.bits import tokens_of
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.compiled import compile_bytewise
from constrain.masks.engine.matcher import Matcher
from constrain.masks.gaps.solution import GapLanguage
from constrain.papers.diffusion.candidates import LONGEST, Candidates, WholeLexemes

CLASSES = 12  # classes of tokens of a chart at an open position, besides bytes
EQUAL = 8  # states of a beam that leave the same brackets open
LOOSE, FEW = 0.75, 4  # the share of the tokens that may follow in a comment; one in so many states is such a state
SMALL = 1_000  # of a vocabulary of so many tokens, all are tried
KNOWN = 10_000  # states whose tokens are kept
UNCLOSED = 3  # the price of a bracket
BRACKETS = (b"()", b"[]", b"{}")
WORD, NUMBER, FOREIGN, SIGN = (re.compile(p) for p in (rb"[A-Za-z_]\w*", rb"\d+", rb"[\x80-\xff]+", rb"[^\w\s]"))
QUOTE, COMMENT = re.compile(rb"[\"'`]"), re.compile(rb"/[*/]|--|#|\"\"\"|'''")


class Walk(NamedTuple):
    """A text of tokens, as far as it goes.

    Attributes:
        price: Of its tokens at open positions.
        net: int64[3], the brackets that are not closed, with all that is set further on.
        path: The tokens at open positions, and before them the others: (path, token), or None.
        matcher: Behind the text.
    """

    price: int
    net: NDArray[np.int64]
    path: Any
    matcher: Matcher


class Walks:
    """The walks of a constraint and a vocabulary.

    Args:
        constraint: The language of the texts.
        language: Its grammar, for what is a name there.
        vocabulary: The tokens.
    """

    def __init__(self, constraint: Constraint, language: GapLanguage, vocabulary: Vocabulary) -> None:
        self.language, self.vocabulary = language, vocabulary
        texts = {token: vocabulary.tokens[token] or b"" for token in _chosen(language, vocabulary)}
        self.tokens = sorted(texts, key=lambda token: _price(texts[token]))
        words = [texts[token] for token in self.tokens]
        self.price, self.net = [_price(word) for word in words], np.array([_net(word) for word in words])
        self.compiled = compile_bytewise(constraint, Vocabulary([*words, None], [len(words)]))
        self._known: dict[int, list[int]] = {}

    def walk(
        self, tokens: Sequence[int | None], ends: range, width: int
    ) -> tuple[list[int] | None, dict[int, list[int]]]:
        """The tokens of a text, if a walk is found; and for each open position that was reached what may stand there.

        Args:
            tokens: The token at each position; None: open.
            ends: The seams where the text may end; seam i is before position i.
            width: States of the beam.
        """
        texts = [self.vocabulary.tokens[token] or b"" if token is not None else None for token in tokens[: ends[-1]]]
        given = [text or b"" for text in texts]
        seams = [*(position for position, text in enumerate(texts) if text is None), len(texts)]
        may_stand: dict[int, list[int]] = {}
        matcher = self.compiled.matcher()
        if not matcher.advance_bytes(b"".join(given[: seams[0]])):
            return None, may_stand
        beam = [Walk(0, np.array(_net(b"".join(given))), None, matcher)]
        for begin, end in pairwise(seams):
            if begin in ends and any(walk.matcher.is_accepting() for walk in beam):
                break
            beam, may_stand[begin] = self._onward(beam, b"".join(given[begin + 1 : end]), width)
        ended = next((walk for walk in beam if walk.matcher.is_accepting()), None)
        if ended is None:
            return None, may_stand
        path, found = ended.path, []
        while path:
            path, token = path
            found.append(self.tokens[token])
        filled = [found.pop() if token is None and found else token for token in tokens[: ends[-1]]]
        return [token for token in filled if token is not None], may_stand

    def _onward(self, beam: list[Walk], given: bytes, width: int) -> tuple[list[Walk], list[int]]:
        """The best walks after one more open position and what is set behind it; and the tokens of all walks there."""
        found: dict[int, Walk] = {}
        tokens: set[int] = set()
        for price, net, path, matcher in beam:
            for token in self._after(matcher):
                matcher.advance(token)
                is_read = not given or matcher.advance_bytes(given)
                if is_read:
                    tokens.add(token)
                    more, state = price + self.price[token], matcher.state
                    if state not in found or more < found[state].price:
                        found[state] = Walk(more, net + self.net[token], (path, token), matcher.fork())
                matcher.rollback(1 + (is_read and bool(given)))
        return self._best(found.values(), width), [self.tokens[token] for token in sorted(tokens)]

    def _best(self, walks: Iterable[Walk], width: int) -> list[Walk]:
        """So many of some walks."""
        best: list[Walk] = []
        rest: list[Walk] = []
        alike: Counter[tuple[int, ...] | bool] = Counter()
        for walk in sorted(walks, key=lambda walk: walk.price + UNCLOSED * int(np.abs(walk.net).sum())):
            key = tuple(walk.net.tolist())
            is_loose = len(tokens_of(walk.matcher.mask())) > LOOSE * len(self.tokens)
            alike[key] += 1
            alike[True] += is_loose
            (rest if alike[key] > EQUAL or (is_loose and alike[True] > width // FEW) else best).append(walk)
            if len(best) == width or len(best) + len(rest) == FEW * width:
                break
        return [*best, *rest][:width]

    @cached_property
    def candidates(self) -> Candidates:
        """All tokens, for a chart of what may stand at each position."""
        return Candidates(self.language, self.vocabulary, self.tokens)

    def few(self, tokens: list[int]) -> NDArray[np.int64]:
        """The arcs of some tokens that may stand at a position, and of the bytes."""
        return np.union1d(self.candidates.of_tokens(tokens, CLASSES), self._bytes)

    @cached_property
    def _bytes(self) -> NDArray[np.int64]:
        short = [token for token in self.tokens if len(self.vocabulary.tokens[token] or b"") == 1]
        return self.candidates.of_tokens(short, len(short))

    def _after(self, matcher: Matcher) -> list[int]:
        """The tokens that may follow; of all that lead to one state, the cheapest."""
        state = matcher.state
        if state not in self._known:
            if len(self._known) == KNOWN:
                self._known.clear()
            found: dict[int, int] = {}
            for token in tokens_of(matcher.mask()).tolist():
                if token < len(self.tokens) and matcher.advance(token):
                    found.setdefault(matcher.state, token)
                    matcher.rollback(1)
            self._known[state] = list(found.values())
        return self._known[state]


def _chosen(language: GapLanguage, vocabulary: Vocabulary) -> list[int]:
    """One token, the shortest, for each way to mix signs with words; all names are one, and all numbers."""
    if len(vocabulary) <= SMALL:
        return [token for token, text in enumerate(vocabulary.tokens) if text]
    lexemes = WholeLexemes(language)
    kinds = {text: lexemes.terminals(text) for text in set(WORD.findall(b" ".join(filter(None, vocabulary.tokens))))}
    name = next(iter(Counter(filter(None, kinds.values())).most_common(1)), (frozenset(), 0))[0]
    names = {text for text, kind in kinds.items() if not kind or kind == name}
    best: dict[bytes, int] = {}
    for token, text in enumerate(vocabulary.tokens):
        if text and len(text) <= LONGEST:
            mix = text
            if len(text) > 1:
                mix = WORD.sub(lambda word: b"x" if word[0] in names else word[0], text)
                mix = FOREIGN.sub(b"\xff", NUMBER.sub(b"1", mix))
            if mix not in best or len(text) < len(vocabulary.tokens[best[mix]] or b""):
                best[mix] = token
    return list(best.values())


def _price(text: bytes) -> int:
    """The price of a token."""
    return 1 + 2 * len(SIGN.findall(text)) + 4 * len(QUOTE.findall(text)) + 12 * len(COMMENT.findall(text))


def _net(text: bytes) -> list[int]:
    """The opened brackets of each kind, less the closed ones."""
    return [text.count(pair[:1]) - text.count(pair[1:]) for pair in BRACKETS]
