"""The arena: equal keys are one record, ids survive growth, and sorting on the scratch stack equals numpy's."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.kernels.records import arena, stack, view
from constrain.kernels.records.arena import HEADER
from constrain.kernels.records.configurations import CONFIG
from constrain.kernels.records.expressions import ALT, CAT, EMPTY, EPSILON, NOT, TAGSET, init
from constrain.languages.automata.store import Store

KIND = CONFIG.KIND  # any kind: `intern` looks at keys alone
words = st.integers(-(2**31), 2**31 - 1)


def intern(store: Store, kind: int, key: list[int]) -> int:
    """The record of a key, which grows the arena and its table as needed."""
    return store.memory.call_on(key, lambda A, H, S: arena.intern_list(A, H, S, kind, 8))


def key_of(store: Store, record: int) -> tuple[int, list[int]]:
    return arena.kind(store.memory.A, record), view.key_words(store.memory.A, record).tolist()


@given(st.lists(st.tuples(st.sampled_from([CAT.KIND, ALT.KIND, KIND]), st.lists(words, max_size=6)), max_size=60))
@settings(deadline=None, max_examples=60)
def test_equal_keys_are_one_record(keys):
    store = Store(words=4096)
    ids: dict[tuple[int, tuple[int, ...]], int] = {}
    for kind, key in keys + keys:
        record = intern(store, kind, key)
        assert ids.setdefault((kind, tuple(key)), record) == record
        assert key_of(store, record) == (kind, key)
    assert len(set(ids.values())) == len(ids)


def test_growth_keeps_ids_memos_and_keys():
    store, rng = Store(words=2048), random.Random(2)
    sizes = store.memory.A.size, store.memory.H.size
    keys = [[rng.randrange(-9, 9) for _ in range(rng.randrange(5))] + [n] for n in range(20_000)]
    ids = []
    for n, key in enumerate(keys):
        ids.append(intern(store, KIND, key))
        store.memory.A[ids[-1] + 1] = n
    assert store.memory.A.size >= 4 * sizes[0]
    assert store.memory.H.size >= 4 * sizes[1]
    assert [intern(store, KIND, key) for key in keys] == ids
    assert [int(store.memory.A[record + 1]) for record in ids] == list(range(len(keys)))
    assert all(key_of(store, record) == (KIND, key) for record, key in zip(ids, keys, strict=True))


def test_records_that_belong_into_the_same_place():
    """All keys add up to the same number: next to none of these records is where it is looked for first."""
    store = Store(words=1 << 18)
    keys = [[n, 5000 - n] for n in range(5000)]
    ids = [intern(store, KIND, key) for key in keys]
    assert len(set(ids)) == len(keys)
    assert [intern(store, KIND, key) for key in reversed(keys)] == ids[::-1]


def test_records_at_fixed_places():
    store = Store()
    for kind, key, record in (
        (EMPTY.KIND, [], arena.NONE),
        (EPSILON.KIND, [], arena.EPS),
        (NOT.KIND, [arena.NONE], arena.ALL),
        (TAGSET.KIND, [], arena.NO_TAGS),
        (TAGSET.KIND, [0], arena.OWN),
    ):
        assert intern(store, kind, key) == record


def test_a_region_is_zero_and_its_own():
    store = Store(words=1 << 13)
    starts = [store.memory.call(lambda A, H, S: arena.region(A, 700)) for _ in range(20)]
    for number, start in enumerate(starts):
        assert not store.memory.A[start : start + 700].any()
        store.memory.A[start : start + 700] = number + 1
    assert [set(store.memory.A[start : start + 700].tolist()) for start in starts] == [{n + 1} for n in range(20)]


def test_a_kernel_that_asks_for_room_changes_nothing():
    A, H = np.zeros(HEADER.WORDS + 256, np.int32), np.zeros(64, np.int32)
    init(A, H)
    before = A.copy()
    with pytest.raises(arena.ArenaFull):
        arena.region(A, 1000)
    assert A[HEADER.NEED] >= 1000
    before[HEADER.NEED] = A[HEADER.NEED]
    np.testing.assert_array_equal(A, before)


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[words | st.integers(-2, 2)] * width), max_size=80)))
@settings(deadline=None, max_examples=200)
def test_sorting_equals_numpy(rows):
    width = len(rows[0]) if rows else 2
    flat = np.array(rows, np.int32).ravel()
    S = np.full(8 + flat.size + 8, 77, np.int32)
    S[8 : 8 + flat.size] = flat
    stack.sort_groups(S, 8, 8 + flat.size, width)
    assert S[8 : 8 + flat.size].tolist() == [word for row in sorted(rows) for word in row]
    stop = stack.unique_groups(S, 8, 8 + flat.size, width)
    expected = np.unique(np.array(rows, np.int32).reshape(-1, width), axis=0)
    np.testing.assert_array_equal(S[8:stop].reshape(-1, width), expected)
    assert set(S[:8]) | set(S[8 + flat.size :]) == {77}


@given(st.lists(words, max_size=40), st.integers(0, 39))
def test_the_stack_has_an_end(values, room):
    S = np.zeros(64, np.int32)
    S[0] = 8
    fit = 64 - 64 // 4 - 8
    for n, value in enumerate(values):
        if n < fit:
            stack.push(S, value)
        else:
            with pytest.raises(stack.ScratchFull):
                stack.push(S, value)
    assert S[8 : 8 + min(fit, len(values))].tolist() == values[:fit]
    if S[0] + room > 48:
        with pytest.raises(stack.ScratchFull):
            stack.room(S, room)
    else:
        stack.room(S, room)
