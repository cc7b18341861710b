"""Fork, rollback, pickle, drafts, batches: wherever a matcher has been, its mask is that of a new one."""

import pickle
import random
from collections.abc import Iterable
from typing import Any

import numpy as np

import constrain


def check_rereading(compiled: Any, texts: Iterable[bytes], turns: int = 60) -> None:
    """Write on from some texts, and back, and compare with a matcher that reads everything again."""
    rng = random.Random(3)
    read: list[int] = []
    matcher = compiled.matcher()
    vocabulary = compiled.vocabulary
    row, again, rows = (np.zeros((n, vocabulary.words), np.uint32) for n in (1, 1, 4))
    for text in texts:
        for byte in text:
            read.append(byte)
            assert matcher.advance(byte)
    for turn in range(turns):
        fresh = compiled.matcher(prefix=read)
        matcher.fill_mask(row[0])
        fresh.fill_mask(again[0])
        assert np.array_equal(row, again), matcher.text
        assert matcher.is_accepting() == fresh.is_accepting()
        assert matcher.state == fresh.state
        allowed = [token for token in range(vocabulary.size) if row[0][token >> 5] >> (token & 31) & 1]
        assert allowed == [token for token in range(vocabulary.size) if matcher.allows(token)]
        draft = [rng.choice(allowed or [0]), rng.choice(b"abc,.) "), rng.choice(b"abc")]
        constrain.fill_draft_masks(matcher, draft, rows)
        path = compiled.matcher(prefix=read)
        for token, drafted in zip(draft, rows[1:], strict=True):
            alive = path.advance(token)
            path.fill_mask(again[0])
            assert np.array_equal(drafted, again[0] if alive else np.zeros_like(drafted))
            if not alive:
                break
        constrain.fill_masks([matcher, fresh.fork(), matcher.fork()], rows[:3])
        assert all(np.array_equal(filled, row[0]) for filled in rows[:3])
        assert turn % 10 or np.array_equal(pickle.loads(pickle.dumps(matcher)).mask(), row[0])
        back = rng.randrange(min(len(read), 6)) if turn % 5 == 4 or not allowed else 0
        matcher.rollback(back)
        read = read[: len(read) - back]
        if not back and allowed:
            token = rng.choice([t for t in allowed if vocabulary.tokens[t]] or allowed)
            if vocabulary.tokens[token] is None:
                break
            matcher = matcher.fork() if turn % 3 else matcher
            assert constrain.advance_all([matcher], [token]).all()
            read.append(token)
