"""`generate` on tiny random models: equal to transformers' own loop, numbers recomputed from scratch, honest ends."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import constrain
from constrain.errors import ConstrainError
from constrain.generation import Generation, Stream
from constrain.generation.result import Generations
from constrain.models.hf import ConstraintProcessor, HFModel
from constrain.papers import FirstFinish
from constrain.sampling import METHODS, SMC, Sample, TorchDraw, canonical, register
from constrain.speculative import Speculation
from tables import table
from toy_matcher import ToyConstraint, ToyVocabulary
from toy_model import tiny_gpt2, tiny_llama, tiny_mistral, tiny_tokenizer

ERRORS = table("generate_errors")
NESTED = 'start: "(" start ")" | "[" start "]" | "red" | "日本"'
SOURCES = {
    "regex": {"regex": r"(the |a)?(red|green) [0-9]{2,5}(é|日本)*"},
    "grammar": {"grammar": NESTED},
    "choices": {"choices": ["true", "false", "null", "name: the red"]},
}
PROMPTS = ["the red", '{"name": "', "é日本 00 green false"]


@pytest.fixture(scope="module")
def vocabulary(tokenizer: Any, model: Any) -> constrain.Vocabulary:
    return HFModel(model, tokenizer).vocabulary


def compiled(vocabulary: constrain.Vocabulary, constraint: dict[str, Any]) -> Any:
    ((kind, value),) = constraint.items()
    return constrain.compile(getattr(constrain, kind)(value), vocabulary)


# --- the same as transformers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [tiny_llama, tiny_gpt2])
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("own_cuts", [True, False], ids=["canonical", "all"])
def test_greedy_is_what_transformers_generates(tokenizer: Any, family: Any, kind: str, own_cuts: bool) -> None:
    for seed, prompt in itertools.product(range(3), PROMPTS):
        model = family(tokenizer, seed)
        ours = constrain.generate(
            model, prompt, tokenizer=tokenizer, temperature=0, max_tokens=25, canonical=own_cuts, **SOURCES[kind]
        )
        constraint = compiled(HFModel(model, tokenizer).vocabulary, SOURCES[kind])
        constraint = canonical(constraint, tokenizer) if own_cuts else constraint
        ids = torch.tensor([tokenizer(prompt)["input_ids"]])
        for drafts in ({}, {"prompt_lookup_num_tokens": 8}, {"assistant_model": family(tokenizer, seed + 7)}):
            processor = ConstraintProcessor(constraint, canonical=None if own_cuts else False)
            theirs = model.generate(ids, logits_processor=[processor], do_sample=False, max_new_tokens=25, **drafts)
            written = theirs[0, ids.shape[1] :].tolist()
            assert ours.tokens == (written[:25] if drafts else written)  # drafts of transformers 4 overshoot the limit


@pytest.mark.parametrize("family", [tiny_llama, tiny_gpt2, tiny_mistral])
@pytest.mark.parametrize("kind", SOURCES)
def test_a_batch_is_its_rows(tokenizer: Any, family: Any, kind: str) -> None:
    """Rows that force, end and pad at different times do not touch each other."""
    model = family(tokenizer, seed=3)
    given = {"tokenizer": tokenizer, "temperature": 0, "max_tokens": 25, **SOURCES[kind]}
    batch = constrain.generate(model, PROMPTS, **given)
    for prompt, output in zip(PROMPTS, batch, strict=True):
        single = constrain.generate(model, prompt, **given)
        assert output.tokens == single.tokens
        assert output.logprob == pytest.approx(single.logprob, abs=1e-9)
        assert output.log_weight == pytest.approx(single.log_weight, abs=1e-9)


# --- numbers ----------------------------------------------------------------------------------------------------------


def masked_by_hand(constraint: Any, tokens: list[int]) -> list[list[int]]:
    """The tokens that the masks of a constraint allow before each token of an output."""
    matcher, allowed = constraint.matcher(), []
    for token in tokens:
        allowed.append([i for i in range(constraint.vocabulary.size) if matcher.allows(i)])
        assert matcher.advance(token)
    return allowed


def canonical_by_hand(tokenizer: Any, texts: list[str], eos: int, tokens: list[int]) -> list[list[int]]:
    """The tokens before each of which one of the texts goes on, as the tokenizer cuts it."""
    cuts = [[*tokenizer(text, add_special_tokens=False)["input_ids"], eos] for text in texts]
    assert tokens in cuts
    places = range(len(tokens))
    return [sorted({cut[i] for cut in cuts if cut[:i] == tokens[:i]}) for i in places]


def recomputed(
    model: Any, allowed: list[list[int]], prompt: list[int], tokens: list[int], temperature: float
) -> tuple[Any, Any]:
    """(log p of every token, log Z of every token) by one forward over everything. allowed: before each token."""
    with torch.inference_mode():
        logits = model(torch.tensor([[*prompt, *tokens]])).logits[0, len(prompt) - 1 : -1]
    log_probs = (logits / temperature).log_softmax(-1)
    log_z = [float(row[ids].logsumexp(-1)) for row, ids in zip(log_probs, allowed, strict=True)]
    return [float(row[token]) for row, token in zip(log_probs, tokens, strict=True)], log_z


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("temperature", [0, 0.5, 1.0, 1.7])
@pytest.mark.parametrize("own_cuts", [True, False], ids=["canonical", "all"])
def test_every_number_of_the_trace(
    tokenizer: Any, model: Any, vocabulary: constrain.Vocabulary, kind: str, temperature: float, own_cuts: bool
) -> None:
    constraint = compiled(vocabulary, SOURCES[kind])
    outputs = constrain.generate(
        model, PROMPTS[1], tokenizer=tokenizer, n=5, seed=1, max_tokens=20, temperature=temperature,
        canonical=own_cuts, **SOURCES[kind],
    )  # fmt: skip
    prompt = tokenizer(PROMPTS[1])["input_ids"]
    for output in outputs:
        if not own_cuts:
            allowed = masked_by_hand(constraint, output.tokens)
        elif kind == "choices":
            allowed = canonical_by_hand(tokenizer, SOURCES[kind][kind], tokenizer.eos_token_id, output.tokens)
        else:  # too many texts to list: the masks of the rule by itself, which tests of their own compare with texts
            allowed = masked_by_hand(canonical(constraint, tokenizer), output.tokens)
        log_p, log_z = recomputed(model, allowed, prompt, output.tokens, temperature or 1.0)
        assert [record.log_prob_raw for record in output.trace] == pytest.approx(log_p, abs=1e-9)
        assert [record.log_z for record in output.trace] == pytest.approx(log_z, abs=1e-9)
        assert output.logprob == pytest.approx(math.fsum(log_p), abs=1e-9)
        assert output.log_weight == pytest.approx(math.fsum(log_z) if temperature else 0.0, abs=1e-9)
        assert temperature or output.log_evidence is None
        assert output.stats.forced == sum(record.forced for record in output.trace)


def test_unconstrained_is_the_model(tokenizer: Any, model: Any) -> None:
    output = constrain.generate(model, "red", tokenizer=tokenizer, seed=3, max_tokens=15)
    with torch.inference_mode():
        ids = [*tokenizer("red")["input_ids"], *output.tokens]
        logits = model(torch.tensor([ids])).logits[0, :-1].log_softmax(-1)
    expected = sum(float(logits[i - 1, token]) for i, token in enumerate(ids) if i > len(ids) - len(output.tokens) - 1)
    assert output.logprob == pytest.approx(expected, abs=1e-9)
    assert output.log_weight == pytest.approx(0, abs=1e-9)
    assert output.value == (output.text if output.finish_reason == "stop" else None)


def test_the_law_of_a_real_model_under_a_real_engine(
    tokenizer: Any, model: Any, vocabulary: constrain.Vocabulary
) -> None:
    """End to end by enumeration: all tokenisations of all members, q · w = p for each."""
    from constrain.masks.engine import fill_masks
    from constrain.sampling import Job, Settings, enumerate_draws, lcd

    constraint = constrain.compile(constrain.choices(["red", "green", "re", "a red"]), vocabulary)
    handle, prompt = HFModel(model, tokenizer), tokenizer("the ")["input_ids"]

    def run(draw: Any) -> Sample:
        job = Job(
            handle, [prompt], [constraint.matcher()], vocabulary.size, vocabulary.eos_ids, Settings(), draw, [0],
            fill_masks=fill_masks,
        )  # fmt: skip
        steps = lcd(job)
        while True:
            try:
                next(steps)
            except StopIteration as stop:
                return stop.value[0]

    total, seen = 0.0, set()
    for q, sample in enumerate_draws(run):
        log_p, _ = recomputed(model, masked_by_hand(constraint, sample.tokens), prompt, sample.tokens, 1.0)
        assert math.log(q) + sample.log_weight == pytest.approx(math.fsum(log_p), abs=1e-9)
        total += q
        seen.add(tuple(sample.tokens))
    assert total == pytest.approx(1, abs=1e-12)
    assert {vocabulary.to_bytes(tokens) for tokens in seen} == {b"red", b"green", b"re", b"a red"}
    assert len(seen) > 10


# --- seeds, shapes, prompts -------------------------------------------------------------------------------------------


def test_seeds(tokenizer: Any, model: Any) -> None:
    def texts(**given: Any) -> list[str]:
        outputs = constrain.generate(model, "red", tokenizer=tokenizer, regex="[a-z]{8}", n=4, **given)
        return [output.text for output in outputs]

    first = texts(seed=1)
    assert texts(seed=1) == first
    assert texts(seed=2) != first
    assert len(set(first)) == 4
    torch.manual_seed(5)
    free = constrain.generate(model, "red", tokenizer=tokenizer, regex="[a-z]{8}")
    torch.manual_seed(5)
    assert constrain.generate(model, "red", tokenizer=tokenizer, regex="[a-z]{8}").text == free.text
    again = constrain.generate(model, "red", tokenizer=tokenizer, regex="[a-z]{8}", seed=free.stats.seed)
    assert again.text == free.text
    state = torch.get_rng_state()
    texts(seed=1)
    assert torch.equal(torch.get_rng_state(), state)  # a given seed leaves torch's own generator alone


def test_shapes(tokenizer: Any, model: Any) -> None:
    given = {"tokenizer": tokenizer, "choices": ["a", "b"]}
    assert isinstance(constrain.generate(model, "red", **given), Generation)
    assert len(constrain.generate(model, "red", n=3, **given)) == 3
    assert isinstance(constrain.generate(model, ["red"], **given)[0], Generation)
    grid = constrain.generate(model, ["red", "green"], n=3, **given)
    assert [len(group) for group in grid] == [3, 3]
    assert all(output.text in ("a", "b") for group in grid for output in group)


def test_prompts_in_every_form(tokenizer: Any, model: Any) -> None:
    def text(prompt: Any) -> Any:
        outputs = constrain.generate(model, prompt, tokenizer=tokenizer, regex="[a-z]{6}", temperature=0)
        return [output.text for output in outputs] if isinstance(outputs, list) else outputs.text

    ids = tokenizer("the red")["input_ids"]
    plain = text("the red")
    for same in (ids, tuple(ids), torch.tensor(ids), np.array(ids)):
        assert text(same) == plain
    for batch in (["the red"] * 2, [ids, "the red"], torch.tensor([ids, ids])):
        assert text(batch) == [plain, plain]

    chatty = tiny_tokenizer(bos_token="<|begin|>")
    chatty.chat_template = (
        "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}<|turn|>{% endfor %}"
        "{% if add_generation_prompt %}a:{% endif %}"
    )
    chat = [{"role": "user", "content": "red?"}]
    given = {"tokenizer": chatty, "regex": "[a-z]{6}", "temperature": 0}
    rendered = constrain.generate(model, "user: red?<|turn|>a:", **given).text
    assert constrain.generate(model, chat, **given).text == rendered
    assert [output.text for output in constrain.generate(model, [chat, chat], **given)] == [rendered] * 2
    begin = constrain.generate(model, [chatty.bos_token_id], **given).text
    assert constrain.generate(model, "", **given).text == begin


def test_an_empty_prompt_without_a_beginning(tokenizer: Any, model: Any) -> None:
    end = constrain.generate(model, [tokenizer.eos_token_id], tokenizer=tokenizer, choices=["a", "b"], temperature=0)
    assert constrain.generate(model, "", tokenizer=tokenizer, choices=["a", "b"], temperature=0).text == end.text
    nameless = tiny_tokenizer()
    nameless.eos_token = None
    with pytest.raises(ConstrainError) as caught:
        constrain.generate(model, "", tokenizer=nameless, choices=["a"])
    assert str(caught.value) == (
        "the prompt is empty, and the tokenizer has no token to begin a text with\n  fix: write a prompt"
    )


def test_a_bundle_and_a_name(tokenizer: Any, model: Any, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    bundle = type("Bundle", (), {"model": model, "tokenizer": tokenizer})()
    given = {"regex": "[a-z]{6}", "temperature": 0}
    expected = constrain.generate(model, "red", tokenizer=tokenizer, **given).text
    assert constrain.generate(bundle, "red", **given).text == expected
    assert constrain.generate(str(tmp_path), "red", **given).text == expected


# --- ends -------------------------------------------------------------------------------------------------------------


def test_length_never_looks_complete(tokenizer: Any, model: Any) -> None:
    outputs = constrain.generate(model, "red", tokenizer=tokenizer, regex="(true|日本)+", n=20, max_tokens=6, seed=0)
    assert {output.finish_reason for output in outputs} == {"stop", "length"}
    for output in outputs:
        assert len(output.tokens) == output.stats.tokens <= 6
        assert (output.tokens[-1] == tokenizer.eos_token_id) == (output.finish_reason == "stop")


@pytest.mark.parametrize("limit", range(1, 6))
def test_a_forced_text_is_cut_like_any_other(tokenizer: Any, model: Any, limit: int) -> None:
    output = constrain.generate(model, "red", tokenizer=tokenizer, regex="\x01\x02\x03", max_tokens=limit)
    assert output.text == "\x01\x02\x03"[:limit]
    assert output.finish_reason == ("stop" if limit >= 4 else "length")
    assert output.stats.forced == len(output.tokens) == min(limit, 4)
    assert output.stats.forwards == 1


def test_the_context_is_a_limit(tokenizer: Any) -> None:
    model = tiny_gpt2(tokenizer, seed=0)  # learned positions: one too many would be an index error
    prompt = [64] * 120
    output = constrain.generate(model, prompt, tokenizer=tokenizer, regex="[a-z]{50}")
    assert output.finish_reason == "length"
    assert len(output.tokens) == 8


def test_logits_that_are_no_numbers(tokenizer: Any) -> None:
    model = tiny_llama(tokenizer)
    with torch.no_grad():
        model.lm_head.weight[5] = math.nan
    with pytest.raises(ConstrainError) as caught:
        constrain.generate(model, ["a", "b"], tokenizer=tokenizer, regex="[a-z]+")
    assert str(caught.value) == (
        "the model's logits contain NaN (token ids 5)\n"
        "  at output 0, token 0\n"
        "  fix: check the model: its weights and number format, or run it in float32"
    )


def test_a_dead_end(tokenizer: Any, model: Any, vocabulary: Any) -> None:
    constraint = ToyConstraint(vocabulary, is_prefix=lambda t: t in (b"", b"a"), is_member=lambda t: False)
    output = constrain.generate(model, "red", tokenizer=tokenizer, constraint=constraint)
    assert (output.text, output.finish_reason, output.value, output.log_weight) == ("a", "dead_end", None, -math.inf)
    assert output.stats.retries == 0


class Checked(ToyConstraint):
    """A constraint with a check that its mask does not make: texts must not contain a word."""

    refused = "green"

    def residual_fault(self, text: str) -> str | None:
        return f"{text!r} contains {self.refused!r}" if self.refused in text else None

    def parse(self, text: str) -> str:
        return text.upper()


def test_what_fails_the_last_check_is_sampled_anew(tokenizer: Any, model: Any, vocabulary: Any) -> None:
    constraint = Checked(vocabulary, [b"red", b"greed", b"grey", b"green"])
    given = {"tokenizer": tokenizer, "constraint": constraint, "n": 12, "seed": 0, "temperature": 20.0}
    outputs = constrain.generate(model, "a", **given)
    assert {output.text for output in outputs} == {"red", "greed", "grey"}
    assert all(output.value == output.text.upper() and output.finish_reason == "stop" for output in outputs)
    assert any(output.stats.retries for output in outputs)
    assert not all(output.stats.retries for output in outputs)

    constraint = Checked(vocabulary, [b"green", b"greens"])
    (output,) = constrain.generate(model, ["a"], tokenizer=tokenizer, constraint=constraint, seed=0)
    assert (output.value, output.finish_reason, output.log_weight) == (None, "dead_end", -math.inf)
    assert output.fault == f"{output.text!r} contains 'green'"
    assert output.stats.retries == 8
    greedy = constrain.generate(model, "a", tokenizer=tokenizer, constraint=constraint, temperature=0)
    assert (greedy.finish_reason, greedy.stats.retries) == ("dead_end", 0)
    streamed = constrain.generate(model, "a", tokenizer=tokenizer, constraint=constraint, stream=True)
    assert "".join(streamed).startswith("green")
    assert streamed.result.finish_reason == "dead_end"


def test_stats(tokenizer: Any, model: Any) -> None:
    output = constrain.generate(model, "red", tokenizer=tokenizer, regex="\x01\x02[ab]\x03", seed=0)
    stats = output.stats
    assert (stats.tokens, stats.forced, stats.forwards, stats.masks, stats.seed) == (5, 4, 2, 1, 0)
    assert set(stats.seconds) == {"compile", "model", "mask", "sample", "total"}
    parts = sum(seconds for stage, seconds in stats.seconds.items() if stage != "total")
    assert 0 < parts <= stats.seconds["total"]


# --- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("limit", [5, 6, 7, 40])
def test_a_stream_is_the_text_in_pieces(tokenizer: Any, model: Any, seed: int, limit: int) -> None:
    given = {"tokenizer": tokenizer, "regex": "(é|日本|😀|red ){6}", "seed": seed, "max_tokens": limit}
    stream = constrain.generate(model, "a", stream=True, **given)
    assert isinstance(stream, Stream)
    pieces = list(stream)
    whole = constrain.generate(model, "a", **given)
    assert "".join(pieces) == whole.text == stream.result.text
    assert stream.result.tokens == whole.tokens
    assert all(pieces)
    if whole.finish_reason == "stop":
        assert len(pieces) > 3
        assert "\ufffd" not in whole.text


def test_a_result_runs_the_stream_to_its_end(tokenizer: Any, model: Any) -> None:
    stream = constrain.generate(model, "a", tokenizer=tokenizer, regex="[a-z]{8}", seed=1, stream=True)
    first = next(stream)
    assert stream.result.text.startswith(first)
    assert list(stream) == []
    stopped = constrain.generate(model, "a", tokenizer=tokenizer, regex="[a-z]{8}", seed=1, stream=True)
    stopped.close()
    with pytest.raises(RuntimeError, match="has no result"):
        _ = stopped.result


def test_a_method_that_revises_its_output_can_be_streamed(tokenizer: Any, model: Any) -> None:
    def quiet(job: Any) -> Any:
        samples = yield from (pair for pair in [] if job)  # yields nothing before the end
        inner = METHODS["lcd"](job)
        while True:
            try:
                next(inner)
            except StopIteration as stop:
                samples = stop.value
                return samples

    register("quiet", quiet)
    try:
        given = {"tokenizer": tokenizer, "regex": "[a-z]{8}", "seed": 1}
        stream = constrain.generate(model, "a", method="quiet", stream=True, **given)
        assert list(stream) == [constrain.generate(model, "a", **given).text]
    finally:
        del METHODS["quiet"]


# --- wrong arguments --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ERRORS["case"], ids=lambda case: case["name"])
def test_wrong_arguments(tokenizer: Any, model: Any, case: dict[str, Any]) -> None:
    check_refusal(model, {"tokenizer": tokenizer}, case)


@pytest.mark.parametrize(
    "case", [case for case in ERRORS["case"] if "needs" not in case], ids=lambda case: case["name"]
)
def test_arguments_are_checked_before_a_model_is_loaded(tmp_path: Path, case: dict[str, Any]) -> None:
    """The name of the model leads nowhere, and the error is that of the argument."""
    check_refusal(str(tmp_path / "nowhere"), {}, case)


def check_refusal(model: Any, given: dict[str, Any], case: dict[str, Any]) -> None:
    with pytest.raises(ConstrainError) as caught:
        constrain.generate(model, **{"prompt": "the red", **given, **case["arguments"]})
    if "error" in case:
        assert str(caught.value) == case["error"].strip("\n")
    else:
        assert str(caught.value).startswith(case["starts"])


def test_arguments_of_python_are_checked_before_a_model_is_loaded(tmp_path: Path) -> None:
    """As above, where a table cannot hold the argument."""
    nowhere = str(tmp_path / "nowhere")
    with pytest.raises(ConstrainError, match="there is no folder"):
        constrain.generate(nowhere, "a", regex="a")
    foreign = ToyConstraint(ToyVocabulary([b"a", None], [1]), [b"a"])
    with pytest.raises(ConstrainError, match="complete and at_least need a constraint of this library"):
        constrain.generate(nowhere, "a", constraint=foreign, complete=True)
    lossy = Speculation(["lookup"], verifier="typical", lossy=True)
    with pytest.raises(ConstrainError, match="is lossy, and this method needs weights"):
        constrain.generate(nowhere, "a", regex="a", method="sir", draft=lossy)
    with pytest.raises(ConstrainError, match="prompt 1 has a lone surrogate"):
        constrain.generate(nowhere, ["a", "\ud800"], regex="a")
    with pytest.raises(ConstrainError, match="particles must be an int of at least 1, not 0"):
        constrain.generate(nowhere, "a", regex="a", method=SMC(particles=0))


def test_constraints_for_another_vocabulary(tokenizer: Any, model: Any) -> None:
    tokens = list(HFModel(model, tokenizer).vocabulary.tokens)
    wider = ToyConstraint(ToyVocabulary([*tokens, b"!"], [292]), [b"a"])
    with pytest.raises(ConstrainError) as caught:
        constrain.generate(model, "a", tokenizer=tokenizer, constraint=wider)
    assert str(caught.value) == (
        "the model gives 300 logits for a vocabulary of 301 tokens\n"
        "  fix: compile the constraint for a Vocabulary of the model's own tokenizer"
    )
    tokens[7] = b"x"
    with pytest.raises(ConstrainError) as caught:
        constrain.generate(
            model, "a", tokenizer=tokenizer, constraint=ToyConstraint(ToyVocabulary(tokens, [292]), [b"a"])
        )
    assert str(caught.value) == (
        "the constraint is compiled for the vocabulary of another model\n"
        "  at token id 7: b'x' in the constraint, b'(' in the model\n"
        "  fix: compile it for Vocabulary.from_huggingface(tokenizer) of this model"
    )


def test_a_model_narrower_than_its_tokenizer(tokenizer: Any) -> None:
    with pytest.raises(ConstrainError, match=r"size \(294\) is less than the tokenizer's 295 token ids"):
        constrain.generate(tiny_llama(tokenizer, extra=-1), "a", tokenizer=tokenizer, regex="a")


def test_a_vocabulary_may_be_narrower_than_the_model(tokenizer: Any, model: Any) -> None:
    """Compiled without `size=`: the padding ids of the model are beyond it, and never allowed."""
    narrow = constrain.Vocabulary.from_huggingface(tokenizer)
    constraint = constrain.compile(constrain.regex("[a-z]{8}"), narrow)
    given = {"tokenizer": tokenizer, "seed": 4, "temperature": 9.0, "n": 10}
    for output in constrain.generate(model, "a", constraint=constraint, **given):
        assert output.finish_reason == "stop"
        assert max(output.tokens) < narrow.size < 300


def test_draws_of_one_request_come_from_its_seed() -> None:
    """Streams are numbered by row, so that output j of prompt i can be drawn again by itself."""
    even = torch.full((3, 1000), 0.001)
    together = TorchDraw(9)(even, [0, 1, 2]).tolist()
    assert [int(TorchDraw(9)(even[:1], [row])) for row in range(3)] == together


def test_a_generation_has_the_captures_of_its_text():
    model = constrain.reference.load()
    grammar = 'start: key "=" value\nkey[capture]: /[a-z]{1,3}/\nvalue[capture="v"]: /[0-9]/{2}'
    for stop in (None, ";"):
        constraint = constrain.grammar(grammar)
        output = constrain.generate(model, "x: ", constraint=constraint, seed=3, stop=stop)
        assert output.finish_reason == "stop"
        key, value = output.text.split("=")
        assert [(c.name, c.text) for c in output.captures] == [("key", key), ("v", value)]
        assert [output.text[c.begin : c.end] for c in output.captures] == [key, value]


def test_a_text_that_is_cut_off_has_none():
    grammar = constrain.grammar("start: a\na[capture]: /[a-z]{900}/")
    output = constrain.generate(constrain.reference.load(), "x: ", constraint=grammar, seed=3, max_tokens=3)
    assert output.finish_reason == "length" and output.captures == []


OPTIONS: dict[str, Any] = {"regex": "a{1,9}", "seed": 3, "max_tokens": 12}


def test_the_first_of_some_samples() -> None:
    """In a list where there are several, for one prompt and for several; one by itself."""
    model = constrain.reference.load()
    found = constrain.generate(model, "A: ", n=2, method=FirstFinish(samples=6), **OPTIONS)
    assert isinstance(found, Generations)
    assert [len(g.tokens) for g in found] == sorted(len(g.tokens) for g in found)
    one = constrain.generate(model, "A: ", method=FirstFinish(samples=6), **OPTIONS)
    assert len(one.tokens) == len(found[0].tokens)
    several = constrain.generate(model, ["A: ", "B: "], n=3, method=FirstFinish(samples=4), **OPTIONS)
    assert [len(each) for each in several] == [3, 3]


def test_all_of_them() -> None:
    """As many outputs as samples are every sample that ends, in order of length."""
    model = constrain.reference.load()
    found = constrain.generate(model, "A: ", n=5, method=FirstFinish(samples=5), **OPTIONS)
    assert len(found) == 5
    assert [len(g.tokens) for g in found] == sorted(len(g.tokens) for g in found)
    assert {g.finish_reason for g in found} == {"stop"}
