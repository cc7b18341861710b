"""vLLM's model runner V2 on a machine without a GPU: its kernels are run by Triton's interpreter.

To be imported before vLLM, which looks then whether Triton has something to run on. It changes nothing unless the
environment asks, by `VLLM_USE_V2_MODEL_RUNNER=1 TRITON_INTERPRET=1` (`make serve-test`). What it does not show: streams
of CUDA, captured graphs, and copies that overlap, for the interpreter runs each kernel at once.
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import numpy as np

IS_V2 = os.environ.get("VLLM_USE_V2_MODEL_RUNNER") == "1"


def install() -> None:
    """Let vLLM find a machine that Triton runs on."""
    from triton.backends import backends
    from triton.backends.compiler import GPUTarget

    driver = SimpleNamespace(is_active=lambda: True, get_current_target=lambda: GPUTarget("cpu", 0, 1))
    backends.setdefault("cpu", SimpleNamespace(driver=driver, compiler=None))
    _by_bool("create_masked_load", 0)
    _by_bool("create_masked_store", 1)
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # another process would not have it


def _by_bool(name: str, place: int) -> None:
    """The interpreter takes masks of bool only; `&` of a number and an array may have made others."""
    from triton.runtime.interpreter import InterpreterBuilder

    original = getattr(InterpreterBuilder, name)

    def masked(self: Any, pointers: Any, *given: Any) -> Any:
        mask = given[place]
        mask.data = np.broadcast_to(mask.data.astype(bool), pointers.data.shape)
        return original(self, pointers, *given)

    setattr(InterpreterBuilder, name, masked)


if IS_V2:
    install()
