"""The canonical-only target: which tokenisations are left, and the distribution that is sampled."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import constrain
from constrain import reference
from constrain.errors import ConstrainError
from constrain.generation import make_job
from constrain.sampling import CARS, Memory, canonical
from toy_model import cuts, tiny_llama, tiny_tokenizer

TEXTS = ["true", "red", "re d", "the red", "x  y", 'name": 3', "can't", "1234 é日本", ""]


@pytest.fixture(scope="module", params=["whole", "pieces"])
def tokenizer(request: Any) -> Any:
    tokenizer = tiny_tokenizer()
    if request.param == "pieces":  # words, as GPT-2 cuts them
        from tokenizers import pre_tokenizers

        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def test_one_tokenisation_is_left(tokenizer: Any) -> None:
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer)
    (eos,) = vocabulary.eos_ids
    constraint = canonical(constrain.compile(constrain.choices([*TEXTS]), vocabulary), tokenizer)
    for text in TEXTS:
        own = tokenizer(text, add_special_tokens=False)["input_ids"]
        ways = cuts(vocabulary.tokens, text.encode())[:300]
        for way in [own, *ways]:
            assert vocabulary.to_bytes(way) == text.encode()
            matcher = constraint.matcher()
            reached = all(matcher.allows(token) and matcher.advance(token) for token in way)
            assert (reached and matcher.allows(eos)) == (way == own)
            assert not reached or matcher.is_accepting() == (way == own)


def test_prefixes_of_canonical_texts_are_never_doomed(tokenizer: Any) -> None:
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer)
    constraint = canonical(constrain.compile(constrain.regex(r"(?s:.*)"), vocabulary), tokenizer)
    pieces = ["true", "red", " ", "\n", "'s", "é", "日本", "12", '":', "a", "{}"]
    for parts in itertools.product(pieces, repeat=3):
        own = tokenizer("".join(parts), add_special_tokens=False)["input_ids"]
        for end in range(len(own) + 1):
            assert constraint.is_possible(own[:end])
        assert constraint.is_canonical(own)


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
    with pytest.raises(ConstrainError, match=r"the tokenizer adds to texts, .* it cuts 'a' into b' a'\n  fix: use the"):
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
    assert twin.state == matcher.state == tuple(own)
    assert matcher.is_accepting()
    assert matcher.is_finished()
    assert matcher.forced_tokens() == []
    matcher.rollback(len(own))
    assert not matcher.is_accepting()
    assert twin.is_accepting()
    assert twin.advance(tokenizer.eos_token_id)
    assert twin.is_finished()
    assert not twin.advance(own[0])


def test_doomed_prefixes_are_dead_ends() -> None:
    """Once a piece is settled in another cut than the tokenizer's, nothing may follow; before that, anything may."""
    from tokenizers import pre_tokenizers

    tokenizer = tiny_tokenizer()
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer)
    constraint = canonical(constrain.compile(constrain.regex(r"(?s:.*)"), vocabulary), tokenizer)
    matcher = constraint.matcher()
    for token in (b"r", b"e", b"d"):  # "red" is a token, but "redo" may be cut so
        assert constraint.is_possible(matcher.tokens)
        assert matcher.advance(vocabulary.tokens.index(token))
    assert constraint.is_possible(matcher.tokens)
    assert matcher.advance(vocabulary.tokens.index(b" "))  # the word has ended
    mask = np.ones(vocabulary.words, np.uint32)
    matcher.fill_mask(mask)
    assert not mask.any()
    assert not constraint.is_possible([vocabulary.tokens.index(token) for token in (b"\xff", b"a")])
