"""Proposals of each drafter, by hand; and a draft model that is the target itself is always agreed with."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from sampling_cases import BITS, LANGUAGES, Case
from speculative_cases import LETTERS, branching, check, context_of, same

from constrain.errors import ConstrainError
from constrain.sampling import Settings, TorchDraw, lcd
from constrain.sampling.core.sampler import drive
from constrain.speculative import (
    Context,
    DraftBudget,
    DraftTree,
    Fixed,
    Lookup,
    Model,
    Outcome,
    Speculation,
    TreeBuilder,
)
from constrain.speculative.drafters import AUTO, NAMED, drafter_named
from constrain.speculative.drafters.tally import BELIEF
from toy_matcher import ToyConstraint
from toy_model import TableModel

WIDE = DraftBudget(20, 20)
ANY = ToyConstraint(LETTERS, is_prefix=lambda t: True, is_member=lambda t: True)


def paths(tree: DraftTree) -> list[list[int]]:
    """The paths to the leaves."""
    inner = set(tree.parents.tolist())
    leaves = [node for node in range(len(tree)) if node not in inner]
    return [[int(tree.tokens[i]) for i in tree.path(leaf + 1)] for leaf in leaves]


# --- lookup -----------------------------------------------------------------------------------------------------------


def test_lookup_copies_what_followed() -> None:
    context = context_of(None, [5, 6, 7, 8, 9, 5, 6], prompt=[1])
    assert paths(Lookup(copies=1).draft(context, WIDE)) == [[7, 8, 9, 5, 6]]
    assert paths(Lookup(copies=1).draft(context, DraftBudget(20, 2))) == [[7, 8]]
    assert paths(Lookup(copies=1).draft(context_of(None, [5, 6], prompt=[1]), WIDE)) == []


def test_lookup_prefers_long_matches_then_late_ones() -> None:
    #                            a b c   then b d      then b e      and now a b
    context = context_of(None, [1, 2, 3, 9, 2, 4, 9, 9, 2, 5, 9, 9, 1, 2], prompt=[0])
    assert paths(Lookup(longest=2, copies=1).draft(context, DraftBudget(9, 1))) == [[3]]
    assert paths(Lookup(longest=1, copies=1).draft(context, DraftBudget(9, 1))) == [[5]]
    assert paths(Lookup(longest=2, copies=3).draft(context, DraftBudget(9, 1))) == [[3], [5], [4]]
    assert paths(Lookup(longest=2, shortest=2, copies=3).draft(context, DraftBudget(9, 1))) == [[3]]


def test_lookup_reads_hints_and_remembers() -> None:
    context = context_of(None, [7], prompt=[1], hints=[[3, 4, 5], [7, 8, 3]])
    drafter = Lookup()
    assert paths(drafter.draft(context, WIDE)) == [[8, 3]]
    tokens = [*context.tokens, 8, 3]
    longer = replace(context, tokens=tokens)  # the same memo
    assert paths(drafter.draft(longer, WIDE)) == [[4, 5]]
    assert paths(Lookup().draft(replace(longer, memo={}), WIDE)) == [[4, 5]]
    other = context_of(None, [7], prompt=[1])
    assert paths(drafter.draft(other, WIDE)) == []


def test_lookup_counts_how_far_copies_went_along() -> None:
    drafter = Lookup(longest=2, copies=1)
    context = context_of(None, [1, 2, 3, 4, 1, 2], prompt=[0])
    first, later = (2, False, False), (2, False, True)
    before = drafter.estimate(first), drafter.estimate(later)
    tree = drafter.draft(context, WIDE)
    assert tree.log_probs.tolist() == pytest.approx([math.log(before[0])] + [math.log(before[1])] * 3)
    built = TreeBuilder().build(context, [tree], WIDE)
    drafter.observe([Outcome(context, built, [0, 1], [3, 4, 9], torch.zeros(1, 1))])  # 3 4 as copied, then not 1
    assert drafter.estimate(first) == pytest.approx((1 + BELIEF * before[0]) / (1 + BELIEF))
    assert drafter.estimate(later) == pytest.approx((0.99 + BELIEF * before[1]) / (1.99 + BELIEF))
    drafter.observe([Outcome(context, built, [], [5], torch.zeros(1, 1))])  # nothing was proposed since
    assert drafter.estimate(first) == pytest.approx((1 + BELIEF * before[0]) / (1 + BELIEF))


@pytest.mark.parametrize("options", [{"longest": 0}, {"longest": 2, "shortest": 3}, {"copies": 0}, {"shortest": "a"}])
def test_options_of_lookup(options: dict[str, Any]) -> None:
    with pytest.raises(ConstrainError, match="must be an int of at least"):
        Lookup(**options)


# --- a model ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ragged", [True, False])
@pytest.mark.parametrize(
    "settings", [{"temperature": 0}, {"temperature": 1.0}, {"temperature": 0.5, "top_k": 2}], ids=str
)
def test_the_target_agrees_with_itself(settings: dict[str, Any], ragged: bool) -> None:
    """Nothing that the target itself drafts is refused: the drafter follows rows that end, and rows that lag."""
    case = Case("skewed", 3, 1.0, settings=Settings(max_tokens=9, **settings))
    given = {"rows": 3, "prompts": [[0], [1, 2], [2, 0, 1]]}
    job = branching(case.job(TorchDraw(1), **given))
    table = case.model
    drafter = Model(TableModel(table.width, table.seed, table.spread, ragged=ragged))
    samples = drive(Speculation([drafter], verifier="token", controller=Fixed(9, 3)), job)
    for sample in samples:
        count = sample.drafts["model"]
        assert count.fault is None
        assert count.accepted == count.drafted > 0
        assert sample.forwards < len(sample.tokens)
    if settings["temperature"] == 0:
        for sample, plain in zip(samples, drive(lcd, case.job(TorchDraw(1), **given)), strict=True):
            same(sample, plain)


@pytest.mark.parametrize("draws", ["any", "chain", "without", "with"])
def test_what_a_model_states_is_what_it_draws_from(draws: str) -> None:
    """Masked, shaped, and one-sided: siblings are as the verifier asks, and the row is the draft model's own law."""
    words = ToyConstraint(LETTERS, [b"abc", b"acb", b"b", b"ca"])
    model = TableModel(7, 2)
    setting = replace(context_of(words).setting, draws=draws, settings=Settings(temperature=0.7))
    context: Context = replace(context_of(words), setting=setting)
    (tree,) = Model(model, width=2).propose([context], [DraftBudget(6, 3)])
    assert len(tree) <= 6
    assert tree.drawn == (draws != "any")
    assert tree.replacement == (draws == "with")
    for place, children in enumerate(tree.children()):
        if not children:
            continue
        prefix = [*context.tokens, *(int(tree.tokens[i]) for i in tree.path(place))]
        matcher = words.matcher()
        for token in prefix[1:]:
            assert matcher.advance(token)
        logits = torch.tensor(model.logits(prefix)[:5]) / 0.7
        logits[[token not in matcher.allowed() for token in range(5)]] = -torch.inf
        law = logits.softmax(-1)
        tokens = [int(tree.tokens[child]) for child in children]
        assert len(tokens) <= (1 if draws == "chain" else 2)
        assert draws == "with" or len(set(tokens)) == len(tokens)
        torch.testing.assert_close(torch.from_numpy(tree.log_probs[children]), law[tokens].log())
        if tree.drawn:
            assert tree.draft_probs is not None
            (row,) = set(tree.draft_rows[children].tolist())
            torch.testing.assert_close(tree.draft_probs[row], law)
        else:
            assert tokens == law.argsort(descending=True, stable=True)[: len(tokens)].tolist()


@pytest.mark.parametrize("verifier", ["token", "recursive", "recursive-without", "k-seq", "block", "traversal"])
def test_drawn_siblings_are_verified_as_drawn(verifier: str) -> None:
    """Under each rule that uses draws, they reach it as draws; and the distribution of the whole decoder is that of
    `lcd`."""
    seen = []

    class Watching(TreeBuilder):
        def build(self, *arguments: Any, **options: Any) -> Any:
            tree = super().build(*arguments, **options)
            seen.append(tree)
            return tree

    for seed in range(3):
        case = Case("skewed", seed, 1.0, settings=Settings(max_tokens=3))
        drafter = Model(TableModel(case.model.width, 5), width=2)
        check(case, Speculation([drafter], verifier=verifier, controller=Fixed(2, 1), builder=Watching()))
    drafted = [tree for tree in seen if any(source == 0 for source in tree.sources.tolist())]
    assert drafted
    assert all(tree.drawn for tree in drafted)


# Independent draws turn out in many more ways; test_verifiers.py has trees of two levels for these rules, too.
LONG = [pytest.param(rule, marks=[pytest.mark.slow, pytest.mark.nightly]) for rule in ("recursive", "k-seq")]


@pytest.mark.parametrize("verifier", ["recursive-without", "traversal", *LONG])
def test_trees_of_a_model_are_verified_as_drawn(verifier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two levels, both children gone on from, in the second step (a prompt is read with a chain): which places are gone
    on from depends on what was drawn, and the distribution does not."""
    monkeypatch.setitem(LANGUAGES, "pairs", ToyConstraint(BITS, [f"{i:03b}".encode() for i in range(8)]))
    both = 0

    class Watching(TreeBuilder):
        def build(self, *arguments: Any, **options: Any) -> Any:
            nonlocal both
            tree = super().build(*arguments, **options)
            both += len(set(tree.parents[tree.depths == 2].tolist())) == 2
            return tree

    case = Case("pairs", 0, 1.0, settings=Settings(max_tokens=4))
    drafter = Model(TableModel(case.model.width, 5), width=2, paths=2)
    check(case, Speculation([drafter], verifier=verifier, controller=Fixed(6, 2), builder=Watching()))
    assert both


def test_a_level_goes_on_from_its_likeliest_places() -> None:
    """Named paths are those of a beam, by hand; what the builder would leave out is not asked for."""
    model = TableModel(5, 3)
    context = context_of(None)
    (tree,) = Model(model, width=3, paths=2).propose([context], [DraftBudget(100, 3)])
    level: list[tuple[float, list[int]]] = [(0.0, [])]
    expected: set[tuple[int, ...]] = set()
    for _ in range(3):
        grown = []
        for rank, path in level:
            law = torch.tensor(model.logits([*context.tokens, *path])).log_softmax(-1)
            for token in law.argsort(descending=True)[:3].tolist():
                expected.add((*path, token))
                if token not in context.setting.eos_ids:
                    grown.append((rank + float(law[token]), [*path, token]))
        level = sorted(grown, reverse=True)[:2]
    assert {tuple(int(tree.tokens[i]) for i in tree.path(node + 1)) for node in range(len(tree))} == expected

    least = float(tree.log_probs[0]) - 1e-6  # no second token is certain
    (short,) = Model(model, width=3, paths=2).propose([context], [DraftBudget(100, 3, math.exp(least))])
    assert int(short.depths.max()) <= 2


def test_a_threshold_shapes_the_tree() -> None:
    """By hand: siblings while what is left of their place is worth the bound, and every place that is goes on."""
    model = TableModel(5, 3)
    context = context_of(None)
    least = 0.12
    (tree,) = Model(model, width=9, paths=99, least=least).propose([context], [DraftBudget(500, 4)])
    expected: set[tuple[int, ...]] = set()
    level: list[tuple[float, list[int]]] = [(1.0, [])]
    for _ in range(4):
        grown = []
        for chance, path in level:
            law = torch.tensor(model.logits([*context.tokens, *path])).softmax(-1)
            rest = 1.0
            for token in law.argsort(descending=True).tolist():
                if chance * rest < least:
                    break
                rest -= float(law[token])
                expected.add((*path, token))
                if token not in context.setting.eos_ids and chance * float(law[token]) >= least:
                    grown.append((chance * float(law[token]), [*path, token]))
        level = grown
    assert {tuple(int(tree.tokens[i]) for i in tree.path(node + 1)) for node in range(len(tree))} == expected
    assert len({len(children) for children in tree.children()}) > 2  # bushy where it is unsure, a chain where not


@pytest.mark.parametrize("verifier", ["recursive-without", "traversal", "block"])
def test_a_threshold_leaves_the_law(verifier: str) -> None:
    """The number of siblings drawn depends on earlier ones, and so does the place that goes on."""
    shapes = set()

    class Watching(TreeBuilder):
        def build(self, *arguments: Any, **options: Any) -> Any:
            tree = super().build(*arguments, **options)
            shapes.add(tuple(tree.parents.tolist()))
            return tree

    for seed in range(2):
        case = Case("skewed", seed, 1.0, settings=Settings(max_tokens=3))
        drafter = Model(TableModel(case.model.width, 5), width=2, paths=2, least=0.3)
        check(case, Speculation([drafter], verifier=verifier, controller=Fixed(6, 2), builder=Watching()))
    assert verifier == "block" or len(shapes) > 2


def test_models_need_room() -> None:
    words = ToyConstraint(LETTERS, [b"abc"])
    drafter = Model(TableModel(7, 2))
    contexts = [context_of(words, left=1), context_of(words), context_of(words)]
    trees = drafter.propose(contexts, [WIDE, DraftBudget(0, 5), DraftBudget(5, 0)])
    assert [len(tree) for tree in trees] == [0, 0, 0]


def test_names() -> None:
    for name in NAMED:
        assert drafter_named(name).name == name
    with pytest.raises(ConstrainError) as caught:
        drafter_named("psychic")
    assert str(caught.value) == f"there is no drafter 'psychic'\n  fix: choose one of: {', '.join(sorted(NAMED))}"
    for given in ("psychic", ["psychic"]):
        with pytest.raises(ConstrainError, match="there is no drafter 'psychic'\n  fix: choose one of: auto, "):
            Speculation(given)
    for given in ("auto", ["auto"]):
        assert [each.name for each in Speculation(given).drafters] == list(AUTO)
    assert [each.name for each in Speculation(["lookup", "auto"]).drafters] == ["lookup", *AUTO]
    assert [each.name for each in Speculation(drafter_named("lookup")).drafters] == ["lookup"]
    with pytest.raises(ConstrainError, match="there is no verifier 'psychic'"):
        Speculation([], verifier="psychic")
    with pytest.raises(ConstrainError, match="width must be an int of at least 1, not 0"):
        Model(TableModel(3), width=0)
    with pytest.raises(ConstrainError, match="paths must be an int of at least 1, not 0"):
        Model(TableModel(3), paths=0)
    with pytest.raises(ConstrainError, match="nodes must be an int of at least 0, not -1"):
        Fixed(nodes=-1)
