"""Drafts texts that the constraint lets through: forced bytes, a layout, words of the prompt where a value begins.

A constraint says at every byte what may follow, and mostly that is little: one text that must follow, a few branches
(an enum, a boolean, the next key), or a value. So a draft grows in bytes, along the matcher of the engine:

* bytes that must follow are certain, whatever tokens they become;
* of a few branches each is one, a usual layout of JSON first;
* where a value begins, words of the prompt are tried and those stay that are legal there: at a date the one date, at a
  colour the colours, at a name all words, those with a capital first;
* behind a word follow the next one of the same source, or the end of the value and what is forced behind that.

A value that has begun is looked up in bytes, so another cut into tokens is found too. The likeliest texts are cut as
the tokenizer cuts them. How often each kind of guess holds is counted, beginning with the estimates below.

Cost: a look-up a guess, for what was asked in a state before (spots.py); a call of the tokenizer a step. Limit: needs a
matcher of this library's engine.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from constrain.errors import ConstrainError
from constrain.masks.engine.narrowed import engine_of
from constrain.speculative.drafter import Context, DraftBudget, Drafter, Outcome
from constrain.speculative.drafters.spots import MayFollow, Spot, tables
from constrain.speculative.drafters.tally import Tally
from constrain.speculative.tree import EMPTY, DraftTree, given_paths

WORDS = 8  # words that are offered where a value begins
TRIED = 64  # words that are tried there
TAIL = 3  # tokens of the output that are cut together with a draft
MATCH = 32  # bytes of the output that are looked up, at most
FADE = 0.98  # what an observation is worth after each later one
CERTAIN = math.log(0.98)  # of a token inside a text, and of forced bytes

PIECE = re.compile(rb"[^A-Za-z0-9_\x80-\xff\0]*[A-Za-z0-9_\x80-\xff]+")
WORD = re.compile(rb"[A-Za-z0-9_\x80-\xff]+")
LEAST = 0.02  # chance of a text below which it is not kept
RANKS = {"begin": 0, "name": 1, "plain": 2}
BREAK = b"\0"  # stands for a token without text
# What usually follows where few bytes may; the first that is legal.
LAYOUT = (b'\n  "', b'": ', b": ", b',\n  "', b'"', b" ", b",", b"\n")

# Estimates by kind, before anything was seen.
ESTIMATES = {
    "layout": 0.85,
    "branch": 0.3,
    "only": 0.6,  # the one word that is legal
    "some": 0.3,  # one of up to four
    "begin": 0.2,  # the first word of a text
    "name": 0.12,  # with a capital
    "plain": 0.03,
    "go end": 0.1,
    "go mark": 0.35,
    "go upper": 0.8,
    "go lower": 0.55,
    "go glue": 0.9,
    "go must": 0.9,
    "close end": 0.85,
    "close mark": 0.6,
    "close upper": 0.2,
    "close lower": 0.4,
    "close glue": 0.1,
    "close must": 0.85,
    "close": 0.4,
}


class _Source(NamedTuple):
    """A text that values are copied from. words: (begin, end, kind) of possible beginnings of a value, best first."""

    text: bytes
    words: list[tuple[int, int, str]]


@dataclass(order=True)
class _Text:
    """A text that may follow. rank: −log of its chance. spot: behind it. marks: (offset, log chance, kind) of guesses.

    at: (source, offset there) that it was copied up to; None: it follows no source.
    """

    rank: float
    order: int
    spot: Spot = field(compare=False)
    marks: tuple[tuple[int, float, str], ...] = field(compare=False, default=())
    at: tuple[int, int] | None = field(compare=False, default=None)


class LegalWords(Drafter):
    """Drafts what the constraint lets through; see the module `constrain.speculative.drafters.words`.

    Example:
        >>> from constrain.speculative import LegalWords
        >>> LegalWords().name
        'words'
    """

    name = "words"
    reach = 32

    def __init__(self) -> None:
        self._tally = Tally(FADE)

    def propose(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[DraftTree]:
        """The likeliest texts of each sequence, cut into tokens: those of all in one call of the tokenizer."""
        grown = [self._texts(context, budget) for context, budget in zip(contexts, budgets, strict=True)]
        asked = [(context, text.spot.text) for context, texts in zip(contexts, grown, strict=True) for text in texts]
        cut = iter(cut_behind(asked))
        return [
            self._tree(context, budget, texts, [next(cut) for _ in texts]) if texts else EMPTY
            for context, budget, texts in zip(contexts, budgets, grown, strict=True)
        ]

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        return self.propose([context], [budget])[0]

    def _texts(self, context: Context, budget: DraftBudget) -> list[_Text]:
        """The likeliest texts of a sequence."""
        engine = engine_of(context.matcher)
        if engine is None or engine.ended or not budget.nodes:
            return []
        memo = context.memo.get(self)
        if memo is None:
            memo = context.memo[self] = _Memory([source_of(context)])
        memo.tried = []
        written = engine.text
        growth = _Growth(self, [*memo.sources, _Source(written, [])], budget, memo)
        try:
            return growth.texts(Spot.of(tables.of(context), engine), written)
        except ConstrainError:  # a step does not fit into the automaton's memory
            return []

    def estimate(self, kind: str) -> float:
        """The chance that a guess of a kind holds."""
        return self._tally.estimate(kind, ESTIMATES[kind])

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Count which guesses held, as far as the text came to them."""
        for outcome in outcomes:
            memo = outcome.context.memo.get(self)
            if memo is None:
                continue
            seen: set[tuple[int, ...]] = set()
            written = tuple(outcome.tokens)
            for tokens, kinds in memo.tried:
                for depth, kind in kinds:
                    begin = tokens[: depth + 1]
                    if kind and begin not in seen and depth < len(written) and written[:depth] == begin[:-1]:
                        seen.add(begin)
                        self._tally.count(kind, written[depth] == begin[-1])
            memo.tried = []

    def _tree(self, context: Context, budget: DraftBudget, texts: list[_Text], cut: list[list[int]]) -> DraftTree:
        """The tree of some texts, which were cut into tokens."""
        sizes, memo = context.setting.token_bytes, context.memo[self]
        paths, chances = [], []
        for text, tokens in zip(texts, cut, strict=True):
            logs, kinds, offset, marks = [], [], 0, list(text.marks)
            for depth, token in enumerate(tokens[: budget.depth]):
                end = offset + len(sizes[token] or b"")
                chance = CERTAIN
                while marks and marks[0][0] < end:
                    chance += marks[0][1]
                    kinds.append((depth, marks[0][2]))
                    marks.pop(0)
                logs.append(chance)
                offset = end
            paths.append(tokens[: budget.depth])
            chances.append(logs)
            memo.tried.append((tuple(tokens), kinds))
        return given_paths(paths, chances)


@dataclass
class _Memory:
    """The sources of a sequence. begins: by state, the words that may begin a value there. tried: the last texts, as
    tokens, with the kinds of guesses by depth."""

    sources: list[_Source]
    begins: dict[Hashable, list[_Word]] = field(default_factory=dict)
    tried: list[tuple[tuple[int, ...], list[tuple[int, str]]]] = field(default_factory=list)


class _Word(NamedTuple):
    """A word of a source that may begin a value. at: as of `_Text`. state: of the constraint behind it."""

    text: bytes
    kind: str
    at: tuple[int, int]
    state: Hashable


class _Option(NamedTuple):
    """A text that may follow another. kind: of the guess. spot: behind it. at: as of `_Text`."""

    text: bytes
    kind: str
    chance: float
    spot: Spot
    at: tuple[int, int] | None = None


class _Growth:
    """The texts of one draft while they grow, best first."""

    def __init__(self, drafter: LegalWords, sources: Sequence[_Source], budget: DraftBudget, memo: _Memory) -> None:
        self.drafter, self.sources, self.memo = drafter, sources, memo
        self.floor = -math.log(max(budget.least, LEAST))
        self.room = budget.nodes
        self.heap: list[_Text] = []
        self.order = 0

    def texts(self, spot: Spot, written: bytes) -> list[_Text]:
        """The likeliest texts; none is the beginning of another. written: the text so far."""
        found: list[_Text] = []
        self.heap = [_Text(0.0, 0, spot, at=self._place(written))]
        for _ in range(self.room):
            if not self.heap:
                break
            text = heapq.heappop(self.heap)
            ways = text.spot.ways
            if ways.forced:
                text.marks = (*text.marks, (len(text.spot.text), CERTAIN, ""))
                text.spot = text.spot.read(ways.forced) or text.spot
                text.at = self._behind(text.at, ways.forced)
            if not self._push(text, self._options(text, ways)) and text.spot.text:
                found.append(text)
        return found + [text for text in self.heap if text.spot.text]

    def _behind(self, at: tuple[int, int] | None, text: bytes) -> tuple[int, int] | None:
        """The place of a source after some bytes; None where it has others."""
        if at is None or at[0] < 0 or not self.sources[at[0]].text.startswith(text, at[1]):
            return None
        return at[0], at[1] + len(text)

    def _place(self, written: bytes) -> tuple[int, int] | None:
        """The place of a source that the text written so far is a copy up to; (-1, 0) in a word that is no copy."""
        tail = written[-MATCH:]
        starts = [match.start() for match in WORD.finditer(tail)]
        for fold in (bytes, bytes.lower):
            for start in starts:
                for number, source in enumerate(self.sources):
                    own = number == len(self.sources) - 1
                    at = found_at(fold(source.text), fold(tail[start:]), len(written) - 1 if own else len(source.text))
                    if at >= 0:
                        return number, at + len(tail) - start
        return (-1, 0) if starts and WORD.match(tail[-1:]) else None

    def _push(self, text: _Text, options: Sequence[_Option]) -> bool:
        """Keep what is likely enough; False where nothing is."""
        pushed = False
        for option in options:
            log = math.log(min(max(option.chance, 1e-9), 1.0))
            if text.rank - log <= self.floor:
                self.order += 1
                marks = (*text.marks, (len(text.spot.text), log, option.kind))
                more = _Text(text.rank - log, self.order, option.spot, marks, option.at)
                heapq.heappush(self.heap, more)
                pushed = True
        return pushed

    def _options(self, text: _Text, ways: MayFollow) -> list[_Option]:
        if text.at is not None:
            return self._ends(text.spot, ways, "close") if text.at[0] < 0 else self._follow(text, ways)
        if ways.few is None:
            return self._begin(text.spot) or self._ends(text.spot, ways, "close")
        return self._layout(text.spot, ways.few)

    def _follow(self, text: _Text, ways: MayFollow) -> list[_Option]:
        """The next word of the source, and the end of the value."""
        number, offset = text.at or (0, 0)
        source = self.sources[number].text
        match = PIECE.match(source, offset)
        kind = following(source, offset)
        after = None if match is None else text.spot.read(match.group())
        ends = self._ends(text.spot, ways, f"close {kind}" if after else "close must")
        if after is None or match is None:
            return ends
        kind = f"go {kind}" if ends else "go must"
        return [_Option(match.group(), kind, self.drafter.estimate(kind), after, (number, match.end())), *ends]

    def _ends(self, spot: Spot, ways: MayFollow, kind: str) -> list[_Option]:
        """The signs that end a value."""
        chance = self.drafter.estimate(kind) / max(1, len(ways.ends))
        options = [(sign, spot.read(sign)) for sign in ways.ends]
        return [_Option(sign, kind, chance, after) for sign, after in options if after is not None]

    def _layout(self, spot: Spot, few: list[bytes]) -> list[_Option]:
        """Few bytes may follow: the layout of JSON first, else words of the sources, then each byte."""
        found = []
        for layout in LAYOUT:
            after = spot.read(layout) if layout[:1] in few else None
            if after is not None:
                found.append(_Option(layout, "layout", self.drafter.estimate("layout"), after))
                break
        words = self._begin(spot) if not found and len(few) > 1 else []
        used = {option.text[:1] for option in (*found, *words)}
        left = [byte for byte in few if byte not in used and not byte.isspace()]
        for byte in left[:4]:
            after = spot.read(byte)
            if after is not None:
                chance = self.drafter.estimate("branch") if used else 0.9 / len(left)
                found.append(_Option(byte, "branch", chance, after))
        return words + found

    def _begin(self, spot: Spot) -> list[_Option]:
        """Words of the sources with which a value may begin."""
        words = self.memo.begins.get(spot.state)
        if words is None:
            words = self.memo.begins[spot.state] = self._words(spot)
        return [
            _Option(text, kind, self.drafter.estimate(kind), spot.at(text, state), at)
            for text, kind, at, state in words
        ]

    def _words(self, spot: Spot) -> list[_Word]:
        found: list[_Word] = []
        tried: set[bytes] = set()
        for number, source in enumerate(self.sources):
            for begin, end, kind in source.words:
                word = source.text[begin:end]
                if word in tried or len(tried) >= TRIED or len(found) >= WORDS:
                    continue
                tried.add(word)
                after = spot.read(word)
                if after is None and not word.islower():
                    word = word.lower()
                    after = spot.read(word)
                if after is not None:
                    found.append(_Word(word, kind, (number, end), after.state))
        if len(found) <= 4 and len(tried) > 2 * len(found):
            kind = "only" if len(found) == 1 else "some"
            return [word._replace(kind=kind) for word in found]
        return found


def cut_behind(asked: Sequence[tuple[Context, bytes]]) -> list[list[int]]:
    """Texts as the tokenizer cuts them behind the last tokens of their sequences, which share one setting."""
    if not asked:
        return []
    setting = asked[0][0].setting
    sizes, joint, tails = setting.token_bytes, [], []
    for context, text in asked:
        tail = context.tokens[max(context.prompt, len(context.tokens) - TAIL) :]
        bytes_of = [sizes[token] for token in tail]
        tails.append(list(tail) if setting.encode is not None and all(bytes_of) else [])
        joint.append(b"".join(map(bytes, filter(None, bytes_of))) + text if tails[-1] else text)
    cut = setting.encoded(joint)
    other = [i for i, tail in enumerate(tails) if cut[i][: len(tail)] != tail]  # the last tokens are cut otherwise
    alone = dict(zip(other, setting.encoded([asked[i][1] for i in other]), strict=True)) if other else {}
    return [alone[i] if i in alone else cut[i][len(tail) :] for i, tail in enumerate(tails)]


def found_at(source: bytes, end: bytes, before: int) -> int:
    """The last place of a source, at the beginning of a word, where a text stands that ends by `before`; -1: none."""
    at = source.rfind(end, 0, before)
    while at > 0 and WORD.match(source, at - 1):
        at = source.rfind(end, 0, at + len(end) - 1)
    return at


def following(source: bytes, offset: int) -> str:
    """The kind of what follows a word of a source."""
    after = source[offset : offset + 2]
    if not after or after[:1] in (BREAK, b"\n"):
        return "end"
    if WORD.match(after):
        return "glue"
    if after[:1] == b" ":
        return "upper" if after[1:].isupper() or after[1:].isdigit() else "lower"
    return "glue" if WORD.match(after[1:]) else "mark"


def source_of(context: Context) -> _Source:
    """The text of the prompt. Its last long part has the words with which values begin: there it is that is asked."""
    texts = context.setting.token_bytes
    prompt = context.tokens[: context.prompt]  # some models have ids beside the vocabulary: images, a text to encode
    text = b"".join((texts[token] if 0 <= token < len(texts) else None) or BREAK for token in prompt)
    words: list[tuple[int, int, str]] = []
    for part in reversed(list(re.finditer(rb"[^\0]+", text))):
        words = [(match.start(), match.end(), "") for match in WORD.finditer(text, part.start(), part.end())]
        if len(words) > 2:
            break
    ranked = [(begin, end, kind_of(text, begin)) for begin, end, _ in words[-400:]]
    # Of first words the last: a question often ends in the text that it is about.
    return _Source(text, sorted(ranked, key=lambda word: (RANKS[word[2]], -word[0] if word[2] == "begin" else word[0])))


def kind_of(text: bytes, begin: int) -> str:
    """The kind of a word with which a value may begin."""
    before = text[max(0, begin - 2) : begin].rstrip(b" ")
    if before.endswith((b":", b"\n")):
        return "begin"
    return "name" if text[begin : begin + 1].isupper() or text[begin : begin + 1].isdigit() else "plain"
