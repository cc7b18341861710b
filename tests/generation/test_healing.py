"""Healing a prompt's end: b·L given the shorter prompt, every token of it, and a text that does not repeat b."""

import math
import random
from typing import Any

import numpy as np
import pytest
import torch

import constrain
from constrain.generation.healing import Healing
from constrain.models.hf import HFModel
from constrain.sampling import CARS, Argmax, Memory
from toy_model import cuts


@pytest.mark.parametrize("own_cuts", [True, False], ids=["canonical", "all"])
def test_the_law_is_that_of_the_longer_text(tokenizer: Any, model: Any, own_cuts: bool) -> None:
    """`exact` with healing: cuts of b + text, whose first token begins with b, after the prompt without its last.

    Of canonical tokens, the cut that the tokenizer itself makes of b + text.
    """
    vocabulary = HFModel(model, tokenizer).vocabulary
    texts = ["ue", "ee", "u"]
    prompt = tokenizer("red tr")["input_ids"]
    begin = vocabulary.tokens[prompt[-1]]
    assert begin == b"tr"
    truth = {}
    for text in texts:
        for cut in cuts(vocabulary.tokens, begin + text.encode()):
            if not vocabulary.tokens[cut[0]].startswith(begin):
                continue
            if own_cuts and cut != tokenizer(begin.decode() + text)["input_ids"]:
                continue
            ids = [*prompt[:-1], *cut, *vocabulary.eos_ids]
            with torch.inference_mode():
                logits = model(torch.tensor([ids])).logits[0].log_softmax(-1)
            start = len(prompt) - 1
            truth[tuple(ids[start:])] = math.fsum(float(logits[i - 1, ids[i]]) for i in range(start, len(ids)))
    assert len(truth) == (3 if own_cuts else 6)
    given = {"tokenizer": tokenizer, "choices": texts, "canonical": own_cuts}
    healed = constrain.Prompt("red tr", healing=True)
    members = constrain.generate(model, healed, method=Argmax(texts=False), n=len(truth) + 1, **given)
    assert members[-1].finish_reason == "dead_end"
    assert {tuple(g.tokens): g.logprob for g in members[:-1]} == pytest.approx(truth, abs=1e-9)
    assert {g.text for g in members[:-1]} == set(texts)
    assert (tokenizer.convert_tokens_to_ids("true"), *vocabulary.eos_ids) in truth
    table = constrain.generate(model, healed, method="exact", **given)
    assert table.log_evidence == pytest.approx(math.log(math.fsum(map(math.exp, truth.values()))), abs=1e-9)
    weighted = constrain.generate(model, healed, n=400, seed=1, **given)
    assert weighted.diagnostics.log_evidence == pytest.approx(table.log_evidence, abs=0.3)


def test_prompts_with_other_ends_are_other_targets(tokenizer: Any, model: Any) -> None:
    """The shorter prompts are equal, the bytes to begin with are not."""
    memory = Memory()
    healed = [constrain.Prompt(text, healing=True) for text in ("red na", "red fa", "red na")]
    for method in ("lcd", "exact", "argmax", "faithful", CARS(memory=memory, attempts=3)):
        outputs = constrain.generate(model, healed, tokenizer=tokenizer, choices=["me", "lse"], method=method, seed=1)
        for begin, g in zip((b"na", b"fa", b"na"), outputs, strict=True):
            vocabulary = HFModel(model, tokenizer).vocabulary
            if g.finish_reason == "stop":
                assert vocabulary.to_bytes(g.tokens) == begin + g.text.encode()
                assert g.text in ("me", "lse")
    assert len(memory) == 2


def test_what_cannot_be_healed_is_left(tokenizer: Any, model: Any) -> None:
    """One token, or a special one at the end: as without healing."""
    ids = tokenizer("red")["input_ids"]
    for prompt in (ids[:1], [*ids, tokenizer.eos_token_id], [*ids, len(tokenizer) + 1]):
        both = [
            constrain.generate(
                model, constrain.Prompt(prompt, healing=healing), tokenizer=tokenizer, regex="[a-z]{3}", seed=1
            )
            for healing in (False, True)
        ]
        assert both[0].tokens == both[1].tokens
        assert both[0].text == both[1].text


def test_without_a_constraint_and_streamed(tokenizer: Any, model: Any) -> None:
    given = {"tokenizer": tokenizer, "seed": 4, "max_tokens": 12}
    healed = constrain.Prompt("the tru", healing=True)
    g = constrain.generate(model, healed, **given)
    vocabulary = HFModel(model, tokenizer).vocabulary
    whole = vocabulary.to_bytes(g.tokens)
    last = vocabulary.tokens[tokenizer("the tru")["input_ids"][-1]]
    assert last
    assert whole.startswith(last)
    assert vocabulary.tokens[g.tokens[0]].startswith(last)
    assert g.text == whole[len(last) :].decode("utf-8", "replace")
    stream = constrain.generate(model, healed, stream=True, **given)
    assert "".join(stream) == g.text
    assert stream.result.tokens == g.tokens


def bits_of(tokens: list[int], words: int) -> list[int]:
    """A mask of some tokens."""
    row = [0] * words
    for token in tokens:
        row[token // 32] |= 1 << token % 32
    return row


def test_the_matcher_walks_as_one_of_the_longer_texts(tokenizer: Any) -> None:
    """Against the engine's own matcher of `begin` and the pattern, but for the first token, at random."""
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer)
    rng = random.Random(1)
    healing = Healing(vocabulary)
    for begin in (b"t", b"tr", b"the", b" ", b'"', b":"):
        assert begin in vocabulary.tokens
        longer = [i for i, token in enumerate(vocabulary.tokens) if token and token.startswith(begin)]
        plain = constrain.compile(constrain.regex("(ue|u|red|e ){1,4}"), vocabulary)
        whole = constrain.compile(constrain.regex(begin.decode() + "(ue|u|red|e ){1,4}"), vocabulary)
        for _ in range(20):
            ours, theirs = healing.matcher(plain.matcher(), begin), whole.matcher()
            masks = np.zeros((2, vocabulary.words), np.uint32)
            for _ in range(8):
                ours.fill_mask(masks[0])
                theirs.fill_mask(masks[1])
                if not ours.steps:
                    allowed = [i for i in longer if theirs.allows(i)]
                    masks[1] = bits_of(allowed, vocabulary.words)
                assert masks[0].tolist() == masks[1].tolist()
                assert ours.is_accepting() == theirs.is_accepting()
                assert ours.is_finished() == theirs.is_finished()
                allowed = [i for i in range(vocabulary.size) if masks[1][i // 32] >> i % 32 & 1]
                assert allowed == [i for i in range(vocabulary.size) if ours.allows(i)]
                if not allowed:
                    break
                if rng.random() < 0.3 and ours.steps:
                    ours.rollback(1)
                    theirs.rollback(1)
                elif rng.random() < 0.3:
                    ours, theirs = ours.fork(), theirs.fork()
                else:
                    token = rng.choice(allowed)
                    assert ours.advance(token)
                    assert theirs.advance(token)
                assert not ours.left or ours.forced_tokens() == []
            ours.fill_mask(masks[0])
            refused = next(i for i in range(vocabulary.size) if not masks[0][i // 32] >> i % 32 & 1)
            assert not ours.advance(refused)
