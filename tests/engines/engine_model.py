"""A folder with a tiny random Llama for vLLM: weights by vLLM itself (`load_format="dummy"`), a real tokenizer.

The tokenizer is that of the reference model, with `<think>` and `</think>` added; the model has more logits than that
(padding). As in models that think, these two are ordinary tokens: a special one would not be in the text. The template
opens an answer after thoughts, or, asked with `thinking=True`, before them.
"""

import json
from pathlib import Path

from constrain import reference

THINK, END_OF_THOUGHT = 3072, 3073
WIDTH = 3136  # logits: more than the 3,074 ids of the tokenizer
TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>\\n' }}{{ message['content'] or '' }}\\n{% endfor %}"
    "{% if tools %}{{ tools | tojson }}{% endif %}"
    "<|assistant|>\\n<think>{% if not thinking %}</think>{% endif %}"
)


def write_model(folder: Path, **changes: object) -> Path:
    """Write configuration and tokenizer. changes: entries of the model's configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    source = reference.path()
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    small = {
        "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "head_dim": 32,
    }  # fmt: skip
    config.update({**small, "num_key_value_heads": 1, "vocab_size": WIDTH, **changes})
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    settings = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    settings["chat_template"] = TEMPLATE
    for token_id, text in ((THINK, "<think>"), (END_OF_THOUGHT, "</think>")):
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        tokenizer["added_tokens"].append({"id": token_id, "content": text, "special": False, **flags})
    generation = json.loads((source / "generation_config.json").read_text(encoding="utf-8"))
    for name, value in (
        ("config.json", config), ("tokenizer.json", tokenizer), ("tokenizer_config.json", settings),
        ("generation_config.json", generation),
    ):  # fmt: skip
        (folder / name).write_text(json.dumps(value), encoding="utf-8")
    return folder
