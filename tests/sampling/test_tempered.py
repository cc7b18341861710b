"""Temperatures of rules: the distribution of the methods by enumeration, with drafts, and what cannot honour them."""

import itertools
import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from sampling_cases import PROMPT, Tokens, compiled_outcomes, conditional, distance, law_of, weighted

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import ConstraintProcessor
from constrain.sampling import SMC, Exact, Rejection, Sample, lcd
from constrain.sampling.core.tempered import TemperedModel
from constrain.speculative import LegalWords, Speculation
from toy_model import TableModel
from tree_target import TreeTable

TOKENS = [b"a", b"b", b"c", b"ca", None]
EOS, LIMIT = 4, 5
GRAMMAR = 'start: "a"? x "b"\nx[temperature=0.5]: "c" "a"?'
TEXTS = {"cb": 0, "cab": 0, "acb": 1, "acab": 1}  # text -> where the rule begins; it ends before the b
VOCABULARY = constrain.Vocabulary(TOKENS, [EOS])


@cache
def compiled() -> Any:
    return constrain.compile(constrain.grammar(GRAMMAR), VOCABULARY)


def exact(model: TableModel, temperature: float) -> dict[Tokens, float]:
    """log p of each member at the temperatures of the definition.

    A token is drawn at 0.5 if some member has it, or another one, begin inside of the rule there.
    """
    sequences = (ids for n in range(1, LIMIT) for ids in itertools.product(range(EOS), repeat=n))
    spelled = {ids: b"".join(TOKENS[i] or b"" for i in ids).decode() for ids in sequences}
    members = {ids: text for ids, text in spelled.items() if text in TEXTS}
    inside = {
        ids[:n]
        for ids, text in members.items()
        for n in range(len(ids))
        if TEXTS[text] <= len(spelled.get(ids[:n], "")) < len(text) - 1
    }
    law = {}
    for ids in members:
        whole = (*ids, EOS)
        total = 0.0
        for n, token in enumerate(whole):
            logits = model.logits([*PROMPT, *whole[:n]]) / (0.5 if whole[:n] in inside else temperature)
            total += logits[token] - logits.max() - math.log(np.exp(logits - logits.max()).sum())
        law[whole] = total
    return law


def outcomes(model: TableModel, method: Callable[[], Any], temperature: float) -> list[tuple[float, Sample]]:
    tempered = TemperedModel(model, compiled(), [PROMPT], temperature)
    return compiled_outcomes(tempered, compiled(), method, max_tokens=LIMIT, temperature=temperature)


MODELS = [(TableModel(5, 1, 1.5), 1.0), (TableModel(5, 2, 1.5), 2.0), (TreeTable(5, 3, 1.5), 0.7)]


@pytest.mark.parametrize("method", [lambda: lcd, lambda: Speculation([LegalWords()]), lambda: SMC(particles=2)])
@pytest.mark.parametrize(("model", "temperature"), MODELS)
def test_weighted_samples_are_of_the_tempered_model(model: TableModel, temperature: float, method: Any) -> None:
    expected = {tokens: math.exp(log_p) for tokens, log_p in exact(model, temperature).items()}
    found = outcomes(model, method, temperature)
    assert weighted(found).keys() == expected.keys()
    assert weighted(found) == pytest.approx(expected)


@pytest.mark.parametrize("method", [Exact, lambda: Rejection(attempts=1)])
@pytest.mark.parametrize(("model", "temperature"), MODELS)
def test_exact_methods_sample_the_tempered_model_conditioned(
    model: TableModel, temperature: float, method: Any
) -> None:
    expected = conditional(exact(model, temperature))
    law = law_of(outcomes(model, method, temperature))
    total = math.fsum(law.values())
    assert distance({tokens: p / total for tokens, p in law.items()}, expected) < 1e-9


def test_log_probabilities_are_those_of_the_tempered_model() -> None:
    model, temperature = MODELS[1]
    expected = exact(model, temperature)
    for _, sample in outcomes(model, lambda: lcd, temperature):
        assert sample.log_prob == pytest.approx(expected[tuple(sample.tokens)])


@pytest.mark.parametrize(
    "options", [{}, {"method": "smc"}, {"n": 2, "draft": "auto"}, {"complete": True, "draft": "words"}], ids=str
)
def test_generate_draws_at_the_temperatures_of_rules(options: dict[str, Any]) -> None:
    """At 0.001 the likeliest letters come out, at the temperature of the call others too."""
    model = constrain.reference.load()
    text = 'start: x " " y\nx[temperature=0.001]: /[a-z]{4}/\ny: /[a-z]{8}/'
    found = [
        one
        for seed in range(3)
        for g in [constrain.generate(model, "A word: ", grammar=text, seed=seed, max_tokens=20, **options)]
        for one in (g if isinstance(g, list) else [g])
    ]
    assert all(one.finish_reason == "stop" for one in found)
    assert len({one.text[:4] for one in found}) == 1 and len({one.text[5:] for one in found}) > 1


def test_what_cannot_honour_a_temperature_refuses_it() -> None:
    model = constrain.reference.load()
    grammar = "start: x\nx[temperature=0.5]: /[a-z]{4}/"
    for temperature, healing, message in [
        (0, False, "temperature 0 draws nothing, and a rule of the grammar asks for a temperature"),
        (1, True, "token healing draws at one temperature"),
    ]:
        prompt = constrain.Prompt("A word: ", healing=healing)
        with pytest.raises(ConstrainError, match=re.escape(message)) as caught:
            constrain.generate(model, prompt, grammar=grammar, temperature=temperature)
        assert caught.value.place is not None and caught.value.fix
    with pytest.raises(ConstrainError, match="a prompt begins another one"):
        constrain.generate(model, ["A", "A b"], grammar=grammar, tokenizer=None)
    with pytest.raises(ConstrainError, match="generate of transformers draws at one temperature"):
        ConstraintProcessor(compiled())


def test_half_precision_is_widened() -> None:
    class Half(TableModel):
        def start(self, prefixes: Any, keep: Any) -> Any:
            session, logits = super().start(prefixes, keep)
            return session, [rows.half() for rows in logits]

    model = Half(5, 1)
    _, (rows,) = TemperedModel(model, compiled(), [PROMPT], 1.0).start([PROMPT], [2])
    assert rows.dtype == torch.float32
    assert torch.allclose(rows[1], torch.tensor(model.logits(PROMPT)).half().float() * 2)
    assert torch.allclose(rows[0], torch.tensor(model.logits(PROMPT[:1])).half().float())
