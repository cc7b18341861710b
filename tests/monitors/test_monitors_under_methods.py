"""Texts that methods and drafts sample under a monitor obey it, and weights are those of replays."""

from __future__ import annotations

from typing import Any

import pytest

import constrain
from constrain.monitors import monitored, sql

CATALOGUE = {"ab": ["abc", "true"], "t": ["ab"]}


@pytest.fixture(scope="module")
def query() -> constrain.Constraint:
    return monitored(constrain.collection.load("sql"), sql(CATALOGUE, ahead="known"))


@pytest.mark.parametrize("method", ["lcd", "smc", "beam", "awrs"])
def test_outputs_obey_the_monitor(model: Any, tokenizer: Any, query: constrain.Constraint, method: str) -> None:
    outputs = constrain.generate(
        model, "ab", tokenizer=tokenizer, constraint=query, method=method, n=3, max_tokens=10, seed=1
    )
    compiled = constrain.compile(query, constrain.Vocabulary.from_huggingface(tokenizer))
    for output in outputs:
        matcher = compiled.matcher()
        assert matcher.advance_tokens(output.tokens) >= len(output.tokens) - 1, output.text
        if output.finish_reason == "stop":
            assert query.check(output.text) is None  # type: ignore[attr-defined]


def test_drafts_change_no_greedy_text(model: Any, tokenizer: Any, query: constrain.Constraint) -> None:
    texts = [
        constrain.generate(
            model, "ab", tokenizer=tokenizer, constraint=query, temperature=0, max_tokens=12, draft=draft
        ).text
        for draft in (None, "ngram")
    ]
    assert texts[0] == texts[1]
