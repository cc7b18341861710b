"""Bidirectional models of transformers, made here with random weights, behind `from_transformers`."""

import json

import numpy as np
import pytest

import constrain
from constrain.errors import ConstrainError
from constrain.papers.diffusion import denoise, from_transformers

pytest.importorskip("transformers")

SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
KINDS = {"Bert": {}, "Roberta": {}, "ModernBert": {"global_attn_every_n_layers": 1, "pad_token_id": 0}}


def tokenizer():
    """Bytes of printable ASCII, some longer tokens, and the special ones."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    texts = [*map(chr, range(33, 127)), "Ġ", "Ċ", 'Ġ"', '":', '",', "},", "tr", "ue", "fa", "ls"]
    vocabulary = {text: number for number, text in enumerate([*texts, "<eos>", "<mask>"])}
    made = Tokenizer(models.BPE(vocabulary, [("t", "r"), ("u", "e"), ("f", "a"), ("l", "s")]))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>", mask_token="<mask>")


def network(kind: str, size: int, seed: int):
    import torch
    import transformers

    torch.manual_seed(seed)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=size, max_position_embeddings=64, initializer_range=1.0, **SMALL, **KINDS[kind]
    )
    return getattr(transformers, f"{kind}ForMaskedLM")(config).eval()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shift", [False, True])
def test_every_text_is_a_member(kind, shift):
    """A model that never saw JSON writes JSON; the mask token and special tokens never stand in a text."""
    words = tokenizer()
    for seed in range(4):
        model = from_transformers(network(kind, len(words), seed), words, shift=shift)
        assert model.mask_id == words.mask_token_id
        out = denoise(model, constrain.collection.load("json"), length=12, steps=4, temperature=1.0, seed=seed)
        json.loads(out.text)
        assert out.fault is None and words.mask_token_id not in out.tokens


def test_logits_are_the_models():
    """The rows are those of the network; with `shift`, each is of the position before."""
    import torch

    words = tokenizer()
    net = network("Bert", len(words), 0)
    ids = [words.mask_token_id, 5, words.mask_token_id]
    with torch.no_grad():
        wanted = net(torch.tensor([ids])).logits[0].numpy()
    np.testing.assert_allclose(from_transformers(net, words).logits(ids), wanted, atol=1e-5)
    shifted = from_transformers(net, words, shift=True).logits(ids)
    np.testing.assert_allclose(shifted[1:], wanted[:-1], atol=1e-5)


def test_a_model_without_a_mask_token():
    words = tokenizer()
    words.mask_token = None
    with pytest.raises(ConstrainError, match="the model has no mask token"):
        from_transformers(network("Bert", len(words), 0), words)


def test_padded_logits_and_a_wrong_mask_token():
    """Models have rows of logits for ids that no tokenizer has; their mask token may be one of them."""
    words = tokenizer()
    net = network("Bert", len(words) + 6, 0)
    model = from_transformers(net, words, mask_id=len(words) + 2)
    assert len(model.vocabulary) == len(words) + 6
    json.loads(denoise(model, constrain.collection.load("json"), length=8, seed=0).text)
    with pytest.raises(ConstrainError, match="no token of a vocabulary"):
        from_transformers(net, words, mask_id=len(words) + 6)
