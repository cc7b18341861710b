"""The canonical-only target: texts cut into tokens as the tokenizer cuts them, and no other way.

Target: p conditioned on "a member, and the tokens are as the tokenizer cuts the text". The text is that of the
output alone, without the prompt.

The idea: a prefix is doomed as soon as a piece that can no longer change is cut in another way. Tokenizers cut a text
into pieces (words, numbers, runs of spaces) from left to right before they merge within them, so what follows can only
change the last piece. So a prefix is compared with the tokenizer's cut of it, up to the last piece; a complete text is
compared as a whole, and EOS is allowed only then. A doomed prefix allows nothing: a dead end, of weight 0.

Cost: one run of the tokenizer a token; where at most `AHEAD` tokens are allowed, one for each of them, so that small
languages have no dead ends. Limit: tokenizers that add to a text what it does not contain (a leading space) are
refused. Nothing is forced, since what the constraint forces may be cut in several ways.

See Vieira et al. 2025, "Language models over canonical byte-pair encodings".
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any

import numpy as np

from constrain.errors import ConstrainError
from constrain.sampling.bitmask.apply import bitmask_words

AHEAD = 64
PROBES = ("a", " a", "1", "{")


class CanonicalConstraint:
    """A compiled constraint, of which only canonical tokenisations count. Use it as `constraint=`."""

    identity = "canonical"

    def __init__(self, compiled: Any, tokenizer: Any) -> None:
        """compiled: of `constrain.compile`. tokenizer: of transformers, or a `tokenizers.Tokenizer`, that the
        constraint's vocabulary was made of. Raises ConstrainError: it cuts no text as its vocabulary spells it."""
        self.compiled = compiled
        self.vocabulary = compiled.vocabulary
        self.constraint = getattr(compiled, "constraint", None)
        self._tokenizer = tokenizer
        backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        normal = getattr(backend, "normalizer", None) is None  # else pieces are those of another text
        self._pieces = getattr(backend, "pre_tokenizer", None) if normal else None
        for probe in PROBES:
            if self.vocabulary.to_bytes(self.cut(probe)) != probe.encode():
                raise ConstrainError(
                    f"the tokenizer adds to texts, or is not that of the vocabulary: it cuts {probe!r} into "
                    f"{self.vocabulary.to_bytes(self.cut(probe))!r}",
                    fix="use the default target, over all tokenisations",
                )

    def matcher(self) -> CanonicalMatcher:
        """A matcher at the beginning of the text."""
        return CanonicalMatcher(self, self.compiled.matcher(), [])

    def cut(self, text: str) -> list[int]:
        """The tokenizer's own tokens."""
        if callable(self._tokenizer):
            return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def is_canonical(self, tokens: Sequence[int]) -> bool:
        """The tokens of a complete text are the tokenizer's."""
        try:
            text = self.vocabulary.to_bytes(tokens).decode()
        except UnicodeDecodeError:
            return False
        return self.cut(text) == list(tokens)

    def is_possible(self, tokens: Sequence[int]) -> bool:
        """True if the settled tokens of a prefix are those of the tokenizer."""
        try:  # the last character may be incomplete
            text = codecs.getincrementaldecoder("utf-8")().decode(self.vocabulary.to_bytes(tokens))
        except UnicodeDecodeError:
            return False
        left = self._settled(text)
        if not left:
            return True
        for given, own in zip(tokens, self.cut(text), strict=False):
            left -= len(self.vocabulary.to_bytes([own]))
            if left < 0:
                break
            if given != own:
                return False
        return True

    def _settled(self, text: str) -> int:
        """Bytes before the last piece; 0 where nothing is known of pieces."""
        if self._pieces is None or not text:
            return 0
        pieces = self._pieces.pre_tokenize_str(text)
        return len(text[: pieces[-1][1][0]].encode()) if pieces else 0


def canonical(compiled: Any, tokenizer: Any) -> CanonicalConstraint:
    """A compiled constraint of which only canonical tokenisations count: tokens as the tokenizer cuts the text.

    Args:
        compiled: of `constrain.compile`.
        tokenizer: of transformers, or a `tokenizers.Tokenizer`, that the constraint's vocabulary was made of.

    Returns:
        What `generate(constraint=...)` takes.

    Raises:
        ConstrainError: the tokenizer adds to texts, or is not that of the vocabulary.

    Source:
        Vieira et al. 2025, "Language models over canonical byte-pair encodings".

    Example:
        >>> import constrain
        >>> from constrain.sampling import canonical
        >>> ref = constrain.reference.load()
        >>> vocabulary = constrain.Vocabulary.from_huggingface(ref.tokenizer)
        >>> compiled = constrain.compile(constrain.regex("red|green"), vocabulary)
        >>> g = constrain.generate(ref, "A colour: ", constraint=canonical(compiled, ref.tokenizer), seed=1)
        >>> g.tokens[:-1] == ref.tokenizer(g.text)["input_ids"]
        True
    """
    return CanonicalConstraint(compiled, tokenizer)


class CanonicalMatcher:
    """One sequence; the part of a matcher that samplers use."""

    def __init__(self, constraint: CanonicalConstraint, inner: Any, tokens: list[int]) -> None:
        self.constraint = constraint
        self.inner = inner
        self.tokens = tokens

    @property
    def state(self) -> tuple[int, ...]:
        """All tokens so far: the next ones depend on each of them."""
        return tuple(self.tokens)

    def fill_mask(self, row: np.ndarray) -> None:
        vocabulary = self.constraint.vocabulary
        if self.tokens and not self.constraint.is_possible(self.tokens):
            row[:] = 0
            return
        self.inner.fill_mask(row)
        words = row[: bitmask_words(vocabulary.size)].view(np.uint32)
        if self.inner.is_accepting() and not self.constraint.is_canonical(self.tokens):
            for token in vocabulary.eos_ids:
                words[token // 32] &= ~np.uint32(1 << token % 32)
        allowed = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
        if len(allowed) <= AHEAD:
            for token in allowed.tolist():
                if token not in vocabulary.eos_ids and not self.constraint.is_possible([*self.tokens, token]):
                    words[token // 32] &= ~np.uint32(1 << token % 32)

    def allows(self, token_id: int) -> bool:
        """True if the mask allows the token."""
        row = np.zeros(bitmask_words(self.constraint.vocabulary.size), np.uint32)
        self.fill_mask(row)
        return bool(row[token_id // 32] >> np.uint32(token_id % 32) & 1)

    def advance(self, token_id: int) -> bool:
        """Read a token, as a `Matcher` does; EOS only after a canonical text."""
        if token_id in self.constraint.vocabulary.eos_ids and not self.is_accepting():
            return False
        if not self.inner.advance(token_id):
            return False
        self.tokens.append(token_id)
        return True

    def forced_tokens(self) -> list[int]:
        """None: the bytes may be forced, their cut is not known before what follows."""
        return []

    def is_accepting(self) -> bool:
        """The text is a member, and its tokens are the tokenizer's."""
        return bool(self.inner.is_accepting()) and self.constraint.is_canonical(self.tokens)

    def is_finished(self) -> bool:
        """EOS was read, or nothing but EOS can follow."""
        ended = bool(self.tokens) and self.tokens[-1] in self.constraint.vocabulary.eos_ids
        return ended or (self.is_accepting() and bool(self.inner.is_finished()))

    def rollback(self, n_tokens: int) -> None:
        self.inner.rollback(n_tokens)
        del self.tokens[len(self.tokens) - n_tokens :]

    def fork(self) -> CanonicalMatcher:
        """An independent matcher at the same place."""
        return CanonicalMatcher(self.constraint, self.inner.fork(), list(self.tokens))
