"""Drafters that copy a source or the last forward pass: the distribution stays, by enumeration; what they propose, by
hand."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sampling_cases import Case
from speculative_cases import LETTERS, Fresh, branching, check, context_of, same

import constrain
from constrain.errors import ConstrainError
from constrain.papers import Edit, Jacobi
from constrain.papers.drafting.edit import BELIEF, HOLDS, SURE
from constrain.sampling import Settings, TorchDraw, lcd
from constrain.sampling.core.sampler import drive
from constrain.speculative import (
    Context,
    DraftBudget,
    Drafter,
    DraftTree,
    Outcome,
    Speculation,
    TreeBuilder,
    given_chain,
)
from toy_matcher import ToyConstraint
from toy_model import TableModel

WIDE = DraftBudget(90, 90)
ANY = ToyConstraint(LETTERS, is_prefix=lambda t: True, is_member=lambda t: len(t) > 2)
DRAFTERS: dict[str, Callable[[], Drafter]] = {
    "edit": lambda: Edit([0, 1, 0, 0, 1, 1], reach=3),
    "edit of the prompt": Edit,
    "jacobi": lambda: Jacobi(window=3),
}


@pytest.mark.parametrize("language", ["skewed", "dyck", "twins", "ambiguous", "optional tail", "dead end"])
@pytest.mark.parametrize("name", DRAFTERS)
def test_copies_leave_the_law_of_lcd(name: str, language: str) -> None:
    check(Case(language, 1), Fresh(DRAFTERS[name], "match"))


@pytest.mark.parametrize("verifier", ["token", "recursive-without", "block", "traversal"])
@pytest.mark.parametrize("name", DRAFTERS)
def test_copies_under_other_rules(name: str, verifier: str) -> None:
    check(Case("dyck", 2), Fresh(DRAFTERS[name], verifier))


def draft_after(drafter: Drafter, context: Context, tokens: Sequence[int], budget: DraftBudget = WIDE) -> list[Any]:
    """The paths that are drafted after some more tokens of a text, whose memo is kept."""
    tree = drafter.draft(replace(context, tokens=[*context.tokens, *tokens]), budget)
    inner = set(tree.parents.tolist())
    return [[int(tree.tokens[i]) for i in tree.path(leaf + 1)] for leaf in range(len(tree)) if leaf not in inner]


# --- edit -------------------------------------------------------------------------------------------------------------

SOURCE = [11, 12, 13, 14, 15, 16, 17, 18]


@pytest.mark.parametrize(
    "tokens, expected",
    [
        ([], [SOURCE]),
        ([11, 12], [SOURCE[2:]]),
        ([11, 12, 99], [[14, 15, 16, 17, 18]]),  # replaced: as if one token were another
        ([11, 12, 99, 14], [[15, 16, 17, 18]]),  # and found again
        ([11, 12, 99, 13], [[14, 15, 16, 17, 18], [15, 16, 17, 18]]),  # put in between: not sure yet
        ([11, 12, 99, 13, 14], [[15, 16, 17, 18]]),
        ([11, 12, 15], [[16, 17, 18], [14, 15, 16, 17, 18]]),  # left out: two guesses
        ([11, 12, 15, 16], [[17, 18]]),
        (SOURCE, []),
        ([*SOURCE, 5], []),
    ],
    ids=str,
)
def test_edit_follows_its_source(tokens: list[int], expected: list[list[int]]) -> None:
    drafter, context = Edit(SOURCE), context_of(None, prompt=[1, 2])
    assert sorted(draft_after(drafter, context, tokens)) == sorted(expected)
    step_by_step, again = Edit(SOURCE), context_of(None, prompt=[1, 2])
    found = [draft_after(step_by_step, again, tokens[:i]) for i in range(len(tokens) + 1)]
    assert sorted(found[-1]) == sorted(expected)


def test_edit_takes_the_nearest_of_equal_places() -> None:
    """A line that occurs three times: the one behind the place that was left is meant."""
    source = [1, 2, 3, 9, 7, 1, 2, 4, 9, 8, 1, 2, 5]
    drafter, context = Edit(source), context_of(None, prompt=[0])
    assert draft_after(drafter, context, [1, 2, 3, 66, 1, 2], DraftBudget(9, 1)) == [[4]]
    other, context = Edit(source), context_of(None, prompt=[0])
    assert draft_after(other, context, [1, 2, 3, 9, 7, 1, 2, 4, 66, 9, 8], DraftBudget(9, 2)) == [[1, 2]]


def test_edit_without_a_source_reads_the_prompt() -> None:
    drafter, context = Edit(), context_of(None, prompt=[5, *SOURCE, 6])
    assert draft_after(drafter, context, []) == []
    assert draft_after(drafter, context, [13]) == [[14, 15, 16, 17, 18, 6]]


def test_edit_is_as_long_as_the_copy_is_likely() -> None:
    """Estimates grow with what has held; the default controller has room for the reach, and cuts what is unlikely."""
    drafter = Edit(list(range(10, 210)))
    context = context_of(None, prompt=[0])
    new = drafter.draft(context, WIDE)
    assert len(new) == 64
    held = [min((SURE + depth).bit_length(), 6) for depth in range(64)]
    assert new.log_probs.tolist() == pytest.approx([math.log(HOLDS[each]) for each in held])
    built = TreeBuilder().build(replace(context, setting=replace(context.setting, size=300), left=200), [new], WIDE)
    drafter.observe([Outcome(context, built, list(range(30)), [*range(10, 40), 7], torch.zeros(1, 1))])
    assert drafter.estimate(8) == pytest.approx((8 + BELIEF * HOLDS[4]) / (8 + BELIEF), abs=0.02)
    assert drafter.estimate(40) < HOLDS[6]  # a copy broke off there
    assert Speculation([drafter]).controller.budget([context]) == [DraftBudget(64, 64, 0.05)]
    assert Speculation(["lookup"]).controller.budget([context]) == [DraftBudget(16, 10, 0.05)]


def test_edit_of_a_text_needs_a_tokenizer() -> None:
    model = constrain.reference.load()
    text = "one two three four five six seven eight nine ten"
    given = {"regex": "[a-z ]{48}", "temperature": 0, "max_tokens": 30}
    plain, found = (
        constrain.generate(model, f"{text}\n{text}\n", draft=each, **given) for each in (None, [Edit(text)])
    )
    assert found.tokens == plain.tokens
    assert found.stats.drafts["edit"].fault is None
    assert found.stats.drafts["edit"].drafted > 0
    with pytest.raises(ConstrainError, match="cannot be tokenised here"):
        Edit("a").draft(context_of(None), WIDE)
    with pytest.raises(ConstrainError, match="reach must be an int of at least 1"):
        Edit(reach=0)


# --- jacobi -----------------------------------------------------------------------------------------------------------


def outcome(context: Context, draft: DraftTree, taken: int, logits: torch.Tensor, tokens: list[int]) -> Outcome:
    tree = TreeBuilder().build(context, [draft], WIDE)
    return Outcome(context, tree, list(range(taken)), tokens, logits)


def test_jacobi_drafts_what_was_said_behind_what_was_refused() -> None:
    """A chain 0 1 2 of which 0 is taken and 3 comes instead of 1: the target's words behind 1 and 2 are next."""
    context = context_of(None, prompt=[0])
    drafter = Jacobi(window=4)
    assert draft_after(drafter, context, []) == [[0, 0, 0, 0]]
    logits = torch.full((4, 5), -9.0)
    for row, best in enumerate([0, 3, 2, 1]):
        logits[row, best] = 5.0
    drafter.observe([outcome(context, given_chain([0, 1, 2]), 1, logits, [0, 3])])
    assert draft_after(drafter, context, [0, 3]) == [[2, 1, 1, 1]]
    drafter.observe([outcome(context, given_chain([0, 1, 2]), 3, logits, [0, 1, 2, 3])])
    assert draft_after(drafter, context, [0, 1, 2, 3]) == [[3, 3, 3, 3]]  # nothing was refused


def test_jacobi_takes_legal_guesses() -> None:
    words = ToyConstraint(LETTERS, [b"abc", b"acb", b"b", b"ca"])
    context = context_of(words, prompt=[0])
    context.memo[drafter := Jacobi(window=4)] = [[1, 0], [0, 2], [2, 1]]
    assert draft_after(drafter, replace(context, tokens=[0, 0], matcher=context_of(words, [0]).matcher), []) == [[1, 2]]


def test_jacobi_reads_all_of_its_window() -> None:
    drafter, context = Jacobi(window=5), context_of(None, prompt=[0])
    tree = drafter.draft(context, DraftBudget(16, 10, 0.05))
    assert len(TreeBuilder().build(context, [tree], DraftBudget(16, 10, 0.05))) == 5
    assert tree.log_probs.sum() >= math.log(0.05)


def test_jacobi_converges_where_the_target_hardly_looks_back() -> None:
    """A target that goes by the position alone: one sweep names all of the window, and later steps take it."""

    class ByPosition(TableModel):
        def logits(self, prefix: Any) -> np.ndarray:
            return super().logits([len(prefix)])

    from tree_target import TreeTable

    class Trees(ByPosition, TreeTable):
        pass

    case = Case("skewed", 3, settings=Settings(max_tokens=12, temperature=0.0))
    job = replace(case.job(TorchDraw(1)), matchers=None, eos_ids=(), model=Trees(case.model.width, 5, 4.0))
    (plain,) = drive(lcd, job)
    (found,) = drive(Speculation([Jacobi(window=4)]), replace(job, model=Trees(case.model.width, 5, 4.0)))
    assert found.tokens == plain.tokens
    assert found.forwards < 0.7 * plain.forwards


@pytest.mark.parametrize("verifier", ["token", "block"])
@pytest.mark.parametrize("language", ["skewed", "twins", "ambiguous", "optional tail", "dead end"])
def test_jacobi_draws(language: str, verifier: str) -> None:
    """Speculative Jacobi: tokens drawn from what the last forward said, which changes nothing of the distribution."""
    check(Case(language, 3), Fresh(lambda: Jacobi(window=2), verifier))


def test_jacobi_states_what_it_draws_from() -> None:
    """The chain 0 1 2, of which 1 was refused: what was said behind 1 and 2 under the mask, and the last once more."""
    words = ToyConstraint(LETTERS, is_prefix=lambda t: b"c" not in t, is_member=lambda t: len(t) > 9)
    context = context_of(words, prompt=[0])
    context.setting = replace(context.setting, draws="chain")
    drafter = Jacobi(window=4)
    assert len(drafter.draft(context, WIDE)) == 0  # nothing is known yet
    logits = torch.randn(4, 5, dtype=torch.float64)
    drafter.observe([outcome(context, given_chain([0, 1, 0]), 1, logits, [0, 3])])
    after = replace(context, tokens=[0, 0, 3], matcher=context_of(words, [0, 3]).matcher)
    tree = drafter.draft(after, WIDE)
    assert tree.parents.tolist() == [-1, 0, 1, 2]
    assert tree.draft_rows.tolist() == list(range(len(tree)))
    assert tree.draft_probs is not None
    for depth, (token, stated) in enumerate(zip(tree.tokens.tolist(), tree.draft_probs, strict=True)):
        legal = logits[min(depth + 2, 3)].clone()
        legal[[2, 4]] = -torch.inf
        assert stated.tolist() == pytest.approx(legal.softmax(-1).tolist())
        assert tree.log_probs[depth] == pytest.approx(math.log(float(stated[token])))


def test_jacobi_options() -> None:
    with pytest.raises(ConstrainError, match="window must be an int of at least 1"):
        Jacobi(window=0)


@pytest.mark.parametrize("name", DRAFTERS)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_copies_in_real_runs(name: str, temperature: float) -> None:
    """The same tokens for the same seed, batch rows that end at different steps included."""
    for seed in range(4):
        case = Case("dyck", seed, settings=Settings(max_tokens=12, temperature=temperature))
        plain = drive(lcd, case.job(TorchDraw(seed), rows=3))
        found = drive(Speculation([DRAFTERS[name]()]), branching(case.job(TorchDraw(seed), rows=3)))
        for one, other in zip(found, plain, strict=True):
            same(one, other)
            assert all(count.fault is None for count in one.drafts.values())
