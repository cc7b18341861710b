"""`generate(draft=...)`: with the default verifier the same output for the same seed, from fewer forwards."""

from typing import Any

import pytest

import constrain
from constrain import reference
from constrain.errors import ConstrainError
from constrain.generation import Generation
from constrain.models.hf import HFModel
from constrain.speculative import Context, DraftBudget, Drafter, DraftTree, Fixed, Lookup, Speculation, given_chain
from toy_model import tiny_gpt2, tiny_llama, tiny_mistral, tiny_tokenizer

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "size": {"enum": ["small", "medium", "large"]},
        "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "maxItems": 4},
    },
    "required": ["name", "size", "tags"],
    "additionalProperties": False,
}
PROMPT = '[{"name": "Ada", "size": "small", "tags": ["red"]},\n{"name": "Bob", "size": "large", "tags": []},\n'


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny_tokenizer()


@pytest.fixture(scope="module")
def ref() -> reference.Reference:
    return reference.load()


def check(found: Any, expected: Any, tolerance: float) -> None:
    """Everything but what it cost."""
    assert isinstance(found, Generation)
    assert (found.tokens, found.text, found.finish_reason) == (expected.tokens, expected.text, expected.finish_reason)
    assert found.value == expected.value
    assert found.logprob == pytest.approx(expected.logprob, abs=tolerance)
    assert found.log_weight == pytest.approx(expected.log_weight, abs=tolerance)
    assert found.stats.tokens == expected.stats.tokens
    for one, other in zip(found.trace, expected.trace, strict=True):
        assert one[:4] == pytest.approx(other[:4], abs=tolerance)


@pytest.mark.parametrize("family", [tiny_llama, tiny_mistral], ids=["llama", "mistral"])
def test_populations_are_those_without_drafts(tokenizer: Any, family: Any) -> None:
    """Also of a model whose rows grow by equally many tokens: where particles are compared depends on the steps."""
    model = family(tokenizer, seed=2)
    for seed in range(4):
        given = {
            "tokenizer": tokenizer, "regex": r"((red|green) (name|age|00)?){2,8}(\{\}|é日本)", "max_tokens": 30,
            "seed": seed, "n": 2, "method": "smc",
        }  # fmt: skip
        plain = constrain.generate(model, PROMPT, **given)
        drafted = constrain.generate(model, PROMPT, **given, draft=["words", "lookup"])
        assert [g.tokens for g in drafted] == [g.tokens for g in plain]
        assert [g.log_weight for g in drafted] == pytest.approx([g.log_weight for g in plain], abs=1e-3)


@pytest.mark.parametrize("family", [tiny_llama, tiny_gpt2, tiny_mistral], ids=["llama", "gpt2", "mistral"])
@pytest.mark.parametrize("temperature", [0, 0.8])
@pytest.mark.parametrize("limit", [3, 40])
def test_drafts_change_no_output(tokenizer: Any, family: Any, temperature: float, limit: int) -> None:
    model, small = family(tokenizer, seed=2), tiny_llama(tokenizer, seed=5)
    given = {
        "tokenizer": tokenizer, "regex": r"((red|green) (name|age|00)?){2,8}(\{\}|é日本)", "max_tokens": limit,
        "temperature": temperature, "seed": 4, "n": 2,
    }  # fmt: skip
    prompts = ["the red red green 00", "é"]
    expected = constrain.generate(model, prompts, **given)
    for draft in ("auto", ["lookup", small], Speculation([Lookup(copies=4)], controller=Fixed(3, 9))):
        found = constrain.generate(model, prompts, draft=draft, **given)
        for group, others in zip(found, expected, strict=True):
            for one, other in zip(group, others, strict=True):
                check(one, other, 1e-8)


TARGETS = [{"top_k": 5}, {"top_p": 0.8, "temperature": 1.3}, {"max_tokens": 9, "complete": False}]


@pytest.mark.parametrize("draft", ["auto", "model"])
@pytest.mark.parametrize("given", TARGETS, ids=str)
def test_shapes_of_the_target(ref: reference.Reference, draft: Any, given: dict[str, Any]) -> None:
    draft = ref.draft if draft == "model" else draft
    for seed in range(2):
        expected = constrain.generate(ref, PROMPT, schema=PERSON, seed=seed, **given)
        check(constrain.generate(ref, PROMPT, schema=PERSON, seed=seed, draft=draft, **given), expected, 1e-3)


def test_without_a_constraint(ref: reference.Reference) -> None:
    for temperature in (0, 1.0):
        given = {"seed": 3, "max_tokens": 40, "temperature": temperature}
        expected = constrain.generate(ref, PROMPT, **given)
        for draft in ("auto", [ref.draft, "lookup"]):
            found = constrain.generate(ref, PROMPT, draft=draft, **given)
            check(found, expected, 1e-3)
            assert found.stats.forwards < expected.stats.forwards


@pytest.mark.parametrize("own_cuts", [True, False], ids=["canonical", "all"])
def test_drafts_save_forwards(ref: reference.Reference, own_cuts: bool) -> None:
    given = {"schema": PERSON, "temperature": 0, "max_tokens": 120, "canonical": own_cuts}
    plain = constrain.generate(ref, PROMPT, **given)
    found = constrain.generate(ref, PROMPT, draft="auto", **given)
    check(found, plain, 1e-3)
    stats = found.stats
    assert found.finish_reason == "stop"
    assert stats.drafts.keys() >= {"words", "lookup"}
    accepted = sum(count.accepted for count in stats.drafts.values())
    free = stats.tokens - accepted - stats.forwards  # each forward gives what was accepted, and a token of its own
    if own_cuts:  # runs that are forced after that token need no forward either
        assert 0 < free <= stats.forced
        assert stats.tokens_per_forward > 4 > 2 * 1.5 > plain.stats.tokens_per_forward > 2
    else:
        assert free == sum(r.forced and i == 0 for i, r in enumerate(found.trace))
        assert stats.tokens_per_forward > 1.5 > plain.stats.tokens_per_forward
    assert all(0 <= count.accepted <= count.drafted for count in stats.drafts.values())
    assert {"draft", "model", "mask", "sample"} <= stats.seconds.keys()


def test_streams(ref: reference.Reference) -> None:
    given = {"schema": PERSON, "seed": 5, "max_tokens": 80}
    stream = constrain.generate(ref, PROMPT, draft="auto", stream=True, **given)
    pieces = list(stream)
    plain = constrain.generate(ref, PROMPT, **given)
    assert "".join(pieces) == plain.text == stream.result.text
    # With a forward come the tokens that were forced before it, which it scores, and those that it gave.
    assert 1 < len(pieces) <= 2 * stream.result.stats.forwards
    assert stream.result.stats.drafts


@pytest.mark.parametrize(
    "method", ["sir", "mcmc", "faithful", "smc", "awrs", "asap", "beam", pytest.param("cars", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("own_cuts", [True, False], ids=["canonical", "all"])
def test_methods_that_draft(ref: reference.Reference, method: str, own_cuts: bool) -> None:
    given = {"regex": '(red|green|blue)(, (red|green|blue)){1,2}"', "max_tokens": 40, "method": method}
    given |= {"canonical": own_cuts, "seed": 6 if own_cuts else 5}  # `asap` draws once: a text that look-up knows
    expected = constrain.generate(ref, '["red, blue, green", "', **given)
    found = constrain.generate(ref, '["red, blue, green", "', draft="auto", **given)
    check(found, expected, 1e-3)
    assert [each.tokens for each in found.population] == [each.tokens for each in expected.population]
    assert found.log_evidence == pytest.approx(expected.log_evidence, abs=1e-3)
    assert found.stats.method == expected.stats.method
    if found.finish_reason == "stop" and (method != "faithful" or "sir" in found.stats.method):
        assert found.stats.forwards < expected.stats.forwards
        assert sum(each.accepted for each in found.stats.drafts.values()) > 0


def test_a_rule_that_chooses_tokens_itself(ref: reference.Reference) -> None:
    draft = Speculation([Lookup()], verifier="token")
    with pytest.raises(ConstrainError) as caught:
        constrain.generate(ref, PROMPT, regex="a+", method="cars", draft=draft)
    assert str(caught.value) == (
        "the verifier 'token' chooses tokens itself, and so does the method 'cars'\n"
        "  at draft\n"
        '  fix: leave the verifier out, which is "match", or choose one of the methods lcd, sir, mcmc, faithful, '
        'SMC(boundary="draft")'
    )
    found = constrain.generate(ref, PROMPT, regex="[a-c]{3}", method="sir", draft=draft, seed=1)
    assert found.finish_reason == "stop"


class Remembers(Drafter):
    """Proposes a text that it has seen, from its beginning."""

    name = "remembers"

    def __init__(self, tokens: list[int]) -> None:
        self.whole = tokens

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        return given_chain(self.whole[len(context.tokens) - context.prompt :][: budget.depth])


@pytest.mark.parametrize("stop", ['"size"', "e", [", ", "zzz"], "}"])
@pytest.mark.parametrize("temperature", [0, 1])
def test_a_stop_in_the_middle_of_a_draft(ref: reference.Reference, stop: Any, temperature: float) -> None:
    """The draft goes on behind the stop; the output does not. A key has spellings without the stop."""
    constraint = constrain.json_schema(PERSON, spelling="any")
    given = {"constraint": constraint, "seed": 5, "max_tokens": 60, "temperature": temperature}
    whole = constrain.generate(ref, PROMPT, **given)
    expected = constrain.generate(ref, PROMPT, stop=stop, **given)
    draft = Speculation([Remembers(whole.tokens)], controller=Fixed(30, 30))
    found = constrain.generate(ref, PROMPT, stop=stop, draft=draft, **given)
    check(found, expected, 1e-3)
    assert found.stats.stop == expected.stats.stop
    assert found.stats.drafts["remembers"].fault is None


def test_healing_and_drafts(ref: reference.Reference) -> None:
    given = {"schema": PERSON, "seed": 5, "max_tokens": 60}
    healed = constrain.Prompt(PROMPT, healing=True)
    expected = constrain.generate(ref, healed, **given)
    check(constrain.generate(ref, healed, draft="auto", **given), expected, 1e-3)


class Broken(Drafter):
    name = "broken"

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        if len(context.tokens) - context.prompt > 4:
            raise RuntimeError("no more ideas")
        return given_chain([-5, 1 << 30])


def test_a_broken_drafter(ref: reference.Reference) -> None:
    given = {"schema": PERSON, "seed": 5, "max_tokens": 60}
    expected = constrain.generate(ref, PROMPT, **given)
    found = constrain.generate(ref, PROMPT, draft=[Broken(), "lookup"], **given)
    check(found, expected, 1e-3)
    count = found.stats.drafts["broken"]
    assert (count.drafted, count.accepted, count.fault) == (0, 0, "RuntimeError: no more ideas")
    assert count.refused > 0
    assert found.stats.drafts["lookup"].fault is None


def test_near_the_end_of_the_context(tokenizer: Any) -> None:
    """No draft reaches beyond the positions that the model has."""
    model = tiny_gpt2(tokenizer)
    positions = HFModel(model, tokenizer).context
    assert positions is not None
    for room in range(1, 7):
        prompt = [i % 7 for i in range(positions - room)]
        given = {"tokenizer": tokenizer, "regex": "[a-f]{40}", "seed": 1}
        expected = constrain.generate(model, prompt, **given)
        found = constrain.generate(model, prompt, draft=["auto", tiny_gpt2(tokenizer, 1)], **given)
        check(found, expected, 1e-8)
        assert (found.finish_reason, len(found.tokens)) == ("length", room)


def test_models_that_may_draft(tokenizer: Any, ref: reference.Reference, tmp_path: Any) -> None:
    model = tiny_llama(tokenizer)
    given = {"tokenizer": tokenizer, "regex": "[a-z]{6}", "seed": 1}
    expected = constrain.generate(model, "a", **given)
    narrow, wide = tiny_llama(tokenizer, seed=1, extra=0), tiny_llama(tokenizer, seed=1, extra=40)  # padded differently
    small = tiny_llama(tokenizer, seed=1)
    small.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    for draft in (narrow, wide, HFModel(small, tiny_tokenizer()), str(tmp_path)):
        found = constrain.generate(model, "a", draft=draft, **given)
        check(found, expected, 1e-8)
        assert found.stats.drafts["model"].drafted > 0
        assert found.stats.drafts["model"].fault is None
    found = constrain.generate(model, "a", draft=ref, **given)  # another vocabulary: by its bytes
    check(found, expected, 1e-8)
    assert found.stats.drafts["model"].drafted > 0
    assert found.stats.drafts["model"].fault is None
    with pytest.raises(ConstrainError, match=r"draft is the class Lookup, not a drafter\n  fix: make one: Lookup\(\)"):
        constrain.generate(model, "a", draft=Lookup, **given)


def test_greedy_runs(ref: reference.Reference) -> None:
    """At temperature 0 drafts change no token, whatever drafts."""
    constraints = [
        {"schema": PERSON}, {"regex": r'\[("(red|green|blue)", ?){1,5}"end"\]'}, {"schema": {"type": "array"}},
        {"choices": ["SELECT name FROM users", "SELECT age FROM users WHERE name = 'x'"]},
    ]  # fmt: skip
    prompts = [PROMPT, "SELECT ", '{"items": [', "def f(x):\n    return "]
    for constraint in constraints:
        given = {"temperature": 0, "max_tokens": 30, **constraint}
        expected = constrain.generate(ref, prompts, **given)
        for draft in ("auto", ["auto", ref.draft]):
            for one, other in zip(constrain.generate(ref, prompts, draft=draft, **given), expected, strict=True):
                check(one, other, 1e-3)
