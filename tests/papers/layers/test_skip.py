"""The model without some layers: its logits by definition, the whole model untouched, drafts that change nothing."""

from typing import Any

import pytest
import torch

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers import SelfDraft, search_layers, skip_layers
from constrain.papers.layers.selfdraft import best_depth
from constrain.speculative import Model

SHAPE = {
    "vocab_size": 60, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 5, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "initializer_range": 0.3, "bos_token_id": None,
    "eos_token_id": 7, "pad_token_id": None,
}  # fmt: skip
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]


def tiny(name: str) -> Any:
    import transformers as hf

    torch.manual_seed(3)
    families = {
        "llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**SHAPE)),
        "qwen3": lambda: hf.Qwen3ForCausalLM(hf.Qwen3Config(**SHAPE, head_dim=8)),
        "gpt2": lambda: hf.GPT2LMHeadModel(
            hf.GPT2Config(vocab_size=60, n_embd=32, n_layer=5, n_head=2, n_positions=64, initializer_range=0.3)
        ),
    }
    return families[name]().double().eval()


def logits(model: HFModel, tokens: list[int]) -> torch.Tensor:
    """float[n, W]: of every position, read at once and then token by token through the cache, which must agree."""
    _, (whole,) = model.start([tokens], [len(tokens)])
    session, (row,) = model.start([tokens[:1]], [1])
    rows = [row]
    for token in tokens[1:]:
        rows += session.feed([[token]], [1])
    torch.testing.assert_close(torch.cat(rows), whole, atol=1e-9, rtol=0)
    return whole


@pytest.mark.parametrize("name", ["llama", "qwen3", "gpt2"])
@pytest.mark.parametrize("kept", [[0, 2, 4], [1], [0, 1, 2, 3, 4]])
def test_logits_are_those_of_the_layers_that_are_kept(name: str, kept: list[int]) -> None:
    """By definition: the others are made to do nothing in a model of their own."""
    whole = HFModel(tiny(name), None)
    before = logits(whole, PROMPT)
    found = logits(skip_layers(whole, kept), PROMPT)
    other = tiny(name)
    for i, layer in enumerate(other.model.layers if hasattr(other, "model") else other.transformer.h):
        if i not in kept:
            layer.forward = lambda hidden_states, *arguments, **options: hidden_states
    expected = other(torch.tensor([PROMPT]), use_cache=False).logits[0]
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=0)
    torch.testing.assert_close(logits(whole, PROMPT), before, atol=0, rtol=0)
    assert (len(kept) == 5) == bool(torch.allclose(found, before))


def test_weights_are_shared() -> None:
    whole = tiny("llama")
    part = skip_layers(HFModel(whole, None), 3).model
    own = {parameter.data_ptr() for parameter in whole.parameters()}
    assert {parameter.data_ptr() for parameter in part.parameters()} < own
    assert (whole.config.num_hidden_layers, part.config.num_hidden_layers) == (5, 3)


@pytest.mark.parametrize("keep, kept", [(None, [0, 4]), (1, [0]), (3, [0, 2, 4]), (5, [0, 1, 2, 3, 4]), ([2], [2])])
def test_which_layers(keep: Any, kept: list[int]) -> None:
    whole = tiny("llama")
    part = skip_layers(HFModel(whole, None), keep).model
    pairs = zip(part.model.layers, kept, strict=True)
    assert all(layer.mlp.up_proj.weight is whole.model.layers[i].mlp.up_proj.weight for layer, i in pairs)


@pytest.mark.parametrize("keep", [0, 6, [], [1, 1], [2, 1], [-1], [5], [0.5]])
def test_no_choice_of_layers(keep: Any) -> None:
    with pytest.raises(ConstrainError, match="keep must"):
        skip_layers(HFModel(tiny("llama"), None), keep)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_drafts_of_the_model_itself(temperature: float) -> None:
    """The output of plain decoding; and all layers are right always."""
    model = constrain.reference.load()
    given = {"regex": r"(\w+, ){4}\w+", "temperature": temperature, "seed": 3, "max_tokens": 25}
    plain = constrain.generate(model, "Names: ", **given)
    for keep in (2, 4):
        found = constrain.generate(model, "Names: ", draft=Model(skip_layers(model, keep)), **given)
        assert found.tokens == plain.tokens
        count = found.stats.drafts["model"]
        assert count.fault is None
        assert count.drafted > 0
        if keep == 4 and temperature == 0:
            assert found.stats.forwards < plain.stats.forwards / 3


# --- which layers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agreement", [0.0, 0.3, 0.6, 0.9, 1.0])
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_the_length_of_a_draft(agreement: float, share: float) -> None:
    """The expectation by its definition: a draft of d tokens is taken up to the first that is refused, and one more."""
    gains = [
        (sum(agreement**k * (1 - agreement) * (k + 1) for k in range(d)) + agreement**d * (d + 1)) / (1 + share * d)
        for d in range(7)
    ]
    depth, gain = best_depth(agreement, share, 6)
    assert gain == pytest.approx(max(gains))
    assert gains[depth] == pytest.approx(gain)


def idle(*layers: int) -> Any:
    """A Llama in which some layers do nothing."""
    model = tiny("llama")
    for i in layers:
        torch.nn.init.zeros_(model.model.layers[i].self_attn.o_proj.weight)
        torch.nn.init.zeros_(model.model.layers[i].mlp.down_proj.weight)
    return model


@pytest.mark.parametrize("layers", [(1, 3), (0, 4), (2,), (0, 1, 3)])
def test_layers_that_do_nothing_are_found(layers: tuple[int, ...]) -> None:
    found = search_layers(HFModel(idle(*layers), None), PROMPT * 3, trials=31)
    needed = 5 - len(layers)
    assert found.gain >= 9 / (1 + 8 * needed / 5) - 1e-9  # that of all other layers, which always agree
    assert len(found.layers) <= needed
    if len(found.layers) == needed:
        assert set(found.layers).isdisjoint(layers)
        assert (found.agreement, found.depth) == (1.0, 8)


def test_the_search_is_within_its_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    from constrain.papers.layers import selfdraft

    tried = []
    skip = selfdraft.skip_layers
    monkeypatch.setattr(selfdraft, "skip_layers", lambda model, layers: (tried.append(layers), skip(model, layers))[1])
    for trials in (1, 9, 60):
        tried.clear()
        search_layers(HFModel(tiny("llama"), None), PROMPT, trials=trials)
        assert len(tried) == len(set(tried)) <= min(trials, 31)


@pytest.mark.parametrize("layers, drafts", [((1, 3), True), ((), False)])
def test_a_model_drafts_for_itself_where_that_pays(layers: tuple[int, ...], drafts: bool) -> None:
    from toy_model import tiny_llama, tiny_tokenizer

    tokenizer = tiny_tokenizer()
    model = HFModel(tiny_llama(tokenizer, num_hidden_layers=5), tokenizer)
    for i in layers:
        torch.nn.init.zeros_(model.model.model.layers[i].self_attn.o_proj.weight)
        torch.nn.init.zeros_(model.model.model.layers[i].mlp.down_proj.weight)
    given = {"regex": "[a-f]{30}", "temperature": 0, "n": 1}
    plain = constrain.generate(model, "red green", **given)
    drafter = SelfDraft(model, trials=31)
    found = constrain.generate(model, "red green", draft=drafter, **given)
    assert found.tokens == plain.tokens
    assert drafter.found is not None
    count = found.stats.drafts["self"]
    assert count.fault is None
    if drafts:
        assert drafter.found.layers == (0, 2, 4)
        assert found.stats.forwards <= 6
        assert drafter.agreement == pytest.approx(1.0)
    else:
        assert count.drafted <= 30


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_search_goes_on_while_text_is_written(temperature: float) -> None:
    """From one set that was tried first, better ones are found step by step; the output stays, in batches too."""
    from constrain.speculative import Fixed, Speculation
    from toy_model import tiny_llama, tiny_tokenizer

    tokenizer = tiny_tokenizer()
    model = HFModel(tiny_llama(tokenizer, num_hidden_layers=5), tokenizer)
    for i in (1, 3):
        torch.nn.init.zeros_(model.model.model.layers[i].self_attn.o_proj.weight)
        torch.nn.init.zeros_(model.model.model.layers[i].mlp.down_proj.weight)
    given = {"regex": "[a-f]{40}", "temperature": temperature, "n": 2, "seed": 1}
    plain = constrain.generate(model, "red green", **given)
    first = search_layers(model, tokenizer("red green")["input_ids"], trials=1)
    found: dict[int, SelfDraft] = {}
    for again in (0, 1):
        found[again] = SelfDraft(model, trials=1, again=again)
        outputs = constrain.generate(
            model, "red green", draft=Speculation([found[again]], controller=Fixed(8, 8, 0.0)), **given
        )
        assert [each.tokens for each in outputs] == [each.tokens for each in plain]
        assert all(each.stats.drafts["self"].fault is None for each in outputs)
    assert found[0].found is not None
    assert found[1].found is not None
    assert found[0].found.layers == first.layers
    assert found[1].found.layers != first.layers
    assert set(found[1].found.layers).isdisjoint({1, 3}) or found[1].found.agreement > first.agreement
