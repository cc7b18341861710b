"""The store of texts beside plain searching, and what is drafted from it."""

import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampling_cases import Case
from speculative_cases import LETTERS, branching, check, context_of, same

from constrain.errors import ConstrainError
from constrain.papers import Retrieval, TextStore
from constrain.papers.drafting.textstore import COUNTED
from constrain.sampling import Settings, TorchDraw, lcd
from constrain.sampling.core.sampler import drive
from constrain.speculative import DraftBudget, DraftTree, Speculation
from toy_matcher import ToyConstraint

TEXTS = st.lists(st.lists(st.integers(0, 3), max_size=12), max_size=12)


def following(texts: list[list[int]], tokens: list[int], most: int) -> Counter[int]:
    """The definition: what follows the longest ending that occurs anywhere."""
    for length in range(min(most, len(tokens)), 0, -1):
        ending = tokens[len(tokens) - length :]
        places = [(text, i) for text in texts for i in range(len(text)) if text[i : i + length] == ending]
        if places:
            return Counter(text[i + length] for text, i in places if i + length < len(text))
    return Counter()


@given(TEXTS, TEXTS, st.lists(st.integers(0, 4), max_size=8), st.integers(1, 5))
def test_what_follows_is_counted(first: list[list[int]], later: list[list[int]], tokens: list[int], most: int) -> None:
    store = TextStore(first)
    for text in later:
        store.add(text)
    found = store.following(tokens, most)
    assert dict(found) == following([*first, *later], tokens, most)
    assert [count for _, count in found] == sorted((count for _, count in found), reverse=True)
    assert len(store) == sum(len(text) + 1 for text in [*first, *later])


@given(TEXTS, st.integers(1, 30))
def test_the_latest_whole_texts_are_kept(texts: list[list[int]], most: int) -> None:
    store = TextStore(most=most)
    for i, text in enumerate(texts):
        store.add([*text, 10 + i])
        assert len(store) <= most
    kept = [i for i in range(len(texts)) if store.following([*texts[i][-1:], 99, 10 + i]) or _holds(store, 10 + i)]
    assert kept == list(range(len(texts)))[len(texts) - len(kept) :]


def _holds(store: TextStore, token: int) -> bool:
    return bool(store.longest([token], 1))


def test_long_and_frequent_texts() -> None:
    rng = np.random.default_rng(1)
    text = rng.integers(0, 50, 20_000).tolist()
    store = TextStore([text])
    for at in (9, 777, 19_000):
        assert store.following(text[at - 7 : at])[0] == (text[at], 1)
    often = TextStore([[1, 2] * (8 * COUNTED) + [1, 3]])
    counted = dict(often.following([1], 1))
    assert counted[2] >= 8 * COUNTED - 16  # of a sample, scaled


def test_files(tmp_path: Path) -> None:
    store = TextStore([[1, 2, 3]], most=50)
    store.add([1, 2, 4])
    store.save(tmp_path / "texts.npz")
    read = TextStore.load(tmp_path / "texts.npz")
    assert read.following([1, 2]) == store.following([1, 2]) == [(3, 1), (4, 1)]
    assert (read.most, len(read)) == (50, 8)
    (tmp_path / "none.npz").write_bytes(b"PK no")
    np.savez(tmp_path / "other.npz", most=np.int64(3), tokens=np.array([5, 6]))
    for name in ("none.npz", "other.npz", "missing.npz"):
        with pytest.raises(ConstrainError, match="is no file of a TextStore"):
            TextStore.load(tmp_path / name)


@pytest.mark.parametrize("text", [[-1], [1.5], [[1]], ["a"], [2**31]], ids=str)
def test_what_is_no_text(text: list[int]) -> None:
    with pytest.raises(ConstrainError, match="is a sequence of token ids"):
        TextStore([text])


def test_threads_add_while_others_look() -> None:
    store = TextStore(most=500)
    stop = threading.Event()
    wrong: list[object] = []

    def look() -> None:
        while not stop.is_set():
            found = store.following([1, 2])
            if any(token != 3 for token, _ in found):
                wrong.append(found)

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        store.add([1, 2, 3])
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert 300 < len(store) <= 500


def paths(tree: DraftTree) -> set[tuple[int, ...]]:
    return {tuple(int(tree.tokens[i]) for i in tree.path(node + 1)) for node in range(len(tree))}


def test_drafts_follow_the_store() -> None:
    store = TextStore([[5, 6, 7, 8], [5, 6, 7, 9], [5, 6, 1]])
    context = context_of(None, [5, 6], prompt=[1])
    context = replace(context, setting=replace(context.setting, size=10))
    tree = Retrieval(store).draft(context, DraftBudget(20, 2))
    assert paths(tree) == {(7,), (1,), (7, 8), (7, 9)}
    assert int(tree.tokens[0]) == 7  # twice as often as 1
    assert paths(Retrieval(store).draft(context, DraftBudget(1, 9))) == {(7,)}
    assert paths(Retrieval(store, width=1).draft(context, DraftBudget(20, 1))) == {(7,)}
    assert paths(Retrieval(store, shortest=3).draft(context, DraftBudget(20, 2))) == set()
    words = ToyConstraint(LETTERS, [b"abc", b"acb", b"b", b"ca"])
    bound = replace(context_of(words, []), tokens=[9, 0])
    legal = Retrieval(TextStore([[9, 0, 1], [9, 0, 0], [9, 0, 7]]))
    assert paths(legal.draft(bound, DraftBudget(20, 1))) <= {(0,), (1,)}  # 7 is no token


def test_outputs_are_learnt() -> None:
    case = Case("skewed", 2, 1.0, settings=Settings(max_tokens=9, temperature=0))
    drafter = Retrieval(longest=2)
    runs = [drive(Speculation([drafter]), branching(case.job(TorchDraw(1)))) for _ in range(2)]
    (plain,) = drive(lcd, case.job(TorchDraw(1)))
    for (sample,) in runs:
        same(sample, plain)
    assert runs[1][0].forwards < runs[0][0].forwards
    size = len(drafter.store)
    drafter.learn = False
    drive(Speculation([drafter]), branching(case.job(TorchDraw(1))))
    assert len(drafter.store) == size


def test_the_law_is_that_of_lcd() -> None:
    for seed in range(2):
        case = Case("dyck", seed, 1.0)
        store = TextStore([[0, 1, 0, 0, 1, 1, 3], [1, 0, 1, 3], [1, 2, 2]])
        check(case, Speculation([Retrieval(store, learn=False)]))
