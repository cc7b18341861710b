"""A constraint and a budget for each prompt of a batch: every output is that of its own constraint alone.

The oracle is the same call with one constraint and budget for all prompts: row i of it draws from the same stream.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import pytest

import constrain
from constrain.errors import ConstrainError, RegexError, SchemaError, UnsatisfiableError
from constrain.generation import Generation, make_job
from constrain.models.hf import HFModel
from constrain.sampling import CARS, METHODS, Memory
from constrain.sampling.processors import MinP
from toy_model import tiny_llama, tiny_tokenizer

PROMPTS = ["red", "the green name", "a", "00"]  # methods learn across rows whose prompt and constraint are equal
PATTERNS = ["(red|blue) [ab]", "[0-9]{2,3}", "[0-9]{2,3}", "(red|blue) [ab]"]
BUDGETS = [9, 3, 12, 9]


class Colour(Enum):
    RED = "red"
    GREEN = "green"


@pytest.fixture(scope="module")
def handle() -> HFModel:
    tokenizer = tiny_tokenizer()
    return HFModel(tiny_llama(tokenizer, seed=3), tokenizer)


def shown(output: Generation[Any]) -> Any:
    """An output as its tokens, and its numbers but for rounding."""
    numbers = [output.logprob, output.log_weight, output.log_evidence]
    return output.tokens, output.finish_reason, [None if each is None else pytest.approx(each) for each in numbers]


def check(
    handle: HFModel,
    patterns: Sequence[str | None],
    budgets: Sequence[int],
    *,
    at_least: int = 0,
    prompt: dict[str, Any] | None = None,
    **options: Any,
) -> None:
    """Lists, beside calls in which all prompts have the constraint and the budget of one.

    prompt: what is said of each prompt beside its text
    """
    given = {"seed": 4, **options}
    prompts = [constrain.Prompt(text, **(prompt or {})) for text in PROMPTS]
    lengths = [constrain.Length(budget, at_least) for budget in budgets]
    together = constrain.generate(handle, prompts, regex=patterns, max_tokens=lengths, **given)
    assert isinstance(together, list)
    for place, (pattern, length) in enumerate(zip(patterns, lengths, strict=True)):
        alone = constrain.generate(handle, prompts, regex=pattern, max_tokens=length, **given)[place]
        found = together[place]
        pairs = [(found, alone)] if isinstance(found, Generation) else list(zip(found, alone, strict=True))
        for one, other in pairs:
            assert isinstance(one, Generation)
            assert shown(one) == shown(other)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "rejection" else name for name in sorted(METHODS)]
)
def test_every_method_gives_what_each_constraint_gives_alone(handle: HFModel, name: str) -> None:
    # attempts of a round are of all rows together: with room for all of them rows do not wait for each other
    check(handle, PATTERNS, BUDGETS, method=CARS(batch=1024) if name == "cars" else name, n=2)


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0},
        {"draft": ["words", "lookup"]},
        {"draft": ["words", "lookup"], "method": "smc"},
        {"processors": MinP(0.2)},
        {"prompt": {"healing": True}},
        {"at_least": 2},
        {"complete": True},
        {"stop": "a"},
        {"prompt": {"prefix": "", "suffix": ""}},
        {"top_k": 3, "n": 3},
    ],
    ids=lambda options: " ".join(options),
)
def test_beside_other_options(handle: HFModel, options: dict[str, Any]) -> None:
    check(handle, PATTERNS, BUDGETS, **options)


def test_a_prompt_without_a_constraint(handle: HFModel) -> None:
    check(handle, [None, PATTERNS[1], None, PATTERNS[3]], BUDGETS, n=2)


def test_one_prompt_with_two_budgets(handle: HFModel) -> None:
    """A budget is part of a target: tables and ranks of one do not serve another."""
    for method in ("exact", "beam", "argmax"):
        given = {"regex": "(ab)+", "method": method, "seed": 2, "n": 4}
        outputs = constrain.generate(handle, ["red", "red"], max_tokens=[3, 12], **given)
        short, long = (constrain.generate(handle, "red", max_tokens=budget, **given) for budget in (3, 12))
        assert [each.tokens for each in outputs[0]] == [each.tokens for each in short]
        assert outputs[1][0].log_evidence == pytest.approx(long[0].log_evidence)
        if method != "exact":  # which draws, from other streams
            assert [each.tokens for each in outputs[1]] == [each.tokens for each in long]


def test_all_kinds_of_constraints(handle: HFModel) -> None:
    prompts = ["red", "green"]
    yes, no = constrain.regex("yes"), constrain.regex("no")
    grammars, compiled = (
        ['start: "a" "b"', 'start: "c"'],
        [constrain.compile(each, handle.vocabulary) for each in (yes, no)],
    )
    named = [{"const": "x"}, {"const": 7}]
    formats = [{"type": "json_schema", "json_schema": {"schema": each}} for each in named]
    for given, texts in (
        ({"schema": named}, ["x", 7]),
        ({"response_format": formats}, ["x", 7]),
        ({"grammar": grammars}, ["ab", "c"]),
        ({"constraint": [yes, no]}, ["yes", "no"]),
        ({"constraint": [compiled[0], no]}, ["yes", "no"]),
        ({"choices": [["yes"], ("no",)]}, ["yes", "no"]),
    ):  # fmt: skip
        outputs = constrain.generate(handle, prompts, seed=1, **given)
        assert [each.text if each.value is None else each.value for each in outputs] == texts
    values = [each.value for each in constrain.generate(handle, prompts, choices=[["red"], Colour], seed=1)]
    assert values[1] in list(Colour)
    typed = constrain.generate(handle, prompts, type=[Colour, bool], seed=1)
    assert [type(each.value) for each in typed] == [Colour, bool]
    assert constrain.generate(handle, prompts, choices=["red", "blue"], seed=1)[0].text in ("red", "blue")  # one set


def test_one_batch_where_it_can_be(handle: HFModel) -> None:
    """Different constraints share the forwards: as many as the longest output needs."""
    outputs = constrain.generate(handle, ["red"] * 4, regex=["a{5}b"] * 2 + ["c{5}d"] * 2, max_tokens=20, seed=1)
    assert [each.text for each in outputs] == ["aaaaab"] * 2 + ["cccccd"] * 2
    assert outputs[0].stats.seconds is outputs[3].stats.seconds  # of one clock


def test_a_memory_tells_the_constraints_of_rows_apart(handle: HFModel) -> None:
    memory = Memory()
    given = {"method": CARS(memory=memory), "seed": 1, "max_tokens": 8, "n": 3}
    first = constrain.generate(handle, ["red"] * 2, regex=["[ab]{3}", "[cd]{3}"], **given)
    assert len(memory) == 2
    assert (
        {set("ab") >= set(each.text) for each in first[0]}
        == {set("cd") >= set(each.text) for each in first[1]}
        == {True}
    )
    constrain.generate(handle, ["red"] * 2, regex=["[ab]{3}", "[cd]{3}"], **given)
    assert len(memory) == 2


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"regex": ["a", "(b"]}, RegexError, "missing ), unterminated subpattern\n  at regex[1], line 1, column 1\n"),
        ({"schema": [{"type": "text"}, {}]}, SchemaError, "type 'text' does not exist\n  at schema[0], $"),
        ({"constraint": ["a", None]}, ConstrainError, "constraint is str, neither a constraint nor a compiled"),
        ({"regex": ["a", "[^\\s\\S]"]}, UnsatisfiableError, "  at regex[1]"),
        ({"regex": ["a"]}, ConstrainError, "regex is a list of 1, and there is a list of 2 prompts\n  at regex\n"),
        ({"max_tokens": [3, 0]}, ConstrainError, "max_tokens must be an int of at least 1, not 0\n  at max_tokens[1]"),
        ({"max_tokens": [3]}, ConstrainError, "max_tokens is a list of 1, and there is a list of 2 prompts"),
        ({"regex": "a+", "max_tokens": [9, "3"]}, ConstrainError,
         "max_tokens must be an int of at least 1, not '3'\n  at max_tokens[1]"),
        ({"regex": ["a", "b"], "choices": ["a"]}, ConstrainError, "generate takes one constraint, not 2"),
    ],
)  # fmt: skip
def test_faults_say_which_entry(given: dict[str, Any], kind: type[Exception], message: str) -> None:
    """All before a model is loaded."""
    with pytest.raises(kind) as caught:
        constrain.generate("no/such-model", ["red", "green"], **given)
    assert message in str(caught.value)


def test_lists_are_for_lists_of_prompts(handle: HFModel) -> None:
    with pytest.raises(ConstrainError, match="regex is a list of 1, and there is one prompt"):
        constrain.generate(handle, "red", regex=["a"])
    with pytest.raises(ConstrainError, match="max_tokens is a list of 1, and there is one prompt"):
        make_job(handle, "red", regex="a", max_tokens=[3])


def test_each_prompt_says_what_holds_for_it(handle: HFModel) -> None:
    """Texts around outputs, healing and least lengths of some prompts, beside the same calls for all prompts."""
    texts = [{"prefix": "gr", "suffix": "n"}, {}, {"suffix": "n"}]
    prompts = [constrain.Prompt("g", **each) for each in texts]
    outputs = constrain.generate(handle, prompts, regex=r"(gr|gree|red)+n|ab", seed=4, max_tokens=20)
    for place, (prompt, output) in enumerate(zip(prompts, outputs, strict=True)):
        same = constrain.generate(handle, [prompt] * 3, regex=r"(gr|gree|red)+n|ab", seed=4, max_tokens=20)
        assert shown(output) == shown(same[place])
    lengths = [constrain.Length(12, at_least=8), 12, 3]
    long, free, short = constrain.generate(handle, ["a"] * 3, regex="[a-c]*", max_tokens=lengths, complete=True, seed=1)
    assert len(long.tokens) >= 8 and len(short.tokens) <= 3
    assert shown(free) == shown(
        constrain.generate(handle, ["a"] * 3, regex="[a-c]*", max_tokens=12, complete=True, seed=1)[1]
    )
