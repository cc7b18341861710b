"""Encoder-decoders: what a causal model's sequences promise holds for what their decoders write.

The oracle is one forward of the whole model over the prompt and the output, without a batch, a cache or forks.
"""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from law_cases import check_laws
from test_architectures import DOCUMENTED

import constrain
from architectures import ENCODING, ENCODING_OFTEN, build_encoding, row_of
from constrain.errors import ConstrainError
from constrain.generation import Generation
from constrain.models.hf import HFModel
from constrain.models.hf.cache import CrossLayer
from constrain.models.hf.encoder_decoder import EncoderDecoder
from constrain.sampling import METHODS
from constrain.sampling.core.sources import tokens_of
from constrain.sampling.processors import Repetition
from toy_model import tiny_llama, tiny_tokenizer

REGEX = r"((red|green) (name|age|00|[a-d]{2})? ?){2,4}(\{\}|é日本)"
PROMPTS = ["red", 'the green name: {"age": 00} {"age": 00} red green', "00 age"]
GIVEN = {"regex": REGEX, "max_tokens": 24, "seed": 5}
LONG = {"rejection", "mcmc", "argmax", "cars", "asap"}  # methods whose tests take seconds


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny_tokenizer()


@pytest.fixture(scope="module")
def documented(repository: Path) -> list[str]:
    return (repository / "docs" / "models.md").read_text(encoding="utf-8").splitlines()


def handle_of(name: str, tokenizer: Any, seed: int = 0) -> EncoderDecoder:
    handle = HFModel.of(build_encoding(name, len(tokenizer) + 5, tokenizer.eos_token_id, seed), tokenizer)
    assert isinstance(handle, EncoderDecoder)
    return handle


@pytest.fixture(scope="module")
def bart(tokenizer: Any) -> EncoderDecoder:
    return handle_of("bart", tokenizer)


def log_probs(handle: EncoderDecoder, prompt: list[int], tokens: list[int]) -> torch.Tensor:
    """log p of each token of an output."""
    written = torch.tensor([[*handle.begin, *tokens]], device=handle.model.device)
    with torch.inference_mode():
        output = handle.model(
            input_ids=torch.tensor([prompt], device=handle.model.device), decoder_input_ids=written, use_cache=False
        )
    rows = output.logits[0, len(handle.begin) - 1 : -1].log_softmax(-1)
    return rows[range(len(tokens)), tokens]


def check(handle: EncoderDecoder, prompt: str, outputs: list[Generation[Any]]) -> None:
    for output in outputs:
        expected = log_probs(handle, handle.tokenizer(prompt)["input_ids"], output.tokens)
        found = torch.tensor([record.log_prob_raw for record in output.trace])
        torch.testing.assert_close(found, expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(
    "name", [name if name in ENCODING_OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in ENCODING]
)
def test_batches_padding_forks_and_drafts_change_nothing(name: str, tokenizer: Any, documented: list[str]) -> None:
    handle = handle_of(name, tokenizer)
    drafter = handle_of(name, tokenizer, seed=1)

    def run(prompts: Any, **options: Any) -> list[list[list[int]]]:
        found = constrain.generate(handle, prompts, **{**GIVEN, **options})
        groups = [found] if isinstance(prompts, str) else list(found)
        groups = [[each] if isinstance(each, Generation) else list(each) for each in groups]
        for prompt, group in zip([prompts] if isinstance(prompts, str) else prompts, groups, strict=True):
            check(handle, prompt, group)
        counts = [count for group in groups for each in group for count in each.stats.drafts.values()]
        assert not any(count.fault for count in counts)
        assert bool(options.get("draft")) == bool(sum(count.drafted for count in counts))
        return [[each.tokens for each in group] for group in groups]

    assert run(PROMPTS, temperature=0) == [run(prompt, temperature=0)[0] for prompt in PROMPTS]
    ((one,),) = run(PROMPTS[1])
    assert run(PROMPTS[1], n=3)[0][0] == one
    both = run(PROMPTS[:2], n=2)
    assert run(PROMPTS[:2], n=2, draft=["lookup", "words", drafter]) == both
    if transformers.__version__.startswith(DOCUMENTED):
        assert row_of(handle) in documented


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in sorted(METHODS)]
)
def test_every_method(bart: EncoderDecoder, name: str) -> None:
    """Log-probabilities are those of the model, and drafts change no output."""
    given = {"regex": "(red|blue) [ab]|00", "method": name, "n": 2, "seed": 3, "max_tokens": 8}
    outputs = constrain.generate(bart, PROMPTS[:2], **given)
    for prompt, group in zip(PROMPTS, outputs, strict=False):
        check(bart, prompt, list(group))
    drafted = constrain.generate(bart, PROMPTS[:2], **given, draft=["words", "lookup"])
    for prompt, group in zip(PROMPTS, drafted, strict=False):
        check(bart, prompt, list(group))
    assert [[each.tokens for each in group] for group in drafted] == [
        [each.tokens for each in group] for group in outputs
    ]


@pytest.mark.parametrize("name", ["t5", "bart"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_laws_by_enumeration(name: str, seed: int) -> None:
    handle = EncoderDecoder(build_encoding(name, 4, 3, seed).double(), None)
    prompt = [1, 2, 0, 1 + seed % 2]
    mass = lambda tokens: math.exp(float(log_probs(handle, prompt, [*tokens]).sum()))  # noqa: E731
    check_laws(handle, handle.begun(prompt, "the prompt"), mass)


def test_the_encoder_reads_each_prompt_once(bart: EncoderDecoder) -> None:
    read: list[torch.Tensor] = []
    hook = bart.model.get_encoder().register_forward_pre_hook(
        lambda _, given, named: read.append(named["input_ids"]), with_kwargs=True
    )
    try:
        _ = bart.reading
        read.clear()
        prompts = ["red", "blue", "red", PROMPTS[1]]
        constrain.generate(bart, prompts, **GIVEN, n=3, method="smc")
    finally:
        hook.remove()
    texts = {tuple(bart.tokenizer(prompt)["input_ids"]) for prompt in prompts}
    assert sorted(tuple(row.tolist()) for batch in read for row in batch) == sorted(texts)


def test_forks_share_what_the_encoder_read(bart: EncoderDecoder) -> None:
    prompts = [bart.begun(bart.tokenizer(prompt)["input_ids"], prompt) for prompt in PROMPTS[:2]]
    session, _ = bart.start(prompts, [1, 1])
    fork = session.fork([1, 1, 0])
    twin = fork.fork([2, 0])
    for each, rows in ((fork, [1, 1, 0]), (twin, [0, 1])):
        inner = each.groups[0] if hasattr(each, "groups") else each
        layers = inner.cache.cross_attention_cache.layers
        assert all(isinstance(layer, CrossLayer) and layer.stems.tolist() == rows for layer in layers)
    ours, theirs = (each.groups[0] if hasattr(each, "groups") else each for each in (fork, twin))
    assert all(
        a.stem_keys is b.stem_keys
        for a, b in zip(ours.cache.cross_attention_cache.layers, theirs.cache.cross_attention_cache.layers, strict=True)
    )


def test_calls_forget_their_prompts(bart: EncoderDecoder) -> None:
    before = dict(bart.sources.known)
    constrain.generate(bart, "a prompt of its own", regex="ab", seed=1)
    assert bart.sources.known == before


def test_processors_see_the_decoder(bart: EncoderDecoder) -> None:
    """Names of prompts are no tokens: a penalty on the prompt's tokens is one on what the decoder began with."""
    seen = []

    def look(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        seen.append(input_ids[0].tolist())
        return scores

    output = constrain.generate(bart, "red", regex="[ab]{3}", processors=[look, Repetition(1.5)], seed=1)
    assert seen[0] == bart.begin
    assert all(ids == [*bart.begin, *output.tokens[: len(ids) - len(bart.begin)]] for ids in seen)


def test_drafts_copy_from_the_prompt(bart: EncoderDecoder) -> None:
    text = "the green name 00 age red {}"
    given = {"choices": [text, text[::-1]], "draft": "lookup", "seed": 1, "temperature": 0}
    output = constrain.generate(bart, text, canonical=False, **given)
    assert output.stats.drafts["lookup"].drafted > 0
    forced = constrain.generate(bart, text, **given)  # one token tells the texts apart, and no draft is needed
    assert forced.stats.forwards <= 2
    assert forced.stats.forced == forced.stats.tokens - 1


def test_a_model_by_name(tokenizer: Any, tmp_path: Path) -> None:
    handle_of("t5", tokenizer).model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert isinstance(HFModel.of(str(tmp_path)), EncoderDecoder)
    assert constrain.generate(str(tmp_path), "red", regex="ab", seed=1).text == "ab"


def test_what_is_refused(bart: EncoderDecoder, tokenizer: Any) -> None:
    with pytest.raises(ConstrainError, match="asked to go on without a text for its encoder"):
        bart.start([[5, 6]], [1])
    with pytest.raises(ConstrainError, match=r"the prompt has 300 tokens, and the model's encoder has 256 positions"):
        constrain.generate(bart, [5] * 300, regex="a")
    with pytest.raises(ConstrainError, match="LlamaForCausalLM cannot draft for BartForConditionalGeneration"):
        constrain.generate(bart, "red", regex="a", draft=tiny_llama(tokenizer))
    with pytest.raises(ConstrainError, match="BartForConditionalGeneration cannot draft for LlamaForCausalLM"):
        constrain.generate(tiny_llama(tokenizer), "red", tokenizer=tokenizer, regex="a", draft=bart)
    other = HFModel.of(bart.model, tiny_tokenizer())
    assert tokens_of(other.begun([5], "it")) == other.begin
