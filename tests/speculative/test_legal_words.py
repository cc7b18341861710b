"""Texts that `LegalWords` drafts, in tokens of one byte; and drafts by default, which change no output."""

import copy
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from speculative_cases import context_of

import constrain
from constrain.models.hf import HFModel
from constrain.sampling import Settings, TorchDraw
from constrain.speculative import Context, DraftBudget, Fixed, ForkTarget, LegalWords, Outcome, Setting, TreeBuilder
from constrain.speculative.controller import affordable

BYTES = constrain.Vocabulary.of_bytes()
WIDE = DraftBudget(200, 200, 0.05)
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "size": {"enum": ["small", "large", "huge"]},
        "day": {"type": "string", "format": "date"},
        "here": {"type": "boolean"},
    },
    "required": ["name", "age", "size", "day", "here"],
}
HERE = '{"name":"Bo","age":1,"size":"huge","day":"2024-05-06","here":'
ASKED = "Who is it?\nText: Ann Lee, 36, came on 2024-05-06 with a Large box."


def context(constraint: Any, prompt: str, written: str) -> Context:
    """A text that has been written after a prompt, token by token."""
    matcher = constrain.compile(constraint, BYTES).matcher()
    for byte in written.encode():
        assert matcher.advance(byte)
    setting = Setting(BYTES.size, BYTES.eos_ids, Settings(), TorchDraw(0), token_bytes=BYTES.tokens, encode=list)
    tokens = list(prompt.encode())
    return Context(setting, 0, [*tokens, *written.encode()], len(tokens), matcher, 0, 400, stream=9)


def texts(drafter: LegalWords, asked: Context, budget: DraftBudget = WIDE) -> list[str]:
    """The texts that are drafted, to their ends."""
    tree = drafter.draft(asked, budget)
    inner = set(tree.parents.tolist())
    leaves = [node for node in range(len(tree)) if node not in inner]
    return [bytes(int(tree.tokens[i]) for i in tree.path(leaf + 1)).decode() for leaf in leaves]


def person(**options: Any) -> Any:
    """The schema with its properties in order."""
    return constrain.json_schema(PERSON, undeclared="refuse", **options)


@pytest.mark.parametrize(
    "constraint, written, begins",
    [
        (person(), "", ['{\n  "name": "']),
        (person(whitespace="compact"), "", ['{"name":"']),
        (person(whitespace="compact"), '{"name":"', ["Ann", "Who", "Text"]),
        (person(whitespace="compact"), '{"name":"An', ["n Lee", 'n","age":36']),
        (person(whitespace="compact"), '{"name":"aN', ["n Lee"]),  # another case is found, too
        (person(whitespace="compact"), '{"name":"Bo', ['","age":']),  # no copy: it may end
        (person(whitespace="compact"), '{"name":"Bo","age":', ['36,"size":"large","day":"']),
        (person(whitespace="compact"), '{"name":"Bo","age":1,"size":"', ["large", "small", "huge"]),
        (person(whitespace="compact"), HERE, ["true}", "false}"]),
        (constrain.regex("(ab|cd)ef+"), "", ["abef", "cdef"]),
        (constrain.regex("abc"), "", ["abc"]),
    ],
)  # fmt: skip
def test_drafted_texts(constraint: Any, written: str, begins: list[str]) -> None:
    found = texts(LegalWords(), context(constraint, ASKED, written))
    missing = [begin for begin in begins if not any(text.startswith(begin) for text in found)]
    assert not missing, found


def test_drafts_are_legal_and_within_the_budget() -> None:
    for written in ("", '{"name":"', '{"name":"An', '{"name":"Ann","age":'):
        asked = context(person(whitespace="compact"), ASKED, written)
        for text in texts(LegalWords(), asked):
            assert asked.matcher is not None and asked.matcher.fork().advance_bytes(text.encode()), text  # type: ignore[attr-defined]
        assert max(map(len, texts(LegalWords(), asked, DraftBudget(9, 4)))) <= 4
        assert texts(LegalWords(), asked, DraftBudget(0, 0)) == []


def test_no_engine_no_draft() -> None:
    assert len(LegalWords().draft(context_of(None), WIDE)) == 0


def test_guesses_are_counted_where_the_text_came_to_them() -> None:
    drafter, asked = LegalWords(), context(person(whitespace="compact"), ASKED, '{"name":"An')
    before = drafter.estimate("go mark"), drafter.estimate("go upper"), drafter.estimate("close mark")
    tree = TreeBuilder().build(asked, [drafter.draft(asked, WIDE)], WIDE)
    drafter.observe([Outcome(asked, tree, [], list(b'n Lee",'), torch.zeros(1, 1))])
    assert drafter.estimate("go upper") > before[1]  # Ann went on with Lee
    assert drafter.estimate("close mark") > before[2]  # and ended before the comma of the prompt,
    assert drafter.estimate("go mark") < before[0]  # with which it did not go on


def test_what_a_constraint_said_serves_later_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    """An equal constraint, compiled again, is not asked again: no bytes are read."""
    first, again = (context(person(whitespace="compact"), ASKED, '{"name":"An') for _ in range(2))
    assert first.matcher is not None and again.matcher is not None
    expected = texts(LegalWords(), first)

    def read(*_: Any) -> bool:
        raise AssertionError("bytes are read")

    monkeypatch.setattr(type(again.matcher), "advance_bytes", read)
    assert texts(LegalWords(), again) == expected and len(expected) > 2


class Together:
    """Cuts texts into bytes, several in one call."""

    calls = 0

    def __call__(self, text: bytes) -> list[int]:
        raise AssertionError("texts are cut one by one")

    def all(self, given: Sequence[bytes]) -> list[list[int]]:
        self.calls += 1
        return list(map(list, given))


def test_texts_of_a_step_are_cut_together() -> None:
    written = ["", '{"name":"', '{"name":"Ann","age":']
    asked = [context(person(whitespace="compact"), ASKED, each) for each in written]
    expected = [LegalWords().draft(each, WIDE) for each in asked]
    setting = replace(asked[0].setting, encode=Together())
    found = LegalWords().propose([replace(each, setting=setting, memo={}) for each in asked], [WIDE] * 3)
    assert [each.tokens.tolist() for each in found] == [each.tokens.tolist() for each in expected]
    assert isinstance(setting.encode, Together) and setting.encode.calls == 1


@pytest.mark.parametrize(
    "weights, rows, device, drafts",
    [
        (270e6, 1, "cpu", True),
        (270e6, 3, "cpu", True),
        (270e6, 16, "cpu", False),
        (15e6, 1, "cpu", False),
        (60e6, 1, "cpu", False),
        (70e6, 1, "cpu", True),
        (16e9, 64, "cpu", False),
        (15e6, 1, "cuda", True),
        (16e9, 3, "cuda", True),
        (16e9, 64, "cuda", False),
    ],
)
def test_drafts_are_affordable_for_large_models_and_few_rows(
    weights: float, rows: int, device: str, drafts: bool
) -> None:
    assert (affordable(int(weights), rows, device) is not None) == drafts


@pytest.mark.parametrize("copied, least", [(0, 0.5), (27e6, 0.6), (54e6, 0.7), (68e6, None)])
def test_chains_need_half_the_chance_and_a_small_memory(copied: float, least: float | None) -> None:
    found = affordable(int(270e6), 1, "cpu", int(copied))
    assert (None if found is None else found.least) == (None if least is None else pytest.approx(least))
    assert affordable(int(270e6), 2, "cpu", int(copied)) is None
    assert affordable(int(15e6), 1, "cpu", int(copied)) is None


def test_a_chain_is_worth_what_it_spares_less_what_it_costs() -> None:
    """For all chances in tenths of up to four tokens: whatever passes the threshold spares more than it costs."""
    chosen = affordable(int(270e6), 1, "cpu", 0)
    assert chosen is not None
    for steps in itertools.product([each / 10 for each in range(1, 11)], repeat=4):
        reached = [each for each in itertools.accumulate(steps, lambda a, b: a * b) if each > chosen.least]
        if reached:
            assert sum(reached) - (1 - reached[-1]) > 0


GIVEN: list[dict[str, Any]] = [
    {"temperature": 0},
    {"seed": 3},
    {"seed": 3, "temperature": 0.7, "n": 3},
    {"seed": 5, "canonical": False},
    {"seed": 5, "top_p": 0.9, "stream": True},
    {"complete": True, "temperature": 0},
    {"complete": True, "seed": 4, "max_tokens": 12},
    {"seed": 6, "max_tokens": constrain.Length(at_least=20, at_most=30)},
]


def test_what_a_model_remembers_is_its_cache() -> None:
    """The estimate is the size of the keys and values that a forward returns."""
    model = constrain.reference.load()
    handle = HFModel(model.model, model.tokenizer)
    with torch.inference_mode():
        cache = handle.model(input_ids=torch.ones((1, 9), dtype=torch.int64), use_cache=True).past_key_values
    layers = [(layer.keys, layer.values) for layer in cache.layers]
    assert handle.remembered(9) == sum(each.numel() * each.element_size() for pair in layers for each in pair)


def in_double(reference: Any) -> HFModel:
    """The reference model in float64, in which no processor's rounding tips a draw."""
    return HFModel(copy.deepcopy(reference.model).double(), reference.tokenizer)


@pytest.mark.parametrize("branching", [True, False])
@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_drafts_by_default_change_no_output(
    given: dict[str, Any], branching: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = in_double(constrain.reference.load())
    assert model.branching
    if not branching:  # as models that look back over a window
        vars(model)["branching"] = False
        monkeypatch.setattr(HFModel, "open", lambda handle, rows: ForkTarget(handle).open(rows))

    def run(**more: Any) -> list[Any]:
        options = {"type": dict[str, int], "max_tokens": 40, **given, **more}
        found: Any = constrain.generate(model, 'Ages: Ann 36, Bo 7.\n{"Ann": 36}\n', **options)
        if given.get("stream"):
            assert "".join(found) == found.result.text
            found = found.result
        return found if isinstance(found, list) else [found]

    small, without = run(), run(draft=False)
    assert [each.stats.drafts for each in small] == [{}] * len(small)  # the model is too small for drafts to pay
    controller = Fixed(16, 16) if branching else Fixed(16, 16, 0.5)
    monkeypatch.setattr("constrain.generation.request.drafts.affordable", lambda *_: controller)
    drafted = run()
    assert all(each.stats.drafts.keys() >= {"words", "lookup"} for each in drafted)
    assert [each.tokens for each in drafted] == [each.tokens for each in without] == [each.tokens for each in small]
    assert sum(each.stats.forwards for each in drafted) < sum(each.stats.forwards for each in without)
    assert [each.log_weight for each in drafted] == pytest.approx([each.log_weight for each in without], abs=1e-3)


@pytest.mark.parametrize("given", [{"method": "smc"}, {"processors": constrain.processors.MinP(0.1)}], ids=str)
def test_no_drafts_by_default(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constrain.generation.request.drafts.affordable", lambda *_: Fixed(16, 16))
    g = constrain.generate(constrain.reference.load(), "A list: ", regex="[a-c]{3}", max_tokens=8, seed=1, **given)
    assert g.stats.drafts == {}
