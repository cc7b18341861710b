"""Heads of public architectures: what trains is what drafts, files in their layout, and decoding that changes nothing.

Checkpoints are written here, tiny and random, with the tensor names that their authors publish.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers import DraftHeads, Heads, load_heads
from constrain.papers.heads import (
    FSPAD,
    Chimera,
    Clover,
    Eagle,
    Eagle3,
    Falcon,
    HeadsAdapter,
    Hydra,
    KangarooAdapter,
    Medusa,
)
from constrain.papers.heads.layer import DecoderLayer, Shape
from constrain.papers.heads.load import _tensors
from constrain.papers.layers.kangaroo import Kangaroo
from constrain.speculative import Fixed, Speculation
from toy_model import chain_reader, tiny_gpt2, tiny_llama, tiny_tokenizer

MAKE: dict[str, Callable[[HFModel], HeadsAdapter]] = {
    "sequential": lambda model: DraftHeads(model, depth=3),
    "independent": lambda model: DraftHeads(model, kind="independent", depth=3),
    "medusa": lambda model: Medusa(model, depth=3, layers=2),
    "hydra": lambda model: Hydra(model, depth=3, layers=2),
    "eagle": lambda model: Eagle(model, depth=3),
    "eagle3": lambda model: Eagle3(model, depth=3, layers=(0, 1, 2)),
    "fspad": lambda model: FSPAD(model, depth=3),
    "falcon": lambda model: Falcon(model, depth=3),
    "falcon, blocks of 3": lambda model: Falcon(model, depth=3, block=3),
    "falcon, blocks of 1": lambda model: Falcon(model, depth=3, block=1),
    "clover": lambda model: Clover(model, depth=3),
    "chimera": lambda model: Chimera(model, depth=3),
}
LOOK_BACK = ["hydra", "eagle", "eagle3", "fspad", "falcon", "clover", "chimera"]


@pytest.fixture(scope="module")
def handle() -> HFModel:
    tokenizer = tiny_tokenizer()
    return HFModel(tiny_llama(tokenizer, num_hidden_layers=3), tokenizer)


def random_heads(handle: HFModel, name: str) -> HeadsAdapter:
    torch.manual_seed(1)
    heads = MAKE[name](handle)
    for each in heads.parameters():
        torch.nn.init.normal_(each, std=0.3)
    return heads.eval()


def width(heads: HeadsAdapter) -> int:
    return heads.size * (3 if isinstance(heads, Eagle3) else 1)


@pytest.mark.parametrize("name", MAKE)
def test_what_trains_is_what_drafts(handle: HFModel, name: str) -> None:
    """All places at once, beside every place by itself: a memory of what came before, then one token at a time."""
    heads, rng = random_heads(handle, name), torch.Generator().manual_seed(2)
    length = 7
    hidden = torch.randn(length, width(heads), generator=rng, dtype=torch.float64)
    tokens = torch.randint(handle.width, (length,), generator=rng)
    with torch.inference_mode():
        unrolled = heads.unrolled(hidden, tokens)
        assert [len(each) for each in unrolled] == [length - 1, length - 2, length - 3]
        memory: Any = None
        for place in range(length):
            state = heads.begin(hidden[place], memory)
            for step in range(1, 4):
                if place + step < length:
                    state = heads.move(state, int(tokens[place + step]))
                    torch.testing.assert_close(heads.logits(state), unrolled[step - 1][place])
            if place + 3 < length:
                assert heads.move(state, 0) is None
            if place + 1 < length:
                memory = heads.remember(memory, hidden[place : place + 1], tokens[place + 1 : place + 2])


def flat(memory: Any) -> list[torch.Tensor]:
    """Everything that is remembered of a text."""
    if isinstance(memory, (int, torch.Tensor)):
        return [torch.as_tensor(memory)]
    return [each for part in memory for each in flat(part)]


@pytest.mark.parametrize("name", LOOK_BACK)
def test_memories_grow_by_any_steps(handle: HFModel, name: str) -> None:
    heads = random_heads(handle, name)
    hidden = torch.randn(6, width(heads), generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    tokens = torch.arange(6)
    with torch.inference_mode():
        whole = heads.remember(None, hidden[:5], tokens[1:])
        part = heads.remember(heads.remember(None, hidden[:2], tokens[1:3]), hidden[2:5], tokens[3:])
    torch.testing.assert_close(flat(whole), flat(part))


def test_the_layer_is_a_llama(handle: HFModel) -> None:
    """The same weights, the same numbers as the layer of transformers."""
    model = handle.model.model
    theirs: Any = model.layers[1]
    ours = DecoderLayer(Shape.of(handle.model.config)).to(torch.float64)
    ours.load_state_dict({n: each for n, each in theirs.state_dict().items() if not n.startswith("input_layernorm")})
    x = torch.randn(5, 32, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    places = torch.arange(5)
    with torch.inference_mode():
        positions = model.rotary_emb(x[None], places[None])
        mask = torch.full((5, 5), -torch.inf, dtype=torch.float64).triu(1)[None, None]
        out = theirs(x[None], attention_mask=mask, position_embeddings=positions)
        expected = (out[0] if isinstance(out, tuple) else out).reshape(5, -1)
        normed = theirs.input_layernorm(x)
        seen = torch.ones(5, 5, dtype=torch.bool).tril()
        found = ours.attend(normed, x, places, ours.rows(normed, places), seen)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)  # their rotations are float32


@pytest.mark.parametrize("name", MAKE)
def test_at_first_they_guess_as_the_target_did(handle: HFModel, name: str) -> None:
    """Untrained heads say what the target's head says of the last hidden state, or something finite at least."""
    heads = MAKE[name](handle).eval()
    hidden = torch.randn(width(heads), generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    with torch.inference_mode():
        guess = heads.logits(heads.move(heads.begin(hidden), 3))
    assert bool(torch.isfinite(guess).all())
    if name in ("sequential", "independent", "eagle", "fspad"):
        torch.testing.assert_close(guess, heads.head(hidden))


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_presets_change_no_output(handle: HFModel, name: str, temperature: float) -> None:
    heads = random_heads(handle, name)
    for seed in range(3):
        given = {"regex": "[a-f]{6,14}", "temperature": temperature, "seed": seed, "max_tokens": 20}
        draft = Speculation([Heads(heads, width=2)], controller=Fixed(8, 4, 0.0))
        plain, found = (constrain.generate(handle, "red", draft=each, **given) for each in (None, draft))
        assert found.tokens == plain.tokens
        assert found.stats.drafts["heads"].fault is None
        assert found.stats.drafts["heads"].drafted > 0


@pytest.mark.parametrize("name", LOOK_BACK)
def test_what_they_are_told_is_the_text(handle: HFModel, name: str) -> None:
    """Memories in decoding, of batches and with the path of a tree taken, are those of the whole text read at once."""
    heads = random_heads(handle, name)
    told: dict[int, Any] = {}

    class Watching(Heads):
        def observe(self, outcomes: Any) -> None:
            super().observe(outcomes)
            for each in outcomes:
                if (self, "memory") in each.context.memo:
                    known, memory, _ = each.context.memo[self, "memory"]
                    told[each.context.row] = list(each.context.tokens), known, memory

    outputs = constrain.generate(
        handle, ["red", "green 00"], regex="[a-f]{9,14}", seed=3, max_tokens=20,
        draft=Speculation([Watching(heads), "lookup"], controller=Fixed(8, 4, 0.0)),
    )  # fmt: skip
    assert all(output.stats.drafts["heads"].fault is None for output in outputs)
    assert set(told) == {0, 1}
    for tokens, known, memory in told.values():
        assert known > 5
        session: Any = handle.open(1)
        session.keep_hidden = heads.reads
        none = np.zeros(0, np.int32)
        session.forward([tokens], [1], [none], [none])
        with torch.inference_mode():
            whole = heads.remember(None, session.hidden[0][:known], torch.tensor(tokens[1 : known + 1]))
        torch.testing.assert_close(flat(memory), flat(whole))


# --- files ------------------------------------------------------------------------------------------------------------

LLAMA_LAYER = [
    "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj",
    "mlp.down_proj", "post_attention_layernorm",
]  # fmt: skip
NAMES = {
    "medusa": [*(f"{i}.{j}.linear.{part}" for i in range(2) for j in (0,) for part in ("weight", "bias")),
               "0.1.weight", "1.1.weight"],
    "hydra": [*(f"hydra_mlp.{i}.1.{each}.{part}" for i in range(2) for each in ("linear", "res_connection")
                for part in ("weight", "bias")),
              *(f"hydra_lm_head.{i}.1.{part}" for i in range(2) for part in ("weight", "bias")),
              *(f"prefix_embeding_layer.layers.0.{each}.weight" for each in [*LLAMA_LAYER, "input_layernorm"]),
              "prefix_embeding_layer.norm.weight"],
    "eagle": ["fc.weight", "fc.bias", *(f"layers.0.{each}.weight" for each in LLAMA_LAYER)],
    "fspad": ["fc.fc.weight", "fc.fc.bias", *(f"fc.{each}.weight" for each in LLAMA_LAYER[4:]),
              *(f"layers.0.{each}.weight" for each in LLAMA_LAYER)],
    "falcon": [*(f"lstm.{each}_l{i}" for i in range(2) for each in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")),
               *(f"layers.0.{each}.weight" for each in LLAMA_LAYER)],
    "kangaroo": [*(f"layers.0.{each}.weight" for each in [*LLAMA_LAYER[:4], "input_layernorm"]), "norm.weight"],
    "clover": [*(f"layers.{i}.{each}.weight" for i in range(2) for each in [*LLAMA_LAYER, "input_layernorm"]),
               "clover_norm.weight", "clover_head_norm.weight",
               *(f"clover_head_{each}.{part}" for each in ("mlp", "mlp2", *(f"mlp_rnn{i}.{x}" for i in ("", "2")
                                                                             for x in "qkv"))
                 for part in ("weight", "bias")),
               *(f"clover_head_mlp_rnn{i}.input_layernorm.weight" for i in ("", "2"))],
    "chimera": ["trimlp.0.linear.weight", "trimlp.0.linear.bias", "trimlp.1.weight",
                *(f"fast_layer1.0.{each}.weight" for each in [*LLAMA_LAYER, "input_layernorm"]),
                "chimera_head.0.0.weight", "chimera_head.1.0.weight"],
    "eagle3": ["fc.weight", *(f"midlayer.{each}.weight" for each in [*LLAMA_LAYER, "hidden_norm", "input_layernorm"]),
               "norm.weight", "lm_head.weight", "d2t", "t2d"],
}  # fmt: skip
FILE = {"medusa": "medusa_lm_head.pt", "hydra": "hydra_lm_head.pt"}  # of the others pytorch_model.bin


def written(handle: HFModel, name: str, folder: Path) -> HeadsAdapter:
    """A random checkpoint in the layout of its authors; the heads that it was written from."""
    torch.manual_seed(6)
    made: dict[str, Callable[[], HeadsAdapter]] = {
        "medusa": lambda: Medusa(handle, depth=2),
        "hydra": lambda: Hydra(handle, depth=2),
        "eagle": lambda: Eagle(handle),
        "eagle3": lambda: Eagle3(handle, layers=(0, 1, 2), vocabulary=range(2, handle.width, 2)),
        "fspad": lambda: FSPAD(handle),
        "falcon": lambda: Falcon(handle),
        "kangaroo": lambda: KangarooAdapter(handle),
        "clover": lambda: Clover(handle),
        "chimera": lambda: Chimera(handle, depth=2),
    }
    heads = made[name]()
    for each in heads.parameters():
        torch.nn.init.normal_(each, std=0.3)
    tensors = {each.removeprefix("medusa_head."): tensor for each, tensor in heads.state_dict().items()}
    assert sorted(tensors) == sorted(NAMES[name])
    if name.startswith(("eagle", "fspad", "falcon")):
        tensors["embed_tokens.weight"] = handle.model.get_input_embeddings().weight
    if name == "hydra":
        tensors["prefix_embeding_layer.embed_tokens.weight"] = torch.zeros(1)
    if name == "clover":
        tensors |= dict.fromkeys(["lm_head.weight", "clover_embed_tokens.weight"], heads._target[1].weight)
    save(name, tensors, folder)
    config = handle.model.config.to_dict()
    (folder / "config.json").write_text(json.dumps({key: config[key] for key in sorted(config) if "torch" not in key}))
    return heads.eval()


def save(name: str, tensors: dict[str, torch.Tensor], folder: Path) -> None:
    """The files of a layout: one, or for Chimera one for each of its modules."""
    if name != "chimera":
        torch.save(tensors, folder / FILE.get(name, "pytorch_model.bin"))
        return
    for part in ("trimlp", "fast_layer1", "chimera_head"):
        own = {each.removeprefix(f"{part}."): tensor for each, tensor in tensors.items() if each.startswith(part)}
        torch.save(own, folder / f"{part}.pt")


@pytest.mark.parametrize("name", NAMES)
def test_public_layouts_are_read(handle: HFModel, name: str, tmp_path: Path) -> None:
    heads = written(handle, name, tmp_path)
    options = {"layers": (0, 1, 2)} if name == "eagle3" else {}
    found = load_heads(tmp_path, handle, **options)
    assert type(found) is type(heads)
    hidden = torch.randn(5, width(heads), generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    tokens = torch.arange(5)
    with torch.inference_mode():
        for one, other in zip(found.unrolled(hidden, tokens), heads.unrolled(hidden, tokens), strict=True):
            torch.testing.assert_close(one, other)
    if name == "eagle3":
        assert torch.isfinite(found.unrolled(hidden, tokens)[0][0]).nonzero().flatten().tolist() == list(
            range(2, handle.width, 2)
        )
    given = {"regex": "[a-f]{9}", "seed": 1, "max_tokens": 12}
    drafter = Kangaroo(handle, found) if isinstance(found, KangarooAdapter) else Heads(found)
    plain, drafted = (constrain.generate(handle, "red", draft=each, **given) for each in (None, [drafter]))
    assert drafted.tokens == plain.tokens
    assert drafted.stats.drafts[drafter.name].fault is None


def test_falcon_is_shown_answers(handle: HFModel) -> None:
    """A place that is shown what it must guess reads the later feature and token; a share of wrong guesses is."""
    heads, rng = random_heads(handle, "falcon"), torch.Generator().manual_seed(8)
    assert isinstance(heads, Falcon)
    hidden, tokens = torch.randn(9, 32, generator=rng, dtype=torch.float64), torch.arange(9)
    glance = torch.zeros(9, dtype=torch.bool)
    glance[[3, 7]] = True  # behind place 7 nothing is left to show
    changed, later = hidden.clone(), tokens.clone()
    changed[3], later[4] = hidden[5], tokens[6]
    with torch.inference_mode():
        shown, expected = heads.unrolled(hidden, tokens, glance)[:2], heads.unrolled(changed, later)[:2]
        torch.testing.assert_close(shown, expected)
        right = torch.full((9,), -1)
        assert not heads.glanced(hidden, tokens, right, 1.0).any()
        right[3:] = handle.width - 1 - heads.unrolled(hidden, tokens)[1][:6].argmax(-1)  # all of them wrong
        random.seed(0)
        assert int(heads.glanced(hidden, tokens, right, 0.5).sum()) == 3
        assert int(heads.glanced(hidden, tokens, right, 0.2).sum()) == 1
    with pytest.raises(ConstrainError, match=r"a block has from 1 to 3 tokens \(depth\), not 4"):
        Falcon(handle, depth=3, block=4)


def test_a_file_says_which_layers_it_reads(handle: HFModel, tmp_path: Path) -> None:
    written(handle, "eagle3", tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "eagle_aux_hidden_state_layer_ids": [2, 0, 1]}))
    assert load_heads(tmp_path, handle).reads == (2, 0, 1)
    assert load_heads(tmp_path, handle, layers=(0, 1, 2)).reads == (0, 1, 2)


@pytest.mark.parametrize("name", NAMES)
def test_files_that_do_not_fit(handle: HFModel, name: str, tmp_path: Path) -> None:
    written(handle, name, tmp_path)
    options = {"layers": (0, 1, 2)} if name == "eagle3" else {}
    tensors = _tensors(tmp_path)
    extra = "fast_layer1.extra.weight" if name == "chimera" else "extra.weight"
    some = next(each for each in tensors if each.endswith(("linear.weight", "q_proj.weight")))
    for changed, fault in (
        ({**tensors, extra: torch.zeros(2)}, "has tensors that are not read: .*extra.weight"),
        ({key: each for key, each in tensors.items() if key != some.replace("q_proj", "v_proj").replace(
            "linear.weight", "linear.bias")}, "lacks tensors"),
        ({**tensors, some: torch.zeros(2, 2)}, "does not fit"),
    ):  # fmt: skip
        save(name, changed, tmp_path)
        with pytest.raises(ConstrainError, match=fault):
            load_heads(tmp_path, handle, **options)


def test_what_is_no_checkpoint(handle: HFModel, tmp_path: Path) -> None:
    with pytest.raises(ConstrainError, match="has no file of draft heads"):
        load_heads(tmp_path, handle)
    torch.save({"encoder.weight": torch.zeros(2)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ConstrainError, match=r"of no known architecture: encoder.weight"):
        load_heads(tmp_path, handle)
    with pytest.raises(ConstrainError, match="no different ones of 3"):
        Eagle3(handle, layers=(0, 0, 1))
    with pytest.raises(ConstrainError, match=r"scaled positions \(llama3\)"):
        Eagle(handle, config={**handle.model.config.to_dict(), "rope_parameters": {"rope_type": "llama3"}})
    with pytest.raises(ConstrainError, match=r"has no (hidden_size|intermediate_size)"):
        Eagle(HFModel(tiny_gpt2(handle.tokenizer), handle.tokenizer))
    with pytest.raises(ConstrainError, match="want different hidden states"):
        constrain.generate(
            handle, "red", regex="[a-f]{9}", draft=[Heads(Eagle(handle)), Heads(Medusa(handle))], max_tokens=9
        )


def test_another_family() -> None:
    """Other names of layers."""
    tokenizer = tiny_tokenizer()
    model = HFModel(tiny_gpt2(tokenizer), tokenizer)
    given = {"regex": "[a-f]{9}", "seed": 1, "max_tokens": 12}
    plain, found = (constrain.generate(model, "red", draft=each, **given) for each in (None, [Heads(Medusa(model))]))
    assert found.tokens == plain.tokens
    assert found.stats.drafts["heads"].fault is None


def test_models_that_read_chains_tell_no_hidden_states() -> None:
    model = chain_reader()
    with pytest.raises(ConstrainError, match="this model tells no hidden states, which the drafter 'heads' reads"):
        constrain.generate(model, "red", regex="[a-f]{9}", draft=[Heads(Medusa(model))], max_tokens=12)


@pytest.mark.parametrize("name", ["sequential", *LOOK_BACK])
@pytest.mark.parametrize("method", ["smc", "cars", "beam"])
def test_heads_under_methods_that_fork(handle: HFModel, name: str, method: str) -> None:
    """Sequences fork, wait and part: outputs are those without drafts, and heads that look back begin anew."""
    heads = random_heads(handle, name)
    regex = "[a-f]{3,5}" if method == "cars" else "[a-f]{8,10}"  # cars draws until a text is in the language
    given = {"regex": regex, "method": method, "seed": 2, "max_tokens": 14}
    plain = constrain.generate(handle, "red", **given)
    found = constrain.generate(handle, "red", draft=[Heads(heads), "lookup"], **given)
    assert found.tokens == plain.tokens
    assert found.stats.drafts["heads"].fault is None
    assert (found.stats.drafts["heads"].drafted > 0) is (method != "beam")  # a beam is forked at every step
