"""The formats, one a file.

takes: nothing
gives: `FORMATS`, by their names
start reading at: qwen3.py
"""

from importlib import import_module

from constrain.chat.calls.format import Format

_FILES = (
    "cohere", "deepseek_v3", "deepseek_v31", "exaone4", "glm45", "granite3", "harmony", "kimi_k2", "llama3",
    "minimax_m2", "mistral", "mistral_v13", "phi4_mini", "qwen3", "qwen3_coder",
)  # fmt: skip

_MADE: tuple[Format, ...] = tuple(import_module(f"{__name__}.{file}").FORMAT for file in _FILES)
FORMATS: dict[str, Format] = {made.name: made for made in _MADE}
