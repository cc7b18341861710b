"""The canonical-only target: the distribution that is sampled."""

from __future__ import annotations

import math
from typing import Any

import pytest

import constrain
from constrain import reference
from constrain.errors import ConstrainError
from constrain.generation import make_job
from constrain.sampling import CARS, Memory, canonical
from toy_model import tiny_llama, tiny_tokenizer


@pytest.fixture(scope="module", params=["whole", "pieces"])
def tokenizer(request: Any) -> Any:
    tokenizer = tiny_tokenizer()
    if request.param == "pieces":  # words, as GPT-2 cuts them
        from tokenizers import pre_tokenizers

        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def test_the_law(tokenizer: Any) -> None:
    """p over canonical sequences only, renormalised: by `exact`, `cars`, and weights of `lcd`."""
    import torch

    model = tiny_llama(tokenizer, seed=3)
    vocabulary = constrain.hf.HFModel(model, tokenizer).vocabulary
    texts = ["true", "red", "re", "00", "re d"]
    constraint = canonical(constrain.compile(constrain.choices(texts), vocabulary), tokenizer)
    prompt = tokenizer("the ")["input_ids"]
    log_p = {}
    for text in texts:
        own = [*tokenizer(text, add_special_tokens=False)["input_ids"], *vocabulary.eos_ids]
        with torch.inference_mode():
            logits = model(torch.tensor([[*prompt, *own]])).logits[0].log_softmax(-1)
        log_p[text] = math.fsum(float(logits[len(prompt) - 1 + i, token]) for i, token in enumerate(own))
    g = constrain.generate(model, "the ", tokenizer=tokenizer, constraint=constraint, method="exact", seed=1)
    total = math.fsum(map(math.exp, log_p.values()))
    assert g.log_evidence == pytest.approx(math.log(total), abs=1e-9)
    best = constrain.generate(model, "the ", tokenizer=tokenizer, constraint=constraint, method="argmax", n=6)
    assert [each.text for each in best[:5]] == sorted(texts, key=lambda text: -log_p[text])
    assert best[5].finish_reason == "dead_end"
    outputs = constrain.generate(model, "the ", tokenizer=tokenizer, constraint=constraint, n=600, seed=1)
    for text in texts:
        weight = math.fsum(w for each, w in zip(outputs, outputs.weights, strict=True) if each.text == text)
        assert weight == pytest.approx(math.exp(log_p[text]) / total, abs=0.1)
    memory = Memory()
    for plain in (constraint, constraint.compiled):
        constrain.generate(
            model, "the ", tokenizer=tokenizer, constraint=plain, method=CARS(memory=memory, attempts=5), max_tokens=8
        )
    assert len(memory) == 2  # two targets


def test_the_reference_model_prefers_its_own_cut() -> None:
    ref = reference.load()
    vocabulary = constrain.Vocabulary.from_huggingface(ref.tokenizer)
    constraint = canonical(constrain.compile(constrain.regex('(red|green|blue)"'), vocabulary), ref.tokenizer)
    all_cuts = constrain.generate(ref, '{"color": "', regex='(red|green|blue)"', method="exact")
    own_cut = constrain.generate(ref, '{"color": "', constraint=constraint, method="exact")
    assert own_cut.log_evidence == pytest.approx(all_cuts.log_evidence, abs=0.1)


def test_tokenizers_that_add_to_texts_are_refused() -> None:
    from tokenizers import pre_tokenizers

    tokenizer = tiny_tokenizer()
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer)
    compiled = constrain.compile(constrain.regex("a+"), vocabulary)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    with pytest.raises(ConstrainError, match="add_prefix_space"):
        canonical(compiled, tokenizer)


def test_forks_and_rollback() -> None:
    tokenizer = tiny_tokenizer()
    job = make_job(
        tiny_llama(tokenizer), "a", tokenizer=tokenizer,
        constraint=canonical(
            constrain.compile(constrain.choices(["true", "tree"]), constrain.Vocabulary.from_huggingface(tokenizer)),
            tokenizer,
        ),
    )  # fmt: skip
    assert job.constraint_key.endswith("canonical")
    assert job.matchers is not None
    matcher = job.matchers[0]
    own = tokenizer("true")["input_ids"]
    for token in own:
        assert matcher.advance(token)
    twin = matcher.fork()
    assert twin.state == matcher.state
    assert matcher.is_accepting()
    assert matcher.is_finished()
    assert matcher.forced_tokens() == []
    matcher.rollback(len(own))
    assert not matcher.is_accepting()
    assert twin.is_accepting()
    assert twin.advance(tokenizer.eos_token_id)
    assert twin.is_finished()
    assert not twin.advance(own[0])
