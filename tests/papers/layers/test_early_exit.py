"""The first layers as drafters: logits by definition, verification behind them as if all had been read, and the law."""

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from speculative_cases import distribution_of
from tree_cases import TREES, WIDTH, alone, paths_to, random_tree, tiny

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.models.hf.tree import HFTreeSession
from constrain.papers import EarlyExit, ExitLens, Heads, skip_layers
from constrain.papers.heads import DraftHeads
from constrain.papers.layers.earlyexit import measure_exits
from constrain.papers.layers.shallow import FirstLayers, Shallow, can_be_cut, goes_on, run
from constrain.sampling import lcd
from constrain.speculative import ROOT, Fixed, Speculation
from toy_model import tiny_llama, tiny_mistral, tiny_tokenizer

NONE = np.zeros(0, np.int32)


def llama(layers: int = 4, idle: tuple[int, ...] = ()) -> HFModel:
    """With a tokenizer. idle: layers that do nothing."""
    tokenizer = tiny_tokenizer()
    model = tiny_llama(tokenizer, num_hidden_layers=layers)
    for i in idle:
        torch.nn.init.zeros_(model.model.layers[i].self_attn.o_proj.weight)
        torch.nn.init.zeros_(model.model.layers[i].mlp.down_proj.weight)
    return HFModel(model, tokenizer)


# --- the first layers by themselves, and what goes on behind them -----------------------------------------------------


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("seed", range(3))
def test_logits_are_those_of_the_path_whoever_read_it(name: str, seed: int) -> None:
    """Batches of random trees, parts of which the first layers have read: theirs are the logits of these layers alone,
    and the forward pass behind them those of the whole model, step after step, with forks between."""
    handle, rng = HFModel(tiny(name, 4), None), random.Random(seed)
    count = rng.randint(1, 3)
    first, alone_first = FirstLayers(handle, count), skip_layers(handle, range(count))
    assert can_be_cut(first, handle)
    texts = [[rng.randrange(WIDTH) for _ in range(rng.randint(1, 5))] for _ in range(3)]
    session = HFTreeSession(handle, 3)
    session.forward(texts, [1] * 3, [NONE] * 3, [NONE] * 3)
    session.commit([[]] * 3)
    for step in range(4):
        chunks = [[rng.randrange(WIDTH) for _ in range(rng.randint(1, 3))] for _ in texts]
        trees = [random_tree(rng, rng.choice([0, 1, 4, 7]), chain=rng.random() < 0.3) for _ in texts]
        read_by_first(session, first, alone_first, rng, texts, chunks, trees)
        keep = [rng.randint(1, len(chunk)) for chunk in chunks]
        rows = session.forward(chunks, keep, [tokens for tokens, _ in trees], [parents for _, parents in trees])
        assert session.shallow is None
        kept = []
        for i, ((tokens, parents), logits) in enumerate(zip(trees, rows, strict=True)):
            begun, paths = texts[i] + chunks[i], paths_to(tokens, parents)
            for place, path in enumerate([[], *paths]):
                expected = alone(handle, begun + tokens[path].tolist())
                torch.testing.assert_close(logits[keep[i] - 1 + place], expected, atol=1e-9, rtol=0)
            kept.append(rng.choice([[], *paths]))
            texts[i] = begun + tokens[kept[-1]].tolist()
        session.commit(kept)
        if step == 1:
            session.select([2, 0, 0])
            texts = [texts[2], list(texts[0]), list(texts[0])]


def read_by_first(
    session: Any, first: FirstLayers, alone_first: HFModel, rng: random.Random, texts: Any, chunks: Any, trees: Any
) -> None:
    """Let the first layers read a part of what comes: some chunks, some nodes, and tokens that nobody asks about."""
    session.shallow = shallow = Shallow(session, first)
    known = [rng.random() < 0.8 for _ in texts]
    own = [list(chunk) if k else [] for chunk, k in zip(chunks, known, strict=True)]
    if not any(own):
        session.shallow = None
        return
    logits, slots = shallow.grow(own, [run(len(each)) for each in own], max(map(len, own)))
    more: tuple[list[list[int]], list[list[int]]] = ([], [])
    for i, chunk in enumerate(own):
        for place in range(len(chunk)):
            found = logits[i, logits.shape[1] - len(chunk) + place]
            torch.testing.assert_close(found, alone(alone_first, texts[i] + chunk[: place + 1]), atol=1e-9, rtol=0)
        children = [
            int(token) for token, parent in zip(*trees[i], strict=True) if parent == ROOT and rng.random() < 0.7
        ]
        children = list(dict.fromkeys([*children, rng.randrange(WIDTH)])) if chunk else []
        more[0].append(children)
        more[1].append([slots[i][-1] for _ in children])
    logits, _ = shallow.grow(*more, max(map(len, more[0])))
    for i, children in enumerate(more[0]):
        for place, token in enumerate(children):
            found = logits[i, logits.shape[1] - len(children) + place]
            torch.testing.assert_close(found, alone(alone_first, [*texts[i], *own[i], token]), atol=1e-9, rtol=0)


def test_layers_read_what_they_have_not_read_and_no_more() -> None:
    """Counted in tokens by layer: nothing that was drafted goes through the first layers twice."""
    handle = llama()
    drafter = EarlyExit(handle, keep=2)
    counts = {"first": 0, "rest": 0}
    first, cut = (drafter._first[2][0], drafter._first[2][1])
    assert cut
    layers = {"first": first.model.model.model.layers[0], "rest": first.rest.model.model.model.layers[1]}
    for part, layer in layers.items():
        layer.register_forward_pre_hook(
            lambda _, given, part=part: counts.__setitem__(part, counts[part] + given[0].shape[1])
        )
    twice: list[int] = []
    handle.model.model.layers[0].register_forward_pre_hook(lambda _, given: twice.append(given[0].shape[1]))
    speculation = Speculation([drafter], controller=Fixed(5, 5, 0.0))
    for _ in range(2):  # in the first run models are tried out
        counts["first"] = counts["rest"] = drafter.shared = 0
        twice.clear()
        found = constrain.generate(handle, "red", regex="[a-f]{30}", temperature=0, draft=speculation)
    assert found.stats.drafts["exit"].fault is None
    assert drafter.shared == found.stats.forwards - 1  # every forward pass but the prompt's
    assert len(twice) == 1
    assert counts["rest"] > 30
    assert 0 <= counts["first"] - counts["rest"] <= 5  # each token once; of the last draft some had no room in the tree


# --- as a drafter -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["match", "token", pytest.param("block", marks=pytest.mark.slow), "recursive-without"])
def test_early_exits_leave_the_law(rule: str) -> None:
    """Every way in which draws of draft and rule can turn out, of a real model over two letters."""
    handle = llama(3)
    prompt = handle.tokenizer("red")["input_ids"]
    drafter = EarlyExit(handle, keep=1, width=2)

    def law(method: Any) -> dict[tuple[int, ...], float]:
        return distribution_of(method, handle, prompt, "[ab]{1,2}", 3)

    expected = law(lcd)
    found = law(Speculation([drafter], verifier=rule, controller=Fixed(2, 2, 0.0)))
    assert found == pytest.approx(expected, abs=1e-9)
    assert len(expected) > 4
    assert drafter.shared


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("options", [{"keep": 1}, {"keep": 3, "width": 3}, {"again": 1}, {"again": 0}], ids=str)
def test_outputs_are_those_without_drafts(options: dict[str, Any], temperature: float) -> None:
    """Batches whose rows end one after the other, alone and beside other drafters."""
    handle = llama()
    given = {"regex": "[a-f]{9,30}", "temperature": temperature, "n": 3, "seed": 2, "max_tokens": 40}
    plain = constrain.generate(handle, "red green", **given)
    for others in ([], ["lookup", "words"], [Heads(DraftHeads(handle).double())]):
        drafter = EarlyExit(handle, **options)
        speculation = Speculation([drafter, *others], controller=Fixed(9, 5, 0.0))
        found = constrain.generate(handle, "red green", draft=speculation, **given)
        assert [each.tokens for each in found] == [each.tokens for each in plain]
        assert all(count.fault is None for each in found for count in each.stats.drafts.values())
        assert drafter.shared or "keep" not in options


@pytest.mark.parametrize("method", ["smc", "rejection", "beam"])
def test_other_methods_read_ahead_by_early_exits(method: str) -> None:
    handle = llama()
    given = {"regex": "[a-f]{2,6}", "method": method, "seed": 2, "max_tokens": 9}
    plain = constrain.generate(handle, "red green", **given)
    drafter = EarlyExit(handle, keep=2)
    found = constrain.generate(handle, "red green", draft=[drafter], **given)
    assert found.tokens == plain.tokens
    assert drafter.shared


def test_the_exit_is_chosen_on_the_text() -> None:
    """Layers behind the second do nothing: two layers always agree, and drafts are as long as may be."""
    handle = llama(5, idle=(2, 3, 4))
    drafter = EarlyExit(handle)
    given = {"regex": "[a-f]{30}", "temperature": 0}
    plain = constrain.generate(handle, "red green", **given)
    found = constrain.generate(handle, "red green", draft=drafter, **given)
    assert found.tokens == plain.tokens
    assert drafter.found is not None
    assert drafter.found.layers == (0, 1)
    assert (drafter.found.agreement, drafter.found.depth) == (1.0, 8)
    assert found.stats.forwards <= 6
    assert drafter.agreement == pytest.approx(1.0)


def test_what_each_exit_would_have_named() -> None:
    """By definition: the layers alone, read over the same text."""
    handle = llama(4, idle=(2,))
    text = list(range(3, 40))
    named = handle.model(input_ids=torch.tensor([text])).logits[0].argmax(-1)
    for count, skip in enumerate(measure_exits(ExitLens(handle), handle, text, 8), 1):
        part = skip_layers(handle, range(count)).model(input_ids=torch.tensor([text])).logits[0].argmax(-1)
        assert skip.layers == tuple(range(count))
        assert skip.agreement == pytest.approx(float((part == named).double().mean()))


def test_windows_are_not_shared() -> None:
    """A target whose layers forget: the first layers draft with a memory of their own."""
    tokenizer = tiny_tokenizer()
    handle = HFModel(tiny_mistral(tokenizer), tokenizer)
    drafter = EarlyExit(handle, keep=1)
    given = {"regex": "[a-f]{20}", "temperature": 0}
    found = constrain.generate(handle, "red green", draft=[drafter], **given)
    assert found.tokens == constrain.generate(handle, "red green", **given).tokens
    assert (drafter.shared, found.stats.drafts["exit"].fault) == (0, None)
    assert found.stats.drafts["exit"].drafted


def test_another_target_is_not_shared() -> None:
    """The first layers of one model draft for another: guesses like any other."""
    handle, other = llama(4), llama(3)
    drafter = EarlyExit(other, keep=1)
    given = {"regex": "[a-f]{12}", "temperature": 0}
    found = constrain.generate(handle, "red green", draft=[drafter], **given)
    assert found.tokens == constrain.generate(handle, "red green", **given).tokens
    assert (drafter.shared, found.stats.drafts["exit"].fault) == (0, None)
    assert not goes_on(object())


@pytest.mark.parametrize("keep", [0, 4, 1.5])
def test_no_exit(keep: Any) -> None:
    with pytest.raises(ConstrainError, match="keep must be from 1 to 3 layers"):
        EarlyExit(llama(), keep=keep)
    with pytest.raises(ConstrainError, match="has no exit"):
        EarlyExit(llama(1))


# --- lenses -----------------------------------------------------------------------------------------------------------


def test_a_lens_learns_what_the_model_says_and_a_file_keeps_it(tmp_path: Path) -> None:
    """By the script's own loss, on the masked target, one text by heart; drafts of the first layer are then taken."""
    sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))
    from train_draft import distances, text_of, told

    handle = llama()
    constraint = constrain.compile(constrain.regex("[a-f]{24}"), handle.vocabulary)
    given = {"constraint": constraint, "temperature": 0}
    plain = constrain.generate(handle, "red", **given)
    text = text_of(handle, handle.tokenizer("red")["input_ids"], constraint, plain)
    lens = ExitLens(handle)
    said = told(handle, text, lens.reads)
    greedy = torch.nn.functional.one_hot(said.probs.argmax(-1), said.probs.shape[1]).to(said.probs)
    said = said._replace(probs=greedy)
    before = constrain.generate(handle, "red", draft=EarlyExit(handle, keep=1, lens=lens), **given)
    untrained = constrain.generate(handle, "red", draft=EarlyExit(handle, keep=1), **given)
    assert before.stats.forwards == untrained.stats.forwards  # a lens that changes nothing
    adam = torch.optim.Adam(lens.parameters(), lr=1e-2)
    for _ in range(60):
        losses, _ = distances(lens, "kl", text, said)
        assert len(losses) == 3
        adam.zero_grad()
        torch.stack(losses).sum().backward()
        adam.step()
    lens.save(tmp_path / "lens.safetensors")
    found = constrain.generate(
        handle,
        "red",
        draft=EarlyExit(handle, keep=1, lens=ExitLens.load(tmp_path / "lens.safetensors", handle)),
        **given,
    )
    assert found.tokens == before.tokens == plain.tokens
    assert found.stats.forwards < 0.6 * before.stats.forwards
    for path, model in (("missing", handle), ("lens.safetensors", llama(2))):
        with pytest.raises(ConstrainError, match="has no lens for this model"):
            ExitLens.load(tmp_path / path, model)
