"""Attention with a shared beginning read once: by definition, in sessions of several families, and in methods."""

import copy
from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import constrain
from architectures import build
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.models.hf.cache import SharedLayer
from constrain.papers import Hydragen
from constrain.papers.layers.hydragen import attention
from constrain.sampling import SMC


class Groups(torch.nn.Module):
    """As much of an attention module as the functions look at."""

    num_key_value_groups = 2
    is_causal = True


@pytest.mark.parametrize("kind", ["none", "bool", "added"])
@pytest.mark.parametrize("stems", [[0, 0, 0, 0, 0], [1, 0, 1, 1, 0], [2, 2, 0, 2, 0]])
@pytest.mark.parametrize("own, new", [(1, 1), (4, 3)])
def test_parts_joined_are_the_whole(kind: str, stems: list[int], own: int, new: int) -> None:
    """By definition, in doubles; a stem may have no rows, and a row may see nothing of one part."""
    generator = torch.Generator().manual_seed(own)
    rows, length, of = len(stems), 7, torch.tensor(stems)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    stem_keys, stem_values = drawn(max(stems) + 1, 2, length, 8), drawn(max(stems) + 1, 2, length, 6)
    keys, values, query = drawn(rows, 2, own, 8), drawn(rows, 2, own, 6), drawn(rows, 4, new, 8)
    seen = torch.rand(rows, 1, new, length + own, generator=generator) < 0.6
    seen[..., -1] = True
    seen[0, :, 0, :length] = False
    seen[1, :, 0, length:], seen[1, :, 0, 0] = False, True
    added = torch.zeros(seen.shape, dtype=torch.float64).masked_fill(~seen, torch.finfo(torch.float64).min)
    mask = {"none": None, "bool": seen, "added": added}[kind]
    whole = [torch.cat([stem[of], part], 2) for stem, part in ((stem_keys, keys), (stem_values, values))]
    doubled = [each.repeat_interleave(2, 1) for each in whole]
    expected = scaled_dot_product_attention(query, *doubled, attn_mask=mask, scale=0.3).transpose(1, 2)
    keys.beginning = (stem_keys, stem_values, of)  # type: ignore[attr-defined]
    found, _ = attention(Groups(), query, keys, values, mask, scaling=0.3)
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("family", ["llama", "qwen3", "phi", "gpt2", "gemma3_text", "olmo2"])
def test_sessions_have_the_logits_of_the_model(family: str) -> None:
    """Two prompts of different lengths, forked, grown, forked again and dropped."""
    plain = HFModel(build(family, 40, 39).double().eval(), None)
    apart = Hydragen(plain, least=1)
    assert apart.joined == 0
    found = []
    for handle in (plain, apart):
        session, rows = handle.start([[3, 1, 4, 1, 5, 9, 2, 6], [3, 5, 8]], [1, 1])
        logits = list(rows)
        session = session.fork([0, 1, 0, 0, 1])
        logits += session.feed([[7], [8], [9], [10], [11]], [1] * 5)
        session.select([0, 0, 3, 2])
        logits += session.feed([[12, 3]] * 4, [2] * 4)
        session.select([3, 1])
        logits += session.feed([[4], [5]], [1, 1])
        found.append(torch.cat([each.reshape(-1) for each in logits]))
    assert apart.joined >= 2
    torch.testing.assert_close(found[0], found[1], atol=1e-9, rtol=0)
    assert plain.model.config.get_text_config()._attn_implementation == "sdpa"


@pytest.mark.parametrize("draft", [False, "auto"])
def test_methods_write_what_they_write_with_the_model(draft: Any) -> None:
    """In doubles, so that rounding tips no draw."""
    reference = constrain.reference.load()
    plain = HFModel(copy.deepcopy(reference.model).double(), reference.tokenizer)
    apart = Hydragen(plain, least=1)
    pattern = constrain.compile(constrain.regex("[a-z]{3} [a-z]{3} [0-9]{4}"), plain.vocabulary)
    texts = [
        [
            constrain.generate(
                handle, "Two words and a number: ", constraint=pattern, method=SMC(particles=6), seed=seed, draft=draft
            ).text
            for seed in range(3)
        ]
        for handle in (plain, apart)
    ]
    assert texts[0] == texts[1]
    assert apart.joined > 3


def test_a_small_batch_is_read_as_ever() -> None:
    apart = Hydragen(HFModel(build("llama", 40, 39), None), least=10**6)
    session = apart.start([[3, 1, 4]], [1])[0].fork([0, 0])
    session.feed([[1], [2]], [1, 1])
    assert apart.joined == 0
    assert not any(layer.apart for layer in session.cache.layers if isinstance(layer, SharedLayer))


def test_a_model_that_changes_its_keys_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that are copied lose their beginning: the trial finds logits of the rows' own part alone."""
    update = SharedLayer.update
    monkeypatch.setattr(SharedLayer, "update", lambda *given, **named: [each + 0 for each in update(*given, **named)])
    with pytest.raises(ConstrainError, match="does not take the attention that reads a beginning apart"):
        Hydragen(HFModel(build("llama", 40, 39), None))


def test_other_attentions_are_refused() -> None:
    model = build("llama", 40, 39)
    model.config._attn_implementation = "eager"
    with pytest.raises(ConstrainError, match='attn_implementation="sdpa"'):
        Hydragen(HFModel(model, None))
