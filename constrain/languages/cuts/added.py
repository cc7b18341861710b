"""Tokens that a tokenizer takes out of a text before it cuts the rest, leftmost and longest first.

The idea: where an added token begins in a text is known when it is complete, which may be many tokens later. So a state
keeps what was begun: the ends of the text so far that are beginnings of added tokens. A token that completes one of
them is not what the tokenizer writes. Nothing begins within a token that was itself taken out.

Cost: 0.05 s for 6,400 added tokens and 262,000 others; a step some 0.1 µs where nothing is begun.
Reference: the tokenizer's own cuts (tests/languages/cuts/test_canonical_tokens.py).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.errors import VocabularyError
from constrain.kernels.records.configurations import BEGINNINGS
from constrain.kernels.records.schema import pack
from constrain.languages.vocab.bits import set_bits
from constrain.languages.vocab.joined import JoinedTokens
from constrain.languages.vocab.vocabulary import Vocabulary

Begun = tuple[bytes, ...]  # beginnings of added tokens that a text ends with
NOWHERE = -1, -1


class AddedTexts:
    """Texts that are taken out of a text, leftmost and longest first.

    Args:
        tokens: The token of each.

    Attributes:
        tokens: The same.
        beginnings: What is a proper beginning of one of them.
        longest: The bytes of the longest.
    """

    def __init__(self, tokens: Mapping[bytes, int]) -> None:
        self.tokens = tokens
        self.beginnings = frozenset(text[:end] for text in tokens for end in range(1, len(text)))
        self.longest = max(map(len, tokens), default=0)
        firsts = b"".join(re.escape(bytes([byte])) for byte in sorted({text[0] for text in tokens}))
        self._likely = re.compile(b"[" + firsts + b"]" if firsts else b"(?!)")

    def at(self, text: bytes, start: int, stop: int) -> tuple[int, bool]:
        """The end of the longest one that begins at a place before `stop`, -1: none, and if a longer one may go on
        behind `stop`."""
        found, end = -1, start + 1
        while end <= stop:
            part = text[start:end]
            if part in self.tokens:
                found = end
            if part not in self.beginnings:
                return found, False
            end += 1
        return found, True

    def within(self, text: bytes) -> Iterator[tuple[int, int]]:
        """The places at which they begin and end in a whole text."""
        likely = self._likely.search(text)
        while likely:
            start = likely.start()
            end, _ = self.at(text, start, len(text))
            if end > 0:
                yield start, end
            likely = self._likely.search(text, max(end, start + 1))

    @cached_property
    def rows(self) -> tuple[dict[bytes, int], NDArray[np.int32]]:
        """The numbers of their beginnings; these, for kernels, as BEGINNINGS. Empty where there are no texts."""
        if not self.tokens:
            return {}, np.zeros(0, np.int32)
        texts = sorted({b"", *self.beginnings, *self.tokens}, key=lambda text: (len(text), text))
        number = {text: n for n, text in enumerate(texts)}
        before = np.array([number[text[:-1]] for text in texts])
        columns = {
            "BYTE": np.array([text[-1] if text else 0 for text in texts]),
            "BEFORE": before,
            "LONGER": np.searchsorted(before[1:], np.arange(len(texts))) + 1,
            "IS_WHOLE": np.array([text in self.tokens for text in texts]),
        }
        return number, pack(BEGINNINGS, COUNT=len(texts), **columns)[0]

    def is_begun(self, text: bytes) -> bool:
        """True if a text ends with a proper beginning of one of them."""
        return any(text[start:] in self.beginnings for start in range(max(0, len(text) - self.longest), len(text)))

    def is_likely(self, begun: Begun, text: bytes) -> bool:
        """False if none of them begins in a text, or before it."""
        return bool(begun) or self._likely.search(text) is not None

    def first(self, begun: Begun, text: bytes, is_end: bool) -> tuple[int, int]:
        """The place where the first of them begins in a text, and its token; `NOWHERE`: none, or it is not known yet.

        begun: what the text before it ends with. is_end: nothing follows the text
        """
        if not self.is_likely(begun, text):
            return NOWHERE
        before = max(begun, key=len, default=b"")
        whole, own = before + text, len(before)
        starts = sorted(own - len(part) for part in begun)
        for start in itertools.chain(starts, (likely.start() for likely in self._likely.finditer(whole, own))):
            end, goes_on = self.at(whole, start, len(whole))
            if (goes_on and not is_end) or start < own < end:
                return NOWHERE
            if start >= own and end > 0:
                return start - own, self.tokens[whole[start:end]]
        return NOWHERE


class AddedTokens:
    """The added tokens of a vocabulary.

    Args:
        vocabulary: The vocabulary.
        added: The added tokens that have bytes.

    Attributes:
        texts: Their texts.
        row: Their bits.
        broken: The tokens that contain one of them, and so are never written.
        begun: By other tokens, what they end with that begins an added one.
        inside: The tokens of `broken`.
    """

    def __init__(self, vocabulary: Vocabulary, added: Sequence[int]) -> None:
        tokens = vocabulary.tokens
        self.texts = AddedTexts({tokens[token] or b"": token for token in added})
        self.row, self.broken = (np.zeros(vocabulary.words, np.uint32) for _ in range(2))
        set_bits(self.row, added)
        self.begun: dict[int, Begun] = {}
        self.inside = set[int]()
        if added:
            self._search(JoinedTokens.of(vocabulary), frozenset(added))
        self._tokens = tokens

    def _search(self, joined: JoinedTokens, added: frozenset[int]) -> None:
        """Find where added tokens begin in others."""
        text, starts, whole = joined.text, joined.starts, joined.text.tobytes()
        last = np.zeros(len(text), bool)
        last[starts[1:][starts[1:] > starts[:-1]] - 1] = True
        places = np.flatnonzero(begin_as(self.texts.tokens, text, np.roll(text, -1), last))
        owners = np.searchsorted(starts, places, "right") - 1
        for place, token, stop in zip(places.tolist(), owners.tolist(), starts[owners + 1].tolist(), strict=True):
            if token in added:
                continue
            end, goes_on = self.texts.at(whole, place, stop)
            if end > 0:
                self.inside.add(token)
            elif goes_on:
                self.begun[token] = (*self.begun.get(token, ()), whole[place:stop])
        set_bits(self.broken, self.inside)

    def __bool__(self) -> bool:
        return bool(self.texts.tokens)

    def after(self, begun: Begun, token: int) -> Begun | None:
        """The beginnings that a text ends with after a token; None if that completes one of those it ended with."""
        text = self._tokens[token] or b""
        found: Begun = ()
        for part in begun:
            end, goes_on = self.texts.at(part + text, 0, len(part + text))
            if end > len(part):
                return None
            found += (part + text,) if goes_on else ()
        if self.texts.tokens.get(text) == token:
            return (*found, text) if text in self.texts.beginnings else found
        return found + self.begun.get(token, ())


def begin_as(texts: Iterable[bytes], byte: NDArray[Any], second: NDArray[Any], is_last: NDArray[Any]) -> NDArray[Any]:
    """True where one of some texts may begin with a byte and the one behind it, or with the last byte of a token."""
    begins, pairs = np.zeros(256, bool), np.zeros((256, 256), bool)  # by the first byte, by the first two
    for one in texts:
        begins[one[0]] = True
        pairs[one[0], one[1] if len(one) > 1 else slice(None)] = True
    found: NDArray[Any] = pairs[byte, second] | (is_last & begins[byte])
    return found


def taken_out(backend: Any, vocabulary: Vocabulary) -> tuple[list[int], dict[bytes, int]]:
    """The added tokens that are text, and all texts that a `tokenizers.Tokenizer` takes out, with their tokens.

    Raises VocabularyError where blanks around them are taken out as well, or two rounds of taking out would meet.
    """
    added, texts, late = list[int](), dict[bytes, int](), list[bytes]()
    for token, each in backend.get_added_tokens_decoder().items():
        text = each.content.encode()
        bytes_of = vocabulary.tokens[token] if token < vocabulary.size else None
        if bytes_of is not None and bytes_of != text:
            continue  # a run of blanks, `▁▁`: no text that tokens write has it in this form
        if bytes_of:
            if each.lstrip or each.rstrip or each.single_word:
                raise VocabularyError(f"the added token {each.content!r} takes blanks or words around it along")
            added.append(token)
        texts[text] = token
        late += [text] * each.normalized
    first = AddedTexts({text: token for text, token in texts.items() if late and text not in late})
    for text in late:
        for start in range(len(text)):
            end, goes_on = first.at(text, start, len(text))
            if end > 0 or (goes_on and start):
                raise VocabularyError(f"the added token {text.decode()!r} and one that is taken out before it overlap")
    return added, texts
