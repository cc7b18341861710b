"""Drafters that learn while the target writes: the distribution stays, by enumeration; what they propose, by hand."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sampling_cases import Case
from speculative_cases import LETTERS, Fresh, branching, check, context_of, same

import constrain
from constrain.errors import ConstrainError
from constrain.papers import NGramDrafter, Prior, Recycling
from constrain.papers.drafting.explore import explored
from constrain.papers.drafting.grow import Growth
from constrain.sampling import Sample, Settings, TorchDraw, lcd
from constrain.sampling.core.sampler import drive
from constrain.speculative import Context, DraftBudget, Drafter, DraftTree, Outcome, Speculation, TreeBuilder
from toy_matcher import ToyConstraint

WIDE = DraftBudget(20, 20)
ANY = ToyConstraint(LETTERS, is_prefix=lambda t: True, is_member=lambda t: len(t) > 2)
DRAFTERS: dict[str, Callable[[], Drafter]] = {
    "recycling": Recycling,
    "ngram": NGramDrafter,
    "prior": lambda: Prior(shared=False),
}


@pytest.mark.parametrize("language", ["skewed", "dyck", "twins", "ambiguous", "optional tail", "dead end"])
@pytest.mark.parametrize("name", DRAFTERS)
def test_the_law_is_that_of_lcd(name: str, language: str) -> None:
    check(Case(language, 1), Fresh(DRAFTERS[name], "match"))
    check(Case(language, 2, settings=Settings(max_tokens=9, temperature=0)), Fresh(DRAFTERS[name], "match"))


@pytest.mark.parametrize("language", ["dyck", "twins", "ambiguous", "optional tail"])
@pytest.mark.parametrize("verifier", ["token", "recursive", "recursive-without", "k-seq", "block", "traversal"])
def test_the_law_with_drawn_drafts(verifier: str, language: str) -> None:
    """Draws that are verified: what the n-gram table states is what it draws from."""
    case = Case(language, 3, settings=Settings(max_tokens=6))
    check(case, Fresh(NGramDrafter, verifier))


@pytest.mark.parametrize("name", DRAFTERS)
def test_they_learn(name: str) -> None:
    """A second run over the same text takes fewer forward passes, and gives the same tokens."""
    case = Case("dyck", 4, 5.0, settings=Settings(max_tokens=12))
    drafter = DRAFTERS[name]()
    (plain,) = drive(lcd, case.job(TorchDraw(0)))
    runs: list[Sample] = []
    for _ in range(3):
        runs += drive(Speculation([drafter]), branching(case.job(TorchDraw(0))))
    for sample in runs:
        same(sample, plain)
        assert sample.drafts[name].fault is None
    assert runs[2].forwards < runs[0].forwards <= plain.forwards
    assert runs[2].drafts[name].accepted > 0


@pytest.mark.parametrize("name", DRAFTERS)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_rows_of_a_batch_learn_from_each_other(name: str, temperature: float) -> None:
    """All rows share the tables, and each has the tokens of its own seed still."""
    case = Case("skewed", 4, settings=Settings(max_tokens=12, temperature=temperature))
    given: dict[str, Any] = {"rows": 4, "prompts": [[0, 1], [0], [1], [2, 0, 1]]}
    plain = drive(lcd, case.job(TorchDraw(0), **given))
    drafter = DRAFTERS[name]()
    for _ in range(2):
        samples = drive(Speculation([drafter]), branching(case.job(TorchDraw(0), **given)))
        for sample, other in zip(samples, plain, strict=True):
            same(sample, other)
            assert sample.drafts[name].fault is None
    assert sum(sample.forwards for sample in samples) < sum(other.forwards for other in plain)


def taught(drafter: Drafter, context: Context, draft: list[int], tokens: list[int], logits: Any) -> None:
    """One step: the drafter is asked, a chain is verified and taken as far as `tokens` go, and it hears of that."""
    n = len(draft)
    drafter.draft(context, WIDE)
    chain = DraftTree(np.asarray(draft, np.int32), np.arange(-1, n - 1, dtype=np.int32), np.zeros(n))
    tree = TreeBuilder().build(context, [chain], WIDE)
    path = [i for i, (a, b) in enumerate(zip(draft, tokens, strict=False)) if draft[: i + 1] == tokens[: i + 1]]
    after = replace(context, tokens=[*context.tokens, *tokens])
    drafter.observe([Outcome(after, tree, path, tokens, torch.tensor(logits))])


def edges(tree: DraftTree) -> list[tuple[list[int], float]]:
    """(path, chance of its last token) of every node."""
    found = []
    for node in range(len(tree)):
        path = [int(tree.tokens[each]) for each in tree.path(node + 1)]
        found.append((path, round(math.exp(tree.log_probs[node]), 3)))
    return found


LOGITS = np.log(
    [  # the places of the chain a b: root, after a, after b; columns a b c ab EOS, and one that no token has
        [0.6, 0.2, 0.15, 0.04, 0.01, 0.0],
        [0.08, 0.7, 0.12, 0.05, 0.05, 0.0],
        [0.25, 0.0, 0.5, 0.25, 0.0, 0.0],
    ],
    where=np.array([[True] * 5 + [False]] * 2 + [[True, False, True, True, False, False]]),
    out=np.full((3, 6), -np.inf),
)


def test_recycling_walks_the_latest_rows() -> None:
    drafter = Recycling(width=2)
    context = context_of(None, [2])
    taught(drafter, context, [0, 1], [0, 0], LOGITS)  # b is refused, and yet what follows it is learned
    after_c = context_of(None, [2])
    tree = drafter.draft(after_c, DraftBudget(4, 3))
    assert edges(tree) == [([0], 0.6), ([0, 1], 0.7), ([0, 1, 2], 0.5), ([1], 0.2)]
    taught(drafter, after_c, [], [1], [[0.0, 9.0, -9.0, -9.0, -9.0, -9.0]])
    assert edges(drafter.draft(context_of(None, [2]), DraftBudget(1, 3))) == [([1], 1.0)]
    assert edges(drafter.draft(context_of(None, [3]), WIDE)) == []


def test_recycling_keeps_rows_by_state() -> None:
    """After the same token, another state of the constraint is another row."""
    drafter = Recycling(width=1)
    likes = {token: [[-9.0] * token + [9.0] + [-9.0] * (5 - token)] for token in range(4)}
    taught(drafter, context_of(ANY, [0, 0]), [], [1], likes[1])
    taught(drafter, context_of(ANY, [1, 0]), [], [2], likes[2])

    def first(tokens: list[int]) -> int:
        context = context_of(ANY, tokens)
        (path, _), *_ = edges(drafter.draft(context, DraftBudget(1, 1)))
        return path[0]

    assert first([0, 0]) == 1
    assert first([1, 0]) == 2
    assert first([2, 0]) == 2  # a state that is new: the latest row of the token
    only_a = ToyConstraint(LETTERS, [b"aaaa"])
    assert edges(drafter.draft(context_of(only_a, [0]), DraftBudget(9, 2))) == [([0], 1.0), ([0, 0], 1.0)]  # forced


def test_ngrams_are_means_and_the_longest_speaks() -> None:
    drafter = NGramDrafter(longest=2)
    taught(drafter, context_of(None, [2, 0]), [], [1], LOGITS[:1])
    taught(drafter, context_of(None, [1, 0]), [], [1], LOGITS[1:2])

    def firsts(tokens: list[int]) -> list[tuple[list[int], float]]:
        return edges(drafter.draft(context_of(None, tokens), DraftBudget(3, 1)))

    assert firsts([2, 0]) == [([0], 0.6), ([1], 0.2), ([2], 0.15)]
    assert firsts([1, 0]) == [([1], 0.7), ([2], 0.12), ([0], 0.08)]
    assert firsts([3, 0]) == [([1], 0.45), ([0], 0.34), ([2], 0.135)]  # only "a" is known: the mean of both
    assert firsts([3]) == []


@pytest.mark.parametrize("language", ["skewed", "dyck", "twins", "optional tail", "dead end"])
def test_exploration_leaves_the_law_of_lcd(language: str) -> None:
    check(Case(language, 1), Fresh(lambda: NGramDrafter(walks=9), "match"))
    greedy = Case(language, 2, settings=Settings(max_tokens=9, temperature=0))
    check(greedy, Fresh(lambda: NGramDrafter(walks=9), "match"))


@pytest.mark.parametrize("weight", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("walks", [1, 4, 30])
def test_exploration_by_its_definition(walks: int, weight: float) -> None:
    """Walks by Q + c P √N / (1 + n) on a table without a constraint, and the nodes that were tried most."""
    table: dict[int, list[tuple[int, float]]] = {0: [(1, 0.5), (2, 0.3)], 1: [(2, 0.6), (0, 0.3)], 2: [(0, 0.9)], 3: []}
    context, budget = context_of(None, prompt=[0]), DraftBudget(4, 3)
    tree = explored(Growth(context, budget, lambda state, tail: table[tail[-1]], 1), walks, weight)
    visits: dict[tuple[int, ...], int] = {(): 0}
    worth: dict[tuple[int, ...], float] = {(): 0.0}

    def chance(path: tuple[int, ...]) -> float:
        return math.prod(dict(table[before])[token] for before, token in zip((0, *path), path, strict=False))

    for _ in range(walks):
        path: tuple[int, ...] = ()
        while len(path) < 3:

            def score(pair: tuple[int, float], path: tuple[int, ...] = path) -> float:
                n = visits.get((*path, pair[0]), 0)
                mean = worth[(*path, pair[0])] / n if n else 0.0
                return mean + weight * pair[1] * math.sqrt(max(1, visits[path])) / (1 + n)

            path = (*path, max(table[(0, *path)[-1]], key=score)[0])
            visits.setdefault(path, 0)
            worth.setdefault(path, 0.0)
        value = sum(chance(path[: n + 1]) for n in range(3)) / 3
        for n in range(4):
            visits[path[:n]] += 1
            worth[path[:n]] += value
    found = [tuple(int(tree.tokens[i]) for i in tree.path(node + 1)) for node in range(len(tree))]
    counts = sorted((visits[path] for path in visits if path), reverse=True)[:4]
    assert sorted((visits[path] for path in found), reverse=True) == counts
    assert [math.exp(each) for each in tree.log_probs] == pytest.approx(
        [dict(table[(0, *path)[-2]])[path[-1]] for path in found]
    )


@pytest.mark.parametrize("draws, replacement", [("chain", False), ("with", True), ("without", False)])
def test_drawn_ngrams_state_their_law(draws: str, replacement: bool) -> None:
    drafter = NGramDrafter(width=2)
    words = ToyConstraint(LETTERS, [b"abc", b"aac", b"acb", b"bca"])
    for _ in range(2):
        taught(drafter, context_of(words, prompt=[2]), [0, 1], [0, 1], LOGITS)
    counts = np.zeros(5)
    for seed in range(300):
        context = context_of(words, prompt=[2])
        context.setting.draw, context.setting.draws = TorchDraw(seed), draws
        tree = drafter.draft(context, DraftBudget(2, 2))
        assert tree.draft_probs is not None
        assert tree.replacement == replacement
        law = tree.draft_probs[0]
        torch.testing.assert_close(
            law, torch.tensor([0.6, 0.2, 0, 0.04, 0], dtype=torch.float64) / 0.84
        )  # c begins no word
        counts[tree.tokens[0]] += 1
        roots = [int(token) for token, parent in zip(tree.tokens, tree.parents, strict=True) if parent == -1]
        assert len(roots) == (1 if draws == "chain" else 2)
        assert draws == "with" or len(set(roots)) == len(roots)
    assert abs(counts / 300 - law.numpy()).max() < 0.1  # 3.5 standard deviations


def test_prior_counts_by_state() -> None:
    drafter = Prior(shared=False, width=2)
    for tokens in ([0, 1], [0, 2], [0, 1]):
        taught(drafter, context_of(ANY), tokens, tokens, LOGITS)
    tree = drafter.draft(context_of(ANY), WIDE)
    assert edges(tree) == [([0], 0.75), ([0, 1], 0.5), ([0, 2], 0.25)]
    assert edges(drafter.draft(context_of(ANY, [1]), WIDE)) == []
    assert edges(drafter.draft(context_of(None), WIDE)) == []
    assert edges(Prior().draft(context_of(ANY), WIDE)) == []  # a matcher that names no constraint shares nothing


def test_prior_is_shared_by_requests_of_a_constraint() -> None:
    vocabulary = constrain.Vocabulary([b"a", b"b", b"c", None], [3])
    compiled = constrain.compile(constrain.regex("(a|b)(b|c)c?"), vocabulary)
    other = constrain.compile(constrain.regex("(a|b)(b|c)c"), vocabulary)
    setting = replace(context_of(None).setting, size=4, eos_ids=[3], token_bytes=vocabulary.tokens)

    def context(constraint: Any) -> Context:
        matcher = constraint.matcher()
        return replace(context_of(None), setting=setting, matcher=matcher, state=matcher.state, memo={})

    taught(Prior(), context(compiled), [1, 2], [1, 2], np.zeros((3, 4)))
    assert edges(Prior().draft(context(compiled), WIDE)) == [([1], 0.5), ([1, 2], 0.5)]
    assert edges(Prior().draft(context(other), WIDE)) == []
    assert edges(Prior(shared=False).draft(context(compiled), WIDE)) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: Recycling(width=0),
        lambda: NGramDrafter(longest=0),
        lambda: NGramDrafter(width=0),
        lambda: Prior(width=0),
    ],
)
def test_options(make: Callable[[], Drafter]) -> None:
    with pytest.raises(ConstrainError, match="must be an int of at least 1, not 0"):
        make()
