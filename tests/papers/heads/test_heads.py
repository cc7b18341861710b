"""Draft heads: their states by hand, what they learn, and decoding with them, which changes no output.

Losses of the training script by their definitions, and a copy of a model that learns to fill blanks (LUD).
"""

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers import DraftHeads, Heads, LexicalUnits
from constrain.speculative import Fixed, Speculation
from toy_model import chain_reader, tiny_gpt2, tiny_handle, tiny_llama, tiny_tokenizer

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))
handle = pytest.fixture(scope="module", name="handle")(tiny_handle)

KINDS = ["sequential", "independent"]


def random_heads(handle: HFModel, kind: str, depth: int = 3) -> DraftHeads:
    torch.manual_seed(1)
    heads = DraftHeads(handle, kind=kind, depth=depth)
    for each in heads.parameters():
        torch.nn.init.normal_(each, std=0.3)
    return heads.eval()


@pytest.mark.parametrize("kind", KINDS)
def test_states_by_hand(handle: HFModel, kind: str) -> None:
    heads = random_heads(handle, kind, depth=2)
    hidden = torch.randn(32, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    embed, head = handle.model.get_input_embeddings().weight, handle.model.get_output_embeddings().weight
    state: Any = heads.begin(hidden)
    assert torch.allclose(heads.logits(state), head @ hidden)
    expected = hidden
    for place, token in enumerate((7, 3)):
        state = heads.move(state, token)
        if kind == "sequential":
            inner = heads.inward[0].weight @ torch.cat([expected, embed[token]])  # type: ignore[operator]
            expected = expected + heads.outward[0].weight @ (inner * inner.sigmoid())  # type: ignore[operator]
        else:
            inner = heads.inward[place].weight @ hidden  # type: ignore[operator]
            expected = hidden + heads.outward[place].weight @ (inner * inner.sigmoid())  # type: ignore[operator]
        assert torch.allclose(heads.logits(state), head @ expected)
    assert heads.move(state, 1) is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_keeps_them(handle: HFModel, kind: str, tmp_path: Path) -> None:
    heads = random_heads(handle, kind)
    heads.save(tmp_path / "heads.safetensors")
    twin = DraftHeads.load(tmp_path / "heads.safetensors", handle)
    assert (twin.kind, twin.depth) == (kind, 3)
    for one, other in zip(heads.parameters(), twin.parameters(), strict=True):
        assert torch.equal(one, other)
    wide = tiny_llama(handle.tokenizer, hidden_size=64)
    with pytest.raises(ConstrainError, match="has no draft heads for this model"):
        DraftHeads.load(tmp_path / "heads.safetensors", HFModel(wide, handle.tokenizer))
    with pytest.raises(ConstrainError, match="has no draft heads for this model"):
        DraftHeads.load(tmp_path / "nothing", handle)


@pytest.mark.parametrize("options", [{"kind": "other"}, {"depth": 0}])
def test_options(handle: HFModel, options: dict[str, Any]) -> None:
    with pytest.raises(ConstrainError, match="heads are sequential or independent"):
        DraftHeads(handle, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", [tiny_llama, tiny_gpt2], ids=["llama", "gpt2"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_they_change_no_output(kind: str, family: Any, temperature: float) -> None:
    tokenizer = tiny_tokenizer()
    model = HFModel(family(tokenizer), tokenizer)
    draft = Speculation([Heads(random_heads(model, kind))], controller=Fixed(9, 5, 0.0))
    for n, prompt in ((1, "red"), (2, "green"), (3, "a")):
        given = {"regex": r"((red|green) (name|age|00)?){2,8}(\{\}|é日本)", "seed": n, "n": n, "max_tokens": 30}
        given["canonical"] = False  # of canonical tokens hardly one is left to draft
        plain = constrain.generate(model, prompt, temperature=temperature, **given)
        found = constrain.generate(model, prompt, temperature=temperature, draft=draft, **given)
        pairs = zip(found, plain, strict=True) if n > 1 else [(found, plain)]
        for one, other in pairs:
            assert one.tokens == other.tokens
            count = one.stats.drafts["heads"]
            assert count.fault is None
            assert count.drafted > 0


@pytest.mark.parametrize("method", ["lcd", "smc"])
def test_a_model_that_tells_no_hidden_states(method: str) -> None:
    """One that reads chains: heads would be given nothing, and draft nothing."""
    model = chain_reader()
    with pytest.raises(ConstrainError, match="this model tells no hidden states, which the drafter 'heads' reads"):
        constrain.generate(model, "red", regex="[a-f]{4}", draft=Heads(random_heads(model, KINDS[0])), method=method)


def test_the_hidden_states_are_those_of_the_places(handle: HFModel) -> None:
    """The hidden state of each place of a batch of trees gives the logits of that place."""
    session: Any = handle.open(2)
    session.keep_hidden = True
    trees = [np.array([3, 4, 5], np.int32), np.array([6], np.int32)]
    parents = [np.array([-1, -1, 1], np.int32), np.array([-1], np.int32)]
    logits = session.forward([[1, 2], [9]], [2, 1], trees, parents)
    head = handle.model.get_output_embeddings()
    for told, given in zip(session.hidden, logits, strict=True):
        with torch.inference_mode():
            assert torch.allclose(head(told), given, atol=1e-12)


@pytest.mark.parametrize("loss", ["kl", "tvd"])
@pytest.mark.parametrize(
    "kind", ["sequential", "medusa", "hydra", "eagle", "eagle3", "fspad", "falcon", "clover", "chimera"]
)
def test_trained_heads_are_taken(handle: HFModel, kind: str, loss: str) -> None:
    """Heads that learned one text by heart draft it: training by the script's own losses, on the masked target."""
    from train_draft import KINDS as MAKE
    from train_draft import distances, text_of, told

    deep = HFModel(tiny_llama(handle.tokenizer, num_hidden_layers=4), handle.tokenizer)
    constraint = constrain.compile(constrain.regex("[a-f]{24}"), deep.vocabulary)
    plain = constrain.generate(deep, "red", constraint=constraint, temperature=0)
    text = text_of(deep, deep.tokenizer("red")["input_ids"], constraint, plain)
    assert text.allowed[:-1].sum(-1).min() > 1
    torch.manual_seed(0)
    heads = MAKE[kind](deep).to(torch.float64)
    adam = torch.optim.Adam(heads.parameters(), lr=1e-2)
    said = told(deep, text, heads.reads)
    greedy = torch.nn.functional.one_hot(said.probs.argmax(-1), said.probs.shape[1]).to(said.probs)
    said = said._replace(probs=greedy)  # what temperature 0 takes
    for step in range(60):
        losses, _ = distances(heads, "kl" if step < 30 else loss, text, said)
        adam.zero_grad()
        torch.stack(losses).sum().backward()
        adam.step()
    found = constrain.generate(deep, "red", constraint=constraint, temperature=0, draft=[Heads(heads.eval())])
    assert found.tokens == plain.tokens
    assert found.stats.forwards < 0.6 * plain.stats.forwards


@pytest.mark.parametrize("kind", ["kl", "reverse", "jsd"])
def test_divergences(kind: str) -> None:
    """Each row by its formula, over the allowed tokens; least where the two are equal."""
    from train_draft import divergence

    rng = np.random.default_rng(3)
    allowed = torch.tensor([[True, True, True, False], [True, False, True, True], [False, True, False, False]])
    target = torch.from_numpy(rng.dirichlet(np.ones(4), 3)).masked_fill(~allowed, 0)
    target /= target.sum(-1, keepdim=True)
    guess = torch.from_numpy(rng.normal(size=(3, 4))).requires_grad_()
    found = divergence(kind, guess, target, allowed)
    total = 0.0
    for p, logits, legal in list(zip(target.tolist(), guess.tolist(), allowed.tolist(), strict=True))[:2]:
        weights = np.where(legal, np.exp(logits), 0)
        q = weights / weights.sum()
        for one, other in zip(p, q, strict=True):
            middle = (one + other) / 2
            if kind == "kl" and one:
                total -= one * np.log(other)
            if kind == "reverse" and other:
                total += other * np.log(other / one)
            if kind == "jsd" and other:
                total += (one * np.log(one / middle) + other * np.log(other / middle)) / 2
    assert found.item() == pytest.approx(total / 2, abs=1e-9)
    found.backward()
    assert guess.grad is not None
    assert bool(guess.grad.isfinite().all())
    equal = target.clamp(min=1e-9).log().requires_grad_()
    divergence(kind, equal, target, allowed).backward()
    assert equal.grad is not None
    assert float(equal.grad.abs().max()) < 1e-6


@pytest.mark.parametrize("loss", ["kl", "reverse", "jsd"])
def test_blanks_are_learned(handle: HFModel, loss: str) -> None:
    """A copy that learned one text by heart fills the blanks behind it, and drafts whole units."""
    from train_draft import Blanks, distances, text_of, told

    deep = HFModel(tiny_llama(handle.tokenizer, num_hidden_layers=2), handle.tokenizer)
    constraint = constrain.compile(constrain.regex("[a-f]{16}"), deep.vocabulary)
    plain = constrain.generate(deep, "red", constraint=constraint, temperature=0)
    text = text_of(deep, deep.tokenizer("red")["input_ids"], constraint, plain)
    torch.manual_seed(0)
    random.seed(0)
    blanks = Blanks(deep)
    adam = torch.optim.Adam(blanks.parameters(), lr=5e-3)
    said = told(deep, text, True)
    greedy = torch.nn.functional.one_hot(said.probs.argmax(-1), said.probs.shape[1]).to(said.probs)
    for step in range(80):
        losses, _ = distances(blanks, "kl" if step < 40 else loss, text, said._replace(probs=greedy))
        adam.zero_grad()
        torch.stack(losses).sum().backward()
        adam.step()
    own = HFModel(blanks.model.eval(), handle.tokenizer)
    units = LexicalUnits(own, blank=blanks.blank, span=blanks.span, sure=0.5)
    found = constrain.generate(deep, "red", constraint=constraint, temperature=0, draft=[units])
    assert found.tokens == plain.tokens
    assert found.stats.forwards < 0.7 * plain.stats.forwards
