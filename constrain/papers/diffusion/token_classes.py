"""The tokens of a vocabulary by what they do to the lexer of a grammar; made once a (grammar, vocabulary).

    classes = TokenClasses(language, vocabulary)
    classes.of[token], classes.path(classes.of[token]), classes.tokens(live_arcs)

A token may lie within one lexeme, end one, hold several, or begin one. So what it does is a small automaton of arcs
(papers/kernels/layers.py) from what the lexer knows before the token to what it knows behind it. Tokens with the same
arcs are one class: most words do the same, whatever their letters.

The idea: read all tokens byte by byte and at once, from every state of the lexer. After a prefix of a token, each
lexeme that is under way has an *origin*, which is the state before the token or the node where it began. A node is a
place within tokens where a lexeme may end. It is known by the arcs that lead to it, so nodes of different prefixes are
one if the same lexemes lead to them. Then an arc behind a node is on a path of all tokens with that node: one live arc
that ends a class means that all tokens of the class may stand there.

Lexemes follow each other within a token only where some text of the grammar has them so (adjacency.py).

Cost: one step for each pair of a configuration and a class of bytes, in Python; 0.1 s for JSON and 128,000 tokens, 5 s
for C. Limit: LimitError beyond `MOST_CONFIGURATIONS`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.errors import LimitError
from constrain.gaps.adjacency import ones
from constrain.gaps.kernels.lexemes import ACCEPTING, FRESH
from constrain.gaps.solution import GapLanguage
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.limits import tick
from constrain.papers.kernels.layers import ENDS, HOLDS, STARTS, STAYS

MOST_CONFIGURATIONS = 100_000
SEAM, NOWHERE = 0, -1
Int32 = NDArray[np.int32]
Item = tuple[int, int]  # (origin, state of the lexer); the origin is a node, or -1 - the state before the token
Configuration = tuple[tuple[Item, ...], int]  # the lexemes under way; the node, or NOWHERE


class Arc(NamedTuple):
    """An arc, and how arcs are sorted: nodes have larger numbers than the ones that lead to them.

    Attributes:
        kind: See papers/kernels/layers.py.
        origin: As in `Item`.
        label: The terminal of a lexeme that ends; -1: none does.
        behind: The state behind the token; within a token, the node; -1: the seam behind the token.
        is_inner: It ends within a token.
    """

    kind: int
    origin: int
    label: int
    behind: int
    is_inner: bool


class _Reader:
    """Reads tokens from all states of the lexer at once. Configurations and nodes are numbered as they are met."""

    def __init__(self, language: GapLanguage) -> None:
        lexer, self.follow = language.lexer, language.adjacency.follow
        self.n_classes, self.starts = lexer.n_classes, lexer.starts.tolist()
        self.moves = lexer.moves.reshape(-1, lexer.n_classes).tolist()
        self.accepts, self.owners = (lexer.kinds == ACCEPTING).tolist(), lexer.owners.tolist()
        everything = [state for state, kind in enumerate(lexer.kinds.tolist()) if kind != FRESH]
        self.nodes: dict[frozenset[tuple[int, int]], int] = {frozenset(): SEAM}  # (origin, terminal) -> number
        self.fresh = [self.starts]  # for each node, the fresh states of terminals that may begin there
        self.configurations: list[Configuration] = []
        self._numbers: dict[Configuration, int] = {}
        self.first = self._number((tuple((-1 - state, state) for state in everything), SEAM))
        self._steps: dict[int, int] = {}

    def _number(self, configuration: Configuration) -> int:
        number = self._numbers.setdefault(configuration, len(self.configurations))
        if number == len(self.configurations):
            self.configurations.append(configuration)
            if number == MOST_CONFIGURATIONS:
                raise LimitError(
                    f"the tokens of the vocabulary do more than {MOST_CONFIGURATIONS:,} things to the lexer",
                    fix="simplify the terminals, or give neighbouring terminals different texts",
                )
        return number

    def step(self, key: int) -> int:
        """The configuration after one more byte. key: configuration * classes + class of the byte; NOWHERE: none."""
        if key not in self._steps:
            self._steps[key] = self._step(*divmod(key, self.n_classes))
        return self._steps[key]

    def _step(self, number: int, c: int) -> int:
        tick()
        items, node = self.configurations[number]
        after = [(origin, self.moves[state][c]) for origin, state in items]
        if node != NOWHERE:
            after += [(node, self.moves[state][c]) for state in self.fresh[node]]
        after = sorted(item for item in after if item[1] >= 0)
        if not after:
            return NOWHERE
        ended = frozenset((origin, self.owners[state]) for origin, state in after if self.accepts[state])
        return self._number((tuple(after), self._node(ended) if ended else NOWHERE))

    def _node(self, ended: frozenset[tuple[int, int]]) -> int:
        number = self.nodes.setdefault(ended, len(self.nodes))
        if number == len(self.fresh):
            bits = 0
            for _, terminal in ended:
                bits |= self.follow[terminal]
            self.fresh.append([self.starts[terminal] for terminal in ones(bits)])
        return number

    def read(self, vocabulary: Vocabulary, classes: Int32) -> NDArray[np.int64]:
        """The configuration after each token; NOWHERE: no text of the grammar has it."""
        texts = [token if token else b"" for token in vocabulary.tokens]
        lengths = np.array([len(text) for text in texts])
        every = np.frombuffer(b"".join(texts), np.uint8)
        begins = np.cumsum(lengths) - lengths
        at = np.where(lengths > 0, self.first, NOWHERE)
        for depth in range(int(lengths.max(initial=0))):
            going = np.flatnonzero((lengths > depth) & (at != NOWHERE))
            keys, inverse = np.unique(
                at[going] * self.n_classes + classes[every[begins[going] + depth]], return_inverse=True
            )
            at[going] = np.array([self.step(key) for key in keys.tolist()], np.int64)[inverse]
        return np.asarray(at)


class TokenClasses:
    """The classes of the tokens of a vocabulary, and what they do to the lexer.

    Args:
        language: The grammar.
        vocabulary: The tokens.

    Attributes:
        of: int64[tokens], the class of each token; -1: no text of the grammar has it.
        count: The number of classes.
        states: The states of the lexer. Cells of a layer are its pairs, one for each state; the seam; its nodes.
        stride: The number of cells of a layer. The cells of the next one follow.
        kind, label, source, target: int32[arcs], see papers/kernels/layers.py; in their order there.

    Raises:
        LimitError: The terminals are too ambiguous.
    """

    def __init__(self, language: GapLanguage, vocabulary: Vocabulary) -> None:
        self._reader = reader = _Reader(language)
        at = reader.read(vocabulary, language.lexer.classes)
        finals, self.of = np.unique(at, return_inverse=True)
        if len(finals) and finals[0] == NOWHERE:
            finals, self.of = finals[1:], self.of - 1
        self.count, self.states = len(finals), len(language.lexer.kinds)
        self._comes = {node: ended for ended, node in reader.nodes.items()}
        self._owners = reader.owners
        ends = [self._ends(number) for number in finals.tolist()]
        every = sorted(self._inner(arc for arcs in ends for arc in arcs).union(*ends))
        self._numbers = {arc: number for number, arc in enumerate(every)}
        self._arrange(every)
        self._last = [np.array(sorted(self._numbers[arc] for arc in arcs), np.int64) for arcs in ends]
        self._first = np.cumsum([0, *map(len, self._last)])[:-1]
        self._paths: dict[int, NDArray[np.int64]] = {}
        self._ending = ends

    def path(self, number: int) -> NDArray[np.int64]:
        """The arcs that tokens of a class have, sorted."""
        if number not in self._paths:
            arcs = self._ending[number] | self._inner(self._ending[number])
            self._paths[number] = np.array(sorted(self._numbers[arc] for arc in arcs), np.int64)
        return self._paths[number]

    def tokens(self, live: NDArray[np.int64]) -> NDArray[np.bool_]:
        """bool[tokens]: the tokens that end with one of the live arcs."""
        if not self.count:
            return np.zeros(len(self.of), np.bool_)
        is_live = np.zeros(len(self.kind), np.bool_)
        is_live[live] = True
        found = np.logical_or.reduceat(is_live[np.concatenate(self._last)], self._first)
        return np.asarray(np.append(found, False)[self.of])

    def _ends(self, number: int) -> set[Arc]:
        """The arcs that end the tokens of a configuration."""
        items, node = self._reader.configurations[number]
        arcs = {Arc(STARTS if o >= 0 else STAYS, o, -1, state, False) for o, state in items}
        if node != NOWHERE:
            arcs |= {Arc(HOLDS if o >= 0 else ENDS, o, terminal, -1, False) for o, terminal in self._comes[node]}
        return arcs

    def _inner(self, arcs: Iterable[Arc]) -> set[Arc]:
        """The arcs within tokens that lead to the beginnings of some arcs."""
        found: set[Arc] = set()
        stack = [node for node in {arc.origin for arc in arcs} if node > SEAM]
        seen = set(stack)
        for node in stack:  # it grows
            for o, terminal in self._comes[node]:
                found.add(Arc(HOLDS if o >= 0 else ENDS, o, terminal, node, True))
                if o > SEAM and o not in seen:
                    seen.add(o)
                    stack.append(o)
        return found

    def _arrange(self, arcs: list[Arc]) -> None:
        """Number the cells of the arcs."""
        nodes = sorted({arc.origin for arc in arcs if arc.origin > SEAM})
        place = {SEAM: 0, **{node: number + 1 for number, node in enumerate(nodes)}}
        self.stride = self.states + 1 + len(nodes)
        table = np.zeros((len(arcs), 4), np.int32)
        for number, arc in enumerate(arcs):
            source = -1 - arc.origin if arc.origin < 0 else self.states + place[arc.origin]
            if arc.is_inner:
                target = self.states + place[arc.behind]
            else:
                target = self.stride + (self.states if arc.behind < 0 else arc.behind)
            table[number] = arc.kind, arc.label, source, target
        self.kind, self.label, self.source, self.target = (np.ascontiguousarray(column) for column in table.T)
