"""Every rule by exact enumeration: of the draft's draws and the rule's own decisions, against the target's own law.

A case is a random target and a random draft distribution for every prefix, a shape of tree, room, and other drafts
beside it. What a rule emits is completed by the target, so that distributions of sequences of the same length are
compared.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from speculative_cases import check, context_of
from tiny_cases import Tiny, tiny_cases

import constrain
from constrain.errors import ConstrainError
from constrain.papers import TypicalAcceptance, optimal_acceptance
from constrain.sampling import Draw, Settings, enumerate_draws
from constrain.speculative import (
    NONE,
    BuiltTree,
    Context,
    DraftBudget,
    DraftTree,
    Fixed,
    Speculation,
    TreeBuilder,
    Verdict,
)
from constrain.speculative.verifier import Case
from constrain.speculative.verifiers import VERIFIERS, verifier_named
from toy_matcher import ToyVocabulary
from tree_target import Drawn, Given, table_probs

SIZE, EOS = 3, 2
LENGTH = 3  # of the sequences whose distributions are compared
VOCABULARY = ToyVocabulary([b"a", b"b", None], [EOS])
RULES = sorted(VERIFIERS)
DRAWS = {
    "chain": [(1, 1), (1, 2), (1, 3)],
    "with": [(2, 1), (2, 1), (3, 1), (2, 2)],
    "without": [(2, 1), (3, 1), (2, 2)],
}


@dataclass
class World:
    """A target and a draft distribution for every prefix, from a seed."""

    seed: int

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.seed, 3])
        self.spread = float(rng.choice([0.3, 1.0, 4.0]))
        self.agrees = bool(rng.random() < 0.1)  # the draft model is the target

    def target(self, prefix: Sequence[int]) -> np.ndarray:
        return table_probs(
            self.seed if self.agrees else self.seed + 7919, prefix, SIZE, 1.5 if self.agrees else self.spread
        )

    def law(self, length: int, prefix: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], float]]:
        """Every sequence of a length, or that ended before, with its probability after a prefix."""
        if length <= 0 or EOS in prefix[-1:]:
            yield (), 1.0
            return
        for token, share in enumerate(self.target(prefix).tolist()):
            if share:
                for rest, chance in self.law(length - 1, (*prefix, token)):
                    yield (token, *rest), share * chance


class TableRows:
    """The target at the places of a tree, by its table."""

    def __init__(self, world: World, tree: BuiltTree, draw: Draw) -> None:
        self.world, self.tree, self.draw = world, tree, draw

    def forced(self, place: int) -> int:
        return NONE

    def probabilities(self, place: int) -> torch.Tensor:
        assert place == 0 or self.tree.read[place - 1], "the forward did not read this node"
        path = [int(self.tree.tokens[node]) for node in self.tree.path(place)]
        wider = [*self.world.target(path).tolist(), 0.0]  # models are padded
        return torch.tensor(wider, dtype=torch.float64)

    def sample(self, place: int) -> int:
        return int(self.draw(self.probabilities(place).unsqueeze(0), [0]))

    def possible(self, place: int, token: int) -> bool:
        return float(self.probabilities(place)[token]) > 0


def emitted(rule: str, world: World, context: Context, drafts: Any, budget: DraftBudget, chain: bool) -> Any:
    """(probability, tokens) of every way in which draft and rule can decide."""
    verifier = verifier_named(rule)

    def run(draw: Draw) -> tuple[int, ...]:
        here = replace(context, setting=replace(context.setting, draw=draw))
        trees = [drafter.draft(here, budget) for drafter in drafts]
        tree = TreeBuilder().build(here, trees, budget, draws=verifier.draws, chain=chain)
        (verdict,) = verifier.verify([Case(tree, TableRows(world, tree, draw), 0)], draw)
        return said(tree, verdict)

    return enumerate_draws(run)


def said(tree: BuiltTree, verdict: Verdict) -> tuple[int, ...]:
    assert [int(tree.parents[node]) for node in verdict.path] == [-1, *verdict.path[:-1]][: len(verdict.path)]
    assert tree.read[verdict.path].all()
    assert verdict.token != NONE
    return (*(int(tree.tokens[node]) for node in verdict.path), verdict.token)


def distance(world: World, found: Any, left: int) -> float:
    """The largest difference between the distribution of what was emitted, completed by the target, and the
    target's."""
    length = min(LENGTH, left)
    law: dict[tuple[int, ...], float] = defaultdict(float)
    for probability, tokens in found:
        assert len(tokens) <= left
        assert EOS not in tokens[:-1]
        for rest, chance in world.law(length - len(tokens), tokens):
            law[(*tokens, *rest)[:length]] += probability * chance
    expected: dict[tuple[int, ...], float] = defaultdict(float)
    for tokens, chance in world.law(length):
        expected[tokens] += chance
    return max(abs(law[x] - expected[x]) for x in law.keys() | expected.keys())


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("part", range(4))
def test_the_law_is_the_target(rule: str, part: int) -> None:
    draws = verifier_named(rule).draws
    for seed in range(part * 52, part * 52 + 52):
        rng = np.random.default_rng([seed, 1])
        world = World(seed)
        shapes = DRAWS.get(draws) or list(itertools.chain(*DRAWS.values()))
        width, depth = shapes[int(rng.integers(len(shapes)))]
        replacement = draws == "with" or (draws == "any" and bool(rng.random() < 0.5))
        drafts: list[Any] = [Drawn(seed, width, depth, replacement=replacement, spine=width > 1)]
        if rng.random() < 0.5:
            drafts.insert(int(rng.integers(2)), Given(seed, 2))
        budget = DraftBudget(int(rng.choice([1, 2, 3, 9])), int(rng.choice([1, 2, 9])))
        left = int(rng.choice([1, 2, 9]))
        context = replace(context_of(None, left=left, prompt=[]), setting=setting())
        found = emitted(rule, world, context, drafts, budget, chain=bool(rng.random() < 0.3))
        assert distance(world, found, left) < 1e-10, (seed, width, depth, budget, left)


def setting() -> Any:
    given = context_of(None).setting
    return replace(given, size=SIZE, eos_ids=[EOS], token_bytes=VOCABULARY.tokens)


@pytest.mark.parametrize("rule", ["recursive-without", "traversal"])
def test_bushy_trees(rule: str) -> None:
    """Every child has children."""
    for seed in range(2):
        context = replace(context_of(None, prompt=[]), setting=setting())
        found = emitted(rule, World(seed), context, [Drawn(seed, 2, 2)], DraftBudget(9, 9), False)
        assert distance(World(seed), found, 9) < 1e-10


# --- how much is accepted ---------------------------------------------------------------------------------------------


def accepted(rule: str, world: World, width: int, depth: int) -> float:
    """Mean number of drafted tokens that are taken."""
    context = replace(context_of(None, prompt=[]), setting=setting())
    drafts = [Drawn(world.seed, width, depth, replacement=verifier_named(rule).draws == "with", spine=True)]
    verifier = verifier_named(rule)

    def run(draw: Draw) -> float:
        here = replace(context, setting=replace(context.setting, draw=draw))
        tree = TreeBuilder().build(
            here, [drafts[0].draft(here, DraftBudget(9, 9))], DraftBudget(9, 9), draws=verifier.draws
        )
        (verdict,) = verifier.verify([Case(tree, TableRows(world, tree, draw), 0)], draw)
        last = verdict.path[-1] if verdict.path else -1
        unread = [int(tree.tokens[n]) for n in range(len(tree)) if tree.parents[n] == last and not tree.read[n]]
        return len(verdict.path) + (verdict.token in unread)

    return math.fsum(chance * count for chance, count in enumerate_draws(run))


def test_no_rule_beats_the_optimum_and_the_order_of_rules() -> None:
    for seed in range(6):
        world = World(seed)
        p, s = (torch.tensor(each) for each in (world.target([]), table_probs(seed, [], SIZE, 1.5)))
        support = int((s > 0).sum())
        best = {
            k: {again: optimal_acceptance(p, s, k if again else min(k, support), again) for again in (False, True)}
            for k in (1, 2, 3)
        }
        single = float(torch.minimum(p, s).sum())
        assert best[1][True] == pytest.approx(single, abs=1e-12)
        assert accepted("token", world, 1, 1) == pytest.approx(single, abs=1e-12)
        assert accepted("block", world, 1, 1) == pytest.approx(single, abs=1e-12)
        for k in (2, 3):
            for rule, again in (
                ("recursive", True),
                ("k-seq", True),
                ("recursive-without", False),
                ("traversal", False),
            ):
                found = accepted(rule, world, k, 1)
                assert single - 1e-12 <= found <= best[k][again] + 1e-12
            assert accepted("k-seq", world, k, 1) >= (1 - 1 / math.e) * best[k][True] - 1e-12
        assert accepted("block", world, 1, 3) >= accepted("token", world, 1, 3) - 1e-12
        assert accepted("traversal", world, 1, 3) == pytest.approx(accepted("block", world, 1, 3), abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("replacement", [True, False])
def test_the_optimum_is_the_least_over_all_sets(k: int, replacement: bool) -> None:
    """The definition: all sets of tokens, the chance of each set of drafts by enumeration."""
    for seed in range(20):
        rng = np.random.default_rng([seed, k])
        p, s = rng.dirichlet(np.full(5, 0.5)), rng.dirichlet(np.full(5, 0.7))
        chances: dict[frozenset[int], float] = defaultdict(float)
        for drawn in itertools.product(range(5), repeat=k):
            chance, left = 1.0, 1.0
            for i, token in enumerate(drawn):
                chance *= 0.0 if not replacement and token in drawn[:i] else s[token] / left
                left -= 0.0 if replacement else s[token]
            chances[frozenset(drawn)] += chance
        sets = [frozenset(each) for n in range(6) for each in itertools.combinations(range(5), n)]
        least = min(
            math.fsum(p[i] for i in chosen) - math.fsum(c for d, c in chances.items() if d <= chosen) for chosen in sets
        )
        found = optimal_acceptance(torch.from_numpy(p), torch.from_numpy(s), k, replacement)
        assert found == pytest.approx(1 + least, abs=1e-12)


def test_too_much_to_enumerate() -> None:
    uniform = torch.full((100,), 0.01)
    assert optimal_acceptance(uniform, uniform, 2, False) == pytest.approx(1)
    with pytest.raises(ConstrainError, match="3 draws without replacement from 100 tokens are too many"):
        optimal_acceptance(uniform, uniform, 3, False)


def test_unknown_rules() -> None:
    with pytest.raises(ConstrainError) as caught:
        verifier_named("guess")
    assert str(caught.value).startswith("there is no verifier 'guess'\n  fix: choose one of: block, k-seq, match, ")


# --- the whole decoder ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("case", tiny_cases(1), ids=str)
def test_whole_decoders_have_the_law_of_lcd(rule: str, case: Tiny) -> None:
    draws = verifier_named(rule).draws
    width, depth = (1, 2) if draws in ("chain", "any") else (2, 1)
    for masked in (True, False):
        drafter = Drawn(case.seed + 1, width, depth, replacement=draws == "with", masked=masked)
        check(case, Speculation([drafter], verifier=verifier_named(rule), controller=Fixed(9, 9)))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "match"])
@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"temperature": 0.7, "top_k": 2}, {"top_p": 0.6}], ids=str)
def test_shaped_targets_under_every_rule(rule: str, settings: dict[str, Any]) -> None:
    case = Tiny("branching", 5, settings=Settings(max_tokens=3, **settings))
    draws = verifier_named(rule).draws
    drafter = Drawn(2, 1 if draws == "chain" else 2, 1, replacement=draws == "with")
    check(case, Speculation([drafter, Given(2, 2)], verifier=verifier_named(rule), controller=Fixed(9, 9)))


# --- what is lossy ----------------------------------------------------------------------------------------------------


BRANCHES = DraftTree(np.array([0, 1, 0, 1, 0], np.int32), np.array([-1, -1, 1, 1, 2], np.int32), np.zeros(5))
"""a; b, ba, bb, baa"""


def typical_law(world: World, ends: set[tuple[int, ...]], epsilon: float, delta: float) -> dict[tuple[int, ...], float]:
    """Medusa's choice by its definition: all paths of the tree whose tokens are typical, and the longest of them."""

    def typical(path: tuple[int, ...]) -> bool:
        target = world.target(path[:-1])
        entropy = -sum(p * math.log(p) for p in target if p > 0)
        return bool(target[path[-1]] > min(epsilon, delta * math.exp(-entropy)))

    def log_p(path: tuple[int, ...]) -> float:
        return sum(math.log(world.target(path[:i])[path[i]]) for i in range(len(path)))

    paths = [path for path in ends if all(typical(path[: i + 1]) for i in range(len(path)))]
    best = max([(), *paths], key=lambda path: (len(path), log_p(path)))
    law: dict[tuple[int, ...], float] = defaultdict(float)
    for token, share in enumerate(world.target(best).tolist()):
        path = (*best, token)
        if path not in ends:
            law[path] += share
            continue
        below = {other[len(path) :] for other in ends if len(other) > len(path) and other[: len(path)] == path}
        rest = replace_root(world, path)
        for emitted, chance in typical_law(rest, below, epsilon, delta).items():
            law[(*path, *emitted)] += share * chance
    return {path: chance for path, chance in law.items() if chance}


def replace_root(world: World, path: tuple[int, ...]) -> Any:
    """The same target after a path."""
    return SimpleNamespace(target=lambda prefix: world.target((*path, *prefix)))


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("epsilon, delta", [(0.3, 0.09), (0.6, 0.9), (0.01, 0.3)])
def test_the_longest_typical_path_is_taken(seed: int, epsilon: float, delta: float) -> None:
    world = World(seed)
    context = context_of(None, left=20)
    context = replace(context, setting=replace(context.setting, size=SIZE, eos_ids=[EOS]))
    tree = TreeBuilder().build(context, [BRANCHES], DraftBudget(5, 3))
    ends = {tuple(int(tree.tokens[node]) for node in tree.path(node + 1)) for node in range(len(tree.tokens))}
    assert len(ends) == 5
    rule = TypicalAcceptance(epsilon, delta)
    law: dict[tuple[int, ...], float] = defaultdict(float)
    for probability, verdict in enumerate_draws(
        lambda draw: rule.decide(Case(tree, TableRows(world, tree, draw), 0), draw)
    ):
        law[said(tree, verdict)] += probability
    assert law == pytest.approx(typical_law(world, ends, epsilon, delta))


def test_what_is_lossy_must_be_asked_for_and_says_so() -> None:
    with pytest.raises(ConstrainError, match="'typical' changes the law of the output\n  fix: pass lossy=True"):
        Speculation([], verifier="typical")
    model = constrain.reference.load()
    given = {"schema": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}}}, "seed": 1}
    draft = Speculation(["lookup"], verifier="typical", lossy=True)
    found = constrain.generate(model, '{"name": "Ann"}\n{"name": "Ann"}\n', draft=draft, max_tokens=30, **given)
    assert found.stats.method == "lcd with 'typical' drafts, which is lossy"
    assert math.isnan(found.log_weight)
    assert found.finish_reason != "stop" or found.value is not None
    plain, greedy = (
        constrain.generate(model, '{"name": "Ann"}\n', draft=each, temperature=0, max_tokens=30, **given)
        for each in (None, draft)
    )
    assert greedy.tokens == plain.tokens
    with pytest.raises(ConstrainError, match="'typical' is lossy, and this method needs weights"):
        constrain.generate(model, "a", draft=draft, method="sir", max_tokens=5, **given)
    assert "typical" not in VERIFIERS
