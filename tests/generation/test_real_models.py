"""Real models and real schemas: whatever is written, what ends is valid. Two are of `make real`, else skipped."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import jsonschema
import pytest
from jsonschema.validators import validator_for
from pydantic import BaseModel, Field

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.models.hf.loading import model_named
from constrain.papers.layers.shallow import FirstLayers, can_be_cut
from real_models import real_model
from schema_corpus import corpora, sample

CHAT = [{"role": "user", "content": "Ada Lovelace was 36 when she died in London. Who is it?"}]


class Person(BaseModel):
    name: str = Field(max_length=30)
    age: int = Field(ge=0, le=150)


@pytest.fixture(scope="module")
def chatty() -> HFModel:
    """SmolLM2-135M-Instruct: a chat template, 49,152 tokens."""
    return HFModel.of(model_named(str(real_model("smollm2"))))  # not kept by name: it is large


@pytest.fixture(scope="module")
def base() -> HFModel:
    """Gemma 3 270M: 262,144 tokens with byte fallback, no chat template."""
    return HFModel.of(model_named(str(real_model("gemma3-270m"))))


def test_a_chat_answers_with_a_type(chatty: HFModel) -> None:
    """Complete within its length, with and without being told the fields."""
    for prompt in (CHAT, constrain.Prompt(CHAT, describe=True)):
        g: Any = constrain.generate(chatty, prompt, type=Person, temperature=0, max_tokens=64, complete=True)
        assert g.finish_reason == "stop"
        assert isinstance(g.value, Person)


def test_a_chat_chooses(chatty: HFModel) -> None:
    g = constrain.generate(chatty, CHAT, choices=["a person", "a place"], temperature=0, max_tokens=8)
    assert g.finish_reason == "stop"
    assert g.text in ("a person", "a place")


@pytest.mark.slow
def test_a_deep_model_is_cut_behind_its_first_layers(chatty: HFModel) -> None:
    """Thirty layers of rounding in 32 bits are no wrong mask."""
    handle = HFModel(copy.deepcopy(chatty.model).float(), chatty.tokenizer)
    assert can_be_cut(FirstLayers(handle, 2), handle)


def test_a_call_of_a_tool(chatty: HFModel) -> None:
    """The template has no place for tools: the model is told in words, and its call is read back."""

    def born(name: str) -> str:
        """The year in which a person was born."""
        return name

    given: dict[str, Any] = {"tools": [born], "tool_choice": "required"}
    g = constrain.generate(chatty, CHAT, **given, temperature=0, max_tokens=80, complete=True)
    assert g.finish_reason == "stop"
    assert [call.name for call in g.tool_calls][:1] == ["born"]


def test_a_base_model_goes_on_with_a_text(base: HFModel) -> None:
    """Of the largest vocabulary at hand; healing joins a blank with what follows."""
    assert base.vocabulary.size > 262_000
    g: Any = constrain.generate(base, "A person as JSON:", type=Person, temperature=0, max_tokens=48, complete=True)
    assert g.finish_reason == "stop"
    assert isinstance(g.value, Person)
    healed = constrain.Prompt("The capital of France is ", healing=True)
    assert constrain.generate(base, healed, regex="[A-Z][a-z]+", temperature=0, max_tokens=6).tokens[0] != 0


SCHEMAS = 16


@corpora
@pytest.mark.parametrize("whitespace", ["consistent", "compact"])
def test_finished_outputs_are_valid(whitespace: str, corpus: str) -> None:
    entries = sample(corpus, step={"ours": 1, "maskbench": 20}[corpus])
    random.Random(whitespace).shuffle(entries)
    model = constrain.reference.load()
    finished = 0
    for name, schema, _ in [entry for entry in entries if len(json.dumps(entry.schema)) < 5000][:SCHEMAS]:
        try:
            constraint = constrain.json_schema(schema, whitespace=whitespace)
            g = constrain.generate(model, "JSON: ", constraint=constraint, max_tokens=150, seed=1)
        except ConstrainError:
            continue  # what is refused is counted by the benchmark
        if g.finish_reason == "stop":
            finished += 1
            kind: Any = validator_for(schema, default=jsonschema.Draft202012Validator)
            kind(schema, format_checker=kind.FORMAT_CHECKER).validate(json.loads(g.text))
        else:
            assert g.value is None, name
    assert finished >= SCHEMAS // 4
