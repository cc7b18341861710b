"""Every family of causal language models: a batch, padding, several outputs and drafts change nothing.

The oracle reads the whole text of each output at once, without a cache or padding, in the model alone. The table in
docs/models.md says how each family is read; a row here is a row there.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import constrain
from architectures import FAMILIES, OFTEN, build, missing, row_of
from constrain.errors import ConstrainError
from constrain.generation import Generation
from constrain.models.hf import HFModel
from toy_model import tiny_llama, tiny_tokenizer

REGEX = r"((red|green) (name|age|00|[a-d]{2})? ?){2,4}(\{\}|é日本)"
PROMPTS = ["red", 'the green name: {"age": 00} {"age": 00} red green', "00 age"]
GIVEN = {"regex": REGEX, "max_tokens": 24, "seed": 5}
DOCUMENTED = "5.23"  # the transformers of docs/models.md
TOLERANCE = {"zamba2": 2e-3}  # its own steps in a cache differ so much from its whole forwards


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny_tokenizer()


@pytest.fixture(scope="module")
def drafter(tokenizer: Any) -> Any:
    """A model that drafts, and is right now and then."""
    return tiny_llama(tokenizer, seed=5)


@pytest.fixture(scope="module")
def documented(repository: Path) -> list[str]:
    return (repository / "docs" / "models.md").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in FAMILIES]
)
def test_batches_padding_forks_and_drafts_change_nothing(
    name: str, tokenizer: Any, drafter: Any, documented: list[str]
) -> None:
    if reason := missing(name):
        pytest.skip(f"{name}: {reason}")
    handle = HFModel(build(name, len(tokenizer) + 5, tokenizer.eos_token_id), tokenizer)

    def run(prompts: Any, **options: Any) -> list[list[int]]:
        return [each.tokens for each in outputs_of(handle, prompts, TOLERANCE.get(name, 2e-4), **options)]

    assert run(PROMPTS, temperature=0) == [run(prompt, temperature=0)[0] for prompt in PROMPTS]
    (one,) = run(PROMPTS[1])
    assert run(PROMPTS[1], n=3)[0] == one
    both = run(PROMPTS[:2], n=2)
    assert run(PROMPTS[:2], n=2, draft=["lookup", "words", drafter]) == both
    if transformers.__version__.startswith(DOCUMENTED):
        assert row_of(handle) in documented


def outputs_of(handle: HFModel, prompts: Any, tolerance: float, **options: Any) -> list[Generation]:
    """Generate, and check every log-probability and the counts of accepted and refused drafts."""
    found = constrain.generate(handle, prompts, **{**GIVEN, **options})
    groups = found if isinstance(found, list) else [found]  # one for each prompt
    outputs = [each for group in groups for each in ([group] if isinstance(group, Generation) else group)]
    asked = [prompts] if isinstance(prompts, str) else prompts
    for place, output in enumerate(outputs):
        prompt = asked[place * len(asked) // len(outputs)]
        check(handle, handle.tokenizer(prompt)["input_ids"], output, tolerance)
    if "draft" in options:
        counts = [count for output in outputs for count in output.stats.drafts.values()]
        assert not any(count.fault for count in counts)
        assert 0 < sum(count.accepted for count in counts) < sum(count.drafted for count in counts)
    return outputs


def check(handle: HFModel, prompt: list[int], output: Generation, tolerance: float) -> None:
    """Log-probabilities of the model, from one forward over prompt and output."""
    with torch.inference_mode():
        ids = torch.tensor([[*prompt, *output.tokens]])
        logits = handle.model(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1]
    expected = logits.float().log_softmax(-1)[range(len(output.tokens)), output.tokens]
    found = torch.tensor([record.log_prob_raw for record in output.trace])
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
    assert output.finish_reason == "stop" or len(output.tokens) == GIVEN["max_tokens"]


@pytest.mark.parametrize("encodes", [False, True])
def test_logits_that_depend_on_the_length_of_the_text_are_refused(encodes: bool) -> None:
    """ProphetNet: its forward over a longer text gives other logits at the same token."""
    torch.manual_seed(0)
    tokenizer = tiny_tokenizer()
    sizes = {"hidden_size": 32, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "num_encoder_layers": 2, "ngram": 2}
    sizes |= {"num_decoder_layers": 2, "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4}
    config = transformers.ProphetNetConfig(
        vocab_size=len(tokenizer), **sizes, is_decoder=not encodes, is_encoder_decoder=encodes,
        decoder_start_token_id=2, pad_token_id=0, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    kind = transformers.ProphetNetForConditionalGeneration if encodes else transformers.ProphetNetForCausalLM
    model = kind(config).eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.2)
    with pytest.raises(ConstrainError, match="is not read token by token: its logits at a token depend on how many"):
        constrain.generate(model, "red", tokenizer=tokenizer, regex="(red|green){2}", seed=1)
