"""Drafts that a head ends: by hand, their distribution by enumeration, and that it learns the chance it is trained
for."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from speculative_cases import distribution_of

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.models.hf.hidden import watched
from constrain.papers.heads import AcceptanceHead, StoppedModel
from constrain.sampling import lcd
from constrain.speculative import Fixed, Model, Speculation
from toy_model import tiny_handle, tiny_llama, tiny_mistral, tiny_tokenizer

handle = pytest.fixture(scope="module", name="handle")(tiny_handle)


def random_head(seed: int = 1) -> AcceptanceHead:
    torch.manual_seed(seed)
    head = AcceptanceHead(32, layers=1).to(torch.float64)
    for each in head.parameters():
        torch.nn.init.normal_(each, std=0.4)
    return head.eval()


def generate(handle: HFModel, drafter: Any, **given: Any) -> Any:
    speculation = None if drafter is None else Speculation([drafter], controller=Fixed(12, 6, 0.0))
    return constrain.generate(handle, "red", regex="[a-f]{10,14}", draft=speculation, max_tokens=20, **given)


def test_drafts_end_where_the_product_is_below_the_bound(handle: HFModel) -> None:
    """The lengths of drafts follow from the head's chances over the text, computed apart."""
    head, lengths = random_head(), []

    class Watching(StoppedModel):
        def propose(self, contexts: Any, budgets: Any) -> Any:
            trees = super().propose(contexts, budgets)
            lengths.extend((list(c.tokens), t.tokens.tolist()) for c, t in zip(contexts, trees, strict=True))
            return trees

    found = generate(handle, Watching(handle, head, sure=0.2), temperature=0.0)
    assert found.tokens == generate(handle, None, temperature=0.0).tokens
    assert found.stats.drafts["model"].fault is None
    ended = 0
    for text, drafted in lengths:
        with torch.inference_mode(), watched(handle, True) as states:
            handle.model(input_ids=torch.tensor([[*text, *drafted]]))
            chances = head(states[0][0][len(text) :]).sigmoid()
        products = chances.cumprod(0).tolist()
        assert all(product >= 0.2 for product in products[:-1])
        ended += bool(products) and products[-1] < 0.2
    assert ended


SLOW = [pytest.param(rule, marks=pytest.mark.slow) for rule in ("token", "block")]  # every way in which drafts turn out


@pytest.mark.parametrize("verifier", ["match", *SLOW])
def test_stopping_by_a_head_leaves_the_law(handle: HFModel, verifier: str) -> None:
    """Every way in which draws of draft and rule can turn out, of a real model over two letters."""
    prompt = handle.tokenizer("red")["input_ids"]

    def law(method: Any) -> dict[tuple[int, ...], float]:
        return distribution_of(method, handle, prompt, "[ab]{1,3}", 4)

    # Another draft model than the target: some of its layers are other ones.
    other = HFModel(tiny_llama(handle.tokenizer, num_hidden_layers=1), handle.tokenizer)
    drafter = StoppedModel(other, random_head(2), sure=0.4)
    expected = law(lcd)
    assert law(Speculation([drafter], verifier=verifier, controller=Fixed(3, 3, 0.0))) == pytest.approx(
        expected, abs=1e-9
    )
    assert len(expected) > 4


def test_a_bound_of_zero_and_one(handle: HFModel) -> None:
    head = random_head()
    plain, never, always = (
        generate(handle, each, temperature=0.0)
        for each in (Model(handle), StoppedModel(handle, head, sure=0.0), StoppedModel(handle, head, sure=1.0))
    )
    assert never.stats.drafts["model"].drafted == plain.stats.drafts["model"].drafted
    assert never.stats.forwards == plain.stats.forwards < always.stats.forwards  # one token a draft
    assert always.tokens == plain.tokens


def test_the_head_learns_chances_and_a_file_keeps_it(tmp_path: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))
    from argparse import Namespace

    from train_acceptance import train

    rng = torch.Generator().manual_seed(0)
    hidden = torch.randn(2000, 4, generator=rng)
    chances = (hidden[:, 0] * 2).sigmoid()
    torch.manual_seed(0)
    head = AcceptanceHead(4)
    train(head, hidden, chances, Namespace(epochs=20, rate=3e-3))
    with torch.no_grad():
        said = head(hidden).sigmoid()
    assert float(((said - chances) ** 2).mean()) < 0.05 * float(chances.var())
    head.save(tmp_path / "head.safetensors")
    twin = AcceptanceHead.load(tmp_path / "head.safetensors")
    with torch.no_grad():
        assert torch.equal(twin(hidden).sigmoid(), said)


def test_models_that_tell_nothing() -> None:
    tokenizer = tiny_tokenizer()
    with pytest.raises(ConstrainError, match="does not read ragged batches"):
        StoppedModel(HFModel(tiny_mistral(tokenizer), tokenizer), random_head())
