"""The folders of two small pretrained models, which `make real` makes; tests that want one skip where it is absent."""

import os
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parent.parent / "build" / "real"


def real_model(name: str) -> Path:
    """The folder of a model, `smollm2` or `gemma3-270m`. Skips the test where there is none."""
    folder = Path(os.environ.get("CONSTRAIN_REAL") or BUILD) / name
    if not (folder / "model.safetensors").is_file():
        pytest.skip(f"{folder} has no model; run: make real")
    return folder
