"""Vision-language models in `generate`: log-probabilities are those of plain forwards over prompt, images and text."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from law_cases import check_laws

import constrain
from constrain.errors import ConstrainError
from constrain.generation import Prompt
from constrain.generation.result import Generation
from constrain.models.hf import HFModel
from constrain.models.hf import images as hf_images
from constrain.models.hf.images import ImageModel, image_prompt
from constrain.sampling import METHODS, canonical
from toy_model import tiny_llama, tiny_tokenizer
from vision import OFTEN, SEEING, build_seeing, features

REGEX = r"((red|green) (name|age|00|[a-d]{2})? ?){2,3}(\{\}|é日本)"
GIVEN = {"regex": REGEX, "max_tokens": 20, "seed": 5, "canonical": True}
BOTH_WAYS = {"paligemma"}  # read their prompts in both directions
FAMILIES = [
    name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in SEEING if name not in BOTH_WAYS
]
QUICK = {"lcd", "smc", "exact"}  # methods; the others are tested with the slow tests


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny_tokenizer()


class Pictured:
    """A model, and prompts of it: text, images, text."""

    def __init__(self, name: str, tokenizer: Any, seed: int = 0) -> None:
        self.name, self.tokenizer = name, tokenizer
        self.model = build_seeing(name, len(tokenizer) + 5, tokenizer.eos_token_id, seed)
        self.prompts = [("red", 1, " age 00", 1), ('the {"age": 00} red green', 2, "", 2), ("00 age", 0, " a", 3)]

    def features(self, place: int, written: list[int] | None = None) -> dict[str, Any]:
        """A processor's features of a prompt, and of an output behind it as if it were text of the prompt."""
        before, images, after, seed = self.prompts[place]
        ids = [self.tokenizer(text)["input_ids"] if text else [] for text in (before, after)]
        return features(self.name, self.model, ids[0], images, [*ids[1], *(written or [])], seed)

    def log_probs(self, place: int, tokens: list[int]) -> torch.Tensor:
        """log p of every token after the prompt and after each of these: float[1 + tokens, width]."""
        with torch.inference_mode():
            output = self.model(**self.features(place, tokens), use_cache=False)
        return output.logits[0, -len(tokens) - 1 :].log_softmax(-1)

    def check(self, place: int, output: Generation[Any]) -> None:
        expected = self.log_probs(place, output.tokens)[range(len(output.tokens)), output.tokens]
        found = torch.tensor([record.log_prob_raw for record in output.trace])
        torch.testing.assert_close(found, expected, rtol=2e-4, atol=2e-4)

    def greedy(self, place: int, regex: str, most: int) -> list[int]:
        """Masked greedy decoding of canonical tokens by whole forwards."""
        handle = HFModel.of(self.model, self.tokenizer)
        compiled = constrain.compile(constrain.regex(regex), handle.vocabulary)
        matcher = canonical(compiled, self.tokenizer).matcher()
        row, written = np.zeros(handle.vocabulary.words, np.uint32), []
        while len(written) < most and written[-1:] != [self.tokenizer.eos_token_id]:
            matcher.fill_mask(row)
            allowed = np.unpackbits(row.view(np.uint8), bitorder="little")[: handle.width].astype(bool)
            logits = self.log_probs(place, written)[-1].masked_fill(~torch.from_numpy(allowed), -math.inf)
            written.append(int(logits.argmax()))
            matcher.advance(written[-1])
        return written


@pytest.fixture(scope="module")
def llava(tokenizer: Any) -> Pictured:
    return Pictured("llava", tokenizer)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("anew", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_batches_forks_and_drafts_change_nothing(
    name: str, anew: bool, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictured = Pictured(name, tokenizer)
    if anew:
        monkeypatch.setattr(ImageModel, "goes_on", lambda self, name: False)
    places = range(len(pictured.prompts))

    def run(places: Any, **options: Any) -> list[list[list[int]]]:
        several = [pictured.features(place) for place in places]
        found = constrain.generate(pictured.model, several, tokenizer=tokenizer, **{**GIVEN, **options})
        groups = [[each] if isinstance(each, Generation) else list(each) for each in found]
        for place, group in zip(places, groups, strict=True):
            for output in group:
                pictured.check(place, output)
        counts = [count for group in groups for each in group for count in each.stats.drafts.values()]
        assert not any(count.fault for count in counts)
        assert bool(options.get("draft")) == bool(sum(count.drafted for count in counts))
        return [[each.tokens for each in group] for group in groups]

    greedy = run(places, temperature=0)
    assert greedy == [[pictured.greedy(place, REGEX, 20)] for place in places]
    assert greedy == [run([place], temperature=0)[0] for place in places]
    if not anew:  # that text is read right on what is remembered of a prompt
        assert all(hf_images._goes_on[pictured.model].values())
    both = run([0, 1], n=2)
    assert run([0, 1], n=2, draft=["lookup", "words"]) == both
    (one,) = constrain.generate(pictured.model, [pictured.features(1)], tokenizer=tokenizer, **GIVEN)
    assert one.tokens == run([1], n=3)[0][0]
    text = {"regex": "(red|green)+", "max_tokens": 6, "temperature": 0, "tokenizer": tokenizer}
    fresh = constrain.generate(build_seeing(name, len(tokenizer) + 5, tokenizer.eos_token_id), "red", **text)
    assert constrain.generate(pictured.model, "red", **text).tokens == fresh.tokens  # nothing is left of images


@pytest.mark.parametrize(
    "method", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in sorted(METHODS)]
)
def test_every_method(llava: Pictured, method: str) -> None:
    """Log-probabilities are those of the model, and drafts change no output."""
    given = {"regex": "(red|blue) [ab]|00", "method": method, "n": 2, "seed": 3, "max_tokens": 8}
    prompts = [llava.features(0), llava.features(1)]
    plain = constrain.generate(llava.model, prompts, tokenizer=llava.tokenizer, **given)
    drafted = constrain.generate(llava.model, prompts, tokenizer=llava.tokenizer, **given, draft=["words", "lookup"])
    for place, (group, twins) in enumerate(zip(plain, drafted, strict=True)):
        for output, twin in zip(group, twins, strict=True):
            llava.check(place, output)
            llava.check(place, twin)
        assert [each.tokens for each in group] == [each.tokens for each in twins]


@pytest.mark.parametrize("name", ["qwen2_vl", pytest.param("gemma3", marks=pytest.mark.slow)])
def test_laws_by_enumeration(name: str) -> None:
    """After a prompt with an image."""
    model = build_seeing(name, 10, 3).double()
    handle = ImageModel.seeing(HFModel(model, None))
    prompt = handle.seen(image_prompt(features(name, model, [1, 2], 1, [0], 7), model, "the prompt"))

    def mass(tokens: tuple[int, ...]) -> float:
        given = features(name, model, [1, 2], 1, [0, *tokens], 7)
        given["pixel_values"] = given["pixel_values"].double()
        with torch.inference_mode():
            rows = model(**given, use_cache=False).logits[0, -len(tokens) - 1 : -1].log_softmax(-1)
        return math.exp(float(rows[range(len(tokens)), list(tokens)].sum()))

    check_laws(handle, prompt, mass, more=6)


def test_images_are_read_once_a_prompt(llava: Pictured) -> None:
    seen: list[torch.Tensor] = []
    hook = llava.model.register_forward_pre_hook(
        lambda _, given, named: seen.append(named["input_ids"]) if "pixel_values" in named else None, with_kwargs=True
    )
    try:
        prompts = [llava.features(place) for place in (0, 1, 0)]
        constrain.generate(llava.model, prompts[:1], tokenizer=llava.tokenizer, **GIVEN)  # tries the model
        seen.clear()
        constrain.generate(llava.model, prompts, tokenizer=llava.tokenizer, **GIVEN, n=3, method="smc")
    finally:
        hook.remove()
    lengths = [llava.features(place)["input_ids"].shape[1] for place in (0, 1)]
    assert sorted(len(each[0]) for each in seen) == sorted(lengths)


def test_other_images_are_other_targets(llava: Pictured) -> None:
    memory = constrain.sampling.Memory()
    outputs = []
    for seed in (1, 8):
        made = features("llava", llava.model, [5, 6], 1, [7], seed)
        given = {"regex": "[ab]{2}", "method": constrain.sampling.CARS(memory=memory), "seed": 1, "max_tokens": 4}
        outputs.append(constrain.generate(llava.model, made, tokenizer=llava.tokenizer, **given))
    assert outputs[0].logprob != outputs[1].logprob


def test_healing_takes_the_last_token_back(llava: Pictured) -> None:
    given = {"regex": "(0|1)+", "seed": 2, "max_tokens": 6}
    healed = Prompt(llava.features(0), healing=True)
    output = constrain.generate(llava.model, healed, tokenizer=llava.tokenizer, **given)
    llava.prompts.append(("red", 1, " age ", 1))  # the prompt without its last token, "00"
    before = llava.features(len(llava.prompts) - 1)["input_ids"][0].tolist()
    assert llava.features(0)["input_ids"][0].tolist()[: len(before)] == before
    llava.check(len(llava.prompts) - 1, output)
    llava.prompts.pop()


def processor_of(tokenizer: Any, model: Any, chat_template: str | None = None) -> Any:
    """LLaVA's own processor, with an image token that the model knows."""
    from transformers import CLIPImageProcessorPil, LlavaProcessor

    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    model.config.image_token_index = model.config.image_token_id = tokenizer.convert_tokens_to_ids("<image>")
    size = {"height": 8, "width": 8}
    return LlavaProcessor(
        CLIPImageProcessorPil(size=size, crop_size=size), tokenizer, patch_size=4, image_token="<image>",
        vision_feature_select_strategy="default", num_additional_image_tokens=1, chat_template=chat_template,
    )  # fmt: skip


def pictures(count: int) -> list[Any]:
    from PIL import Image

    rng = np.random.default_rng(4)
    return [Image.fromarray(rng.integers(0, 255, (9, 10, 3), dtype=np.uint8)) for _ in range(count)]


TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}<image>{% else %}{{ c['text'] }}{% endif %}{% endfor %} {% endfor %}"
)


@pytest.fixture(scope="module")
def processed() -> tuple[Any, Any]:
    tokenizer = tiny_tokenizer()
    model = build_seeing("llava", len(tokenizer) + 5, tokenizer.eos_token_id)
    return model, processor_of(tokenizer, model, TEMPLATE)


@pytest.mark.slow
def test_images_go_through_the_processor(processed: tuple[Any, Any]) -> None:
    model, processor = processed
    one, two = pictures(2)
    given = {"regex": "(red|green){2}", "seed": 3, "tokenizer": processor}
    texts = ["red <image> age", "<image><image> 00", "red"]
    prompts = [Prompt(text, images=seen) for text, seen in zip(texts, [one, [one, two], None], strict=True)]
    together = constrain.generate(model, prompts, **given)
    alone = [constrain.generate(model, prompts[0], **given)]
    assert together[0].tokens == alone[0].tokens  # the other rows draw from other streams of the seed
    greedy = [
        constrain.generate(model, prompts, temperature=0, **given),
        [constrain.generate(model, prompt, temperature=0, **given) for prompt in prompts],
    ]
    for mine, theirs in zip(*greedy, strict=True):
        assert mine.tokens == theirs.tokens
        assert mine.logprob == pytest.approx(theirs.logprob, abs=1e-4)
    made = processor(text=[texts[1]], images=[[one, two]], return_tensors="pt")
    assert constrain.generate(model, made, temperature=0, **given).logprob == pytest.approx(greedy[0][1].logprob)
    first = constrain.generate(model, Prompt(texts[0], images=[one]), method="argmax", n=8, **given)
    other = constrain.generate(model, Prompt(texts[0], images=[two]), method="argmax", n=8, **given)
    assert [each.logprob for each in first] != [each.logprob for each in other]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["red", "<image><image>"])
def test_placeholders_and_images_are_counted(processed: tuple[Any, Any], text: str) -> None:
    model, processor = processed
    with pytest.raises(ConstrainError, match="the processor refuses the prompt with 1 images") as caught:
        constrain.generate(model, Prompt(text, images=pictures(1)), tokenizer=processor, regex="a")
    assert caught.value.place == "images"


@pytest.mark.slow
def test_chat_messages_with_images(processed: tuple[Any, Any]) -> None:
    model, processor = processed
    (image,) = pictures(1)
    messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "red?"}]}]
    given = {"regex": "(red|green){2}", "seed": 3, "tokenizer": processor}
    output = constrain.generate(model, Prompt(messages, images=[image]), **given)
    made = processor(text=["user: <image>red? "], images=[[image]], add_special_tokens=False, return_tensors="pt")
    assert output.tokens == constrain.generate(model, made, **given).tokens


def test_what_is_refused(llava: Pictured) -> None:
    """Before a forward, and with the place."""
    calls: list[int] = []
    hook = llava.model.register_forward_pre_hook(lambda *_: calls.append(1))
    (image,) = pictures(1)
    tokenizer, made = llava.tokenizer, llava.features(0)
    given = {"regex": "a", "tokenizer": tokenizer}

    def refused(message: str, *arguments: Any, **options: Any) -> None:
        with pytest.raises(ConstrainError, match=message) as caught:
            constrain.generate(*arguments, **{**given, **options})
        assert caught.value.place and (caught.value.fix or "transformers" in message)

    blind_model = tiny_llama(tokenizer)
    refused("LlamaForCausalLM takes no images", blind_model, Prompt("red", images=[image]))
    refused("LlamaForCausalLM takes no images, and the prompt has pixel_values", blind_model, made)
    refused("images need the processor of LlavaForConditionalGeneration", llava.model, Prompt("red", images=[image]))
    refused("images has 'cat.png'", llava.model, Prompt("red", images=["cat.png"]))
    refused("the prompt is token ids or a processor's output", llava.model, Prompt([5, 6], images=[image]))
    blind = features("llava", llava.model, [5], 0, [], 1) | {"pixel_values": made["pixel_values"]}
    refused("the prompt has images, and no token that stands for one", llava.model, blind)
    two = {**made, "input_ids": made["input_ids"].repeat(2, 1)}
    refused("the prompt has input_ids of shape", llava.model, two)
    padded = {**made, "attention_mask": 1 - made["attention_mask"]}
    refused("the prompt is padded", llava.model, padded)
    refused("the prompt has image_grid_thw, which Llava", llava.model, {**made, "image_grid_thw": torch.ones(1, 3)})
    bare = {"input_ids": made["input_ids"]}
    refused("the prompt has 4 placeholders of images, and no image", llava.model, bare)
    refused("prompt 1 has 4 placeholders of images, and no image", llava.model, [made, bare])
    refused("LlamaForCausalLM cannot draft for a prompt with images", llava.model, made, draft=blind_model)
    assert not calls
    hook.remove()
    wrong = {**made, "pixel_values": made["pixel_values"].repeat(3, 1, 1, 1)}
    refused("LlavaForConditionalGeneration refuses the images of a prompt", llava.model, wrong)
    with pytest.raises(ConstrainError, match="only generate reads images"):
        constrain.score(llava.model, made, ["a"], tokenizer=tokenizer)


def test_prompts_read_in_both_directions_are_refused(tokenizer: Any) -> None:
    pictured = Pictured("paligemma", tokenizer)
    with pytest.raises(ConstrainError, match="PaliGemmaForConditionalGeneration reads its prompt in both directions"):
        constrain.generate(pictured.model, pictured.features(0), tokenizer=tokenizer, regex="a")


@pytest.mark.slow
def test_a_model_by_name(processed: tuple[Any, Any], tmp_path: Any) -> None:
    model, processor = processed
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    handle = HFModel.of(str(tmp_path))
    assert handle.processor is not None and type(handle.model) is type(model)
    given = {"regex": "(red|green){2}", "seed": 3}
    prompt = Prompt("red <image>", images=pictures(1))
    ours = constrain.generate(model, prompt, tokenizer=processor, **given)
    assert constrain.generate(str(tmp_path), prompt, **given).tokens == ours.tokens
