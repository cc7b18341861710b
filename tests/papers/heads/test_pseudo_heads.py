"""Heads inside the target's forward pass: what trains is what drafts, and no output of the target depends on them."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers import Heads, load_heads
from constrain.papers.heads import HiddenTransfer, PromptTokens
from constrain.papers.heads.pseudo import PseudoPlaces
from constrain.speculative import Fixed, Speculation
from toy_model import tiny_gpt2, tiny_llama, tiny_mistral, tiny_tokenizer

KINDS: dict[str, Any] = {"prompts": PromptTokens, "transfer": HiddenTransfer}
FAMILIES: dict[str, Any] = {"llama": tiny_llama, "gpt2": tiny_gpt2, "mistral": tiny_mistral}


def made(name: str, family: str = "llama", **options: Any) -> tuple[HFModel, Any]:
    tokenizer = tiny_tokenizer()
    handle = HFModel(FAMILIES[family](tokenizer), tokenizer)
    torch.manual_seed(1)
    heads = KINDS[name](handle, **options)
    for each in heads.parameters():
        torch.nn.init.normal_(each, std=0.3)
    return handle, heads.to(handle.model.dtype).eval()


def ints(*values: int) -> Any:
    return np.array(values, np.int32)


# For each of two sequences: what is read of it first, a tree behind it (tokens, parents), what is taken of that, and
# the places with pseudo tokens, for two nodes: the root is the first, and nodes with one child come last.
STEPS: list[list[tuple[list[int], Any, Any, list[int], set[int]]]] = [
    [([1, 2, 3], ints(3, 4, 5), ints(-1, -1, 1), [1, 2], {0, 1, 3}), ([9], ints(7), ints(-1), [], {0, 1})],
    [([8], ints(), ints(), [], {0}), ([5, 4], ints(2, 6), ints(-1, 0), [0], {0, 1, 2})],
    [([7], ints(1, 2, 4), ints(-1, -1, -1), [1], {0, 1, 2}), ([3], ints(), ints(), [], {0})],
]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("more", [0, 1])
def test_what_trains_is_what_drafts(name: str, family: str, more: int) -> None:
    """States of a batch of trees, of which paths are taken, beside every path read by itself."""
    options = {"layer": more} if name == "transfer" else {"depth": 2 + more}
    handle, heads = made(name, family, places=2, **options)
    session, plain = handle.open(2), handle.open(2)
    session.keep_hidden = heads.reads  # type: ignore[attr-defined]
    texts: list[list[int]] = [[], []]
    for step in STEPS:
        chunks, tokens, parents, taken, told = zip(*step, strict=True)
        logits, expected = (each.forward(chunks, [1, 1], tokens, parents) for each in (session, plain))
        for row, text in enumerate(texts):
            torch.testing.assert_close(logits[row], expected[row])
            text += chunks[row]
            paths = [text]
            for token, parent in zip(tokens[row].tolist(), parents[row].tolist(), strict=True):
                paths.append([*paths[parent + 1], token])
            for place, (path, hidden) in enumerate(zip(paths, session.hidden[row], strict=True)):  # type: ignore[attr-defined]
                state = heads.begin(hidden)
                assert (state is not None) is (place in told[row])
                if state is not None:
                    agree(heads, state, path)
            text += [int(tokens[row][node]) for node in taken[row]]
        for each in (session, plain):
            each.commit(taken)


def agree(heads: Any, state: Any, path: list[int]) -> None:
    """Logits of a state after 0, 1, … tokens are those of training at the end of a text."""
    with torch.no_grad():
        unrolled = heads.unrolled(None, torch.tensor([*path, *range(heads.depth)]))
        assert [len(each) for each in unrolled] == [len(path) + heads.depth - 1 - i for i in range(heads.depth)]
        for own in unrolled:
            state = heads.move(state, 1)
            torch.testing.assert_close(heads.logits(state), own[len(path) - 1], atol=1e-6, rtol=1e-6)
        assert heads.move(state, 1) is None


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("method", ["lcd", "smc", "cars"])
def test_they_change_no_output(name: str, method: str) -> None:
    handle, heads = made(name)
    draft = Speculation([Heads(heads, width=2), "lookup"], controller=Fixed(8, 4, 0.0))
    for seed in range(1 if method == "cars" else 3):  # its attempts read as much as three others
        given = {"regex": "[a-f]{6,10}", "method": method, "seed": seed, "max_tokens": 14}
        plain, found = (constrain.generate(handle, ["red", "green 00"], draft=each, **given) for each in (False, draft))
        assert [each.tokens for each in found] == [each.tokens for each in plain]
        assert all(each.stats.drafts["heads"].fault is None for each in found)
        assert any(each.stats.drafts["heads"].drafted for each in found)


@pytest.mark.parametrize("name", KINDS)
def test_they_learn(name: str) -> None:
    """Texts learned by heart, by the script's own loss, are drafted; the target stays as it is."""
    import sys

    sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))
    from train_draft import distances, text_of, told

    handle, _ = made(name)
    constraint = constrain.compile(constrain.regex("[a-f]{24}"), handle.vocabulary)
    plain = constrain.generate(handle, "red", constraint=constraint, temperature=0, draft=False)
    text = text_of(handle, handle.tokenizer("red")["input_ids"], constraint, plain)
    torch.manual_seed(0)
    heads = KINDS[name](handle).to(torch.float64)
    before = [each.clone() for each in handle.model.parameters()]
    adam = torch.optim.Adam(heads.parameters(), lr=1e-1 if name == "prompts" else 1e-2)
    said = told(handle, text, heads.reads)
    said = said._replace(probs=torch.nn.functional.one_hot(said.probs.argmax(-1), said.probs.shape[1]).to(said.probs))
    totals = []
    for _ in range(60):
        losses, _ = distances(heads, "kl", text, said)
        totals.append(torch.stack(losses).mean().item())
        adam.zero_grad()
        torch.stack(losses).sum().backward()
        adam.step()
    assert totals[-1] < 0.8 * totals[0]
    found = constrain.generate(handle, "red", constraint=constraint, temperature=0, draft=[Heads(heads.eval())])
    assert found.tokens == plain.tokens
    assert found.stats.forwards < 0.8 * plain.stats.forwards
    assert all(torch.equal(one, other) for one, other in zip(before, handle.model.parameters(), strict=True))


def test_a_folder_of_peft_is_read(tmp_path: Path) -> None:
    handle, heads = made("prompts", depth=2)
    torch.save(heads.state_dict(), tmp_path / "adapter_model.bin")
    config = {"peft_type": "PROMPT_TUNING", "num_special_tokens": 2, "virtual_tokens_per_special_token": 1}
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    found = load_heads(tmp_path, handle, places=1)
    assert isinstance(found, PromptTokens)
    assert (found.depth, found.places) == (2, 1)
    assert torch.equal(found.prompt_embeddings, heads.prompt_embeddings)
    for other in ({"virtual_tokens_per_special_token": 2}, {"use_prefix_tuning": True}, {"num_exits": 3}):
        (tmp_path / "adapter_config.json").write_text(json.dumps({**config, **other}))
        with pytest.raises(ConstrainError, match=f"prompt tokens with this {next(iter(other))} are not supported"):
            load_heads(tmp_path, handle)
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    torch.save({"prompt_embeddings": torch.zeros(2, 7)}, tmp_path / "adapter_model.bin")
    with pytest.raises(ConstrainError, match="does not fit"):
        load_heads(tmp_path, handle)


@pytest.mark.parametrize("name", KINDS)
def test_other_threads_and_other_models_are_left_alone(name: str) -> None:
    """Slots are filled by a hook on modules that all threads share, in one of them; and on those of one model."""
    handle, heads = made(name)
    ids = torch.tensor([[1, 2, 3, 4]])
    plain = handle.model(input_ids=ids).logits
    slot = torch.tensor([0]), torch.tensor([3]), torch.tensor([2]), torch.tensor([0])
    with heads.filled(PseudoPlaces(*slot)), ThreadPoolExecutor(1) as pool:
        assert not torch.allclose(handle.model(input_ids=ids).logits[0, 3], plain[0, 3])
        assert torch.equal(pool.submit(lambda: handle.model(input_ids=ids).logits).result(), plain)
    assert torch.equal(handle.model(input_ids=ids).logits, plain)
    other = HFModel(tiny_llama(handle.tokenizer, seed=1), handle.tokenizer)
    with pytest.raises(ConstrainError, match="inside the forward pass of another model"):
        constrain.generate(other, "red", regex="[a-f]{6}", draft=[Heads(heads)])


def test_a_layer_that_is_not_there() -> None:
    with pytest.raises(ConstrainError, match="there is no layer 2 to transfer at, of 2"):
        made("transfer", layer=2)
