"""Draft models that see images: what they read by whole passes on embeddings, and outputs as those without drafts."""

from typing import Any

import pytest
import torch
from speculative_cases import distribution_of

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers.drafting.seeing import Compressor, Seeing
from constrain.sampling import lcd
from constrain.speculative import Fixed, Model, Speculation
from toy_model import tiny_llama, tiny_tokenizer
from vision import build_seeing, features

GIVEN = {"regex": r"((red|green) (name|age|00|[a-d]{2})? ?){2,3}", "max_tokens": 16}


@pytest.fixture(scope="module", name="tokenizer")
def words() -> Any:
    return tiny_tokenizer()


@pytest.fixture(scope="module", name="pair")
def made(tokenizer: Any) -> tuple[Any, Any]:
    """A target, and a draft model of other weights."""
    width, end = len(tokenizer) + 5, tokenizer.eos_token_id
    return build_seeing("llava", width, end), build_seeing("llava", width, end, seed=1)


def prompts(model: Any, tokenizer: Any) -> list[dict[str, Any]]:
    texts = [("red", 1, " age 00"), ("the red green", 2, ""), ("00 age", 0, " a")]
    ids = [[tokenizer(text)["input_ids"] if text else [] for text in (before, after)] for before, _, after in texts]
    return [
        features("llava", model, one, images, two, seed)
        for seed, ((one, two), (_, images, _)) in enumerate(zip(ids, texts, strict=True))
    ]


def said(model: Any, compressor: Compressor | None, given: dict[str, Any], written: list[int]) -> torch.Tensor:
    """Logits float[W] by the definition: embeddings of text, and what the queries make of the image's tokens."""
    tokens, embed = given["input_ids"][0].tolist(), model.get_input_embeddings()
    image = model.config.image_token_index
    rows, seen = [], 0
    with torch.no_grad():
        if "pixel_values" in given:
            latents = torch.cat(list(model.get_image_features(given["pixel_values"]).pooler_output)).view(-1, 4, 32)
        for token in [*tokens, *written]:
            if token != image:
                rows.append(embed(torch.tensor([token])))
                continue
            if compressor is None:
                rows.append(latents[seen // 4, seen % 4][None])
            elif seen % 4 == 0:
                shares = (compressor.queries @ latents[seen // 4].T).softmax(-1)
                rows.append(shares @ latents[seen // 4])
            seen += 1
        return model(inputs_embeds=torch.cat(rows)[None], use_cache=False).logits[0, -1]


class Kept(Seeing):
    """Keeps every draft, with the text before it."""

    kept: list[Any]

    def propose(self, contexts: Any, budgets: Any) -> Any:
        trees = super().propose(contexts, budgets)
        self.kept += [
            (each.row, list(each.tokens[each.prompt :]), tree) for each, tree in zip(contexts, trees, strict=True)
        ]
        return trees


@pytest.mark.parametrize("count", [None, 1, 2, 4])
def test_drafts_are_of_what_the_queries_see(pair: Any, tokenizer: Any, count: int | None) -> None:
    """Every stated distribution, masked, is that of a pass over embeddings that are put together by hand."""
    target, draft = pair
    torch.manual_seed(2)
    compressor = None if count is None else Compressor(32, count)
    drafter = Kept((draft, tokenizer), compressor)
    drafter.kept = []
    every = prompts(target, tokenizer)
    draft_ = Speculation([drafter], verifier="token", controller=Fixed(4, 4, 0.0))
    outputs = constrain.generate(target, every, tokenizer=tokenizer, draft=draft_, seed=1, **GIVEN)
    assert not any(each.stats.drafts["seeing"].fault for each in outputs)
    drafted = [(row, text, tree) for row, text, tree in drafter.kept if len(tree.tokens)]
    assert {row for row, _, _ in drafted} == {0, 1, 2}
    for row, text, tree in drafted:
        for place, probs in enumerate(tree.draft_probs):
            logits = said(draft, compressor, every[row], [*text, *tree.tokens[:place].tolist()])[: len(probs)]
            logits = logits.masked_fill(probs == 0, -torch.inf)
            torch.testing.assert_close(probs.to(logits), logits.softmax(-1), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_outputs_are_those_without_drafts(pair: Any, tokenizer: Any, temperature: float) -> None:
    """The target itself is taken whole at temperature 0; a draft model by name of `draft` sees, too."""
    target, draft = pair
    every = prompts(target, tokenizer)
    given: dict[str, Any] = {**GIVEN, "tokenizer": tokenizer, "temperature": temperature, "n": 2, "seed": 3}
    plain = constrain.generate(target, every, draft=False, **given)
    few = Seeing((draft, tokenizer), Compressor(32, 2))
    for drafts, name, whole in (
        (draft, "model", False), (target, "model", True), ([few], "seeing", False),
        ([Seeing((target, tokenizer))], "seeing", True),
    ):  # fmt: skip
        found = constrain.generate(target, every, draft=drafts, **given)
        for group, twins in zip(found, plain, strict=True):
            assert [each.tokens for each in group] == [each.tokens for each in twins]
        counts = [each.stats.drafts[name] for group in found for each in group]
        assert not any(count.fault for count in counts)
        assert all(count.drafted > 0 for count in counts)
        if whole and temperature == 0:
            assert all(count.accepted == count.drafted for count in counts)


@pytest.mark.parametrize("rule", ["match", "token"])
def test_the_distribution_is_kept(pair: Any, tokenizer: Any, rule: str) -> None:
    """Every way in which draws of draft and rule can turn out, after a prompt with an image."""
    from constrain.models.hf.images import ImageModel, image_prompt

    target, draft = pair
    handle = ImageModel.seeing(HFModel(target, tokenizer))
    prompt = handle.seen(image_prompt(prompts(target, tokenizer)[0], target, "the prompt"))

    def distribution(method: Any) -> dict[tuple[int, ...], float]:
        return distribution_of(method, handle, prompt, "[ab]{1,2}", 3)

    seeing = Seeing((draft, tokenizer), Compressor(32, 2))
    beside = Model(handle.beside(HFModel(draft, tokenizer)))
    for drafter in (seeing, beside):
        found = distribution(Speculation([drafter], verifier=rule, controller=Fixed(2, 2, 0.0)))
        assert found == pytest.approx(distribution(lcd), abs=1e-6)


def test_what_cannot_be_done(tokenizer: Any) -> None:
    with pytest.raises(ConstrainError, match="LlamaForCausalLM takes no images"):
        Seeing((tiny_llama(tokenizer), tokenizer))
    grid = build_seeing("qwen2_vl", len(tokenizer) + 5, tokenizer.eos_token_id)
    with pytest.raises(ConstrainError, match="has no multi_modal_projector"):
        Seeing((grid, tokenizer), Compressor(32, 2))
    with pytest.raises(ConstrainError, match="count"):
        Compressor(32, 0)


def test_nothing_is_drafted_for_prompts_of_text(pair: Any, tokenizer: Any) -> None:
    given = {"regex": "[ab]{4}", "draft": [Seeing((pair[1], tokenizer))], "seed": 1}
    output = constrain.generate(tiny_llama(tokenizer), "red", tokenizer=tokenizer, **given)
    assert output.stats.drafts["seeing"] == output.stats.drafts["seeing"].__class__(0, 0, 0, None)
