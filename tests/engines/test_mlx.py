"""mlx-lm itself, where it is installed: the reference model gives the texts that it gives under transformers.

`make local-test` runs it: mlx-lm does not belong to the environment of the other tests.
"""

from typing import Any

import pytest
from local_models import PROMPT, SCHEMA, SETTINGS, texts

import constrain
from constrain import ConstrainError


@pytest.fixture(scope="module")
def reference() -> Any:
    return constrain.reference.load()


@pytest.fixture(scope="module")
def mlx_model(reference: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    mlx_lm = pytest.importorskip("mlx_lm", reason="mlx-lm is not installed: make local-test installs it")
    folder = tmp_path_factory.mktemp("mlx")
    reference.model.save_pretrained(folder)
    reference.tokenizer.save_pretrained(folder)
    model, tokenizer = mlx_lm.load(str(folder))
    return {"model": model, "tokenizer": tokenizer}


@pytest.mark.parametrize("setting", SETTINGS)
def test_texts_are_those_of_transformers(setting: str, mlx_model: dict[str, Any], reference: Any) -> None:
    arguments = {"prompt": PROMPT, "schema": SCHEMA, **SETTINGS[setting]}
    ours = constrain.generate(**mlx_model, **arguments)
    assert texts(ours) == texts(constrain.generate(reference, **arguments))


def test_drafts_are_refused(mlx_model: dict[str, Any]) -> None:
    with pytest.raises(ConstrainError, match="drafts need a model of transformers"):
        constrain.generate(**mlx_model, prompt=PROMPT, schema=SCHEMA, draft="auto")


def test_the_loop_of_mlx(mlx_model: dict[str, Any], reference: Any) -> None:
    import mlx_lm

    from constrain.engines.mlx import MLXModel, MLXProcessor

    vocabulary = MLXModel(**mlx_model).vocabulary
    processor = MLXProcessor(constrain.compile(constrain.json_schema(SCHEMA), vocabulary))
    expected = constrain.generate(reference, PROMPT, schema=SCHEMA, temperature=0).text
    for _ in range(2):
        assert mlx_lm.generate(**mlx_model, prompt=PROMPT, max_tokens=80, logits_processors=[processor]) == expected


def test_a_model_of_mlx_without_tokenizer(mlx_model: dict[str, Any]) -> None:
    with pytest.raises(ConstrainError, match="comes without its tokenizer"):
        constrain.generate(mlx_model["model"], PROMPT, schema=SCHEMA)
