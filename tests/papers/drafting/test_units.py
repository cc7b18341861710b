"""Lexical units: the distribution stays, by enumeration; what is a unit, by hand; the lossy rule by its definition."""

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
import torch
from sampling_cases import LANGUAGES, Case
from speculative_cases import LETTERS, Fresh, check, context_of

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers import ConfidentRuns, LexicalUnits
from constrain.sampling import enumerate_draws
from constrain.speculative import NONE, BuiltTree, DraftBudget, Speculation
from constrain.speculative import Case as Tree
from toy_matcher import ToyConstraint
from toy_model import TableModel
from tree_target import Table

WIDE = DraftBudget(90, 90)


@pytest.mark.parametrize("verifier", ["match", "token", "traversal"])
@pytest.mark.parametrize("language", ["skewed", "dyck", "twins", "optional tail", "dead end"])
def test_units_leave_the_law_of_lcd(language: str, verifier: str) -> None:
    width = LANGUAGES[language].vocabulary.size
    check(Case(language, 1), Fresh(lambda: LexicalUnits(TableModel(width, 4), blank=0, span=3, sure=0.3), verifier))


def test_a_unit_ends_where_the_model_is_unsure() -> None:
    """The token after the text, then those at blanks, legal ones; nothing kept has read a blank."""
    model, blank = TableModel(LETTERS.size, 1), 3
    log = {token: np.log(np.where(np.arange(5) == token, 0.92, 0.02)) for token in range(5)}
    model.fixed = {(7,): log[0], (7, 3): log[1], (7, 3, 3): np.zeros(5), (7, 3, 3, 3): log[2]}
    drafter = LexicalUnits(model, blank=blank, span=4, sure=0.9)
    context = context_of(None, prompt=[7])
    assert drafter.draft(context, WIDE).tokens.tolist() == [0, 1]
    assert drafter.draft(context, WIDE).log_probs.tolist() == pytest.approx([math.log(0.92)] * 2)
    assert drafter.draft(context, DraftBudget(9, 1)).tokens.tolist() == [0]
    assert context.memo[drafter][0].rows == [[7]]
    only_b = ToyConstraint(LETTERS, is_prefix=lambda t: set(t) <= set(b"b"), is_member=lambda t: len(t) > 8)
    assert drafter.draft(context_of(only_b, prompt=[7]), WIDE).tokens.tolist() == [1, 1, 1, 1]  # all is forced


def test_a_long_text_is_read_once() -> None:
    model = TableModel(LETTERS.size, 1)
    drafter, context = LexicalUnits(model, blank=3, span=2, sure=0.0), context_of(None, prompt=[0])
    for length in range(1, 60):
        text = [token % 5 for token in range(length)]
        context.tokens[:] = text
        found = drafter.draft(context, WIDE)
        if len(found) == 2:
            assert found.tokens.tolist() == [int(model.logits([*text, *end]).argmax()) for end in ([], [3])]
    assert 40 < context.memo[drafter][1] < 60


@pytest.mark.parametrize("seed", range(20))
def test_runs_by_their_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    probs = torch.from_numpy(rng.dirichlet(np.full(4, 0.5), 5))
    probs[:, 3] = 0  # what the mask or truncation leaves out
    probs /= probs.sum(1, keepdim=True)
    tokens = np.array([*rng.permutation(4)[:2], *rng.integers(4, size=2)], np.int32)
    parents = np.array([-1, -1, 0, 2], np.int32)
    tree = BuiltTree(
        tokens, parents, np.log(rng.random(4)), read=np.ones(4, np.bool_), same=np.arange(4, dtype=np.int32),
        sources=np.zeros(4, np.int32), forced=np.full(5, NONE, np.int32),
        matchers=[None] * 5,
    )  # fmt: skip
    law: dict[tuple[int, ...], float] = defaultdict(float)
    rule = ConfidentRuns(sure=0.5)
    for chance, verdict in enumerate_draws(lambda draw: rule.decide(Tree(tree, Table(probs, draw), 0), draw)):
        law[(*(int(tokens[node]) for node in verdict.path), verdict.token)] += chance
    expected: dict[tuple[int, ...], float] = defaultdict(float)

    def walk(place: int, path: tuple[int, ...], chance: float) -> None:
        children = [node for node in range(4) if parents[node] == place - 1]
        sure = [node for node in children if math.exp(tree.log_probs[node]) >= 0.5 and tokens[node] != 3]
        if sure:
            best = max(sure, key=lambda node: tree.log_probs[node])
            return walk(best + 1, (*path, int(tokens[best])), chance)
        for drawn, share in enumerate(probs[place].tolist()):
            same = [node for node in children if tokens[node] == drawn]
            if share and same:
                walk(same[0] + 1, (*path, drawn), chance * share)
            elif share:
                expected[(*path, drawn)] += chance * share
        return None

    walk(0, (), 1.0)
    assert law == pytest.approx(expected)


def test_units_of_a_model() -> None:
    """Greedy identity; lossy runs are legal and have no weight."""
    model = HFModel.of(constrain.reference.load())
    given = {"regex": '(\\{"name": "[a-z]{1,8}"\\}\\n){3}', "temperature": 0, "max_tokens": 40}
    plain = constrain.generate(model, '{"name": "anna"}\n', draft=False, **given)
    units = LexicalUnits(model, blank=0, sure=0.2)
    found = constrain.generate(model, '{"name": "anna"}\n', draft=units, **given)
    assert found.tokens == plain.tokens
    assert found.stats.drafts["units"].fault is None
    assert found.stats.forwards < plain.stats.forwards
    lossy = Speculation([units], verifier=ConfidentRuns(sure=0.2), lossy=True)
    taken = constrain.generate(model, '{"name": "anna"}\n', draft=lossy, **given)
    assert math.isnan(taken.log_weight)
    assert taken.finish_reason in ("stop", "length")
    with pytest.raises(ConstrainError, match="lossy=True"):
        Speculation([units], verifier=ConfidentRuns())


@pytest.mark.parametrize("option", [{"span": 0}, {"sure": 1.5}, {"blank": -1}])
def test_options(option: dict[str, Any]) -> None:
    with pytest.raises(ConstrainError, match=next(iter(option))):
        LexicalUnits(TableModel(3), **{"blank": 0, **option})
