"""Vocabularies whose special tokens have marks, and what sets of tokens mean in a vocabulary.

The idea: a special token has no bytes, so no language of texts can mention it. A language that does is compiled for
another vocabulary, in which such tokens have the bytes of their marks (automata/marks.py). Then they are read like any
other token, and no kernel knows of them. The vocabulary of all other constraints, its trie and their masks stay as they
are.

If a set has tokens with bytes too ("any token but these"), such a token can be read in two ways: as text, or as one
token of the set. Then each of them is two tokens to the engine, `t` with its bytes and `offset + t` with its mark
(engine/tokenwise.py).

Tokens with equal bytes count as one token. A text token with the byte 0xFF is in no text, so it has no bytes here.
Cost: the trie of the marked vocabulary, once: 0.1 to 0.3 s for 128,000 tokens, 0.03 s from disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from constrain.errors import VocabularyError
from constrain.languages.automata.marks import MARK, ReadTokens, mark
from constrain.languages.automata.syntax import Tokens
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.vocabulary import Vocabulary

Spans = tuple[tuple[int, int], ...]  # inclusive, sorted, disjoint
SHOWN = 6  # names of special tokens in messages


class Marked(Vocabulary):
    """A vocabulary with marks.

    Attributes:
        width: V, the number of ids of the vocabulary that it was made of.
        offset: Id `offset + t` is the token t read as one token, where t has bytes; 0: there are no such ids.
    """

    def __init__(self, vocabulary: Vocabulary, every: bool) -> None:
        self.width = vocabulary.size
        self.offset = 32 * vocabulary.words if every else 0
        marks: list[bytes | None] = [mark(token) if not text else None for token, text in enumerate(vocabulary.tokens)]
        for token in vocabulary.eos_ids:
            marks[token] = None
        texts = [text if text and MARK not in text else None for text in vocabulary.tokens]
        tokens = [text or one for text, one in zip(texts, marks, strict=True)]
        if every:
            lowest = Sets.of(vocabulary).lowest
            twice = [mark(lowest[text]) if text else None for text in vocabulary.tokens]
            tokens += [*[None] * (self.offset - self.width), *twice]
        super().__init__(tokens, vocabulary.eos_ids)

    @classmethod
    def of_vocabulary(cls, vocabulary: Vocabulary, every: bool = False) -> Marked:
        """The marked vocabulary: always the same object. every: tokens with bytes have marks too."""
        sets = Sets.of(vocabulary)
        if every not in sets.marked:
            sets.marked[every] = cls(vocabulary, every)
        return sets.marked[every]


class Sets(PerVocabulary):
    """The meanings of sets of tokens in a vocabulary.

    Attributes:
        lowest: The lowest id of the tokens with some bytes.
        marked: The marked vocabularies that were made.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.lowest: dict[bytes, int] = {}
        for token, text in enumerate(vocabulary.tokens):
            if text:
                self.lowest.setdefault(text, token)
        self.marked: dict[bool, Marked] = {}
        self.known: dict[Tokens, Spans] = {}


def spans_of(node: Tokens, vocabulary: Vocabulary) -> Spans:
    """The ids of a set of tokens; of tokens with equal bytes the lowest.

    Raises VocabularyError if the vocabulary lacks a name or an id, or a token ends a text.
    """
    sets = Sets.of(vocabulary)
    spans = sets.known.get(node)
    if spans is None:
        ids = (token for member in node.members for token in _ids(member, vocabulary, ends=node.negated))
        named = {_lowest(token, vocabulary) for token in ids}
        if node.negated:
            special = {i for i in vocabulary.names.values() if vocabulary.tokens[i] is None}
            named = ({*sets.lowest.values()} | special) - {*vocabulary.eos_ids} - named
        spans = sets.known[node] = _spans(sorted(named))
    return spans


def reads_text(spans: Spans, vocabulary: Vocabulary) -> bool:
    """True if a set has a token with bytes."""
    return any(vocabulary.tokens[token] for low, high in spans for token in range(low, high + 1))


def with_places(
    spans: Mapping[Tokens, Spans], steps: Sequence[int | bytes], tokens: Sequence[bytes | None], vocabulary: Vocabulary
) -> ReadTokens:
    """The ids of sets, with the places of the tokens of a text that have bytes.

    steps: the tokens of the text, and bytes that are no token. tokens: the bytes of the marked vocabulary.
    """
    lowest = Sets.of(vocabulary).lowest
    places: dict[int, tuple[int, int]] = {}
    remaining = 0
    for step in reversed(steps):
        text = step if isinstance(step, bytes) else tokens[step] or b""
        remaining += len(text)
        if not isinstance(step, bytes) and text in lowest:
            places[remaining] = lowest[text], len(text)
    return ReadTokens(spans, places)


def _lowest(token: int, vocabulary: Vocabulary) -> int:
    text = vocabulary.tokens[token]
    return Sets.of(vocabulary).lowest[text] if text else token


def _ids(member: str | tuple[int, int], vocabulary: Vocabulary, ends: bool) -> Iterable[int]:
    """The ids of a member of a set. ends: it may have tokens that end a text."""
    if isinstance(member, str):
        token = vocabulary.names.get(member)
        if token is None:
            token = Sets.of(vocabulary).lowest.get(member.encode("utf-8", "surrogatepass"))
        if token is None:
            raise _unknown(member, vocabulary)
        low = high = token
    else:
        low, high = member
    if high >= vocabulary.size:
        raise VocabularyError(
            f"the token id {high} is outside the vocabulary",
            fix=f"ids of this vocabulary go from 0 to {vocabulary.size - 1}",
        )
    for token in () if ends else vocabulary.eos_ids:
        if low <= token <= high:
            shown = vocabulary.names_by_id.get(token, token)
            raise VocabularyError(
                f"the token {shown!r} ends the text in this vocabulary, so it cannot stand inside of one",
                fix="leave it out: a text ends with it anyway; or make the vocabulary with other eos_ids",
            )
    return range(low, high + 1)


def _unknown(name: str, vocabulary: Vocabulary) -> VocabularyError:
    names = [known for known, token in vocabulary.names.items() if token not in vocabulary.eos_ids]
    near = get_close_matches(name, names, SHOWN, 0.0)
    fix = f"name one that it has, such as {', '.join(map(repr, near))}" if near else "pass names= to the vocabulary"
    return VocabularyError(f"the vocabulary has no token {name!r}", fix=fix)


def _spans(ids: list[int]) -> Spans:
    """Sorted ids as ranges."""
    spans: list[tuple[int, int]] = []
    for token in ids:
        if spans and token == spans[-1][1] + 1:
            spans[-1] = spans[-1][0], token
        else:
            spans.append((token, token))
    return tuple(spans)
