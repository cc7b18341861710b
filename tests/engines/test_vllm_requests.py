"""Valid requests, options and tokenizers of an engine are read; the others give their messages.

The table tests/data/vllm_requests.toml has the requests: kind, text, members and others, or the whole message.
"""

import logging
import random
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.engines.requests.constraints import constraint_of
from constrain.engines.requests.interfaces import Difference
from constrain.engines.requests.options import EngineOptions, options_of
from constrain.engines.requests.request import RequestMatcher
from constrain.engines.requests.vocabulary import vocabulary_of
from constrain.engines.vllm import hooks
from constrain.engines.vllm.options import PLACE, options_in
from constrain.engines.vllm.versions import INTERFACE, TESTED
from constrain.errors import ConstrainError, VocabularyError
from constrain.languages.cuts import CanonicalTokens
from constrain.masks.completion.length_budget import BudgetError, LengthBudget
from constrain.masks.derived.forced import ForcedCuts
from made_tokenizers import MADE
from tables import table

TABLE = table("engine_options")

CASES = table("vllm_requests")["case"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_requests(case: dict[str, Any]) -> None:
    options = options_of(case.get("options", {}), PLACE)
    if "message" in case:
        with pytest.raises(ConstrainError) as caught:
            constraint_of(case["kind"], case["text"], options)
        assert f"{type(caught.value).__name__}: {caught.value}" == case["message"].strip("\n")
        return
    compiled = constrain.compile(constraint_of(case["kind"], case["text"], options), constrain.Vocabulary.of_bytes())
    for texts, member in ((case["members"], True), (case["others"], False)):
        for text in texts:
            matcher = compiled.matcher()
            assert (matcher.advance_bytes(text.encode()) and matcher.is_accepting()) == member, text


def test_equal_requests_are_read_once() -> None:
    options = EngineOptions()
    one = constraint_of("regex", "[0-9]{3}", options)
    assert constraint_of("regex", "[0-9]{3}", EngineOptions()) is one
    assert constraint_of("regex", "[0-9]{3}", EngineOptions(seconds=2)) is not one


def test_a_schema_that_takes_too_long_is_refused_in_time() -> None:
    branches = [
        {"properties": {f"p{i}": {"enum": [i]}, "q": {"maximum": i}}, "minProperties": i % 3} for i in range(14)
    ]
    text = str({"oneOf": branches}).replace("'", '"')
    with pytest.raises(ConstrainError, match="takes more than 1e-09 seconds"):
        constraint_of("json", text, EngineOptions(seconds=1e-9))
    for characters, seconds in ((100_000, "2e-09"), (1_000_000, "4e-09")):  # a longer one may take longer
        with pytest.raises(ConstrainError, match=f"takes more than {seconds} seconds"):
            constraint_of("json", text.ljust(characters), EngineOptions(seconds=1e-9))


# --- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given, message", TABLE["options_of_vllm"])
def test_options_that_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ConstrainError) as caught:
        options_of(given, PLACE)
    assert str(caught.value) == message


def config(additional: Any, backend: str = "auto") -> Any:
    """A `VllmConfig` as the options see it."""
    return SimpleNamespace(additional_config=additional, structured_outputs_config=SimpleNamespace(backend=backend))


def test_an_engine_asks_by_its_entry() -> None:
    assert options_in(config({})) is None and options_in(config({"other": 1}, "xgrammar")) is None
    assert options_in(config({"constrain": {}})) == EngineOptions()
    assert options_in(config({"constrain": {"seconds": 2}})) == EngineOptions(seconds=2)


def test_two_backends_are_too_many() -> None:
    with pytest.raises(ConstrainError, match="asks for the backend constrain, and structured_outputs_config for 'outl"):
        options_in(config({"constrain": {}}, "outlines"))


# --- versions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [*TESTED, f"{TESTED[0]}+cpu"])
def test_a_tested_version_is_silent(version: str) -> None:
    assert INTERFACE.check(version, []) is None


def test_an_untested_version_is_named() -> None:
    tested = ", ".join(TESTED)
    said = f"constrain: vLLM 9.1.0 is not tested, only {tested} is; what constrain relies upon is there"
    assert INTERFACE.check("9.1.0", []) == said


def test_a_version_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ConstrainError) as caught:
        INTERFACE.check("9.1.0", [Difference("a:b takes (x), not (y)")])
    assert str(caught.value) == (
        "the backend constrain does not fit vLLM 9.1.0: 1 names differ\n  at vLLM's interface\n"
        "     a:b takes (x), not (y)\n"
        f"  fix: install a version of vLLM that is tested ({', '.join(TESTED)}), or a newer constrain-lm"
    )


# --- vocabularies -----------------------------------------------------------------------------------------------------


class Tokenizer:
    """A tokenizer of `tokenizers` with the end that vLLM's have."""

    def __init__(self, eos: int | None) -> None:
        from tokenizers import Tokenizer as Fast

        self.backend_tokenizer = Fast.from_file(str(constrain.reference.path() / "tokenizer.json"))
        self.eos_token_id = eos


@pytest.mark.parametrize("size", [3072, 3136, 2000])
def test_a_vocabulary_is_as_wide_as_the_model(size: int) -> None:
    whole = vocabulary_of(Tokenizer(1), 3072)
    vocabulary = vocabulary_of(Tokenizer(1), size)
    assert (vocabulary.size, vocabulary.eos_ids) == (size, (1,))
    kept = min(size, 3072)
    assert vocabulary.tokens[:kept] == whole.tokens[:kept] and not any(vocabulary.tokens[kept:])
    assert sum(token is not None for token in whole.tokens) > 3000


def test_the_ends_of_the_generation_config_count() -> None:
    assert vocabulary_of(Tokenizer(1), 3072, [0, 1]).eos_ids == (0, 1)


@pytest.mark.parametrize(
    "eos, size, message",
    [
        (None, 3072, "neither the tokenizer nor the model's configuration names an id that ends a text"),
        (3000, 2000, "lie outside the model's 2000 logits"),
    ],
)
def test_vocabularies_that_are_refused(eos: int | None, size: int, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        vocabulary_of(Tokenizer(eos), size)


# --- imports ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "module",
    [
        "constrain",
        "constrain.engines",
        "constrain.engines.vllm",
        "constrain.engines.vllm.options",
        "constrain.engines.sglang",
        "constrain.engines.sglang.options",
    ],
)
def test_what_imports_no_engine(module: str) -> None:
    """And no kernels: workers of vLLM load the plug-in, and compile nothing."""
    heavy = ("vllm", "sglang", "torch", "numba", "constrain.kernels")
    code = f"import sys, {module}\nprint([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- texts that end in time -------------------------------------------------------------------------------------------


LIST = r'\["a"(,"(a|as)")*\]'


@pytest.fixture(params=[True, False], ids=["own cuts", "all tokens"])
def compiled(request: pytest.FixtureRequest) -> Any:
    tokenizer = MADE["no pieces"]()
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=[tokenizer.token_to_id("<end>")])
    made = constrain.compile(constrain.regex(LIST), vocabulary)
    return ForcedCuts.of(made, CanonicalTokens.of(tokenizer, vocabulary)) if request.param else made


def in_time(compiled: Any, room: Callable[[], int], stops: tuple[int, ...] = ()) -> RequestMatcher:
    matcher = RequestMatcher(compiled, stops, logging.getLogger("test"))
    matcher.end_in_time(room)
    return matcher


def written(matcher: RequestMatcher, rng: random.Random) -> list[int]:
    """The tokens of a random text, drafts of which are read and taken back on the way."""
    tokens: list[int] = []
    row = np.zeros(matcher.compiled.vocabulary.words, np.uint32)
    while not matcher.ended:
        matcher.fill(row)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
        draft = rng.choice(allowed)
        if matcher.read(draft):
            matcher.rollback(1)
        tokens.append(rng.choice(allowed))
        assert matcher.must_read(tokens[-1]), matcher.fault
    return tokens


def test_texts_end_within_what_a_request_has_left(compiled: Any) -> None:
    """Whatever is drawn, for each number of tokens that suffices, also where thoughts took some."""
    rng, lengths = random.Random(1), set()
    least = LengthBudget(getattr(compiled, "compiled", compiled)).matcher().needs()
    for left in range(least, least + 9):
        for _ in range(20):
            rooms = iter([left + 7, left])  # as it is when the request is made, and at its first token
            tokens = written(in_time(compiled, lambda rooms=rooms: next(rooms)), rng)
            lengths.add(len(tokens))
            assert least <= len(tokens) <= left
            assert re.fullmatch(LIST, compiled.vocabulary.to_bytes(tokens[:-1]).decode())
    assert max(lengths) > least + 4


def test_what_cannot_end_in_time(compiled: Any, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(BudgetError, match="a budget of 2 tokens is too small"):
        in_time(compiled, lambda: 2)
    with pytest.raises(ConstrainError, match=r"ends with the model's own ids, not with \[0\]"):
        in_time(compiled, lambda: 99, (0,))
    rooms = iter([99, 1])
    matcher = in_time(compiled, lambda: next(rooms))
    row = np.zeros(compiled.vocabulary.words, np.uint32)
    matcher.fill(row)
    assert row.any() and not matcher.fault
    assert "thoughts took the tokens of the text" in caplog.text


@pytest.mark.parametrize("asks", [True, False])
def test_engines_of_one_process_end_texts_in_time_where_they_ask(compiled: Any, asks: bool) -> None:
    """The function of vLLM is wrapped once for all engines of a process."""
    config = SimpleNamespace(
        additional_config={"constrain": {"complete": asks}}, structured_outputs_config=SimpleNamespace(backend="auto")
    )
    create = hooks._making_grammar(lambda self, request: RequestMatcher(compiled, (), logging.getLogger("test")))
    params = SimpleNamespace(extra_args=None)
    request = SimpleNamespace(max_tokens=2, num_output_tokens=0, sampling_params=params)
    with pytest.raises(BudgetError) if asks else nullcontext():
        create(SimpleNamespace(vllm_config=config), request)


ASKED = SimpleNamespace(extra_args={"constrain": "weights", "constrain.begun": 2}, flat_logprobs=True, detokenize=False)
BY_HTTP = SimpleNamespace(extra_args=ASKED.extra_args, flat_logprobs=False, detokenize=True)


@pytest.mark.parametrize("params, begun", [(ASKED, 2), (BY_HTTP, 0)], ids=["ours", "by HTTP"])
@pytest.mark.parametrize("asks", [True, False], ids=["an engine that asks", "another engine"])
def test_grammars_begin_within_a_text(compiled: Any, params: Any, begun: int, asks: bool) -> None:
    config = SimpleNamespace(
        additional_config={"constrain": {}} if asks else {}, structured_outputs_config=SimpleNamespace(backend="auto")
    )
    create = hooks._making_grammar(lambda self, request: RequestMatcher(compiled, (), logging.getLogger("test")))
    tokens = written(RequestMatcher(compiled, (), logging.getLogger("test")), random.Random(3))[:2]
    grammar = create(
        SimpleNamespace(vllm_config=config), SimpleNamespace(sampling_params=params, prompt_token_ids=[0, 0, *tokens])
    )
    read = RequestMatcher(compiled, (), logging.getLogger("test"))
    for token in tokens[: begun if asks else 0]:
        assert read.must_read(token)
    for _ in range(2):  # as it begins, and as it begins anew
        rows = np.zeros((2, compiled.vocabulary.words), np.uint32)
        grammar.fill(rows[0])
        read.fill(rows[1])
        assert (rows[0] == rows[1]).all() and not grammar.fault
        grammar.reset()


def test_a_prompt_that_does_not_begin_a_text_is_a_fault(compiled: Any) -> None:
    grammar = RequestMatcher(compiled, (), logging.getLogger("test"))
    grammar.go_on(compiled.vocabulary.eos_ids * 2)
    assert "is not allowed after" in grammar.fault
