"""The formats, one a file.

takes: nothing
gives: `FORMATS`, by their names
used by: the modules of this room
start reading at: qwen3.py
"""

from constrain.calls.format import Format
from constrain.calls.formats import (
    cohere,
    deepseek_v3,
    deepseek_v31,
    exaone4,
    glm45,
    granite3,
    harmony,
    kimi_k2,
    llama3,
    minimax_m2,
    mistral,
    mistral_v13,
    phi4_mini,
    qwen3,
    qwen3_coder,
)

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (
        cohere,
        deepseek_v3,
        deepseek_v31,
        exaone4,
        glm45,
        granite3,
        harmony,
        kimi_k2,
        llama3,
        minimax_m2,
        mistral,
        mistral_v13,
        phi4_mini,
        qwen3,
        qwen3_coder,
    )
}
