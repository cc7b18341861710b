"""The benchmark of drafts: its sums by hand, wrong outputs are faults, and the yardstick beside a rule is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from constrain.papers import NGramDrafter, optimal_acceptance
from constrain.sampling import Job, Sample, Settings, TorchDraw
from constrain.speculative import Context, DraftBudget, DraftTree, Fixed, Setting, TreeBuilder
from constrain.speculative.masks import TreeMasks
from constrain.speculative.rows import TargetRows
from constrain.speculative.verifier import Case
from evaluation.speculation_report import faults_of, report
from speculation import Row, Watched
from toy_model import TableModel

OPTIONS = {"limit": 2, "rows": "", "seed": 0, "max_tokens": 9, "least": 1}


def record(row: str = "auto/match/0", **changes: Any) -> dict[str, Any]:
    drafters, verifier, temperature = row.split("/")
    return {
        "file": "a.json", "row": row, "drafters": drafters, "verifier": verifier, "temperature": float(temperature),
        "tokens": 30, "forwards": 10, "masks": 40, "forced": 0, "seconds": 0.3, "finished": "stop", "same": True,
        "stages": {"model": 0.2, "mask": 0.01, "draft": 0.02, "sample": 0.03}, "faults": [], "invalid": None,
        "drafts": {"forced": [10, 5, 1], "lookup": [30, 15, 0]}, "drawn places": 0, "optimum": 0.0, "achieved": 0,
        **changes,
    }  # fmt: skip


PLAIN = {"file": "a.json", "row": "unconstrained/0", "temperature": 0.0, "tokens": 30, "forwards": 30, "seconds": 0.6}
PLAIN_HF = {**PLAIN, "row": "unconstrained, transformers/0", "seconds": 0.3}


def test_the_table() -> None:
    drawn = record("model/token/0", **{"drawn places": 4, "optimum": 3.0, "achieved": 2, "same": False, "drafts": {}})
    records = [record(), record(file="b.json", finished="length", tokens=10, forwards=10, seconds=0.5), PLAIN, PLAIN_HF]
    text, wrong = report(records, OPTIONS)
    assert wrong == []
    assert "| auto | match | 0 | 2.00 | 3.00 | 50% |  | 1.00 | 0.50 | 5.0% | 30.0% | 2 of 2 |" in text
    assert "- tokens per forward, goal 2.0: at most 2.00 (auto/match/0)" in text
    text, _ = report([drawn | {"temperature": 1.0}, PLAIN | {"row": "unconstrained/1"}], OPTIONS)
    assert "| model | token | 1 | 3.00 | 3.00 |  | 0.50 / 0.75 | 2.00 |  | 5.0% | 30.0% |  |" in text


@pytest.mark.parametrize(
    "changes, fault",
    [
        ({"same": False}, "a.json, auto/match/0: another output than without drafts"),
        ({"invalid": "$: 3 is not a string"}, "a.json, auto/match/0: finished and invalid: $: 3 is not a string"),
        ({"faults": ["KeyError: 1"]}, "a.json, auto/match/0: a drafter failed: KeyError: 1"),
    ],
)
def test_faults(changes: dict[str, Any], fault: str) -> None:
    assert faults_of(record(**changes)) == [fault]
    text, wrong = report([record(**changes), PLAIN], OPTIONS)
    assert wrong == [fault]
    assert f"WRONG: {fault}" in text
    assert faults_of(record("auto/match/1", same=False)) == []


def test_the_yardstick_beside_a_rule() -> None:
    """One place, one drawn child: the rule reaches Σ min(p, s), and that is the optimum."""
    target, drafted = torch.tensor([0.5, 0.3, 0.2, 0, 0]), torch.tensor([[0.1, 0.9, 0, 0, 0]], dtype=torch.float64)
    watched = Watched("token")
    for seed in range(500):
        draw = TorchDraw(seed)
        context = Context(Setting(5, [4], Settings(), draw), 0, [0], 1, None, 0, 20, stream=1)
        token = int(draw(drafted, [1]))
        zero = torch.zeros(1, dtype=torch.int32).numpy()
        draft = DraftTree(zero + token, zero - 1, drafted[0, token].log()[None].numpy(), zero, drafted)
        tree = TreeBuilder().build(context, [draft], DraftBudget(1, 1), draws="chain")
        logits = target.log().repeat(2, 1)
        job = Job(TableModel(5), [[0]], None, 5, [4], Settings(), draw, [0])
        masks = TreeMasks(job, tree, Sample(), np.zeros(1, np.uint32))
        rows = TargetRows(masks, logits, settings=Settings(), draw=draw, stream=0, size=5)
        watched.verify([Case(tree, rows, 0)], draw)
    assert watched.places == 500
    best = optimal_acceptance(target, drafted[0], 1, False)
    assert best == pytest.approx(0.4)
    assert watched.optimum == pytest.approx(500 * best)
    assert watched.achieved / 500 == pytest.approx(best, abs=0.1)  # 4.5 standard deviations
    assert watched.seconds > 0


def test_names_of_rows() -> None:
    assert Row("ngram", "match", 0.0, lambda: [NGramDrafter()], Fixed).name == "ngram/match/0"
