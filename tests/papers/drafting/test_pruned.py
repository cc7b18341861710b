"""Retrieved drafts under a draft model: what stays by its definition, and the distribution of the output."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sampling_cases import Case
from speculative_cases import LETTERS, branching, check, context_of, same

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers import PrunedRetrieval, Retrieval, TextStore
from constrain.sampling import Settings, TorchDraw, lcd
from constrain.sampling.core.sampler import drive
from constrain.speculative import Context, DraftBudget, DraftTree, Fixed, Speculation
from toy_matcher import ToyConstraint
from toy_model import TableModel
from tree_target import TreeTable

WIDE = DraftBudget(20, 6)


def texts(seed: int) -> TextStore:
    rng = np.random.default_rng(seed)
    return TextStore([rng.integers(0, 4, 30).tolist() for _ in range(3)])


def paths(tree: DraftTree) -> dict[tuple[int, ...], float]:
    """Each node by its path, with its chance given the path before it."""
    return {
        tuple(int(tree.tokens[i]) for i in tree.path(node + 1)): float(np.exp(tree.log_probs[node]))
        for node in range(len(tree))
    }


@pytest.mark.parametrize("temperature", [1.0, 0.5])
@pytest.mark.parametrize("least", [0.0, 0.05, 0.2])
def test_what_stays(least: float, temperature: float) -> None:
    """Of the retrieved paths those of at least this chance under the masked draft model, with their chances."""
    words = ToyConstraint(
        LETTERS, is_prefix=lambda t: b"bb" not in t and b"aba" not in t, is_member=lambda t: len(t) > 9
    )
    model, pruned = TreeTable(7, 2), 0
    for seed in range(12):
        start = context_of(words, [0, 2])
        context: Context = replace(start, setting=replace(start.setting, settings=Settings(temperature=temperature)))
        retrieved = paths(Retrieval(texts(seed)).draft(context, WIDE))
        found = paths(PrunedRetrieval(model, texts(seed), least=least).draft(replace(context, memo={}), WIDE))
        expected = {}
        for path in retrieved:
            chance, text, share = 1.0, list(context.tokens), 0.0
            matcher = words.matcher()
            for token in [0, 2]:
                matcher.advance(token)
            for token in path:
                logits = torch.tensor(model.logits(text)[:5]) / temperature
                logits[[each not in matcher.allowed() for each in range(5)]] = -torch.inf
                share = float(logits.softmax(-1)[token])
                chance *= share
                text.append(token)
                matcher.advance(token)
            if chance >= least:
                expected[path] = share
        assert found == pytest.approx(expected)
        pruned += len(found) < len(retrieved)
    assert (pruned > 0) == (least > 0)


def test_the_draft_model_reads_the_text_once() -> None:
    """The memory of the draft model goes on from where it was; what it says is what it says of the whole text."""
    model, store, lengths = TreeTable(7, 2), texts(1), []

    class Counting:
        width, branching = model.width, True

        def open(self, rows: int) -> Any:
            session = model.open(rows)
            forward = session.forward
            session.forward = lambda chunks, *rest: (lengths.append(len(chunks[0])), forward(chunks, *rest))[1]  # type: ignore[method-assign]
            return session

    drafter = PrunedRetrieval(Counting(), store, least=0.0)  # type: ignore[arg-type]
    memo: dict[Any, Any] = {}
    tokens = [0, 1, 2]
    for _ in range(4):
        context = replace(context_of(None, tokens), memo=memo)
        again = PrunedRetrieval(model, store, least=0.0).draft(replace(context, memo={}), WIDE)
        assert paths(drafter.draft(context, WIDE)) == pytest.approx(paths(again))
        tokens = [*tokens, 3, 1]
    assert sum(lengths) == len(context.tokens)
    assert len(drafter.draft(context, WIDE)) == 0  # nothing is new


@pytest.mark.parametrize("verifier", ["match", "token"])
@pytest.mark.parametrize("tree", [True, False])
def test_the_law_stays(verifier: str, tree: bool) -> None:
    for seed in range(3):
        case = Case("skewed", seed, 1.0, settings=Settings(max_tokens=3))
        model = TreeTable(case.model.width, 5) if tree else TableModel(case.model.width, 5)
        drafter = PrunedRetrieval(model, TextStore([[0, 1, 2, 0, 1, 1, 2, 2, 0, 0]]), least=0.05, learn=False)
        check(case, Speculation([drafter], verifier=verifier, controller=Fixed(5, 3)))


def test_batches_at_temperature_0() -> None:
    case = Case("skewed", 3, 1.0, settings=Settings(max_tokens=9, temperature=0))
    given = {"rows": 3, "prompts": [[0], [1, 2], [2, 0, 1]]}
    plain = drive(lcd, case.job(TorchDraw(1), **given))
    drafter = PrunedRetrieval(TreeTable(case.model.width, case.model.seed, case.model.spread), TextStore())
    for _ in range(2):  # the second time the store has the outputs, and the target itself finds them likely
        found = drive(Speculation([drafter]), branching(case.job(TorchDraw(1), **given)))
        for one, other in zip(found, plain, strict=True):
            same(one, other)
            assert one.drafts["pruned"].fault is None
    assert sum(each.forwards for each in found) < sum(len(each.tokens) for each in found)


@pytest.mark.slow
def test_a_real_draft_model() -> None:
    reference = constrain.reference.load()
    given = {"regex": "([a-z]{2,5} ){6}", "temperature": 0, "max_tokens": 40}
    plain = constrain.generate(reference, "A list: ", **given)
    drafter = PrunedRetrieval(HFModel(reference.draft, reference.tokenizer), TextStore([plain.tokens]))
    found = constrain.generate(reference, "A list: ", draft=[drafter, "lookup"], **given)
    assert found.tokens == plain.tokens
    assert found.stats.drafts["pruned"].fault is None
    assert found.stats.drafts["pruned"].accepted
    with pytest.raises(ConstrainError, match="least"):
        PrunedRetrieval(TableModel(5, 1), least=2.0)
