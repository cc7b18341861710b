"""A draft model of several depths: every exit is its layers alone, the first sure one writes, laws are kept."""

import random
from dataclasses import replace
from typing import Any

import pytest
import torch
from speculative_cases import context_of, distribution_of

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers import skip_layers
from constrain.papers.layers.nested import Nested, _Reading
from constrain.sampling import Settings, lcd
from constrain.speculative import DraftBudget, Fixed, Speculation
from toy_model import tiny_llama, tiny_mistral, tiny_tokenizer

EXITS = [1, 3]


@pytest.fixture(scope="module", name="handle")
def made() -> HFModel:
    tokenizer = tiny_tokenizer()
    return HFModel(tiny_llama(tokenizer, num_hidden_layers=4), tokenizer)


def said(handle: HFModel, layers: int, text: list[int]) -> torch.Tensor:
    """Logits float[W] after a text by the first layers alone."""
    _, (row,) = skip_layers(handle, range(layers)).start([text], [1])
    return row[0]


@pytest.mark.parametrize("seed", range(4))
def test_an_exit_says_what_its_layers_say_alone(handle: HFModel, seed: int) -> None:
    """Chunks, exits and ways back at random; readings that others go on from stay as they are."""
    rng = random.Random(seed)
    known = [_Reading(Nested(handle, EXITS).parts)]
    for _ in range(12):
        before = rng.choice(known)
        length = rng.randint(0, len(before.tokens))
        text = [*before.tokens[:length], *(rng.randrange(2, handle.width) for _ in range(rng.randint(1, 3)))]
        reading = before.again(text)
        known.append(reading)
        logits = reading.read(text[len(reading.tokens) :])
        assert reading.tokens == text
        torch.testing.assert_close(logits, said(handle, 1, text), atol=1e-5, rtol=1e-5)
        for part, layers in list(enumerate([1, 3, 4]))[1 : rng.randint(1, 3)]:
            torch.testing.assert_close(reading.deeper(part), said(handle, layers, text), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("sure", [0.0, 0.2, [0.6, 0.1], 1.0])
def test_the_first_sure_exit_writes(handle: HFModel, sure: Any) -> None:
    """By the definition, each token from the whole text read anew."""
    drafter = Nested(handle, EXITS, sure=sure)
    setting = replace(context_of(None).setting, size=handle.width, settings=Settings(temperature=0.7), eos_ids=[0])
    bounds = sure if isinstance(sure, list) else [sure] * 2
    spoken, memo = [0, 0, 0], dict[Any, Any]()
    text = [5, 6, 7, 5]
    for _ in range(3):
        context = replace(context_of(None, text[1:], prompt=text[:1]), setting=setting, memo=memo)
        tree = drafter.draft(context, DraftBudget(20, 4))
        wanted = list[int]()
        for _ in range(4):
            rows = [(said(handle, n, [*text, *wanted]) / 0.7).softmax(-1) for n in (1, 3, 4)]
            exit_ = next((i for i, bound in enumerate(bounds) if float(rows[i].max()) >= bound), 2)
            spoken[exit_] += 1
            wanted.append(int(rows[exit_].argmax()))
            if wanted[-1] == 0:
                break
        assert tree.tokens.tolist() == wanted
        text += [*wanted[:2], 9]
    assert drafter.spoken == spoken


@pytest.mark.parametrize("rule", ["match", "token"])
def test_the_distribution_is_kept(handle: HFModel, rule: str) -> None:
    """Every way in which draws of draft and rule can turn out, of a real model over two letters."""
    prompt = handle.tokenizer("red")["input_ids"]

    def distribution(method: Any) -> dict[tuple[int, ...], float]:
        return distribution_of(method, handle, prompt, "[ab]{1,2}", 3)

    drafter = Nested(handle, EXITS, sure=[1.0, 0.6])
    found = distribution(Speculation([drafter], verifier=rule, controller=Fixed(2, 2, 0.0)))
    assert found == pytest.approx(distribution(lcd), abs=1e-9)
    assert drafter.spoken[1]


@pytest.mark.parametrize("method", ["lcd", "smc", "beam"])
def test_outputs_are_those_without_drafts(handle: HFModel, method: str) -> None:
    for seed in range(3):
        given = {"regex": "[a-f]{6,10}", "method": method, "seed": seed, "max_tokens": 14}
        drafts = (Speculation([Nested(handle, EXITS, sure=0.3, width=2)], controller=Fixed(8, 4, 0.0)), False)
        found, plain = (constrain.generate(handle, ["red", "a"], draft=each, **given) for each in drafts)
        assert [each.tokens for each in found] == [each.tokens for each in plain]
        assert all(each.stats.drafts["nested"].fault is None for each in found)
        assert sum(each.stats.drafts["nested"].accepted for each in found) > 0


def test_what_cannot_be_done(handle: HFModel) -> None:
    for exits in ([0], [2, 2], [3, 1], [4], [0.5]):
        with pytest.raises(ConstrainError, match="exits must be numbers of layers from 1 to 3 that rise"):
            Nested(handle, exits)  # type: ignore[arg-type]
    with pytest.raises(ConstrainError, match="sure has 1 shares for 2 exits"):
        Nested(handle, EXITS, sure=[0.5])
    for name in ("sure", "depth", "width", "least"):
        with pytest.raises(ConstrainError, match=name):
            Nested(handle, EXITS, **{name: -1})
    with pytest.raises(ConstrainError, match="does not keep the keys and values of every token"):
        Nested(HFModel(tiny_mistral(handle.tokenizer), handle.tokenizer), [1])
