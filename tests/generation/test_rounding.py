"""Methods that state probabilities, and models of 16 bits: loaded in float32 by name, told where they are given."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import constrain
from constrain.sampling.core.sampler import traits_of
from constrain.sampling.methods.table import METHODS

ASKED: dict[str, Any] = {"regex": "[a-c]{3}", "max_tokens": 6, "seed": 1}
MEASURES = {
    "argmax": False, "asap": True, "awrs": True, "beam": False, "cars": True, "exact": True, "faithful": True,
    "lcd": False, "mcmc": True, "rejection": True, "sir": True, "smc": True,
}  # fmt: skip


@pytest.fixture
def narrow(model: Any) -> Any:
    """The tiny model in bfloat16, one object a test: each is told of once."""
    return copy.deepcopy(model).to(torch.bfloat16)


@pytest.fixture
def folder(tokenizer: Any, narrow: Any, tmp_path: Path) -> str:
    """A folder with the tiny model in bfloat16."""
    narrow.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return str(tmp_path)


def told(*args: Any, **given: Any) -> tuple[Any, list[str]]:
    """The output of a call, and its warnings about rounding."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        output = constrain.generate(*args, **{**ASKED, **given})
    return output, [str(each.message) for each in caught if "states probabilities" in str(each.message)]


def test_methods_that_state_probabilities() -> None:
    assert {name: traits_of(METHODS[name]).measures for name in METHODS} == MEASURES


@pytest.mark.parametrize("method", [name for name, measures in MEASURES.items() if measures])
def test_a_model_by_name_is_loaded_in_float32(
    folder: str, model: Any, narrow: Any, tokenizer: Any, method: str
) -> None:
    plain, said = told(folder, "red", method="lcd")
    assert (plain.stats.dtype, said) == ("bfloat16", [])
    wide, said = told(folder, "red", method=method)
    assert (wide.stats.dtype, said) == ("float32", [])
    assert wide.proof["weight"]["dtype"] == "float32"
    own = copy.deepcopy(model).float()
    own.load_state_dict(narrow.state_dict())
    same, _ = told((own, tokenizer), "red", method=method)
    assert (same.tokens, same.logprob, same.log_weight) == (wide.tokens, wide.logprob, wide.log_weight)
    assert told((folder, tokenizer), "red", method=method)[0].stats.dtype == "float32"


def test_a_model_of_other_numbers_is_loaded_once(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    copy.deepcopy(model).float().save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    named = constrain.hf.HFModel.of(str(tmp_path))
    assert constrain.hf.HFModel.of(str(tmp_path), wide=True) is named


@pytest.mark.parametrize("method", ["sir", "exact", "mcmc"])
def test_a_model_of_16_bits_is_told_of_once(narrow: Any, tokenizer: Any, method: str) -> None:
    assert told((narrow, tokenizer), "red")[1] == []
    output, (said,) = told((narrow, tokenizer), "red", method=method)
    assert output.stats.dtype == "bfloat16" and "bfloat16" in said and 'dtype="float32"' in said
    assert told((narrow, tokenizer), "red", method=method)[1] == []


def test_a_composed_model_has_the_numbers_of_its_parts(model: Any, narrow: Any, tokenizer: Any) -> None:
    both = constrain.papers.Ensemble([(model, tokenizer), (narrow, tokenizer)])
    output, said = told(both, "red", method="sir")
    assert output.stats.dtype == "bfloat16 float64" and len(said) == 1
