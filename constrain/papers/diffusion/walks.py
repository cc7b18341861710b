"""A filling of a canvas, found from left to right by the ordinary matcher.

    walks = Walks(constraint, language, vocabulary)
    filling, may_stand = walks.walk([None, 17, None], range(2, 4), width=8)

For canvases in which a token of several signs and words is missing, as `");` or `(number`: the candidates of a chart
(candidates.py) have few of those, since all of them would need a chart of a thousand places. A walk has every token,
but one for each way to mix words and signs: names are one, and numbers.

The idea: a beam of the matcher's states. From each, all tokens are tried at an open position, and what is set behind it
refuses nearly all. Texts in the same state are one. The beam is sorted by a price: words are cheap, signs dear, and so
are the brackets that all that is set further on shows to be missing (brackets.py). States in each kind of comments and
strings are few, and apart: they hide what does not fit, and may be the only way.

Most walks end at brackets that were opened at a wrong place. So the tokens that what is set permits behind some walk
are told too: a chart of a few of those at each position finds which go together.

Where a walk fails, one with varied prices finds a text in about half of the trials. Cost: 3 ms a state and position.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.gaps.solution import GapLanguage
from constrain.languages.constraints.base import Constraint
from constrain.languages.vocab.bits import tokens_of
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.compiled import compile_bytewise
from constrain.masks.engine.matcher import Matcher
from constrain.papers.diffusion.brackets import CODE, Brackets, Within, within
from constrain.papers.diffusion.candidates import LONGEST, Candidates, WholeLexemes

CLASSES = 12  # classes of tokens of a chart at an open position, besides bytes
EQUAL = 4  # states of a beam that leave the same brackets open, at first
FEW = 8  # beside so many states in code, a beam has one in each kind of comment and string
SMALL = 1_000  # of a vocabulary of so many tokens, all are tried
KNOWN = 10_000  # states whose tokens are kept
UNCLOSED, VARIED = 2, 4  # the price of a missing bracket; the most by which a seed makes tokens dearer
WORD, NUMBER, FOREIGN, SIGN = (re.compile(p) for p in (rb"[A-Za-z_]\w*", rb"\d+", rb"[\x80-\xff]+", rb"[^\w\s]"))
QUOTE, COMMENT = re.compile(rb"[\"'`]"), re.compile(rb"/[*/]|--|#|\"\"\"|'''")


class Walk(NamedTuple):
    """A text of tokens, as far as it goes.

    Attributes:
        price: Of its tokens at open positions.
        within: The comment or string that it ends in, if any.
        opened: The brackets that are not closed.
        path: The tokens at open positions, and before them the others: (path, token), or None.
        matcher: Behind the text.
    """

    price: int
    within: Within
    opened: bytes
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
        self.words, self.prices = words, np.array([_price(word) for word in words])
        self.brackets = Brackets(language)
        self.compiled = compile_bytewise(constraint, Vocabulary([*words, None], [len(words)]))
        self._known: dict[int, list[int]] = {}

    def walk(
        self, tokens: Sequence[int | None], ends: range, width: int, seed: int = 0
    ) -> tuple[list[int] | None, dict[int, list[int]]]:
        """The tokens of a text, if a walk is found; and for each open position that was reached what may stand there.

        Args:
            tokens: The token at each position; None: open.
            ends: The seams where the text may end; seam i is before position i.
            width: States of the beam, without those in comments and strings.
            seed: Of a variation of prices; 0: none.
        """
        texts = [self.vocabulary.tokens[token] or b"" if token is not None else None for token in tokens[: ends[-1]]]
        given = [text or b"" for text in texts]
        seams = [*(position for position, text in enumerate(texts) if text is None), len(texts)]
        may_stand: dict[int, list[int]] = {}
        prices = self._prices(seed)
        matcher = self.compiled.matcher()
        if not matcher.advance_bytes(b"".join(given[: seams[0]])):
            return None, may_stand
        opened = self.brackets.opened(b"", b"".join(given[: seams[0]]), CODE)
        beam = [Walk(0, within(matcher), opened, None, matcher)]
        for begin, end in pairwise(seams):
            if begin in ends and any(walk.matcher.is_accepting() for walk in beam):
                break
            onward, may_stand[begin] = self._onward(beam, b"".join(given[begin + 1 : end]), prices)
            beam = self._best(onward, b" ".join(given[end:]), width)
        ended = next((walk for walk in beam if walk.matcher.is_accepting()), None)
        if ended is None:
            return None, may_stand
        path, found = ended.path, []
        while path:
            path, token = path
            found.append(self.tokens[token])
        filled = [found.pop() if token is None and found else token for token in tokens[: ends[-1]]]
        return [token for token in filled if token is not None], may_stand

    def _prices(self, seed: int) -> list[int]:
        """The price of each token."""
        dearer = np.random.default_rng(seed).integers(0, VARIED + 1, len(self.prices)) if seed else 0
        return [int(price) for price in self.prices + dearer]

    def _onward(self, beam: list[Walk], given: bytes, prices: list[int]) -> tuple[list[Walk], list[int]]:
        """The walks after one more open position and what is set behind it; and the tokens of all of them there."""
        found: dict[int, tuple[int, Walk, int]] = {}
        ends: dict[int, tuple[Within, Matcher]] = {}
        tokens: set[int] = set()
        for before in beam:
            matcher = before.matcher
            for token in self._after(matcher):
                matcher.advance(token)
                is_read = not given or matcher.advance_bytes(given)
                if is_read:
                    tokens.add(token)
                    price, state = before.price + prices[token], matcher.state
                    if state not in found or price < found[state][0]:
                        found[state] = price, before, token
                    if state not in ends:
                        ends[state] = within(matcher), matcher.fork()
                matcher.rollback(1 + (is_read and bool(given)))
        walks = []
        for state, (price, before, token) in found.items():
            kind, matcher = ends[state]
            is_within = kind == before.within != CODE  # all of the text is comment, or string
            text = b"" if is_within else self.words[token] + given
            opened = self.brackets.opened(before.opened, text, before.within)
            walks.append(Walk(price, kind, opened, (before.path, token), matcher))
        return walks, [self.tokens[token] for token in sorted(tokens)]

    def _best(self, walks: list[Walk], behind: bytes, width: int) -> list[Walk]:
        """The cheapest of some walks, and a few in comments and strings. behind: what is set further on."""

        def price(walk: Walk) -> int:
            return walk.price + UNCLOSED * self.brackets.missing(walk.opened, behind, walk.within)

        code: list[Walk] = []
        others: list[Walk] = []
        rest: list[Walk] = []
        alike: Counter[Any] = Counter()
        for walk in sorted(walks, key=price):
            is_code = walk.within == CODE
            key = walk.opened if is_code else walk.within
            alike[key] += 1
            is_kept = alike[key] <= (EQUAL if is_code else max(1, width // FEW))
            (rest if not is_kept else code if is_code else others).append(walk)
        return [*others, *[*code, *rest][:width]]

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
    """The price of a token. Parts of a character are dear: a text that goes on with one is nothing yet."""
    is_part = FOREIGN.search(text) is not None and "\ufffd" in text.decode("utf-8", "replace")
    marks = 2 * len(SIGN.findall(text)) + 4 * len(QUOTE.findall(text)) + 12 * len(COMMENT.findall(text))
    return 1 + marks + 12 * is_part
