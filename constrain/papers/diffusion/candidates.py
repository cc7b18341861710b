"""A few tokens of a vocabulary that complete what others leave open: bytes, and one of each kind of whole lexeme.

    candidates = Candidates(language, vocabulary)
    candidates.tokens, candidates.classes, candidates.levels

The idea: whether a text can be completed hardly depends on which name or number stands at an open position, but on
which keyword does. So of all tokens that are lexemes of the same terminals one is enough, with and without a space
before it. Tokens that are set are read byte by byte. So the tables are those of some hundred words, whatever the
vocabulary.

Cost: 0.5 to 3 s for a grammar of a programming language and 128,000 tokens, once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from constrain.gaps.kernels.lexemes import ACCEPTING
from constrain.gaps.solution import GapLanguage
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.papers.diffusion.token_classes import TokenClasses

LONGEST = 24  # bytes of a token that is looked at
LINE_END = re.compile(rb"[\])}:,\"']{0,2}\n+ *| +")  # tokens with which lines end or begin
SEVERAL_SIGNS = re.compile(rb"[^\w\s]?[^\w]{1,3}")
FIRST = re.compile(rb"[^\w](?=[^ ])")  # a space or a sign
MOST_SIGNS = 64
NODES = (0, 1, 8)  # inner nodes of the candidates at each level
Kind = tuple[bytes, frozenset[int]]  # a space or a sign that comes first; the terminals that the rest is a lexeme of


class Candidates:
    """Tokens that stand for all others at open positions.

    Args:
        language: The grammar.
        vocabulary: The tokens.
        tokens: The candidates, ids. Default: one of each kind of whole lexeme, bytes, and some of several signs.

    Attributes:
        tokens: The candidates, sorted.
        classes: The classes of 256 bytes, then of the candidates in their order.
        levels: The arcs of an open position, sorted; more and more of them. In the first no lexeme ends within a
            candidate, then at one or some of the places within them where most may end one.
    """

    def __init__(self, language: GapLanguage, vocabulary: Vocabulary, tokens: Iterable[int] | None = None) -> None:
        self.language = language
        self.tokens = sorted(_chosen(language, vocabulary) if tokens is None else tokens)
        self._number = {token: number for number, token in enumerate(self.tokens, 256)}
        texts = [vocabulary.tokens[token] or b"" for token in self.tokens]
        words = [*(bytes([byte]) for byte in range(256)), *texts, None]
        self.classes = TokenClasses(language, Vocabulary(words, [len(words) - 1]))
        self._bytes: dict[int, NDArray[np.int64]] = {}

    @cached_property
    def levels(self) -> list[NDArray[np.int64]]:
        """The arcs through the inner nodes that most candidates have."""
        classes, numbers = self.classes, self.classes.of[256:-1].tolist()
        paths = [classes.path(number) if number >= 0 else np.zeros(0, np.int64) for number in numbers]
        inner = [{cell for cell in classes.source[path].tolist() if cell > classes.states} for path in paths]
        often = Counter(node for nodes in inner for node in nodes).most_common(NODES[-1])
        every = np.unique(np.concatenate([*paths, np.zeros(0, np.int64)]))
        found = []
        for most in NODES:
            is_kept = np.ones(2 * classes.stride, np.bool_)
            is_kept[classes.states + 1 : classes.stride] = False
            is_kept[[node for node, _ in often[:most]]] = True
            found.append(every[is_kept[classes.source[every]] & is_kept[classes.target[every]]])
        return found

    def of_byte(self, byte: int) -> NDArray[np.int64]:
        """The arcs of a byte, sorted."""
        if byte not in self._bytes:
            number = int(self.classes.of[byte])
            self._bytes[byte] = self.classes.path(number) if number >= 0 else np.zeros(0, np.int64)
        return self._bytes[byte]

    def of_tokens(self, tokens: Iterable[int], most: int) -> NDArray[np.int64]:
        """The arcs of some candidates, those of the first so many classes; sorted."""
        numbers = dict.fromkeys(int(self.classes.of[self._number[token]]) for token in tokens)
        paths = [self.classes.path(number) for number in islice(numbers, most) if number >= 0]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *paths]))

    def ending_with(self, arc: int) -> list[int]:
        """The candidates that end with an arc."""
        is_of = self.classes.tokens(np.array([arc], np.int64))[256:-1]
        return [self.tokens[i] for i in np.flatnonzero(is_of).tolist()]


def _chosen(language: GapLanguage, vocabulary: Vocabulary) -> Iterator[int]:
    """The tokens of one byte, the shortest of each kind that is a whole lexeme, and the first with several signs."""
    ending = WholeLexemes(language)
    best: dict[Kind, int] = {}
    count: Counter[Kind] = Counter()
    signs = 0
    for token, text in enumerate(vocabulary.tokens):
        if not text or len(text) > LONGEST:
            continue
        if len(text) == 1 or (language.closing and LINE_END.fullmatch(text)):  # no line can do without
            yield token
            continue
        if signs < MOST_SIGNS and SEVERAL_SIGNS.fullmatch(text):
            signs += 1
            yield token
        first = text[:1] if FIRST.match(text) else b""
        kind = first, ending.terminals(text[len(first) :])
        if kind[1]:
            count[kind] += 1
            if kind not in best or len(text) < len(vocabulary.tokens[best[kind]] or b""):
                best[kind] = token
    names = count.most_common(1)[0][0][1] if count else frozenset()
    yield from (token for (first, terminals), token in best.items() if first in b" " or terminals == names)


class WholeLexemes:
    """The terminals of which a text is a lexeme."""

    def __init__(self, language: GapLanguage) -> None:
        lexer = language.lexer
        self.moves, self.classes = lexer.moves.reshape(-1, lexer.n_classes), lexer.classes.tolist()
        self.accepts, self.owners = lexer.kinds == ACCEPTING, lexer.owners
        self._after: dict[bytes, NDArray[np.int32]] = {b"": lexer.starts}
        self._kinds: dict[bytes, frozenset[int]] = {}

    def states(self, text: bytes) -> NDArray[np.int32]:
        """The states of lexemes that have begun with a text."""
        if text not in self._after:
            before = self.states(text[:-1])
            after = self.moves[before, self.classes[text[-1]]] if len(before) else before
            self._after[text] = after[after >= 0]
        return self._after[text]

    def terminals(self, text: bytes) -> frozenset[int]:
        """The numbers of the terminals that match a text."""
        states = self.states(text)
        return frozenset(self.owners[states[self.accepts[states]]].tolist()) if len(states) else frozenset()
