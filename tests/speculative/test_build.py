"""Draft trees and their builder, by definition: what is read is legal, best, within its budget, and nothing twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from speculative_cases import EOS, LETTERS, context_of, random_tree

from constrain.errors import ConstrainError, LimitError
from constrain.speculative import (
    EMPTY,
    NONE,
    ROOT,
    BuiltTree,
    DraftBudget,
    DraftTree,
    TreeBuilder,
    given_chain,
    given_paths,
)
from toy_matcher import ToyConstraint

WIDE = DraftBudget(50, 50)
WORDS = ToyConstraint(LETTERS, [b"abcabc", b"abbb", b"b", b"cca"])
ANY = ToyConstraint(LETTERS, is_prefix=lambda t: True, is_member=lambda t: True)


def paths_of(tree: DraftTree) -> list[tuple[int, ...]]:
    return [tuple(int(tree.tokens[i]) for i in tree.path(place)) for place in range(1, len(tree) + 1)]


def read_paths(tree: BuiltTree) -> list[tuple[int, ...]]:
    return [path for path, read in zip(paths_of(tree), tree.read, strict=True) if read]


def test_arrays_that_do_not_fit() -> None:
    one, zeros = np.zeros(1, np.int32), np.zeros(1)
    with pytest.raises(ConstrainError, match="have lengths"):
        DraftTree(one, np.zeros(2, np.int32), zeros)
    with pytest.raises(ConstrainError, match="node 0 of a draft tree has parent 0\n  fix: parents come before"):
        DraftTree(one, one, zeros)
    with pytest.raises(ConstrainError, match="drawn from row 0 of 0"):
        DraftTree(one, one - 1, zeros, one)


def test_paths_share_their_beginnings() -> None:
    tree = given_paths([[1, 2, 3], [1, 2, 4], [5]], [[-0.1, -0.2, -0.3], [-0.5, -0.6, -0.4], [-0.7]])
    assert paths_of(tree) == [(1,), (1, 2), (1, 2, 3), (1, 2, 4), (5,)]
    assert tree.depths.tolist() == [1, 2, 3, 3, 1]
    assert tree.log_probs.tolist() == [-0.1, -0.2, -0.3, -0.4, -0.7]
    assert tree.children() == [[0, 4], [1], [2, 3], [], [], []]


def test_illegal_branches_are_not_read() -> None:
    drafts = [given_paths([[0, 1, 2, 9], [0, 1, 0], [2, 2, 2], [-1], [7]], -0.1), given_chain([3, 2, EOS])]
    tree = TreeBuilder().build(context_of(WORDS), drafts, WIDE)
    legal = {(0,), (0, 1), (0, 1, 2), (3,), (3, 2), (2,), (2, 2)}
    assert legal <= set(read_paths(tree))
    assert all(WORDS.is_prefix(LETTERS.to_bytes(path)) for path in read_paths(tree))
    assert tree.read.all()
    assert tree.refused == {0: 5}
    for place in range(1, len(tree) + 1):
        assert tree.matchers[place].ids == [int(tree.tokens[i]) for i in tree.path(place)]
        assert tree.states[place] == hash(tree.matchers[place].state)


def test_what_is_forced_is_read_too_and_known() -> None:
    tree = TreeBuilder().build(context_of(WORDS), [given_chain([1]), given_chain([2], -5.0)], WIDE)
    # "b" is complete and goes no further: EOS is forced; after "c" come "ca".
    assert read_paths(tree) == [(1,), (2,), (2, 2), (2, 2, 0)]
    assert tree.forced.tolist() == [NONE, EOS, 2, 0, EOS]
    assert tree.sources.tolist() == [0, 1, NONE, NONE]
    ended = TreeBuilder().build(context_of(WORDS, [1]), [given_chain([EOS])], WIDE)
    assert len(ended) == 0
    assert ended.forced.tolist() == [EOS]


@pytest.mark.parametrize("seed", range(40))
def test_random_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    constraint = (WORDS, ANY, None)[seed % 3]
    drafts = [random_tree(rng, int(rng.integers(0, 12)), 5) for _ in range(int(rng.integers(0, 4)))]
    budget, left = DraftBudget(int(rng.integers(0, 15)), int(rng.integers(0, 6))), int(rng.integers(1, 8))
    for chain in (False, True):
        tree = TreeBuilder().build(context_of(constraint, left=left), drafts, budget, chain=chain)
        paths = paths_of(tree)
        assert len(set(paths)) == len(paths) <= budget.nodes
        assert tree.read.all()
        assert all(len(path) <= min(budget.depth, left - 1) for path in paths)
        assert not any(EOS in path or min(path) < 0 or max(path) >= 5 for path in paths)
        if constraint is not None:
            assert all(constraint.is_prefix(LETTERS.to_bytes(path)) for path in paths)
        if chain:
            assert tree.parents.tolist() == list(range(-1, len(tree) - 1))
        assert tree.logits_rows.tolist() == list(range(len(tree) + 1))
        assert tree.read_parents.tolist() == tree.parents.tolist()


def test_the_likeliest_paths_are_kept() -> None:
    draft = DraftTree(
        np.array([0, 1, 2, 0, 1], np.int32), np.array([ROOT, ROOT, ROOT, 0, 1], np.int32), -np.array([1, 2, 9, 4, 0.5])
    )
    order = [(0,), (1,), (1, 1), (0, 0), (2,)]  # scores -1, -2, -2.5, -5, -9
    for nodes in range(6):
        tree = TreeBuilder().build(context_of(ANY), [draft], DraftBudget(nodes, 9))
        assert read_paths(tree) == order[:nodes]


def drawn_tree() -> DraftTree:
    """a, b, a again and EOS, drawn with replacement at the root; c, then a below the second a."""
    rows = np.array([0, 0, 0, 0, 1, 1], np.int32)
    tokens, parents = np.array([0, 1, 0, EOS, 2, 0], np.int32), np.array([-1, -1, -1, -1, 2, 4], np.int32)
    probs = torch.full((2, 5), 0.2, dtype=torch.float64)
    return DraftTree(tokens, parents, np.full(6, np.log(0.2)), rows, probs, replacement=True)


def test_drawn_nodes_stay_for_the_rules() -> None:
    given = given_chain([1, 2])
    tree = TreeBuilder().build(context_of(ANY), [given, drawn_tree()], WIDE, draws="with")
    assert tree.replacement
    assert tree.tokens[:6].tolist() == [0, 1, 0, EOS, 2, 0]
    assert tree.parents[:6].tolist() == [-1, -1, -1, -1, 0, 4]  # c stands below the first a, which stands for both
    assert tree.read[:6].tolist() == [True, True, False, False, True, True]
    assert tree.same[:6].tolist() == [0, 1, 0, 3, 4, 5]
    assert paths_of(tree)[6:] == [(1, 2)]  # given, below a drawn node
    assert tree.draft_rows.tolist() == [0, 0, 0, 0, 1, 1, NONE]
    assert tree.sources.tolist() == [1] * 6 + [0]
    assert tree.logits_rows.tolist() == [0, 1, 2, NONE, NONE, 3, 4, 5]
    assert tree.read_tokens.tolist() == [0, 1, 2, 0, 2]
    assert tree.read_parents.tolist() == [-1, -1, 0, 2, 1]


@pytest.mark.parametrize("draws, kept", [("any", False), ("chain", False), ("without", False), ("with", True)])
def test_a_verifier_gets_drawn_nodes_in_its_form_only(draws: str, kept: bool) -> None:
    tree = TreeBuilder().build(context_of(ANY), [drawn_tree()], WIDE, draws=draws)
    assert tree.drawn == kept
    assert set(read_paths(tree)) == {(0,), (1,), (0, 2), (0, 2, 0)}


def test_illegal_draws_are_kept_unread() -> None:
    tree = TreeBuilder().build(context_of(WORDS), [drawn_tree()], WIDE, draws="with")
    assert tree.tokens[:5].tolist() == [0, 1, 0, EOS, 2]  # EOS and "ac" are no way to go on
    assert tree.read[:5].tolist() == [True, True, False, False, False]
    assert tree.same[:5].tolist() == [0, 1, 0, NONE, NONE]
    assert tree.refused == {0: 2}


@pytest.mark.parametrize("nodes, kept, read", [(0, 0, 0), (1, 4, 1), (2, 4, 2), (3, 5, 3), (4, 6, 4), (9, 6, 4)])
def test_drawn_siblings_stay_together(nodes: int, kept: int, read: int) -> None:
    """Nodes beyond the budget are not read, or, from the first sibling on, not in the tree."""
    whole = TreeBuilder().build(context_of(ANY), [drawn_tree()], WIDE, draws="with")
    tree = TreeBuilder().build(context_of(ANY), [drawn_tree()], DraftBudget(nodes, 9), draws="with")
    assert tree.tokens.tolist() == whole.tokens[:kept].tolist()
    assert int(tree.read.sum()) == read
    assert (tree.same == np.where(tree.same == 0, 0, np.arange(kept))).all()
    deep = TreeBuilder().build(context_of(ANY), [drawn_tree()], DraftBudget(9, 1), draws="with")
    assert deep.tokens.tolist() == [0, 1, 0, EOS]
    last = TreeBuilder().build(context_of(ANY, left=1), [drawn_tree()], WIDE, draws="with")
    assert last.tokens.tolist() == [0, 1, 0, EOS]
    assert not last.read.any()
    assert last.same.tolist() == [0, 1, 2, 3]


def test_nothing_drafted() -> None:
    tree = TreeBuilder().build(context_of(None), [EMPTY], WIDE)
    assert (len(tree), tree.forced.tolist(), tree.matchers) == (0, [NONE], [None])


@pytest.mark.parametrize("least, kept", [(0.0, 5), (0.01, 4), (0.1, 2), (0.2, 1), (0.5, 0)])
def test_what_is_hardly_ever_taken_is_not_read(least: float, kept: int) -> None:
    draft = DraftTree(
        np.array([0, 1, 2, 0, 1], np.int32), np.array([ROOT, ROOT, ROOT, 0, 1], np.int32), -np.array([1, 2, 9, 3, 1.5])
    )
    order = [(0,), (1,), (1, 1), (0, 0), (2,)]  # chances .37, .14, .03, .018, .0001
    tree = TreeBuilder().build(context_of(ANY), [draft], DraftBudget(9, 9, least))
    assert read_paths(tree) == order[:kept]


class Limited:
    """A matcher that cannot say what follows "b"."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def fork(self) -> Limited:
        return Limited(self.inner.fork())

    def advance(self, token: int) -> bool:
        if token == 1:
            raise LimitError("too large")
        return bool(self.inner.advance(token))

    def forced_tokens(self) -> list[int]:
        if self.inner.ids[-1:] == [2]:
            raise LimitError("too large")
        return []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_what_cannot_be_decided_is_left_to_the_text() -> None:
    """A guess that the constraint fails at costs that branch only."""
    context = context_of(ANY)
    context.matcher = Limited(context.matcher)  # type: ignore[assignment]
    draft = given_paths([[1, 0], [0, 2], [0, 1]], -0.1)
    tree = TreeBuilder().build(context, [draft], DraftBudget(9, 9))
    assert sorted(read_paths(tree)) == [(0,), (0, 2)]
    assert tree.refused == {0: 2}
