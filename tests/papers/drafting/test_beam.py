"""A stochastic beam of drafts: each level by its definition, and the distribution of the output."""

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
import torch
from sampling_cases import BITS, LANGUAGES, Case
from speculative_cases import LETTERS, check, context_of

from constrain.errors import ConstrainError
from constrain.papers.drafting.beam import StochasticBeam
from constrain.sampling import Settings, enumerate_draws
from constrain.speculative import Context, DraftBudget, DraftTree, Fixed, Model, Speculation, TreeBuilder
from toy_matcher import ToyConstraint
from toy_model import TableModel

Levels = tuple[tuple[tuple[int, ...], ...], ...]  # by length, the sequences in order


def levels(tree: DraftTree) -> Levels:
    """Sequences of a tree by length, in the order of its nodes."""
    found: list[list[tuple[int, ...]]] = [[] for _ in range(int(tree.depths.max()))]
    for node in range(len(tree)):
        path = tuple(int(tree.tokens[i]) for i in tree.path(node + 1))
        found[len(path) - 1].append(path)
    return tuple(map(tuple, found))


@pytest.mark.parametrize("width", [2, 3])
def test_levels_are_drawn_without_replacement(width: int) -> None:
    """All orders of all texts, drawn without replacement: a level is the first beginnings of that length in one order,
    the same for all lengths."""
    words = ToyConstraint(LETTERS, [b"aab", b"aba", b"abb", b"baa"])
    model, start = TableModel(7, 2), context_of(words)
    chances: dict[tuple[int, ...], float] = {}

    def spread(path: tuple[int, ...], chance: float, matcher: Any) -> None:
        if len(path) == 3:
            chances[path] = chance
            return
        allowed = sorted(matcher.allowed())
        row = torch.tensor(model.logits([*start.tokens, *path]))[allowed].softmax(-1)
        for token, share in zip(allowed, row.tolist(), strict=True):
            after = matcher.fork()
            assert after.advance(token)
            spread((*path, token), chance * share, after)

    assert start.matcher is not None
    spread((), 1.0, start.matcher)
    expected: dict[Levels, float] = {}
    for order in permutations(chances):
        probability, left = 1.0, 1.0
        for text in order:
            probability *= chances[text] / left if left > 1e-9 else 1.0
            left -= chances[text]
        key = tuple(tuple(dict.fromkeys(text[:length] for text in order))[:width] for length in (1, 2, 3))
        expected[key] = expected.get(key, 0.0) + probability

    def run(draw: Any) -> Levels:
        setting = replace(start.setting, draws="without", draw=draw)
        (tree,) = StochasticBeam(model, width=width).propose(
            [replace(start, setting=setting, memo={})], [DraftBudget(50, 3)]
        )
        return levels(tree)

    found: dict[Levels, float] = {}
    for probability, key in enumerate_draws(run):
        found[key] = found.get(key, 0.0) + probability
    assert len(found) > 10
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("verifier", ["recursive-without", "traversal"])
@pytest.mark.parametrize("language", ["pairs", "skewed"])
def test_the_distribution_is_kept(verifier: str, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By enumeration, of whole decoders; trees have many shapes, and texts that end among their sequences."""
    monkeypatch.setitem(LANGUAGES, "pairs", ToyConstraint(BITS, [f"{i:03b}".encode() for i in range(8)]))
    shapes = set()

    class Watching(TreeBuilder):
        def build(self, *arguments: Any, **options: Any) -> Any:
            tree = super().build(*arguments, **options)
            shapes.add(tuple(tree.parents.tolist()))
            return tree

    case = Case(language, 0, 1.0, settings=Settings(max_tokens=4 if language == "pairs" else 3))
    drafter = StochasticBeam(TableModel(case.model.width, 5), width=2)
    check(case, Speculation([drafter], verifier=verifier, controller=Fixed(6, 2), builder=Watching()))
    assert len(shapes) > 3


@pytest.mark.parametrize("draws", ["any", "chain", "with"])
def test_other_rules_get_the_tree_of_a_model(draws: str) -> None:
    context = context_of(None)
    trees = []
    for drafter in (StochasticBeam(TableModel(5, 3), width=2), Model(TableModel(5, 3), width=2, paths=2)):
        setting = replace(context_of(None).setting, draws=draws)
        own: Context = replace(context, setting=setting, memo={})
        (tree,) = drafter.propose([own], [DraftBudget(9, 3)])
        trees.append((tree.tokens.tolist(), tree.parents.tolist(), tree.replacement))
    assert trees[0] == trees[1]


def test_budgets_and_options() -> None:
    setting = replace(context_of(None).setting, draws="without")
    (tree,) = StochasticBeam(TableModel(5, 3)).propose(
        [replace(context_of(None), setting=setting)], [DraftBudget(5, 9)]
    )
    assert len(tree) == 5
    with pytest.raises(ConstrainError, match="width must be an int of at least 1"):
        StochasticBeam(TableModel(5, 3), width=0)
