"""The formats, one a file.

takes: nothing
gives: `FORMATS`, by their names
start reading at: qwen3.py
"""

from importlib import import_module

from constrain.chat.calls.format import Format

_FILES = (
    "cohere", "deepseek_v3", "deepseek_v31", "deepseek_v32", "deepseek_v4", "deepseek_v41", "exaone4", "gemma4",
    "glm45", "glm47", "granite3", "harmony", "kimi_k2", "kimi_k3", "llama3", "minimax_m2", "minimax_m3", "mistral",
    "mistral_v11", "mistral_v13", "phi4_mini", "pythonic", "qwen3", "qwen3_coder",
)  # fmt: skip

_MADE: tuple[Format, ...] = tuple(import_module(f"{__name__}.{file}").FORMAT for file in _FILES)
FORMATS: dict[str, Format] = {made.name: made for made in _MADE}
