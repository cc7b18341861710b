"""A region in a JSON string: its text is what the string means.

The idea: a state is the bytes of an escape that was begun, and the state of the reader of the value. A byte that is no
backslash is read as it is, an escape when it is whole. An escape may be begun only if some character that it can become
goes on with the value: a search over the characters, along their bytes.

Escapes stand where serializers write them: where JSON needs them (RFC 8259, section 7), and `\\u` for characters
that are not ASCII.

Cost: the search, some microseconds up to a millisecond, where an escape may begin. Answers are remembered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.languages.vocab.bits import Row, set_bits
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import Remembered
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.regions.places import RegionPlace, TextRegion

if TYPE_CHECKING:
    from constrain.masks.engine.regions.apart import GrammarRegion

BACKSLASH, QUOTE = b'\\"'
SHORT = {b"\\" + bytes((letter,)): json.loads(f'"\\{chr(letter)}"').encode() for letter in b'"\\bfnrt'}
ESCAPES = {byte: json.dumps(chr(byte))[1:-1].encode() for byte in (*range(0x20), BACKSLASH, QUOTE)}
_HEX = re.compile(rb"\\(?:u(?:[0-9a-fA-F]{0,4}|[0-9a-fA-F]{4}\\(?:u[0-9a-fA-F]{0,4})?))?")
# The characters that `\u` writes; of controls those without a short escape.
_WRITTEN = ((0x00, 0x07), (0x0B, 0x0B), (0x0E, 0x1F), (0x7F, 0xD7FF), (0xE000, 0xFFFF))
_LENGTHS = ((0x0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, 0x10FFFF))  # by the number of their bytes
REMEMBERED = 1 << 14

EscapedState = tuple[bytes, Any]  # the escape that was begun, the state of the value's reader


class EscapedRegion(TextRegion):
    """A region that stands in a JSON string.

    Args:
        value: The region of what the string means.
        automaton: Holds its states.
    """

    apart = True

    def __init__(self, value: GrammarRegion, automaton: TokenAutomaton) -> None:
        self.value, self.compiled = value, value.compiled
        self.automaton = automaton
        self.tokens = EscapingTokens.of(automaton.vocabulary)
        self._epoch = -1
        self._known: Remembered[tuple[Hashable, int, int], bool] = Remembered(REMEMBERED)

    def start(self, kept: Hashable = None) -> EscapedState:
        return b"", self.value.start(kept)

    def kept(self, state: EscapedState) -> Hashable:
        return self.value.kept(state[1])

    def step(self, state: EscapedState, byte: int) -> EscapedState | None:
        begun, inner = state
        if not begun and byte != BACKSLASH:
            after = None if byte < 0x20 or byte == QUOTE else self.value.step(inner, byte)
            return None if after is None else (b"", after)
        escape = begun + bytes((byte,))
        meant = meaning(escape)
        if meant is None:
            return (escape, inner) if any(self._goes_on(inner, *span) for span in spans_of_escape(escape)) else None
        for each in meant:
            inner = None if inner is None else self.value.step(inner, each)
        return None if inner is None else (b"", inner)

    def escape_from(self, state: EscapedState) -> tuple[bytes, EscapedState] | None:
        """Give bytes that end the escape that was begun, and the state behind them; none are needed outside of one."""
        if not state[0]:
            return b"", state
        for byte in b'n"t0123456789abcdef\\urfb':
            after = self.step(state, byte)
            ended = None if after is None else self.escape_from(after)
            if ended is not None:
                return bytes((byte,)) + ended[0], ended[1]
        return None

    def settled(self, state: EscapedState, place: RegionPlace, depth: int) -> EscapedState | None:
        return state if state[0] or self.value.lives(state[1]) else None  # an escape is begun if it can end

    def may_end(self, state: EscapedState) -> bool:
        return not state[0] and self.value.may_end(state[1])

    def mask(self, state: EscapedState) -> tuple[Row, Row | None]:
        begun, inner = state
        if begun:
            return np.zeros_like(self.tokens.plain), self.tokens.every
        row, _ = self.value.mask(inner)
        return row & self.tokens.plain[: len(row)], self.tokens.escaping

    def _goes_on(self, inner: Hashable, low: int, high: int) -> bool:
        """True if one of some characters goes on with the value."""
        if self._epoch != self.automaton.epoch:
            self._epoch = self.automaton.epoch
            self._known.clear()
        known = self._known.get((inner, low, high))
        if known is None:
            known = any(
                self._reads(inner, chr(max(low, first)).encode(), chr(min(high, last)).encode())
                for first, last in _LENGTHS
                if max(low, first) <= min(high, last)
            )
            self._known.keep((inner, low, high), known)
        return known

    def _reads(self, inner: Any, low: bytes, high: bytes) -> bool:
        """True if one of the byte sequences of one length between two others goes on with the value."""
        if not low:
            return self.value.lives(inner)
        for byte in range(low[0], high[0] + 1):
            after = self.value.step(inner, byte)
            if after is not None:
                lowest = low[1:] if byte == low[0] else b"\x80" * len(low[1:])
                highest = high[1:] if byte == high[0] else b"\xbf" * len(low[1:])
                if self._reads(after, lowest, highest):
                    return True
        return False


def meaning(escape: bytes) -> bytes | None:
    """The bytes that an escape stands for; None: it is not whole, or none."""
    if escape in SHORT:
        return SHORT[escape]
    if len(escape) not in (6, 12) or not spans_of_escape(escape):
        return None
    character = json.loads(b'"' + escape + b'"')
    return None if "\ud800" <= character <= "\udfff" else character.encode()


def escaped(text: bytes) -> bytes:
    """The bytes in a JSON string that mean a text."""
    return b"".join(ESCAPES.get(byte, bytes((byte,))) for byte in text)


def spans_of_escape(escape: bytes) -> list[tuple[int, int]]:
    """The characters, as spans of their numbers, that an escape which was begun may become."""
    if _HEX.fullmatch(escape) is None:
        return []
    first = escape[2:6]
    low, high = int(first.ljust(4, b"0"), 16), int(first.ljust(4, b"f"), 16)
    found = [(max(low, a), min(high, b)) for a, b in _WRITTEN if max(low, a) <= min(high, b)] if len(escape) < 7 else []
    if escape == b"\\":
        found += [(ord(meant), ord(meant)) for meant in SHORT.values()]
    if high < 0xD800 or low > 0xDBFF:
        return found
    low, high = max(low, 0xD800), min(high, 0xDBFF)
    second = escape[8:12]
    least, most = int(second.ljust(4, b"0"), 16), int(second.ljust(4, b"f"), 16)
    least, most = max(least, 0xDC00), min(most, 0xDFFF)
    if least > most:
        return found
    base = 0x10000 - (0xD800 << 10) - 0xDC00
    return [*found, (base + (low << 10) + least, base + (high << 10) + most)]


class EscapingTokens(PerVocabulary):
    """The tokens of a vocabulary by the backslashes in them.

    Attributes:
        plain: Those that mean themselves in a JSON string.
        escaping: Those with a backslash.
        every: All.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.plain, self.escaping, self.every = np.zeros((3, -(-len(vocabulary.tokens) // 32)), np.uint32)
        texts = [(token, text) for token, text in enumerate(vocabulary.tokens) if text]
        set_bits(self.every, (token for token, _ in texts))
        set_bits(self.escaping, (token for token, text in texts if BACKSLASH in text))
        means_itself = (token for token, text in texts if not {BACKSLASH, QUOTE} & {*text} and min(text) >= 0x20)
        set_bits(self.plain, means_itself)
