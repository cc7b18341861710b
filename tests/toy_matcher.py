"""A matcher by brute force, with the engine's API: an oracle for samplers, and a stand-in where no engine is needed.

The language is a finite set of byte strings, or two plain predicates. Everything is answered from the definition: a
token is allowed if its bytes lead to a prefix of a member, EOS if the text is a member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np


class ToyVocabulary:
    """tokens: bytes by id, None for what is never text."""

    def __init__(self, tokens: Sequence[bytes | None], eos_ids: Iterable[int]) -> None:
        self.tokens = list(tokens)
        self.eos_ids = tuple(eos_ids)
        self.size = len(self.tokens)

    def to_bytes(self, ids: Iterable[int]) -> bytes:
        return b"".join(self.tokens[i] or b"" for i in ids if i not in self.eos_ids)


class ToyConstraint:
    """`is_prefix` may be too generous: then the language has dead ends, which no real engine offers."""

    def __init__(
        self,
        vocabulary: ToyVocabulary,
        members: Iterable[bytes] | None = None,
        *,
        is_prefix: Callable[[bytes], bool] | None = None,
        is_member: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.allowed_after: dict[bytes, list[int]] = {}  # by text
        if members is not None:
            texts = frozenset(members)
            prefixes = {text[:i] for text in texts for i in range(len(text) + 1)}
            self.is_prefix: Callable[[bytes], bool] = prefixes.__contains__
            self.is_member: Callable[[bytes], bool] = texts.__contains__
        else:
            assert is_prefix is not None
            assert is_member is not None
            self.is_prefix, self.is_member = is_prefix, is_member

    def matcher(self) -> ToyMatcher:
        return ToyMatcher(self)


class ToyMatcher:
    def __init__(self, constraint: ToyConstraint, ids: Sequence[int] = ()) -> None:
        self.constraint = constraint
        self.ids = list(ids)

    @property
    def text(self) -> bytes:
        return self.constraint.vocabulary.to_bytes(self.ids)

    @property
    def state(self) -> tuple[bytes, bool]:
        return self.text, self.ended

    @property
    def ended(self) -> bool:
        return bool(self.ids) and self.ids[-1] in self.constraint.vocabulary.eos_ids

    def allows(self, token_id: int) -> bool:
        vocabulary = self.constraint.vocabulary
        assert 0 <= token_id < vocabulary.size  # the engine's own matchers raise
        if self.ended:
            return False
        if token_id in vocabulary.eos_ids:
            return self.is_accepting()
        token = vocabulary.tokens[token_id]
        return bool(token) and self.constraint.is_prefix(self.text + token)

    def allowed(self) -> list[int]:
        if self.ended:
            return []
        known, text = self.constraint.allowed_after, self.text
        if text not in known:
            known[text] = [i for i in range(self.constraint.vocabulary.size) if self.allows(i)]
        return known[text]

    def fill_mask(self, row: np.ndarray) -> None:
        bits = np.zeros(row.size * 32, dtype=np.uint8)
        bits[self.allowed()] = 1
        row[:] = np.packbits(bits, bitorder="little").view(np.uint32)

    def advance(self, token_id: int) -> bool:
        if not self.allows(token_id):
            return False
        self.ids.append(token_id)
        return True

    def is_accepting(self) -> bool:
        return not self.ended and self.constraint.is_member(self.text)

    def is_finished(self) -> bool:
        return self.ended or (self.is_accepting() and set(self.allowed()) <= set(self.constraint.vocabulary.eos_ids))

    def forced_tokens(self) -> list[int]:
        twin, forced = self.fork(), []
        while (
            not twin.ended
            and len(allowed := twin.allowed()) == 1
            and allowed[0] not in self.constraint.vocabulary.eos_ids
        ):
            forced += allowed
            twin.advance(allowed[0])
        return forced

    def rollback(self, n_tokens: int) -> None:
        assert 0 <= n_tokens <= len(self.ids)
        del self.ids[len(self.ids) - n_tokens :]

    def fork(self) -> ToyMatcher:
        return ToyMatcher(self.constraint, self.ids)
