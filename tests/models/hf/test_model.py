"""`HFModel`: whatever the batch, the padding and the order of growth, the logits are those of the sequence alone.

Slots beside plain lists, rows of what models remember, and attention of one new token by groups of heads.
"""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import constrain
from architectures import build
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel, grouped
from constrain.models.hf.memory import gathered, module_tensors, row_axes, tensors
from constrain.models.hf.slots import Slots
from toy_model import tiny_gpt2, tiny_llama, tiny_mistral, tiny_tokenizer


class Wrapper(torch.nn.Module):
    """A model whose signature says nothing. drops: arguments that it does not pass on."""

    def __init__(self, inner: Any, *drops: str) -> None:
        super().__init__()
        self.inner, self.drops = inner, drops
        self.config, self.device, self.dtype = inner.config, inner.device, inner.dtype
        self.get_output_embeddings = inner.get_output_embeddings

    def forward(self, **given: Any) -> Any:
        return self.inner(**{name: value for name, value in given.items() if name not in self.drops})


RAGGED = {  # whether rows may grow by different lengths
    "llama": True,
    "gpt2": True,
    "mistral": False,
    "wrapped llama": True,
    "wrapped gpt2": True,
    "llama without positions": False,
    "gpt2 without positions": False,
    "gpt2 without a cache": True,
}


@pytest.fixture(scope="module")
def models(tokenizer: Any) -> dict[str, HFModel]:
    llama, gpt2 = tiny_llama(tokenizer), tiny_gpt2(tokenizer)
    found = {
        "llama": llama,
        "gpt2": gpt2,
        "mistral": tiny_mistral(tokenizer),
        "wrapped llama": Wrapper(llama),
        "wrapped gpt2": Wrapper(gpt2),
        "llama without positions": Wrapper(llama, "position_ids"),
        "gpt2 without positions": Wrapper(gpt2, "position_ids"),
        "gpt2 without a cache": Wrapper(
            gpt2, "position_ids", "cache", "past_key_values", "use_cache", "logits_to_keep"
        ),
    }
    return {name: HFModel(model, tokenizer) for name, model in found.items()}


def alone(handle: HFModel, ids: list[int]) -> torch.Tensor:
    """Logits after a sequence: no batch, no cache."""
    with torch.inference_mode():
        return handle.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]


@pytest.mark.parametrize("name", RAGGED)
@pytest.mark.parametrize("seed", range(3))
def test_logits_do_not_depend_on_the_batch(models: dict[str, HFModel], name: str, seed: int) -> None:
    handle, rng = models[name], random.Random(seed)
    tolerance = 1e-5 if "without" in name else 1e-9  # positions that count padding are rotations by other angles
    assert handle.ragged == RAGGED[name]

    def some(length: int) -> list[int]:
        return [rng.randrange(250) for _ in range(length)]

    rows = [some(rng.randint(1, 9)) for _ in range(4)]
    keep = [rng.randint(1, len(row)) for row in rows]
    session, logits = handle.start(rows, keep)
    check(handle, rows, keep, logits, tolerance)
    left = []
    for _ in range(8):
        order = [rng.randrange(len(rows)) for _ in range(rng.randint(1, 4))]  # drops, permutes and forks
        if rng.random() < 0.5:
            left.append((session, rows))
            session = session.fork(order)
        else:
            session.select(order)
        rows = [list(rows[i]) for i in order]
        lengths = [rng.randint(1, 5) for _ in rows] if handle.ragged else [rng.randint(1, 5)] * len(rows)
        chunks = [some(length) for length in lengths]
        keep = [rng.randint(1, length) for length in lengths]
        rows = [row + chunk for row, chunk in zip(rows, chunks, strict=True)]
        check(handle, rows, keep, session.feed(chunks, keep), tolerance)
    for session, rows in left:  # those that were forked from are where they were
        rows = [[*row, 7] for row in rows]
        check(handle, rows, [1] * len(rows), session.feed([[7]] * len(rows), [1] * len(rows)), tolerance)


def test_forks_keep_their_beginning_once(models: dict[str, HFModel]) -> None:
    """Bytes of keys and values, as many as if nothing was kept twice."""
    handle = models["llama"]
    session, _ = handle.start([list(range(100))], [1])
    forks = [session.fork([0] * 50) for _ in range(4)]
    for fork in forks:
        fork.feed([[1]] * 50, [1] * 50)
        fork.select([0, *range(49)])
    tensors = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
        for each in (session, *forks)
        for layer in each.cache.layers
        for name in ("keys", "values", "stem_keys", "stem_values")
        if (tensor := getattr(layer, name, None)) is not None
    }
    slot = 2 * 2 * 16 * 8  # two layers, keys and values, one head of 16 numbers in float64
    assert sum(tensors.values()) == slot * (100 + 4 * 50)


def check(
    handle: HFModel, rows: list[list[int]], keep: list[int], logits: list[torch.Tensor], tolerance: float = 1e-9
) -> None:
    for row, k, found in zip(rows, keep, logits, strict=True):
        assert found.shape == (k, handle.width)
        torch.testing.assert_close(found, alone(handle, row)[-k:], rtol=tolerance, atol=tolerance)


def test_a_padded_model_is_wider_than_its_vocabulary(tokenizer: Any) -> None:
    handle = HFModel(tiny_llama(tokenizer, extra=5), tokenizer)
    assert handle.width == handle.vocabulary.size == len(tokenizer) + 5
    assert handle.vocabulary.tokens[-5:] == [None] * 5
    assert handle.context == 256


def test_wrapped_models_keep_their_positions(models: dict[str, HFModel]) -> None:
    """`torch.compile` hides the signature of `forward`; without positions a padded row would be read at wrong ones."""
    compiled = torch.compile(models["llama"].model, backend="eager")
    handle = HFModel(compiled, models["llama"].tokenizer)
    assert handle.reading.positions
    assert handle.takes_keep


def test_end_of_text_ids_of_the_model_count_if_they_are_special(tokenizer: Any) -> None:
    model = tiny_llama(tokenizer)
    turn = tokenizer.convert_tokens_to_ids("<|turn|>")
    model.generation_config.eos_token_id = [2, turn]  # 2 is text in this vocabulary
    handle = HFModel(model, tokenizer)
    assert handle.vocabulary.eos_ids == tuple(sorted((tokenizer.eos_token_id, turn)))
    assert handle.vocabulary.tokens[2] is not None


def test_handles_of_many_things(tokenizer: Any, tmp_path: Any) -> None:
    model = tiny_llama(tokenizer)
    bundle = type("Bundle", (), {"model": model, "tokenizer": tokenizer, "draft": None})()
    handle = HFModel.of(bundle)
    assert handle.model is model
    assert HFModel.of(handle) is handle
    other = tiny_tokenizer()
    assert HFModel.of(bundle, other).tokenizer is HFModel.of(model, other).tokenizer is other
    assert HFModel.of(handle, other).tokenizer is other

    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    named = HFModel.of(str(tmp_path))
    assert HFModel.of(str(tmp_path)) is named  # loaded once
    assert named.vocabulary.key == handle.vocabulary.key
    assert HFModel.of(named.model).vocabulary.key == handle.vocabulary.key  # the model knows where it came from


def test_what_is_no_causal_model(tokenizer: Any, tmp_path: Any) -> None:
    import transformers as hf

    tiny = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    llama, bert = hf.LlamaConfig(vocab_size=300, **tiny), hf.BertConfig(vocab_size=300, **tiny)
    t5 = hf.T5ForConditionalGeneration(hf.T5Config(vocab_size=40, d_model=8, d_ff=8, num_layers=1, num_heads=1))
    with pytest.raises(ConstrainError, match="T5ForConditionalGeneration is an encoder-decoder model"):
        HFModel(t5, tokenizer)
    with pytest.raises(ConstrainError, match="does not say which token its outputs begin with"):
        HFModel.of(t5, tokenizer)
    whisper = hf.WhisperConfig(
        vocab_size=40,
        d_model=8,
        encoder_layers=1,
        decoder_layers=1,
        pad_token_id=0,
        encoder_attention_heads=1,
        decoder_attention_heads=1,
    )
    with pytest.raises(ConstrainError, match="the encoder of WhisperForConditionalGeneration reads input_features"):
        HFModel.of(hf.WhisperForConditionalGeneration(whisper), tokenizer)
    encoder = "is an encoder: it reads a text in both directions and does not write one\n  fix: load a model that was"
    no_logits = "it gives no logits for the token that follows\n  fix: load the same files as LlamaForCausalLM: "
    for model, message in (
        (None, "NoneType is not a causal language model of transformers\n  fix: "),
        (torch.nn.Linear(2, 2), "Linear is not a causal language model of transformers\n  fix: "),
        (hf.BertForMaskedLM(bert), f"BertForMaskedLM {encoder}"),
        (hf.BertModel(bert), f"BertModel {encoder}"),
        (hf.LlamaModel(llama), f"LlamaModel has no head for language modelling: {no_logits}"),
        (hf.LlamaForTokenClassification(llama), "LlamaForTokenClassification has a head for another task: it gives no"),
        (str(tmp_path / "nothing"), f"there is no folder {str(tmp_path / 'nothing')!r} with a model\n  at model\n"),
    ):  # fmt: skip
        with pytest.raises(ConstrainError) as caught:
            HFModel.of(model, tokenizer)
        assert str(caught.value).startswith(message)
    with pytest.raises(ConstrainError, match=r"the model has no name to find its tokenizer by\n  fix: pass tokenizer="):
        HFModel.of(tiny_llama(tokenizer))


@pytest.mark.parametrize("name", ["bert", "xlnet"])
def test_models_that_look_ahead_are_found_out(tokenizer: Any, name: str) -> None:
    import transformers as hf

    tiny = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "d_inner": 8}
    config = hf.AutoConfig.for_model(name, vocab_size=300, d_model=8, n_head=1, n_layer=1, **tiny)
    model = hf.AutoModelForCausalLM.from_config(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    with pytest.raises(ConstrainError, match="reads text in both directions: its logits at a token depend"):
        constrain.generate(model, "a", tokenizer=tokenizer, regex="a+", max_tokens=3)


def check_slots(slots: Slots, rows: list[list[int]]) -> None:
    """Check slots against rows of 0 (no token) and 1."""
    width = slots.width
    assert [len(row) for row in rows] == [width] * slots.rows
    assert slots.attention.tolist() == rows
    assert slots.lengths.tolist() == [sum(row) for row in rows]
    assert slots.longest == max(map(sum, rows))
    for last in {1, width // 2, width} - {0}:
        positions = [[max(0, sum(row[: slot + 1]) - 1) for slot in range(width - last, width)] for row in rows]
        assert slots.positions(last).tolist() == positions


@pytest.mark.parametrize("seed", range(30))
def test_walks(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 3)
    slots, rows = Slots(count, 0, torch.device("cpu")), [[] for _ in range(count)]
    is_even = True
    for _ in range(12):
        choice = rng.random()
        if choice < 0.6 or not slots.width:
            chunk = rng.randint(1, 4)
            counts = [chunk if rng.random() < 0.7 else rng.randint(0, 4) for _ in rows]
            counts[rng.randrange(len(counts))] = chunk
            slots, new = slots.more(counts), max(counts)
            rows = [[*row, *[0] * (new - each), *[1] * each] for row, each in zip(rows, counts, strict=True)]
            is_even &= len(set(counts)) == 1
        elif choice < 0.8:
            width = rng.randint(1, slots.width)
            slots, rows = slots.first(width), [row[:width] for row in rows]
        else:
            chosen = [rng.randrange(len(rows)) for _ in range(rng.randint(1, 3))]
            slots, rows = slots.select(torch.tensor(chosen)), [rows[i] for i in chosen]
        assert slots.even == is_even
        check_slots(slots, rows)


HEADS = 3


class Layer:
    """Tensors as caches of transformers hold them: in attributes, dicts, lists; rows first, later, or times heads."""

    def __init__(self, rows: int) -> None:
        self.states = {0: torch.randn(rows, 5), 1: None}
        self.pair = [torch.randn(4, rows, 2), (torch.randn(rows * HEADS, 2), "text")]
        self.window = torch.tensor(7)
        self.seen = {0: True}
        self.shared = torch.nn.Linear(2, 2)
        self.owner = self  # a cycle


def parts(layer: Any) -> list[torch.Tensor]:
    """By row first."""
    rows = layer.states[0].shape[0]
    return [layer.states[0], layer.pair[0].transpose(0, 1), layer.pair[1][0].reshape(rows, HEADS, 2)]


def test_rows_are_found_wherever_they_are() -> None:
    assert row_axes(Layer(2), Layer(3)) == {
        ("states", "0"): (0, 1),
        ("pair", "0"): (1, 1),
        ("pair", "1", "0"): (0, HEADS),
    }
    assert row_axes((torch.ones(2), torch.ones(4)), (torch.ones(2), torch.ones(4))) == {}


@pytest.mark.parametrize("rows", [[0], [2, 0], [1, 1, 1], [3, 2, 1, 0, 3]])
def test_rows_are_copied(rows: list[int]) -> None:
    layer, axes = Layer(4), row_axes(Layer(2), Layer(3))
    before = [part.clone() for part in parts(layer)]
    twin = gathered(layer, axes, torch.tensor(rows))
    for found, part in zip(parts(twin), before, strict=True):
        assert torch.equal(found, part[rows])
    assert twin.owner is twin
    assert twin.shared is layer.shared
    for tensor in tensors(twin).values():
        tensor.zero_()
    twin.seen[0] = False
    assert all(map(torch.equal, parts(layer), before))
    assert layer.seen[0]
    assert layer.window == 7


def test_tensors_of_modules_are_neither_parameters_nor_buffers() -> None:
    outer = torch.nn.Sequential(torch.nn.Linear(2, 2))
    outer[0].register_buffer("buffer", torch.ones(2))
    outer[0].state = torch.ones(3)
    assert list(module_tensors(outer)) == ["0.state"]


ASKED = {"query": (2, 6, 1, 8), "key": (2, 3, 5, 8), "mask": None, "options": {"scaling": 0.3, "sliding_window": 4}}
OTHERS: dict[str, dict[str, Any]] = {
    "two tokens": {"query": (2, 6, 2, 8)},
    "a head has keys of its own": {"key": (2, 6, 5, 8)},
    "something is hidden": {"mask": torch.ones(2, 1, 1, 5, dtype=torch.bool)},
    "a bias": {"options": {"position_bias": torch.zeros(1, 6, 1, 5)}},
    "weights are dropped": {"options": {"dropout": 0.1}},
    "scores are capped": {"options": {"softcap": 30.0}},
    "weights are asked for": {"options": {"output_attentions": True}},
}


def taken(**changes: Any) -> bool:
    """Attention of these shapes is one by groups."""
    given: dict[str, Any] = {**ASKED, **changes}
    return grouped.applies(torch.zeros(given["query"]), torch.zeros(given["key"]), given["mask"], given["options"])


@pytest.mark.parametrize("other", OTHERS)
def test_it_applies_to_one_token_that_sees_everything(other: str) -> None:
    assert taken()
    assert not taken(**OTHERS[other])


@pytest.mark.parametrize("other", OTHERS)
def test_it_applies_under_a_mask_in_forwards_of_fixed_shape(other: str) -> None:
    """Of any number of tokens; other options and heads with keys of their own are as before."""
    mask = torch.zeros(2, 1, 2, 5)
    with grouped.grouped(masked=True):
        assert taken(mask=mask, query=(2, 6, 2, 8))
        assert taken(mask=mask, **{k: v for k, v in OTHERS[other].items() if k != "mask"}) == (
            other in ("two tokens", "something is hidden")
        )
    assert not taken(mask=mask)


@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("scaling", [None, 0.3])
def test_groups_have_the_attention_of_their_heads(heads: int, scaling: float | None) -> None:
    """By definition, in doubles: values may be of another size than keys."""
    generator = torch.Generator().manual_seed(heads)
    query, key, value = (
        torch.randn(2, count, length, size, generator=generator, dtype=torch.float64)
        for count, length, size in ((6, 1, 8), (heads, 5, 8), (heads, 5, 4))
    )
    doubled = [each.repeat_interleave(6 // heads, 1) for each in (key, value)]
    expected = scaled_dot_product_attention(query, *doubled, scale=scaling).transpose(1, 2)
    torch.testing.assert_close(grouped.of_groups(query, key, value, scaling), expected, atol=1e-12, rtol=0)
    query = torch.randn(2, 6, 3, 8, generator=generator, dtype=torch.float64)
    mask = torch.randn(2, 1, 3, 5, generator=generator, dtype=torch.float64)
    expected = scaled_dot_product_attention(query, *doubled, attn_mask=mask, scale=scaling).transpose(1, 2)
    torch.testing.assert_close(grouped.of_groups(query, key, value, scaling, mask), expected, atol=1e-12, rtol=0)


@pytest.fixture
def taken_in(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each attention by groups."""
    found: list[int] = []
    plain = grouped.of_groups

    def counted(query: torch.Tensor, *given: Any) -> torch.Tensor:
        found.append(len(query))
        return plain(query, *given)

    monkeypatch.setattr(grouped, "of_groups", counted)
    return found


@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma3_text"])
def test_sessions_have_the_logits_of_the_model(family: str, taken_in: list[int]) -> None:
    """Rows that grow by a token each; the model itself, beside it and in another thread, reads as it did."""
    handle = HFModel(build(family, 40, 39).double().eval(), None)
    texts = [[3, 1, 4, 1, 5, 9], [3, 1, 4, 1, 5, 8]]
    session, _ = handle.start([text[:4] for text in texts], [1, 1])
    assert not taken_in
    steps = [session.feed([[text[i]] for text in texts], [1, 1]) for i in (4, 5)]
    assert set(taken_in) == {2}
    taken_by_steps = len(taken_in)

    @torch.inference_mode()
    def own() -> Any:
        cache = handle.model(input_ids=torch.tensor(texts)[:, :5], use_cache=True)
        name = handle.memory
        after = handle.model(input_ids=torch.tensor(texts)[:, 5:], **{name: getattr(cache, name)})
        return torch.stack([cache.logits[:, -1], after.logits[:, -1]])

    with grouped.grouped(), ThreadPoolExecutor(1) as pool:
        expected = pool.submit(own).result()
    torch.testing.assert_close(own(), expected, atol=0, rtol=0)
    assert len(taken_in) == taken_by_steps
    found = torch.stack([torch.cat(rows) for rows in steps])
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)
